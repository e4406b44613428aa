//! The datasets that have a name, and how to tell that a copy is genuine.

/// The four files of an image dataset, in the order of all lists here.
pub const FILES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// A dataset that can be asked for by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// The name on the command line.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
    /// The classes, by label.
    pub classes: [&'static str; 10],
    /// Its forms, the most complete first.
    pub editions: &'static [Edition],
    /// Addresses of the complete files, each with a slash at the end.
    pub mirrors: &'static [&'static str],
}

/// All of a dataset, or a part of it that is small enough to ship.
#[derive(Debug, PartialEq, Eq)]
pub struct Edition {
    /// Usual names of its folder.
    pub folders: &'static [&'static str],
    /// The labels that occur.
    pub labels: &'static [u8],
    /// The SHA-256 of each of the [`FILES`], decompressed.
    pub sums: [&'static str; 4],
}

/// Every dataset that has a name.
pub const KNOWN: [&Known; 2] = [&MNIST, &FASHION];

/// Handwritten digits.
pub static MNIST: Known = Known {
    name: "mnist",
    title: "MNIST, handwritten digits",
    classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
    editions: &[Edition {
        folders: &["mnist", "MNIST/raw", "MNIST"],
        labels: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        sums: [
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ],
    }],
    mirrors: &["https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"],
};

/// Articles of clothing; the four tops categories are bundled.
pub static FASHION: Known = Known {
    name: "fashion",
    title: "Fashion-MNIST, articles of clothing",
    classes: ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"],
    editions: &[
        Edition {
            folders: &[
                "fashion",
                "fashion-mnist",
                "fashion_mnist",
                "FashionMNIST/raw",
                "FashionMNIST",
                "Fashion-MNIST",
            ],
            labels: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
            sums: [
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ],
        },
        Edition {
            folders: &["fashion-tops"],
            labels: &[0, 2, 4, 6],
            sums: [
                "4dac939a178ac4061c89632ac75b23a67669b62453f2a9a60068bdc8dc311ff8",
                "e6d4a2f5cae978120d779d34a7777658a392ab1f5a56c3b0a2ac061fa4ce6446",
                "34ee73d35a981747d35d9c5b398f52bc018b1e74066da51f02bab35bf03d4911",
                "2ed99a560f2f44295ba20fa7347b6c17811bd56bb117e93d328bcbf2f943883f",
            ],
        },
    ],
    mirrors: &[
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
        "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
    ],
};

impl Known {
    /// The dataset of a name, or of another name that people have for it.
    pub fn named(name: &str) -> Option<&'static Self> {
        KNOWN.into_iter().find(|k| {
            k.name.eq_ignore_ascii_case(name)
                || k.editions[0].folders.iter().any(|f| f.eq_ignore_ascii_case(name) && !f.contains('/'))
        })
    }

    /// The dataset and the edition of a file of training labels with this SHA-256: small, so quickly hashed, and telling.
    pub fn of_labels(sum: &str) -> Option<(&'static Self, &'static Edition)> {
        KNOWN.into_iter().find_map(|k| k.editions.iter().find(|e| e.sums[1] == sum).map(|e| (k, e)))
    }

    /// Labels with their names: `0 T-shirt/top, 2 Pullover`; digits are their own names.
    pub fn describe(&self, labels: &[u8]) -> String {
        let one = |label: &u8| {
            let number = label.to_string();
            match self.classes.get(usize::from(*label)) {
                Some(name) if *name != number => format!("{number} {name}"),
                _ => number,
            }
        };
        labels.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_sums_are_those_that_the_script_wrote() {
        let text = include_str!("../../../../data/SHA256SUMS");
        let mut lines = 0;
        for (folder, edition) in [("mnist", &MNIST.editions[0]), ("fashion-tops", &FASHION.editions[1])] {
            for (file, sum) in FILES.iter().zip(edition.sums) {
                assert!(text.contains(&format!("{sum}  {folder}/{file}\n")), "{folder}/{file}");
                lines += 1;
            }
        }
        assert_eq!(text.lines().count(), lines);
    }

    #[test]
    fn names_are_found_as_people_write_them() {
        for (name, want) in
            [("mnist", "mnist"), ("MNIST", "mnist"), ("fashion", "fashion"), ("FashionMNIST", "fashion")]
        {
            assert_eq!(Known::named(name).map(|k| k.name), Some(want));
        }
        assert_eq!(Known::named("fashion-tops"), None);
        assert_eq!(FASHION.describe(&[0, 6]), "0 T-shirt/top, 6 Shirt");
        assert_eq!(MNIST.describe(&[3]), "3");
    }
}
