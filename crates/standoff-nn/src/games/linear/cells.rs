//! Cells: rows that are in exactly the same groups. Sums over cells give the sums of groups that may overlap, in one pass.

use crate::Error;
use std::collections::BTreeMap;

/// The cell of every row, and the groups of every cell.
#[derive(Debug, Clone)]
pub(super) struct Cells {
    /// The cell of each row.
    pub of_row: Vec<u32>,
    /// The sum of the weights of the rows of each cell.
    pub weights: Vec<f64>,
    /// The cells of each group, in ascending order.
    pub of_group: Vec<Vec<u32>>,
}

/// Cells beyond this number would need more memory than the rows.
const MOST_CELLS: usize = 4096;

impl Cells {
    /// The cells of these groups of `n` rows, from the rows of each group. Rows of no group have a cell too.
    pub(super) fn new(groups: &[&[u32]], n: usize, weight: impl Fn(usize) -> f64) -> Result<Self, Error> {
        let mut of_row = vec![0_u32; n];
        let mut members: Vec<Vec<usize>> = vec![Vec::new()];
        for (group, rows) in groups.iter().enumerate() {
            // Splits every cell into its rows inside and outside of this group.
            let mut split = BTreeMap::new();
            for &row in *rows {
                let cell = &mut of_row[row as usize];
                *cell = *split.entry(*cell).or_insert_with(|| {
                    let mut groups = members[*cell as usize].clone();
                    groups.push(group);
                    members.push(groups);
                    members.len() as u32 - 1
                });
            }
            if members.len() > MOST_CELLS {
                let text = "the groups overlap in more than 4096 different ways; use fewer groups, or train by steps (--solver steps, solver=\"steps\")";
                return Err(Error::Mismatch(text.to_owned()));
            }
        }
        Self::renumber(&mut of_row, &mut members);
        let mut weights = vec![0.0; members.len()];
        of_row.iter().enumerate().for_each(|(row, &cell)| weights[cell as usize] += weight(row));
        let mut of_group = vec![Vec::new(); groups.len()];
        for (cell, groups) in members.iter().enumerate() {
            groups.iter().for_each(|&group| of_group[group].push(cell as u32));
        }
        Ok(Self { of_row, weights, of_group })
    }

    /// Removes cells without rows.
    fn renumber(of_row: &mut [u32], members: &mut Vec<Vec<usize>>) {
        let mut used = vec![u32::MAX; members.len()];
        of_row.iter().for_each(|&cell| used[cell as usize] = 0);
        used.iter_mut().filter(|place| **place == 0).zip(0..).for_each(|(place, next)| *place = next);
        let mut old = 0;
        members.retain(|_| {
            old += 1;
            used[old - 1] != u32::MAX
        });
        of_row.iter_mut().for_each(|cell| *cell = used[*cell as usize]);
    }

    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_has_one_cell_per_group() {
        let cells = Cells::new(&[&[1], &[0, 2], &[3]], 4, |row| 1.0 + row as f64).unwrap();
        assert_eq!(cells.len(), 3);
        for (group, weight) in [(0, 2.0), (1, 4.0), (2, 4.0)] {
            let sum: f64 = cells.of_group[group].iter().map(|&c| cells.weights[c as usize]).sum();
            assert_eq!(sum, weight, "group {group}");
        }
    }

    #[test]
    fn groups_that_overlap_share_cells() {
        let cells = Cells::new(&[&[0, 1, 2], &[2, 3], &[0, 1, 2, 3]], 5, |_| 1.0).unwrap();
        // 0 and 1; 2; 3; and 4, which is in no group.
        assert_eq!(cells.len(), 4);
        let sums = cells.of_group.iter().map(|of| of.iter().map(|&c| cells.weights[c as usize]).sum::<f64>());
        assert_eq!(sums.collect::<Vec<_>>(), [3.0, 2.0, 4.0]);
    }
}
