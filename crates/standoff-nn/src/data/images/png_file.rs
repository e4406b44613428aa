//! PNG images as bytes, channel by channel.

use std::io::{BufRead, Seek};

use png::{BitDepth, ColorType, Decoder, Transformations};

use crate::Shape;

/// A grey or colour image: its shape, and its pixels row by row, the channels of a pixel side by side.
pub(super) type Picture = (Shape, Vec<u8>);

/// Decodes a PNG of 8 bits or fewer per channel, grey, colour or with a palette. Transparency is refused unless every pixel is opaque.
pub(super) fn decode(file: impl BufRead + Seek) -> Result<Picture, String> {
    let broken = |error: png::DecodingError| format!("is no readable PNG: {error}");
    let mut decoder = Decoder::new(file);
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(broken)?;
    if reader.info().bit_depth == BitDepth::Sixteen {
        return Err("has 16 bits per channel; save it with 8".to_owned());
    }
    let size = reader.output_buffer_size().ok_or("is too large")?;
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(broken)?;
    pixels.truncate(frame.buffer_size());
    let (channels, alpha) = match frame.color_type {
        ColorType::Grayscale => (1, false),
        ColorType::GrayscaleAlpha => (1, true),
        ColorType::Rgb => (3, false),
        ColorType::Rgba => (3, true),
        ColorType::Indexed => return Err("has a palette that cannot be read".to_owned()),
    };
    if alpha {
        if pixels.chunks_exact(channels + 1).any(|pixel| pixel[channels] != u8::MAX) {
            return Err("has transparent pixels; save it without an alpha channel".to_owned());
        }
        pixels = pixels.chunks_exact(channels + 1).flat_map(|pixel| &pixel[..channels]).copied().collect();
    }
    Ok((Shape::new(channels, frame.height as usize, frame.width as usize), pixels))
}

/// Adds the pixels of images of `shape` to `out`: from the channels of each pixel side by side to channel by channel.
pub(super) fn add_planes(pixels: &[u8], shape: Shape, out: &mut Vec<u8>) {
    for image in pixels.chunks_exact(shape.size()) {
        for channel in 0..shape.channels {
            out.extend(image.iter().skip(channel).step_by(shape.channels));
        }
    }
}
