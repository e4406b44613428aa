//! HTTP/1.1 as far as one page needs it: one request for each connection, with limits of size and time for all that is read or written.
//!
//! It is written here because the small servers of the registry have no time limits and trust `Content-Length`: one of them allocates as
//! many bytes as a request announces, so a single line ends the process.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::answer::{Answer, reason};

/// The most bytes of a request line with all headers.
const MOST_HEAD: usize = 16 << 10;
/// The most bytes of a body.
pub(crate) const MOST_BODY: u64 = 64 << 10;
/// The longest time for reading a request, and for writing one piece of a response.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes, and the longest time, that are read and dropped after a refusal, so that the client sees it.
const DRAINED: (usize, Duration) = (4 << 20, Duration::from_secs(2));

/// The request line and the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// The value of a header. One that appears twice is refused while the head is read.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads the text up to the empty line.
    fn parse(text: &str) -> Result<Self, Answer> {
        let bad = |why: &str| Answer::refusal(400, why);
        let mut lines = text.split("\r\n");
        let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, path, version] = first[..] else { return Err(bad("the request line has not three parts")) };
        if !version.starts_with("HTTP/1.") {
            return Err(Answer::refusal(505, "only HTTP/1.1 is known here"));
        }
        if !path.starts_with('/') {
            return Err(bad("the path does not begin with /"));
        }
        let mut headers: Vec<(String, String)> = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a header has no colon"))?;
            let name = name.to_ascii_lowercase();
            // Two lengths, hosts or origins mean that another program may have read the other one.
            let single =
                ["host", "origin", "content-length", "content-type", "sec-fetch-site"].contains(&name.as_str());
            if single && headers.iter().any(|(known, _)| *known == name) {
                return Err(bad("a header appears twice"));
            }
            headers.push((name, value.trim().to_owned()));
        }
        Ok(Self { method: method.to_owned(), path: path.to_owned(), headers })
    }

    /// The length of the body, which only POST has.
    fn length(&self) -> Result<usize, Answer> {
        if self.header("transfer-encoding").is_some() {
            return Err(Answer::refusal(411, "send the body in one piece, with its length"));
        }
        let given = self.header("content-length");
        if self.method != "POST" {
            return if matches!(given, None | Some("0")) {
                Ok(0)
            } else {
                Err(Answer::refusal(400, "an unexpected body"))
            };
        }
        let given = given.ok_or_else(|| Answer::refusal(411, "the length of the body is missing"))?;
        let digits = !given.is_empty() && given.bytes().all(|b| b.is_ascii_digit());
        match given.parse::<u64>() {
            Ok(length) if digits && length <= MOST_BODY => Ok(length as usize),
            _ if digits => {
                Err(Answer::refusal(413, &format!("the request is too long: the most is {MOST_BODY} bytes")))
            }
            _ => Err(Answer::refusal(400, "the length of the body is no number")),
        }
    }
}

/// A connection, read until a deadline.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    deadline: Instant,
    /// Bytes that came after the head.
    rest: Vec<u8>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, deadline: Instant::now() + PATIENCE, rest: Vec::new() })
    }

    /// Reads some bytes; 408 when the time is over.
    fn some(&mut self, buffer: &mut [u8]) -> Result<usize, Answer> {
        let late = || Answer::refusal(408, "the request took too long");
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(late());
        }
        let read = self.stream.set_read_timeout(Some(left)).and_then(|()| self.stream.read(buffer));
        match read {
            Ok(0) => Err(Answer::refusal(400, "the request ends early")),
            Ok(count) => Ok(count),
            Err(_) => Err(late()),
        }
    }

    /// Reads the request line and the headers.
    pub(crate) fn head(&mut self) -> Result<Head, Answer> {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 2048]);
        let end = loop {
            let before = bytes.len().saturating_sub(3);
            let count = self.some(&mut buffer)?;
            bytes.extend_from_slice(&buffer[..count]);
            if let Some(found) = bytes[before..].windows(4).position(|four| four == b"\r\n\r\n") {
                break before + found;
            }
            if bytes.len() > MOST_HEAD {
                return Err(Answer::refusal(431, "the headers are too long"));
            }
        };
        self.rest = bytes.split_off(end + 4);
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| Answer::refusal(400, "the head is not text"))?;
        Head::parse(text)
    }

    /// Reads the body.
    pub(crate) fn body(&mut self, head: &Head) -> Result<Vec<u8>, Answer> {
        let length = head.length()?;
        let (mut body, mut buffer) = (std::mem::take(&mut self.rest), [0; 4096]);
        while body.len() < length {
            let count = self.some(&mut buffer)?;
            body.extend_from_slice(&buffer[..count]);
        }
        body.truncate(length);
        Ok(body)
    }

    /// Writes a whole response and ends the connection.
    pub(crate) fn answer(mut self, answer: &Answer) {
        let head = head_of(answer.status, answer.kind, answer.policy, Some(answer.body.len()));
        let sent = self.stream.write_all(head.as_bytes()).and_then(|()| self.stream.write_all(&answer.body));
        if sent.is_ok() {
            self.close();
        }
    }

    /// Begins a response of unknown length, which ends with the connection.
    pub(crate) fn begin(&mut self, kind: &str) -> io::Result<()> {
        let head = head_of(200, kind, crate::answer::POLICY, None);
        self.stream.write_all(head.as_bytes())
    }

    /// Writes a piece of it.
    pub(crate) fn piece(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes())
    }

    /// Ends the response. What the client still sends is dropped, within limits: closing at once would take the response back.
    pub(crate) fn close(mut self) {
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let (most, patience) = DRAINED;
        self.deadline = Instant::now() + patience;
        let (mut dropped, mut buffer) = (0, [0; 16384]);
        while dropped < most {
            match self.some(&mut buffer) {
                Ok(count) => dropped += count,
                Err(_) => return,
            }
        }
    }
}

/// The status line and the headers of a response.
fn head_of(status: u16, kind: &str, policy: &str, length: Option<usize>) -> String {
    let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {kind}\r\n{length}Connection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n",
        reason(status)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(text: &str) -> Result<usize, u16> {
        Head::parse(text).and_then(|head| head.length()).map_err(|answer| answer.status)
    }

    #[test]
    fn heads_are_read_and_bad_ones_refused() {
        let head = Head::parse("GET /a/b HTTP/1.1\r\nHost: x:1\r\nX: y:z").expect("a head");
        assert_eq!((head.method.as_str(), head.path.as_str()), ("GET", "/a/b"));
        assert_eq!((head.header("host"), head.header("x"), head.header("z")), (Some("x:1"), Some("y:z"), None));
        for (text, status) in [
            ("", 400),
            ("GET /", 400),
            ("GET http://x/ HTTP/1.1", 400),
            ("GET / HTTP/2.0", 505),
            ("GET / HTTP/1.1\r\nno colon", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nhost: b", 400),
        ] {
            assert_eq!(Head::parse(text).expect_err(text).status, status, "{text}");
        }
    }

    #[test]
    fn only_a_short_body_with_a_plain_length_is_read() {
        assert_eq!(length("GET / HTTP/1.1"), Ok(0));
        assert_eq!(length("POST / HTTP/1.1\r\nContent-Length: 12"), Ok(12));
        for (header, status) in [
            ("X: y", 411),
            ("Content-Length: 65537", 413),
            ("Content-Length: 99999999999999999999999999", 413),
            ("Content-Length: -1", 400),
            ("Content-Length: +5", 400),
            ("Content-Length: 0x10", 400),
            ("Content-Length: ", 400),
            ("Transfer-Encoding: chunked", 411),
        ] {
            assert_eq!(length(&format!("POST / HTTP/1.1\r\n{header}")), Err(status), "{header}");
        }
        assert_eq!(length("GET / HTTP/1.1\r\nContent-Length: 5"), Err(400));
    }
}
