//! Version, machine and instruction set of a run, in `machine.toml`. Recorded, not compared.

use std::path::Path;

use standoff_nn::Isa;

use crate::error::{Result, error};
use crate::files;

/// The name of the file.
pub const FILE: &str = "machine.toml";

/// Version, machine and instruction set, by name.
pub fn describe() -> Result<toml::Table> {
    let isa = Isa::named(&std::env::var("STANDOFF_ISA").unwrap_or_default())?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut table = toml::Table::new();
    let texts = [
        ("standoff", env!("CARGO_PKG_VERSION").to_owned()),
        ("system", std::env::consts::OS.to_owned()),
        ("architecture", std::env::consts::ARCH.to_owned()),
        ("processor", processor().unwrap_or_else(|| "unknown".to_owned())),
        ("instructions", isa.name().to_owned()),
    ];
    table.extend(texts.map(|(key, text)| (key.to_owned(), toml::Value::String(text))));
    table.insert("threads".to_owned(), toml::Value::Integer(i64::try_from(threads).unwrap_or(i64::MAX)));
    Ok(table)
}

/// Writes the file.
pub fn save(folder: &Path) -> Result<()> {
    let text = toml::to_string(&describe()?).map_err(|e| error!(File, "{FILE} cannot be written: {e}"))?;
    files::write(&folder.join(FILE), &text)
}

/// The name of the processor, on Linux only.
fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_instruction_set_are_written_down() {
        let folder = tempfile::tempdir().expect("a folder");
        save(folder.path()).expect("saved");
        let text = std::fs::read_to_string(folder.path().join(FILE)).expect("read");
        let table: toml::Table = text.parse().expect("TOML");
        assert_eq!(table["standoff"].as_str(), Some(env!("CARGO_PKG_VERSION")));
        assert!(["avx512", "avx2", "portable"].contains(&table["instructions"].as_str().expect("a name")), "{text}");
        assert!(table["threads"].as_integer().is_some_and(|n| n > 0), "{text}");
    }
}
