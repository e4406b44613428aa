//! The groups of a dataset: for each group the rows of its samples. Groups may overlap.

mod combine;

pub use combine::quantile_cuts;

use standoff::Real;

use crate::Error;

/// Groups of the samples of a dataset. A sample is in any number of groups: in exactly one of a partition, in several where groups
/// overlap (by sex and by race, side by side), in none where no group is about it. A group may be empty.
///
/// ```
/// use standoff_nn::data::Groups;
///
/// let sex = Groups::new(&[1, 0, 1, 1], 3)?;
/// assert_eq!((sex.rows(0), sex.rows(1)), (&[1][..], &[0, 2, 3][..]));
/// assert_eq!(sex.sizes(), [1, 3, 0]);
/// assert!(Groups::new(&[1, 0, 1, 1], 1).is_err()); // there is no group 1
///
/// // Sample 2 is in both groups, sample 3 in none.
/// let both = Groups::overlapping(&[vec![0, 2], vec![1, 2]], 4)?;
/// assert!(sex.is_partition() && !both.is_partition());
/// let mut means = [0.0; 2];
/// both.means(&[1.0, 2.0, 3.0, 4.0], &mut means);
/// assert_eq!(means, [2.0, 2.5]);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The number of samples of the dataset.
    samples: usize,
    /// The rows of group 0, of group 1, ...
    rows: Vec<u32>,
    /// The end of each group in `rows`.
    ends: Vec<usize>,
    /// The name of each group.
    names: Vec<String>,
    /// True if every sample is in exactly one group.
    partition: bool,
}

impl Groups {
    /// A partition into `count` groups, from the group of every sample.
    pub fn new(group_of: &[u16], count: usize) -> Result<Self, Error> {
        check_samples(group_of.len())?;
        if let Some(group) = group_of.iter().find(|group| usize::from(**group) >= count) {
            let why = format!("a sample's group is {group}, which is not one of the {count} groups from 0");
            return Err(Error::Mismatch(why));
        }
        let mut sizes = vec![0; count];
        group_of.iter().for_each(|group| sizes[usize::from(*group)] += 1);
        let mut members: Vec<Vec<u32>> = sizes.into_iter().map(Vec::with_capacity).collect();
        for (row, group) in group_of.iter().enumerate() {
            members[usize::from(*group)].push(row as u32);
        }
        Ok(Self::of_members(&members, group_of.len()))
    }

    /// Groups that may overlap, from the rows of each group in ascending order.
    pub fn overlapping(members: &[Vec<u32>], samples: usize) -> Result<Self, Error> {
        check_samples(samples)?;
        for (group, rows) in members.iter().enumerate() {
            if let Some(row) = rows.last().filter(|row| **row as usize >= samples) {
                return Err(Error::Mismatch(format!("group {group} has row {row}, the data has {samples} samples")));
            }
            if rows.windows(2).any(|pair| pair[0] >= pair[1]) {
                let why = "want every row once, in ascending order";
                return Err(Error::Mismatch(format!("the rows of group {group} are not in order: {why}")));
            }
        }
        Ok(Self::of_members(members, samples))
    }

    /// Members are known to be in order and in range.
    fn of_members(members: &[Vec<u32>], samples: usize) -> Self {
        let ends = members.iter().scan(0, |end, rows| {
            *end += rows.len();
            Some(*end)
        });
        let (rows, ends) = (members.concat(), ends.collect());
        let names = (0..members.len()).map(|group| group.to_string()).collect();
        let partition = rows.len() == samples && covers(&rows, samples);
        Self { samples, rows, ends, names, partition }
    }

    /// One group of `n` samples, in their order.
    pub(crate) fn single(n: usize) -> Self {
        Self {
            samples: n,
            rows: (0..n as u32).collect(),
            ends: vec![n],
            names: vec!["all".to_owned()],
            partition: true,
        }
    }

    /// The same groups with these names.
    pub fn named(self, names: Vec<String>) -> Result<Self, Error> {
        if names.len() != self.len() {
            return Err(Error::Mismatch(format!("got {} names for {} groups", names.len(), self.len())));
        }
        Ok(Self { names, ..self })
    }

    /// The groups of the first `count` samples.
    pub(super) fn first(&self, count: usize) -> Self {
        let kept = |group| self.rows(group).iter().copied().filter(|row| (*row as usize) < count).collect();
        let members: Vec<Vec<u32>> = (0..self.len()).map(kept).collect();
        Self { names: self.names.clone(), ..Self::of_members(&members, count.min(self.samples)) }
    }

    /// The same groups of some samples, which are numbered in their order.
    ///
    /// # Panics
    ///
    /// If there is no such sample, or samples are not in ascending order.
    #[must_use]
    pub fn of_samples(&self, samples: &[usize]) -> Self {
        assert!(samples.windows(2).all(|pair| pair[0] < pair[1]), "samples are not in order");
        let mut place = vec![u32::MAX; self.samples];
        samples.iter().enumerate().for_each(|(i, sample)| place[*sample] = i as u32);
        let kept = |g| self.rows(g).iter().map(|row| place[*row as usize]).filter(|row| *row != u32::MAX).collect();
        let members: Vec<Vec<u32>> = (0..self.len()).map(kept).collect();
        Self { names: self.names.clone(), ..Self::of_members(&members, samples.len()) }
    }

    /// The same groups, of which those with fewer rows than `least` are empty.
    #[must_use]
    pub fn emptied_below(&self, least: usize) -> Self {
        let kept = |g| if self.rows(g).len() < least { Vec::new() } else { self.rows(g).to_vec() };
        let members: Vec<Vec<u32>> = (0..self.len()).map(kept).collect();
        Self { names: self.names.clone(), ..Self::of_members(&members, self.samples) }
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is no group.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number of samples of the dataset, in a group or not.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// True if every sample is in exactly one group.
    pub fn is_partition(&self) -> bool {
        self.partition
    }

    /// The name of each group: its number, unless [`named`](Self::named).
    pub fn names(&self) -> &[String] {
        &self.names
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

    /// All rows, group by group. A sample in several groups is there several times.
    pub fn order(&self) -> &[u32] {
        &self.rows
    }

    /// The end of each group in [`order`](Self::order).
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The group of every sample of a partition; nothing for groups that overlap or leave samples out.
    pub fn group_of(&self) -> Option<Vec<u16>> {
        let mut of = vec![0; self.samples];
        for group in 0..self.len() {
            self.rows(group).iter().for_each(|row| of[*row as usize] = group as u16);
        }
        self.partition.then_some(of)
    }

    /// The mean of a value over the samples of each group, NaN for an empty group. Sums are in `f64` in the order of the rows.
    ///
    /// # Panics
    ///
    /// If there is not one value for each sample, or not one place for each group.
    pub fn means<R: Real>(&self, values: &[R], out: &mut [f64]) {
        assert_eq!((values.len(), out.len()), (self.samples, self.len()));
        for (group, mean) in out.iter_mut().enumerate() {
            let rows = self.rows(group);
            *mean = rows.iter().map(|row| values[*row as usize].to_f64()).sum::<f64>() / rows.len() as f64;
        }
    }

    /// The weight of every sample in `sum over g of y_g times the mean of group g`: the sum of `y_g / n_g` over its groups.
    ///
    /// # Panics
    ///
    /// If there is not one weight for each group, or not one place for each sample.
    pub fn sample_weights<R: Real>(&self, y: &[R], out: &mut [R]) {
        assert_eq!((y.len(), out.len()), (self.len(), self.samples));
        out.fill(R::default());
        for (group, weight) in y.iter().enumerate().filter(|(_, weight)| weight.to_f64() != 0.0) {
            let rows = self.rows(group);
            let share = weight.to_f64() / rows.len() as f64;
            for row in rows {
                let own = &mut out[*row as usize];
                *own = R::from_f64(own.to_f64() + share);
            }
        }
    }
}

fn check_samples(samples: usize) -> Result<(), Error> {
    if u32::try_from(samples).is_err() {
        return Err(Error::Mismatch(format!("{samples} samples are more than 2^32")));
    }
    Ok(())
}

/// True if every sample occurs.
fn covers(rows: &[u32], samples: usize) -> bool {
    let mut seen = vec![false; samples];
    rows.iter().for_each(|row| seen[*row as usize] = true);
    seen.into_iter().all(|seen| seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_out_of_order_or_out_of_range_are_refused() {
        let text = |members: &[&[u32]]| {
            Groups::overlapping(&members.iter().map(|m| m.to_vec()).collect::<Vec<_>>(), 3).unwrap_err().to_string()
        };
        assert!(text(&[&[0], &[1, 3]]).contains("group 1 has row 3, the data has 3 samples"));
        assert!(text(&[&[2, 1]]).contains("ascending order") && text(&[&[1, 1]]).contains("every row once"));
        let names = Groups::new(&[0, 1], 2).unwrap().named(vec!["a".into()]);
        assert_eq!(names.unwrap_err().to_string(), "got 1 names for 2 groups");
    }

    #[test]
    fn a_partition_is_recognised_also_when_built_as_overlapping_groups() {
        let groups = |members: &[&[u32]], n| {
            Groups::overlapping(&members.iter().map(|m| m.to_vec()).collect::<Vec<_>>(), n).unwrap()
        };
        assert!(groups(&[&[0, 2], &[1], &[]], 3).is_partition());
        // As many rows as samples, but sample 1 is in no group.
        assert!(!groups(&[&[0, 2], &[2]], 3).is_partition());
        assert_eq!(groups(&[&[0, 2], &[1]], 3).group_of(), Some(vec![0, 1, 0]));
        assert_eq!(groups(&[&[0, 2], &[2]], 3).group_of(), None);
    }

    #[test]
    fn small_groups_are_emptied_and_the_others_keep_their_places() {
        let groups =
            Groups::new(&[0, 1, 1, 2, 2], 3).unwrap().named(["a", "b", "c"].map(String::from).to_vec()).unwrap();
        let large = groups.emptied_below(2);
        assert_eq!((large.sizes(), large.rows(2), large.samples()), (vec![0, 2, 2], &[3, 4][..], 5));
        assert_eq!((large.names(), large.is_partition()), (groups.names(), false));
        assert_eq!(groups.emptied_below(0), groups);
    }

    #[test]
    fn weighted_means_are_sums_over_samples() {
        let groups = Groups::overlapping(&[vec![0, 1, 3], vec![1, 2], vec![3]], 5).unwrap();
        let (values, y) = ([3.0, -1.0, 2.5, 4.0, 9.0], [0.5, 0.25, 0.25]);
        let (mut means, mut weights) = ([0.0; 3], [0.0; 5]);
        groups.means(&values, &mut means);
        groups.sample_weights(&y, &mut weights);
        let by_group: f64 = means.iter().zip(y).map(|(m, t)| m * t).sum();
        let by_sample: f64 = values.iter().zip(weights).map(|(v, w)| v * w).sum();
        assert!((by_group - by_sample).abs() < 1e-14, "{by_group} {by_sample}");
        assert_eq!(weights[4], 0.0);
    }
}
