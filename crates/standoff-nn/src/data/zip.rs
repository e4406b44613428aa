//! Files out of a zip archive, as wheels of Python and `.npz` files are: plain or deflated, up to 4 GB, without encryption.

use std::io::Read;

use flate2::read::DeflateDecoder;

/// The largest file that is unpacked.
const LIMIT: u64 = 64 << 20;
/// Signatures of the end of the directory and of an entry of the directory.
const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
/// The signature of a zip archive.
pub const FILE: &[u8] = b"PK\x03\x04";

/// The content of the file named `member`; of the first one without a name.
///
/// # Errors
/// The archive is damaged, has no such file, or the file is too large or packed by another method.
pub fn unpack(archive: &[u8], member: Option<&str>) -> Result<Vec<u8>, String> {
    unpack_within(archive, member, LIMIT)
}

/// [`unpack`], with another limit for the size of the file.
pub(super) fn unpack_within(archive: &[u8], member: Option<&str>, limit: u64) -> Result<Vec<u8>, String> {
    let mut found = None;
    each_entry(archive, |name, at| {
        if found.is_none() && member.is_none_or(|member| member.as_bytes() == name) {
            found = Some(at);
        }
    })?;
    content(archive, found.ok_or_else(|| format!("it has no file `{}`", member.unwrap_or("")))?, limit)
}

/// The names of the files.
pub(super) fn names(archive: &[u8]) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    each_entry(archive, |name, _| names.push(String::from_utf8_lossy(name).into_owned()))?;
    Ok(names)
}

/// Passes the name of every file, and the place of its entry in the directory.
fn each_entry(archive: &[u8], mut entry: impl FnMut(&[u8], usize)) -> Result<(), String> {
    let end = archive.windows(4).rposition(|w| w == END).ok_or("it is not a zip archive, or it is incomplete")?;
    number(archive, end + 20, 2)?; // the last field
    let mut at = number(archive, end + 16, 4)?;
    for _ in 0..number(archive, end + 10, 2)? {
        if archive.get(at..at + 4) != Some(ENTRY) {
            break;
        }
        let lengths = [number(archive, at + 28, 2)?, number(archive, at + 30, 2)?, number(archive, at + 32, 2)?];
        entry(archive.get(at + 46..at + 46 + lengths[0]).unwrap_or_default(), at);
        at += 46 + lengths.iter().sum::<usize>();
    }
    Ok(())
}

/// The content of the file of the directory entry at `at`.
fn content(archive: &[u8], at: usize, limit: u64) -> Result<Vec<u8>, String> {
    let (method, packed) = (number(archive, at + 10, 2)?, number(archive, at + 20, 4)?);
    let file = number(archive, at + 42, 4)?;
    // The lengths of names and extra fields in the file's own header may differ from those in the directory.
    let start = file + 30 + number(archive, file + 26, 2)? + number(archive, file + 28, 2)?;
    let bytes = archive.get(start..start.saturating_add(packed)).ok_or("a file in the archive is cut off")?;
    match method {
        0 => Ok(bytes.to_vec()),
        8 => {
            let mut out = Vec::new();
            DeflateDecoder::new(bytes)
                .take(limit + 1)
                .read_to_end(&mut out)
                .map_err(|error| format!("a file in the archive is damaged: {error}"))?;
            if out.len() as u64 > limit {
                return Err(format!("a file in the archive is larger than {} MB", limit >> 20));
            }
            Ok(out)
        }
        other => Err(format!("a file in the archive is packed by method {other}, which is not known here")),
    }
}

/// A number of `bytes` bytes, little-endian.
fn number(archive: &[u8], at: usize, bytes: usize) -> Result<usize, String> {
    let field = archive.get(at..at.saturating_add(bytes)).ok_or("the archive is cut off")?;
    Ok(field.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// An archive with these files; the second half of them is compressed.
    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut out, mut directory) = (Vec::new(), Vec::new());
        for (i, (name, content)) in files.iter().enumerate() {
            let method = if 2 * i < files.len() { 0u16 } else { 8 };
            let packed = if method == 0 {
                content.to_vec()
            } else {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(content).expect("memory");
                encoder.finish().expect("memory")
            };
            let sizes = [0, packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
            let n = (name.len() as u16).to_le_bytes();
            let start = (out.len() as u32).to_le_bytes();
            let m = method.to_le_bytes();
            directory.extend([ENTRY, &[0; 6], &m, &[0; 4], &sizes, &n, &[0; 12], &start, name.as_bytes()].concat());
            out.extend([FILE, &[0; 4], &m, &[0; 4], &sizes, &n, &[2, 0], name.as_bytes(), b"xx", &packed].concat());
        }
        let (count, size, at) = ((files.len() as u16).to_le_bytes(), directory.len() as u32, out.len() as u32);
        out.extend(directory);
        out.extend([END, &[0; 4], &count, &count, &size.to_le_bytes(), &at.to_le_bytes(), &[0; 2]].concat());
        out
    }

    #[test]
    fn files_are_found_by_name_plain_and_compressed() {
        let long = vec![b'a'; 10_000];
        let zip = archive(&[("a/b.txt", b"first"), ("c", &long)]);
        assert_eq!(unpack(&zip, Some("a/b.txt")).expect("a file"), b"first");
        assert_eq!(unpack(&zip, Some("c")).expect("a file"), long);
        assert_eq!(unpack(&zip, None).expect("the first"), b"first");
        assert!(unpack(&zip, Some("d")).expect_err("no such file").contains("no file `d`"));
    }

    #[test]
    fn no_damage_makes_it_panic() {
        let zip = archive(&[("a", b"first"), ("c", b"second second second")]);
        for cut in 0..zip.len() {
            assert!(unpack(&zip[..cut], Some("c")).is_err());
        }
        for at in 0..zip.len() {
            for value in [0, 7, 255] {
                let mut bad = zip.clone();
                bad[at] = value;
                let _ = unpack(&bad, Some("c"));
                let _ = unpack(&bad, None);
            }
        }
    }
}
