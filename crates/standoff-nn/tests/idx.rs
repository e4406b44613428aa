//! IDX files, good and bad: what is read is right, and what is refused names the file and the reason.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use standoff_nn::data::{ImageData, ImageSet};
use standoff_nn::{Error, Shape};

fn idx(sizes: &[u32], entries: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, sizes.len() as u8];
    file.extend(sizes.iter().flat_map(|n| n.to_be_bytes()));
    file.extend(entries);
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// Four images of 2 x 3 with labels 7, 2, 7, 5.
fn pair() -> (Vec<u8>, Vec<u8>) {
    let pixels: Vec<u8> = (0..24).collect();
    (idx(&[4, 2, 3], &pixels), idx(&[4], &[7, 2, 7, 5]))
}

fn read(images: impl Read, labels: impl Read) -> Result<ImageSet, Error> {
    ImageSet::read(("pictures", images), ("names", labels))
}

fn refusal(images: impl Read, labels: impl Read) -> String {
    read(images, labels).expect_err("a refusal").to_string()
}

#[test]
fn plain_and_gzip_files_read_the_same() {
    let (images, labels) = pair();
    let plain = read(&*images, &*labels).expect("plain");
    assert_eq!((plain.len(), plain.shape.height, plain.shape.width), (4, 2, 3));
    assert_eq!(plain.image(1), [6, 7, 8, 9, 10, 11]);
    assert_eq!(plain.classes(), [2, 5, 7]);
    assert_eq!(read(&*gzip(&images), &*labels).expect("gzip images"), plain);
    // A gzip file may consist of several streams.
    let (a, b) = images.split_at(17);
    let two = [gzip(a), gzip(b)].concat();
    assert_eq!(read(&*two, &*gzip(&labels)).expect("two streams"), plain);
}

#[test]
fn classes_are_selected_in_the_order_given_and_images_keep_theirs() {
    let (images, labels) = pair();
    let all = read(&*images, &*labels).expect("a set");
    let chosen = all.select(&[7, 2]).expect("two classes");
    assert_eq!(chosen.labels, [0, 1, 0]);
    assert_eq!(chosen.images, (0..18).collect::<Vec<u8>>());
    let refuse = |classes: &[u8]| all.select(classes).expect_err("a refusal").to_string();
    assert_eq!(refuse(&[7, 1]), "there are no images of class 1: the classes here are 2, 5, 7");
    assert_eq!(refuse(&[7, 2, 7]), "class 7 is given twice");
    assert_eq!(refuse(&[]), "no classes are given");
    let data = ImageData::new(all.clone(), chosen.clone()).expect_err("unknown classes").to_string();
    assert_eq!(data, "class 0 is in the test images but not in the training images");
    let both = ImageData::new(all.clone(), all.clone()).expect("a pair").select(&[5]).expect("one class");
    assert_eq!((both.train.labels, both.test.images), (vec![0], (18..24).collect()));
    let flat = ImageSet { shape: Shape::new(1, 3, 2), ..all.clone() };
    assert_eq!(
        ImageData::new(all, flat).expect_err("sizes").to_string(),
        "the training images are 2 x 3 pixels, the test images 3 x 2 pixels"
    );
}

#[test]
fn a_share_of_every_class_is_held_out() {
    let labels: Vec<u8> = (0..90).map(|i| if i % 3 == 0 { 4 } else { 9 }).collect();
    let set = ImageSet { images: (0..180).collect(), labels, shape: Shape::new(1, 1, 2) };
    let (rest, held) = set.divide(0.2, 7);
    assert_eq!((held.counts()[4], held.counts()[9], rest.counts()[4], rest.counts()[9]), (6, 12, 24, 48));
    // Every image is in one part, with its own label, and the order is kept.
    let mut found = Vec::new();
    for part in [&rest, &held] {
        assert!(part.images.windows(2).all(|pair| pair[0] < pair[1]));
        found.extend((0..part.len()).map(|i| (part.image(i).to_vec(), part.labels[i])));
    }
    found.sort();
    assert_eq!(found, (0..90).map(|i| (set.image(i).to_vec(), set.labels[i])).collect::<Vec<_>>());
    assert_eq!(set.divide(0.2, 7), (rest, held.clone()));
    assert_ne!(set.divide(0.2, 8).1, held);
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    let (images, labels) = pair();
    let packed = gzip(&images);
    for end in 0..images.len() {
        let message = refusal(&images[..end], &*labels);
        assert!(message.starts_with("`pictures`: is truncated"), "{end}: {message}");
    }
    assert!(refusal(&images[..20], &*labels).ends_with("its header promises 4 x 2 x 3 = 24 bytes, 4 are there"));
    // A file of fewer than two bytes is read as a plain file.
    for end in 0..packed.len() {
        let message = refusal(&packed[..end], &*labels);
        assert!(message.starts_with("`pictures`: is truncated"), "{end}: {message}");
    }
}

#[test]
fn a_corrupt_gzip_file_is_refused() {
    let (images, labels) = pair();
    let packed = gzip(&images);
    // Behind the ten bytes of gzip's own header every flipped bit must be found, if only by the checksum at the end.
    for at in 10..packed.len() {
        let mut broken = packed.clone();
        broken[at] ^= 0x10;
        let message = refusal(&*broken, &*labels);
        assert!(message.starts_with("`pictures`: "), "{at}: {message}");
    }
    let garbage = [packed, vec![1, 2, 3]].concat();
    assert!(refusal(&*garbage, &*labels).starts_with("`pictures`: is "));
}

#[test]
fn other_files_are_refused_with_the_reason() {
    let (images, labels) = pair();
    let cases = [
        (b"\x89PNG\r\n".to_vec(), "is not an IDX file: it starts with 89 50 4e 47, not with 00 00 08 03"),
        (labels.clone(), "holds labels (1 dimension), images (3 dimensions) were expected; are the two files swapped?"),
        (idx(&[4, 6], &[0; 24]), "holds an array of 2 dimensions, images (3 dimensions) were expected"),
        (vec![0, 0, 0x0d, 3], "holds entries of type 0x0d, only unsigned bytes (0x08) are read"),
        (idx(&[0, 2, 3], &[]), "is empty: its header says 0 x 2 x 3"),
        ([images.clone(), vec![9]].concat(), "is corrupt: more bytes follow the 4 x 2 x 3 = 24 of its header"),
        (gzip(&[images.clone(), vec![9]].concat()), "is corrupt: more bytes follow the 4 x 2 x 3 = 24 of its header"),
    ];
    for (file, want) in cases {
        assert_eq!(refusal(&*file, &*labels), format!("`pictures`: {want}"));
    }
    assert_eq!(
        refusal(&*images, &*images),
        "`names`: holds images (3 dimensions), labels (1 dimension) were expected; are the two files swapped?"
    );
    assert_eq!(refusal(&*images, &*idx(&[3], &[1, 2, 3])), "`names`: has 3 labels for the 4 images of `pictures`");
    let missing = ImageSet::open(Path::new("nowhere/images"), Path::new("nowhere/labels")).expect_err("no file");
    assert!(missing.to_string().starts_with("`nowhere/images`: cannot be opened"), "{missing}");
    let folder = ImageSet::open(Path::new("."), Path::new(".")).expect_err("a folder");
    assert!(folder.to_string().starts_with("`.`: is a folder"), "{folder}");
}

#[test]
fn a_header_that_promises_too_much_costs_no_memory() {
    let labels = pair().1;
    for sizes in [[1 << 20, 1 << 10, 1 << 10], [u32::MAX; 3]] {
        let message = refusal(&*idx(&sizes, &[1, 2, 3]), &*labels);
        assert!(message.contains("is corrupt: its header promises") && message.contains("more than 8 GB"), "{message}");
    }
    // Below the limit the file is read, and is simply too short.
    let message = refusal(&*idx(&[1 << 20, 1 << 6, 1 << 6], &[1, 2, 3]), &*labels);
    assert!(message.ends_with("1048576 x 64 x 64 = 4294967296 bytes, 3 are there"), "{message}");
}

#[test]
fn a_source_that_fails_is_not_a_short_file() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is on fire"))
        }
    }
    let (images, labels) = pair();
    let message = refusal(Cursor::new(&images[..20]).chain(Broken), &*labels);
    assert_eq!(message, "`pictures`: cannot be read: the disk is on fire");
    assert_eq!(refusal(Broken, &*labels), "`pictures`: cannot be read: the disk is on fire");
}

proptest! {
    #[test]
    fn no_bytes_whatsoever_make_the_reader_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), head in 0..3) {
        if head == 1 && bytes.len() >= 4 {
            bytes[..4].copy_from_slice(&[0, 0, 8, 3]);
        }
        if head == 2 {
            bytes = gzip(&bytes);
        }
        let _ = read(&*bytes, &*pair().1);
        let _ = read(&*pair().0, &*bytes);
    }

    #[test]
    fn what_is_written_is_read_back(n in 1usize..20, rows in 1usize..6, cols in 1usize..6, seed in any::<u8>(), packed: bool) {
        let pixels: Vec<u8> = (0..n * rows * cols).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect();
        let labels: Vec<u8> = (0..n).map(|i| (i as u8).wrapping_mul(seed)).collect();
        let mut file = idx(&[n as u32, rows as u32, cols as u32], &pixels);
        if packed {
            file = gzip(&file);
        }
        let set = read(&*file, &*idx(&[n as u32], &labels)).expect("a set");
        prop_assert_eq!((&set.images, &set.labels, set.shape.height, set.shape.width), (&pixels, &labels, rows, cols));
        // Selecting every class only renames.
        let classes = set.classes();
        let renamed = set.select(&classes).expect("every class");
        prop_assert_eq!(&renamed.images, &pixels);
        prop_assert!(renamed.labels.iter().zip(&labels).all(|(new, old)| classes[usize::from(*new)] == *old));
    }
}

#[test]
fn the_bundled_datasets_are_what_they_say() {
    let open = |folder: &str, part: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data").join(folder);
        let file = |kind: &str| folder.join(format!("{part}-{kind}-ubyte.gz"));
        ImageSet::open(&file("images-idx3"), &file("labels-idx1")).expect("a bundled dataset")
    };
    for (folder, classes, sizes) in
        [("mnist", (0..10).collect(), [60_000, 10_000]), ("fashion-tops", vec![0, 2, 4, 6], [24_000, 4_000])]
    {
        let data = ImageData::new(open(folder, "train"), open(folder, "t10k")).expect("a pair");
        assert_eq!([data.train.len(), data.test.len()], sizes);
        assert_eq!((data.train.shape.height, data.train.shape.width), (28, 28));
        assert_eq!(data.train.classes(), classes);
    }
    let three = open("fashion-tops", "t10k").select(&[0, 4, 6]).expect("three classes");
    assert_eq!(three.counts()[..4], [1000, 1000, 1000, 0]);
}
