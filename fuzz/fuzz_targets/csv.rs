//! CSV files: refused, or read and split into training and test rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use standoff_nn::data::{Sheet, TableData, TableOptions};

fuzz_target!(|data: &[u8]| {
    for header in [None, Some(false)] {
        let Ok(sheet) = Sheet::read("table.csv", data, header) else { continue };
        let Some(name) = sheet.columns().last().cloned() else { continue };
        let Ok(table) = TableData::new(&sheet, &TableOptions::label(&name)) else { continue };
        assert!(table.train.features.iter().all(|v| v.is_finite()));
        assert_eq!(table.train.labels.len(), table.train.len());
    }
});
