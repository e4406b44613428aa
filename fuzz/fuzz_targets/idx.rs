//! Two IDX files, images and labels, plain or gzip: refused or read. The first two bytes give the length of the first file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_nn::data::ImageSet;

fuzz_target!(|data: &[u8]| {
    let Some((at, rest)) = data.split_first_chunk::<2>() else { return };
    let at = usize::from(u16::from_be_bytes(*at)).min(rest.len());
    let (images, labels) = rest.split_at(at);
    let Ok(set) = ImageSet::read(("images", images), ("labels", labels)) else { return };
    assert_eq!(set.counts().iter().sum::<usize>(), set.len());
    for class in set.classes() {
        assert!(!set.select(&[class]).expect("a class that is there").is_empty());
    }
});
