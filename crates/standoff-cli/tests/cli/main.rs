//! The real binary in a scratch folder: exit codes, what it prints where, and the files it writes.

mod scratch;
mod server;

mod attack;
mod bad_input;
mod data;
mod data_fetch;
mod fair;
mod fair_choice;
mod inspect;
mod lqr;
mod predict;
mod race;
mod readme;
mod report;
mod robust;
mod signals;
mod solve;
mod streams;
mod verify;
