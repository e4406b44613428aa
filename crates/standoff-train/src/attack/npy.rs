//! Numbers for other tools: `.npy` files of `float32`, as NumPy writes them.

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
