//! A bug must not look like a crash: a panic becomes a polite message and exit code 2.

use std::io::Write;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

use crate::Exit;
use standoff_present::style::safe;

/// From now on a panic is reported in the command's own words.
pub(crate) fn install() {
    panic::set_hook(Box::new(report));
}

/// Runs `task`; a panic inside is turned into [`Exit::Error`].
pub(crate) fn run(task: impl FnOnce() -> Exit) -> Exit {
    // What the task leaves behind after a panic is never looked at: the process ends here.
    panic::catch_unwind(AssertUnwindSafe(task)).unwrap_or(Exit::Error)
}

/// Written without `eprintln!`, which panics itself when stderr is closed.
fn report(info: &PanicHookInfo<'_>) {
    let _ = std::io::stderr().write_all(safe(&message(info)).as_bytes());
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let what = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
    format!(
        "error: this is a bug in standoff {}, not in your input: {what}{place}\n  \
         please report it with the command you ran and the game file\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_exit_code_2() {
        assert_eq!(run(|| panic!("on purpose, by a test")), Exit::Error);
        assert_eq!(run(|| Exit::Done), Exit::Done);
    }
}
