//! HTTP jobs against a server on loopback.

use crate::support;

use std::time::Duration;

use job_types::{Http, SecretText};
use lite::{JobBuilder, Outcome};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use support::{Stage, one_item, within};

/// One request as the server received it.
#[derive(Debug)]
struct ReceivedRequest {
    line: String,
    headers: Vec<(String, Vec<u8>)>,
    body: String,
}

impl ReceivedRequest {
    fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| String::from_utf8(value.clone()).unwrap())
    }
}

/// Reaction of the server to a request.
#[derive(Clone)]
enum Reply {
    /// Sends these bytes and closes the connection.
    Bytes(String),
    /// Sends nothing until the client closes the connection.
    Silence,
}

fn answer(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"))
}

/// A server that answers every request in the same way.
struct Server {
    address: String,
    requests: mpsc::UnboundedReceiver<ReceivedRequest>,
    /// Gets one message for each client that closed its connection without an answer.
    left: mpsc::UnboundedReceiver<()>,
}

impl Server {
    async fn start(reply: impl Fn(&ReceivedRequest) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = mpsc::unbounded_channel();
        let (leaver, left) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Some((request, mut stream)) = read(stream).await else { continue };
                let reply = reply(&request);
                // The receiver is gone if the test has ended.
                let _ = sender.send(request);
                match reply {
                    Reply::Bytes(bytes) => drop(stream.write_all(bytes.as_bytes()).await),
                    Reply::Silence => {
                        let leaver = leaver.clone();
                        tokio::spawn(async move {
                            let _ = stream.read(&mut [0]).await;
                            let _ = leaver.send(());
                        });
                    }
                }
            }
        });
        Self { address, requests, left }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn next(&mut self) -> ReceivedRequest {
        within("a request", self.requests.recv()).await.unwrap()
    }
}

async fn read(stream: TcpStream) -> Option<(ReceivedRequest, BufReader<TcpStream>)> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        let mut header = Vec::new();
        stream.read_until(b'\n', &mut header).await.ok()?;
        let header = header.trim_ascii_end();
        if header.is_empty() {
            break;
        }
        let at = header.iter().position(|byte| *byte == b':')?;
        let name = String::from_utf8(header[..at].to_vec()).ok()?;
        let value = header[at + 1..].trim_ascii().to_vec();
        if name.eq_ignore_ascii_case("content-length") {
            length = String::from_utf8(value.clone()).ok()?.parse().ok()?;
        }
        headers.push((name, value));
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).ok()?;
    Some((ReceivedRequest { line: line.trim_end().to_owned(), headers, body }, stream))
}

#[tokio::test]
async fn request_matches_elasticjob() {
    let mut server = Server::start(|_| answer("200 OK", "", "done")).await;
    let config = JobBuilder::new("sj", 1)
        .job_parameter("x=1&作业\u{7f}")
        .sharding_item_parameters("0=A B")
        .build()
        .unwrap();
    let job = Http::new("POST", server.url("/run?a=b")).body(SecretText::literal("k=v&ü"));
    let (outcome, log) = Stage::run_with(config, job.build().unwrap(), |r| r).await;
    assert_eq!(outcome, Outcome::Succeeded, "{log}");

    let seen = server.next().await;

    assert_eq!(seen.line, "POST /run?a=b HTTP/1.1");
    let context = r#"{"jobName":"sj","taskId":"sj@-@0@-@READY@-@10.0.0.1@-@1","shardingTotalCount":1,"jobParameter":"x\u003d1\u0026作业\u007f","shardingItem":0,"shardingParameter":"A B"}"#;
    assert_eq!(seen.header("shardingContext").as_deref(), Some(context));
    let form = "application/x-www-form-urlencoded";
    assert_eq!(seen.header("content-type").as_deref(), Some(form));
    assert_eq!(seen.body, "k=v&ü");
}

#[tokio::test]
async fn method_body_type_and_headers_are_sent_as_set() {
    let rows = [
        ("GET", None, None, None),
        ("DELETE", Some("x"), None, None),
        ("PUT", Some("{}"), Some("application/json"), Some("application/json")),
        ("PATCH", Some(""), None, None),
        ("POST", None, None, None),
        ("POST", Some("x"), Some("text/plain"), Some("text/plain")),
    ];
    for (method, body, kind, expected_kind) in rows {
        let mut server = Server::start(|_| answer("204 No Content", "", "")).await;
        let mut job =
            Http::new(method, server.url("/")).header("x-token", SecretText::literal("t"));
        if let Some(body) = body {
            job = job.body(SecretText::literal(body));
        }
        if let Some(kind) = kind {
            job = job.content_type(kind);
        }
        let (outcome, log) = Stage::run(job.build().unwrap()).await;
        assert_eq!(outcome, Outcome::Succeeded, "{method}: {log}");
        let seen = server.next().await;
        assert_eq!(seen.line, format!("{method} / HTTP/1.1"));
        assert_eq!(seen.body, body.unwrap_or_default(), "{method}");
        assert_eq!(seen.header("content-type").as_deref(), expected_kind, "{method}");
        assert_eq!(seen.header("x-token").as_deref(), Some("t"), "{method}");
    }
}

#[tokio::test]
async fn status_decides_the_outcome_and_the_error_has_the_answer() {
    let long = "x".repeat(1_000_000);
    let rows = [
        ("200 OK", "", Outcome::Succeeded, String::new()),
        ("302 Found", "", Outcome::Succeeded, String::new()),
        (
            "400 Bad Request",
            "no such report",
            Outcome::Failed,
            "answered 400: no such report".into(),
        ),
        ("404 Not Found", "", Outcome::Failed, "answered 404 without a body".into()),
        ("503 Busy", &long, Outcome::Failed, format!("answered 503: {}\"", &long[..4096])),
    ];
    for (status, body, expected, message) in rows {
        let reply = answer(status, "", body);
        let server = Server::start(move |_| reply.clone()).await;
        let job = Http::new("GET", server.url("/report")).build().unwrap();
        let (outcome, log) = Stage::run(job).await;
        assert_eq!(outcome, expected, "{status}: {log}");
        let found = log.contains(&message) || log.contains(message.trim_end_matches('"'));
        let shown = log.matches('x').count();
        assert!(found && shown < 10_000, "{status}: {log}");
    }
}

#[tokio::test]
async fn missing_answer_is_a_failure_with_its_cause() {
    let silent = Server::start(|_| Reply::Silence).await;
    let broken = Server::start(|_| Reply::Bytes("SSH-2.0-OpenSSH\r\n".into())).await;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let rows = [
        ("silent", silent.url("/"), "timed out"),
        ("no HTTP", broken.url("/"), "got no answer"),
        ("no listener", format!("http://{closed}/"), "Connection refused"),
        ("no TLS", broken.url("/").replace("http", "https"), "got no answer"),
    ];
    for (case, url, cause) in rows {
        let job = Http::new("GET", url).read_timeout(Duration::from_millis(200)).build().unwrap();
        let (outcome, log) = Stage::run(job).await;
        assert_eq!(outcome, Outcome::Failed, "{case}: {log}");
        assert!(log.contains(cause), "{case}: {log}");
    }
}

#[tokio::test]
async fn redirects_are_followed_within_the_origin_up_to_the_limit() {
    let other = Server::start(|_| answer("200 OK", "", "")).await;
    let elsewhere = format!("Location: {}\r\n", other.url("/"));
    let within_origin = |seen: &ReceivedRequest| match seen.line.as_str() {
        "GET /0 HTTP/1.1" => answer("302 Found", "Location: /1\r\n", ""),
        "GET /1 HTTP/1.1" => answer("307 Moved", "Location: /2\r\n", ""),
        _ => answer("200 OK", "", ""),
    };
    let to_other_origin = move |_: &ReceivedRequest| answer("302 Found", &elsewhere, "");
    let to = |location: &'static str| {
        Server::start(move |_| answer("302 Found", &format!("Location: {location}\r\n"), ""))
    };
    let rows: [(&str, Server, usize, Outcome, &str); 8] = [
        ("within", Server::start(within_origin).await, 2, Outcome::Succeeded, ""),
        ("too many", Server::start(within_origin).await, 1, Outcome::Failed, "more than 1 times"),
        (
            "in a circle",
            Server::start(|_| answer("302 Found", "Location: /\r\n", "")).await,
            5,
            Outcome::Failed,
            "more than 5 times",
        ),
        ("file", to("file:///etc/passwd").await, 5, Outcome::Failed, "file:///etc/passwd"),
        ("FTP", to("ftp://example.com/x").await, 5, Outcome::Failed, "ftp://example.com"),
        ("script", to("javascript:alert(1)").await, 5, Outcome::Failed, "redirected to the scheme"),
        ("no URL", to("http://[::1/").await, 5, Outcome::Failed, "is not followed"),
        (
            "another origin",
            Server::start(to_other_origin).await,
            5,
            Outcome::Failed,
            "to another origin",
        ),
    ];
    for (case, server, max, expected, message) in rows {
        let job = Http::new("GET", server.url("/0")).max_redirects(max).build().unwrap();
        let (outcome, log) = Stage::run(job).await;
        assert_eq!(outcome, expected, "{case}: {log}");
        assert!(log.contains(message), "{case}: {log}");
    }
    let mut other = other;
    assert!(other.requests.try_recv().is_err(), "a redirect to another origin was followed");
}

#[tokio::test]
async fn timed_out_run_closes_its_connection() {
    let mut server = Server::start(|_| Reply::Silence).await;
    let job = Http::new("GET", server.url("/")).read_timeout(Duration::from_secs(50));
    let (outcome, log) = Stage::run_with(one_item(), job.build().unwrap(), |registration| {
        registration.timeout(Duration::from_millis(200))
    })
    .await;
    assert_eq!(outcome, Outcome::TimedOut, "{log}");
    assert!(log.contains("was aborted"), "{log}");
    within("the client to leave", server.left.recv()).await.unwrap();
}

#[tokio::test]
async fn credentials_are_sent_but_never_shown() {
    let echo = |seen: &ReceivedRequest| {
        let all = format!("{:?} {:?}", seen.line, seen.header("authorization"));
        answer("500 Oops", "", &format!("{all} hunter2 t0ken"))
    };
    let mut server = Server::start(echo).await;
    let url = server.url("/run?key=query5ecret").replace("http://", "http://joe:hunter2@");
    let job = Http::new("GET", url).header("x-token", SecretText::literal("t0ken"));
    let job = job.build().unwrap();
    let shown = format!("{job:?}");
    let (outcome, log) = Stage::run(job).await;
    assert_eq!(outcome, Outcome::Failed);
    // The header is the Base64 form of `joe:hunter2`.
    let seen = server.next().await;
    assert_eq!(seen.header("authorization").as_deref(), Some("Basic am9lOmh1bnRlcjI="));
    let target = format!("GET http://{}/run answered 500", server.address);
    assert!(log.contains(&target), "{log}");
    for secret in ["hunter2", "t0ken", "joe"] {
        assert!(!log.contains(secret) && !shown.contains(secret), "{secret}: {shown} {log}");
    }
    let closed = Http::new("GET", "http://joe:hunter2@127.0.0.1:1/p?key=query5ecret");
    let (_, log) = Stage::run(closed.build().unwrap()).await;
    for secret in ["hunter2", "joe", "query5ecret"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[tokio::test]
async fn values_of_references_are_masked_in_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let reference = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{name}-s3cret\n")).unwrap();
        format!("${{file:{}}}", path.display())
    };
    let rows = [
        ("header", "you are header-s3cret".to_owned()),
        ("body", "got body-s3cret".to_owned()),
        ("query", "no key query-s3cret".to_owned()),
        ("user", "no user user-s3cret".to_owned()),
        ("password", "no password p@ss word".to_owned()),
        ("cut by the limit of an answer", format!("{}body-s3cret", "x".repeat(4_092))),
    ];
    for (case, body) in rows {
        let server = Server::start(move |_| answer("500 Oops", "", &body)).await;
        let url = format!(
            "http://{}:p%40ss%20word@{}/run?key={}",
            reference("user"),
            server.address,
            reference("query")
        );
        let text = |text: String| SecretText::parse(&text).unwrap();
        let job = Http::new("POST", "")
            .secret_url(text(url))
            .header("authorization", text(format!("Bearer {}", reference("header"))))
            .body(text(format!("{{\"key\":\"{}\"}}", reference("body"))));
        let (outcome, log) = Stage::run(job.build().unwrap()).await;
        assert_eq!(outcome, Outcome::Failed, "{case}");
        assert!(log.contains("***"), "{case}: {log}");
        for secret in ["s3cret", "xbody", "p@ss"] {
            assert!(!log.contains(secret), "{case}: {log}");
        }
    }
}

#[tokio::test]
async fn secrets_are_resolved_for_each_run_and_missing_ones_are_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "one\n").unwrap();
    let mut server = Server::start(|_| answer("200 OK", "", "")).await;
    let token = format!("Bearer ${{file:{}}}", file.path().display());
    let job = || {
        let token = SecretText::parse(&token).unwrap();
        Http::new("GET", server.url("/")).header("authorization", token).build().unwrap()
    };
    let jobs = [job(), job(), job()];
    for (expected, job) in ["one", "two"].into_iter().zip(&jobs) {
        std::fs::write(file.path(), expected).unwrap();
        let (outcome, log) = Stage::run(job.clone()).await;
        assert_eq!(outcome, Outcome::Succeeded, "{log}");
        let found = server.next().await.header("authorization");
        assert_eq!(found, Some(format!("Bearer {expected}")));
    }
    let path = file.path().display().to_string();
    drop(file);
    let (outcome, log) = Stage::run(jobs[2].clone()).await;
    assert_eq!(outcome, Outcome::Failed);
    assert!(log.contains(&path) && log.contains("was not sent"), "{log}");
}

#[test]
fn invalid_requests_are_rejected() {
    let get = || Http::new("GET", "http://h/");
    let rows = [
        ("lower case", Http::new("get", "http://h/"), "http.method is \"get\""),
        ("no method", Http::new("", "http://h/"), "http.method is \"\""),
        ("body", get().body(SecretText::literal("x")), "http.method is GET"),
        ("no URL", Http::new("GET", "joe:hunter2"), "http.url is a URL with the scheme \"joe\""),
        ("relative", Http::new("GET", "/p:hunter2"), "http.url is a text that is no URL"),
        (
            "file",
            Http::new("GET", "file:///etc/passwd"),
            "http.url is a URL with the scheme \"file\"",
        ),
        ("header name", get().header("a b", SecretText::literal("x")), "http.headers is \"a b\""),
        (
            "the context's header",
            get().header("shardingContext", SecretText::literal("x")),
            "http.headers is \"shardingContext\"",
        ),
        ("type", get().content_type("a\nb"), "http.content_type is \"a\\nb\""),
        ("connect", get().connect_timeout(Duration::ZERO), "http.connect_timeout is 0s"),
        ("read", get().read_timeout(Duration::ZERO), "http.read_timeout is 0s"),
        ("redirects", get().max_redirects(21), "http.max_redirects is 21"),
        (
            "no secret",
            get().secret_url(SecretText::parse("http://${env:EJOB_NO_SUCH_VARIABLE}/").unwrap()),
            "http.url is ${env:EJOB_NO_SUCH_VARIABLE}",
        ),
    ];
    for (case, job, message) in rows {
        let error = job.build().unwrap_err().to_string();
        assert!(error.starts_with(message), "{case}: {error}");
        assert!(!error.contains("hunter2"), "{case}: {error}");
    }
}

#[test]
fn url_with_secrets_shows_only_its_origin() {
    let url = SecretText::parse("https://hooks.example.com/${env:CARGO_PKG_NAME}").unwrap();
    let job = Http::new("POST", "").secret_url(url).build().unwrap();
    assert_eq!(job.target(), "POST https://hooks.example.com");
    assert_eq!(job.origin(), "https://hooks.example.com");
}
