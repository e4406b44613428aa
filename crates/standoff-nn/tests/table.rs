//! Tables from CSV as people have it: read, divided, learnt from, and applied to new rows.

use std::path::Path;

use proptest::prelude::*;
use standoff_nn::data::{ColumnKind, Preprocessing, Sheet, Table, TableData, TableOptions};

const SMALL: &str = "age,sex,income\n20,F,low\n30,M,high\n40,F,low\n50,M,high\n60,F,high\n?,M,low\n";

fn sheet(text: &str) -> Sheet {
    Sheet::read("people.csv", text.as_bytes(), None).expect("a sheet")
}

fn refusal(text: &str) -> String {
    match Sheet::read("people.csv", text.as_bytes(), None) {
        Err(error) => error.to_string(),
        Ok(sheet) => panic!("no error: {sheet:?}"),
    }
}

/// Everything to learn from, nothing to judge by.
fn all(label: &str) -> TableOptions {
    TableOptions { test: 0.0, ..TableOptions::label(label) }
}

fn people() -> Sheet {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/people.csv");
    Sheet::open(&path, None).expect("the example")
}

#[test]
fn numbers_are_standardised_and_words_become_one_feature_each() {
    let data = TableData::new(&sheet(SMALL), &all("income")).expect("a table");
    assert_eq!(data.preprocessing.feature_names(), ["age", "sex=F", "sex=M"]);
    assert_eq!(
        (data.train.class_names.clone(), data.train.labels.clone()),
        (vec!["high".into(), "low".into()], vec![1, 0, 1, 0, 0, 1])
    );
    // Mean 40, variance 200; the missing age becomes the mean.
    let d = 200f64.sqrt();
    assert_eq!(data.preprocessing.columns[0].kind, ColumnKind::Numeric { mean: 40.0, deviation: d, missing: 40.0 });
    assert_eq!(data.train.row(0), [(-20.0 / d) as f32, 1.0, 0.0]);
    assert_eq!(data.train.row(5), [0.0, 0.0, 1.0]);
    // Groups by label, unless told otherwise.
    assert_eq!(data.train.group_names, data.train.class_names);
    assert_eq!(data.train.groups.group_of().as_ref(), Some(&data.train.labels));
}

#[test]
fn groups_are_products_of_columns() {
    let text = "a,b,y\n10,u,0\n9,v,1\n10,v,0\n9,NA,1\n9,v,0\n9,?,1\n";
    let options = TableOptions { groups: vec!["a".into(), "b".into()], ..all("y") };
    let data = TableData::new(&sheet(text), &options).expect("a table");
    assert_eq!(data.train.group_names, ["a=9, b=v", "a=9, b=missing", "a=10, b=u", "a=10, b=v"]);
    assert_eq!(data.train.groups.group_of(), Some(vec![2, 0, 3, 1, 0, 1]));
    assert_eq!(data.train.group_sizes(), [2, 2, 1, 1]);
}

#[test]
fn a_mixed_file_is_divided_by_group_and_class_and_learnt_from_its_training_part_alone() {
    let sheet = people();
    let options = TableOptions {
        groups: vec!["sex".into(), "region".into()],
        validation: 0.1,
        seed: 3,
        ..TableOptions::label("pay")
    };
    let data = TableData::new(&sheet, &options).expect("a table");
    assert_eq!(data.train.len() + data.validation.len() + data.test.len(), 800);
    for group in 0..data.train.group_names.len() {
        let n = data.train.group_sizes()[group] + data.validation.group_sizes()[group] + data.test.group_sizes()[group];
        let test = data.test.group_sizes()[group];
        assert!((test as f64 - 0.2 * n as f64).abs() <= 2.0, "group {group}: {test} of {n}");
    }
    let names = data.preprocessing.feature_names();
    for name in ["age", "height", "sex=F", "job=carpenter, joiner", "job=missing"] {
        assert!(names.iter().any(|n| n == name), "no {name} in {names:?}");
    }
    assert!(
        data.warnings.iter().any(|w| w.contains("too few to trust") && w.contains("region=island")),
        "{:?}",
        data.warnings
    );
    // Standardised on the training part: mean 0 and variance 1 there, and the numbers of the other parts leave it alone.
    let column: Vec<f64> = (0..data.train.len()).map(|i| f64::from(data.train.row(i)[0])).collect();
    assert!((column.iter().sum::<f64>() / column.len() as f64).abs() < 1e-6);
    let ColumnKind::Numeric { mean, .. } = data.preprocessing.columns[0].kind else { panic!("age is a number") };
    let ages = data.split.train.iter().filter_map(|row| sheet.cell(*row, 0).parse::<f64>().ok());
    let (sum, n) = ages.fold((0.0, 0.0), |(sum, n), age| (sum + age, n + 1.0));
    assert!((mean - sum / n).abs() < 1e-9, "{mean}");
    // The same rows through the stored preprocessing: the same features, labels and groups.
    let json = serde_json::to_string_pretty(&data.preprocessing).expect("JSON");
    let stored: Preprocessing = serde_json::from_str(&json).expect("the same");
    assert_eq!(stored, data.preprocessing);
    let text = toml::to_string(&data.preprocessing).expect("TOML");
    assert_eq!(toml::from_str::<Preprocessing>(&text).expect("the same"), data.preprocessing);
    stored.check().expect("sense");
    let (again, warnings) = stored.encode(&sheet).expect("new rows");
    assert!(warnings.is_empty(), "{warnings:?}");
    let group_of = |table: &Table| table.groups.group_of().expect("a partition");
    let (found, trained) = (group_of(&again), group_of(&data.test));
    for (i, row) in data.split.test.iter().enumerate() {
        assert_eq!(again.row(*row), data.test.row(i));
        assert_eq!((again.labels[*row], found[*row]), (data.test.labels[i], trained[i]));
    }
}

#[test]
fn new_rows_may_lack_labels_and_have_new_words() {
    let learnt = TableData::new(&sheet(SMALL), &all("income")).expect("a table").preprocessing;
    let (table, warnings) = learnt.encode(&sheet("sex,age,extra\nX,40,1\nF,NA,2\nX,30,3\n")).expect("new rows");
    assert_eq!((table.len(), table.labels.len(), table.groups.len()), (3, 0, 0));
    assert_eq!(table.row(0), [0.0, 0.0, 0.0]);
    assert_eq!(table.row(1), [0.0, 1.0, 0.0]);
    assert_eq!(
        warnings,
        ["column `sex`: 2 cells have a category that the training rows do not have, first in line 2; \
          all features of the column are 0 there"]
    );
    // A missing word that training never missed is no new word.
    let (table, warnings) = learnt.encode(&sheet("sex,age\n?,40\nM,40\n")).expect("new rows");
    assert_eq!((table.row(0), warnings.len()), ([0.0f32; 3].as_slice(), 0));
    let (table, warnings) = learnt.encode(&sheet("sex,age,income\nF,1,low\nM,2,\n")).expect("a label missing");
    assert!(table.labels.is_empty() && table.groups.is_empty() && warnings[0].contains("1 of 2 rows have no `income`"));
    let refuse = |text: &str| learnt.encode(&sheet(text)).expect_err("a refusal").to_string();
    assert_eq!(
        refuse("sex,agee\nF,1\n"),
        "`people.csv`: has no column `age`; did you mean `agee`? (it has: sex, agee)"
    );
    assert_eq!(
        refuse("sex,age\nF,1\n\n\"M\n\",\"2o\"\n"),
        "`people.csv`: line 4, column `age`: `2o` is not a number, the column holds numbers"
    );
    assert!(refuse("sex,age\nF,1e60\n").contains("line 2, column `age`: `1e60` is too far from the training data"));
    assert_eq!(
        refuse("sex,age,income\nF,1,lo\n"),
        "`people.csv`: line 2, column `income`: `lo` is not a class; they are high, low"
    );
    let options = TableOptions { groups: vec!["sex".into()], ..all("income") };
    let learnt = TableData::new(&sheet(SMALL), &options).expect("a table").preprocessing;
    let (table, warnings) = learnt.encode(&sheet("sex,age\nX,40\nF,3\n")).expect("a new group");
    assert_eq!(table.group_names, ["sex=F", "sex=M", "sex=X"]);
    assert_eq!(table.groups.group_of(), Some(vec![2, 0]));
    assert!(warnings.iter().any(|w| w == "groups that training did not see: sex=X"), "{warnings:?}");
}

#[test]
fn files_are_read_as_people_write_them() {
    let want = TableData::new(&sheet(SMALL), &all("income")).expect("a table");
    let variants = [
        SMALL.replace(',', ";"),
        SMALL.replace(',', "\t"),
        SMALL.replace(',', "|"),
        SMALL.replace('\n', "\r\n"),
        SMALL.replace('\n', "\r"),
        format!("\u{feff}{SMALL}"),
        SMALL.replace(',', " , "),
        SMALL.replace("F", "\"F\"").replace("low\n", "\"low\"\n\n"),
        SMALL.replace('?', ""),
        SMALL.trim_end().to_owned(),
        SMALL.replace("low\n", "low,\n").replace("high\n", "high,\n"),
    ];
    for text in &variants {
        let found = TableData::new(&sheet(text), &all("income")).expect("a table");
        assert_eq!(found.train, want.train, "{text}");
    }
    let comma = sheet("x;y\n1,5;a\n2,5;b\n3,5;a\n");
    let learnt = TableData::new(&comma, &all("y")).expect("decimal commas");
    assert!(matches!(learnt.preprocessing.columns[0].kind, ColumnKind::Numeric { mean: 2.5, .. }));
    // Without a header columns are numbered, and one that numbers the rows is left out.
    let bare = sheet("1,39,State-gov,<=50K\n2,50,Private,>50K\n3,38,Private,<=50K\n");
    assert_eq!(bare.columns(), ["c1", "c2", "c3", "c4"]);
    let learnt = TableData::new(&bare, &all("c4")).expect("no header");
    assert_eq!(learnt.preprocessing.feature_names(), ["c2", "c3=Private", "c3=State-gov"]);
    assert_eq!(learnt.warnings, ["column `c1` only numbers the rows and is left out"]);
    let forced = Sheet::read("f", "red,small\nblue,large\n".as_bytes(), Some(false)).expect("rows");
    assert_eq!(forced.len(), 2);
}

#[test]
fn lines_are_those_of_an_editor() {
    let text = "a,b\n\n1,\"two\nlines\"\n\n\n2,x\r\n3,y\n";
    let sheet = sheet(text);
    assert_eq!([sheet.line(0), sheet.line(1), sheet.line(2)], [3, 7, 8]);
    let mac = Sheet::read("old", "a,b\r1,2\r\r3,4\r".as_bytes(), None).expect("old line ends");
    assert_eq!([mac.line(0), mac.line(1)], [2, 4]);
}

#[test]
fn files_that_are_no_tables_are_refused() {
    assert_eq!(refusal("a,b\n1,2\n3\n"), "`people.csv`: line 3 has 1 cells, the first row has 2");
    assert_eq!(refusal("a,b\n1,2\n3,4,5\n"), "`people.csv`: line 3 has 3 cells, the first row has 2");
    assert_eq!(
        refusal("a,b\n1,2\n1,\"2\n3,4\n5,6\n7,8,9"),
        "`people.csv`: in the row that starts in line 3 a quote is opened and never closed"
    );
    assert!(
        refusal("a,b\n1,2\n\"3,4\n5,6\n")
            .contains("line 3 has 1 cells, the first row has 2; is a quote left open there?")
    );
    assert_eq!(refusal("a,b\n"), "`people.csv`: has no rows of values");
    assert_eq!(refusal(""), "`people.csv`: has no rows of values");
    assert_eq!(refusal("a,b\n1,\0\n"), "`people.csv`: is not text: it has a zero byte");
    let bytes = |bytes: &[u8]| Sheet::read("x", bytes, None).expect_err("a refusal").to_string();
    assert_eq!(bytes(b"a,b\n1,2\n\xff,3\n"), "`x`: line 3 is not text in UTF-8; save the file as UTF-8");
    assert_eq!(bytes(&[0xff, 0xfe, b'a', 0]), "`x`: is text in UTF-16; save it as UTF-8");
    assert!(bytes(&[0x1f, 0x8b, 8]).contains("gzip stream ends early"));
}

#[test]
fn wishes_that_make_no_sense_are_refused() {
    let sheet = sheet(SMALL);
    let usual = TableOptions::label("income");
    let refuse = |options: &TableOptions| TableData::new(&sheet, options).expect_err("a refusal").to_string();
    let named = |names: &[&str]| Some(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
    let cases = [
        (TableOptions::label("incme"), "has no column `incme`; did you mean `income`?"),
        (TableOptions { groups: vec!["race".into()], ..usual.clone() }, "has no column `race`"),
        (TableOptions { groups: vec!["sex".into(); 2], ..usual.clone() }, "`sex` is named twice among the groups"),
        (TableOptions { features: named(&["age", "income"]), ..usual.clone() }, "`income` is the label"),
        (TableOptions { features: named(&["age", "age"]), ..usual.clone() }, "`age` is named twice among the features"),
        (TableOptions { features: named(&[]), ..usual.clone() }, "has no column to learn `income` from"),
        (TableOptions { categorical: vec!["x".into()], ..usual.clone() }, "has no column `x`"),
        (TableOptions { test: 1.0, ..usual.clone() }, "the test share is 1"),
        (TableOptions { test: f64::NAN, ..usual.clone() }, "the test share is NaN"),
        (TableOptions { test: 0.5, validation: 0.5, ..usual.clone() }, "leave nothing to learn from"),
    ];
    for (options, want) in cases {
        let message = refuse(&options);
        assert!(message.contains(want), "{message}");
    }
}

#[test]
fn columns_that_do_not_fit_their_part_are_refused_or_left_out() {
    let rows = |line: &dyn Fn(usize) -> String| (0..150).map(line).collect::<Vec<_>>().join("\n");
    let table =
        |text: &str, label: &str| TableData::new(&sheet(text), &TableOptions::label(label)).map_err(|e| e.to_string());
    let text = format!("id,x,y\n{}", rows(&|i| format!("n{i},{},{}", i * i, i % 2)));
    let data = table(&text, "y").expect("a table");
    assert_eq!(data.preprocessing.feature_names(), ["x"]);
    assert!(data.warnings[0].starts_with("column `id` has 120 different words and is left out"), "{:?}", data.warnings);
    assert!(
        table(&text, "x")
            .expect_err("amounts")
            .contains("`x`, the label, has 150 different values; classes are needed")
    );
    let asked = TableOptions { features: Some(vec!["id".into()]), ..TableOptions::label("y") };
    assert_eq!(TableData::new(&sheet(&text), &asked).expect("as asked").train.width, 120);
    let grouped = TableOptions { groups: vec!["id".into()], ..TableOptions::label("y") };
    assert!(TableData::new(&sheet(&text), &grouped).expect_err("groups").to_string().contains("`id` makes 150 groups"));
    // One word among numbers is a slip, wherever the row goes; unless the column holds names.
    for bad in [0, 77, 149] {
        let text = format!("x,y\n{}", rows(&|i| if i == bad { "7o,1".into() } else { format!("{},{}", i % 9, i % 2) }));
        let message = table(&text, "y").expect_err("a slip");
        let want = format!("`people.csv`: line {}, column `x`: `7o` is not a number, nearly all others are", bad + 2);
        assert!(message.starts_with(&want) && message.ends_with("declare the column categorical"), "{message}");
        let named = TableOptions { categorical: vec!["x".into()], test: 0.0, ..TableOptions::label("y") };
        assert_eq!(TableData::new(&sheet(&text), &named).expect("names").train.width, 10);
    }
    let one = table("x,y\n1,0\n2,0\n", "y").expect_err("one class");
    assert!(one.ends_with("column `y`, the label, holds only `0`; at least 2 classes are needed"), "{one}");
    let data = table("e,x,y\n,1,0\nNA,2,1\n?,3,\n,4,1\n", "y").expect("a table");
    assert_eq!(
        data.warnings[..2],
        ["1 of 4 rows have no `y` and are left out", "column `e` holds nothing and is left out"]
    );
    let huge = table("x,y\n1e308,0\n-1e308,1\n1e308,0\n", "y").expect_err("too large");
    assert!(huge.contains(", column `x`: `") && huge.contains("1e308` is too large"), "{huge}");
    // A constant column is zero, not a division by zero.
    let flat = TableData::new(&sheet("x,z,y\n5,1,0\n5,2,1\n5,4,0\n"), &all("y")).expect("a constant");
    assert!(flat.train.row(0)[0] == 0.0 && flat.train.features.iter().all(|v| v.is_finite()));
}

#[test]
fn what_is_probably_not_meant_is_said() {
    let warnings = |text: &str, label: &str| {
        TableData::new(&sheet(text), &TableOptions { groups: vec!["g".into()], ..all(label) })
            .expect("a table")
            .warnings
    };
    let text = "x,g,y\n\"$1,000\",a,0\n$200,A,1\n$300,a,1.0\n?,A,0\n";
    let said = warnings(text, "y");
    assert_eq!(
        said,
        [
            "column `y`: `1` and `1.0` are taken for two different values",
            "column `g`: `A` and `a` are taken for two different values",
            "column `x` is read as words: `$1,000` is not a plain number; write plain numbers to use it as a number",
        ]
    );
    assert!(warnings("x,g,y\n1,a,0\n2,b,1\n3 %,a,1\nlow,b,0\n", "y").is_empty());
}

#[test]
fn edited_preprocessing_is_checked() {
    let good = TableData::new(&sheet(SMALL), &all("income")).expect("a table").preprocessing;
    let mut bad = good.clone();
    bad.columns[0].kind = ColumnKind::Numeric { mean: 0.0, deviation: 0.0, missing: 0.0 };
    assert!(bad.check().expect_err("a refusal").to_string().contains("column `age`"));
    assert!(Preprocessing { columns: Vec::new(), ..good.clone() }.check().is_err());
    assert!(Preprocessing { classes: Vec::new(), ..good }.check().is_err());
}

proptest! {
    #[test]
    fn no_bytes_whatsoever_make_the_reader_panic(text in "[a-c0-9,;|\t\"\n\r ?.é-]{0,120}", label in "[a-c]") {
        if let Ok(sheet) = Sheet::read("x", text.as_bytes(), None) {
            for row in 0..sheet.len() {
                prop_assert!(sheet.line(row) >= 1 && sheet.line(row) <= text.len() + 1);
            }
            if let Ok(data) = TableData::new(&sheet, &TableOptions::label(&label)) {
                prop_assert!(data.train.features.iter().all(|v| v.is_finite()));
                prop_assert!(data.preprocessing.encode(&sheet).is_ok());
            }
        }
    }

    #[test]
    fn quoting_and_delimiters_change_nothing(
        cells in proptest::collection::vec(("[a-z ,;|\"\n\t]{0,8}", -1e6f64..1e6, any::<bool>()), 3..30),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|']),
    ) {
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let mut text = format!("word{delimiter}number{delimiter}class\n");
        for (word, number, class) in &cells {
            text += &format!("{}{delimiter}{number}{delimiter}{class}\n", quoted(word));
        }
        let sheet = Sheet::read("x", text.as_bytes(), Some(true)).expect("a sheet");
        prop_assert_eq!(sheet.len(), cells.len());
        for (row, (word, number, class)) in cells.iter().enumerate() {
            prop_assert_eq!(sheet.cell(row, 0), word.trim());
            prop_assert_eq!(sheet.cell(row, 1).parse::<f64>().expect("a number"), *number);
            prop_assert_eq!(sheet.cell(row, 2), class.to_string());
        }
    }
}

#[test]
fn groups_are_divided_by_label_kept_side_by_side_and_cut_into_bands() {
    let text = "age,sex,pay\n20,F,low\n30,F,high\n40,M,low\n50,M,low\n60,M,high\n,F,low\n";
    let made = |groups: &[&str], by_label: bool, overlap: bool| {
        let groups = groups.iter().map(|g| (*g).to_owned()).collect();
        let options = TableOptions { groups, by_label, overlap, ..all("pay") };
        TableData::new(&sheet(text), &options).map_err(|e| e.to_string())
    };
    let names = |data: TableData| data.train.group_names;
    assert_eq!(
        names(made(&["sex"], true, false).expect("by label")),
        ["sex=F, pay=high", "sex=F, pay=low", "sex=M, pay=high", "sex=M, pay=low"]
    );
    let side = made(&["sex", "age:35..55"], false, true).expect("side by side");
    assert_eq!(side.train.groups.sizes(), [3, 3, 2, 2, 1, 1]);
    assert_eq!(names(side.clone()), ["sex=F", "sex=M", "age<35", "35<=age<55", "age>=55", "age=missing"]);
    // The rule is stored, and new rows get the same groups.
    let text = serde_json::to_string(&side.preprocessing).expect("JSON");
    let stored: Preprocessing = serde_json::from_str(&text).expect("the same");
    assert_eq!(stored, side.preprocessing);
    let (new, _) = stored.encode(&sheet("age,sex\n99,F\n35,X\n")).expect("new rows");
    assert_eq!(new.group_names[6..], ["sex=X"]);
    assert_eq!((new.groups.rows(0), new.groups.rows(4), new.groups.rows(6)), (&[0][..], &[0][..], &[1][..]));
    assert_eq!(names(made(&["age:2"], false, false).expect("quantiles")), ["age<40", "age>=40", "age=missing"]);
    // Groups by label need the label.
    let by = made(&["sex"], true, false).expect("by label").preprocessing;
    assert!(by.by_label() && by.encode(&sheet("age,sex\n99,F\n")).expect("no label").0.groups.is_empty());
    for (groups, overlap, want) in [
        (&["age:1"][..], false, "`1` is neither"),
        (&["age:9..3"], false, "ascending order"),
        (&["sex:3"], false, "`F` is not a number"),
        (&["sex"], true, "at least two columns"),
        (&["age:2", "age"], false, "twice"),
        (&["agee:2"], false, "did you mean `age`?"),
    ] {
        let refused = made(groups, false, overlap).expect_err(want);
        assert!(refused.contains(want), "{refused}");
    }
}

#[test]
fn a_group_of_one_training_row_is_worth_a_warning() {
    let options = TableOptions { groups: vec!["sex".into()], ..all("pay") };
    let text = "sex,age,pay\nF,1,low\nF,2,high\nM,3,low\n";
    let data = TableData::new(&sheet(text), &options).expect("a table");
    assert!(data.warnings.iter().any(|w| w.contains("groups with one training row: sex=M")), "{:?}", data.warnings);
}

#[test]
fn copies_of_rows_on_both_sides_of_a_split_are_remarked() {
    let text = |copies: usize| {
        let rows = (0..200 / copies).map(|i| format!("{},{},{}\n", i * 37 % 1000, i % 7, ["no", "yes"][i % 2]));
        format!("a,b,label\n{}", rows.collect::<String>().repeat(copies))
    };
    let warned = |copies: usize| {
        let data = TableData::new(&sheet(&text(copies)), &TableOptions::label("label")).expect("a table");
        data.warnings.iter().any(|w| w.contains("test rows repeat a training row"))
    };
    assert!(warned(5) && warned(10) && !warned(1));
}
