//! The addresses of a sign-in at the provider.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Query, State};
use axum::http::header::{LOCATION, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;

use super::claims::NoCaller;
use super::pending::SignIn;
use super::provider::{Fault, Provider, Signed};
use super::{BEGIN, CALLBACK};
use crate::access::cookie::{self, Purpose};
use crate::access::form::{Files, SignInPage, document, render};
use crate::access::origin::Origin;
use crate::access::secret::{is_random_id, random_id};
use crate::access::sessions::Holder;
use crate::access::sign_in::{NextPage, next_address, seconds};
use crate::console::Shared;
use crate::pages::{Lang, language_of};
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

/// A sign-in that does not end with a session.
struct Refused {
    denied: Denied,
    /// Reason for the log.
    reason: String,
    /// Address of the page that follows, if the user begins again.
    next: String,
}

async fn begin(
    State(shared): State<Shared>,
    Extension(origin): Extension<Origin>,
    uri: Uri,
    headers: HeaderMap,
    Query(page): Query<NextPage>,
) -> Response {
    let Some(provider) = provider(&shared) else { return without_provider(&shared) };
    let next = next_address(&shared, &page.next);
    // Sign-ins in several tabs share the cookie. A value that others can know would bind nothing.
    let browser = cookie::read(Purpose::SignIn, &shared.prefix, &headers, &origin);
    let browser = browser.filter(|id| is_random_id(id)).unwrap_or_else(random_id);
    match provider.begin(&shared.prefix, &browser, origin.client, next.clone()).await {
        Ok(url) => {
            let is_secure = provider.settings.address.scheme() == "https";
            let cookie = cookie::set(Purpose::SignIn, &shared.prefix, is_secure, &browser);
            let headers = [(SET_COOKIE, cookie)];
            (StatusCode::SEE_OTHER, headers, [(LOCATION, url.to_string())]).into_response()
        }
        Err(fault) => {
            Refused::of(&fault, next).answer(&shared, language_of(&uri, &headers), origin.client)
        }
    }
}

async fn complete(
    State(shared): State<Shared>,
    Extension(origin): Extension<Origin>,
    uri: Uri,
    headers: HeaderMap,
    Query(returned): Query<Returned>,
) -> Response {
    let Some(provider) = provider(&shared) else { return without_provider(&shared) };
    let (access, client) = (&shared.access, origin.client);
    let browser = cookie::read(Purpose::SignIn, &shared.prefix, &headers, &origin);
    let state = returned.state.as_deref().unwrap_or_default();
    // Any page can send its readers here with a wrong state. That must not lock their address.
    let Some(sign_in) = provider.sign_ins.take(state, browser.as_deref()) else {
        let refused = Refused::new(Denied::Unknown, "unknown state", shared.href("/"));
        return refused.answer(&shared, language_of(&uri, &headers), client);
    };
    let signed = match access.limit.begin(None, client) {
        Ok(()) => check(&shared, provider, sign_in, returned).await,
        Err(wait) => {
            Err(Refused::new(Denied::TooMany(seconds(wait)), "too many sign-ins", sign_in.next))
        }
    };
    let (signed, next) = match signed {
        Ok(signed) => signed,
        Err(refused) => {
            if matches!(refused.denied, Denied::Unusable) {
                access.limit.withdraw(None, client);
            }
            return refused.answer(&shared, language_of(&uri, &headers), client);
        }
    };
    access.limit.succeed(None, client);
    let name = signed.caller.name.clone();
    access.log.signed_in(&name, signed.caller.role, client);
    let longest = provider.settings.session;
    let id = access.sessions.start_for(&name, Holder::Provider(Arc::new(signed)), longest);
    let is_secure = provider.settings.address.scheme() == "https";
    let cookie = cookie::set(Purpose::Session, &shared.prefix, is_secure, &id);
    (StatusCode::SEE_OTHER, [(SET_COOKIE, cookie)], [(LOCATION, next)]).into_response()
}

/// Checks what the provider has added to the address, and returns the user and the next page.
async fn check(
    shared: &Shared,
    provider: &Arc<Provider>,
    sign_in: SignIn,
    returned: Returned,
) -> Result<(Signed, String), Refused> {
    let SignIn { nonce, verifier, next, .. } = sign_in;
    if let Some(issuer) = returned.iss.filter(|issuer| issuer != provider.issuer()) {
        let reason = format!("the answer is from the issuer {issuer:?}");
        return Err(Refused::new(Denied::Invalid, reason, next));
    }
    let code = match (returned.code, returned.error) {
        (Some(code), None) if (1..=MAX_CODE).contains(&code.len()) => code,
        (_, error) => {
            let denied = Denied::Refused(error_kind(error.as_deref()));
            let reason = denied.to_string();
            return Err(Refused::new(denied, reason, next));
        }
    };
    let completed = provider.complete(&shared.prefix, code, (nonce, verifier)).await;
    match completed {
        Ok(signed) => Ok((signed, next)),
        Err(fault) => Err(Refused::of(&fault, next)),
    }
}

/// Returns the page after a sign-out that leads to the sign-out at the provider.
///
/// It is a page and no redirect, because the answer to a form may not lead to another site.
pub(in crate::access) fn sign_out_page(
    lang: Lang,
    label: &str,
    files: &Files,
    url: &str,
) -> Markup {
    let main = html! {
        h1 { (lang.signed_out()) }
        p { a href=(url) { (lang.sign_out_at(label)) } }
    };
    document(lang, &lang.signed_out(), files, Some(url), &main)
}

fn provider(shared: &Shared) -> Option<&Arc<Provider>> {
    shared.access.oidc.as_ref()
}

fn without_provider(shared: &Shared) -> Response {
    let detail = format!("the console has no identity provider; it has {}", shared.access);
    Problem::not_found("no-sign-in-page", detail).into_response()
}

impl Refused {
    fn new(denied: Denied, reason: impl Into<String>, next: String) -> Self {
        Self { denied, reason: reason.into(), next }
    }

    fn of(fault: &Fault, next: String) -> Self {
        let denied = match fault {
            Fault::Unusable(_) => Denied::Unusable,
            Fault::Token(_) | Fault::NoCaller(NoCaller::Nameless(_) | NoCaller::Name { .. }) => {
                Denied::Invalid
            }
            Fault::NoCaller(NoCaller::Roleless { user, .. }) => Denied::NoRole(user.clone()),
        };
        Self::new(denied, fault.to_string(), next)
    }

    /// Returns the sign-in page with the problem, so that the user can begin again.
    fn answer(self, shared: &Shared, lang: Lang, client: Option<IpAddr>) -> Response {
        let (status, user) = match &self.denied {
            Denied::Unknown => (StatusCode::BAD_REQUEST, None),
            Denied::Refused(_) | Denied::Invalid => (StatusCode::UNAUTHORIZED, None),
            Denied::Unusable => (StatusCode::BAD_GATEWAY, None),
            Denied::NoRole(user) => (StatusCode::FORBIDDEN, Some(user.as_str())),
            Denied::TooMany(_) => (StatusCode::TOO_MANY_REQUESTS, None),
        };
        shared.access.log.refused(&self.reason, user, client);
        let page = SignInPage::of(shared, lang, self.next);
        let page = SignInPage { problem: Some(self.denied.to_string()), ..page };
        let mut response = (status, render(&page)).into_response();
        if let Denied::TooMany(wait) = self.denied {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
        }
        response
    }
}

/// Returns the kind of an error that the provider, or a forger of its answer, has named.
fn error_kind(error: Option<&str>) -> String {
    let is_kind = |kind: &&str| {
        (1..=64).contains(&kind.len()) && kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    error.filter(is_kind).unwrap_or("without a reason").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_a_chinese_text() {
        for denied in [
            Denied::Unknown,
            Denied::Refused("access_denied".to_owned()),
            Denied::Unusable,
            Denied::Invalid,
            Denied::NoRole("anna".to_owned()),
            Denied::TooMany(3),
        ] {
            let text = denied.to_string();
            assert_ne!(Lang::Chinese.sign_in_problem(&text), text);
        }
    }
}
