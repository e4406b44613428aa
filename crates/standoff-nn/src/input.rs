//! Reading the files that a user names: regular files up to a size limit. Devices, sockets and named pipes are refused before
//! they are opened, because opening a pipe may wait forever and reading a device may never end.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The largest data file, or file of weights.
pub const MAX_DATA: u64 = 4 << 30;

/// Number of bytes that are checked before the rest of a file is read.
const HEAD: u64 = 1 << 16;

/// The largest header that the safetensors format allows.
const MAX_HEADER: u64 = 100_000_000;

/// Opens a regular file. Other files give an error of the kind `InvalidInput`, and files above the limit one of the kind
/// `FileTooLarge`. The text of both follows the name of the file.
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

/// The bytes of a file, decompressed if it is gzip: at most `limit` bytes before and after.
pub fn read_plain_or_gzip(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let bytes = read(path, limit)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).take(limit + 1).read_to_end(&mut out)?;
    if out.len() as u64 > limit {
        return Err(io::Error::other(format!("holds more than {limit} bytes when decompressed")));
    }
    Ok(out)
}

/// The bytes of a safetensors or ONNX file. A large file that begins like neither is not read, and pickles are refused.
pub fn read_tensors(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_if(path, MAX_DATA, |head| {
        no_pickle(head)?;
        let length = head.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let plausible = (2..=MAX_HEADER).contains(&length) && head.get(8) == Some(&b'{');
        if plausible || is_onnx(head) {
            Ok(())
        } else {
            Err("is no safetensors file, and no ONNX file: it does not begin with a header".to_owned())
        }
    })?;
    no_pickle(&bytes).map_err(refusal)?;
    Ok(bytes)
}

/// True for what begins like an ONNX file: its version, and the name of the program that wrote it or the graph.
pub fn is_onnx(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=0x7f, 0x12 | 0x1a | 0x22 | 0x2a | 0x32 | 0x3a | 0x42, ..]) && head.get(8) != Some(&b'{')
}

/// True for what PyTorch saves: a pickle, plain or in an archive. A header of safetensors may have a length that begins like a pickle.
pub fn is_pickle(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || (head.starts_with(&[0x80, 2]) && head.get(8) != Some(&b'{'))
}

fn no_pickle(head: &[u8]) -> Result<(), String> {
    if !is_pickle(head) {
        return Ok(());
    }
    Err("is a pickle of PyTorch, which could run any code, so it is not opened; save it as safetensors:\n  \
         from safetensors.torch import save_file\n  save_file(model.state_dict(), \"model.safetensors\")"
        .to_owned())
}

/// The bytes of a file of numbers, `.npy` or text. A large file that is neither is not read.
pub fn read_numbers(path: &Path) -> io::Result<Vec<u8>> {
    read_if(path, MAX_DATA, is_numbers)
}

/// A reader of a file that [`read_numbers`] would read; it fails beyond [`MAX_DATA`] bytes.
pub fn open_numbers(path: &Path) -> io::Result<impl Read + use<>> {
    let (head, file) = open_if(path, MAX_DATA, is_numbers)?;
    Ok(Limited { source: io::Cursor::new(head).chain(file), left: MAX_DATA, limit: MAX_DATA })
}

fn is_numbers(head: &[u8]) -> Result<(), String> {
    match head.contains(&0) && !head.starts_with(b"\x93NUMPY") {
        true => Err("is neither a .npy file nor text".to_owned()),
        false => Ok(()),
    }
}

/// A reader with a size limit.
struct Limited<R> {
    source: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(out)?;
        let Some(left) = self.left.checked_sub(n as u64) else {
            let why = format!("it is larger than {} MB", self.limit >> 20);
            return Err(io::Error::new(ErrorKind::FileTooLarge, why));
        };
        self.left = left;
        Ok(n)
    }
}

/// The bytes of a file. A file of 64 kB or more is read only if its first 64 kB pass the check, whose error follows the name of the file.
fn read_if(path: &Path, limit: u64, check: impl Fn(&[u8]) -> Result<(), String>) -> io::Result<Vec<u8>> {
    let (mut bytes, file) = open_if(path, limit, check)?;
    if bytes.len() as u64 == HEAD {
        file.take((limit + 1).saturating_sub(HEAD)).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(bytes) }
}

/// The first 64 kB of a file, checked if there are as many, and the file positioned after them.
fn open_if(path: &Path, limit: u64, check: impl Fn(&[u8]) -> Result<(), String>) -> io::Result<(Vec<u8>, File)> {
    let mut file = open(path)?;
    if file.metadata().is_ok_and(|m| m.len() > limit) {
        return Err(too_large(limit));
    }
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    if head.len() as u64 == HEAD {
        check(&head).map_err(refusal)?;
    }
    Ok((head, file))
}

fn too_large(limit: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("is larger than {} MB", limit >> 20))
}

fn refusal(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

/// The kind of a path that is not a regular file. Pipes that the shell makes, as `<(command)`, have a writer and may be read.
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
        // A sparse file of two terabytes, of which nothing is read.
        file.set_len(2 << 40).unwrap();
        assert_eq!(read(&path, MAX_DATA).unwrap_err().to_string(), "is larger than 4096 MB");
        file.set_len(3 << 30).unwrap();
        assert!(read_tensors(&path).unwrap_err().to_string().contains("is no safetensors file, and no ONNX file"));
        assert!(read_numbers(&path).unwrap_err().to_string().contains("neither a .npy file nor text"));
        assert!(open_numbers(&path).is_err_and(|error| error.to_string().contains("neither a .npy file nor text")));
        fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_pickle_is_refused_with_advice() {
        let path = scratch("pickle");
        for bytes in [&b"PK\x03\x04rest"[..], &[0x80, 2, 0x63], &[&b"PK\x03\x04"[..], &vec![0; 1 << 17]].concat()] {
            fs::write(&path, bytes).unwrap();
            let text = read_tensors(&path).unwrap_err().to_string();
            assert!(text.contains("is a pickle of PyTorch") && text.contains("save_file(model.state_dict()"), "{text}");
        }
        fs::remove_file(&path).unwrap();
        assert!(!is_pickle(&[&640_u64.to_le_bytes()[..], b"{}"].concat()), "a header of 640 bytes");
    }

    #[test]
    fn a_reader_of_numbers_gives_the_bytes_of_the_file_and_ends_at_its_limit() {
        let path = scratch("numbers");
        let text: Vec<u8> = b"0.5,1\n".iter().copied().cycle().take(3 * HEAD as usize + 1).collect();
        fs::write(&path, &text).unwrap();
        let mut bytes = Vec::new();
        open_numbers(&path).unwrap().read_to_end(&mut bytes).unwrap();
        assert!(bytes == text && read_numbers(&path).unwrap() == text);
        fs::remove_file(&path).unwrap();
        let mut endless = Limited { source: io::repeat(7), left: 1 << 20, limit: 1 << 20 };
        assert_eq!(endless.read_to_end(&mut bytes).unwrap_err().to_string(), "it is larger than 1 MB");
    }
}
