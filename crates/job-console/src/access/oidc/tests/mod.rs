//! Sign-in at a provider that the tests make themselves.

mod provider;
mod start;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{Request, Response, StatusCode};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http_body_util::BodyExt as _;
use reg_center::MemoryRegistry;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::http::HttpBounds;
use super::provider::Bounds;
use super::*;
use crate::access::secret::digest;
use crate::access::sessions::Holder;
use crate::access::{Access, Caller};
use crate::{Console, Prefix};
use provider::{Broken, Script, Signing, TestProvider};

const ADDRESS: &str = "http://localhost:8080";
/// An address with data.
const DATA: &str = "/api/v1/namespaces";

/// A console whose users sign in at a provider.
struct Stage {
    provider: TestProvider,
    router: Router,
    prefix: &'static str,
}

/// A sign-in that has begun.
struct Begun {
    cookie: String,
    url: Url,
    query: BTreeMap<String, String>,
}

fn access(settings: Oidc, bounds: Bounds) -> Access {
    Access {
        oidc: Some(Arc::new(Provider::bounded(settings, bounds).unwrap())),
        ..Access::sign_in()
    }
}

fn router(access: Access, prefix: &str) -> Router {
    let prefix: Prefix = prefix.parse().unwrap();
    let registry = Arc::new(MemoryRegistry::new().connect());
    let console = Console::new().access(access).prefix(prefix.clone());
    let console = console.namespace("orders", registry, None).unwrap();
    let peer = SocketAddr::from(([127, 0, 0, 1], 4000));
    prefix.mount(console.router()).layer(MockConnectInfo(peer))
}

fn settings(issuer: &str) -> Oidc {
    let oidc = Oidc::new(issuer, "ejob", ADDRESS).unwrap();
    oidc.role("ops", Role::Operator, "report-*").unwrap()
}

impl Stage {
    async fn new() -> Self {
        Self::with("", Bounds::default(), |oidc| oidc).await
    }

    async fn with(prefix: &'static str, bounds: Bounds, change: impl FnOnce(Oidc) -> Oidc) -> Self {
        let provider = TestProvider::start().await;
        let oidc = change(settings(&provider.issuer));
        Self { router: router(access(oidc, bounds), prefix), provider, prefix }
    }

    fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.provider.script.lock());
    }

    async fn send(&self, method: &str, path: &str, cookie: &str) -> Response<Body> {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.prefix));
        let request = request.header("host", "localhost:8080").header("cookie", cookie);
        let request = request.header("sec-fetch-site", "same-origin").body(Body::empty());
        self.router.clone().oneshot(request.unwrap()).await.unwrap()
    }

    async fn get(&self, path: &str, cookie: &str) -> Response<Body> {
        self.send("GET", path, cookie).await
    }

    /// Begins a sign-in, and gives the nonce of it to the provider.
    async fn begin(&self, next: &str) -> Begun {
        let response = self.get(&format!("{BEGIN}?next={next}"), "").await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        let (url, cookie) = (header(&response, "location"), header(&response, "set-cookie"));
        assert!(cookie.contains("; HttpOnly; SameSite=Lax; Max-Age=600"), "{cookie}");
        let url: Url = url.parse().unwrap();
        let query: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        self.script(|script| query["nonce"].clone_into(&mut script.nonce));
        Begun { cookie: cookie.split_once(';').unwrap().0.to_owned(), url, query }
    }

    /// Returns to the console as the provider leads a browser.
    async fn returned(&self, begun: &Begun) -> Response<Body> {
        let path = format!("{CALLBACK}?code=c-1&state={}", begun.query["state"]);
        self.get(&path, &begun.cookie).await
    }

    /// Signs anna in, and returns the cookie of the session.
    async fn session(&self) -> String {
        let response = self.returned(&self.begin("").await).await;
        assert_eq!(response.status(), StatusCode::SEE_OTHER, "{}", text(response).await);
        session_of(&response).expect("a session has begun")
    }
}

fn header(response: &Response<Body>, name: &str) -> String {
    response.headers()[name].to_str().unwrap().to_owned()
}

async fn text(response: Response<Body>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// Returns the cookie of the session that a response starts.
fn session_of(response: &Response<Body>) -> Option<String> {
    let cookies = response.headers().get_all("set-cookie").iter();
    let mut cookies = cookies.map(|cookie| cookie.to_str().unwrap());
    let cookie = cookies.find(|cookie| cookie.starts_with("ejob-session"))?;
    Some(cookie.split_once(';').unwrap().0.to_owned())
}

/// Checks that a response is the sign-in page with a problem, and that it starts no session.
async fn assert_refused(case: &str, response: Response<Body>, (status, problem): (u16, &str)) {
    assert_eq!(session_of(&response), None, "{case}");
    let found = response.status().as_u16();
    let page = text(response).await;
    let shown = page.split_once(r#"role="alert">"#).unwrap_or_else(|| panic!("{case}: {page}")).1;
    let shown = shown.split_once("</p>").unwrap().0;
    assert_eq!(found, status, "{case}: {shown}");
    assert!(shown.contains(problem), "{case}: {shown}");
    assert!(page.contains(BEGIN), "the user can begin again: {page}");
}

fn no_retry() -> Bounds {
    Bounds { retry: Duration::ZERO, ..Bounds::default() }
}

#[tokio::test]
async fn user_signs_in_with_pkce_and_out_at_the_provider() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "s3cret\n").unwrap();
    let reference = format!("${{file:{}}}", secret.display());
    let with_secret = |oidc: Oidc| oidc.client_secret(&reference).unwrap().scope("groups").unwrap();
    let stage = Stage::with("/ejob", Bounds::default(), with_secret).await;
    assert_eq!(stage.provider.count("/settings"), 0, "nothing is fetched at the start");
    let begun = stage.begin("/ejob/n/orders").await;
    assert!(begun.url.as_str().starts_with(&format!("{}/authorize?", stage.provider.issuer)));
    let callback = format!("{ADDRESS}/ejob{CALLBACK}");
    for (name, expected) in [
        ("response_type", "code"),
        ("client_id", "ejob"),
        ("scope", "openid profile groups"),
        ("code_challenge_method", "S256"),
        ("redirect_uri", callback.as_str()),
    ] {
        assert_eq!(begun.query[name], expected);
    }
    let response = stage.returned(&begun).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(header(&response, "location"), "/ejob/n/orders");
    let (body, authorization) = stage.provider.script.lock().asked.clone();
    assert_eq!(authorization, format!("Basic {}", BASE64_STANDARD.encode("ejob:s3cret")));
    let sent: BTreeMap<_, _> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&sent["code_verifier"]));
    assert_eq!((&sent["code"], &challenge), (&"c-1".to_owned(), &begun.query["code_challenge"]));

    let cookie = session_of(&response).unwrap();
    assert_eq!(stage.get(DATA, &cookie).await.status(), StatusCode::OK);
    let page = stage.send("POST", "/sign-out", &cookie).await;
    assert_eq!(page.status(), StatusCode::OK);
    let page = text(page).await;
    for part in
        ["/end?", "client_id=ejob", "id_token_hint=", "post_logout_redirect_uri=http%3A%2F%2Flocal"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(stage.get(DATA, &cookie).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn token_that_is_not_for_this_sign_in_is_refused() {
    type Change = fn(&mut Script);
    const INVALID: (u16, &str) = (401, "answer is not valid");
    const UNUSABLE: (u16, &str) = (502, "cannot be used");
    fn claim(script: &mut Script, name: &str, value: Value) {
        script.claims.insert(name.to_owned(), value);
    }
    let rows: [(&str, Change, (u16, &str)); 18] = [
        ("wrong nonce", |s| claim(s, "nonce", json!("other")), INVALID),
        ("no nonce", |s| claim(s, "nonce", Value::Null), INVALID),
        ("wrong audience", |s| claim(s, "aud", json!("other")), INVALID),
        ("further audience", |s| claim(s, "aud", json!(["ejob", "other"])), INVALID),
        ("wrong issuer", |s| claim(s, "iss", json!("http://localhost:1")), INVALID),
        ("expired", |s| claim(s, "exp", json!(1_000_000)), INVALID),
        ("wrong signature", |s| s.signing = Signing::OtherKey, INVALID),
        ("no algorithm", |s| s.signing = Signing::None, INVALID),
        ("symmetric algorithm", |s| s.signing = Signing::Symmetric, INVALID),
        ("unknown key", |s| s.key = "unknown", INVALID),
        ("no name", |s| claim(s, "preferred_username", Value::Null), INVALID),
        (
            "no role",
            |s| claim(s, "groups", json!(["other"])),
            (403, "&quot;anna&quot; has no role"),
        ),
        ("no groups", |s| claim(s, "groups", Value::Null), (403, "has no role")),
        (
            "refused code",
            |s| s.broken = Some(("/token", Broken::Refused)),
            (401, "answer is not valid"),
        ),
        ("refused request", |s| s.broken = Some(("/token", Broken::Status(400))), UNUSABLE),
        ("failing provider", |s| s.broken = Some(("/token", Broken::Status(500))), UNUSABLE),
        ("endless answer", |s| s.broken = Some(("/token", Broken::Endless)), UNUSABLE),
        ("no token", |s| s.broken = Some(("/token", Broken::Empty)), UNUSABLE),
    ];
    for (case, change, expected) in rows {
        let stage = Stage::new().await;
        let begun = stage.begin("").await;
        stage.script(change);
        assert_refused(case, stage.returned(&begun).await, expected).await;
    }
    Stage::new().await.session().await;
}

#[tokio::test]
async fn answer_counts_once_for_the_browser_that_has_begun() {
    const UNKNOWN: (u16, &str) = (400, "has expired");
    let stage = Stage::new().await;
    let begun = stage.begin("").await;
    let state = &begun.query["state"];
    let other = stage.begin("").await;
    for (case, path, cookie) in [
        ("no state", format!("{CALLBACK}?code=c"), &*begun.cookie),
        ("other state", format!("{CALLBACK}?code=c&state=x"), &*begun.cookie),
        ("no cookie", format!("{CALLBACK}?code=c&state={state}"), ""),
    ] {
        assert_refused(case, stage.get(&path, cookie).await, UNKNOWN).await;
    }
    assert_refused("the state was used", stage.returned(&begun).await, UNKNOWN).await;
    let stolen = Begun { cookie: begun.cookie.clone(), ..other };
    assert_refused("cookie of another browser", stage.returned(&stolen).await, UNKNOWN).await;
    assert_eq!(stage.provider.count("/token"), 0);

    let path =
        |begun: &Begun, rest: &str| format!("{CALLBACK}?state={}&{rest}", begun.query["state"]);
    for (rest, problem) in [
        ("error=access_denied", "refused the sign-in: access_denied."),
        ("error=%3Cb%3E", "refused the sign-in: without a reason."),
        ("code=", "refused the sign-in: without a reason."),
        ("code=c&iss=http://localhost:1", "answer is not valid"),
    ] {
        let begun = stage.begin("").await;
        let refused = stage.get(&path(&begun, rest), &begun.cookie).await;
        assert_refused(rest, refused, (401, problem)).await;
    }
    let begun = stage.begin("").await;
    let rest = format!("code=c&iss={}", stage.provider.issuer);
    let response = stage.get(&path(&begun, &rest), &begun.cookie).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
}

/// Otherwise an attacker's answer of the provider would sign its reader in as the attacker.
#[tokio::test]
async fn sign_in_without_a_random_cookie_is_bound_to_a_new_one() {
    for cookie in ["ejob-sign-in=", "ejob-sign-in=known"] {
        let stage = Stage::new().await;
        let response = stage.get(BEGIN, cookie).await;
        let set = header(&response, "set-cookie");
        assert!(
            set.starts_with("ejob-sign-in=") && set.len() > "ejob-sign-in=".len() + 32,
            "{set}"
        );
        let location: Url = header(&response, "location").parse().unwrap();
        let state =
            location.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
        for sent in ["", cookie] {
            let path = format!("{CALLBACK}?code=c&state={state}");
            assert_refused(cookie, stage.get(&path, sent).await, (400, "has expired")).await;
        }
        assert_eq!(stage.provider.count("/token"), 0);
    }
}

#[tokio::test]
async fn next_page_is_one_of_the_console() {
    let stage = Stage::with("/ejob", Bounds::default(), |oidc| oidc).await;
    let long = format!("/ejob/{}", "n".repeat(2048));
    for next in ["//evil.example", "https://evil.example", "/other", "/ejob/%5Cevil", &long] {
        let response = stage.returned(&stage.begin(next).await).await;
        assert_eq!(header(&response, "location"), "/ejob/", "{next}");
    }
}

#[tokio::test]
async fn rotated_key_is_fetched_at_a_bounded_rate() {
    let stage = Stage::with("", no_retry(), |oidc| oidc).await;
    stage.session().await;
    stage.script(|script| (script.keys, script.key) = (vec!["one", "two"], "two"));
    stage.session().await;
    assert_eq!(stage.provider.count("/jwks"), 2);
    stage.script(|script| script.keys = vec!["two"]);
    stage.session().await;
    assert_eq!(stage.provider.count("/jwks"), 2, "a known key needs no request");

    let stage = Stage::new().await;
    stage.session().await;
    stage.script(|script| script.key = "unknown");
    for _ in 0..3 {
        let refused = stage.returned(&stage.begin("").await).await;
        assert_refused("unknown key", refused, (401, "answer is not valid")).await;
    }
    assert_eq!(stage.provider.count("/jwks"), 1, "the keys were fetched a moment ago");
}

#[tokio::test]
async fn provider_that_cannot_be_used_is_reported_until_it_answers() {
    const UNUSABLE: (u16, &str) = (502, "cannot be used");
    let far = json!("http://login.example/authorize");
    for (case, broken, settings) in [
        ("down", Some(("/settings", Broken::Status(503))), None),
        ("without keys", Some(("/jwks", Broken::Status(404))), None),
        ("endless settings", Some(("/settings", Broken::Endless)), None),
        ("endless keys", Some(("/jwks", Broken::Endless)), None),
        ("silent", Some(("/settings", Broken::Silent)), None),
        ("other issuer", None, Some(("issuer", json!("http://localhost:1")))),
        ("plain address", None, Some(("authorization_endpoint", far.clone()))),
        ("plain keys", None, Some(("jwks_uri", far.clone()))),
    ] {
        let http = HttpBounds { deadline: Duration::from_millis(300), ..HttpBounds::default() };
        let stage = Stage::with("", Bounds { http, ..no_retry() }, |oidc| oidc).await;
        stage.script(|script| {
            script.broken = broken;
            script.settings.extend(settings.map(|(name, value)| (name.to_owned(), value)));
        });
        assert_refused(case, stage.get(BEGIN, "").await, UNUSABLE).await;
        stage.script(|script| (script.broken, script.settings) = (None, serde_json::Map::new()));
        let begun = stage.get(BEGIN, "").await;
        assert_eq!(begun.status(), StatusCode::SEE_OTHER, "{case}");
    }
    let stage = Stage::new().await;
    stage.script(|script| script.broken = Some(("/settings", Broken::Status(503))));
    for _ in 0..3 {
        assert_refused("down", stage.get(BEGIN, "").await, UNUSABLE).await;
    }
    assert_eq!(stage.provider.count("/settings"), 1, "the rate of attempts is bounded");
}

#[tokio::test]
async fn failed_sign_ins_of_an_address_have_to_wait() {
    let stage = Stage::new().await;
    // A page of another site can load this address again and again.
    for _ in 0..30 {
        let unknown = stage.get(&format!("{CALLBACK}?code=c&state=x"), "").await;
        assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
    }
    let denied = async || {
        let begun = stage.begin("").await;
        let path = format!("{CALLBACK}?state={}&error=access_denied", begun.query["state"]);
        stage.get(&path, &begun.cookie).await
    };
    for _ in 0..20 {
        assert_eq!(denied().await.status(), StatusCode::UNAUTHORIZED);
    }
    let refused = denied().await;
    assert!(refused.headers().contains_key("retry-after"));
    assert_refused("too many", refused, (429, "too many attempts")).await;
}

#[tokio::test(start_paused = true)]
async fn session_ends_at_its_longest_time_whatever_its_use() {
    let access = access(settings("http://localhost:1"), Bounds::default());
    let caller = Caller { name: "anna".to_owned(), role: Role::Viewer, jobs: "*".to_owned() };
    let holder = Holder::Provider(Arc::new(Signed::for_test(caller)));
    let id = access.sessions.start_for("anna", holder, Duration::from_secs(3600));
    let cookie = format!("ejob-session={id}");
    let router = router(access, "");
    let status = async || {
        let request = Request::get(DATA).header("host", "localhost").header("cookie", &cookie);
        router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status()
    };
    for _ in 0..2 {
        assert_eq!(status().await, StatusCode::OK);
        tokio::time::advance(Duration::from_secs(1799)).await;
    }
    assert_eq!(status().await, StatusCode::OK);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(status().await, StatusCode::UNAUTHORIZED);
}

#[test]
fn faults_of_settings_name_field_value_and_valid_values() {
    let oidc = || settings("https://login.example.com/realms/acme");
    let of = |issuer: &str, client: &str, address: &str| Oidc::new(issuer, client, address);
    let at = "https://jobs.example";
    for (fault, expected) in [
        (of("http://login.example", "ejob", at), "oidc: issuer is \"http://login.example\"; valid"),
        (
            of("ftp://localhost", "ejob", at),
            "oidc: issuer is \"ftp://localhost\"; valid is an https",
        ),
        (
            of("https://u:p@login.example", "ejob", at),
            "oidc: issuer is \"an address with a user\"; valid is an https",
        ),
        (of("https://a.example", "", at), "oidc: client_id is \"\"; valid is 1 to 256"),
        (of("https://a.example", "ejob", "https://b.example/ejob"), "oidc: address is"),
        (oidc().client_secret("s3cret"), "oidc: client_secret is \"no reference\"; valid is ${env"),
        (oidc().scope("a b"), "oidc: scopes is \"a b\"; valid"),
        (oidc().label(""), "oidc: label is \"\"; valid"),
        (oidc().name_claim(""), "oidc: name_claim is \"\"; valid"),
        (oidc().roles_claim("a\nb"), "oidc: roles_claim is"),
        (oidc().session(Duration::from_secs(59)), "oidc: session is \"59s\"; valid"),
        (oidc().role("", Role::Viewer, "*"), "name is \"\"; valid"),
    ] {
        let fault = fault.unwrap_err().to_string();
        assert!(fault.starts_with(expected), "{fault}");
        assert!(!fault.contains("s3cret"), "{fault}");
    }
    let shown = format!("{:?}", oidc().client_secret("${env:PATH}").unwrap());
    assert!(shown.contains("login.example.com") && !shown.contains("PATH"), "{shown}");
}
