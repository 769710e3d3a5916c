//! Sign-in, sessions, tokens and refusals, through the router.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{Request, Response, StatusCode};
use axum::{Extension, Router};
use http_body_util::BodyExt as _;
use job_console::{Access, Caller, Console, Proxy, Role, hash_password, new_token};
use parking_lot::Mutex;
use reg_center::MemoryRegistry;
use tempfile::TempDir;
use tower::ServiceExt as _;
use tracing_subscriber::fmt::MakeWriter;

const JOBS: &str = "/api/v1/namespaces/orders/jobs";

const PASSWORD: &str = "correct horse battery";

/// A users file with `anna`, an operator.
struct UsersFile {
    _folder: TempDir,
    path: PathBuf,
    hash: String,
}

impl UsersFile {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users.toml");
        let file = Self { _folder: folder, path, hash: hash_password(PASSWORD).unwrap() };
        file.write(&file.hash, "operator");
        file
    }

    fn write(&self, hash: &str, role: &str) {
        let user = format!("[[users]]\nname = \"anna\"\npassword = {hash:?}\nrole = {role:?}\n");
        write_private(&self.path, &user);
    }

    fn access(&self) -> Access {
        Access::sign_in().users(&self.path).unwrap()
    }
}

fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn console(access: Access) -> Console {
    let registry = Arc::new(MemoryRegistry::new().connect());
    Console::new().access(access).namespace("orders", registry, None).unwrap()
}

/// Returns a router whose requests come from an address.
fn router(access: Access, peer: [u8; 4]) -> Router {
    console(access).router().layer(MockConnectInfo(SocketAddr::from((peer, 4000))))
}

const LOCAL: [u8; 4] = [127, 0, 0, 1];

async fn send(
    router: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Response<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    router.clone().oneshot(request.body(Body::from(body.to_owned())).unwrap()).await.unwrap()
}

async fn get(router: &Router, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    send(router, "GET", path, headers, "").await
}

const FORM: [(&str, &str); 3] = [
    ("host", "localhost:8080"),
    ("origin", "http://localhost:8080"),
    ("content-type", "application/x-www-form-urlencoded"),
];

const JSON: [(&str, &str); 3] = [
    ("host", "jobs.example"),
    ("origin", "https://jobs.example"),
    ("content-type", "application/json"),
];

async fn sign_in(router: &Router, name: &str, password: &str) -> Response<Body> {
    let body = format!("name={name}&password={}&next=/n/orders", password.replace(' ', "+"));
    send(router, "POST", "/sign-in", &FORM, &body).await
}

/// Signs anna in, and returns the cookie.
async fn session(router: &Router) -> String {
    let response = sign_in(router, "anna", PASSWORD).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    let cookie = header(&response, "set-cookie");
    cookie.split_once(';').unwrap().0.to_owned()
}

fn header(response: &Response<Body>, name: &str) -> String {
    response.headers()[name].to_str().unwrap().to_owned()
}

async fn text(response: Response<Body>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

async fn status_with(router: &Router, cookie: &str) -> StatusCode {
    get(router, JOBS, &[("host", "localhost:8080"), ("cookie", cookie)]).await.status()
}

#[tokio::test]
async fn form_signs_in_and_out() {
    let router = router(UsersFile::new().access(), LOCAL);
    let page = get(&router, "/sign-in?next=/n/orders", &[]).await;
    assert_eq!(page.status(), StatusCode::OK);
    let page = text(page).await;
    assert!(page.contains(r#"<form method="post" action="/sign-in">"#), "{page}");
    assert!(page.contains(r#"name="next" value="/n/orders""#), "{page}");
    let response = sign_in(&router, "anna", PASSWORD).await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(header(&response, "location"), "/n/orders");
    let cookie = header(&response, "set-cookie");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
    let cookie = cookie.split_once(';').unwrap().0;
    assert_eq!(status_with(&router, cookie).await, StatusCode::OK);
    let forged = cookie.replace("session=", "session=0");
    assert_eq!(status_with(&router, &forged).await, StatusCode::UNAUTHORIZED);
    let headers = [FORM[0], FORM[1], ("cookie", cookie)];
    let response = send(&router, "POST", "/sign-out", &headers, "").await;
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert!(response.headers().get_all("set-cookie").iter().all(|c| {
        let cookie = c.to_str().unwrap();
        cookie.contains("ejob-session=;") && cookie.contains("Max-Age=0")
    }));
    assert_eq!(status_with(&router, cookie).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn json_signs_in_by_https_with_a_secure_cookie() {
    let router = router(UsersFile::new().access(), [10, 0, 0, 1]);
    let body = format!(r#"{{"name": "anna", "password": {PASSWORD:?}}}"#);
    let response = send(&router, "POST", "/sign-in", &JSON, &body).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookie = header(&response, "set-cookie");
    assert!(cookie.starts_with("__Host-ejob-session="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"), "{cookie}");
    assert_eq!(text(response).await, r#"{"jobs":"*","name":"anna","role":"operator"}"#);
    let plain = [JSON[0], ("origin", "http://jobs.example"), JSON[2]];
    let response = send(&router, "POST", "/sign-in", &plain, &body).await;
    // The Host header has no scheme, so that the request is one of the same site.
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert!(text(response).await.contains("insecure-sign-in"));
    let response = send(&router, "POST", "/sign-in", &JSON, r#"{"name": 7}"#).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn next_page_is_one_of_the_console() {
    let console = console(UsersFile::new().access()).prefix("/ejob").unwrap();
    let router = Router::new().nest("/ejob", console.router());
    for (next, expected) in [
        ("/ejob/n/orders?status=failed", "/ejob/n/orders?status=failed"),
        ("/ejob/", "/ejob/"),
        ("/ejobs/", "/ejob/"),
        ("/other", "/ejob/"),
        ("//evil.example/ejob/", "/ejob/"),
        ("/\\evil.example", "/ejob/"),
        ("/ejob/\t/evil.example", "/ejob/"),
        ("https://evil.example/ejob/", "/ejob/"),
        ("javascript:alert(1)", "/ejob/"),
        ("", "/ejob/"),
    ] {
        let query: String = next.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let page = text(get(&router, &format!("/ejob/sign-in?next={query}"), &[]).await).await;
        let field = format!(r#"name="next" value="{expected}""#);
        assert!(page.contains(&field), "{next:?}: {page}");
    }
}

#[tokio::test]
async fn request_without_caller_is_asked_to_sign_in() {
    let access = UsersFile::new().access();
    let console = console(access).prefix("/ejob").unwrap();
    let router = Router::new().nest("/ejob", console.router());
    let api = get(&router, &format!("/ejob{JOBS}"), &[("accept", "text/html")]).await;
    assert_eq!(api.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(header(&api, "www-authenticate"), "Bearer");
    assert_eq!(header(&api, "content-type"), "application/problem+json");
    let html = [("accept", "text/html,application/xhtml+xml;q=0.9")];
    let page = get(&router, "/ejob/n/orders?status=failed", &html).await;
    assert_eq!(page.status(), StatusCode::SEE_OTHER);
    let expected = "/ejob/sign-in?next=%2Fejob%2Fn%2Forders%3Fstatus%3Dfailed";
    assert_eq!(header(&page, "location"), expected);
    let stream = get(&router, "/ejob/n/orders", &[("accept", "text/event-stream")]).await;
    assert_eq!(stream.status(), StatusCode::UNAUTHORIZED);
    let document = get(&router, "/ejob/api/v1/openapi.json", &[]).await;
    assert_eq!(document.status(), StatusCode::OK);
}

#[tokio::test]
async fn failed_sign_ins_are_delayed() {
    let router = router(UsersFile::new().access(), LOCAL);
    for _ in 0..5 {
        let response = sign_in(&router, "anna", "wrong password").await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let page = text(response).await;
        assert!(page.contains("user name or the password is not right"), "{page}");
        assert!(page.contains(r#"name="name" value="anna""#), "{page}");
    }
    // The right password must wait as well, or else the delay would not protect it.
    let response = sign_in(&router, "anna", PASSWORD).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(header(&response, "retry-after"), "1");
}

#[tokio::test]
async fn clients_of_a_reverse_proxy_are_limited_each_on_its_own() {
    let access = UsersFile::new().access().reverse_proxy("10.0.0.7".parse().unwrap());
    let router = router(access, [10, 0, 0, 7]);
    let attempt = async |client: &str, name: String| {
        let headers = [FORM[0], FORM[1], FORM[2], ("x-forwarded-for", client)];
        let body = format!("name={name}&password=wrong");
        send(&router, "POST", "/sign-in", &headers, &body).await.status()
    };
    for n in 0..20 {
        let status = attempt("192.0.2.1", format!("user{n}")).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    let status = attempt("192.0.2.1", "another".to_owned()).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    let status = attempt("192.0.2.2", "another".to_owned()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn unknown_user_takes_as_long_as_a_wrong_password() {
    let router = router(UsersFile::new().access(), LOCAL);
    let mut fastest = [Duration::MAX; 2];
    for n in 0..4 {
        for (fastest, name) in fastest.iter_mut().zip(["anna".to_owned(), format!("user{n}")]) {
            let began = Instant::now();
            let response = sign_in(&router, &name, "wrong password").await;
            *fastest = began.elapsed().min(*fastest);
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        }
    }
    let [known, unknown] = fastest;
    // Without the password check an answer takes less than a hundredth of this time.
    assert!(unknown > known / 4, "known user {known:?}, unknown user {unknown:?}");
}

#[tokio::test(start_paused = true)]
async fn session_ends_when_the_user_changes() {
    let file = UsersFile::new();
    let second = Duration::from_secs(1);
    for (hash, role) in [(&hash_password(PASSWORD).unwrap(), "operator"), (&file.hash, "viewer")] {
        file.write(&file.hash, "operator");
        let router = router(file.access(), LOCAL);
        let cookie = session(&router).await;
        file.write(&file.hash, "operator");
        tokio::time::advance(second).await;
        assert_eq!(status_with(&router, &cookie).await, StatusCode::OK);
        file.write(hash, role);
        tokio::time::advance(second).await;
        assert_eq!(status_with(&router, &cookie).await, StatusCode::UNAUTHORIZED);
        file.write(&file.hash, "operator");
        tokio::time::advance(second).await;
        assert_eq!(status_with(&router, &cookie).await, StatusCode::UNAUTHORIZED);
    }
    let router = router(file.access(), LOCAL);
    let cookie = session(&router).await;
    write_private(&file.path, "");
    tokio::time::advance(second).await;
    assert_eq!(status_with(&router, &cookie).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn tokens_and_proxy_users_identify_callers_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let ((token, sha256), (old, old_sha256)) = (new_token(), new_token());
    let entry = |name: &str, sha256: &str, expires: &str| {
        format!(
            "[[tokens]]\nname = {name:?}\nsha256 = {sha256:?}\nrole = \"viewer\"\nexpires = {expires:?}\n"
        )
    };
    let text_of_file = entry("ci", &sha256, "9999-01-01T00:00:00Z")
        + &entry("old", &old_sha256, "2020-01-01T00:00:00Z");
    write_private(&path, &text_of_file);
    let proxy = Proxy::new("x-user", ["10.0.0.7".parse().unwrap()]).unwrap();
    let proxy = proxy.everyone(Role::Viewer, "*").unwrap();
    let access = || Access::sign_in().tokens(&path).unwrap().proxy(proxy.clone());
    let named = router(access(), [10, 0, 0, 7]);
    let other = router(access(), [10, 0, 0, 8]);
    let bearer = |token: &str| format!("Bearer {token}");
    let (token, old) = (bearer(&token), bearer(&old));
    for (router, headers, expected) in [
        (&named, &[("x-user", "anna")][..], StatusCode::OK),
        (&other, &[("x-user", "anna")], StatusCode::FORBIDDEN),
        (&other, &[("authorization", &token)], StatusCode::OK),
        (&named, &[("authorization", &token)], StatusCode::OK),
        (&other, &[("authorization", &token), ("x-user", "anna")], StatusCode::FORBIDDEN),
        (&other, &[("authorization", &old)], StatusCode::UNAUTHORIZED),
        (&other, &[("authorization", "Bearer x")], StatusCode::UNAUTHORIZED),
        (&other, &[("authorization", &token), ("authorization", &old)], StatusCode::BAD_REQUEST),
        (&other, &[("authorization", "Basic YTpi")], StatusCode::UNAUTHORIZED),
        (&other, &[], StatusCode::UNAUTHORIZED),
    ] {
        let response = get(router, JOBS, headers).await;
        assert_eq!(response.status(), expected, "{headers:?}");
    }
    let response = get(&other, JOBS, &[("authorization", &old)]).await;
    assert_eq!(header(&response, "www-authenticate"), "Bearer error=\"invalid_token\"");
    let problem = text(response).await;
    assert!(problem.contains("expired at 2020-01-01T00:00:00Z"), "{problem}");
    assert_eq!(get(&other, "/sign-in", &[]).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn open_console_serves_this_machine_only() {
    let open = || Access::open("anna").unwrap();
    let local = router(open(), LOCAL);
    let listed = router(open().host("dev.example").unwrap(), LOCAL);
    let remote = router(open(), [10, 0, 0, 1]);
    let unknown = console(open()).router();
    let host = ("host", "localhost:8080");
    let forwarded = ("x-forwarded-for", "10.0.0.1");
    for (router, headers, expected) in [
        (&local, &[host][..], StatusCode::OK),
        (&local, &[("host", "evil.example")], StatusCode::MISDIRECTED_REQUEST),
        (&local, &[("host", "dev.example")], StatusCode::MISDIRECTED_REQUEST),
        (&local, &[host, forwarded], StatusCode::FORBIDDEN),
        (&listed, &[("host", "dev.example:80"), forwarded], StatusCode::OK),
        (&remote, &[host], StatusCode::FORBIDDEN),
        (&unknown, &[host], StatusCode::FORBIDDEN),
    ] {
        let response = get(router, JOBS, headers).await;
        assert_eq!(response.status(), expected, "{headers:?}");
    }
}

#[tokio::test]
async fn mounting_program_can_identify_callers() {
    let caller = Caller { name: "anna".to_owned(), role: Role::Viewer, jobs: "*".to_owned() };
    let router = console(Access::sign_in()).router();
    assert_eq!(get(&router, JOBS, &[]).await.status(), StatusCode::UNAUTHORIZED);
    let router = router.layer(Extension(caller));
    assert_eq!(get(&router, JOBS, &[]).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn each_response_is_protected_in_a_browser() {
    let router = router(UsersFile::new().access(), LOCAL);
    for path in ["/sign-in", JOBS, "/no-such-page", "/api/v1/openapi.json"] {
        let response = get(&router, path, &[]).await;
        let policy = header(&response, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, expected) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(header(&response, name), expected, "{path}");
        }
    }
}

#[tokio::test]
async fn prefix_is_a_path_without_slash_at_the_end() {
    for (prefix, is_valid) in [
        ("", true),
        ("/ejob", true),
        ("/tools/ejob-2", true),
        ("/", false),
        ("ejob", false),
        ("/ejob/", false),
        ("//ejob", false),
        ("/../ejob", false),
        ("/e job", false),
    ] {
        assert_eq!(Console::new().prefix(prefix).is_ok(), is_valid, "{prefix:?}");
    }
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn log_names_users_and_reasons_and_no_secrets() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false);
    // While there is only one subscriber, tracing lets the thread that logs a line first decide
    // for all threads whether it is logged. Threads of other tests have no subscriber.
    let _second =
        tracing::Dispatch::new(tracing_subscriber::fmt().with_writer(std::io::sink).finish());
    let guard = tracing::subscriber::set_default(subscriber.finish());
    let router = router(UsersFile::new().access(), LOCAL);
    sign_in(&router, "anna", "another password").await;
    sign_in(&router, "ev%0Ail", PASSWORD).await;
    let cookie = session(&router).await;
    let (token, _) = new_token();
    get(&router, JOBS, &[("authorization", &format!("Bearer {token}"))]).await;
    send(&router, "POST", "/sign-out", &[("cookie", &cookie)], "").await;
    send(&router, "POST", "/sign-out", &[FORM[0], FORM[1], ("cookie", &cookie)], "").await;
    drop(guard);
    let log = String::from_utf8(lines.0.lock().clone()).unwrap();
    let log: Vec<&str> = log.lines().filter(|line| line.contains("job_console::access")).collect();
    let expected = [
        r#"reason="wrong password" user="anna" client="127.0.0.1""#,
        r#"reason="unknown user" user="ev\\nil" client="127.0.0.1""#,
        r#"signed in user="anna" role=operator client="127.0.0.1""#,
        r#"the bearer token is not known"#,
        r#"neither Sec-Fetch-Site nor Origin is given"#,
        r#"signed out user="anna" client="127.0.0.1""#,
    ];
    assert_eq!(log.len(), expected.len(), "{log:#?}");
    for (line, expected) in log.iter().zip(expected) {
        assert!(line.contains(expected), "{line}");
    }
    let id = cookie.split_once('=').unwrap().1;
    let secrets = [PASSWORD, "another password", &token, id, "argon2"];
    for secret in secrets {
        assert!(!log.iter().any(|line| line.contains(secret)), "{log:#?}");
    }
}
