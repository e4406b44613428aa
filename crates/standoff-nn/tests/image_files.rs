//! Datasets of images in folders made for the purpose: CIFAR-10, PNG by class, NumPy's arrays.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use png::{BitDepth, ColorType};
use standoff_nn::Shape;
use standoff_nn::data::{CIFAR_FILES, ImageFiles, ImageSet, cifar_batches};
use tempfile::TempDir;

fn scratch() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn put(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, bytes).expect("a file");
}

fn found(path: &Path) -> ImageFiles {
    ImageFiles::find(path).expect("readable").expect("a dataset")
}

/// The error of finding or reading.
fn refusal(path: &Path) -> String {
    match ImageFiles::find(path) {
        Ok(Some(files)) => files.read().expect_err("refused").to_string(),
        Ok(None) => panic!("{} is no dataset", path.display()),
        Err(error) => error.to_string(),
    }
}

/// A PNG of `width` x `height`.
fn picture((width, height): (u32, u32), kind: ColorType, depth: BitDepth, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(kind);
    encoder.set_depth(depth);
    if kind == ColorType::Indexed {
        encoder.set_palette(vec![9, 8, 7, 6, 5, 4]);
    }
    encoder.write_header().expect("a header").write_image_data(data).expect("pixels");
    out
}

fn grey(side: u32, value: u8) -> Vec<u8> {
    picture((side, side), ColorType::Grayscale, BitDepth::Eight, &vec![value; (side * side) as usize])
}

/// The bytes of an array.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    header.push_str(&" ".repeat(117 - header.len()));
    header.push('\n');
    [b"\x93NUMPY\x01\x00\x76\x00", header.as_bytes(), data].concat()
}

/// An archive of plain files, as `numpy.savez` writes it.
fn npz(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let name = format!("{name}.npy");
        let (size, n) = ((content.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
        let start = (out.len() as u32).to_le_bytes();
        let sizes = [[0; 4], size, size].concat();
        directory.extend([b"PK\x01\x02", &[0; 12][..], &sizes, &n, &[0; 12], &start, name.as_bytes()].concat());
        out.extend([b"PK\x03\x04", &[0; 10][..], &sizes, &n, &[0, 0], name.as_bytes(), content].concat());
    }
    let (count, size, at) = ((files.len() as u16).to_le_bytes(), directory.len() as u32, out.len() as u32);
    out.extend(directory);
    out.extend([b"PK\x05\x06", &[0; 4][..], &count, &count, &size.to_le_bytes(), &at.to_le_bytes(), &[0; 2]].concat());
    out
}

/// A batch of CIFAR-10 with these labels; the red plane of each image has the value of its place.
fn batch(labels: &[u8]) -> Vec<u8> {
    labels.iter().enumerate().flat_map(|(i, l)| [vec![*l], vec![i as u8; 1024], vec![7; 2048]].concat()).collect()
}

#[test]
fn batches_of_cifar_are_read_from_their_folder_plain_or_compressed() {
    let folder = scratch();
    for (i, name) in CIFAR_FILES.iter().enumerate() {
        put(&folder.path().join(name), batch(&[i as u8 % 5, 9]));
    }
    let plain = folder.path().join(CIFAR_FILES[3]);
    let mut gz = GzEncoder::new(Vec::new(), Compression::default());
    gz.write_all(&fs::read(&plain).expect("a batch")).expect("memory");
    put(&folder.path().join(format!("{}.gz", CIFAR_FILES[3])), gz.finish().expect("memory"));
    fs::remove_file(&plain).expect("a file");
    // One of its files means the folder.
    let data = found(&folder.path().join(CIFAR_FILES[0])).read().expect("images");
    assert_eq!(data.train.labels, [0, 9, 1, 9, 2, 9, 3, 9, 4, 9]);
    assert_eq!((data.test.labels.as_slice(), data.test.shape), (&[0, 9][..], Shape::new(3, 32, 32)));
    assert_eq!((data.train.image(1)[0], data.train.image(1)[1024]), (1, 7));
}

#[test]
fn damaged_batches_of_cifar_are_refused_with_their_name() {
    let folder = scratch();
    let at = |i: usize| folder.path().join(CIFAR_FILES[i]);
    (0..5).for_each(|i| put(&at(i), batch(&[0, 1])));
    assert!(refusal(folder.path()).contains("the folder lacks test_batch.bin (plain or .gz)"));
    put(&at(5), &batch(&[0, 1])[..5000]);
    let text = refusal(folder.path());
    assert!(text.contains("test_batch.bin") && text.contains("5000 bytes, want a multiple of 3073"), "{text}");
    put(&at(5), batch(&[0, 10]));
    assert!(refusal(folder.path()).contains("it has label 10, want 0 to 9"));
}

#[test]
fn an_archive_gives_the_batches_and_damage_gives_an_error() {
    let entry = |name: &str, content: &[u8]| {
        let mut head = vec![0; 512];
        head[..name.len()].copy_from_slice(name.as_bytes());
        head[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        head[156] = b'0';
        let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
        [head, content.to_vec(), padding].concat()
    };
    let files: Vec<Vec<u8>> = (0..6).map(|i| batch(&[i, i])).collect();
    let mut tar: Vec<u8> = CIFAR_FILES.iter().zip(&files).flat_map(|(n, f)| entry(&format!("cifar/{n}"), f)).collect();
    tar.extend([0; 1024]);
    let zipped = |bytes: &[u8]| {
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        gz.write_all(bytes).expect("memory");
        gz.finish().expect("memory")
    };
    assert_eq!(cifar_batches(&*zipped(&tar)).expect("batches"), files);
    assert!(cifar_batches(&*zipped(&tar[..9000])).expect_err("cut").contains("is cut off"));
    assert!(cifar_batches(&zipped(&tar)[..200]).is_err());
    assert!(cifar_batches(&b"no archive"[..]).is_err());
    assert!(cifar_batches(&*zipped(&[0; 1024])).expect_err("empty").contains("has not the images"));
}

#[test]
fn folders_of_png_give_classes_by_name() {
    let folder = scratch();
    for (part, n) in [("train", 3), ("test", 1)] {
        for (class, value) in [("dog", 200), ("cat", 100)] {
            for i in 0..n {
                put(&folder.path().join(part).join(class).join(format!("{i}.PNG")), grey(2, value + i));
            }
        }
    }
    put(&folder.path().join("train/cat/.DS_Store"), "hidden");
    let files = found(folder.path());
    assert_eq!((files.class_name(0), files.class_name(1), files.class_name(2)), (Some("cat"), Some("dog"), None));
    let data = files.read().expect("images");
    assert_eq!((data.train.labels.as_slice(), data.test.labels.as_slice()), (&[0, 0, 0, 1, 1, 1][..], &[0, 1][..]));
    assert_eq!((data.train.image(1), data.train.shape), (&[101; 4][..], Shape::new(1, 2, 2)));
}

#[test]
fn folders_that_are_numbers_are_labels_and_every_fifth_image_is_for_testing_without_a_test_folder() {
    let folder = scratch();
    for (class, n) in [("10", 10), ("3", 5)] {
        (0..n).for_each(|i| put(&folder.path().join(class).join(format!("{i}.png")), grey(1, i)));
    }
    let files = found(folder.path());
    assert!(!files.has_test_images());
    let data = files.read().expect("images");
    assert_eq!((data.train.counts()[3], data.train.counts()[10]), (4, 8));
    assert_eq!((data.test.labels.as_slice(), data.test.images.as_slice()), (&[3, 10, 10][..], &[4, 4, 9][..]));
    assert_eq!(files.read_test().expect("the same"), data.test);
}

#[test]
fn colours_palettes_and_opaque_alpha_are_read_channel_by_channel() {
    let folder = scratch();
    let at = |name: &str| folder.path().join("train").join(name);
    put(&at("a/1.png"), grey(2, 50));
    let rgb: Vec<u8> = (1..=12).collect();
    put(&at("a/2.png"), picture((2, 2), ColorType::Rgb, BitDepth::Eight, &rgb));
    let opaque: Vec<u8> = rgb.chunks(3).flat_map(|c| [c[0], c[1], c[2], 255]).collect();
    put(&at("b/1.png"), picture((2, 2), ColorType::Rgba, BitDepth::Eight, &opaque));
    put(&at("b/2.png"), picture((2, 2), ColorType::Indexed, BitDepth::Eight, &[0, 1, 1, 0]));
    put(&folder.path().join("test/a/1.png"), picture((2, 2), ColorType::Rgb, BitDepth::Eight, &rgb));
    let set = found(folder.path()).read().expect("images").train;
    assert_eq!((set.shape, set.image(0)), (Shape::new(3, 2, 2), &[50; 12][..]));
    let planes = [1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12];
    assert_eq!((set.image(1), set.image(2)), (&planes[..], &planes[..]));
    assert_eq!(set.image(3), [9, 6, 6, 9, 8, 5, 5, 8, 7, 4, 4, 7]);
}

#[test]
fn pictures_that_cannot_be_used_are_named_with_the_reason() {
    let folder = scratch();
    let odd = folder.path().join("b/odd.png");
    for (i, side) in [(1, 2), (2, 2)] {
        put(&folder.path().join(format!("a/{i}.png")), grey(side, i as u8));
    }
    let clear = picture((2, 2), ColorType::GrayscaleAlpha, BitDepth::Eight, &[1, 255, 1, 0, 1, 255, 1, 255]);
    for (bytes, why) in [
        (grey(3, 0), "is 3 x 3, but"),
        (picture((2, 2), ColorType::Grayscale, BitDepth::Sixteen, &[0; 8]), "has 16 bits per channel; save it with 8"),
        (clear, "has transparent pixels; save it without an alpha channel"),
        (grey(2, 0)[..60].to_vec(), "is no readable PNG"),
        (b"GIF89a".to_vec(), "is no readable PNG"),
    ] {
        put(&odd, bytes);
        let text = refusal(folder.path());
        assert!(text.contains("odd.png") && text.contains(why), "{text}");
    }
    put(&odd, grey(2, 0));
    put(&folder.path().join("b/photo.jpg"), "");
    assert!(refusal(folder.path()).contains("photo.jpg`: is no PNG; convert the images"));
    fs::remove_file(folder.path().join("b/photo.jpg")).expect("a file");
    fs::create_dir(folder.path().join("c")).expect("a folder");
    assert!(refusal(folder.path()).contains("has no PNG images; every folder of a class needs some"));
    assert_eq!(ImageFiles::find(&folder.path().join("c")), Ok(None));
}

#[test]
fn test_images_of_a_class_without_training_images_are_refused() {
    let folder = scratch();
    put(&folder.path().join("train/a/1.png"), grey(2, 0));
    put(&folder.path().join("val/b/1.png"), grey(2, 0));
    assert!(refusal(folder.path()).contains("test images of class `b`, but no training images (of: a)"));
}

#[test]
fn arrays_of_an_archive_and_of_files_in_a_folder_are_the_same() {
    let folder = scratch();
    let pixels: Vec<u8> = (0..48).collect();
    let labels = |n: &[i64]| n.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let arrays = [
        ("x_train", npy("|u1", "(4, 2, 2, 3)", &pixels)),
        ("y_train", npy("<i8", "(4, 1)", &labels(&[0, 1, 1, 0]))),
        ("x_test", npy("|u1", "(1, 2, 2, 3)", &pixels[..12])),
        ("y_test", npy("<i8", "(1,)", &labels(&[1]))),
    ];
    let archive = folder.path().join("a.npz");
    put(&archive, npz(&arrays));
    for (name, bytes) in &arrays {
        put(&folder.path().join("arrays").join(format!("{name}.npy")), bytes);
    }
    let data = found(&archive).read().expect("images");
    assert_eq!((data.train.labels.as_slice(), data.test.labels.as_slice()), (&[0, 1, 1, 0][..], &[1][..]));
    assert_eq!(
        (data.test.shape, data.test.image(0)),
        (Shape::new(3, 2, 2), &[0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11][..])
    );
    assert_eq!(found(&folder.path().join("arrays")).read().expect("images"), data);
    assert_eq!(found(&folder.path().join("arrays/y_test.npy")).read().expect("images"), data);
}

/// The training images of an archive with one array of images, and labels 0 to 5 that occur five times each.
fn read_one(images: Vec<u8>, labels: Vec<u8>) -> Result<ImageSet, String> {
    let folder = scratch();
    let path = folder.path().join("one.npz");
    put(&path, npz(&[("images", images), ("labels", labels)]));
    ImageFiles::find(&path)
        .and_then(|files| files.expect("arrays").read())
        .map(|data| data.train)
        .map_err(|e| e.to_string())
}

#[test]
fn numbers_from_0_to_1_become_bytes_and_others_are_refused() {
    let five = npy("|u1", "(5,)", &[2; 5]);
    let floats = |values: [f32; 5]| npy("<f4", "(5, 1, 1)", &values.map(f32::to_le_bytes).concat());
    let set = read_one(floats([0.0, 0.5, 1.0, 0.25, 1.0]), five.clone()).expect("images");
    assert_eq!((set.images.as_slice(), set.labels.as_slice()), (&[0, 128, 255, 64][..], &[2; 4][..]));
    let set = read_one(floats([0.0, 200.0, 255.0, 3.0, 0.0]), five.clone()).expect("images");
    assert_eq!(set.images, [0, 200, 255, 3]);
    let refused = |images: Vec<u8>| read_one(images, five.clone()).expect_err("refused");
    assert!(
        refused(floats([-0.5, 0.5, 0.0, 0.0, 0.0]))
            .contains("pixels from -0.5 to 0.5: want bytes, or numbers from 0 to 1")
    );
    assert!(refused(floats([f32::NAN, 0.5, 0.0, 0.0, 0.0])).contains("the pixel NaN"));
    assert!(refused(npy("|u1", "(5, 4)", &[0; 20])).contains("is 5 x 4: want images x height x width"));
    assert!(refused(npy("|u1", "(5, 2, 2, 4)", &[0; 80])).contains("with 1 or 3 channels"));
    assert!(refused(npy("|u1", "(6, 1, 1)", &[0; 6])).contains("has 5 labels for the 6 images of images"));
    assert!(
        refused(npy("|u1", "(5, 9, 9)", &[0; 6])).contains("is truncated: its header promises 405 bytes, 6 are there")
    );
    assert!(refused(npy("|u1", "(5, 0, 3)", &[])).contains("is 5 x 0 x 3: it holds no images"));
    assert!(refused(npy("<c8", "(5, 1, 1)", &[0; 40])).contains("holds entries of type <c8"));
}

#[test]
fn archives_without_labels_and_damaged_ones_are_refused() {
    let folder = scratch();
    let path = folder.path().join("a.npz");
    let images = npy("|u1", "(5, 1, 1)", &[0; 5]);
    put(&path, npz(&[("images", images.clone())]));
    let text = refusal(&path);
    assert!(
        text.contains("a.npz") && text.contains("has no images with labels; it has the arrays images, want x_train"),
        "{text}"
    );
    for (labels, why) in [
        (npy("<f4", "(5,)", &[0.5f32; 5].map(f32::to_le_bytes).concat()), "has the label 0.5"),
        (npy("<i2", "(5,)", &[300i16; 5].map(i16::to_le_bytes).concat()), "has the label 300"),
        (npy("|u1", "(5, 10)", &[0; 50]), "not one-hot rows"),
        (b"text".to_vec(), "is no .npy array"),
    ] {
        let text = read_one(images.clone(), labels).expect_err("refused");
        assert!(text.contains("the array labels") && text.contains(why), "{text}");
    }
    let whole = npz(&[("x", images.clone()), ("y", npy("|u1", "(5,)", &[0; 5]))]);
    for cut in 0..whole.len() {
        put(&path, &whole[..cut]);
        let _ = ImageFiles::find(&path).map(|files| files.map(|f| f.read()));
    }
    for at in 0..whole.len() {
        for value in [0, 9, 255] {
            let mut bad = whole.clone();
            bad[at] = value;
            put(&path, &bad);
            let _ = ImageFiles::find(&path).map(|files| files.map(|f| f.read()));
        }
    }
    put(&path, &whole[..whole.len() / 2]);
    assert!(refusal(&path).contains("zip archive"));
}
