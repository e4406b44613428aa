//! Experiment files of `standoff fair` and `standoff robust`: refused, or unchanged when written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_train::training::Description as _;
use standoff_train::{fair, robust};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(config) = fair::config::FairConfig::parse(text, "fuzz.toml") {
        let _ = config.check();
        let again = config.to_toml().map(|text| fair::config::FairConfig::parse(&text, "again.toml"));
        // NaN is not equal to itself.
        if let Ok(Ok(again)) = again {
            assert_eq!(format!("{again:?}"), format!("{config:?}"));
        }
    }
    if let Ok(config) = robust::config::RobustConfig::parse(text, "fuzz.toml") {
        let _ = config.check();
        let again = config.to_toml().map(|text| robust::config::RobustConfig::parse(&text, "again.toml"));
        if let Ok(Ok(again)) = again {
            assert_eq!(format!("{again:?}"), format!("{config:?}"));
        }
    }
});
