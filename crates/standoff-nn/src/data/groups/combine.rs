//! Groups made of groups: products, labels, groups side by side, and bands of a number.

use std::collections::BTreeMap;

use super::Groups;
use crate::Error;

/// More groups than this are a mistake.
const MOST_GROUPS: usize = 1 << 16;

impl Groups {
    /// The groups of all parts side by side. A sample is in one group of each part, so groups overlap.
    ///
    /// ```
    /// use standoff_nn::data::Groups;
    ///
    /// let sex = Groups::new(&[0, 0, 1], 2)?.named(vec!["F".into(), "M".into()])?;
    /// let race = Groups::new(&[0, 1, 1], 2)?.named(vec!["a".into(), "b".into()])?;
    /// let groups = Groups::side_by_side(&[sex, race])?;
    /// assert_eq!((groups.names(), groups.sizes()), (&["F", "M", "a", "b"].map(String::from)[..], vec![2, 1, 1, 2]));
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn side_by_side(parts: &[Self]) -> Result<Self, Error> {
        let samples = same_samples(parts)?;
        let members: Vec<Vec<u32>> = parts.iter().flat_map(|p| (0..p.len()).map(|g| p.rows(g).to_vec())).collect();
        let names = parts.iter().flat_map(|p| p.names.iter().cloned()).collect();
        Self::overlapping(&members, samples)?.named(names)
    }

    /// The intersections that have samples, one for each combination of a group of each part, in the order of the first part, then
    /// of the next. Their names are joined by `, `.
    ///
    /// ```
    /// use standoff_nn::data::Groups;
    ///
    /// let sex = Groups::new(&[0, 0, 1], 2)?.named(vec!["F".into(), "M".into()])?;
    /// let race = Groups::new(&[0, 1, 1], 2)?.named(vec!["a".into(), "b".into()])?;
    /// assert_eq!(Groups::product(&[sex, race])?.names(), ["F, a", "F, b", "M, b"]);
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn product(parts: &[Self]) -> Result<Self, Error> {
        let samples = same_samples(parts)?;
        // The combinations of each sample; a partition has one, overlapping groups have several, a sample in no group has none.
        let mut keys: Vec<Vec<Vec<u16>>> = vec![vec![Vec::new()]; samples];
        for part in parts {
            let mut longer = vec![Vec::new(); samples];
            for group in 0..part.len() {
                for row in part.rows(group) {
                    let row = *row as usize;
                    longer[row].extend(keys[row].iter().map(|key| [key.as_slice(), &[group as u16]].concat()));
                }
            }
            keys = longer;
        }
        let mut cells: BTreeMap<Vec<u16>, Vec<u32>> = BTreeMap::new();
        for (row, own) in keys.into_iter().enumerate() {
            own.into_iter().for_each(|key| cells.entry(key).or_default().push(row as u32));
        }
        let name = |key: &Vec<u16>| {
            let names: Vec<&str> = key.iter().zip(parts).map(|(g, p)| p.names[usize::from(*g)].as_str()).collect();
            names.join(", ")
        };
        let (names, members): (Vec<_>, Vec<_>) = cells.into_iter().map(|(key, rows)| (name(&key), rows)).unzip();
        Self::overlapping(&members, samples)?.named(names)
    }

    /// Every group cut by label: `sex=F, income=high` is a group of its own. Equal losses in these groups are equal chances among
    /// samples of the same label.
    pub fn by_label(&self, labels: &[u16], class_names: &[String]) -> Result<Self, Error> {
        let labels = Self::new(labels, class_names.len())?.named(class_names.to_vec())?;
        Self::product(&[self.clone(), labels])
    }

    /// The bands of a number between cuts in ascending order: below the first, from each cut to below the next, from the last on.
    /// A value that is not a number is in no band.
    ///
    /// ```
    /// use standoff_nn::data::Groups;
    ///
    /// let age = Groups::bands("age", &[24.0, 25.0, 70.0, 66.5], &[25.0, 65.0])?;
    /// assert_eq!(age.names(), ["age<25", "25<=age<65", "age>=65"]);
    /// assert_eq!(age.sizes(), [1, 1, 2]);
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn bands(name: &str, values: &[f64], cuts: &[f64]) -> Result<Self, Error> {
        check_cuts(name, cuts)?;
        let mut members = vec![Vec::new(); cuts.len() + 1];
        for (row, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            members[band(*value, cuts)].push(row as u32);
        }
        Self::overlapping(&members, values.len())?.named(band_names(name, cuts))
    }
}

/// Refuses cuts that are not finite or not in ascending order.
fn check_cuts(name: &str, cuts: &[f64]) -> Result<(), Error> {
    let fine = !cuts.is_empty() && cuts.iter().all(|c| c.is_finite()) && cuts.windows(2).all(|c| c[0] < c[1]);
    if fine && cuts.len() < MOST_GROUPS {
        return Ok(());
    }
    Err(Error::Mismatch(format!("the bands of `{name}` are cut at {cuts:?}: want finite numbers, the smallest first")))
}

/// The band of a value: the number of cuts that are not above it.
fn band(value: f64, cuts: &[f64]) -> usize {
    cuts.iter().filter(|cut| value >= **cut).count()
}

/// The names of the bands.
fn band_names(name: &str, cuts: &[f64]) -> Vec<String> {
    let between = cuts.windows(2).map(|c| format!("{}<={name}<{}", c[0], c[1]));
    let (first, last) = (cuts.first().map(|c| format!("{name}<{c}")), cuts.last().map(|c| format!("{name}>={c}")));
    first.into_iter().chain(between).chain(last).collect()
}

/// Cuts that divide the values into up to `count` bands of about the same number of samples. Equal values stay together, so there
/// may be fewer bands; no cuts if all values are equal.
///
/// ```
/// assert_eq!(standoff_nn::data::quantile_cuts(&[1.0, 2.0, 3.0, 4.0], 2), [3.0]);
/// ```
pub fn quantile_cuts(values: &[f64], count: usize) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |i: usize| sorted.get(i * sorted.len() / count.max(1)).copied();
    let mut cuts: Vec<f64> = (1..count).filter_map(at).filter(|cut| sorted.first() < Some(cut)).collect();
    cuts.dedup();
    cuts
}

fn same_samples(parts: &[Groups]) -> Result<usize, Error> {
    let Some(first) = parts.first() else {
        return Err(Error::Mismatch("groups of no columns: want at least one".into()));
    };
    let groups: usize = parts.iter().map(Groups::len).sum();
    if groups > MOST_GROUPS {
        return Err(Error::Mismatch(format!("got {groups} groups: want at most {MOST_GROUPS}")));
    }
    match parts.iter().find(|part| part.samples != first.samples) {
        Some(other) => Err(Error::Mismatch(format!("groups of {} and of {} samples", first.samples, other.samples))),
        None => Ok(first.samples),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(of: &[u16], names: &[&str]) -> Groups {
        Groups::new(of, names.len()).unwrap().named(names.iter().map(|n| (*n).to_owned()).collect()).unwrap()
    }

    #[test]
    fn a_product_with_overlapping_groups_has_every_intersection() {
        let side =
            Groups::side_by_side(&[groups(&[0, 0, 1, 1], &["F", "M"]), groups(&[0, 1, 1, 1], &["a", "b"])]).unwrap();
        let crossed = side.by_label(&[0, 1, 1, 0], &["no".to_owned(), "yes".to_owned()]).unwrap();
        assert_eq!(crossed.names(), ["F, no", "F, yes", "M, no", "M, yes", "a, no", "b, no", "b, yes"]);
        assert_eq!((crossed.rows(5), crossed.rows(6)), (&[3][..], &[1, 2][..]));
        assert!(!crossed.is_partition());
    }

    #[test]
    fn products_of_partitions_are_partitions_in_the_order_of_the_first() {
        let product =
            Groups::product(&[groups(&[1, 0, 1, 0], &["x", "y"]), groups(&[0, 1, 1, 1], &["a", "b"])]).unwrap();
        assert_eq!(product.names(), ["x, b", "y, a", "y, b"]);
        assert_eq!(product.group_of(), Some(vec![1, 0, 2, 0]));
        let uneven = Groups::product(&[groups(&[0], &["x"]), groups(&[0, 0], &["a"])]);
        assert_eq!(uneven.unwrap_err().to_string(), "groups of 1 and of 2 samples");
        assert!(Groups::side_by_side(&[]).unwrap_err().to_string().contains("at least one"));
    }

    #[test]
    fn bad_cuts_are_refused_and_quantiles_keep_equal_values_together() {
        for cuts in [&[][..], &[2.0, 1.0], &[1.0, 1.0], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert!(Groups::bands("v", &[1.0], cuts).is_err(), "{cuts:?}");
        }
        assert_eq!(quantile_cuts(&[1.0, 2.0, 3.0, 4.0], 2), [3.0]);
        assert_eq!(quantile_cuts(&[0.0, 0.0, 0.0, 5.0, f64::NAN], 4), [5.0]);
        assert!(quantile_cuts(&[7.0; 9], 3).is_empty());
        let missing = Groups::bands("v", &[f64::NAN, 1.0], &[0.5]).unwrap();
        assert_eq!((missing.sizes(), missing.is_partition()), (vec![0, 1], false));
    }
}
