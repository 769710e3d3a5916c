//! Users whom a proxy has signed in and names in a header.

use std::collections::BTreeSet;
use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName};

use super::file::check_name;
use super::grant::Grants;
use super::{AccessError, Caller, Role};

/// A proxy that signs users in, and names the user of each request in a header.
///
/// The header is believed only if the request comes from one of the named addresses. A request
/// with the header from another address is refused.
///
/// # Examples
/// ```
/// use job_console::{Access, Proxy, Role};
///
/// let proxy = Proxy::new("x-forwarded-user", ["10.0.0.7".parse()?])?
///     .groups_header("x-forwarded-groups")?
///     .group("operations", Role::Operator, "*")?
///     .everyone(Role::Viewer, "*")?;
/// let access = Access::sign_in().proxy(proxy);
/// # drop(access);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Proxy {
    user_header: HeaderName,
    peers: BTreeSet<IpAddr>,
    groups_header: Option<HeaderName>,
    grants: Grants,
}

/// Why a request is refused because of the headers of a proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProxyRefused {
    #[error("the header {header} is accepted from the proxy only")]
    OtherPeer { header: HeaderName },
    #[error("the header {header} is not valid: {reason}")]
    Invalid { header: HeaderName, reason: String },
    #[error("user {user:?} belongs to no group that has a role in this console")]
    NoRole { user: String },
}

impl Proxy {
    /// Creates a proxy from the name of its user header and its addresses.
    ///
    /// # Errors
    /// [`AccessError::Header`] if the name is no header name.
    pub fn new(
        user_header: &str,
        peers: impl IntoIterator<Item = IpAddr>,
    ) -> Result<Self, AccessError> {
        Ok(Self {
            user_header: header(user_header)?,
            peers: peers.into_iter().map(|peer| peer.to_canonical()).collect(),
            groups_header: None,
            grants: Grants::default(),
        })
    }

    /// Sets the header with the groups of the user, separated by commas.
    ///
    /// # Errors
    /// [`AccessError::Header`] if the name is no header name.
    pub fn groups_header(mut self, name: &str) -> Result<Self, AccessError> {
        self.groups_header = Some(header(name)?);
        Ok(self)
    }

    /// Gives a group a role, for jobs that a pattern matches. If a user belongs to several groups,
    /// the highest role counts, and the first group among those with the same role.
    ///
    /// # Errors
    /// [`AccessError::Grant`] if the name or the pattern is not valid.
    pub fn group(mut self, name: &str, role: Role, jobs: &str) -> Result<Self, AccessError> {
        self.grants.add(name, role, jobs)?;
        Ok(self)
    }

    /// Gives each user of the proxy a role that no group of the user has to give.
    ///
    /// # Errors
    /// [`AccessError::Grant`] if the pattern is not valid.
    pub fn everyone(mut self, role: Role, jobs: &str) -> Result<Self, AccessError> {
        self.grants.set_everyone(role, jobs)?;
        Ok(self)
    }

    pub(super) fn user_header(&self) -> &HeaderName {
        &self.user_header
    }

    pub(super) fn peers(&self) -> impl Iterator<Item = IpAddr> {
        self.peers.iter().copied()
    }

    /// Returns the user that the proxy names, or `None` if the request has no user header.
    pub(super) fn caller(
        &self,
        peer: Option<IpAddr>,
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, ProxyRefused> {
        let is_proxy = peer.is_some_and(|peer| self.peers.contains(&peer));
        let believed = [Some(&self.user_header), self.groups_header.as_ref()];
        let mut sent = believed.into_iter().flatten().filter(|name| headers.contains_key(*name));
        if let Some(header) = sent.next().filter(|_| !is_proxy) {
            return Err(ProxyRefused::OtherPeer { header: header.clone() });
        }
        let Some(user) = single(headers, &self.user_header)? else { return Ok(None) };
        check_name(user).map_err(|reason| invalid(&self.user_header, &reason))?;
        let groups = self.groups_header.as_ref().map(|name| single(headers, name)).transpose()?;
        let groups = groups.flatten().unwrap_or_default();
        let groups: BTreeSet<&str> = groups.split(',').map(str::trim).collect();
        let caller = self.grants.caller(user, &groups);
        caller.map(Some).ok_or_else(|| ProxyRefused::NoRole { user: user.to_owned() })
    }
}

fn header(name: &str) -> Result<HeaderName, AccessError> {
    let invalid = |_| AccessError::Header { name: name.to_owned() };
    HeaderName::from_bytes(name.as_bytes()).map_err(invalid)
}

/// Returns the text of a header, which must not occur twice: a client may have sent one, and the
/// proxy the other.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ProxyRefused> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(invalid(
            name,
            "it occurs twice; the proxy has to remove the one of the client",
        ));
    }
    let text = std::str::from_utf8(value.as_bytes());
    Ok(Some(text.map_err(|_| invalid(name, "it is no UTF-8"))?))
}

fn invalid(header: &HeaderName, reason: &str) -> ProxyRefused {
    ProxyRefused::Invalid { header: header.clone(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn proxy() -> Proxy {
        let proxy = Proxy::new("X-User", ["10.0.0.7".parse().unwrap()]).unwrap();
        let proxy = proxy.groups_header("X-Groups").unwrap();
        let proxy = proxy.group("ops", Role::Operator, "report-*").unwrap();
        proxy.group("boss", Role::Admin, "*").unwrap()
    }

    fn ask(
        proxy: &Proxy,
        peer: Option<&str>,
        headers: &[(&'static str, &str)],
    ) -> Result<Option<(Role, String)>, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let peer = peer.map(|peer| peer.parse::<IpAddr>().unwrap().to_canonical());
        let caller = proxy.caller(peer, &map).map_err(|refused| refused.to_string())?;
        Ok(caller.map(|caller| (caller.role, caller.jobs)))
    }

    #[test]
    fn groups_of_the_user_decide_the_role() {
        let proxy = proxy();
        let of = |groups: &str| {
            ask(&proxy, Some("10.0.0.7"), &[("x-user", "anna"), ("x-groups", groups)])
        };
        assert_eq!(of("staff, ops"), Ok(Some((Role::Operator, "report-*".to_owned()))));
        assert_eq!(of("ops,boss"), Ok(Some((Role::Admin, "*".to_owned()))));
        let refused = "user \"anna\" belongs to no group that has a role in this console";
        assert_eq!(of("staff"), Err(refused.to_owned()));
        let proxy = proxy.clone().everyone(Role::Viewer, "*").unwrap();
        let all = ask(&proxy, Some("::ffff:10.0.0.7"), &[("x-user", "安娜")]);
        assert_eq!(all, Ok(Some((Role::Viewer, "*".to_owned()))));
    }

    #[test]
    fn headers_are_refused_from_other_peers() {
        let proxy = proxy();
        let refused = Err("the header x-user is accepted from the proxy only".to_owned());
        for peer in [Some("10.0.0.8"), Some("::1"), None] {
            assert_eq!(ask(&proxy, peer, &[("x-user", "anna"), ("x-groups", "boss")]), refused);
            assert_eq!(ask(&proxy, peer, &[]), Ok(None));
            assert!(ask(&proxy, peer, &[("x-groups", "boss")]).is_err());
        }
    }

    #[test]
    fn header_names_one_user() {
        let proxy = proxy();
        for (headers, expected) in [
            (&[("x-user", "anna"), ("x-user", "bob")][..], "header x-user is not valid: it occurs"),
            (&[("x-user", "")], "header x-user is not valid: name is \"\""),
            (&[("x-user", "an\tna")], "header x-user is not valid: name is \"an\\tna\""),
            (
                &[("x-user", "anna"), ("x-groups", "staff"), ("x-groups", "boss")],
                "header x-groups is not valid: it occurs",
            ),
        ] {
            let refused = ask(&proxy, Some("10.0.0.7"), headers).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
        assert!(Proxy::new("x user", []).is_err());
    }
}
