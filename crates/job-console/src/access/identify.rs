//! Identification of the caller of each request.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt as _;
use jiff::Timestamp;

use super::cookie::{self, Purpose};
use super::origin::{Origin, check_host, check_site, is_forwarded};
use super::sessions::Holder;
use super::tokens::TokenRefused;
use super::{Access, Caller, Role};
use crate::console::Shared;
use crate::problem::Problem;

/// Time between two checks of the caller of a stream.
const RECHECK: Duration = Duration::from_secs(5);

/// How a caller was identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// Each request of this machine is accepted.
    Open,
    /// The program that mounts the console has identified the caller.
    Program,
    /// A proxy has signed the user in.
    Proxy,
    /// By a bearer token.
    Token,
    /// By the session of a user who has signed in here, and who can sign out.
    Session,
}

/// A request that is refused before its route is known.
struct Refused {
    status: StatusCode,
    code: &'static str,
    reason: String,
}

/// Response to a request without a caller, on a route that demands one.
#[derive(Clone, Debug)]
struct Challenge {
    /// Address of the sign-in page, for pages.
    sign_in: Option<HeaderValue>,
}

/// Identifies the caller of a request, and refuses requests of other sites.
///
/// Adds the [`Caller`] and its [`Means`] to the extensions. Without them, the routes that demand a
/// permission answer with a challenge.
pub(crate) async fn identify(
    State(shared): State<Shared>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let access = Arc::clone(&shared.access);
    let proxies = &access.reverse_proxies;
    let origin = Origin::of(&parts.headers, &parts.uri, &parts.extensions, proxies);
    let client = origin.client;
    let asked = parts.clone();
    let mut before: Option<Caller> = None;
    match admit(&shared, &parts, &origin).await {
        Ok(Some((caller, means))) => {
            before = Some(caller.clone());
            parts.extensions.insert(caller);
            parts.extensions.insert(means);
        }
        Ok(None) => {
            parts.extensions.insert(Challenge::of(&shared, &parts));
        }
        Err(refused) => {
            access.log.refused(&refused.reason, None, client);
            return refused.into_response();
        }
    }
    parts.extensions.insert(origin.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.status() == StatusCode::FORBIDDEN {
        let reason = format!("{} {} is not permitted", asked.method, asked.uri.path());
        access.log.refused(&reason, before.as_ref().map(|caller| &*caller.name), client);
    }
    match before {
        Some(before) if is_stream(&response) => {
            response.map(|body| until_signed_out(body, before, (shared, asked, origin)))
        }
        _ => response,
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Ends a stream when its request would no longer have the same caller, with the same role and
/// jobs. An open stream counts as use of a session.
fn until_signed_out(
    body: Body,
    before: Caller,
    (shared, parts, origin): (Shared, Parts, Origin),
) -> Body {
    let ended = async move {
        loop {
            tokio::time::sleep(RECHECK).await;
            match caller(&shared, &parts, &origin).await {
                Ok(Some((now, _))) if now == before => {}
                Ok(_) | Err(_) => return,
            }
        }
    };
    Body::from_stream(body.into_data_stream().take_until(Box::pin(ended)))
}

/// Checks a request, and returns its caller if it has one.
async fn admit(
    shared: &Shared,
    parts: &Parts,
    origin: &Origin,
) -> Result<Option<(Caller, Means)>, Refused> {
    let access = &shared.access;
    if access.open.is_some() || !access.hosts.is_empty() {
        let refused =
            |reason| Refused::new(StatusCode::MISDIRECTED_REQUEST, "unknown-host", reason);
        check_host(origin, &parts.headers, &access.hosts, access.open.is_none())
            .map_err(refused)?;
    }
    let identity = caller(shared, parts, origin).await?;
    // A browser never adds a bearer token to a request by itself.
    if identity.as_ref().is_none_or(|(_, means)| *means != Means::Token) {
        let refused = |reason| Refused::new(StatusCode::FORBIDDEN, "cross-site", reason);
        check_site(&parts.method, &parts.headers, origin).map_err(refused)?;
    }
    Ok(identity)
}

async fn caller(
    shared: &Shared,
    parts: &Parts,
    origin: &Origin,
) -> Result<Option<(Caller, Means)>, Refused> {
    let access = &shared.access;
    if let Some(caller) = parts.extensions.get::<Caller>() {
        return Ok(Some((caller.clone(), Means::Program)));
    }
    if let Some(name) = &access.open {
        check_this_machine(access, &parts.headers, origin)?;
        let caller = Caller { name: name.clone(), role: Role::Admin, jobs: "*".to_owned() };
        return Ok(Some((caller, Means::Open)));
    }
    if let Some(proxy) = &access.proxy {
        let caller = proxy.caller(origin.peer, &parts.headers);
        let refused = |why: super::proxy::ProxyRefused| {
            Refused::new(StatusCode::FORBIDDEN, "proxy-user", why)
        };
        if let Some(caller) = caller.map_err(refused)? {
            return Ok(Some((caller, Means::Proxy)));
        }
    }
    if let Some(token) = bearer(&parts.headers)? {
        let refused =
            |why: TokenRefused| Refused::new(StatusCode::UNAUTHORIZED, "bearer-token", why);
        let Some(tokens) = &access.tokens else { return Err(refused(TokenRefused::Unknown)) };
        let caller = tokens.current().await.caller(token, Timestamp::now()).map_err(refused)?;
        return Ok(Some((caller, Means::Token)));
    }
    let id = cookie::read(Purpose::Session, &shared.prefix, &parts.headers, origin);
    let Some(id) = id else { return Ok(None) };
    Ok(access.session_caller(&id).await.map(|caller| (caller, Means::Session)))
}

/// Refuses requests of other machines to a console without sign-in.
fn check_this_machine(
    access: &Access,
    headers: &HeaderMap,
    origin: &Origin,
) -> Result<(), Refused> {
    let is_loopback = origin.peer.is_some_and(|peer| peer.is_loopback());
    let reason = if !is_loopback {
        let peer = origin.peer.map_or_else(|| "not known".to_owned(), |peer| peer.to_string());
        format!("the console has no sign-in, and the peer is {peer}; valid are loopback addresses")
    } else if access.hosts.is_empty() && is_forwarded(headers) {
        "the console has no sign-in, and a proxy has forwarded the request; set up a sign-in, or \
         list the host"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(Refused::new(StatusCode::FORBIDDEN, "no-sign-in", reason))
}

impl Access {
    /// Returns the caller of a session. Ends the session if its holder is no longer valid: a user
    /// who is gone from the users file, or has another password or role there.
    async fn session_caller(&self, id: &str) -> Option<Caller> {
        let current = match self.sessions.find(id)? {
            Holder::User(user) => {
                let users = self.users.as_ref()?.current().await;
                users.current(&user).map(|user| user.caller())
            }
            #[cfg(feature = "oidc")]
            Holder::Provider(signed) => Some(signed.caller.clone()),
        };
        if current.is_none() {
            self.sessions.end(id);
        }
        current
    }
}

/// Returns the bearer token of a request. Other schemes are those of proxies.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refused> {
    let mut tokens = headers.get_all(AUTHORIZATION).iter().filter_map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
    });
    let token = tokens.next();
    if tokens.next().is_some() {
        let reason = "the header authorization has two bearer tokens; send one";
        return Err(Refused::new(StatusCode::BAD_REQUEST, "bearer-token", reason));
    }
    Ok(token)
}

impl Refused {
    fn new(status: StatusCode, code: &'static str, reason: impl ToString) -> Self {
        Self { status, code, reason: reason.to_string() }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = Problem::new(self.status, self.code, self.reason).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let value = HeaderValue::from_static(r#"Bearer error="invalid_token""#);
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        response
    }
}

impl Challenge {
    fn of(shared: &Shared, parts: &Parts) -> Self {
        let accept = parts.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut kinds = accept.flat_map(|accept| accept.split([',', ';']));
        let is_page = parts.method == Method::GET
            && !parts.uri.path().starts_with("/api/")
            && kinds.any(|kind| kind.trim() == "text/html");
        let sign_in = (is_page && shared.access.has_sign_in_page()).then(|| {
            let page = parts.uri.path_and_query().map_or("/", |page| page.as_str());
            let next = shared.href(page);
            let next: String = form_urlencoded::byte_serialize(next.as_bytes()).collect();
            HeaderValue::from_str(&shared.href(&format!("/sign-in?next={next}"))).ok()
        });
        Self { sign_in: sign_in.flatten() }
    }
}

impl IntoResponse for Challenge {
    fn into_response(self) -> Response {
        if let Some(sign_in) = self.sign_in {
            return (StatusCode::SEE_OTHER, [(LOCATION, sign_in)]).into_response();
        }
        let detail = "the request has no caller; sign in, or send a bearer token";
        let problem = Problem::new(StatusCode::UNAUTHORIZED, "not-signed-in", detail);
        (([(WWW_AUTHENTICATE, "Bearer")]), problem).into_response()
    }
}

/// Extracts the caller, or answers with the challenge to sign in.
impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        if let Some(caller) = parts.extensions.get::<Self>() {
            return Ok(caller.clone());
        }
        let challenge = parts.extensions.get::<Challenge>().cloned();
        Err(challenge.unwrap_or(Challenge { sign_in: None }).into_response())
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use axum::extract::connect_info::MockConnectInfo;
    use axum::routing::get;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::super::{Permission, Proxy, new_token};
    use super::*;
    use crate::Console;
    use crate::console::routes;

    /// A stream that never ends by itself.
    async fn stream() -> Response {
        let kind = [(CONTENT_TYPE, "text/event-stream")];
        let event = futures_util::stream::iter([Ok::<_, std::io::Error>("data: 1\n\n")]);
        let events = event.chain(futures_util::stream::pending());
        (kind, Body::from_stream(events)).into_response()
    }

    #[cfg(unix)]
    #[tokio::test(start_paused = true)]
    async fn stream_ends_when_its_caller_is_no_longer_valid() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let write = |text: &str| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        let (token, sha256) = new_token();
        write(&format!(
            "[[tokens]]\nname = \"ci\"\nsha256 = {sha256:?}\nrole = \"viewer\"\nexpires = \
             \"9999-01-01T00:00:00Z\"\n"
        ));
        let proxy = Proxy::new("x-user", ["127.0.0.1".parse().unwrap()]).unwrap();
        let proxy = proxy.everyone(Role::Viewer, "*").unwrap();
        let access = Access::sign_in().tokens(&path).unwrap().proxy(proxy);
        let routes = routes().page(Permission::View, &Method::GET, "/stream", get(stream));
        let router = Console::new().access(access).with_routes(routes);
        let router = router.layer(MockConnectInfo(SocketAddr::from(([127, 0, 0, 1], 4000))));
        let open = async |name: &str, value: &str| {
            let request = Request::get("/stream").header(name, value);
            let request = request.body(Body::empty()).unwrap();
            let response = router.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            let mut body = response.into_body();
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "data: 1\n\n");
            body
        };
        let mut of_token = open("authorization", &format!("Bearer {token}")).await;
        let mut of_proxy = open("x-user", "anna").await;
        let hour = Duration::from_secs(3600);
        assert!(tokio::time::timeout(hour, of_token.frame()).await.is_err());
        write("");
        let ended = tokio::time::timeout(2 * RECHECK, of_token.frame()).await.unwrap();
        assert!(ended.is_none());
        assert!(tokio::time::timeout(hour, of_proxy.frame()).await.is_err());
    }
}
