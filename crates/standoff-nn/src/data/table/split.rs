//! Parts of the rows for learning, for choosing and for judging, each with its share of every kind of row.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The rows of each part, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// The training part.
    pub train: Vec<usize>,
    /// The validation part, to choose settings.
    pub validation: Vec<usize>,
    /// The test part.
    pub test: Vec<usize>,
}

/// The shares of the parts, and the seed that assigns the rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Shares {
    pub(in super::super) test: f64,
    pub(in super::super) validation: f64,
    pub(in super::super) seed: u64,
    /// Fold i of k, counted from 0: the test parts of the k folds of a seed are disjoint and hold every row. Replaces `test`.
    pub(in super::super) fold: Option<(usize, usize)>,
}

impl Split {
    /// Splits the rows of each cell by itself, so that every part has its share of every cell. Rows `(row, cell)` of a cell are
    /// shuffled by the seed; the first are for the test, the next for validation. So the test part does not depend on the share
    /// of validation. A cell keeps at least one row to learn from, and gives at least one to each part if it has enough.
    pub(in super::super) fn stratified(rows: &[(usize, usize)], shares: Shares) -> Self {
        let cells = rows.iter().map(|(_, cell)| cell + 1).max().unwrap_or(0);
        let mut members = vec![Vec::new(); cells];
        for (row, cell) in rows {
            members[*cell].push(*row);
        }
        let mut split = Self::default();
        for (cell, mut members) in members.into_iter().enumerate() {
            shuffle(&mut members, shares.seed, cell as u64);
            let test = match shares.fold {
                Some(fold) => to_front(&mut members, cell, fold),
                None => portion(members.len(), members.len(), shares.test),
            };
            let validation = portion(members.len(), members.len() - test, shares.validation);
            split.test.extend_from_slice(&members[..test]);
            split.validation.extend_from_slice(&members[test..test + validation]);
            split.train.extend_from_slice(&members[test + validation..]);
        }
        for part in [&mut split.train, &mut split.validation, &mut split.test] {
            part.sort_unstable();
        }
        split
    }
}

/// Moves the rows of a fold to the front, in their order, and returns their number. Row `i` of a cell is in fold `(i + cell) mod k`,
/// so the folds have nearly the same size. A cell of one row keeps it to learn from.
fn to_front(members: &mut Vec<usize>, cell: usize, (fold, folds): (usize, usize)) -> usize {
    if members.len() < 2 {
        return 0;
    }
    let (test, rest): (Vec<_>, Vec<_>) =
        members.iter().enumerate().map(|(i, row)| ((i + cell) % folds == fold, *row)).partition(|(own, _)| *own);
    let count = test.len();
    *members = test.into_iter().chain(rest).map(|(_, row)| row).collect();
    count
}

/// `share` of `all`, rounded, but at least one and at most all but one of the `left`.
fn portion(all: usize, left: usize, share: f64) -> usize {
    if share <= 0.0 || left < 2 {
        return 0;
    }
    ((all as f64 * share).round() as usize).clamp(1, left - 1)
}

/// Fisher and Yates, from stream `stream` of a seed.
fn shuffle(rows: &mut [usize], seed: u64, stream: u64) {
    let mut bits = ChaCha8Rng::seed_from_u64(seed);
    bits.set_stream(stream);
    for i in (1..rows.len()).rev() {
        // The high half of a product: its bias, below 2^-40 for any file that fits into memory, is no matter here.
        let j = (u128::from(bits.next_u64()) * (i as u128 + 1)) >> 64;
        rows.swap(i, j as usize);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_in_one_part_and_every_cell_in_all(
            cells in proptest::collection::vec(0usize..5, 1..300), test in 0.0..0.5, validation in 0.0..0.4, seed: u64,
        ) {
            let rows: Vec<(usize, usize)> = cells.iter().enumerate().map(|(i, c)| (2 * i, *c)).collect();
            let split = Split::stratified(&rows, Shares { test, validation, seed, fold: None });
            let mut all = [split.train.clone(), split.validation.clone(), split.test.clone()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, rows.iter().map(|r| r.0).collect::<Vec<_>>());
            for cell in 0..5 {
                let of = |part: &[usize]| part.iter().filter(|row| cells[**row / 2] == cell).count();
                let n = cells.iter().filter(|c| **c == cell).count();
                prop_assert!(n == 0 || of(&split.train) > 0);
                prop_assert!((of(&split.test) as f64 - test * n as f64).abs() <= 1.0);
                prop_assert!(n < 3 || test <= 0.0 || of(&split.test) > 0);
            }
            let alone = Split::stratified(&rows, Shares { test, validation: 0.0, seed, fold: None });
            prop_assert_eq!(&alone.test, &split.test);
            prop_assert!(alone.validation.is_empty());
        }
    }

    #[test]
    fn the_seed_decides() {
        let rows: Vec<(usize, usize)> = (0..100).map(|i| (i, 0)).collect();
        let test = |seed| Split::stratified(&rows, Shares { test: 0.2, validation: 0.1, seed, fold: None }).test;
        assert_eq!(test(1), test(1));
        assert_ne!(test(1), test(2));
        assert_eq!(test(3).len(), 20);
    }

    #[test]
    fn the_folds_of_a_seed_test_every_row_once() {
        let rows: Vec<(usize, usize)> = (0..103).map(|i| (i, i % 4)).collect();
        let fold = |i| Split::stratified(&rows, Shares { test: 0.2, validation: 0.1, seed: 7, fold: Some((i, 5)) });
        let mut tested: Vec<usize> = (0..5).flat_map(|i| fold(i).test).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..103).collect::<Vec<_>>());
        for i in 0..5 {
            let split = fold(i);
            assert!((20..=21).contains(&split.test.len()), "{}", split.test.len());
            assert_eq!(split.train.len() + split.validation.len() + split.test.len(), 103);
            assert!(split.train.iter().all(|row| !split.test.contains(row)));
        }
    }
}
