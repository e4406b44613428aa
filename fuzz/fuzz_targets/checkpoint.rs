//! Checkpoints: a damaged one is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_train::training::checkpoint::Checkpoint;
use standoff_train::training::curve::Curve;

fuzz_target!(|data: &[u8]| {
    if let Ok(state) = Checkpoint::parse(data) {
        let _ = Curve::new(3).restore(&state);
    }
});
