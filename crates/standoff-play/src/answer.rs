//! Responses: a status, a kind of content and a body.

use std::borrow::Cow;

use serde_json::{Value, json};

/// Sources that a response may load, and sites that may frame it. Nothing comes from another site.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// The policy of a report, which forbids more by itself.
const FRAMED: &str = "frame-ancestors 'self'";

/// A whole response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) policy: &'static str,
    pub(crate) body: Cow<'static, [u8]>,
}

impl Answer {
    pub(crate) fn file(kind: &'static str, text: &'static str) -> Self {
        Self { status: 200, kind, policy: POLICY, body: Cow::Borrowed(text.as_bytes()) }
    }

    pub(crate) fn page(html: String) -> Self {
        Self { status: 200, kind: "text/html; charset=utf-8", policy: POLICY, body: Cow::Owned(html.into_bytes()) }
    }

    pub(crate) fn report(html: String) -> Self {
        Self { policy: FRAMED, ..Self::page(html) }
    }

    pub(crate) fn json(value: &Value) -> Self {
        let body = Cow::Owned(value.to_string().into_bytes());
        Self { status: 200, kind: "application/json", policy: POLICY, body }
    }

    /// A refusal with its reason, as JSON.
    pub(crate) fn refusal(status: u16, why: &str) -> Self {
        Self { status, ..Self::json(&json!({ "error": why })) }
    }
}

/// The words of a status line.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}
