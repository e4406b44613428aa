//! The groups of a dataset: for each group the rows of its samples.

use crate::Error;

/// A partition of the samples of a dataset. Every sample is in one group; a group may be empty.
///
/// ```
/// use standoff_nn::data::Groups;
///
/// let groups = Groups::new(&[1, 0, 1, 1], 3)?;
/// assert_eq!((groups.rows(0), groups.rows(1)), (&[1][..], &[0, 2, 3][..]));
/// assert_eq!(groups.sizes(), [1, 3, 0]);
/// assert!(Groups::new(&[1, 0, 1, 1], 1).is_err()); // there is no group 1
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The rows of group 0, of group 1, ...
    rows: Vec<u32>,
    /// The end of each group in `rows`.
    ends: Vec<usize>,
}

impl Groups {
    /// `count` groups from the group of every sample.
    pub fn new(group_of: &[u16], count: usize) -> Result<Self, Error> {
        if u32::try_from(group_of.len()).is_err() {
            return Err(Error::Mismatch(format!("{} samples are more than 2^32", group_of.len())));
        }
        let mut rows = Vec::with_capacity(group_of.len());
        let mut ends = Vec::with_capacity(count);
        for group in 0..count {
            rows.extend((0..group_of.len()).filter(|&i| usize::from(group_of[i]) == group).map(|i| i as u32));
            ends.push(rows.len());
        }
        if rows.len() != group_of.len() {
            return Err(Error::Mismatch(format!("a sample's group is not one of the {count} groups")));
        }
        Ok(Self { rows, ends })
    }

    /// One group of `n` samples, in their order.
    pub(crate) fn single(n: usize) -> Self {
        Self { rows: (0..n as u32).collect(), ends: vec![n] }
    }

    /// The groups of the first `count` samples.
    pub(super) fn first(&self, count: usize) -> Self {
        let (mut rows, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(self.len()));
        for group in 0..self.len() {
            rows.extend(self.rows(group).iter().filter(|&&row| (row as usize) < count));
            ends.push(rows.len());
        }
        Self { rows, ends }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is no group.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rows of one group, in ascending order.
    ///
    /// # Panics
    ///
    /// If there is no such group.
    pub fn rows(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.rows[start..self.ends[group]]
    }

    /// The number of samples of each group.
    pub fn sizes(&self) -> Vec<usize> {
        (0..self.len()).map(|group| self.rows(group).len()).collect()
    }

    /// All rows, group by group.
    pub fn order(&self) -> &[u32] {
        &self.rows
    }

    /// The end of each group in [`order`](Self::order).
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }
}
