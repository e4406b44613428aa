//! Data: lists in the file, and `.npy` and `.csv` files beside it.

use standoff::formula::FormulaGame;
use standoff::{Error, Game, Need};

use crate::{read, refusal};

/// The value of an objective with data `D` from a file with these bytes.
fn with(name: &str, bytes: &[u8], objective: &str) -> Result<f64, Error> {
    let text = format!("objective = '{objective}'\n[min.x]\n[max.y]\n[data]\nD = {{ file = '{name}' }}\n");
    let mut asked = Vec::new();
    let mut game = FormulaGame::from_toml(&text, &mut |path| {
        asked.push(path.to_owned());
        Ok(bytes.to_vec())
    })?;
    assert_eq!(asked, [name]);
    game.fix(&[0.0], Need::Values);
    Ok(game.value(&[0.0]))
}

fn npy(version: u8, header: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let length = header.len() as u32;
    bytes.extend(&length.to_le_bytes()[..if version == 1 { 2 } else { 4 }]);
    bytes.extend(header.as_bytes());
    bytes.extend(body);
    bytes
}

fn header(kind: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}          \n")
}

/// The numbers 1 to 6 as bytes.
fn six<const N: usize>(encode: impl Fn(u8) -> [u8; N]) -> Vec<u8> {
    (1..=6).flat_map(encode).collect()
}

const SECOND_ROW: &str = "D[1, 0] + 10*D[1, 1] + 100*D[1, 2] + 1000*D[0, 1] + x*y";

#[test]
fn npy_files_of_every_kind_are_read() {
    let kinds: [(&str, Vec<u8>); 17] = [
        ("<f8", six(|v| f64::from(v).to_le_bytes())),
        (">f8", six(|v| f64::from(v).to_be_bytes())),
        ("=f8", six(|v| f64::from(v).to_le_bytes())),
        ("<f4", six(|v| f32::from(v).to_le_bytes())),
        (">f4", six(|v| f32::from(v).to_be_bytes())),
        ("<i8", six(|v| i64::from(v).to_le_bytes())),
        (">i8", six(|v| i64::from(v).to_be_bytes())),
        ("<i4", six(|v| i32::from(v).to_le_bytes())),
        (">i4", six(|v| i32::from(v).to_be_bytes())),
        ("<i2", six(|v| i16::from(v).to_le_bytes())),
        ("|i1", six(|v| [v])),
        ("<u8", six(|v| u64::from(v).to_le_bytes())),
        ("<u4", six(|v| u32::from(v).to_le_bytes())),
        (">u4", six(|v| u32::from(v).to_be_bytes())),
        ("<u2", six(|v| u16::from(v).to_le_bytes())),
        (">u2", six(|v| u16::from(v).to_be_bytes())),
        ("|u1", six(|v| [v])),
    ];
    for (kind, body) in kinds {
        for version in 1..=3 {
            let rows = with("D.npy", &npy(version, &header(kind, "False", "(2, 3)"), &body), SECOND_ROW);
            assert_eq!(rows, Ok(2654.0), "{kind}, version {version}");
        }
        let columns = with("D.npy", &npy(1, &header(kind, "True", "(2, 3)"), &body), SECOND_ROW);
        // Column by column: [[1, 3, 5], [2, 4, 6]].
        assert_eq!(columns, Ok(3642.0), "{kind}");
    }
}

#[test]
fn negative_numbers_and_booleans_are_read() {
    let four = |kind: &str, body: &[u8]| with("D.npy", &npy(1, &header(kind, "False", "(2,)"), body), "D[0] + 10*D[1]");
    assert_eq!(four("|i1", &[0xff, 2]), Ok(19.0));
    assert_eq!(four("<i2", &[0xfe, 0xff, 2, 0]), Ok(18.0));
    assert_eq!(four(">i4", &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1]), Ok(9.0));
    assert_eq!(four("<i8", &[[0xff; 8], [0xff; 8]].concat()), Ok(-11.0));
    assert_eq!(four("|b1", &[1, 0]), Ok(1.0));
}

#[test]
fn an_npy_scalar_has_no_axes() {
    let file = npy(1, &header("<f8", "False", "()"), &2.5f64.to_le_bytes());
    assert_eq!(with("D.npy", &file, "D + x*y"), Ok(2.5));
}

#[test]
fn an_unusable_npy_file_is_refused_with_a_reason() {
    let says = |bytes: &[u8], part: &str| {
        let message = with("D.npy", bytes, "sum(D)").unwrap_err().to_string();
        assert!(message.starts_with("line 5: `data.D.file` ") && message.contains(part), "{message}");
    };
    let good = header("<f8", "False", "(2,)");
    says(b"PK\x03\x04", "cannot use D.npy: it is not a .npy file");
    says(b"\x93NUMPY", "it ends inside its header");
    says(b"\x93NUMPY\x01\x00\xff", "it ends inside its header");
    says(&npy(9, &good, &[0; 16]), "version is 9");
    says(&npy(1, &good, &[0; 15]), "it has 1 numbers, but its header says 2");
    says(&npy(1, &header("|O", "False", "(2,)"), &[0; 16]), "kind \"|O\"");
    says(&npy(1, &header("<c16", "False", "(2,)"), &[0; 32]), "astype('float64')");
    says(&npy(1, &header("<f8", "Perhaps", "(2,)"), &[0; 16]), "fortran_order");
    says(&npy(1, &header("<f8", "False", "(2, 2, 2)"), &[0; 64]), "3 axes");
    says(&npy(1, &header("<f8", "False", "(0, 3)"), &[]), "it is empty");
    says(&npy(1, &header("<f8", "False", "(99999999999, 99999999999)"), &[]), "the most is");
    says(&npy(1, &header("<f8", "False", "(-2,)"), &[]), "no readable shape");
    says(&npy(1, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}", &[0; 16]), "named columns");
    says(&npy(1, "{}", &[]), "no descr");
    says(&npy(1, &good, &[1f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat()), "has NaN at index 1 of D.npy");
}

#[test]
fn csv_files_of_every_delimiter_are_read() {
    for text in [
        "1,2,3\n4,5,6\n",
        "1, 2, 3\r\n4, 5, 6\r\n",
        "a,b,c\n1,2,3\n4,5,6",
        "\u{feff}a;b;c\n1;2;3\n4;5;6\n\n",
        "1\t2\t3\n4\t5\t6\n",
        "1 2  3\n 4 5 6\n",
        "# saved by numpy\n1e0 2.0 +3\n4 5 6\n",
        "\"a\",\"b\",\"c\"\n\"1\",\"2\",\"3\"\n4,5,6\n",
    ] {
        assert_eq!(with("D.csv", text.as_bytes(), SECOND_ROW), Ok(2654.0), "{text:?}");
    }
    assert_eq!(with("D.csv", b"1\n2\n3\n", "D @ D"), Ok(14.0));
    assert_eq!(with("D.CSV", b"1,2,3", "D @ D"), Ok(14.0));
    assert_eq!(with("D.csv", b"height\n7\n", "D * 2"), Ok(14.0));
}

#[test]
fn an_unusable_csv_file_is_refused_with_the_position() {
    let says = |bytes: &[u8], part: &str| {
        let message = with("D.csv", bytes, "sum(D)").unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    says(b"1,2\n3,x\n", "field 2 of line 2 is \"x\", not a number");
    says(b"1,x\n3,4\n", "field 2 of line 1 is \"x\"");
    says(b"1,2\n\n3,\n", "field 2 of line 3 is \"\", not a number; give a number for every field");
    says(b"1,5;2\n", "write decimals with a point");
    says(b"1,2\n3\n", "line 2 has 1 fields, the lines before have 2");
    says(b"", "it is empty");
    says(b"a,b\n", "it is empty");
    says(b"\xff\xfe1", "it is not text (byte 0)");
    says(b"1,2\n3,nan\n", "has NaN at index [1, 1] of D.csv");
}

#[test]
fn files_that_are_missing_or_of_another_kind_are_named() {
    let game = |data: &str| refusal(&format!("objective = 'x*y'\n[min.x]\n[max.y]\n[data]\n{data}\n"));
    assert_eq!(game("D = 'D.csv'"), "line 5: `data.D` cannot be read from D.csv: no file D.csv in this test");
    assert_eq!(
        game("D = 'D.xlsx'"),
        "line 5: `data.D` is \"D.xlsx\", neither an entry of [data] nor a file ending in .npy or .csv"
    );
    assert_eq!(game("D = { file = 3 }"), "line 5: `data.D.file` must be a string, got 3");
}

#[test]
fn lists_with_nan_or_unequal_rows_are_refused() {
    let game = |data: &str| refusal(&format!("objective = 'x*y'\n[min.x]\n[max.y]\n[data]\n{data}\n"));
    assert_eq!(game("D = [1, nan]"), "line 5: `data.D` has NaN at index 1; give a number");
    assert_eq!(game("D = [[1, 2], [3, nan]]"), "line 5: `data.D` has NaN at index [1, 1]; give a number");
    assert_eq!(game("D = nan"), "line 5: `data.D` has NaN at its only entry; give a number");
    assert_eq!(game("D = []"), "line 5: `data.D` is an empty list; give at least one number");
    assert_eq!(game("D = [[1, 2], [3]]"), "line 5: `data.D[1]` has 1 entries, a row needs 2; make the rows equal");
    assert_eq!(game("D = [[], []]"), "line 5: `data.D[0]` has 0 entries, a row needs 1; make the rows equal");
    assert_eq!(game("D = [[1, 2], 3]"), "line 5: `data.D[1]` must be a row, like the others, got 3");
    assert_eq!(game("D = [[1, 2],\n [3, [4]]]"), "line 6: `data.D[1][1]` must be a number, got a list");
    let infinite = refusal("objective = 'x*y + D[0]'\n[min.x]\n[max.y]\n[data]\nD = [inf, 1]\n");
    assert!(infinite.contains("data `D` has inf at index 0; an objective needs finite numbers"), "{infinite}");
}

#[test]
fn numbers_may_be_spelled_as_toml_allows() {
    let text = "\u{feff}objective = 'sum(D) + x*y'\r\n[min.x]\r\n[max.y]\r\n[data]\r\nD = [1_000, 0x10, +2, -3.5e-1, 99999999999999999999]\r\n";
    let mut game = read(text).unwrap();
    game.fix(&[0.0], Need::Values);
    assert_eq!(game.value(&[0.0]), 1000.0 + 16.0 + 2.0 - 0.35 + 1e20);
    let large = refusal("objective = 'x*y'\n[min.x]\n[max.y]\n[data]\nD = 1e400\n");
    assert_eq!(large, "line 5: `data.D` must be a number, a list, a list of rows or a file, got 1e400");
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    let message = FormulaGame::from_bytes(b"objective\xff", &mut |_| Ok(Vec::new())).unwrap_err().to_string();
    assert_eq!(message, "the game file is not text (at byte 9); give a TOML file in UTF-8");
}
