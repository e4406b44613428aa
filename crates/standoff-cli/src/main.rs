//! The command `standoff`: everything is in the library beside this file.

use std::process::ExitCode;

fn main() -> ExitCode {
    standoff_cli::main(std::env::args_os())
}
