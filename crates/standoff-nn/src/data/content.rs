//! The content of a file: as it is, or decompressed when it turns out to be gzip.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::Error;

/// The first two bytes of every gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How much is hashed at a time.
const CHUNK: usize = 1 << 16;

/// A file being read. Its name is for errors.
pub(super) struct Content<'a> {
    file: &'a str,
    gzip: bool,
    bytes: Box<dyn Read + 'a>,
}

impl<'a> Content<'a> {
    /// Looks at the first bytes; a name proves nothing.
    pub(super) fn open(file: &'a str, mut source: impl Read + 'a) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(GZIP.len());
        let peeked = source.by_ref().take(GZIP.len() as u64).read_to_end(&mut head);
        let gzip = head == GZIP;
        let whole = io::Cursor::new(head).chain(source);
        let bytes: Box<dyn Read> = if gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        let opened = Self { file, gzip, bytes };
        peeked.map_err(|error| opened.unreadable(&error))?;
        Ok(opened)
    }

    /// Reads at most `limit` bytes more, to the end of `out`.
    pub(super) fn read(&mut self, limit: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        let read = self.bytes.by_ref().take(limit).read_to_end(out);
        read.map(drop).map_err(|error| self.unreadable(&error))
    }

    /// Fills `out`; `false` if the content ends before.
    pub(super) fn fill(&mut self, out: &mut [u8]) -> Result<bool, Error> {
        match self.bytes.read_exact(out) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && !self.gzip => Ok(false),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// An error about this file.
    pub(super) fn bad(&self, why: impl Into<String>) -> Error {
        Error::Data { file: self.file.to_owned(), why: why.into() }
    }

    fn unreadable(&self, error: &io::Error) -> Error {
        self.bad(match (self.gzip, error.kind()) {
            (true, ErrorKind::UnexpectedEof) => "is truncated: its gzip stream ends early".to_owned(),
            (true, ErrorKind::InvalidInput | ErrorKind::InvalidData) => format!("is corrupt: {error}"),
            _ => format!("cannot be read: {error}"),
        })
    }
}

/// Opens a file that was named by the user.
pub(super) fn open(path: &Path) -> Result<File, Error> {
    let bad = |why: String| Error::Data { file: path.display().to_string(), why };
    let file = File::open(path).map_err(|error| bad(format!("cannot be opened: {error}")))?;
    if file.metadata().is_ok_and(|m| m.is_dir()) {
        return Err(bad("is a folder, a file was expected".to_owned()));
    }
    Ok(file)
}

/// The SHA-256 of a file's content, in hex: of what gzip holds, as gzip programs differ in how they write the same thing.
pub fn sha256(path: &Path) -> Result<String, Error> {
    let name = path.display().to_string();
    let mut content = Content::open(&name, open(path)?)?;
    let mut hash = Sha256::new();
    let mut chunk = Vec::with_capacity(CHUNK);
    loop {
        chunk.clear();
        content.read(CHUNK as u64, &mut chunk)?;
        if chunk.is_empty() {
            break;
        }
        hash.update(&chunk);
    }
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}
