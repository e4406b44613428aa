//! Weights with their model in a safetensors file, and models as TOML: refused or built.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_nn::{Model, Weights};

fuzz_target!(|data: &[u8]| {
    if let Ok(weights) = Weights::from_bytes(data) {
        assert_eq!(weights.parameters.len(), weights.model.size());
        let again = weights.to_bytes().expect("it can be written");
        assert_eq!(Weights::from_bytes(&again).expect("and read").parameters.len(), weights.parameters.len());
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Model::from_toml(text);
    }
});
