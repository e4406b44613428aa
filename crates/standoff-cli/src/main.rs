//! The command `standoff`.
fn main() {}
