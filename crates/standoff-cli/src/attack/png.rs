//! PNG files: eight bits each of red, green and blue, compressed by the library that reads the datasets.

use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// A colour.
pub(super) type Colour = [u8; 3];

/// A picture in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Row by row.
    pixels: Vec<Colour>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize, colour: Colour) -> Self {
        Self { width, height, pixels: vec![colour; width * height] }
    }

    /// Fills a rectangle, as far as it lies on the canvas.
    pub(super) fn fill(&mut self, (x, y): (usize, usize), (width, height): (usize, usize), colour: Colour) {
        let columns = x.min(self.width)..(x + width).min(self.width);
        for row in y.min(self.height)..(y + height).min(self.height) {
            self.pixels[row * self.width..][columns.clone()].fill(colour);
        }
    }

    #[cfg(test)]
    pub(super) fn at(&self, x: usize, y: usize) -> Colour {
        self.pixels[y * self.width + x]
    }

    /// The bytes of the file.
    pub(super) fn png(&self) -> Result<Vec<u8>> {
        let side = |n: usize| u32::try_from(n).context("the picture is too large");
        let mut header = [side(self.width)?.to_be_bytes(), side(self.height)?.to_be_bytes()].concat();
        // Eight bits, red-green-blue, and the only compression, filtering and order there are without interlacing.
        header.extend([8, 2, 0, 0, 0]);
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        for row in self.pixels.chunks(self.width.max(1)) {
            // Each row begins with its filter: none.
            packed.write_all(&[0])?;
            packed.write_all(row.as_flattened())?;
        }
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        for (name, data) in [(b"IHDR", header), (b"IDAT", packed.finish()?), (b"IEND", Vec::new())] {
            out.extend(side(data.len())?.to_be_bytes());
            let mut crc = Crc::new();
            crc.update(name);
            crc.update(&data);
            out.extend(name);
            out.extend(data);
            out.extend(crc.sum().to_be_bytes());
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_file_has_the_pixels_in_order() {
        let mut canvas = Canvas::new(3, 2, [9, 9, 9]);
        canvas.fill((1, 1), (7, 7), [1, 2, 3]);
        let file = canvas.png().unwrap();
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!(&file[8..29], b"\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x02\0\0\0");
        let size = u32::from_be_bytes(file[33..37].try_into().unwrap()) as usize;
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(&file[41..41 + size]).read_to_end(&mut rows).unwrap();
        assert_eq!(rows, [&[0][..], &[9; 9], &[0, 9, 9, 9, 1, 2, 3, 1, 2, 3]].concat());
        // The well-known end of every PNG file, with its checksum.
        assert!(file.ends_with(b"\0\0\0\0IEND\xaeB`\x82"));
        assert_eq!((canvas.at(0, 0), canvas.at(2, 1)), ([9; 3], [1, 2, 3]));
    }
}
