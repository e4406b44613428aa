//! The files of a table as one CSV file with a header. The result has a known SHA-256, so nothing here needs to guard against other input.

use std::fmt::Write as _;

const ADULT: &str = "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,\
                     capital_loss,hours_per_week,native_country,income";
const GERMAN: &str = "status,duration,credit_history,purpose,amount,savings,employment,installment_rate,personal_status,other_debtors,\
                      residence,property,age,other_plans,housing,existing_credits,job,liable,telephone,foreign_worker,sex,credit";

/// The CSV file of the table `name` from its files, in the order of its origins.
pub fn table_csv(name: &str, files: &[Vec<u8>]) -> Vec<u8> {
    match name {
        "adult" => adult(files).into_bytes(),
        "german" => german(files).into_bytes(),
        _ => files.concat(),
    }
}

/// Both files; no comments, no blanks behind commas, no dot behind the labels of the test rows.
fn adult(files: &[Vec<u8>]) -> String {
    let mut out = format!("{ADULT}\n");
    for file in files {
        let text = String::from_utf8_lossy(file);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('|')) {
            let _ = writeln!(out, "{}", line.strip_suffix('.').unwrap_or(line).replace(", ", ","));
        }
    }
    out
}

/// Commas instead of blanks, a column `sex` from the personal status (A92 and A95 are women), and words for the label.
fn german(files: &[Vec<u8>]) -> String {
    let mut out = format!("{GERMAN}\n");
    for file in files {
        for line in String::from_utf8_lossy(file).lines() {
            let cells: Vec<&str> = line.split_whitespace().collect();
            if let [features @ .., label] = cells.as_slice() {
                let woman = features.get(8).is_some_and(|status| matches!(*status, "A92" | "A95"));
                let credit = if *label == "1" { "good" } else { "bad" };
                let _ = writeln!(out, "{},{},{credit}", features.join(","), if woman { "female" } else { "male" });
            }
        }
    }
    out
}
