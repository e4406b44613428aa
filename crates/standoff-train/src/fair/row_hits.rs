//! The correct predictions of a run, test row by test row: two runs on the same rows can be compared in pairs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use standoff_nn::data::Groups;

/// For every test row whether it was classified correctly. Rows of the same groups are together, in the order of the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowHits {
    /// The groups of some rows, and the number of these rows.
    pub cells: Vec<(Vec<u16>, usize)>,
    /// A bit per row, cell by cell, 1 for a correct prediction: hexadecimal, the first row in the highest bit of the first digit.
    correct: String,
}

impl RowHits {
    /// From a flag per row of the dataset.
    pub fn new(groups: &Groups, correct: &[bool]) -> Self {
        let mut own = vec![Vec::new(); groups.samples()];
        for g in 0..groups.len() {
            groups.rows(g).iter().for_each(|row| own[*row as usize].push(g as u16));
        }
        let mut cells: BTreeMap<&[u16], Vec<bool>> = BTreeMap::new();
        for (groups, correct) in own.iter().zip(correct) {
            cells.entry(groups).or_default().push(*correct);
        }
        let bits: Vec<bool> = cells.values().flatten().copied().collect();
        Self {
            cells: cells.iter().map(|(groups, rows)| (groups.to_vec(), rows.len())).collect(),
            correct: digits(&bits),
        }
    }

    /// Rows of disjoint groups with these correct predictions and totals; the order within a group is unknown.
    pub fn of_counts(counts: impl Iterator<Item = (usize, usize)>) -> Self {
        let (mut cells, mut bits) = (Vec::new(), Vec::new());
        for (group, (correct, total)) in counts.enumerate() {
            cells.push((vec![group as u16], total));
            bits.extend((0..total).map(|row| row < correct));
        }
        Self { cells, correct: digits(&bits) }
    }

    /// The flags in the order of the cells; nothing if the text has another length or is not hexadecimal.
    pub fn bits(&self) -> Option<Vec<bool>> {
        let rows: usize = self.cells.iter().map(|cell| cell.1).sum();
        let mut bits = Vec::with_capacity(rows + 3);
        for digit in self.correct.chars() {
            let digit = digit.to_digit(16)?;
            bits.extend((0..4).map(|i| (digit >> (3 - i)) & 1 == 1));
        }
        let fits = bits.len() == rows.next_multiple_of(4);
        bits.truncate(rows);
        fits.then_some(bits)
    }
}

fn digits(bits: &[bool]) -> String {
    let digit = |four: &[bool]| {
        let value = four.iter().enumerate().map(|(i, bit)| u32::from(*bit) << (3 - i)).sum();
        char::from_digit(value, 16).unwrap_or('0')
    };
    bits.chunks(4).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_same_groups_are_together() {
        let groups = Groups::overlapping(&[vec![0, 2, 4], vec![1, 2]], 6).unwrap();
        let hits = RowHits::new(&groups, &[true, false, true, true, false, true]);
        // Row 3 and row 5 are in no group, 0 and 4 in the first, 2 in both, 1 in the second.
        assert_eq!(hits.cells, [(vec![], 2), (vec![0], 2), (vec![0, 1], 1), (vec![1], 1)]);
        assert_eq!(hits.bits().unwrap(), [true, true, true, false, true, false]);
    }

    #[test]
    fn a_text_of_another_length_is_no_answer() {
        let mut hits = RowHits::of_counts([(2, 3), (0, 2)].into_iter());
        assert_eq!(hits.bits().unwrap(), [true, true, false, false, false]);
        hits.cells[0].1 = 7;
        assert_eq!(hits.bits(), None);
        hits.correct = "zz".into();
        assert_eq!(hits.bits(), None);
    }
}
