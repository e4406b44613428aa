//! The real binary in a scratch folder: exit codes, what it prints where, and the files it writes.

mod browser;
mod scratch;
mod server;

mod attack;
mod bad_input;
mod data;
mod data_fetch;
mod documents;
mod fair;
mod fair_choice;
mod flood;
mod hostile;
mod in_use;
mod inspect;
mod killed;
mod lqr;
mod measures;
mod models;
mod predict;
mod progress;
mod proof_file;
mod proofs;
mod race;
mod readme;
mod report;
mod report_browser;
mod reproduce;
mod robust;
mod screens;
mod signals;
mod solve;
mod streams;
mod tensorboard;
mod terminated;
mod verify;
