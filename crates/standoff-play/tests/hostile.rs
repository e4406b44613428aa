//! The server over real connections: what it serves, and what it refuses without harm.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use standoff_play::{Server, Settings};

/// A server that ends with the test.
struct Running {
    port: u16,
    token: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn new() -> Self {
        let server =
            Server::start(&Settings { runs: "no such folder".into(), ..Settings::default() }).expect("a server");
        let address = server.address();
        let (port, token) = address.trim_start_matches("http://127.0.0.1:").split_once('/').expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let (port, token) = (port.parse().expect("a port"), token.trim_end_matches('/').to_owned());
        Self { port, token, stop, thread: Some(thread::spawn(move || server.run(&flag))) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        stream
    }

    /// Sends bytes and reads until the connection ends: the status and the body.
    fn raw(&self, bytes: &[u8]) -> (u16, String) {
        let mut stream = self.connect();
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        let text = String::from_utf8_lossy(&reply).into_owned();
        let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, text.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
    }

    fn request(&self, line: &str, headers: &str, body: &str) -> (u16, String) {
        let length =
            if line.starts_with("POST") { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        self.raw(format!("{line} HTTP/1.1\r\n{headers}{length}\r\n{body}").as_bytes())
    }

    fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}\r\n", self.port)
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.request(&format!("GET /{}/{path}", self.token), &self.host(), "")
    }

    fn post(&self, path: &str, body: &str) -> (u16, String) {
        let headers = format!("{}Content-Type: application/json\r\n", self.host());
        self.request(&format!("POST /{}/{path}", self.token), &headers, body)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends without a panic");
        }
    }
}

fn game(objective: &str) -> Value {
    json!({ "objective": objective, "x": [-2, 2], "y": [-1, 1], "start": [1.7, -1], "eps": 1e-3, "methods": ["auto", "gda", "extragradient"] })
}

#[test]
fn the_page_and_its_files_are_served_with_a_policy() {
    let server = Running::new();
    let (status, page) = server.get("");
    assert!(status == 200 && page.contains("<title>Standoff play</title>"));
    for file in
        ["play.css", "play.js", "ask.js", "plot.js", "game.js", "digit.js", "runs.js", "runs", "network", "sample?0"]
    {
        assert_eq!(server.get(file).0, 200, "{file}");
    }
    let mut stream = server.connect();
    write!(stream, "GET /{}/ HTTP/1.1\r\n{}\r\n", server.token, server.host()).expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    for header in ["default-src 'none'", "nosniff", "Referrer-Policy: no-referrer", "Cache-Control: no-store"] {
        assert!(reply.contains(header), "{header}");
    }
}

#[test]
fn without_the_token_nothing_is_served() {
    let server = Running::new();
    let wrong: String = server.token.chars().rev().collect();
    for path in [
        "/",
        "/x",
        "//",
        "/play.css",
        &format!("/{wrong}/"),
        &format!("/{}", server.token),
        &format!("/{}x/", server.token),
    ] {
        let (status, body) = server.request(&format!("GET {path}"), &server.host(), "");
        assert!(status == 403 && !body.contains(&server.token), "{path}: {status} {body}");
    }
    let (status, _) = server.request(&format!("POST /{wrong}/solve"), &server.host(), &game("x*y").to_string());
    assert_eq!(status, 403);
}

#[test]
fn other_sites_are_refused() {
    let server = Running::new();
    let line = format!("GET /{}/runs", server.token);
    let host = server.host();
    for headers in [
        String::new(),
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{}\r\n", server.port),
        "Host: 127.0.0.1\r\n".to_owned(),
        format!("{host}Origin: http://evil.example\r\n"),
        format!("{host}Origin: null\r\n"),
        format!("{host}Origin: https://127.0.0.1:{}\r\n", server.port),
        format!("{host}Origin: http://127.0.0.1:1\r\n"),
        format!("{host}Sec-Fetch-Site: cross-site\r\n"),
        format!("{host}Sec-Fetch-Site: same-site\r\n"),
    ] {
        assert_eq!(server.request(&line, &headers, "").0, 403, "{headers}");
    }
    for headers in [
        format!("{host}Origin: http://127.0.0.1:{}\r\nSec-Fetch-Site: same-origin\r\n", server.port),
        format!("Host: localhost:{}\r\nSec-Fetch-Site: none\r\n", server.port),
    ] {
        assert_eq!(server.request(&line, &headers, "").0, 200, "{headers}");
    }
    // A form of another site can post without asking, but only as one of three types.
    let form = format!("{host}Content-Type: text/plain\r\n");
    assert_eq!(server.request(&format!("POST /{}/levels", server.token), &form, &game("x*y").to_string()).0, 415);
}

#[test]
fn long_requests_are_refused_at_once() {
    let server = Running::new();
    let begun = Instant::now();
    let million = "x+".repeat(500_000);
    assert_eq!(server.post("levels", &game(&million).to_string()).0, 413);
    assert_eq!(server.post("solve", &game(&"x+".repeat(6_000)).to_string()).0, 413);
    assert_eq!(server.request(&format!("GET /{}/{}", server.token, "a".repeat(1_000_000)), &server.host(), "").0, 431);
    assert_eq!(server.request(&format!("GET /{}/", server.token), &"X: y\r\n".repeat(100_000), "").0, 431);
    // No memory is set aside for a length that is only announced.
    let announced = format!(
        "POST /{}/levels HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: 99999999999999999\r\n\r\n",
        server.token,
        server.host()
    );
    assert_eq!(server.raw(announced.as_bytes()).0, 413);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(server.get("").0, 200);
}

#[test]
fn a_hundred_connections_at_once_are_served_beside_a_hundred_idle_ones() {
    let server = Running::new();
    let idle: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..100)
            .map(|i| {
                scope.spawn({
                    let server = &server;
                    move || match i % 3 {
                        0 => server.get("").0,
                        1 => server.get("runs").0,
                        _ => server.post("levels", &game("x*y").to_string()).0,
                    }
                })
            })
            .collect();
        for client in clients {
            assert_eq!(client.join().expect("no panic"), 200);
        }
    });
    drop(idle);
    assert_eq!(server.get("").0, 200);
}

#[test]
fn a_request_that_does_not_end_is_given_up() {
    let server = Running::new();
    let mut slow = server.connect();
    slow.write_all(b"GET /").expect("sent");
    assert_eq!(server.get("").0, 200, "others are served meanwhile");
    let (begun, mut reply) = (Instant::now(), String::new());
    slow.read_to_string(&mut reply).expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 408") && begun.elapsed() < Duration::from_secs(30), "{reply}");
}

#[test]
fn broken_requests_get_an_error_and_do_no_harm() {
    let server = Running::new();
    let line = format!("GET /{}/ HTTP/1.1\r\n{}", server.token, server.host());
    for bytes in [
        b"\r\n\r\n".to_vec(),
        b"\0\xff\xfe\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\nHost\r\n\r\n".to_vec(),
        b"GET  / HTTP/1.1\r\n\r\n".to_vec(),
        format!("{line}Host: twice\r\n\r\n").into_bytes(),
        format!("{line}Content-Length: 5\r\n\r\nhello").into_bytes(),
    ] {
        assert_eq!(server.raw(&bytes).0, 400, "{}", String::from_utf8_lossy(&bytes));
    }
    assert_eq!(server.raw(format!("{line}\r\n").replace("GET", "DELETE").as_bytes()).0, 405);
    for body in ["", "{", "[]", "null", "\"x\"", "{\"objective\":1}", &"[".repeat(60_000)] {
        for path in ["levels", "solve", "bracket", "attack"] {
            assert_eq!(server.post(path, body).0, 400, "{path} {body:.20}");
        }
    }
    assert_eq!(server.post("nothing", "{}").0, 404);
    assert_eq!(server.get("").0, 200);
}

#[test]
fn numbers_that_are_huge_or_no_numbers_are_refused_with_a_reason() {
    let server = Running::new();
    for (body, status) in [
        (game("x*y").to_string().replace("[-2,2]", "[-1e400,2]"), 400),
        (game("x*y").to_string().replace("[-2,2]", "[NaN,2]"), 400),
        (game("x*y").to_string().replace("[-2,2]", "[-1e300,1e300]"), 422),
        (game("x*y").to_string().replace("[-2,2]", "[2,-2]"), 422),
        (game("x*y + 1e999").to_string(), 422),
        (game("x*y + $").to_string(), 422),
        (game(&"(".repeat(9_000)).to_string(), 422),
        (game("").to_string(), 422),
    ] {
        let (got, reply) = server.post("levels", &body);
        let reply: Value = serde_json::from_str(&reply).expect("JSON");
        assert!(got == status && reply["error"].as_str().is_some_and(|text| text.len() > 10), "{body}: {got} {reply}");
    }
    // Formulas that are nowhere, or hardly anywhere, finite end with a message.
    for objective in ["log(-1 - x^2)*y", "exp(1000*x)*y", "1/(x - x) + y", "x^1e9 * y", "y/0"] {
        let (status, reply) = server.post("solve", &game(objective).to_string());
        if status == 422 {
            continue;
        }
        let ends: Vec<Value> = reply
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .filter(|line: &Value| line["end"].is_string())
            .collect();
        assert!(status == 200 && ends.len() == 3, "{objective}: {reply}");
    }
}

#[test]
fn a_game_is_solved_with_a_certificate() {
    let server = Running::new();
    let (status, reply) = server.post("solve", &game("cos(3*x)/4 + y*(x - 0.5)").to_string());
    let lines: Vec<Value> = reply.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let end = lines.iter().find(|line| line["m"] == 0 && line["end"] == "converged").expect("auto converges");
    assert!(
        status == 200 && (end["x"].as_f64().expect("x") - 0.5).abs() < 1e-2 && end["X"].as_f64().expect("X") <= 1e-3
    );
}

#[test]
fn a_client_that_leaves_in_the_middle_does_no_harm() {
    let server = Running::new();
    let body = game("x*y + sin(9*x)*sin(9*y)").to_string();
    for _ in 0..6 {
        let mut stream = server.connect();
        let head = format!(
            "POST /{}/solve HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            server.token,
            server.host(),
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).expect("sent");
        stream.read_exact(&mut [0; 100]).expect("it begins");
    }
    let begun = Instant::now();
    assert_eq!(server.post("levels", &game("x*y").to_string()).0, 200);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
