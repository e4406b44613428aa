//! Scalars for TensorBoard: an event file with the lines of `metrics.jsonl`.
//!
//! An event file is a row of records, each a length, data, and a masked CRC-32C of either; the data is a protocol-buffer message with
//! the five fields used here. Crates for it are stale or want a protobuf compiler, for less than a hundred lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// TensorBoard reads files with `tfevents` in their name.
pub(super) const EVENTS: &str = "events.out.tfevents.1.standoff";

/// The event file of a run. TensorBoard follows a file while it grows, so this one is only ever appended to.
#[derive(Debug)]
pub(super) struct Events {
    path: PathBuf,
    /// The time at which the run would have begun without interruptions.
    begun: f64,
}

impl Events {
    /// Writes the file anew with what `metrics.jsonl` has so far; `seconds` is the run's clock.
    pub(super) fn open(folder: &Path, metrics: &str, seconds: f64) -> io::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
        let events = Self { path: folder.join(EVENTS), begun: now - seconds };
        let mut bytes = Vec::new();
        record(&mut bytes, &version(events.begun));
        for line in metrics.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            record(&mut bytes, &events.event(&line));
        }
        File::create(&events.path)?.write_all(&bytes)?;
        Ok(events)
    }

    /// Adds a line of `metrics.jsonl`.
    pub(super) fn push(&self, line: &Value) -> io::Result<()> {
        let mut bytes = Vec::new();
        record(&mut bytes, &self.event(line));
        OpenOptions::new().append(true).open(&self.path)?.write_all(&bytes)
    }

    fn event(&self, line: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        double(&mut out, 1, self.begun + line["seconds"].as_f64().unwrap_or(0.0));
        whole(&mut out, 2, line["step"].as_u64().unwrap_or(0));
        let mut summary = Vec::new();
        for (name, value) in line.as_object().into_iter().flatten() {
            if name != "step" && name != "seconds" {
                scalars(&mut summary, name, value);
            }
        }
        bytes(&mut out, 5, &summary);
        out
    }
}

/// Adds a number under its tag, and the entries of lists and objects under tags below it.
fn scalars(summary: &mut Vec<u8>, tag: &str, value: &Value) {
    match value {
        Value::Number(number) => {
            let mut entry = Vec::new();
            bytes(&mut entry, 1, tag.as_bytes());
            key(&mut entry, 2, 5);
            entry.extend_from_slice(&(number.as_f64().unwrap_or(f64::NAN) as f32).to_le_bytes());
            bytes(summary, 1, &entry);
        }
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| scalars(summary, &format!("{tag}/{i}"), v)),
        Value::Object(map) => map.iter().for_each(|(name, v)| scalars(summary, &format!("{tag}/{name}"), v)),
        _ => {}
    }
}

fn version(time: f64) -> Vec<u8> {
    let mut out = Vec::new();
    double(&mut out, 1, time);
    bytes(&mut out, 3, b"brain.Event:2");
    out
}

fn key(out: &mut Vec<u8>, field: u64, wire: u64) {
    varint(out, field << 3 | wire);
}

fn varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn double(out: &mut Vec<u8>, field: u64, v: f64) {
    key(out, field, 1);
    out.extend_from_slice(&v.to_le_bytes());
}

fn whole(out: &mut Vec<u8>, field: u64, v: u64) {
    key(out, field, 0);
    varint(out, v);
}

fn bytes(out: &mut Vec<u8>, field: u64, v: &[u8]) {
    key(out, field, 2);
    varint(out, v.len() as u64);
    out.extend_from_slice(v);
}

fn record(out: &mut Vec<u8>, data: &[u8]) {
    let length = (data.len() as u64).to_le_bytes();
    out.extend_from_slice(&length);
    out.extend_from_slice(&masked(&length).to_le_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(&masked(data).to_le_bytes());
}

/// The format masks checksums, because data may contain checksums.
fn masked(data: &[u8]) -> u32 {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C, Castagnoli's polynomial, bit by bit: a run has only a few kilobytes.
fn crc32c(data: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
    !data.iter().fold(!0u32, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn lists_become_scalars_below_their_name_and_appending_equals_writing_anew() {
        let folder = tempfile::tempdir().expect("a folder");
        let lines = [
            json!({"step": 0, "value": 1.5, "losses": [1.0, 2.0], "seconds": 0.25}),
            json!({"step": 300, "natural": {"correct": 5}}),
        ];
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let events = Events::open(folder.path(), "", 0.0).expect("written");
        for line in &lines {
            events.push(line).expect("appended");
        }
        let grown = std::fs::read(&events.path).expect("read");
        let anew = Events { begun: events.begun, ..Events::open(folder.path(), &text, 0.0).expect("written") };
        let anew = std::fs::read(&anew.path).expect("read");
        assert_eq!(grown.len(), anew.len());
        let text = String::from_utf8_lossy(&grown);
        for tag in ["brain.Event:2", "value", "losses/0", "losses/1", "natural/correct"] {
            assert!(text.contains(tag), "{tag}");
        }
        assert!(!text.contains("seconds"));
    }
}
