//! Reading and writing files: limited in size, with errors that say what to do.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use standoff::error::nearest;
use standoff_nn::input;
use standoff_nn::model::weights::write_atomically;

use crate::error::{Error, Result, error, refuse};

/// The largest result file.
pub const MAX_TEXT: u64 = 64 << 20;
/// The largest game file: parsed TOML takes 50 times its size in memory. Real data belongs into `.npy` or `.csv` files beside the game.
const MAX_GAME: u64 = 8 << 20;
/// The largest file that describes an experiment or a model.
const MAX_DESCRIPTION: u64 = 4 << 20;

/// The text of a file, or of standard input for `-`.
pub fn text(path: &Path, what: &str) -> Result<String> {
    text_within(path, what, MAX_TEXT, "")
}

/// The text of a game or system file, or of standard input for `-`.
pub fn game(path: &Path, what: &str) -> Result<String> {
    text_within(path, what, MAX_GAME, "; put large data into .npy or .csv files beside the game")
}

/// The text of a file that describes an experiment or a model. Those of the repository are inside the program, for use outside a clone.
pub fn description(path: &Path, what: &str) -> Result<String> {
    #[cfg(feature = "bundled")]
    if let Some(text) = crate::bundled::description(path).filter(|_| !path.exists()) {
        return Ok(text.to_owned());
    }
    text_within(path, what, MAX_DESCRIPTION, "")
}

/// `hint` follows the message on a file that is too large.
fn text_within(path: &Path, what: &str, limit: u64, hint: &str) -> Result<String> {
    let bytes = if path == Path::new("-") {
        drain(io::stdin().lock(), "standard input", limit, hint)?
    } else {
        input::read(path, limit).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => error!(File, "{} {error}{hint}", name(path)),
            _ => unread(path, &error),
        })?
    };
    let shown = name(path);
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        error!(File, "{shown} is not text: byte {at} is not UTF-8; {what} is a text file")
    })?;
    if let Some(at) = text.bytes().position(|b| b == 0) {
        refuse!(File, "{shown} is not text: byte {at} is zero; {what} is a text file");
    }
    if text.trim().is_empty() {
        refuse!(File, "{shown} is empty; {what} was expected");
    }
    Ok(text)
}

/// The bytes of a file of at most `limit` bytes.
pub fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>> {
    input::read(path, limit).map_err(|error| unread(path, &error))
}

/// The bytes of a safetensors file.
pub fn tensors(path: &Path) -> Result<Vec<u8>> {
    input::read_tensors(path).map_err(|error| unread(path, &error))
}

/// The bytes of a file of numbers, `.npy` or text.
pub fn numbers(path: &Path) -> Result<Vec<u8>> {
    input::read_numbers(path).map_err(|error| unread(path, &error))
}

/// A reader of a file of numbers, which fails beyond the size that [`numbers`] allows.
pub fn open_numbers(path: &Path) -> Result<impl Read + use<>> {
    input::open_numbers(path).map_err(|error| unread(path, &error))
}

/// The error of a file that was not read, for the user.
pub fn unread(path: &Path, error: &io::Error) -> Error {
    let shown = name(path);
    match error.kind() {
        ErrorKind::NotFound => error!(File, "no file {shown}{}", suggestion(path)),
        ErrorKind::InvalidInput | ErrorKind::FileTooLarge => error!(File, "{shown} {error}"),
        _ => error!(File, "cannot read {shown}: {}", plain(error)),
    }
}

/// All bytes of a source, which may have at most `limit`.
fn drain(source: impl Read, shown: &str, limit: u64, hint: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source
        .take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error!(File, "cannot read {shown}: {}", plain(&error)))?;
    if bytes.len() as u64 > limit {
        refuse!(File, "{shown} is larger than {} MB{hint}", limit >> 20);
    }
    Ok(bytes)
}

/// Fails if the file cannot be written, so that long work is not lost. Leaves no empty file.
pub fn writable(path: &Path) -> Result<()> {
    let is_new = !path.exists();
    let opened = File::options().append(true).create(true).open(path);
    opened.map(drop).map_err(|error| error!(File, "cannot write {}: {}", name(path), plain(&error)))?;
    if is_new {
        // A file that cannot be removed is written over later.
        std::fs::remove_file(path).ok();
    }
    Ok(())
}

/// True if two paths lead to the same file or folder.
pub fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Writes a whole file.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| error!(File, "cannot write {}: {}", name(path), plain(&error)))
}

/// Writes a whole file: the old one, if any, stays whole until the new one is.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    write_atomically(path, bytes).map_err(|error| error!(File, "cannot write {}: {}", name(path), plain(&error)))
}

/// Makes a folder and its parents.
pub fn make_folder(path: &Path) -> Result<()> {
    let failed = |error| error!(File, "cannot make the folder {}: {}", name(path), plain(&error));
    std::fs::create_dir_all(path).map_err(failed)
}

/// A field of a CSV file: quoted when it must be. Spreadsheets take text that begins with `=`, `+`, `-` or `@` for a formula, so it gets
/// an apostrophe before it; numbers are not changed.
pub fn field(text: &str) -> String {
    let formula = text.trim_start().starts_with(['=', '+', '-', '@']) && text.trim().parse::<f64>().is_err();
    let guard = if formula { "'" } else { "" };
    if text.contains([',', '"', '\n', '\r', '\t']) {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{guard}{text}")
    }
}

/// The name of a path in messages.
pub fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// An operating system's error in lower case, without its number.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// A file in the same folder with a similar name.
pub(crate) fn suggestion(path: &Path) -> String {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    #[cfg(feature = "bundled")]
    if crate::bundled::examples().any(|(example, _)| example == path) {
        return "; `standoff examples` writes it into the working folder".to_owned();
    }
    if !folder.is_dir() {
        return format!(": there is no folder `{}`", folder.display());
    }
    let wanted = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    // The order of a folder is not defined.
    names.sort();
    match nearest(&wanted, names.iter().map(String::as_str)) {
        Some(found) => format!("; did you mean `{}`?", path.with_file_name(found).display()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_a_spreadsheet_would_compute_gets_an_apostrophe() {
        for (text, want) in [
            ("plain", "plain"),
            ("-0.5", "-0.5"),
            ("+1e3", "+1e3"),
            ("-inf", "-inf"),
            ("=1+1", "'=1+1"),
            ("@cmd", "'@cmd"),
            ("-x", "'-x"),
            ("\t=A1", "\"'\t=A1\""),
            ("=HYPERLINK(\"a\",\"b\")", "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\""),
        ] {
            assert_eq!(field(text), want);
        }
    }

    #[test]
    fn an_endless_source_is_cut_off() {
        let error = drain(std::io::repeat(7), "`zeros`", 1 << 20, "; no").unwrap_err().to_string();
        assert_eq!(error, "`zeros` is larger than 1 MB; no");
        assert_eq!(drain(vec![1u8; 1 << 20].as_slice(), "`ones`", 1 << 20, "").unwrap().len(), 1 << 20);
    }
}
