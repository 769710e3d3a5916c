//! The cookies of a session, and of a sign-in at an identity provider.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use super::origin::Origin;

/// Purpose of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// It ends with the browser's session; the server ends it earlier.
    Session,
    /// It binds a sign-in at an identity provider to the browser that has begun it.
    #[cfg(feature = "oidc")]
    SignIn,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Session => "ejob-session",
            #[cfg(feature = "oidc")]
            Self::SignIn => "ejob-sign-in",
        }
    }

    /// Returns the attribute with the time for which a browser keeps the cookie.
    fn age(self) -> String {
        match self {
            Self::Session => String::new(),
            #[cfg(feature = "oidc")]
            Self::SignIn => format!("; Max-Age={}", super::oidc::EXPIRY.as_secs()),
        }
    }
}

/// Name of the cookie for a console below a prefix.
///
/// A browser sends a cookie to all ports and paths of a host, so that two consoles of a host need
/// different names. The prefix `__Host-` lets a browser accept the cookie by HTTPS only, and only
/// from this host.
fn name(purpose: Purpose, prefix: &str, is_secure: bool) -> String {
    let start = if is_secure { "__Host-" } else { "" };
    format!("{start}{}{}", purpose.name(), prefix.replace('/', "."))
}

/// Returns the name of the cookie of a session without HTTPS.
pub(crate) fn session_name(prefix: &str) -> String {
    name(Purpose::Session, prefix, false)
}

/// Returns a cookie with an identifier.
pub(super) fn set(purpose: Purpose, prefix: &str, is_secure: bool, id: &str) -> HeaderValue {
    value(&name(purpose, prefix, is_secure), is_secure, id, &purpose.age())
}

/// Returns the cookies that remove the one of a session.
pub(super) fn remove(prefix: &str) -> [HeaderValue; 2] {
    [true, false].map(|is_secure| {
        value(&name(Purpose::Session, prefix, is_secure), is_secure, "", "; Max-Age=0")
    })
}

fn value(name: &str, is_secure: bool, id: &str, rest: &str) -> HeaderValue {
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{name}={id}; Path=/; HttpOnly; SameSite=Lax{secure}{rest}");
    HeaderValue::from_str(&cookie).expect("names, prefixes and identifiers are ASCII")
}

/// Returns the identifier in a cookie of a request. A cookie without the prefix `__Host-` counts on
/// this machine only: elsewhere, another host of the domain may have set it.
pub(super) fn read(
    purpose: Purpose,
    prefix: &str,
    headers: &HeaderMap,
    origin: &Origin,
) -> Option<String> {
    let find = |is_secure| {
        let name = name(purpose, prefix, is_secure);
        let texts = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = texts.flat_map(|text| text.split(';')).filter_map(|c| c.split_once('='));
        pairs.find_map(|(key, value)| (key.trim() == name).then(|| value.trim().to_owned()))
    };
    find(true).or_else(|| find(false).filter(|_| origin.is_loopback_host()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::http::{Extensions, Uri};

    use super::*;

    fn session(host: &'static str, cookie: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static(host));
        headers.insert(COOKIE, HeaderValue::from_str(cookie).unwrap());
        let uri = Uri::from_static("/");
        let origin = Origin::of(&headers, &uri, &Extensions::new(), &BTreeSet::new());
        read(Purpose::Session, "/ejob", &headers, &origin)
    }

    #[test]
    fn cookie_is_bound_to_the_host() {
        let session = Purpose::Session;
        let cookie = set(session, "/ejob", true, "1f");
        let expected = "__Host-ejob-session.ejob=1f; Path=/; HttpOnly; SameSite=Lax; Secure";
        assert_eq!(cookie, expected);
        assert_eq!(
            set(session, "", false, "1f"),
            "ejob-session=1f; Path=/; HttpOnly; SameSite=Lax"
        );
    }

    #[test]
    fn plain_cookie_counts_on_this_machine_only() {
        let both = "a=b; ejob-session.ejob=plain; __Host-ejob-session.ejob=secure";
        assert_eq!(session("jobs.example", both).as_deref(), Some("secure"));
        assert_eq!(session("localhost:8080", both).as_deref(), Some("secure"));
        let plain = "ejob-session=other; ejob-session.ejob=plain";
        assert_eq!(session("jobs.example", plain), None);
        assert_eq!(session("localhost:8080", plain).as_deref(), Some("plain"));
        assert_eq!(session("localhost:8080", "ejob-session=other"), None);
    }
}
