//! Fallen images in a picture: above the original, then what was added to it (red is brighter, blue darker), below the sum.

use anyhow::Result;
use standoff_train::attack::images::Images;
use standoff_train::attack::measure::MeasuredAttack;

use super::glyphs;
use super::png::{Canvas, Colour};
use crate::number::short;

/// The side of an image, in dots of the picture, at least.
const SIDE: usize = 84;
/// Between images.
const GAP: usize = 6;
/// The side of a dot of a letter.
const DOT: usize = 2;
/// How many images are shown for each eps.
const SHOWN: usize = 10;

const PAPER: Colour = [255; 3];
const INK: Colour = [0; 3];

/// One image and what became of it.
#[derive(Debug, Clone, PartialEq)]
struct Exhibit {
    original: Vec<f32>,
    adversarial: Vec<f32>,
    /// `7>3`: its class, and what the network takes it for now.
    caption: String,
}

/// The images of one eps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sheet {
    heading: String,
    exhibits: Vec<Exhibit>,
}

impl Sheet {
    /// Some misclassified images: the first of every class, then the next of every class.
    pub(crate) fn of(images: &Images, measured: &MeasuredAttack) -> Self {
        let Images { pixels, labels, names, rows, cols, .. } = images;
        let MeasuredAttack { block, worst, predictions, .. } = measured;
        let width = rows * cols;
        let mut seen = vec![0_usize; names.len()];
        let mut fallen: Vec<(usize, usize)> = Vec::new();
        for i in (0..labels.len()).filter(|i| block.outcomes[*i].fallen_to.is_some()) {
            let class = usize::from(labels[i]);
            fallen.push((seen[class], i));
            seen[class] += 1;
        }
        fallen.sort_by_key(|(nth, i)| (*nth, labels[*i]));
        fallen.truncate(SHOWN);
        let name = |output: u16| match &names[usize::from(output)] {
            name if glyphs::drawable(name) => name.clone(),
            _ => output.to_string(),
        };
        let exhibit = |(_, i): &(usize, usize)| Exhibit {
            original: pixels[i * width..(i + 1) * width].to_vec(),
            adversarial: worst[i * width..(i + 1) * width].to_vec(),
            caption: format!("{}>{}", name(labels[*i]), name(predictions[*i])),
        };
        let exhibits: Vec<Exhibit> = fallen.iter().map(exhibit).collect();
        Self { heading: format!("eps {}", short(block.eps)), exhibits }
    }
}

/// A PNG file of all sheets that show something; nothing if none does.
pub(crate) fn file(sheets: &[Sheet], size: (usize, usize)) -> Result<Option<Vec<u8>>> {
    let some: Vec<Sheet> = sheets.iter().filter(|sheet| !sheet.exhibits.is_empty()).cloned().collect();
    if some.is_empty() { Ok(None) } else { draw(&some, size).png().map(Some) }
}

/// Draws the sheets one below the other; images are of `rows` x `cols` pixels.
fn draw(sheets: &[Sheet], (rows, cols): (usize, usize)) -> Canvas {
    let dot = SIDE.div_ceil(rows.max(cols).max(1));
    let letters = glyphs::size("0", DOT).1;
    // A column is as wide as an image, or as the longest caption.
    let captions = sheets.iter().flat_map(|s| &s.exhibits).map(|e| glyphs::size(&e.caption, DOT).0);
    let column = captions.chain([dot * cols]).max().unwrap_or(0) + GAP;
    let headings = sheets.iter().map(|s| glyphs::size(&s.heading, DOT).0).max().unwrap_or(0);
    let columns = sheets.iter().map(|s| s.exhibits.len()).max().unwrap_or(0);
    let block = 2 * (letters + GAP) + 3 * (dot * rows + GAP) + GAP;
    let mut canvas = Canvas::new(GAP + headings.max(columns * column) + GAP, GAP + sheets.len() * block, PAPER);
    for (i, sheet) in sheets.iter().enumerate() {
        let top = GAP + i * block;
        glyphs::write(&mut canvas, (GAP, top), &sheet.heading, DOT, INK);
        for (j, exhibit) in sheet.exhibits.iter().enumerate() {
            let (x, y) = (GAP + j * column, top + letters + GAP);
            glyphs::write(&mut canvas, (x, y), &exhibit.caption, DOT, INK);
            let y = y + letters + GAP;
            // The largest change is drawn in full colour.
            let changes = exhibit.adversarial.iter().zip(&exhibit.original).map(|(a, o)| a - o);
            let full = changes.clone().fold(0.0, |most: f32, by| if by.abs() > most { by.abs() } else { most });
            let changes: Vec<f32> = changes.collect();
            let mut image = |row: usize, colour: &dyn Fn(usize) -> Colour| {
                for pixel in 0..rows * cols {
                    let place = (x + dot * (pixel % cols), y + row * (dot * rows + GAP) + dot * (pixel / cols));
                    canvas.fill(place, (dot, dot), colour(pixel));
                }
            };
            image(0, &|p| grey(exhibit.original[p]));
            image(1, &|p| change(changes[p], full));
            image(2, &|p| grey(exhibit.adversarial[p]));
        }
    }
    canvas
}

/// Handwriting is white on black in the data, and so it is shown.
fn grey(v: f32) -> Colour {
    [(255.0 * v).round() as u8; 3]
}

/// White for nothing, full red or blue for `full` up or down.
fn change(by: f32, full: f32) -> Colour {
    let left = (255.0 * (1.0 - by.abs() / full)).round() as u8;
    if by > 0.0 { [255, left, left] } else { [left, left, 255] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_shows_the_original_the_change_and_the_sum() {
        let (original, adversarial) = (vec![0.0, 1.0], vec![0.3, 0.7]);
        let exhibit = Exhibit { original, adversarial, caption: "7>3".to_owned() };
        let sheet = Sheet { heading: "eps 0.3".to_owned(), exhibits: vec![exhibit.clone(), exhibit] };
        let canvas = draw(&[sheet], (1, 2));
        let dot = SIDE / 2;
        let top = GAP + 2 * (14 + GAP);
        let at = |row: usize, column: usize| canvas.at(GAP + column * dot, top + row * (dot + GAP));
        assert_eq!([at(0, 0), at(0, 1)], [[0; 3], [255; 3]]);
        assert_eq!([at(1, 0), at(1, 1)], [[255, 0, 0], [0, 0, 255]]);
        assert_eq!([at(2, 0), at(2, 1)], [[77; 3], [179; 3]]);
        // The second image stands beside the first.
        assert_eq!(canvas.at(GAP + SIDE + GAP + dot, top), [255; 3]);
        assert_eq!(canvas.width, 2 * GAP + 2 * (SIDE + GAP));
    }

    #[test]
    fn values_beyond_their_range_are_drawn_as_the_nearest_colour() {
        assert_eq!((grey(-0.4), grey(1.4)), ([0; 3], [255; 3]));
        assert_eq!((change(0.0, 0.3), change(-0.9, 0.3), change(0.1, 0.0)), ([255; 3], [0, 0, 255], [255, 0, 0]));
        assert_eq!(change(0.15, 0.3), [255, 128, 128]);
    }
}
