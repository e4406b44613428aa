//! Reading the files that a user names: regular files of at most so many bytes. Devices, sockets and named pipes are refused before
//! they are opened, because opening a pipe may wait forever and reading a device may never end.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The largest data file, or file of weights.
pub const MAX_DATA: u64 = 4 << 30;

/// How much of a file is looked at before the rest is read.
const HEAD: u64 = 1 << 16;

/// The largest header that the safetensors format allows.
const MAX_HEADER: u64 = 100_000_000;

/// Opens a file. The error of what is no regular file has the kind `InvalidInput` and a text that follows the file's name, as that of a
/// file beyond its limit has, with the kind `FileTooLarge`.
pub fn open(path: &Path) -> io::Result<File> {
    if let Some(what) = special(path, &fs::metadata(path)?) {
        return Err(refusal(format!("is {what}, a file was expected")));
    }
    File::open(path)
}

/// The bytes of a file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_if(path, limit, |_| Ok(()))
}

/// The bytes of a safetensors file; a large file without the beginning of one is not read.
pub fn read_tensors(path: &Path) -> io::Result<Vec<u8>> {
    read_if(path, MAX_DATA, |head| {
        let length = head.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let plausible = (2..=MAX_HEADER).contains(&length) && head.get(8) == Some(&b'{');
        if plausible { Ok(()) } else { Err("is no safetensors file: it does not begin with a header".to_owned()) }
    })
}

/// The bytes of a file of numbers, `.npy` or text; a large file that is neither is not read.
pub fn read_numbers(path: &Path) -> io::Result<Vec<u8>> {
    read_if(path, MAX_DATA, |head| match head.contains(&0) && !head.starts_with(b"\x93NUMPY") {
        true => Err("is neither a .npy file nor text".to_owned()),
        false => Ok(()),
    })
}

/// The bytes of a file. One with more than 64 kB is read only if its beginning passes the check, whose error follows the file's name.
fn read_if(path: &Path, limit: u64, check: impl Fn(&[u8]) -> Result<(), String>) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, format!("is larger than {} MB", limit >> 20));
    if file.metadata().is_ok_and(|m| m.len() > limit) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == HEAD {
        check(&bytes).map_err(refusal)?;
        file.take(limit + 1 - HEAD).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

fn refusal(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

/// The kind of a path that is no regular file. A pipe that the shell made, as `<(command)`, has a writer and may be read.
fn special(path: &Path, metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        let of_shell = path.starts_with("/dev/fd") || path == Path::new("/dev/stdin");
        if kind.is_fifo() && !of_shell {
            return Some("a named pipe");
        }
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
    }
    let _ = path;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("standoff-input-{}-{name}", std::process::id()))
    }

    #[test]
    fn folders_and_devices_are_refused_before_they_are_opened() {
        let text = |path: &str| read(Path::new(path), 1 << 20).unwrap_err().to_string();
        assert_eq!(text("/"), "is a folder, a file was expected");
        if cfg!(unix) {
            assert_eq!(text("/dev/zero"), "is a device, a file was expected");
            assert_eq!(text("/dev/null"), "is a device, a file was expected");
        }
    }

    #[test]
    fn a_file_is_read_up_to_its_limit_and_a_large_one_only_if_it_begins_well() {
        let path = scratch("sparse");
        let file = File::create(&path).unwrap();
        for size in [0, 10, HEAD - 1, HEAD, HEAD + 1] {
            file.set_len(size).unwrap();
            assert_eq!(read(&path, HEAD + 1).unwrap().len() as u64, size);
        }
        assert_eq!(read(&path, HEAD).unwrap_err().to_string(), "is larger than 0 MB");
        // Two thousand gigabytes on paper; nothing of it is read.
        file.set_len(2 << 40).unwrap();
        assert_eq!(read(&path, MAX_DATA).unwrap_err().to_string(), "is larger than 4096 MB");
        file.set_len(3 << 30).unwrap();
        assert!(read_tensors(&path).unwrap_err().to_string().contains("no safetensors file"));
        assert!(read_numbers(&path).unwrap_err().to_string().contains("neither a .npy file nor text"));
        fs::remove_file(&path).unwrap();
    }
}
