//! One file over HTTP, continued where an earlier attempt broke off.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use ureq::http::{Response, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::files;

/// Larger than every known file.
const LIMIT: u64 = 256 << 20;
/// The time limit for a connection and for each piece of a response.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes written at a time.
const CHUNK: usize = 1 << 16;

/// The message for a host without an address.
const NOT_FOUND: &str = "the host was not found: there is no connection to the internet, or a proxy is needed";

/// The failure of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The message.
    pub(super) why: String,
    /// True if a part arrived, so that another attempt is worthwhile.
    pub(super) progress: bool,
}

/// Makes requests: through the proxy of the environment, if any, and trusting the certificates that the system trusts.
#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
}

impl Client {
    /// With `secure`, nothing but HTTPS is spoken, even if a server leads elsewhere.
    pub(super) fn new(secure: bool) -> Self {
        let config = Agent::config_builder()
            .https_only(secure)
            .http_status_as_error(false)
            .user_agent(concat!("standoff/", env!("CARGO_PKG_VERSION")))
            // The files are compressed already, and a range counts the bytes that are sent.
            .accept_encoding("identity")
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(PATIENCE))
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .build();
        Self { agent: config.into() }
    }

    /// Completes `part` from `url`: what it holds already is not asked for again. `seen` hears how many bytes there are, and of
    /// how many if the server says so.
    pub(super) fn complete(
        &self,
        url: &str,
        part: &mut File,
        seen: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<(), Failure> {
        let none = |why: String| Failure { why, progress: false };
        let have = part.seek(SeekFrom::End(0)).map_err(|error| none(local(&error)))?;
        let mut request = self.agent.get(url);
        if have > 0 {
            request = request.header("Range", format!("bytes={have}-"));
        }
        let answer = request.call().map_err(|error| none(explain(&error)))?;
        let start = match start_of(&answer, have) {
            Ok(start) => start,
            Err(why) => {
                // A range that the server does not have: the next attempt begins anew.
                let stale = have > 0 && answer.status() == StatusCode::RANGE_NOT_SATISFIABLE;
                if stale {
                    part.set_len(0).map_err(|error| none(local(&error)))?;
                }
                return Err(Failure { why, progress: stale });
            }
        };
        part.set_len(start).and_then(|()| part.seek(SeekFrom::Start(start))).map_err(|error| none(local(&error)))?;
        let total = answer.body().content_length().map(|length| start + length);
        let end = copy(answer.into_body().into_reader(), part, start, &mut |at| seen(at, total))?;
        match total {
            Some(total) if end < total => Err(Failure {
                why: format!("the connection broke off after {end} of {total} bytes"),
                progress: end > start,
            }),
            _ => Ok(()),
        }
    }
}

/// The byte that an answer begins with: 0, or `have` if the server continues.
fn start_of(answer: &Response<Body>, have: u64) -> Result<u64, String> {
    let status = answer.status();
    let range = answer.headers().get("content-range").and_then(|value| value.to_str().ok()).unwrap_or("");
    match status {
        StatusCode::OK => Ok(0),
        StatusCode::PARTIAL_CONTENT if range.starts_with(&format!("bytes {have}-")) => Ok(have),
        StatusCode::PARTIAL_CONTENT => {
            Err(format!("the server sent another part (`{range}`) than the one from {have} on"))
        }
        _ => Err(format!("the server answered {status}")),
    }
}

/// Writes what comes to the end of `part`; returns where it ends.
fn copy(mut from: impl Read, part: &mut File, start: u64, seen: &mut dyn FnMut(u64)) -> Result<u64, Failure> {
    let mut at = start;
    let mut chunk = vec![0; CHUNK];
    loop {
        let failed = |why: String| Failure { why, progress: at > start };
        match from.read(&mut chunk) {
            Ok(0) => return Ok(at),
            Ok(n) => {
                part.write_all(&chunk[..n]).map_err(|error| Failure { progress: false, ..failed(local(&error)) })?;
                at += n as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let why = format!("the connection broke off after {at} bytes: {}", explain(&error.into()));
                return Err(failed(why));
            }
        }
        if at > LIMIT {
            return Err(Failure { why: format!("sends more than {} MB", LIMIT >> 20), progress: false });
        }
        seen(at);
    }
}

/// The disk, not the network.
fn local(error: &io::Error) -> String {
    format!("cannot write: {}", files::plain(error))
}

/// The message for an error.
fn explain(error: &ureq::Error) -> String {
    use ureq::Error;
    match error {
        Error::HostNotFound => {
            "the host was not found: there is no connection to the internet, or a proxy is needed".into()
        }
        Error::Timeout(_) => format!("no answer within {} seconds", PATIENCE.as_secs()),
        Error::ConnectProxyFailed(why) => format!("the proxy refused to connect: {}", why.trim()),
        Error::InvalidProxyUrl => "the proxy of the environment is not a URL like http://host:port".into(),
        Error::RequireHttpsOnly(url) => format!("leads to {url}, which is not HTTPS"),
        Error::Io(error) => match error.get_ref().map(ToString::to_string) {
            Some(inner) if inner.contains("certificate") => certificate(&inner),
            // How the standard library puts it; there is no kind for it.
            _ if error.to_string().contains("failed to lookup address") => NOT_FOUND.into(),
            _ => files::plain(error),
        },
        Error::Rustls(error) => certificate(&error.to_string()),
        other => other.to_string(),
    }
}

/// A connection that is not safe.
fn certificate(why: &str) -> String {
    format!(
        "no secure connection: {why} (a company proxy's certificate must be one that the system trusts, or SSL_CERT_FILE)"
    )
}
