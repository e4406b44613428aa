//! NumPy's `.npy` files: matrices of `float32` are written for other tools, arrays of numbers are read in place.

/// Columns of the header's end: NumPy wants the numbers to begin at a multiple of it.
const ALIGN: usize = 64;
/// The magic word, the version, and the length of the header.
const LEAD: usize = 10;

/// The bytes of a file of `rows` rows.
///
/// # Panics
/// When the values do not fill the rows.
pub fn matrix(values: &[f32], rows: usize) -> Vec<u8> {
    let columns = values.len() / rows.max(1);
    assert_eq!(rows * columns, values.len());
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let length = (LEAD + header.len() + 1).next_multiple_of(ALIGN) - LEAD;
    header.push_str(&" ".repeat(length - 1 - header.len()));
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    // Three numbers and sixty letters: far below the 65,535 that two bytes can say.
    out.extend((length as u16).to_le_bytes());
    out.extend(header.bytes());
    out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    out
}

/// An array in the bytes of a file: versions 1 to 3, little-endian, rows first.
pub(super) struct Array<'a> {
    /// The length of each axis.
    pub(super) shape: Vec<usize>,
    kind: Kind,
    /// True for unsigned bytes.
    plain: bool,
    data: &'a [u8],
}

/// The bytes of a number, and its value.
type Kind = (usize, fn(&[u8]) -> f64);

/// The value of a number of a type in little-endian bytes.
macro_rules! value {
    ($type:ty) => {
        (size_of::<$type>(), |bytes| bytes.first_chunk().map_or(0.0, |b| <$type>::from_le_bytes(*b) as f64))
    };
}

impl<'a> Array<'a> {
    /// Reads the header. Errors follow the name of the array.
    pub(super) fn read(file: &'a [u8]) -> Result<Self, String> {
        let cut = "is truncated inside its header";
        let Some(rest) = file.strip_prefix(b"\x93NUMPY") else { return Err("is no .npy array".to_owned()) };
        let wide = rest.first().ok_or(cut)? > &1;
        let length = rest.get(2..if wide { 6 } else { 4 }).ok_or(cut)?;
        let length = length.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        let start = if wide { 6 } else { 4 };
        let header = rest.get(start..start + length).ok_or(cut)?;
        let (header, data) = (String::from_utf8_lossy(header), &rest[start + length..]);
        let kind = entry(&header, "descr", '\'', '\'').ok_or("has no numbers of one type")?;
        let plain = kind == "|u1";
        let kind =
            known(kind).ok_or_else(|| format!("holds entries of type {kind}: want bytes, integers or floats"))?;
        if !header.contains("'fortran_order': False") {
            return Err("has its columns first (Fortran order): save it with numpy.ascontiguousarray".to_owned());
        }
        let sizes =
            entry(&header, "shape", '(', ')').unwrap_or("?").split(',').map(str::trim).filter(|s| !s.is_empty());
        let shape: Vec<usize> =
            sizes.map(|s| s.parse().map_err(|_| "has no readable shape")).collect::<Result<_, _>>()?;
        let want = shape.iter().try_fold(kind.0, |n, size| n.checked_mul(*size)).ok_or("is too large")?;
        if data.len() < want {
            return Err(format!("is truncated: its header promises {want} bytes, {} are there", data.len()));
        }
        Ok(Self { shape, kind, plain, data: &data[..want] })
    }

    /// The bytes of an array of bytes.
    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        self.plain.then_some(self.data)
    }

    /// The numbers, row by row.
    pub(super) fn numbers(&self) -> impl Iterator<Item = f64> + 'a {
        let (size, value) = self.kind;
        self.data.chunks_exact(size).map(value)
    }
}

/// The text of an entry of a header between two marks.
fn entry<'h>(header: &'h str, name: &str, open: char, close: char) -> Option<&'h str> {
    let rest = header.split_once(&format!("'{name}':"))?.1.trim_start();
    rest.strip_prefix(open)?.split_once(close).map(|(inside, _)| inside)
}

/// The types that are read.
fn known(descr: &str) -> Option<Kind> {
    Some(match descr {
        "|u1" | "|b1" => value!(u8),
        "|i1" => value!(i8),
        "<u2" => value!(u16),
        "<i2" => value!(i16),
        "<u4" => value!(u32),
        "<i4" => value!(i32),
        "<u8" => value!(u64),
        "<i8" => value!(i64),
        "<f4" => value!(f32),
        "<f8" => value!(f64),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_that_of_numpy() {
        let file = matrix(&[0.0, 0.5, 1.0, -2.0, 0.25, 3.0], 2);
        assert_eq!(&file[..10], b"\x93NUMPY\x01\x00\x76\x00");
        let header = std::str::from_utf8(&file[10..128]).unwrap();
        assert!(header.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  "), "{header}");
        assert!(header.ends_with(" \n"));
        assert_eq!(file.len(), 128 + 24);
        assert_eq!(&file[132..136], &0.5f32.to_le_bytes());
    }
}
