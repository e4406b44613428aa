//! The safetensors format: eight bytes for the length of a JSON header, the header, the numbers. It is written here and not by the
//! `safetensors` crate, whose metadata has no fixed order, so that the same input gives the same bytes.

use super::Metadata;
use crate::Error;
use safetensors::{Dtype, tensor::TensorView};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A tensor to be written.
#[derive(Debug, Clone, Copy)]
pub struct Tensor<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its shape.
    pub shape: &'t [usize],
    /// Its entries, row-major.
    pub values: &'t [f32],
}

/// The bytes of a file: tensors in the order given, metadata by name. Panics when a shape and its values disagree.
pub fn encode(tensors: &[Tensor<'_>], metadata: &Metadata) -> Vec<u8> {
    let mut entries = Vec::with_capacity(tensors.len() + 1);
    if !metadata.is_empty() {
        let lines: Vec<String> = metadata.iter().map(|(k, v)| format!("{}:{}", quoted(k), quoted(v))).collect();
        entries.push(format!("\"__metadata__\":{{{}}}", lines.join(",")));
    }
    let mut offset = 0;
    for Tensor { name, shape, values } in tensors {
        assert_eq!(shape.iter().product::<usize>(), values.len(), "{name}");
        let end = offset + 4 * values.len();
        let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
        entries.push(format!(
            "{}:{{\"dtype\":\"F32\",\"shape\":[{}],\"data_offsets\":[{offset},{end}]}}",
            quoted(name),
            shape.join(",")
        ));
        offset = end;
    }
    let mut header = format!("{{{}}}", entries.join(","));
    // The numbers start at a multiple of eight bytes.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    let mut out = Vec::with_capacity(8 + header.len() + offset);
    out.extend((header.len() as u64).to_le_bytes());
    out.extend(header.as_bytes());
    for tensor in tensors {
        tensor.values.iter().for_each(|v| out.extend(v.to_le_bytes()));
    }
    out
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Reads the entries as `f32`: unchanged, rounded from `f64`, or widened from the two half precisions.
pub(super) fn decode(name: &str, tensor: &TensorView<'_>, out: &mut [f32]) -> Result<(), Error> {
    fn each<const N: usize>(bytes: &[u8], out: &mut [f32], read: impl Fn([u8; N]) -> f32) {
        let (numbers, rest) = bytes.as_chunks::<N>();
        assert!(numbers.len() == out.len() && rest.is_empty());
        out.iter_mut().zip(numbers).for_each(|(o, number)| *o = read(*number));
    }
    let bytes = tensor.data();
    match tensor.dtype() {
        Dtype::F32 => each(bytes, out, f32::from_le_bytes),
        Dtype::F64 => each(bytes, out, |b| f64::from_le_bytes(b) as f32),
        Dtype::F16 => each(bytes, out, |b| from_half(u16::from_le_bytes(b))),
        Dtype::BF16 => each(bytes, out, |b| f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16)),
        other => {
            let why = format!("{name} holds {other}; F32, F64, F16 and BF16 can be read: save it as float");
            return Err(Error::Weights(why));
        }
    }
    Ok(())
}

/// IEEE half precision: a sign, 5 bits of exponent, 10 of fraction. Exact in `f32`.
fn from_half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction / 16_777_216.0,
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        // (1 + fraction/1024) * 2^(exponent - 15), the power written as the bits of an f32.
        _ => (1.0 + fraction / 1024.0) * f32::from_bits(((exponent - 15 + 127) as u32) << 23),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Writes a temporary file in the same folder, and renames it when it is complete and on the disk: after a crash the old or the new
/// file is there, complete.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    let write = || {
        let mut file = fs::File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().inspect_err(|_| {
        // Report the first error, not a failure to remove the temporary file.
        let _ = fs::remove_file(&part);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use safetensors::SafeTensors;

    #[test]
    fn half_precision_is_widened_exactly() {
        let cases = [(0x0000, 0.0), (0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x3555, 0.333_251_95)];
        for (bits, want) in cases {
            assert_eq!(from_half(bits), want, "{bits:04x}");
        }
        // The smallest, the largest below the normal range, and the smallest within it.
        assert_eq!(from_half(0x0001), 2.0_f32.powi(-24));
        assert_eq!(from_half(0x03ff), 1023.0 * 2.0_f32.powi(-24));
        assert_eq!(from_half(0x0400), 2.0_f32.powi(-14));
        assert!(from_half(0x8000).is_sign_negative());
        assert_eq!(from_half(0xfc00), f32::NEG_INFINITY);
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_no_temporary_file_is_left() {
        let folder = std::env::temp_dir().join(format!("standoff-weights-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.bin");
        for bytes in [&b"first"[..], b"second"] {
            write_atomically(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        // A folder has the name of the file: an error is returned, and the temporary file is removed.
        fs::create_dir_all(folder.join("b.bin/c")).unwrap();
        assert!(write_atomically(&folder.join("b.bin"), b"third").is_err());
        let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.bin", "b.bin"]);
        fs::remove_dir_all(&folder).unwrap();
    }

    proptest! {
        #[test]
        fn the_crate_reads_what_is_written_here(
            values in prop::collection::vec(any::<u32>(), 0..20),
            names in prop::collection::btree_set(".{1,8}", 1..4),
            metadata in prop::collection::btree_map(".{0,8}", "\\PC{0,8}|[\\x00-\\x1f\"\\\\]{0,8}", 0..4),
        ) {
            let values: Vec<f32> = values.into_iter().map(f32::from_bits).collect();
            let shape = [values.len(), 1];
            let named = names.iter().filter(|name| *name != "__metadata__");
            let tensors: Vec<Tensor<'_>> = named.map(|name| Tensor { name, shape: &shape, values: &values }).collect();
            let bytes = encode(&tensors, &metadata);
            let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
            let read: Metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
            prop_assert_eq!(read, metadata);
            let file = SafeTensors::deserialize(&bytes).unwrap();
            prop_assert_eq!(file.len(), tensors.len());
            for tensor in &tensors {
                let back = file.tensor(tensor.name).unwrap();
                prop_assert_eq!(back.shape(), tensor.shape);
                let want: Vec<u8> = tensor.values.iter().flat_map(|v| v.to_le_bytes()).collect();
                prop_assert_eq!(back.data(), &want[..]);
            }
        }
    }
}
