//! Sign-in by user name and password, and sign-out.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, FromRequest as _, Query, Request, State};
use axum::http::header::{CONTENT_TYPE, LOCATION, ORIGIN, RETRY_AFTER, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Form, Json};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use super::Access;
use super::cookie::{self, Purpose};
use super::form::{Files, SignInPage, render};
use super::origin::Origin;
use super::secret::verify_password;
use super::sessions::Holder;
use super::users::User;
use crate::console::Shared;
use crate::pages::{Asset, ICON, Lang, STYLE, language_of};
use crate::problem::Problem;
use crate::routes::Routes;

/// Most bytes of the body of a sign-in.
const MAX_BODY: usize = 16 << 10;
/// Longest address of a page that follows a sign-in, in bytes. Others lead to the first page.
const MAX_NEXT: usize = 2048;

/// Longest time that a sign-in waits for the ones before it.
const QUEUE: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Credentials {
    name: String,
    password: SecretString,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(super) struct NextPage {
    #[serde(default)]
    pub(super) next: String,
}

/// Why a sign-in is refused. An unknown user and a wrong password are one case for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Denied {
    #[error("The user name or the password is not right.")]
    Wrong,
    #[error("There were too many attempts. Try again in {} s.", seconds(*.0))]
    TooMany(Duration),
    #[error("Too many users sign in at this moment. Try again in {} s.", seconds(QUEUE))]
    Busy,
    #[error("A password is accepted by HTTPS or on this machine only. Open the console by HTTPS.")]
    Insecure,
    #[error("The request is no form and no JSON document with the texts name and password.")]
    Unreadable,
}

/// Adds the routes of sign-in and sign-out, which need no caller.
pub(crate) fn add_routes(routes: Routes) -> Routes {
    let sign_in = get(show).post(submit).layer(DefaultBodyLimit::max(MAX_BODY));
    let routes = routes.public("/sign-in", sign_in).public("/sign-out", post(sign_out));
    #[cfg(feature = "oidc")]
    let routes = super::oidc::add_routes(routes);
    routes
}

async fn show(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    Query(page): Query<NextPage>,
) -> Response {
    if !shared.access.has_sign_in_page() {
        return without_passwords(&shared).into_response();
    }
    let lang = language_of(&uri, &headers);
    render(&SignInPage::of(&shared, lang, next_address(&shared, &page.next))).into_response()
}

impl SignInPage {
    /// Returns the page with the ways to sign in of a console.
    pub(super) fn of(shared: &Shared, lang: Lang, next: String) -> Self {
        #[cfg(feature = "oidc")]
        let provider = shared.access.oidc.as_ref().map(|provider| {
            let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
            let begin = shared.href(super::oidc::BEGIN);
            (provider.label().to_owned(), format!("{begin}?next={next}"))
        });
        #[cfg(not(feature = "oidc"))]
        let provider = None;
        let action = shared.access.users.is_some().then(|| shared.href("/sign-in"));
        Self { lang, files: files(shared), action, provider, next, ..Self::default() }
    }
}

/// Returns the addresses of the console's files.
fn files(shared: &Shared) -> Files {
    let address = |file: Asset| shared.href(&format!("/{}", file.path()));
    Files { style: address(STYLE), icon: address(ICON) }
}

async fn submit(
    State(shared): State<Shared>,
    Extension(origin): Extension<Origin>,
    request: Request,
) -> Response {
    if shared.access.users.is_none() {
        return without_passwords(&shared).into_response();
    }
    let is_json = is_json(request.headers());
    let lang = language_of(request.uri(), request.headers());
    let is_secure = is_secure(request.headers(), &origin);
    let credentials = if is_json {
        Json::from_request(request, &()).await.map(|Json(read)| read).ok()
    } else {
        Form::from_request(request, &()).await.map(|Form(read)| read).ok()
    };
    let (name, next) = credentials
        .as_ref()
        .map(|read: &Credentials| (read.name.clone(), next_address(&shared, &read.next)))
        .unwrap_or_default();
    let signed_in = match (is_secure, credentials) {
        (_, None) => Err(Denied::Unreadable),
        (None, _) => Err(Denied::Insecure),
        (Some(is_secure), Some(read)) => {
            let checked = check(&shared.access, &read.name, read.password, origin.client).await;
            checked.map(|user| (user, is_secure))
        }
    };
    let (user, is_secure) = match signed_in {
        Ok(signed_in) => signed_in,
        Err(denied) => return denied.answer(&shared, lang, is_json, (name, next)),
    };
    let caller = user.caller();
    shared.access.log.signed_in(&caller.name, caller.role, origin.client);
    let id = shared.access.sessions.start(&caller.name, Holder::User(user));
    let cookie = cookie::set(Purpose::Session, &shared.prefix, is_secure, &id);
    let cookie = [(SET_COOKIE, cookie)];
    if is_json {
        let caller = serde_json::json!({
            "name": caller.name, "role": caller.role, "jobs": caller.jobs
        });
        return (cookie, Json(caller)).into_response();
    }
    (StatusCode::SEE_OTHER, cookie, [(LOCATION, next)]).into_response()
}

/// Ends the session of the request, if it has one.
async fn sign_out(
    State(shared): State<Shared>,
    Extension(origin): Extension<Origin>,
    #[cfg(feature = "oidc")] uri: Uri,
    headers: HeaderMap,
) -> Response {
    let id = cookie::read(Purpose::Session, &shared.prefix, &headers, &origin);
    let ended = id.and_then(|id| shared.access.sessions.end(&id));
    if let Some((user, _)) = &ended {
        shared.access.log.signed_out(user, origin.client);
    }
    let removed = cookie::remove(&shared.prefix).map(|cookie| (SET_COOKIE, cookie));
    if is_json(&headers) {
        return (StatusCode::NO_CONTENT, AppendHeaders(removed)).into_response();
    }
    #[cfg(feature = "oidc")]
    if let (Some(provider), Some((_, Holder::Provider(signed)))) = (&shared.access.oidc, &ended)
        && let Some(url) = signed.sign_out()
    {
        let lang = language_of(&uri, &headers);
        let page = super::oidc::sign_out_page(lang, provider.label(), &files(&shared), url);
        return (AppendHeaders(removed), page).into_response();
    }
    let page = if shared.access.has_sign_in_page() { "/sign-in" } else { "/" };
    let location = [(LOCATION, shared.href(page))];
    (StatusCode::SEE_OTHER, location, AppendHeaders(removed)).into_response()
}

/// Checks a password. An unknown user takes the same time as a known one.
async fn check(
    access: &Access,
    name: &str,
    password: SecretString,
    client: Option<IpAddr>,
) -> Result<Arc<User>, Denied> {
    let Some(users) = &access.users else { return Err(Denied::Wrong) };
    let users = users.current().await;
    let refused = |reason: &str| access.log.refused(reason, Some(name), client);
    if let Err(wait) = access.limit.begin(Some(name), client) {
        refused("too many sign-ins");
        return Err(Denied::TooMany(wait));
    }
    let checks = Arc::clone(&access.checks).acquire_owned();
    let Ok(Ok(permit)) = tokio::time::timeout(QUEUE, checks).await else {
        access.limit.withdraw(Some(name), client);
        refused("too many simultaneous sign-ins");
        return Err(Denied::Busy);
    };
    let user = users.get(name).cloned();
    let hash = user.as_ref().map_or(users.decoy(), |user| user.hash()).clone();
    let checked = tokio::task::spawn_blocking(move || {
        // The permit belongs to the check, which goes on if the client leaves.
        let _permit = permit;
        verify_password(password.expose_secret(), hash.expose_secret())
    });
    let is_right = checked.await.unwrap_or(false);
    match user {
        Some(user) if is_right => {
            access.limit.succeed(Some(name), client);
            Ok(user)
        }
        Some(_) => {
            refused("wrong password");
            Err(Denied::Wrong)
        }
        None => {
            refused("unknown user");
            Err(Denied::Wrong)
        }
    }
}

impl Denied {
    fn answer(
        &self,
        shared: &Shared,
        lang: Lang,
        is_json: bool,
        (name, next): (String, String),
    ) -> Response {
        let (status, code) = match self {
            Self::Wrong => (StatusCode::UNAUTHORIZED, "sign-in-refused"),
            Self::TooMany(_) | Self::Busy => (StatusCode::TOO_MANY_REQUESTS, "too-many-sign-ins"),
            Self::Insecure => (StatusCode::BAD_REQUEST, "insecure-sign-in"),
            Self::Unreadable => (StatusCode::BAD_REQUEST, "invalid-request"),
        };
        let mut response = if is_json {
            Problem::new(status, code, self.to_string()).into_response()
        } else {
            let page = SignInPage::of(shared, lang, next);
            let problem = Some(self.to_string());
            (status, render(&SignInPage { name, problem, ..page })).into_response()
        };
        let wait = match self {
            Self::TooMany(wait) => Some(*wait),
            Self::Busy => Some(QUEUE),
            Self::Wrong | Self::Insecure | Self::Unreadable => None,
        };
        if let Some(wait) = wait {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds(wait)));
        }
        response
    }
}

/// Returns the whole seconds after which a time has passed.
pub(super) fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

fn without_passwords(shared: &Shared) -> Problem {
    let detail = format!("the console has no users with passwords; it has {}", shared.access);
    Problem::not_found("no-sign-in-page", detail)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim() == "application/json")
}

/// Returns whether the cookie of a session is for HTTPS only, or `None` if the browser sends the
/// password over a network without HTTPS. The browser knows it: a proxy may end HTTPS.
fn is_secure(headers: &HeaderMap, origin: &Origin) -> Option<bool> {
    let sender = headers.get(ORIGIN).and_then(|sender| sender.to_str().ok()).unwrap_or_default();
    match sender.split_once("://") {
        Some(("https", _)) => Some(true),
        Some(("http", _)) if !origin.is_loopback_host() => None,
        _ => Some(!origin.is_loopback_host()),
    }
}

/// Returns the address of the page after the sign-in: the given one if it is an address of this
/// console, else its first page.
pub(super) fn next_address(shared: &Shared, next: &str) -> String {
    let prefix = &*shared.prefix;
    let is_relative = next.starts_with('/') && !next.starts_with("//");
    let rest = next.strip_prefix(prefix).filter(|rest| rest.starts_with('/'));
    // A browser takes a backslash for a slash, and leaves control characters out.
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_short = next.len() <= MAX_NEXT;
    if is_relative && is_plain && is_short && rest.is_some_and(|rest| !rest.starts_with("//")) {
        next.to_owned()
    } else {
        shared.href("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn sign_in_waits_for_others_within_a_bound_and_then_does_not_count() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let access = Access::sign_in().users(&path).unwrap();
        let others = access.checks.acquire_many(2).await.unwrap();
        for _ in 0..50 {
            let began = tokio::time::Instant::now();
            let denied = check(&access, "anna", "a password".into(), None).await.unwrap_err();
            assert_eq!((denied, began.elapsed()), (Denied::Busy, QUEUE));
        }
        drop(others);
        let denied = check(&access, "anna", "a password".into(), None).await.unwrap_err();
        assert_eq!(denied, Denied::Wrong);
        assert_eq!(access.checks.available_permits(), 2);
    }

    #[test]
    fn each_refusal_has_a_chinese_text() {
        for denied in [
            Denied::Wrong,
            Denied::TooMany(Duration::from_secs(3)),
            Denied::Busy,
            Denied::Insecure,
            Denied::Unreadable,
        ] {
            let text = denied.to_string();
            assert_ne!(Lang::Chinese.sign_in_problem(&text), text);
            assert_eq!(Lang::English.sign_in_problem(&text), text);
        }
    }

    #[test]
    fn wait_is_rounded_up_to_seconds() {
        for (millis, expected) in [(1, 1), (1_000, 1), (1_001, 2)] {
            assert_eq!(seconds(Duration::from_millis(millis)), expected);
        }
    }
}
