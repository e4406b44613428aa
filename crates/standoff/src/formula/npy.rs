//! NumPy's `.npy` files, versions 1 to 3: integers, floats and booleans, up to two axes, either byte and axis order.
//! Numbers are decoded while they are read, so a file never takes more memory than its numbers.

use std::io::Read;

use super::data::{Array, bounded, fill};
use super::shape::Shape;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes read at a time: a multiple of every number size.
const PIECE: usize = 1 << 16;
/// The longest header that is read. NumPy writes 128 bytes.
const MOST_HEADER: usize = 1 << 20;

/// Decodes the bytes of several numbers.
type Decode = fn(&[u8], &mut dyn FnMut(f64));

/// The contents of a header.
struct Layout {
    shape: Shape,
    rows: usize,
    cols: usize,
    columns_first: bool,
    /// Bytes per number.
    size: usize,
    decode: Decode,
}

/// Reads a whole file.
pub(super) fn read(file: &mut dyn Read) -> Result<Array, String> {
    let header = header(file)?;
    let layout = layout(&header)?;
    let count = bounded(layout.rows, layout.cols)?;
    let (rows, cols) = (layout.rows, layout.cols);
    let mut values = room(count)?;
    let mut piece = vec![0; PIECE.min(count * layout.size)];
    let mut held = 0;
    while held < count {
        let want = piece.len().min((count - held) * layout.size);
        let got = fill(file, &mut piece[..want])?;
        let whole = &piece[..got - got % layout.size];
        if layout.columns_first {
            (layout.decode)(whole, &mut |v| {
                values[held % rows * cols + held / rows] = v;
                held += 1;
            });
        } else {
            (layout.decode)(whole, &mut |v| {
                values[held] = v;
                held += 1;
            });
        }
        if got < want {
            return Err(format!("it has {held} numbers, but its header says {count}; save it again"));
        }
    }
    Ok(Array::new(layout.shape, values))
}

/// Zeros that the operating system commits only when they are written, so a header cannot claim memory that its file
/// does not fill.
fn room(count: usize) -> Result<Vec<f64>, String> {
    let mut probe: Vec<f64> = Vec::new();
    probe.try_reserve_exact(count).map_err(|_| format!("its {count} numbers do not fit into memory"))?;
    drop(probe);
    let mut values = vec![0.0; count];
    crate::simd::use_huge_pages(&mut values);
    Ok(values)
}

/// Reads the header's text; the numbers follow.
fn header(file: &mut dyn Read) -> Result<String, String> {
    let cut = || String::from("it ends inside its header; save it again");
    let exactly = |file: &mut dyn Read, bytes: &mut [u8]| match fill(file, bytes) {
        Ok(got) if got == bytes.len() => Ok(()),
        Ok(_) => Err(cut()),
        Err(why) => Err(why),
    };
    let mut magic = [0; MAGIC.len()];
    if fill(file, &mut magic)? < MAGIC.len() || magic != MAGIC {
        return Err("it is not a .npy file; save it with numpy.save".into());
    }
    let (mut version, mut length) = ([0; 2], [0; 4]);
    exactly(file, &mut version)?;
    match version[0] {
        1 => exactly(file, &mut length[..2])?,
        2 | 3 => exactly(file, &mut length)?,
        other => return Err(format!("its format version is {other}; versions 1 to 3 are known")),
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MOST_HEADER {
        return Err(format!("its header has {length} bytes; save a plain array of numbers"));
    }
    let mut bytes = vec![0; length];
    exactly(file, &mut bytes)?;
    String::from_utf8(bytes).map_err(|_| "its header is not text".into())
}

fn layout(header: &str) -> Result<Layout, String> {
    let (size, decode) = kind_of(quoted(header, "descr")?)?;
    let columns_first = match entry(header, "fortran_order")?.trim_start() {
        rest if rest.starts_with("True") => true,
        rest if rest.starts_with("False") => false,
        _ => return Err("its header has no fortran_order".into()),
    };
    let lengths = shape_of(header)?;
    let (shape, rows, cols) = match lengths[..] {
        [] => (Shape::Scalar, 1, 1),
        [n] => (Shape::Vector(n), 1, n),
        [rows, cols] => (Shape::Matrix(rows, cols), rows, cols),
        _ => return Err(format!("it has {} axes; give at most 2", lengths.len())),
    };
    Ok(Layout { shape, rows, cols, columns_first, size, decode })
}

/// The text after `'name':` in the header.
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

/// A decoder for a number type, in either byte order, that converts to `f64`.
macro_rules! decoder {
    ($type:ty, $little:expr, $convert:expr) => {{
        const SIZE: usize = size_of::<$type>();
        let decode: Decode = if $little {
            |bytes, push| bytes.as_chunks::<SIZE>().0.iter().for_each(|b| push($convert(<$type>::from_le_bytes(*b))))
        } else {
            |bytes, push| bytes.as_chunks::<SIZE>().0.iter().for_each(|b| push($convert(<$type>::from_be_bytes(*b))))
        };
        (SIZE, decode)
    }};
}

/// The number of bytes per number, and its decoder.
fn kind_of(kind: &str) -> Result<(usize, Decode), String> {
    let (little, code) = match kind.split_at_checked(1) {
        Some(("<" | "|" | "=", code)) => (true, code),
        Some((">", code)) => (false, code),
        _ => (true, kind),
    };
    Ok(match code {
        "f8" => decoder!(f64, little, f64::from),
        "f4" => decoder!(f32, little, f64::from),
        "i8" => decoder!(i64, little, |v| v as f64),
        "i4" => decoder!(i32, little, f64::from),
        "i2" => decoder!(i16, little, f64::from),
        "i1" => decoder!(i8, little, f64::from),
        "u8" => decoder!(u64, little, |v| v as f64),
        "u4" => decoder!(u32, little, f64::from),
        "u2" => decoder!(u16, little, f64::from),
        "u1" => decoder!(u8, little, f64::from),
        "b1" => decoder!(u8, little, |v| f64::from(u8::from(v != 0))),
        _ => return Err(format!("its numbers are of kind {kind:?}; save it with .astype('float64')")),
    })
}
