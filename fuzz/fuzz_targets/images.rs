//! Datasets of images besides IDX: a compressed tar archive of CIFAR-10, or an `.npz` archive with images and labels: refused or read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_nn::data::{ImageFiles, cifar_batches};

fuzz_target!(|data: &[u8]| {
    if !data.starts_with(b"PK") {
        let _ = cifar_batches(data);
        return;
    }
    let path = std::env::temp_dir().join(format!("standoff-fuzz-{}.npz", std::process::id()));
    std::fs::write(&path, data).expect("a file");
    let Ok(Some(files)) = ImageFiles::find(&path) else { return };
    let Ok(read) = files.read() else { return };
    for set in [read.train, read.test] {
        assert_eq!(set.images.len(), set.len() * set.pixels());
    }
});
