//! Files in the formats of well-known tables, 200 lines each: read right, or refused with the line. `formats/make.py` names their
//! sources.

use std::fs;
use std::path::PathBuf;

use standoff_nn::data::{ColumnKind, Sheet, SheetOptions, TableData, TableOptions};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(name)
}

fn sheet(name: &str) -> Sheet {
    Sheet::open(&path(name), None).expect(name)
}

fn table(sheet: &Sheet, label: &str, groups: &[&str]) -> TableData {
    let groups = groups.iter().map(|g| (*g).to_owned()).collect();
    TableData::new(sheet, &TableOptions { groups, ..TableOptions::label(label) }).expect(label)
}

/// The text of a file after a change to one of its lines, counted from 1.
fn changed(name: &str, line: usize, new: &str) -> Result<Sheet, String> {
    let text = fs::read_to_string(path(name)).expect(name);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[line - 1] = new;
    Sheet::read(name, lines.join("\n").as_bytes(), None).map_err(|error| error.to_string())
}

#[test]
fn adult_has_no_header_and_blanks_behind_commas() {
    let adult = sheet("adult.data");
    assert_eq!((adult.len(), adult.columns().len()), (200, 15));
    assert_eq!((adult.columns()[0].as_str(), adult.cell(0, 0), adult.cell(0, 14)), ("c1", "39", "<=50K"));
    let data = table(&adult, "c15", &["c10"]);
    assert_eq!(data.preprocessing.group_names, ["c10=Female", "c10=Male"]);
    assert_eq!(data.preprocessing.classes, ["<=50K", ">50K"]);
    // `?` is a missing workclass.
    assert!(data.preprocessing.feature_names().contains(&"c2=missing".to_owned()));
    let message = changed("adult.data", 50, "39, State-gov, 77516").expect_err("a short line");
    assert_eq!(message, "`adult.data`: line 50 has 3 cells, the first row has 15");
}

#[test]
fn the_first_line_of_adult_test_is_a_comment() {
    let adult = sheet("adult.test");
    assert_eq!((adult.len(), adult.columns().len(), adult.line(0)), (199, 15, 2));
    assert_eq!((adult.cell(0, 0), adult.cell(0, 14)), ("25", "<=50K."));
    assert_eq!(adult.notes(), ["1 line is a comment and is skipped: line 1"]);
}

#[test]
fn german_credit_is_parted_by_blanks() {
    let german = sheet("german.data");
    assert_eq!((german.len(), german.columns().len(), german.line(199)), (200, 21, 200));
    assert_eq!((german.cell(1, 0), german.cell(1, 4), german.cell(1, 20)), ("A12", "5951", "2"));
    let data = table(&german, "c21", &["c9"]);
    assert_eq!(data.preprocessing.classes, ["1", "2"]);
    assert!(matches!(data.preprocessing.columns[1].kind, ColumnKind::Numeric { .. }));
    let message = changed("german.data", 150, "A11 6 A34 A43").expect_err("a short line");
    assert_eq!(message, "`german.data`: line 150 has 4 cells, the first row has 21");
}

#[test]
fn a_table_parted_by_blanks_with_uneven_lines_is_refused_with_the_line() {
    let text = fs::read_to_string(path("german.data")).expect("german.data");
    // Every sixth line has one word more.
    let uneven = text.lines().enumerate().map(|(i, l)| if i % 6 == 5 { format!("{l} x\n") } else { format!("{l}\n") });
    let uneven: String = uneven.collect();
    let read = |text: String, skip_lines| {
        let options = SheetOptions { header: None, skip_lines };
        Sheet::read("german.data", text.as_bytes(), options).expect_err("uneven lines").to_string()
    };
    let want =
        "cells parted by blanks, others have 21; give each line as many, or put cells that hold blanks into quotes";
    assert_eq!(read(uneven.clone(), 0), format!("`german.data`: line 6 has 22 {want}"));
    assert_eq!(read(format!("a, title\n\n{uneven}"), 2), format!("`german.data`: line 8 has 22 {want}"));
}

#[test]
fn numbers_aligned_by_blanks_are_columns() {
    let aligned = sheet("aligned.txt");
    assert_eq!((aligned.len(), aligned.columns().len()), (200, 4));
    let data = table(&aligned, "c4", &[]);
    assert_eq!(data.preprocessing.feature_names(), ["c1", "c2", "c3"]);
}

#[test]
fn compas_has_two_names_twice_and_many_dates() {
    let compas = sheet("compas.csv");
    assert_eq!((compas.len(), compas.columns().len()), (199, 53));
    assert_eq!((compas.columns()[39].as_str(), compas.columns()[48].as_str()), ("decile_score.1", "priors_count.1"));
    assert_eq!(
        compas.notes()[0],
        "column 40 is named `decile_score` like one before it and is called `decile_score.1`"
    );
    let data = table(&compas, "two_year_recid", &["race"]);
    for column in ["dob", "c_jail_in", "screening_date"] {
        let want = format!("column `{column}` holds dates and is left out; turn them into numbers");
        assert!(data.warnings.iter().any(|w| w.starts_with(&want)), "{:?}", data.warnings);
    }
    assert!(compas.cell(0, 23).len() > 5 && data.preprocessing.columns.iter().all(|c| c.name != "dob"));
    let asked =
        TableOptions { features: Some(vec!["age".into(), "dob".into()]), ..TableOptions::label("two_year_recid") };
    let message = TableData::new(&compas, &asked).expect_err("dates").to_string();
    assert!(message.contains("line 2, column `dob`: `") && message.contains("is a date"), "{message}");
}

#[test]
fn arrests_is_read_from_gzip() {
    let arrests = sheet("arrests.csv.gz");
    assert_eq!((arrests.len(), arrests.columns().len()), (199, 8));
    let data = table(&arrests, "released", &["colour", "sex"]);
    assert_eq!(data.preprocessing.group_names.len(), 4);
}

#[test]
fn lines_before_a_table_are_skipped_when_asked_for() {
    let file = path("report.csv");
    let message = Sheet::open(&file, None).expect_err("a title").to_string();
    assert!(message.contains("line 2 has 2 cells, the first row has 1; skip lines before the table"), "{message}");
    let report = Sheet::open(&file, SheetOptions { header: None, skip_lines: 2 }).expect("a table");
    assert_eq!((report.columns().join(" "), report.len(), report.line(0)), ("pay age sex hired".into(), 196, 4));
    assert_eq!(report.notes(), ["1 line is a comment and is skipped: line 101"]);
    assert_eq!(report.line(97), 102);
    let data = table(&report, "pay", &["sex"]);
    assert_eq!(data.preprocessing.feature_names(), ["age", "sex=F", "sex=M"]);
    assert!(data.warnings.iter().any(|w| w.starts_with("column `hired` holds dates")), "{:?}", data.warnings);
}

#[test]
fn other_kinds_of_files_are_refused_by_name() {
    let refuse = |bytes: &[u8]| Sheet::read("x", bytes, None).expect_err("a refusal").to_string();
    assert!(refuse(b"PAR1\x15\x04").starts_with("`x`: is a Parquet file, not CSV"));
    assert!(refuse(b"PK\x03\x04\x14").starts_with("`x`: is a zip file or a spreadsheet, not CSV"));
}
