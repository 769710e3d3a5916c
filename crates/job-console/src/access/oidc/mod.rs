//! Sign-in at an identity provider by OpenID Connect: the code flow with PKCE.
//!
//! In reading order: this file (the settings) · `http`, `provider` (discovery, keys and tokens) ·
//! `claims` (the caller of a token) · `pending` (sign-ins that have begun) · `routes`.

mod claims;
mod http;
mod pending;
mod provider;
mod routes;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use outbound::SecretText;
use url::Url;

use super::grant::Grants;
use super::origin::is_loopback;
use super::{AccessError, Role};
use claims::{ClaimNames, check_claim};
pub(super) use pending::EXPIRY;
pub(super) use provider::{Provider, Signed};
pub(super) use routes::{add_routes, sign_out_page};

/// Path of the address to which the provider sends a browser back, below the prefix.
pub(super) const CALLBACK: &str = "/sign-in/oidc/callback";
/// Path of the address that begins a sign-in.
pub(super) const BEGIN: &str = "/sign-in/oidc";

/// Shortest and longest time of a session.
const SESSION: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(24 * 60 * 60)];

/// An identity provider that signs users in by OpenID Connect.
///
/// The console uses the code flow with PKCE, state and nonce, and reads the caller from the ID
/// token. It fetches the settings and keys of the provider at the first sign-in, so that it starts
/// although the provider cannot be reached. A wrong client secret is therefore found at the first
/// sign-in; one that cannot be read is found by [`Access::oidc`](super::Access::oidc).
///
/// # Examples
/// ```no_run
/// use job_console::{Access, Oidc, Role};
///
/// let oidc = Oidc::new("https://login.example.com", "ejob", "https://jobs.example.com")?
///     .client_secret("${file:/run/secrets/oidc}")?
///     .scope("groups")?
///     .role("operations", Role::Operator, "*")?
///     .everyone(Role::Viewer, "*")?;
/// let access = Access::sign_in().oidc(oidc)?;
/// # drop(access);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Oidc {
    /// As it is given: the provider's documents have to name it in the same way.
    issuer: String,
    client_id: String,
    client_secret: Option<SecretText>,
    /// Address of the console without path.
    address: Url,
    scopes: Vec<String>,
    label: String,
    claims: ClaimNames,
    grants: Grants,
    session: Duration,
}

impl Oidc {
    /// Creates the settings from the provider's issuer, the identifier of the console at the
    /// provider, and the public address of the console without a path.
    ///
    /// Register this redirect address at the provider: the address, the prefix of the console, and
    /// `/sign-in/oidc/callback`. After a sign-out the provider may lead back to the prefix and
    /// `/sign-in`.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if the issuer or the address is no `https` address, and no `http`
    /// address of this machine; if the address has a path; or if the identifier is empty.
    pub fn new(issuer: &str, client_id: &str, address: &str) -> Result<Self, AccessError> {
        let url = secure_url("issuer", issuer)?;
        let address_url = secure_url("address", address)?;
        if address_url.path() != "/" || address_url.query().is_some() {
            let valid = "an address without a path, such as https://jobs.example.com";
            return Err(invalid("address", address, valid));
        }
        let is_text = |c: char| c.is_ascii_graphic();
        if !(1..=256).contains(&client_id.len()) || !client_id.chars().all(is_text) {
            return Err(invalid("client_id", client_id, "1 to 256 visible ASCII characters"));
        }
        Ok(Self {
            issuer: issuer.to_owned(),
            client_id: client_id.to_owned(),
            client_secret: None,
            address: address_url,
            scopes: Vec::new(),
            label: url.host_str().unwrap_or_default().to_owned(),
            claims: ClaimNames::default(),
            grants: Grants::default(),
            session: Duration::from_secs(8 * 60 * 60),
        })
    }

    /// Sets the secret of the console at the provider, as the reference `${env:NAME}` or
    /// `${file:/absolute/path}`. It has to be readable when the console starts, and is resolved
    /// again at each sign-in. A public client has none.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if the text is no such reference. The text is not in the error.
    pub fn client_secret(mut self, reference: &str) -> Result<Self, AccessError> {
        let secret = SecretText::parse(reference).ok();
        let secret = secret.filter(|_| SecretText::is_reference(reference));
        let valid = "${env:NAME} or ${file:/absolute/path}";
        let secret = secret.ok_or_else(|| invalid("client_secret", "no reference", valid))?;
        self.client_secret = Some(secret);
        Ok(self)
    }

    /// Demands a scope besides `openid` and `profile`, such as `groups`.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if the text is no scope, or if there are more than 32.
    pub fn scope(mut self, scope: &str) -> Result<Self, AccessError> {
        let is_char = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        if !(1..=128).contains(&scope.len()) || !scope.chars().all(is_char) {
            let valid = "1 to 128 visible ASCII characters but for \" and \\";
            return Err(invalid("scopes", scope, valid));
        }
        if self.scopes.len() >= 32 {
            return Err(invalid("scopes", scope, "at most 32 scopes"));
        }
        self.scopes.push(scope.to_owned());
        Ok(self)
    }

    /// Sets the text on the sign-in page after "Sign in with". The default is the issuer's host.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if it is empty, or has more than 64 characters or a control
    /// character.
    pub fn label(mut self, label: &str) -> Result<Self, AccessError> {
        if !(1..=64).contains(&label.chars().count()) || label.chars().any(char::is_control) {
            let valid = "1 to 64 characters without control characters";
            return Err(invalid("label", label, valid));
        }
        label.clone_into(&mut self.label);
        Ok(self)
    }

    /// Sets the claim with the name of the user, which audit records show. The default is
    /// `preferred_username`. Users must not be able to change it at the provider.
    ///
    /// A dot leads into an object, unless the claim itself has the name with the dot.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if the name of the claim is not valid.
    pub fn name_claim(mut self, claim: &str) -> Result<Self, AccessError> {
        self.claims.name = check_claim("name_claim", claim)?;
        Ok(self)
    }

    /// Sets the claim with the groups or roles of the user: a text or a list of texts. The default
    /// is `groups`. A dot leads into an object, as in `realm_access.roles`.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if the name of the claim is not valid.
    pub fn roles_claim(mut self, claim: &str) -> Result<Self, AccessError> {
        self.claims.roles = check_claim("roles_claim", claim)?;
        Ok(self)
    }

    /// Gives a value of the roles claim a role, for jobs that a pattern matches. If a user has
    /// several values, the highest role counts, and the first value among those with the same role.
    ///
    /// # Errors
    /// [`AccessError::Grant`] if the value or the pattern is not valid.
    pub fn role(mut self, value: &str, role: Role, jobs: &str) -> Result<Self, AccessError> {
        self.grants.add(value, role, jobs)?;
        Ok(self)
    }

    /// Gives each user of the provider a role that no value of the roles claim has to give. Without
    /// it, a user without such a value is refused.
    ///
    /// # Errors
    /// [`AccessError::Grant`] if the pattern is not valid.
    pub fn everyone(mut self, role: Role, jobs: &str) -> Result<Self, AccessError> {
        self.grants.set_everyone(role, jobs)?;
        Ok(self)
    }

    /// Sets the longest time of a session. The default is 8 h. A change of the user's roles at the
    /// provider takes effect at the next sign-in.
    ///
    /// # Errors
    /// [`AccessError::Provider`] if it is not from 1 minute to 24 hours.
    pub fn session(mut self, longest: Duration) -> Result<Self, AccessError> {
        let [min, max] = SESSION;
        if !(min..=max).contains(&longest) {
            let given = format!("{longest:?}");
            return Err(invalid("session", &given, "a duration from 1m to 24h"));
        }
        self.session = longest;
        Ok(self)
    }

    /// Returns the address of a path of the console, as a browser reaches it.
    fn public(&self, prefix: &str, path: &str) -> Url {
        let mut url = self.address.clone();
        url.set_path(&format!("{prefix}{path}"));
        url
    }
}

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Oidc")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("address", &self.address.as_str())
            .finish_non_exhaustive()
    }
}

/// Parses an address to which secrets are sent.
fn secure_url(field: &'static str, text: &str) -> Result<Url, AccessError> {
    let url = Url::parse(text).ok().filter(is_secure);
    let url = url.filter(|url| url.username().is_empty() && url.password().is_none());
    let valid =
        "an https address, or an http address of this machine such as http://localhost:8080";
    // An address with a user may have a password, too.
    let shown = if text.contains('@') { "an address with a user" } else { text };
    url.filter(|url| url.fragment().is_none()).ok_or_else(|| invalid(field, shown, valid))
}

/// Returns true if a network cannot read what is sent to an address.
fn is_secure(url: &Url) -> bool {
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) => true,
        ("http", Some(host)) => is_loopback(host),
        _ => false,
    }
}

fn invalid(field: &'static str, value: &str, valid: &'static str) -> AccessError {
    AccessError::Provider { field, value: coordination::shortened(value), valid }
}
