//! Letters of five by seven dots: enough to write `7>3` and `eps 0.3` into a picture.

use super::png::{Canvas, Colour};

/// Width and height of a letter, in dots.
const SIZE: (usize, usize) = (5, 7);
/// From one letter to the next.
const STEP: usize = SIZE.0 + 1;

/// The letters, each as seven rows of five dots.
const GLYPHS: [(char, [&str; SIZE.1]); 16] = [
    ('0', [" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "]),
    ('1', ["  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "]),
    ('2', [" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"]),
    ('3', [" ### ", "#   #", "    #", "  ## ", "    #", "#   #", " ### "]),
    ('4', ["   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "]),
    ('5', ["#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "]),
    ('6', ["  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "]),
    ('7', ["#####", "    #", "   # ", "  #  ", " #   ", " #   ", " #   "]),
    ('8', [" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "]),
    ('9', [" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "]),
    ('.', ["     ", "     ", "     ", "     ", "     ", " ##  ", " ##  "]),
    ('>', ["     ", " #   ", "  #  ", "   # ", "  #  ", " #   ", "     "]),
    ('-', ["     ", "     ", "     ", " ### ", "     ", "     ", "     "]),
    ('e', ["     ", "     ", " ### ", "#   #", "#####", "#    ", " ### "]),
    ('p', ["     ", "     ", "#### ", "#   #", "#### ", "#    ", "#    "]),
    ('s', ["     ", "     ", " ####", "#    ", " ### ", "    #", "#### "]),
];

/// Whether every letter can be drawn.
pub(super) fn drawable(text: &str) -> bool {
    text.chars().all(|letter| letter == ' ' || GLYPHS.iter().any(|(known, _)| *known == letter))
}

/// Width and height of a text whose dots have this side.
pub(super) fn size(text: &str, dot: usize) -> (usize, usize) {
    (dot * (text.chars().count() * STEP).saturating_sub(1), dot * SIZE.1)
}

/// Writes a text, its left upper corner at a place; letters that are not known are left out.
pub(super) fn write(canvas: &mut Canvas, (x, y): (usize, usize), text: &str, dot: usize, colour: Colour) {
    for (i, letter) in text.chars().enumerate() {
        let Some((_, rows)) = GLYPHS.iter().find(|(known, _)| *known == letter) else { continue };
        for (down, row) in rows.iter().enumerate() {
            for (right, _) in row.bytes().enumerate().filter(|(_, dot)| *dot == b'#') {
                let place = (x + dot * (i * STEP + right), y + dot * down);
                canvas.fill(place, (dot, dot), colour);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_has_its_size_and_is_unlike_the_others() {
        for (i, (letter, rows)) in GLYPHS.iter().enumerate() {
            assert!(rows.iter().all(|row| row.len() == SIZE.0), "{letter}");
            assert!(GLYPHS[..i].iter().all(|(_, other)| other != rows), "{letter}");
        }
        assert!(drawable("7>3 eps 0.15e-3") && !drawable("Shirt"));
        assert_eq!(size("7>3", 2), (34, 14));
    }

    #[test]
    fn a_text_stays_on_the_canvas() {
        let mut canvas = Canvas::new(12, 7, [255; 3]);
        write(&mut canvas, (0, 0), "177", 1, [0; 3]);
        assert_eq!((canvas.at(2, 0), canvas.at(0, 0), canvas.at(6, 0)), ([0; 3], [255; 3], [0; 3]));
    }
}
