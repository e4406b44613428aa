//! One process per run folder: a lock that the system releases when its process ends, however it ends.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result, error};
use crate::files;

/// The locked file in a run folder; it names the process that holds the lock. It may remain after a kill, without a lock on it.
pub const FILE: &str = ".standoff.lock";

/// The lock of a run folder, held until it is dropped.
#[derive(Debug)]
pub struct RunLock {
    path: PathBuf,
    /// Open for as long as the lock is held.
    _file: File,
}

impl RunLock {
    /// Locks a folder that exists; refused while another process holds the lock.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let refused = |e: &io::Error| error!(File, "cannot lock {}: {}", files::name(folder), files::plain(e));
        loop {
            let options = File::options().read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = options.map_err(|e| refused(&e))?;
            match file.try_lock() {
                // The holder before this process removed the file after it was opened here: the lock protects nothing.
                Ok(()) if !is_current(&file, &path) => continue,
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::InUse { folder: files::name(folder), holder: holder(&mut file) });
                }
                // Some network drives have no locks. Training there is allowed, as before there were locks.
                Err(TryLockError::Error(e)) if is_unsupported(&e) => {}
                Err(TryLockError::Error(e)) => return Err(refused(&e)),
            }
            // On a full disk the lock holds all the same; only the text of the message is lost.
            let _ = file.set_len(0).and_then(|()| file.write_all(this_process().as_bytes()));
            return Ok(Self { path, _file: file });
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Removed before it is unlocked: see `is_current`. A file that cannot be removed does no harm.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// True if the path still leads to this file.
#[cfg(unix)]
fn is_current(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |m: fs::Metadata| (m.dev(), m.ino());
    file.metadata().map(id).is_ok_and(|own| fs::metadata(path).map(id).is_ok_and(|there| own == there))
}

/// Elsewhere the file is never removed.
#[cfg(not(unix))]
fn is_current(_: &File, _: &Path) -> bool {
    true
}

/// True if the file system has no locks; Linux reports 37 (ENOLCK) where a network drive lacks its lock service.
fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported || (cfg!(target_os = "linux") && error.raw_os_error() == Some(37))
}

/// The holder as its lock file names it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    // The file cannot be read (Windows locks reading too) or is not written yet.
    let read = file.take(256).read_to_string(&mut text);
    match read {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

fn this_process() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    format!("process {} on {} since {}\n", std::process::id(), host(), utc(now))
}

fn host() -> String {
    let linux = || fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = linux().or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    named.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "this host".to_owned())
}

/// Seconds since 1970 as a date: `2026-11-18 03:16:22 UTC`.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March, so that the day that leap years add is the last one of a year; eras have 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = 400 * era + year + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_once_and_free_again_afterwards() {
        let folder = tempfile::tempdir().expect("a folder");
        let lock = RunLock::take(folder.path()).expect("locked");
        let error = RunLock::take(folder.path()).expect_err("refused").to_string();
        let own = format!("process {} on ", std::process::id());
        assert!(error.contains("is in use by ") && error.contains(" UTC; wait"), "{error}");
        assert!(!cfg!(unix) || error.contains(&own), "{error}");
        drop(lock);
        assert!(!cfg!(unix) || !folder.path().join(FILE).exists());
        // A killed process leaves the file, and no lock.
        fs::write(folder.path().join(FILE), "process 1 on mars since 1970").expect("written");
        drop(RunLock::take(folder.path()).expect("locked"));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, want) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds), want);
        }
    }
}
