//! Callers of requests, and requests that are refused.

use std::future::IntoFuture as _;

use axum::Extension;
use job_console::{Caller, Proxy, Role, new_token};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

#[tokio::test]
async fn request_without_caller_is_asked_to_sign_in() {
    let access = UsersFile::new().access();
    let console = console(access).prefix("/ejob".parse().unwrap());
    let router = Router::new().nest("/ejob", console.router());
    let api = get(&router, &format!("/ejob{DATA}"), &[("accept", "text/html")]).await;
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
        let response = get(router, DATA, headers).await;
        assert_eq!(response.status(), expected, "{headers:?}");
    }
    let response = get(&other, DATA, &[("authorization", &old)]).await;
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
        let response = get(router, DATA, headers).await;
        assert_eq!(response.status(), expected, "{headers:?}");
    }
}

#[tokio::test]
async fn mounting_program_can_identify_callers() {
    let caller = Caller { name: "anna".to_owned(), role: Role::Viewer, jobs: "*".to_owned() };
    let router = console(Access::sign_in()).router();
    assert_eq!(get(&router, DATA, &[]).await.status(), StatusCode::UNAUTHORIZED);
    let router = router.layer(Extension(caller));
    assert_eq!(get(&router, DATA, &[]).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn each_response_is_protected_in_a_browser() {
    let router = router(UsersFile::new().access(), LOCAL);
    for path in ["/sign-in", DATA, "/no-such-page", "/api/v1/openapi.json"] {
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
async fn server_passes_on_the_peer_of_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = console(Access::open("anna").unwrap()).router();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let server = tokio::spawn(axum::serve(listener, service).into_future());
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {DATA} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    server.abort();
}
