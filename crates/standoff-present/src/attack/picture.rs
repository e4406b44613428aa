//! A PNG of misclassified images: the original, the change, and the attacked image below each other. In the change of a grey image red
//! is brighter and blue darker; that of a colour image is grey where nothing changes, and each channel is brighter or darker by its change.
//! The classes are in the file's text, in the order of the columns.

use standoff_nn::Shape;
use standoff_train::attack::images::Images;
use standoff_train::attack::measure::MeasuredAttack;

use crate::Result;
use crate::number::short;

/// The side of an image, in pixels of the picture, at least.
const SIDE: usize = 84;
/// Pixels between images.
const GAP: usize = 6;
/// Images shown for each eps.
const SHOWN: usize = 10;
/// The key of the text in the file.
const KEY: &str = "Description";

const PAPER: Colour = [255; 3];

type Colour = [u8; 3];

/// An image before and after the attack.
#[derive(Debug, Clone, PartialEq)]
struct AttackedImage {
    original: Vec<f32>,
    adversarial: Vec<f32>,
    /// `7>3`: its class and the predicted class.
    caption: String,
}

/// The images of one eps.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    heading: String,
    images: Vec<AttackedImage>,
}

impl Sheet {
    /// Some misclassified images: the first of every class, then the next of every class.
    pub fn of(images: &Images, measured: &MeasuredAttack) -> Self {
        let Images { pixels, labels, names, shape, .. } = images;
        let MeasuredAttack { block, worst, predictions, .. } = measured;
        let width = shape.size();
        let mut seen = vec![0_usize; names.len()];
        let mut broken: Vec<(usize, usize)> = Vec::new();
        for i in (0..labels.len()).filter(|i| block.outcomes[*i].fallen_to.is_some()) {
            let class = usize::from(labels[i]);
            broken.push((seen[class], i));
            seen[class] += 1;
        }
        broken.sort_by_key(|(nth, i)| (*nth, labels[*i]));
        broken.truncate(SHOWN);
        let one = |(_, i): &(usize, usize)| AttackedImage {
            original: pixels[i * width..(i + 1) * width].to_vec(),
            adversarial: worst[i * width..(i + 1) * width].to_vec(),
            caption: format!("{}>{}", names[usize::from(labels[*i])], names[usize::from(predictions[*i])]),
        };
        Self { heading: format!("eps {}", short(block.eps)), images: broken.iter().map(one).collect() }
    }
}

/// A PNG file of all sheets that have images; `None` if there is none.
pub fn file(sheets: &[Sheet], shape: Shape) -> Result<Option<Vec<u8>>> {
    let some: Vec<&Sheet> = sheets.iter().filter(|sheet| !sheet.images.is_empty()).collect();
    if some.is_empty() {
        return Ok(None);
    }
    let canvas = draw(&some, shape);
    let captions = |sheet: &&Sheet| {
        let captions: Vec<&str> = sheet.images.iter().map(|image| image.caption.as_str()).collect();
        format!("{}: {}", sheet.heading, captions.join(", "))
    };
    let text = some.iter().map(captions).collect::<Vec<_>>().join("; ");
    let side = |n: usize| u32::try_from(n);
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, side(canvas.width)?, side(canvas.pixels.len() / canvas.width)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.add_itxt_chunk(KEY.to_owned(), text)?;
    encoder.write_header()?.write_image_data(canvas.pixels.as_flattened())?;
    Ok(Some(out))
}

/// The classes of the images in a file, if it has such a text.
pub fn captions(file: &[u8]) -> Option<String> {
    let reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().ok()?;
    reader.info().utf8_text.iter().find(|text| text.keyword == KEY)?.get_text().ok()
}

/// A picture in memory, row by row.
struct Canvas {
    width: usize,
    pixels: Vec<Colour>,
}

impl Canvas {
    /// Fills a square.
    fn fill(&mut self, (x, y): (usize, usize), side: usize, colour: Colour) {
        for row in y..y + side {
            self.pixels[row * self.width + x..][..side].fill(colour);
        }
    }
}

/// Draws the sheets below each other.
fn draw(sheets: &[&Sheet], shape: Shape) -> Canvas {
    let (rows, cols) = (shape.height, shape.width);
    let dot = SIDE.div_ceil(rows.max(cols).max(1));
    let columns = sheets.iter().map(|s| s.images.len()).max().unwrap_or(0);
    let block = 3 * (dot * rows + GAP) + 2 * GAP;
    let width = GAP + columns * (dot * cols + GAP);
    let mut canvas = Canvas { width, pixels: vec![PAPER; width * sheets.len() * block] };
    for (i, sheet) in sheets.iter().enumerate() {
        for (j, image) in sheet.images.iter().enumerate() {
            let (x, y) = (GAP + j * (dot * cols + GAP), GAP + i * block);
            let changes: Vec<f32> = image.adversarial.iter().zip(&image.original).map(|(a, o)| a - o).collect();
            // The largest change has the full colour.
            let full = changes.iter().fold(0.0, |most: f32, by| if by.abs() > most { by.abs() } else { most });
            let around_grey: Vec<f32> = changes.iter().map(|by| 0.5 + 0.5 * by / full.max(f32::MIN_POSITIVE)).collect();
            for pixel in 0..rows * cols {
                let of = |values: &[f32]| colour(values, pixel, rows * cols);
                let by = if shape.channels == 1 { change(changes[pixel], full) } else { of(&around_grey) };
                let colours = [of(&image.original), by, of(&image.adversarial)];
                for (row, colour) in colours.into_iter().enumerate() {
                    let place = (x + dot * (pixel % cols), y + row * (dot * rows + GAP) + dot * (pixel / cols));
                    canvas.fill(place, dot, colour);
                }
            }
        }
    }
    canvas
}

/// The colour of a pixel, from 0 to 1 in each channel: grey with one channel; a second or third channel that is missing is black.
fn colour(values: &[f32], pixel: usize, plane: usize) -> Colour {
    let byte = |v: f32| (255.0 * v).round() as u8;
    match values.len() / plane {
        1 => [byte(values[pixel]); 3],
        _ => std::array::from_fn(|channel| values.get(channel * plane + pixel).map_or(0, |v| byte(*v))),
    }
}

/// White for no change, full red or blue for a change of `full` up or down.
fn change(by: f32, full: f32) -> Colour {
    let left = (255.0 * (1.0 - by.abs() / full)).round() as u8;
    if by > 0.0 { [255, left, left] } else { [left, left, 255] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_the_original_the_change_and_the_sum_and_names_the_classes() {
        let (original, adversarial) = (vec![0.0, 1.0], vec![0.3, 0.7]);
        let image = AttackedImage { original, adversarial, caption: "7>3".to_owned() };
        let sheet = Sheet { heading: "eps 0.3".to_owned(), images: vec![image.clone(), image] };
        let canvas = draw(&[&sheet], Shape::new(1, 1, 2));
        let dot = SIDE / 2;
        let pixel = |x: usize, y: usize| canvas.pixels[y * canvas.width + x];
        let at = |row: usize, column: usize| pixel(GAP + column * dot, GAP + row * (dot + GAP));
        assert_eq!([at(0, 0), at(0, 1)], [[0; 3], [255; 3]]);
        assert_eq!([at(1, 0), at(1, 1)], [[255, 0, 0], [0, 0, 255]]);
        assert_eq!([at(2, 0), at(2, 1)], [[77; 3], [179; 3]]);
        assert_eq!(canvas.width, GAP + 2 * (SIDE + GAP));
        let file = file(&[sheet], Shape::new(1, 1, 2)).expect("a file").expect("a picture");
        assert_eq!(captions(&file).as_deref(), Some("eps 0.3: 7>3, 7>3"));
        assert_eq!(captions(b"\x89PNG"), None);
        let mut reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        reader.next_frame(&mut pixels).expect("pixels");
        assert_eq!(pixels, canvas.pixels.as_flattened());
    }

    #[test]
    fn the_change_of_a_colour_image_is_around_grey_in_each_channel() {
        let (original, adversarial) = (vec![1.0, 0.0, 0.5], vec![1.0, 0.2, 0.4]);
        let image = AttackedImage { original, adversarial, caption: "cat>dog".to_owned() };
        let sheet = Sheet { heading: "eps 0.2".to_owned(), images: vec![image] };
        let canvas = draw(&[&sheet], Shape::new(3, 1, 1));
        let at = |row: usize| canvas.pixels[(GAP + row * (SIDE + GAP)) * canvas.width + GAP];
        assert_eq!([at(0), at(1), at(2)], [[255, 0, 128], [128, 255, 64], [255, 51, 102]]);
    }

    #[test]
    fn values_beyond_their_range_are_drawn_as_the_nearest_colour() {
        assert_eq!((colour(&[-0.4], 0, 1), colour(&[1.4], 0, 1)), ([0; 3], [255; 3]));
        assert_eq!((change(0.0, 0.3), change(-0.9, 0.3), change(0.1, 0.0)), ([255; 3], [0, 0, 255], [255, 0, 0]));
        assert_eq!(change(0.15, 0.3), [255, 128, 128]);
    }
}
