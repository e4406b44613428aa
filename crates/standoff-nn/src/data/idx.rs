//! IDX, the file format of MNIST: a magic number, the sizes, then one byte per entry. Plain or gzip, told apart by content.

use std::io::Read;

use super::content::Content;
use crate::Error;

/// The type code of unsigned bytes.
const BYTES: u8 = 0x08;
/// The most bytes one file may hold: far above any known dataset, far below what would take a machine down.
const LIMIT: u64 = 8 << 30;
/// The largest allocation before the first byte is read, whatever size the header states.
const RESERVE: u64 = 1 << 20;

/// The images of a file: `count` of `rows` x `cols` bytes each.
#[derive(Debug)]
pub(super) struct Images {
    pub(super) pixels: Vec<u8>,
    pub(super) count: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

/// Reads a file of images; `file` is its name in errors.
pub(super) fn images(file: &str, source: impl Read) -> Result<Images, Error> {
    let ([count, rows, cols], pixels) = entries::<3>(Content::open(file, source)?)?;
    Ok(Images { pixels, count, rows, cols })
}

/// Reads a file of labels; `file` is its name in errors.
pub(super) fn labels(file: &str, source: impl Read) -> Result<Vec<u8>, Error> {
    Ok(entries::<1>(Content::open(file, source)?)?.1)
}

/// The sizes and the entries of a file with `D` dimensions, read to the very end so that gzip's own checksum counts.
fn entries<const D: usize>(mut file: Content<'_>) -> Result<([usize; D], Vec<u8>), Error> {
    let magic = number(&mut file)?.to_be_bytes();
    check(&file, magic, D)?;
    let mut sizes = [0; D];
    let mut total = Some(1u64);
    for size in &mut sizes {
        let n = number(&mut file)?;
        *size = n as usize;
        total = total.and_then(|t| t.checked_mul(u64::from(n)));
    }
    let shape = sizes.map(|n| n.to_string()).join(" x ");
    let total = match total {
        Some(0) => return Err(file.bad(format!("is empty: its header says {shape}"))),
        Some(total) if total <= LIMIT => total,
        _ => {
            let most = LIMIT >> 30;
            return Err(file.bad(format!("is corrupt: its header promises {shape} bytes, more than {most} GB")));
        }
    };
    // Grows with what is really there: a false header costs no memory.
    let mut entries = Vec::with_capacity(total.min(RESERVE) as usize);
    file.read(total + 1, &mut entries)?;
    let got = entries.len() as u64;
    if got < total {
        return Err(file.bad(format!("is truncated: its header promises {shape} = {total} bytes, {got} are there")));
    }
    if got > total {
        return Err(file.bad(format!("is corrupt: more bytes follow the {shape} = {total} of its header")));
    }
    Ok((sizes, entries))
}

/// Four bytes, the highest first.
fn number(file: &mut Content<'_>) -> Result<u32, Error> {
    let mut four = [0; 4];
    if !file.fill(&mut four)? {
        return Err(file.bad("is truncated: it ends inside its header"));
    }
    Ok(u32::from_be_bytes(four))
}

/// The magic number: two zeros, the type of the entries, the number of dimensions.
fn check(file: &Content<'_>, [zero, null, kind, dims]: [u8; 4], want: usize) -> Result<(), Error> {
    let name = |d| match d {
        1 => "labels (1 dimension)".to_owned(),
        3 => "images (3 dimensions)".to_owned(),
        d => format!("an array of {d} dimensions"),
    };
    let dims = usize::from(dims);
    if (zero, null) != (0, 0) {
        let magic = format!("{zero:02x} {null:02x} {kind:02x} {dims:02x}");
        return Err(file.bad(format!("is not an IDX file: it starts with {magic}, not with 00 00 08 0{want}")));
    }
    if kind != BYTES {
        return Err(file.bad(format!("holds entries of type 0x{kind:02x}, only unsigned bytes (0x08) are read")));
    }
    if dims != want {
        let hint = if matches!(dims, 1 | 3) { "; are the two files swapped?" } else { "" };
        return Err(file.bad(format!("holds {}, {} were expected{hint}", name(dims), name(want))));
    }
    Ok(())
}
