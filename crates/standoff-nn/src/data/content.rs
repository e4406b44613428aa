//! The content of a file, decompressed if it is gzip, within limits.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use crate::{Error, input};

/// The first two bytes of every gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The largest ratio of decompressed to compressed size; that of real tables and images is below 50.
const GROWTH: u64 = 100;
/// Gzip may always decompress to this many bytes.
const FREE: u64 = 64 << 20;
/// Number of bytes that are hashed at a time.
const CHUNK: usize = 1 << 16;

/// A file being read. Its name is for errors.
pub(super) struct Content<'a> {
    file: &'a str,
    gzip: bool,
    bytes: Box<dyn Read + 'a>,
}

impl<'a> Content<'a> {
    /// Recognises gzip by its first bytes, not by the name.
    pub(super) fn open(file: &'a str, mut source: impl Read + 'a) -> Result<Self, Error> {
        let mut head = Vec::with_capacity(GZIP.len());
        let peeked = source.by_ref().take(GZIP.len() as u64).read_to_end(&mut head);
        let gzip = head == GZIP;
        let whole = io::Cursor::new(head).chain(source);
        let bytes: Box<dyn Read> = if gzip { Box::new(Inflated::new(whole)) } else { Box::new(whole) };
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
            (true, ErrorKind::FileTooLarge) => error.to_string(),
            _ => format!("cannot be read: {error}"),
        })
    }
}

/// A gzip stream that ends with an error when it exceeds the limits.
struct Inflated<R> {
    stream: MultiGzDecoder<Counted<R>>,
    /// Bytes decompressed.
    given: u64,
}

impl<R: Read> Inflated<R> {
    fn new(source: R) -> Self {
        Self { stream: MultiGzDecoder::new(Counted { source, taken: 0 }), given: 0 }
    }
}

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.stream.read(out)?;
        self.given += n as u64;
        if self.given > FREE && self.given / GROWTH > self.stream.get_ref().taken {
            let why =
                format!("decompresses to more than {GROWTH} times its size; if that is right, decompress it first");
            return Err(io::Error::new(ErrorKind::FileTooLarge, why));
        }
        Ok(n)
    }
}

/// A source that counts the bytes read from it.
struct Counted<R> {
    source: R,
    taken: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(out)?;
        self.taken += n as u64;
        Ok(n)
    }
}

/// Opens a file that was named by the user.
pub(super) fn open(path: &Path) -> Result<File, Error> {
    let bad = |why: String| Error::Data { file: path.display().to_string(), why };
    input::open(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => bad(error.to_string()),
        _ => bad(format!("cannot be opened: {error}")),
    })
}

/// The SHA-256 of a file's content, in hex. For gzip it is of the decompressed bytes, because gzip programs compress differently.
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
