//! The state of a training in one file: vectors as tensors, counters as text, replaced atomically.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use standoff::Visitor;
use standoff_nn::model::weights::{Metadata, Tensor, encode, write_atomically};

use crate::error::{At, Result, error, refuse};
use crate::files;
use crate::number::hexadecimal;

/// Named vectors and counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checkpoint {
    vectors: BTreeMap<String, Vec<f32>>,
    facts: Metadata,
}

const SUM: &str = "sha256";
const PREVIOUS: &str = "previous";
const NEXT: &str = "next";

/// `checkpoint.safetensors` -> `checkpoint.previous.safetensors`.
fn beside(path: &Path, ending: &str) -> PathBuf {
    path.with_extension(format!("{ending}.safetensors"))
}

/// Removes a checkpoint and the files beside it. A file that cannot be removed does no harm.
pub fn remove(path: &Path) {
    for file in [path.to_owned(), beside(path, PREVIOUS), beside(path, NEXT)] {
        let _ = fs::remove_file(file);
    }
}

impl Checkpoint {
    /// A visitor that copies the state that it visits.
    pub fn saver(&mut self) -> impl Visitor<f32> + '_ {
        Saver(self)
    }

    /// A visitor that overwrites the state that it visits. [`Restorer::finish`] fails if something was missing.
    pub fn restorer(&self) -> Restorer<'_> {
        Restorer { from: self, missing: None }
    }

    /// Sets a fact.
    pub fn set(&mut self, name: &str, value: &dyn ToString) {
        self.facts.insert(name.into(), value.to_string());
    }

    /// A fact, by name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.facts.get(name).map(String::as_str)
    }

    /// Writes the file beside its place and renames it. The old file is kept as the previous one, so that one of the two is always
    /// complete.
    pub fn save(&self, path: &Path) -> Result<()> {
        let shapes: Vec<[usize; 1]> = self.vectors.values().map(|v| [v.len()]).collect();
        let tensors: Vec<Tensor<'_>> =
            self.vectors.iter().zip(&shapes).map(|((name, values), shape)| Tensor { name, shape, values }).collect();
        let mut facts = self.facts.clone();
        facts.insert(SUM.into(), self.sum());
        let [previous, next] = [PREVIOUS, NEXT].map(|ending| beside(path, ending));
        let write = || {
            write_atomically(&next, &encode(&tensors, &facts))?;
            if path.exists() {
                fs::rename(path, &previous)?;
            }
            fs::rename(&next, path)
        };
        write()
            .map_err(|e| error!(Checkpoint, "cannot write the checkpoint {}: {}", files::name(path), files::plain(&e)))
    }

    /// The newest state that can be used, with a warning if a newer one is damaged. `None` without a checkpoint.
    pub fn latest(path: &Path) -> Result<Option<(Self, Option<String>)>> {
        let previous = beside(path, PREVIOUS);
        if !path.exists() {
            // Killed between two renames, or never saved.
            return if previous.exists() { Self::load(&previous).map(|state| Some((state, None))) } else { Ok(None) };
        }
        let error = match Self::load(path) {
            Ok(state) => return Ok(Some((state, None))),
            Err(error) => error,
        };
        if !previous.exists() {
            return Err(error.at("delete it to start this run again"));
        }
        let state = Self::load(&previous).at(|| format!("{}, and neither can the one before it", error.full()))?;
        Ok(Some((state, Some(format!("{}; going on from the one before it", error.full())))))
    }

    /// Reads a file and checks its digest.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = files::tensors(path)?;
        Self::parse(&bytes).at(|| format!("the checkpoint {} cannot be used", files::name(path)))
    }

    /// Reads the bytes of a file and checks their digest.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let broken = |e: safetensors::SafeTensorError| error!(Checkpoint, "it is damaged: {e}");
        let (_, header) = safetensors::SafeTensors::read_metadata(bytes).map_err(broken)?;
        let file = safetensors::SafeTensors::deserialize(bytes).map_err(broken)?;
        let mut found = Self::default();
        for (name, view) in file.tensors() {
            let values = view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            found.vectors.insert(name, values);
        }
        found.facts = header.metadata().clone().unwrap_or_default().into_iter().collect();
        let want = found.facts.remove(SUM).ok_or_else(|| error!(Checkpoint, "it is damaged: it has no checksum"))?;
        if want != found.sum() {
            refuse!(Checkpoint, "it is damaged: its checksum does not fit its content");
        }
        Ok(found)
    }

    /// The digest of all vectors and facts, in a fixed order.
    fn sum(&self) -> String {
        let mut all = Sha256::new();
        for (name, vector) in &self.vectors {
            all.update((name.len() as u64).to_le_bytes());
            all.update(name.as_bytes());
            all.update((vector.len() as u64).to_le_bytes());
            vector.iter().for_each(|v| all.update(v.to_le_bytes()));
        }
        for (name, fact) in &self.facts {
            for part in [name, fact] {
                all.update((part.len() as u64).to_le_bytes());
                all.update(part.as_bytes());
            }
        }
        hexadecimal(&all.finalize())
    }
}

struct Saver<'a>(&'a mut Checkpoint);

impl Visitor<f32> for Saver<'_> {
    fn vector(&mut self, name: &str, v: &mut Vec<f32>) {
        self.0.vectors.insert(name.into(), v.clone());
    }
    fn scalar(&mut self, name: &str, v: &mut f64) {
        // Bits, not digits: nothing is rounded.
        self.0.facts.insert(name.into(), format!("{:016x}", v.to_bits()));
    }
    fn count(&mut self, name: &str, v: &mut u64) {
        self.0.facts.insert(name.into(), v.to_string());
    }
}

/// Overwrites state.
#[derive(Debug)]
pub struct Restorer<'a> {
    from: &'a Checkpoint,
    missing: Option<String>,
}

impl Restorer<'_> {
    /// Fails if something visited was not in the file, or of another size.
    pub fn finish(self) -> Result<()> {
        self.missing.map_or(Ok(()), |what| {
            Err(error!(Checkpoint, "the checkpoint has no fitting `{what}`; it is of another run"))
        })
    }

    fn need<T>(&mut self, name: &str, found: Option<T>) -> Option<T> {
        if found.is_none() && self.missing.is_none() {
            self.missing = Some(name.into());
        }
        found
    }
}

impl Visitor<f32> for Restorer<'_> {
    fn vector(&mut self, name: &str, v: &mut Vec<f32>) {
        let found = self.from.vectors.get(name).filter(|found| found.len() == v.len());
        if let Some(found) = self.need(name, found) {
            v.copy_from_slice(found);
        }
    }
    fn scalar(&mut self, name: &str, v: &mut f64) {
        let found = self.from.get(name).and_then(|text| u64::from_str_radix(text, 16).ok());
        if let Some(bits) = self.need(name, found) {
            *v = f64::from_bits(bits);
        }
    }
    fn count(&mut self, name: &str, v: &mut u64) {
        let found = self.from.get(name).and_then(|text| text.parse().ok());
        if let Some(found) = self.need(name, found) {
            *v = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(step: u64) -> Checkpoint {
        let mut state = Checkpoint::default();
        state.vectors.insert("x".into(), vec![step as f32, -0.0, f32::MIN_POSITIVE]);
        state.set("step", &step);
        state
    }

    #[test]
    fn a_damaged_checkpoint_is_named_and_the_one_before_it_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checkpoint.safetensors");
        assert!(Checkpoint::latest(&path).expect("none is fine").is_none());
        state(1).save(&path).expect("saved");
        state(2).save(&path).expect("saved");
        let whole = fs::read(&path).expect("read");
        assert_eq!(Checkpoint::latest(&path).expect("read"), Some((state(2), None)));
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, &bytes).expect("written");
            let (found, warning) = Checkpoint::latest(&path).expect("the other is fine").expect("there");
            // A flip that changes nothing that is read (white space of the header) is no damage.
            if found != state(2) {
                assert_eq!(found, state(1), "byte {at}");
                assert!(
                    warning.is_some_and(|w| w.contains("checkpoint.safetensors") && w.contains("damaged")),
                    "byte {at}"
                );
            }
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("written");
            let (found, warning) = Checkpoint::latest(&path).expect("the other is fine").expect("there");
            assert!(found == state(1) && warning.is_some(), "length {length}");
        }
        fs::remove_file(&path).expect("removed");
        assert_eq!(Checkpoint::latest(&path).expect("read"), Some((state(1), None)));
        remove(&path);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn two_damaged_checkpoints_are_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("checkpoint.safetensors");
        state(1).save(&path).expect("saved");
        state(2).save(&path).expect("saved");
        fs::write(&path, b"no").expect("written");
        fs::write(beside(&path, PREVIOUS), b"no").expect("written");
        let error = Checkpoint::latest(&path).expect_err("both are damaged");
        assert!(error.full().contains("neither"), "{}", error.full());
    }
}
