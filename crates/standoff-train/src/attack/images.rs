//! The images that are attacked: part of a dataset, as pixels from 0 to 1, each with the output that it should give.

use standoff_nn::data::ImageSet;
use standoff_nn::{Model, Shape};

use super::network::Network;
use crate::data::class::Class;
use crate::data::find::{Found, find_images, find_test_images};
use crate::data::known::MNIST;
use crate::data::places::SearchFolders;
use crate::error::{Result, refuse};
use crate::files;
use crate::named::named;
use crate::number::{count, plural};

/// A part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// The test images.
    Test,
    /// The training images.
    Train,
}

named! { Split:
    Test, "test", "The test images";
    Train, "train", "The training images";
}

/// Images of a dataset with the labels of the dataset.
#[derive(Debug)]
pub struct Part {
    found: Found,
    split: Split,
    set: ImageSet,
}

/// Images with the outputs that a network should give.
#[derive(Debug, Clone, PartialEq)]
pub struct Images {
    /// From 0 to 1, image by image.
    pub pixels: Vec<f32>,
    /// The output of each image's class.
    pub labels: Vec<u16>,
    /// The index of each image in its part of the dataset, from 0.
    pub places: Vec<usize>,
    /// The shape of an image.
    pub shape: Shape,
    /// The name of every output.
    pub names: Vec<String>,
    /// A short description.
    pub about: String,
    /// Messages for the user.
    pub notes: Vec<String>,
}

impl Part {
    /// Finds and reads a dataset.
    pub fn find(data: &str, split: Split) -> Result<Self> {
        let around = SearchFolders::real();
        let found = match split {
            Split::Train => find_images(Some(data), &MNIST, &around)?,
            Split::Test => find_test_images(Some(data), &MNIST, &around)?,
        };
        let set = match split {
            Split::Train => found.files.read_train()?,
            Split::Test => found.files.read_test()?,
        };
        Ok(Self { found, split, set })
    }

    /// The shape of an image.
    pub fn shape(&self) -> Shape {
        self.set.shape
    }

    /// The first `limit` images of the given classes, or of all that the network knows.
    pub fn choose(&self, network: &Network, classes: Option<&[Class]>, limit: Option<u64>) -> Result<Images> {
        let Self { found, split, set } = self;
        let classes = classes.map(|classes| found.numbers(classes)).transpose()?;
        if let Some(classes) = &classes {
            // Refuses classes that are not there, or twice.
            set.select(classes)?;
        }
        let output = outputs(network, found, set);
        let mut notes = Vec::new();
        let asked = |i: &usize| classes.as_ref().is_none_or(|classes| classes.contains(&set.labels[*i]));
        let mut places: Vec<usize> = (0..set.len()).filter(asked).collect();
        let all = places.len();
        places.retain(|i| output[usize::from(set.labels[*i])].is_some());
        if places.is_empty() {
            let known = network.classes.as_deref().unwrap_or_default().join(", ");
            refuse!(Data, "no image of {} is of a class that the model knows ({known})", files::name(&found.folder));
        }
        if places.len() < all {
            let (left, all) = (count((all - places.len()) as u64), count(all as u64));
            notes.push(format!("{left} of {all} images are of classes that the model does not know and are left out"));
        }
        if let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) {
            places.truncate(limit);
        }
        check_labels(&network.model, set, &places, &output)?;
        let dataset = found.known.map_or_else(|| files::name(&found.folder), |(known, _)| known.name.to_owned());
        let (n, which) = (places.len() as u64, if *split == Split::Test { "test" } else { "training" });
        Ok(Images {
            pixels: places.iter().flat_map(|i| set.image(*i)).map(|k| f32::from(*k) / 255.0).collect(),
            labels: places.iter().filter_map(|i| output[usize::from(set.labels[*i])]).collect(),
            shape: set.shape,
            names: names(network, found),
            about: format!("{} of {dataset}", plural(n, &format!("{which} image"))),
            places,
            notes,
        })
    }
}

/// The output of every class of the dataset: by name where the network names its outputs, else by number.
fn outputs(network: &Network, found: &Found, set: &ImageSet) -> [Option<u16>; 256] {
    let mut outputs = [None; 256];
    for class in set.classes() {
        outputs[usize::from(class)] = match &network.classes {
            Some(names) => names.iter().position(|name| *name == found.class_name(class)).map(|c| c as u16),
            None => Some(u16::from(class)),
        };
    }
    outputs
}

/// A network without names for its outputs must have one for every class.
fn check_labels(model: &Model, set: &ImageSet, places: &[usize], output: &[Option<u16>; 256]) -> Result<()> {
    let outputs = model.outputs();
    for i in places {
        let class = set.labels[*i];
        if output[usize::from(class)].is_some_and(|o| usize::from(o) >= outputs) {
            refuse!(
                Data,
                "image {i} is of class {class}, the model has {} (0 to {}); choose others with --classes",
                plural(outputs as u64, "output"),
                outputs - 1
            );
        }
    }
    Ok(())
}

/// The name of every output; outputs that are no class are numbered.
fn names(network: &Network, found: &Found) -> Vec<String> {
    let name = |output: usize| match &network.classes {
        Some(names) => names.get(output).cloned().unwrap_or_else(|| format!("output {output}")),
        None => u8::try_from(output).map_or_else(|_| output.to_string(), |class| found.class_name(class)),
    };
    (0..network.model.outputs()).map(name).collect()
}
