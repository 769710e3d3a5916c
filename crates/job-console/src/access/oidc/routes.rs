//! The addresses of a sign-in at the provider.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::header::{LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use url::Url;

use super::provider::{Fault, Provider, Signed};
use super::{BEGIN, CALLBACK};
use crate::access::cookie::{self, Purpose};
use crate::access::form::{Files, document};
use crate::access::origin::Origin;
use crate::access::secret::random_id;
use crate::access::sessions::Holder;
use crate::access::sign_in::{NextPage, next_address, seconds};
use crate::console::Shared;
use crate::problem::Problem;
use crate::routes::Routes;

/// Longest code that is passed on, in bytes.
const MAX_CODE: usize = 4096;

/// Adds the routes, which need no caller.
pub(in crate::access) fn add_routes(routes: Routes) -> Routes {
    routes.public(BEGIN, get(begin)).public(CALLBACK, get(complete))
}

/// Parameters that the provider adds to the address of the console.
#[derive(Deserialize)]
struct Returned {
    state: Option<String>,
    code: Option<String>,
    /// Kind of the error, if the provider has refused the sign-in.
    error: Option<String>,
    /// Issuer (RFC 9207), if the provider adds it.
    iss: Option<String>,
}

/// Why a sign-in is refused.
#[derive(Debug, thiserror::Error)]
enum Denied {
    #[error(
        "The sign-in has expired, or it was begun in another browser or at another address of the \
         console. Begin it again."
    )]
    Unknown,
    #[error("The identity provider has refused the sign-in: {0}.")]
    Refused(String),
    #[error("The identity provider cannot be used at the moment. Try again later.")]
    Unusable,
    #[error("The identity provider's answer is not valid. Begin the sign-in again.")]
    Invalid,
    #[error("User {0:?} has no role in this console. Ask its operator for one.")]
    NoRole(String),
    #[error("There were too many attempts. Try again in {0} s.")]
    TooMany(u64),
}

async fn begin(
    State(shared): State<Shared>,
    Extension(origin): Extension<Origin>,
    headers: HeaderMap,
    Query(page): Query<NextPage>,
) -> Response {
    let Some(provider) = provider(&shared) else { return without_provider(&shared) };
    let next = next_address(&shared, &page.next);
    // Sign-ins in several tabs share the cookie.
    let browser = cookie::read(Purpose::SignIn, &shared.prefix, &headers, &origin);
    let browser = browser.unwrap_or_else(random_id);
    match provider.begin(&shared.prefix, &browser, origin.client, next).await {
        Ok(url) => {
            let is_secure = provider.settings.address.scheme() == "https";
            let cookie = cookie::set(Purpose::SignIn, &shared.prefix, is_secure, &browser);
            (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie)], [(LOCATION, url.to_string())])
                .into_response()
        }
        Err(fault) => refuse(&shared, &Denied::of(&fault), &fault.to_string(), None, origin.client),
    }
}

async fn complete(
    State(shared): State<Shared>,
    Extension(origin): Extension<Origin>,
    headers: HeaderMap,
    Query(returned): Query<Returned>,
) -> Response {
    let Some(provider) = provider(&shared) else { return without_provider(&shared) };
    let (access, client) = (&shared.access, origin.client);
    if let Err(wait) = access.limit.begin(None, client) {
        return refuse(&shared, &Denied::TooMany(seconds(wait)), "too many sign-ins", None, client);
    }
    let browser = cookie::read(Purpose::SignIn, &shared.prefix, &headers, &origin);
    let state = returned.state.as_deref().unwrap_or_default();
    let sign_in = provider.sign_ins.take(state, &browser.unwrap_or_default());
    let Some(sign_in) = sign_in else {
        return refuse(&shared, &Denied::Unknown, "unknown state", None, client);
    };
    if let Some(issuer) = returned.iss.filter(|issuer| issuer != provider.issuer()) {
        let reason = format!("the answer is from the issuer {issuer:?}");
        return refuse(&shared, &Denied::Invalid, &reason, None, client);
    }
    let code = match (returned.code, returned.error) {
        (Some(code), None) if (1..=MAX_CODE).contains(&code.len()) => code,
        (_, error) => {
            let denied = Denied::Refused(error_kind(error.as_deref()));
            return refuse(&shared, &denied, &denied.to_string(), None, client);
        }
    };
    let secrets = (sign_in.nonce, sign_in.verifier);
    match provider.complete(&shared.prefix, code, secrets).await {
        Ok(signed) => signed_in(&shared, provider, signed, sign_in.next, client),
        Err(fault) => {
            if matches!(fault, Fault::Unusable(_)) {
                access.limit.withdraw(None, client);
            }
            let denied = Denied::of(&fault);
            let user = if let Denied::NoRole(user) = &denied { Some(user.as_str()) } else { None };
            refuse(&shared, &denied, &fault.to_string(), user, client)
        }
    }
}

/// Starts the session of a user.
fn signed_in(
    shared: &Shared,
    provider: &Provider,
    signed: Signed,
    next: String,
    client: Option<IpAddr>,
) -> Response {
    let access = &shared.access;
    access.limit.succeed(None, client);
    let name = signed.caller.name.clone();
    access.log.signed_in(&name, signed.caller.role, client);
    let id = access.sessions.start(&name, Holder::Provider(Arc::new(signed)));
    let is_secure = provider.settings.address.scheme() == "https";
    let session = cookie::set(Purpose::Session, &shared.prefix, is_secure, &id);
    let ended = cookie::remove(Purpose::SignIn, &shared.prefix).map(|cookie| (SET_COOKIE, cookie));
    let cookies = AppendHeaders([(SET_COOKIE, session)]);
    (StatusCode::SEE_OTHER, AppendHeaders(ended), cookies, [(LOCATION, next)]).into_response()
}

/// Returns the page after a sign-out that leads to the sign-out at the provider.
///
/// It is a page and no redirect, because the answer to a form may not lead to another site.
pub(in crate::access) fn sign_out_page(label: &str, files: &Files, url: &Url) -> Markup {
    let main = html! {
        h1 { "Signed out" }
        p { a href=(url.as_str()) { "Sign out at " (label) } }
    };
    document("Signed out", files, Some(url.as_str()), &main)
}

fn provider(shared: &Shared) -> Option<&Arc<Provider>> {
    shared.access.oidc.as_ref()
}

fn without_provider(shared: &Shared) -> Response {
    let detail = format!("the console has no identity provider; it has {}", shared.access);
    Problem::not_found("no-sign-in-page", detail).into_response()
}

fn refuse(
    shared: &Shared,
    denied: &Denied,
    reason: &str,
    user: Option<&str>,
    client: Option<IpAddr>,
) -> Response {
    shared.access.log.refused(reason, user, client);
    let (status, code) = match denied {
        Denied::Unknown => (StatusCode::BAD_REQUEST, "sign-in-unknown"),
        Denied::Refused(_) | Denied::Invalid => (StatusCode::UNAUTHORIZED, "sign-in-refused"),
        Denied::Unusable => (StatusCode::BAD_GATEWAY, "identity-provider"),
        Denied::NoRole(_) => (StatusCode::FORBIDDEN, "no-role"),
        Denied::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, "too-many-sign-ins"),
    };
    let mut response = Problem::new(status, code, denied.to_string()).into_response();
    if let Denied::TooMany(wait) = denied {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(*wait));
    }
    response
}

impl Denied {
    fn of(fault: &Fault) -> Self {
        use super::claims::NoCaller;
        match fault {
            Fault::Unusable(_) => Self::Unusable,
            Fault::Token(_) | Fault::NoCaller(NoCaller::Nameless(_) | NoCaller::Name { .. }) => {
                Self::Invalid
            }
            Fault::NoCaller(NoCaller::Roleless { user, .. }) => Self::NoRole(user.clone()),
        }
    }
}

/// Returns the kind of an error that the provider, or a forger of its answer, has named.
fn error_kind(error: Option<&str>) -> String {
    let is_kind = |kind: &&str| {
        (1..=64).contains(&kind.len()) && kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    error.filter(is_kind).unwrap_or("without a reason").to_owned()
}
