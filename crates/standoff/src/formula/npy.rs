//! NumPy's `.npy` files, versions 1 to 3: whole numbers, floats and booleans, up to two axes, either byte and axis order.

use super::data::{Array, bounded};
use super::shape::Shape;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes to one number.
type Decode = fn(&[u8], bool) -> f64;

/// Reads a whole file.
pub(super) fn read(bytes: &[u8]) -> Result<Array, String> {
    let (header, body) = split(bytes)?;
    let kind = quoted(header, "descr")?;
    let (little, size, decode) = kind_of(kind)?;
    let columns_first = match entry(header, "fortran_order")?.trim_start() {
        rest if rest.starts_with("True") => true,
        rest if rest.starts_with("False") => false,
        _ => return Err("its header does not say fortran_order".into()),
    };
    let lengths = shape_of(header)?;
    let (shape, rows, cols) = match lengths[..] {
        [] => (Shape::Scalar, 1, 1),
        [n] => (Shape::Vector(n), 1, n),
        [rows, cols] => (Shape::Matrix(rows, cols), rows, cols),
        _ => return Err(format!("it has {} axes; give at most 2", lengths.len())),
    };
    let count = bounded(rows, cols)?;
    if body.len() / size < count {
        return Err(format!("it holds {} numbers, its header promises {count}; save it again", body.len() / size));
    }
    let number = |i: usize| decode(&body[i * size..(i + 1) * size], little);
    let values = if columns_first {
        (0..count).map(|i| number(i / cols + i % cols * rows)).collect()
    } else {
        (0..count).map(number).collect()
    };
    Ok(Array { shape, values })
}

/// The header's text and the numbers after it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is not a .npy file; save it with numpy.save")?;
    let cut = || String::from("it ends inside its header; save it again");
    let (length, start) = match rest {
        [1, _, a, b, ..] => (u32::from_le_bytes([*a, *b, 0, 0]), 4),
        [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([*a, *b, *c, *d]), 6),
        [1..=3, ..] | [] => return Err(cut()),
        [version, ..] => return Err(format!("its format version is {version}; versions 1 to 3 are known")),
    };
    let header = rest[start..].get(..length as usize).ok_or_else(cut)?;
    let text = std::str::from_utf8(header).map_err(|_| "its header is not text")?;
    Ok((text, &rest[start + length as usize..]))
}

/// What follows `'name':` in the header.
fn entry<'h>(header: &'h str, name: &str) -> Result<&'h str, String> {
    let mut found = ["'", "\""].iter().filter_map(|q| header.split_once(&format!("{q}{name}{q}")));
    let missing = || format!("its header has no {name}");
    let (_, after) = found.next().ok_or_else(missing)?;
    after.trim_start().strip_prefix(':').ok_or_else(missing)
}

fn quoted<'h>(header: &'h str, name: &str) -> Result<&'h str, String> {
    let text = entry(header, name)?.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    quote
        .and_then(|q| text[1..].split_once(q))
        .map(|(inside, _)| inside)
        .ok_or_else(|| "it has named columns; save a plain array of numbers".into())
}

fn shape_of(header: &str) -> Result<Vec<usize>, String> {
    let wrong = || String::from("its header has no readable shape");
    let (inside, _) =
        entry(header, "shape")?.trim_start().strip_prefix('(').and_then(|s| s.split_once(')')).ok_or_else(wrong)?;
    inside.split(',').map(str::trim).filter(|s| !s.is_empty()).map(|s| s.parse().map_err(|_| wrong())).collect()
}

/// Byte order, bytes per number, and how to read one.
fn kind_of(kind: &str) -> Result<(bool, usize, Decode), String> {
    let (little, code) = match kind.split_at_checked(1) {
        Some(("<" | "|" | "=", code)) => (true, code),
        Some((">", code)) => (false, code),
        _ => (true, kind),
    };
    let (size, decode): (usize, Decode) = match code {
        "f8" => (8, |b, little| f64::from_bits(whole(b, little))),
        "f4" => (4, |b, little| f64::from(f32::from_bits(whole(b, little) as u32))),
        "i8" => (8, |b, little| whole(b, little) as i64 as f64),
        "i4" => (4, |b, little| f64::from(whole(b, little) as u32 as i32)),
        "i2" => (2, |b, little| f64::from(whole(b, little) as u16 as i16)),
        "i1" => (1, |b, little| f64::from(whole(b, little) as u8 as i8)),
        "u8" => (8, |b, little| whole(b, little) as f64),
        "u4" => (4, |b, little| whole(b, little) as f64),
        "u2" => (2, |b, little| whole(b, little) as f64),
        "u1" => (1, |b, little| whole(b, little) as f64),
        "b1" => (1, |b, _| f64::from(u8::from(b[0] != 0))),
        _ => return Err(format!("its numbers are of kind {kind:?}; save it with .astype('float64')")),
    };
    Ok((little, size, decode))
}

/// Up to eight bytes as one unsigned number.
fn whole(bytes: &[u8], little: bool) -> u64 {
    let join = |acc: u64, b: &u8| acc << 8 | u64::from(*b);
    if little { bytes.iter().rev().fold(0, join) } else { bytes.iter().fold(0, join) }
}
