//! The content of a dataset: classes and their images, or columns and groups.

use crate::number::{count, plural};
use crate::table::Table;
use standoff_nn::data::{Sheet, TableData};
use standoff_train::Result;
use standoff_train::data::Found;

/// The number of images of each class.
pub fn images(found: &Found) -> Result<Table> {
    let data = found.load(None)?;
    let (train, test) = (data.train.counts(), data.test.counts());
    let caption = format!("{}  {}", found.folder.display(), data.train.size());
    let mut table = Table::new(&caption, "class", ["train", "test"]);
    for class in data.train.classes() {
        let name = format!("{class:<5}  {}", found.class_name(class));
        let i = usize::from(class);
        table.row(name, [count(train[i] as u64), count(test[i] as u64)]);
    }
    Ok(table)
}

/// The columns of a sheet: the kind of their values, and an example.
pub fn columns(sheet: &Sheet) -> Table {
    let heads = ["holds", "distinct", "missing", "such as"];
    let mut table = Table::new(&plural(sheet.len() as u64, "row"), "column", heads).of_text();
    for column in sheet.summary() {
        let (distinct, missing) = (count(column.distinct as u64), count(column.missing as u64));
        let example = column.example.chars().take(30).collect();
        table.row(column.name.clone(), [column.holds.to_string(), distinct, missing, example]);
    }
    table
}

/// The classes of a table, and the rows of each group in each part.
pub fn groups(data: &TableData) -> Table {
    let p = &data.preprocessing;
    let caption =
        format!("{}; classes of `{}`: {}", plural(p.width() as u64, "feature"), p.label, p.classes.join(", "));
    let parts = [("train", &data.train), ("validation", &data.validation), ("test", &data.test)];
    let parts: Vec<_> = parts.into_iter().filter(|(_, table)| !table.is_empty()).collect();
    let mut table = Table::new(&caption, "group", parts.iter().map(|(name, _)| *name));
    for (g, name) in p.group_names.iter().enumerate() {
        table.row(name.clone(), parts.iter().map(|(_, part)| count(part.group_sizes()[g] as u64)));
    }
    table
}
