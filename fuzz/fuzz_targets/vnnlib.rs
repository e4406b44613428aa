//! Properties in VNN-LIB, and the lists of instances that name them: refused, or read with the same lengths in every case.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_nn::verify::{Instance, Property};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = Instance::list(text);
    let Ok(property) = Property::from_vnnlib(text) else { return };
    let Some(first) = property.cases.first() else { return };
    let outputs = first.unsafe_sets.iter().flatten().next().map(|row| row.coefficients.len());
    for case in &property.cases {
        assert_eq!((case.lower.len(), case.upper.len()), (first.lower.len(), first.lower.len()));
        assert!(case.unsafe_sets.iter().flatten().all(|row| Some(row.coefficients.len()) == outputs || outputs.is_none()));
    }
    // An empty box or an infinite end is refused here, before a proof.
    let _ = property.check(first.lower.len(), outputs.unwrap_or(1));
});
