//! A web server for one test: it hands each request to a function and notes it down.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) range: Option<String>,
}

impl Request {
    /// The last part of the path.
    pub(crate) fn file(&self) -> &str {
        self.line.split(' ').nth(1).and_then(|path| path.rsplit('/').next()).unwrap_or("")
    }

    /// The first byte of the range, if one is asked for.
    pub(crate) fn start(&self) -> Option<usize> {
        self.range.as_ref()?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// A response: the status line and the headers, and the body, which may be shorter than the headers claim.
pub(crate) struct Reply {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn status(line: &str) -> Self {
        Self { head: format!("{line}\r\nContent-Length: 0"), body: Vec::new() }
    }

    /// A whole file.
    pub(crate) fn whole(body: &[u8]) -> Self {
        Self { head: format!("200 OK\r\nContent-Length: {}", body.len()), body: body.to_vec() }
    }

    /// A file from `start` on.
    pub(crate) fn rest(body: &[u8], start: usize) -> Self {
        let range = format!("bytes {start}-{}/{}", body.len() - 1, body.len());
        let length = body.len() - start;
        let head = format!("206 Partial Content\r\nContent-Length: {length}\r\nContent-Range: {range}");
        Self { head, body: body[start..].to_vec() }
    }

    /// The same, but the connection breaks off after some bytes.
    pub(crate) fn cut(mut self, bytes: usize) -> Self {
        self.body.truncate(bytes);
        self
    }
}

/// The address of a server, and the requests it had so far. Its thread ends with the process.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) fn new(answer: impl Fn(&Request) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Some(request) = read(&stream) {
                    noted.lock().expect("the list").push(request.clone());
                    let reply = answer(&request);
                    let head = format!("HTTP/1.1 {}\r\nConnection: close\r\n\r\n", reply.head);
                    let mut stream = &stream;
                    // A client that hangs up has seen enough.
                    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&reply.body));
                }
            }
        });
        Self { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("the list").clone()
    }
}

/// The head of a request; there is no body.
fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let line = lines.next()?;
    let mut range = None;
    for header in lines.take_while(|line| !line.is_empty()) {
        if let Some((name, value)) = header.split_once(": ")
            && name.eq_ignore_ascii_case("range")
        {
            range = Some(value.to_owned());
        }
    }
    Some(Request { line, range })
}
