//! The door: a request is admitted if it has the token, is addressed to this machine by name, and comes from no other site.

use crate::answer::Answer;
use crate::error::Error;
use crate::http::Head;

/// Bytes of the token.
const BYTES: usize = 16;

/// The token and the port of a server.
#[derive(Debug)]
pub(crate) struct Door {
    token: String,
    port: u16,
}

impl Door {
    /// A door with a new random token.
    pub(crate) fn new(port: u16) -> Result<Self, Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| Error::Random(error.to_string()))?;
        Ok(Self { token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(), port })
    }

    /// The address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The path below the token, or a refusal.
    pub(crate) fn admit<'h>(&self, head: &'h Head) -> Result<&'h str, Answer> {
        let refused = |why: &str| Answer::refusal(403, why);
        // A name of another site that leads to this machine (DNS rebinding) is refused by the first check, pages of another site by
        // the other two.
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        if !head.header("host").is_some_and(|host| hosts.iter().any(|known| known == host)) {
            return Err(refused("this server answers only to 127.0.0.1 and localhost"));
        }
        let own = |origin: &str| hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host));
        if head.header("origin").is_some_and(|origin| !own(origin)) {
            return Err(refused("requests from other sites are refused"));
        }
        if head.header("sec-fetch-site").is_some_and(|site| !["same-origin", "none"].contains(&site)) {
            return Err(refused("requests from other sites are refused"));
        }
        let path = head.path.strip_prefix('/').unwrap_or_default();
        match path.split_once('/') {
            Some((token, rest)) if same(token, &self.token) => Ok(rest),
            _ => Err(refused("open the whole address that `standoff play` printed: its token is missing or wrong")),
        }
    }
}

/// Compares without leaving at the first difference, so that the time says nothing about the token.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_are_compared_as_a_whole() {
        let (a, b) = (Door::new(1).expect("a door"), Door::new(1).expect("a door"));
        assert!(a.token.len() == 2 * BYTES && a.token != b.token);
        assert!(same("abc", "abc") && !same("abc", "abd") && !same("abc", "ab") && !same("", "a"));
    }
}
