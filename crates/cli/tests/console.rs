//! `ejob console` as a process: its namespaces, its health, its end, its demonstration, and input
//! that it refuses.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use coordination::Dialect;
use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};
use reg_center_sqlite::{SqliteCenter, SqliteOptions};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::watch::{java_nodes, write_successes};
use crate::worker::{Worker, address, within};

/// Interval at which the API is asked again.
const INTERVAL: Duration = Duration::from_millis(100);

fn console(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command
        .current_dir(folder)
        .arg("console")
        .args(words)
        .env("TMPDIR", folder)
        .env("USER", "anna")
        .env_remove("EJOB_REGISTRY")
        .env_remove("EJOB_HISTORY")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

async fn output(mut command: Command) -> Output {
    within("the end of the command", command.output()).await.unwrap()
}

/// Asserts that a command fails, and returns its exit code with its message.
async fn refused(command: Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = output(command).await;
    assert_eq!(String::from_utf8(stdout).unwrap(), "");
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// A running console.
struct Served {
    process: Worker,
    /// Such as `127.0.0.1:41234`.
    host: String,
    /// The first lines.
    lines: Vec<String>,
}

async fn get(host: &str, path: &str) -> (String, String) {
    let exchange = async {
        let mut stream = TcpStream::connect(host).await?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = within(path, exchange).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

impl Served {
    async fn start(folder: &Path, words: &[&str]) -> Self {
        Self::of(console(folder, &[words, &["--listen", "127.0.0.1:0"]].concat())).await
    }

    async fn of(command: Command) -> Self {
        let mut process = Worker::of(command);
        let mut lines = Vec::new();
        while !lines.last().is_some_and(|line: &String| line.starts_with("sign-in: ")) {
            lines.push(process.line().await);
        }
        let address = lines[0].strip_prefix("console: http://").unwrap();
        let host = address.split('/').next().unwrap().to_owned();
        Self { process, host, lines }
    }

    /// Returns the status line with the headers, and the body.
    async fn get(&self, path: &str) -> (String, String) {
        get(&self.host, path).await
    }

    /// Asks for a document until it is as wanted.
    async fn until(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let asking = async {
            let mut interval = tokio::time::interval(INTERVAL);
            loop {
                interval.tick().await;
                let (head, body) = self.get(path).await;
                let document: Value = serde_json::from_str(&body).unwrap_or_default();
                if head.starts_with("HTTP/1.1 200 ") && is_wanted(&document) {
                    return document;
                }
            }
        };
        within(path, asking).await
    }

    /// Asks for a page until it shows a text.
    async fn until_shown(&self, path: &str, text: &str) {
        let asking = async {
            let mut interval = tokio::time::interval(INTERVAL);
            while !self.get(path).await.1.contains(text) {
                interval.tick().await;
            }
        };
        within(path, asking).await;
    }

    /// Ends the console by SIGTERM, and asserts that it leaves in order.
    async fn end(mut self) {
        self.process.signal("-TERM").await;
        self.process.shows("leaving: requests are completed").await;
        self.process.shows("left").await;
        assert_eq!(self.process.end().await, Some(0));
    }
}

/// Creates a registry file with one job.
async fn create_registry(folder: &Path, file: &str, job: &str) {
    let center = SqliteCenter::connect(SqliteOptions::new(folder.join(file))).await.unwrap();
    let config = NodePath::parse(&format!("/{job}/config")).unwrap();
    center.commit(Txn::new().create(config, "{}", Lifetime::Persistent)).await.unwrap();
    center.close().await.unwrap();
}

fn rows(jobs: &Value) -> &[Value] {
    jobs["rows"].as_array().unwrap()
}

fn names(jobs: &Value) -> Vec<&str> {
    rows(jobs).iter().map(|job| job["jobName"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn registries_of_the_command_line_are_served_with_their_metrics() {
    let folder = tempfile::tempdir().unwrap();
    create_registry(folder.path(), "a.db", "report").await;
    create_registry(folder.path(), "b.db", "billing").await;
    let both = ["--registries", "orders=sqlite:a.db", "--registries", "money=sqlite:b.db"];
    let served =
        Served::start(folder.path(), &[&both[..], &["--metrics-port", "0"]].concat()).await;
    assert!(served.lines[1].starts_with("namespace orders: "), "{:?}", served.lines);
    assert!(served.lines[2].starts_with("namespace money: "), "{:?}", served.lines);
    let metrics = served.lines[3].strip_prefix("metrics: http://").unwrap();
    let metrics = metrics.strip_suffix("/metrics").unwrap();
    for (name, job) in [("orders", "report"), ("money", "billing")] {
        let path = format!("/api/v1/namespaces/{name}/jobs");
        served.until(&path, |found| names(found) == [job]).await;
    }
    let (head, text) = get(metrics, "/metrics").await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    for name in ["orders", "money"] {
        let sample = format!("ejob_namespace_jobs{{registry=\"{name}\",state=\"NO_INSTANCE\"}} 1");
        assert!(text.contains(&sample), "{text}");
        let age = format!("ejob_namespace_data_age_seconds{{registry=\"{name}\"}} 0");
        assert!(text.contains(&age), "{text}");
    }
    assert_eq!(text.matches("# TYPE ejob_namespace_jobs ").count(), 1, "{text}");
    served.end().await;
    for (words, expected) in [
        (&["--registries", "a.db"][..], "valid is a name and an address, such as orders=zk://"),
        (&["--registries", "a=memory:"], "memory: ends with its process"),
        (&["--registries", "a=xy://z"], "xy"),
        (
            &["--registries", "a=sqlite:a.db", "--registries", "a=sqlite:b.db"],
            "--registries: name \"a\" is given twice",
        ),
        (&["--registries", "a=sqlite:a.db", "--demo"], "cannot be used with"),
    ] {
        // Some of these errors are found after the console listens, so the port must be free.
        let words = [words, &["--listen", "127.0.0.1:0"]].concat();
        let (code, message) = refused(console(folder.path(), &words)).await;
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(expected), "{words:?}: {message}");
    }
}

#[tokio::test]
async fn namespaces_of_a_file_are_served_below_a_prefix() {
    let folder = tempfile::tempdir().unwrap();
    create_registry(folder.path(), "a.db", "report").await;
    create_registry(folder.path(), "b.db", "billing").await;
    let file = "listen = \"127.0.0.1:8080\"\nprefix = \"/ejob\"\n\
        [[namespaces]]\nname = \"orders\"\nregistry = \"sqlite:a.db\"\n\
        [[namespaces]]\nname = \"money\"\nregistry = \"sqlite:b.db\"\n";
    std::fs::write(folder.path().join("console.toml"), file).unwrap();
    let served = Served::start(folder.path(), &["--file", "console.toml"]).await;
    let expected = [
        format!("console: http://{}/ejob/", served.host),
        "namespace orders: sqlite:a.db".to_owned(),
        "namespace money: sqlite:b.db".to_owned(),
        "sign-in: none; requests of this machine act as admin, under the name anna".to_owned(),
    ];
    assert_eq!(served.lines, expected);
    let health = served.until("/ejob/health", |_| true).await;
    assert_eq!(health["status"], "ready");
    for (namespace, job) in [("orders", "report"), ("money", "billing")] {
        let jobs =
            served.until(&format!("/ejob/api/v1/namespaces/{namespace}/jobs"), |_| true).await;
        assert_eq!(names(&jobs), [job]);
    }
    let (head, _) = served.get("/").await;
    assert!(head.contains("location: /ejob/"), "{head}");
    let (head, body) = served.get("/elsewhere").await;
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    assert!(body.contains("this console is at /ejob/"), "{body}");
    served.end().await;
}

#[tokio::test]
async fn registry_of_the_command_line_is_served() {
    let folder = tempfile::tempdir().unwrap();
    create_registry(folder.path(), "a.db", "report").await;
    let served = Served::start(folder.path(), &["--registry", "sqlite:a.db"]).await;
    assert_eq!(served.lines[1], "namespace default: sqlite:a.db");
    let path = "/api/v1/namespaces/default/jobs";
    served.until(path, |jobs| names(jobs) == ["report"]).await;
    served.end().await;
}

#[tokio::test]
async fn watcher_of_a_file_judges_all_expectations() {
    let folder = tempfile::tempdir().unwrap();
    create_registry(folder.path(), "a.db", "report").await;
    let expectations = "[[expect]]\njob = \"report\"\ninstances_at_least = 1\n\
        [[expect]]\njob = \"missing\"\nfailures = 1\n";
    std::fs::write(folder.path().join("watch.toml"), expectations).unwrap();
    let file = "[[namespaces]]\nname = \"orders\"\nregistry = \"sqlite:a.db\"\n\
        watch = \"watch.toml\"\n";
    std::fs::write(folder.path().join("console.toml"), file).unwrap();
    let served = Served::start(folder.path(), &["--file", "console.toml"]).await;
    assert_eq!(served.lines[1], "namespace orders: sqlite:a.db, with a watcher");
    let is_judged = |alerts: &Value| {
        let states: Vec<_> = rows(alerts).iter().map(|row| (&row["job"], &row["state"])).collect();
        states.contains(&(&"missing".into(), &"violated".into())) && alerts["sender"].is_string()
    };
    let alerts = served.until("/api/v1/namespaces/orders/alerts", is_judged).await;
    assert_eq!(alerts["judges_all"], true);
    assert!(rows(&alerts).iter().any(|row| row["job"] == "report"), "{alerts}");
    served.end().await;
}

/// Successes of Java jobs, by the command line and by a file.
#[tokio::test]
async fn watcher_judges_java_jobs_by_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let registry = SqliteOptions::new(folder.path().join("a.db"));
    let session = SqliteCenter::connect(registry).await.unwrap();
    for name in ["fresh", "old", "silent"] {
        let written = session.commit(java_nodes(name, Dialect::V3)).await.unwrap();
        assert!(written.is_committed(), "{name}");
    }
    let history = folder.path().join("h.db");
    let store = job_history::History::open(job_history::HistoryOptions::sqlite(&history)).await;
    store.unwrap().close(Duration::from_secs(30)).await.unwrap();
    let (now, zone) = (jiff::Timestamp::now(), "Asia/Shanghai");
    write_successes(&history, "fresh", now, zone);
    write_successes(&history, "old", now - jiff::SignedDuration::from_hours(2), zone);
    let expectations = "[[expect]]\njob = \"*\"\nmust_succeed_within = \"1h\"\n";
    std::fs::write(folder.path().join("watch.toml"), expectations).unwrap();
    let file = "[[namespaces]]\nname = \"default\"\nregistry = \"sqlite:a.db\"\n\
        history = \"sqlite:h.db\"\nwatch = \"watch.toml\"\njava_zone = \"Asia/Shanghai\"\n";
    std::fs::write(folder.path().join("console.toml"), file).unwrap();

    let by_options = ["--registry", "sqlite:a.db", "--watch", "watch.toml"];
    let by_options = [&by_options[..], &["--history", "sqlite:h.db", "--java-zone", zone]].concat();
    for words in [&by_options[..], &["--file", "console.toml"]] {
        let served = Served::start(folder.path(), words).await;
        let is_judged = |alerts: &Value| {
            let expected = [("fresh", "ok"), ("old", "violated"), ("silent", "unknown")];
            let has = |(job, state): &(&str, &str)| {
                rows(alerts).iter().any(|row| row["job"] == *job && row["state"] == *state)
            };
            expected.iter().all(has)
        };
        served.until("/api/v1/namespaces/default/alerts", is_judged).await;
        served.end().await;
    }

    let serve = ["--registry", "sqlite:a.db", "--listen", "127.0.0.1:0"];
    for (words, expected) in [
        (&["--java-zone", zone][..], "--watch <FILE>"),
        (&["--watch", "watch.toml", "--java-zone", zone], "--java-zone needs --history"),
        (&["--watch", "watch.toml", "--java-zone", "Mars"], "valid is an IANA name"),
    ] {
        let (code, message) = refused(console(folder.path(), &[&serve, words].concat())).await;
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    for (line, expected) in [
        ("java_zone = \"Mars\"", "java_zone is \"Mars\"; valid is an IANA name"),
        ("java_zone = \"UTC\"", "java_zone requires watch and history"),
    ] {
        let file = format!("[[namespaces]]\nname = \"a\"\nregistry = \"sqlite:a.db\"\n{line}\n");
        std::fs::write(folder.path().join("wrong.toml"), file).unwrap();
        let words = ["--file", "wrong.toml", "--listen", "127.0.0.1:0"];
        let (code, message) = refused(console(folder.path(), &words)).await;
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    session.close().await.unwrap();
}

#[tokio::test]
async fn unusable_expectations_are_refused_before_the_console_serves() {
    let folder = tempfile::tempdir().unwrap();
    create_registry(folder.path(), "a.db", "report").await;
    std::fs::write(folder.path().join("watch.toml"), "[[expect]]\njob = 1\n").unwrap();
    let words = ["--registry", "sqlite:a.db", "--listen", "127.0.0.1:0", "--watch"];
    for (file, expected) in
        [("watch.toml", "watch.toml: line 2"), ("no.toml", "no.toml cannot be read")]
    {
        let (code, message) =
            refused(console(folder.path(), &[&words[..], &[file]].concat())).await;
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

/// The namespace is closed to clients without its credentials.
#[tokio::test]
async fn namespace_of_a_file_has_its_own_credentials_only() {
    let folder = tempfile::tempdir().unwrap();
    let options = ZookeeperOptions::new(address()).digest("anna:s3cret").namespace("/console");
    let center = ZookeeperCenter::connect(options).await.unwrap();
    let config = NodePath::parse("/report/config").unwrap();
    center.commit(Txn::new().create(config, "{}", Lifetime::Persistent)).await.unwrap();
    center.close().await.unwrap();
    std::fs::write(folder.path().join("digest"), "anna:s3cret\n").unwrap();
    let registry = format!("registry = \"zk://{}/console\"\n", address());
    let digest = format!("digest = \"${{file:{}/digest}}\"\n", folder.path().display());
    let file = format!(
        "[[namespaces]]\nname = \"open\"\n{registry}{digest}\
         [[namespaces]]\nname = \"blind\"\n{registry}"
    );
    std::fs::write(folder.path().join("console.toml"), file).unwrap();
    let words = ["--file", "console.toml", "--listen", "127.0.0.1:0"];
    let mut command = console(folder.path(), &words);
    // The variable is for commands with one registry.
    command.env("EJOB_DIGEST", "anna:s3cret");
    let served = Served::of(command).await;
    assert!(!served.lines.concat().contains("s3cret"), "{:?}", served.lines);
    served.until("/api/v1/namespaces/open/jobs", |jobs| names(jobs) == ["report"]).await;
    let (head, health) = served.get("/health").await;
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    let expected = r#"{"status":"loading","namespaces":{"blind":"loading","open":"current"}}"#;
    assert_eq!(health, expected);
    served.end().await;
}

#[tokio::test]
async fn demonstration_shows_jobs_that_run_and_fail_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), &["--demo"]).await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the folder of the history");
    let jobs = served.until("/api/v1/namespaces/demo/jobs", |jobs| {
        // It fails only if its items have run.
        let failing = |job: &Value| job["failingItems"].as_u64().is_some_and(|n| n > 0);
        rows(jobs).iter().any(|job| job["jobName"] == "price-update" && failing(job))
    });
    let jobs = jobs.await;
    assert!(names(&jobs).len() >= 8, "{jobs}");
    let is_violated = |alerts: &Value| !rows(alerts).is_empty();
    served.until("/api/v1/namespaces/demo/alerts?state=violated", is_violated).await;
    let paused = rows(&jobs).iter().find(|job| job["jobName"] == "newsletter");
    assert_eq!(paused.unwrap()["status"], "PAUSED");
    served.until_shown("/n/demo/jobs/price-update", "Failing since revision").await;
    served.end().await;
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn address_that_other_hosts_reach_or_that_is_taken_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:8080", "[::]:8080", "10.0.0.1:8080"] {
        let (code, message) =
            refused(console(folder.path(), &["--demo", "--listen", address])).await;
        assert_eq!(code, Some(2), "{message}");
        let expected = format!(
            "error: listen address is {address}, and the console has no sign-in; valid are loopback addresses such as 127.0.0.1, or a users file, a tokens file, a proxy or an identity provider that signs users in\n"
        );
        assert_eq!(message, expected);
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, message) = refused(console(folder.path(), &["--demo", "--listen", &address])).await;
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains(&format!("--listen {address}: cannot listen on this address")));
    let (code, message) = refused(console(folder.path(), &["--demo", "--listen", "8080"])).await;
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("valid is an IP address with a port, such as 127.0.0.1:8080"));
    let (code, message) = refused(console(folder.path(), &["--demo", "--prefix", "ejob/"])).await;
    assert_eq!(code, Some(2), "{message}");
    assert!(
        message.contains("prefix is \"ejob/\"; valid is a path such as \"/ejob\""),
        "{message}"
    );
}

#[tokio::test]
async fn file_that_is_broken_or_names_a_missing_registry_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let entry = "[[namespaces]]\nname = \"orders\"\n";
    let rows = [
        (
            "lisen = 1",
            2,
            "console.toml: line 1: lisen is an unknown key of the file; valid is listen, ",
        ),
        (
            &format!("{entry}registry = \"here\""),
            2,
            "console.toml: namespace \"orders\": registry: ",
        ),
        (
            &format!("{entry}registry = \"sqlite:a.db\"\ndigest = \"${{env:NO_SUCH}}\""),
            2,
            "console.toml: namespace \"orders\": digest is given, which only ZooKeeper has, but the registry is sqlite:a.db",
        ),
        (
            &format!("{entry}registry = \"zk://zk-1/a\"\ndigest = \"${{env:NO_SUCH}}\""),
            2,
            "console.toml: namespace \"orders\": digest: the environment has no variable NO_SUCH",
        ),
        (
            &format!("{entry}registry = \"sqlite:a.db\""),
            4,
            "namespace \"orders\": there is no registry sqlite:a.db",
        ),
    ];
    for (text, code, beginning) in rows {
        std::fs::write(folder.path().join("console.toml"), text).unwrap();
        let words = ["--file", "console.toml", "--listen", "127.0.0.1:0"];
        let (found, message) = refused(console(folder.path(), &words)).await;
        assert!(message.starts_with(&format!("error: {beginning}")), "{text:?}: {message}");
        assert_eq!(found, Some(code), "{message}");
    }
    let words = ["--file", "none.toml"];
    let (code, message) = refused(console(folder.path(), &words)).await;
    assert_eq!(code, Some(2));
    assert!(message.starts_with("error: --file none.toml cannot be read: "), "{message}");
}

#[tokio::test]
async fn hash_of_a_password_on_the_standard_input_and_tokens_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let hash = async |password: &str| {
        let mut command = console(folder.path(), &["hash"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(password.as_bytes()).await.unwrap();
        within("the hash", child.wait_with_output()).await.unwrap()
    };
    let hashed = hash("correct horse battery staple\n").await;
    assert!(hashed.status.success());
    let text = String::from_utf8(hashed.stdout).unwrap();
    assert!(text.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{text}");
    assert!(text.ends_with('\n') && text.lines().count() == 1, "{text}");
    let short = hash("short\n").await;
    assert_eq!(short.status.code(), Some(2));
    let message = String::from_utf8(short.stderr).unwrap();
    assert_eq!(message, "error: password has 5 characters; valid are 12 or more\n");

    let mut tokens = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let printed = output(console(folder.path(), &["token", "--json"])).await;
        let document: Value = serde_json::from_slice(&printed.stdout).unwrap();
        assert!(document["token"].as_str().unwrap().starts_with("ejob_"), "{document}");
        assert_eq!(document["hash"].as_str().unwrap().len(), 64, "{document}");
        tokens.insert(document["token"].to_string());
    }
    assert_eq!(tokens.len(), 2);
}
