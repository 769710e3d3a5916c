//! Origin of a request: the peer, the host that it names, and the site that made a browser send it.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use axum::extract::connect_info::{ConnectInfo, MockConnectInfo};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{Extensions, HeaderMap, Method, Uri};

/// Origin of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Address of the other end of the connection, if the server has passed it on.
    pub(super) peer: Option<IpAddr>,
    /// Address of the client: the peer, or the address that a named reverse proxy has added.
    pub(super) client: Option<IpAddr>,
    /// Host and port that the client wants to reach.
    pub(super) host: Option<Authority>,
}

impl Origin {
    pub(super) fn of(
        headers: &HeaderMap,
        uri: &Uri,
        extensions: &Extensions,
        reverse_proxies: &BTreeSet<IpAddr>,
    ) -> Self {
        let peer = peer(extensions);
        let is_proxy = peer.is_some_and(|peer| reverse_proxies.contains(&peer));
        let client = if is_proxy { forwarded_for(headers).or(peer) } else { peer };
        let named = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse().ok());
        Self { peer, client, host: named.or_else(|| uri.authority().cloned()) }
    }

    /// Returns true if the client names this machine by its loopback name or address.
    pub(super) fn is_loopback_host(&self) -> bool {
        self.host.as_ref().is_some_and(|host| is_loopback(host.host()))
    }
}

fn peer(extensions: &Extensions) -> Option<IpAddr> {
    let real = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let mock = || extensions.get::<MockConnectInfo<SocketAddr>>().map(|info| info.0);
    real.or_else(mock).map(|peer| peer.ip().to_canonical())
}

/// Returns the address that the nearest proxy has added. The client can send any others.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    let address: IpAddr = last.rsplit(',').next()?.trim().parse().ok()?;
    Some(address.to_canonical())
}

/// Returns true if a request came through a proxy, by its own account.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key("x-forwarded-for") || headers.contains_key("forwarded")
}

pub(super) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || address(host).is_some_and(|address| address.to_canonical().is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Checks the host that a request names. A page of another site can make its own name lead to this
/// machine (DNS rebinding), and the host betrays it.
///
/// Valid are loopback hosts, listed names, and, behind a sign-in, all addresses: health checks use
/// them, and no name leads to them.
pub(super) fn check_host(
    origin: &Origin,
    headers: &HeaderMap,
    listed: &BTreeSet<String>,
    has_sign_in: bool,
) -> Result<(), String> {
    let Some(host) = &origin.host else {
        // A browser always names the host, and a program need not.
        let is_named = headers.contains_key(HOST);
        return if is_named { Err("Host is no name and no address".to_owned()) } else { Ok(()) };
    };
    let name = host.host().to_ascii_lowercase();
    let is_accepted_address = has_sign_in && address(&name).is_some();
    if is_loopback(&name) || listed.contains(&name) || is_accepted_address {
        return Ok(());
    }
    let addresses = if has_sign_in { "addresses" } else { "loopback addresses" };
    let mut valid = vec!["localhost", addresses];
    valid.extend(listed.iter().map(String::as_str));
    Err(format!("host is {name:?}; valid are {}", valid.join(", ")))
}

/// Refuses a request that changes something unless a page of this console made the browser send
/// it, or the user typed its address.
pub(super) fn check_site(
    method: &Method,
    headers: &HeaderMap,
    origin: &Origin,
) -> Result<(), String> {
    if method.is_safe() {
        return Ok(());
    }
    let valid = "valid is a request of a page of this console, or one with a bearer token";
    if let Some(site) = headers.get("sec-fetch-site") {
        return match site.as_bytes() {
            b"same-origin" | b"none" => Ok(()),
            _ => Err(format!("Sec-Fetch-Site is {site:?}; {valid}")),
        };
    }
    let Some(sender) = headers.get(ORIGIN) else {
        return Err(format!("neither Sec-Fetch-Site nor Origin is given; {valid}"));
    };
    let authority = sender.to_str().ok().and_then(|sender| sender.split_once("://"));
    let authority = authority.and_then(|(_, authority)| authority.parse::<Authority>().ok());
    // `Authority` compares without case.
    if authority.is_some() && authority == origin.host {
        return Ok(());
    }
    let host = origin.host.as_ref().map_or("none", Authority::as_str);
    Err(format!("Origin is {sender:?} and Host is {host:?}; {valid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(rows: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in rows {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn origin(rows: &[(&'static str, &'static str)], peer: &str) -> Origin {
        let mut extensions = Extensions::new();
        extensions.insert(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
        let proxies = ["10.0.0.1".parse().unwrap()].into();
        Origin::of(&headers(rows), &Uri::from_static("/"), &extensions, &proxies)
    }

    #[test]
    fn client_is_the_peer_or_the_last_address_of_a_named_proxy() {
        let rows = &[("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "2.2.2.2, 3.3.3.3")];
        for (peer, expected) in [
            ("10.0.0.1:80", "3.3.3.3"),
            ("[::ffff:10.0.0.1]:80", "3.3.3.3"),
            ("10.0.0.2:80", "10.0.0.2"),
        ] {
            assert_eq!(origin(rows, peer).client, Some(expected.parse().unwrap()), "{peer}");
        }
        let unreadable = origin(&[("x-forwarded-for", "unknown")], "10.0.0.1:80");
        assert_eq!(unreadable.client, Some("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn only_loopback_and_listed_hosts_are_accepted() {
        let listed = ["jobs.example.com".to_owned()].into();
        for (host, is_valid) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1:8080", true),
            ("127.1.2.3", true),
            ("[::1]:8080", true),
            ("Jobs.Example.com:8443", true),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("192.168.0.4", false),
            ("evil.example", false),
            ("evil example", false),
        ] {
            let rows = &[("host", host)];
            let check = |has_sign_in| {
                check_host(&origin(rows, "[::1]:1"), &headers(rows), &listed, has_sign_in)
            };
            assert_eq!(check(false).is_ok(), is_valid, "{host}");
            assert_eq!(check(true).is_ok(), is_valid || host == "192.168.0.4", "{host}");
        }
        assert!(check_host(&origin(&[], "[::1]:1"), &headers(&[]), &listed, false).is_ok());
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        const SITE: &str = "sec-fetch-site";
        let host = ("host", "jobs.example:8080");
        for (rows, is_valid) in [
            (&[host, (SITE, "same-origin")][..], true),
            (&[host, (SITE, "none")], true),
            (&[host, (SITE, "same-site")], false),
            (&[host, (SITE, "cross-site")], false),
            (&[host, (SITE, "cross-site"), ("origin", "http://jobs.example:8080")], false),
            (&[host, ("origin", "http://jobs.example:8080")], true),
            (&[host, ("origin", "https://JOBS.example:8080")], true),
            (&[host, ("origin", "http://jobs.example")], false),
            (&[host, ("origin", "http://evil.example")], false),
            (&[host, ("origin", "null")], false),
            (&[("origin", "http://jobs.example:8080")], false),
            (&[host], false),
        ] {
            let headers = headers(rows);
            let origin = origin(rows, "[::1]:1");
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                let checked = check_site(&method, &headers, &origin);
                assert_eq!(checked.is_ok(), is_valid, "{method} {rows:?}: {checked:?}");
            }
            assert_eq!(check_site(&Method::GET, &headers, &origin), Ok(()));
        }
    }
}
