//! Two properties of the published fair code, for experiments that repeat it: groups that mix categories, and outputs numbered like
//! the classes.

use super::{Dataset, Groups, SampleValues};
use crate::Error;

/// The samples of each category that follow each other in the published data file.
const CHUNK: usize = 200;

impl Dataset {
    /// The samples in the order of the published data file, 200 of each group in turn, in as many groups as before: the equal parts of
    /// each batch of `batch` samples (0 for all). The published code takes the loss of each part for that of a category. A part
    /// is one category only if a batch has 200 of each.
    ///
    /// ```
    /// use standoff_nn::data::Dataset;
    /// use standoff_nn::Shape;
    ///
    /// let labels: Vec<u16> = (0..1200).map(|row| u16::from(row < 600)).collect();
    /// let data = Dataset::floats(vec![0.5; 1200], Shape::vector(1), labels)?.grouped_by_label(2)?;
    /// let mixed = |batch| {
    ///     let data = data.clone().mixed(batch)?;
    ///     let of_class_1 = |g| data.groups().rows(g).iter().filter(|row| data.labels()[**row as usize] == 1).count();
    ///     Ok::<_, standoff_nn::Error>((of_class_1(0), of_class_1(1)))
    /// };
    /// // The batches are 200 of class 0, then 200 of class 1.
    /// assert_eq!(mixed(400)?, (0, 600));
    /// // All data is 200 of each, three times: the first half has 400 of class 0.
    /// assert_eq!(mixed(0)?, (200, 400));
    /// # Ok::<(), standoff_nn::Error>(())
    /// ```
    pub fn mixed(self, batch: usize) -> Result<Self, Error> {
        let (n, count) = (self.len(), self.groups().len());
        let batch = if batch == 0 { n } else { batch };
        if !n.is_multiple_of(batch) || !batch.is_multiple_of(count) || !self.groups().is_partition() {
            let why = format!("batches of {batch} do not divide {n} samples, or {count} groups do not divide a batch");
            return Err(Error::Mismatch(format!("the published order of batches needs equal parts: {why}")));
        }
        let chunk = |group: usize, i: usize| self.groups().rows(group).chunks(CHUNK).nth(i).unwrap_or_default();
        let rounds = n.div_ceil(CHUNK);
        let order: Vec<u32> =
            (0..rounds).flat_map(|i| (0..count).flat_map(move |group| chunk(group, i)).copied()).collect();
        let part = |place: usize| ((place % batch) / (batch / count)) as u16;
        let group_of: Vec<u16> = (0..n).map(part).collect();
        let names = self.groups().names().to_vec();
        Ok(Self { groups: Groups::new(&group_of, count)?.named(names)?, ..self.reordered(&order) })
    }

    /// The same samples with label `numbers[i]` instead of i: the labels that the classes have in the files.
    pub fn renumbered(self, numbers: &[u8]) -> Result<Self, Error> {
        let number = |label: &u16| {
            let known = numbers.get(usize::from(*label)).map(|number| u16::from(*number));
            known.ok_or_else(|| Error::Mismatch(format!("label {label} has no number among {numbers:?}")))
        };
        Ok(Self { labels: self.labels.iter().map(number).collect::<Result<_, _>>()?, ..self })
    }

    /// The samples in this order, in one group.
    fn reordered(self, order: &[u32]) -> Self {
        let width = self.input.size();
        let rows = || order.iter().map(|&row| row as usize);
        let values = match &self.values {
            SampleValues::Bytes { data, scale } => {
                let data = rows().flat_map(|row| &data[row * width..(row + 1) * width]).copied().collect();
                SampleValues::Bytes { data, scale: *scale }
            }
            SampleValues::Floats(data) => {
                SampleValues::Floats(rows().flat_map(|row| &data[row * width..(row + 1) * width]).copied().collect())
            }
        };
        let labels = rows().map(|row| self.labels[row]).collect();
        Self { values, labels, groups: Groups::single(order.len()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Shape;

    /// 1,200 samples of three classes in turn; the value of a sample is its row.
    fn data() -> Dataset {
        let values = (0..1200u16).map(f32::from).collect();
        let labels = (0..1200u16).map(|row| row % 3).collect();
        Dataset::floats(values, Shape::vector(1), labels).unwrap().grouped_by_label(3).unwrap()
    }

    #[test]
    fn batches_of_200_of_each_category_keep_the_categories_apart() {
        let mixed = data().mixed(600).unwrap();
        for group in 0..3u16 {
            let rows = mixed.groups().rows(usize::from(group));
            assert_eq!(rows.len(), 400);
            assert!(rows.iter().all(|row| mixed.labels()[*row as usize] == group));
        }
        // The first chunk is the first 200 samples of class 0, the next one those of class 1.
        let mut row = [0.0];
        mixed.copy_row(1, &mut row);
        assert_eq!(row, [3.0]);
        mixed.copy_row(200, &mut row);
        assert_eq!(row, [1.0]);
    }

    #[test]
    fn full_batches_mix_them() {
        let mixed = data().mixed(0).unwrap();
        let of = |group: usize, class: u16| {
            mixed.groups().rows(group).iter().filter(|row| mixed.labels()[**row as usize] == class).count()
        };
        // 0 1 | 2 0 | 1 2, in chunks of 200.
        assert_eq!([of(0, 0), of(0, 1), of(0, 2)], [200, 200, 0]);
        assert_eq!([of(1, 0), of(1, 1), of(1, 2)], [200, 0, 200]);
        assert_eq!([of(2, 0), of(2, 1), of(2, 2)], [0, 200, 200]);
        assert!(data().mixed(500).unwrap_err().to_string().contains("batches of 500 do not divide 1200 samples"));
    }

    #[test]
    fn labels_take_the_numbers_of_the_files() {
        let data = data().renumbered(&[0, 4, 6]).unwrap();
        assert_eq!((&data.labels()[..4], data.groups().rows(1)[0]), (&[0, 4, 6, 0][..], 1));
        assert!(data.renumbered(&[1]).unwrap_err().to_string().contains("label 4 has no number"));
    }
}
