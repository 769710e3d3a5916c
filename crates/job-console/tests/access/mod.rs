//! Sign-in, sessions, tokens and refusals, through the router.

mod identify;
mod log;
mod sign_in;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::connect_info::MockConnectInfo;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use job_console::{Access, Console, hash_password};
use reg_center::MemoryRegistry;
use tempfile::TempDir;
use tower::ServiceExt as _;

/// An address with data, which is there before the first snapshot.
const DATA: &str = "/api/v1/namespaces";

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
    get(router, DATA, &[("host", "localhost:8080"), ("cookie", cookie)]).await.status()
}
