//! Tables as CSV: one line per row, layers in columns of their own.

use std::borrow::Cow;
use std::io;

use super::Table;

/// A cell that a spreadsheet would compute gets an apostrophe in front.
fn guarded(text: &str) -> Cow<'_, str> {
    let formula = text.trim_start().starts_with(['=', '+', '-', '@']) && text.trim().parse::<f64>().is_err();
    if formula { format!("'{text}").into() } else { text.into() }
}

impl Table {
    /// The table without its caption.
    pub fn csv(&self) -> io::Result<String> {
        let mut out = csv::WriterBuilder::new().from_writer(Vec::new());
        let mut heads = vec![self.corner.to_owned()];
        for head in &self.heads {
            heads.extend(self.layers.iter().map(|layer| format!("{head} {layer}").trim_end().to_owned()));
        }
        out.write_record(heads.iter().map(|head| guarded(head).into_owned()))?;
        for (name, cells) in &self.rows {
            let layers = cells.iter().flat_map(|cell| (0..self.layers.len()).map(|layer| cell.line(layer)));
            out.write_record(std::iter::once(name.as_str()).chain(layers).map(|text| guarded(text).into_owned()))?;
        }
        let bytes = out.into_inner().map_err(csv::IntoInnerError::into_error)?;
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}
