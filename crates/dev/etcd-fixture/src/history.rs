//! Requests about leases, and about states of the past.

use std::io;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::users::base64;
use crate::{Error, http};

const RANGE: &str = "/v3/kv/range";

/// A key at some revision.
struct Look {
    exists: bool,
    /// Revision of the server at the time of the answer.
    revision: u64,
}

/// Ends a lease as its expiry does: all its keys are deleted at one revision. The server needs a
/// plain port for this. Blocks for at most 5 s.
///
/// # Errors
/// [`Error::NoAnswer`], and [`Error::Rejected`] also for a lease that is over.
pub fn revoke_lease(server: SocketAddr, id: i64) -> Result<(), Error> {
    let request = json!({ "ID": id.to_string() }).to_string();
    http::post(server, "/v3/lease/revoke", &request).map(drop)
}

/// Returns the revision at which a key was deleted after the revision `existed`.
///
/// `None` if the key did not exist at that revision, or still exists. The key must not have been
/// created again since then, and the server must not have compacted that revision. Blocks for at
/// most 5 s for each of about 15 requests.
///
/// # Errors
/// [`Error::NoAnswer`] and [`Error::Rejected`].
pub fn deletion_revision(
    server: SocketAddr,
    key: &str,
    existed: u64,
) -> Result<Option<u64>, Error> {
    let now = look(server, key, None)?;
    if now.exists || !look(server, key, Some(existed))?.exists {
        return Ok(None);
    }
    // The key exists at the first of the two, and not at the second.
    let (mut before, mut after) = (existed, now.revision);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        match look(server, key, Some(middle))?.exists {
            true => before = middle,
            false => after = middle,
        }
    }
    Ok(Some(after))
}

/// Looks for a key, at a revision or now.
fn look(server: SocketAddr, key: &str, at: Option<u64>) -> Result<Look, Error> {
    let mut request = json!({ "key": base64(key.as_bytes()), "keys_only": true });
    if let Some(revision) = at {
        request["revision"] = revision.to_string().into();
    }
    let body = http::post(server, RANGE, &request.to_string())?;
    parse(&body).ok_or_else(|| Error::NoAnswer {
        address: server,
        request: format!("POST {RANGE}"),
        source: io::Error::new(io::ErrorKind::InvalidData, format!("it answered {body:?}")),
    })
}

/// Parses an answer; `None` if it is none of a range.
fn parse(body: &str) -> Option<Look> {
    let answer: Value = serde_json::from_str(body).ok()?;
    let revision = answer.get("header")?.get("revision")?.as_str()?.parse().ok()?;
    // The server omits a count of zero.
    let exists = answer.get("count").is_some();
    Some(Look { exists, revision })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Server;

    fn post(server: SocketAddr, path: &str, request: &Value) {
        http::post(server, path, &request.to_string()).unwrap();
    }

    /// Writes a key, with a lease or without, and returns the revision of the write.
    fn put(server: SocketAddr, key: &str, lease: i64) -> u64 {
        let key = base64(key.as_bytes());
        post(server, "/v3/kv/put", &json!({ "key": key, "lease": lease.to_string() }));
        look(server, "other", None).unwrap().revision
    }

    #[test]
    fn deletion_of_a_key_is_found_at_the_end_of_its_lease() {
        let running = Server::start().unwrap();
        let server = running.address();
        post(server, "/v3/lease/grant", &json!({ "ID": "77", "TTL": "600" }));
        let existed = put(server, "mine", 77);
        assert_eq!(deletion_revision(server, "mine", existed).unwrap(), None, "it exists");
        let mut before = existed;
        for n in 0..20 {
            before = put(server, &format!("before-{n}"), 0);
        }
        revoke_lease(server, 77).unwrap();
        let after = put(server, "after", 0);
        for n in 0..7 {
            put(server, &format!("later-{n}"), 0);
        }
        for existed in [existed, before] {
            assert_eq!(deletion_revision(server, "mine", existed).unwrap(), Some(before + 1));
        }
        assert_eq!(deletion_revision(server, "mine", after).unwrap(), None, "it was gone by then");
        let again = revoke_lease(server, 77);
        assert!(matches!(again, Err(Error::Rejected { .. })), "{again:?}");
    }

    #[test]
    fn answer_without_a_revision_is_no_answer() {
        let exists = |body| parse(body).map(|look| look.exists);
        assert_eq!(exists(r#"{"header":{"revision":"4"},"count":"1"}"#), Some(true));
        assert_eq!(exists(r#"{"header":{"revision":"4"}}"#), Some(false));
        assert_eq!(exists(r#"{"error":"x"}"#), None);
        assert_eq!(exists("<html>"), None);
    }
}
