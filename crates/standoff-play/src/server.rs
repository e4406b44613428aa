//! The server: it accepts connections on the loopback address, each on a thread of its own, until a flag is set.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::answer::Answer;
use crate::door::Door;
use crate::error::Error;
use crate::http::Connection;
use crate::routes::Site;

/// Connections at once; more are closed. A browser uses six.
const MOST_CONNECTIONS: usize = 256;
/// Time between two looks for connections and for the flag.
const PAUSE: Duration = Duration::from_millis(10);

/// The choices of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The port; 0 for a random one.
    pub port: u16,
    /// The folder with run folders.
    pub runs: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self { port: 0, runs: PathBuf::from("runs") }
    }
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// Shared by all connections.
#[derive(Debug)]
struct Shared {
    door: Door,
    site: Site,
    connections: AtomicUsize,
}

/// One of the connections that count.
struct Counted<'s>(&'s AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Server {
    /// Listens on the loopback address, and draws a token.
    pub fn start(settings: &Settings) -> Result<Self, Error> {
        let refused = |source| Error::Listen { port: settings.port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port)).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        listener.set_nonblocking(true).map_err(refused)?;
        let (door, site) = (Door::new(port)?, Site::new(settings.runs.clone()));
        Ok(Self { listener, shared: Arc::new(Shared { door, site, connections: AtomicUsize::new(0) }) })
    }

    /// The address of the page, with its token.
    pub fn address(&self) -> String {
        self.shared.door.address()
    }

    /// Asks the system to open the page. Without a browser nothing happens.
    pub fn open_in_browser(&self) {
        crate::browser::open(&self.address());
    }

    /// Serves until the flag is set.
    pub fn run(&self, stop: &Arc<AtomicBool>) {
        while !stop.load(Ordering::Relaxed) {
            match self.listener.accept() {
                Ok((stream, _)) => self.serve(stream),
                // No connection waits, or the machine has no more files for now.
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    fn serve(&self, stream: TcpStream) {
        let shared = Arc::clone(&self.shared);
        if shared.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
            drop(Counted(&shared.connections));
            return;
        }
        let work = move || {
            let _counted = Counted(&shared.connections);
            // A bug in one request must not end the server; its message is on stderr.
            let _ = catch_unwind(AssertUnwindSafe(|| shared.handle(stream)));
        };
        if thread::Builder::new().name("play".to_owned()).spawn(work).is_err() {
            // The closure was dropped without running.
            self.shared.connections.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Shared {
    fn handle(&self, stream: TcpStream) {
        let Ok(mut connection) = Connection::new(stream) else { return };
        let head = match connection.head() {
            Ok(head) => head,
            Err(refusal) => return connection.answer(&refusal),
        };
        let path = match self.door.admit(&head) {
            Ok(path) => path,
            Err(refusal) => return connection.answer(&refusal),
        };
        let json = head.header("content-type").is_some_and(|kind| kind.split(';').next() == Some("application/json"));
        match connection.body(&head) {
            Err(refusal) => connection.answer(&refusal),
            Ok(body) => match head.method.as_str() {
                "GET" => connection.answer(&self.site.get(path)),
                // Forms of other sites cannot have this type.
                "POST" if !json => connection.answer(&Answer::refusal(415, "the body must be JSON")),
                "POST" => self.site.post(path, &body, connection),
                _ => connection.answer(&Answer::refusal(405, "only GET and POST are known here")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_an_error_that_names_it() {
        let first = Server::start(&Settings::default()).expect("a server");
        let port = first.listener.local_addr().expect("an address").port();
        let error = Server::start(&Settings { port, ..Settings::default() }).expect_err("taken");
        assert!(
            error.to_string().contains(&port.to_string())
                && matches!(error, Error::Listen { ref source, .. } if source.kind() == std::io::ErrorKind::AddrInUse)
        );
    }
}
