//! `ejob` with registries that require TLS, a client certificate, or a user.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use zookeeper_fixture::{Authority, SaslUsers, Server, ServerOptions, TlsServer};

const CA: [&str; 2] = ["--tls-ca", "ca.pem"];
const IDENTITY: [&str; 4] = ["--tls-cert", "worker.pem", "--tls-key", "worker.key"];
const USER: [&str; 4] = ["--sasl-user", "worker", "--sasl-password-file", "password"];
const NO_FILE: &str = "which cannot be read: No such file or directory (os error 2)";

/// A test case: label, arguments, variables, exit code, and the line without `error: `.
type Row<'a> = (&'a str, Vec<&'a str>, &'a [(&'a str, &'a str)], i32, String);

fn ejob(folder: &Path, address: &str, words: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command.current_dir(folder).args(words).args(["--zookeeper", address]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("EJOB_") {
            command.env_remove(name);
        }
    }
    command.env("EJOB_NAMESPACE", "/jobs").envs(variables.iter().copied()).output().unwrap()
}

/// Runs the rows. A final `_` in a line stands for any rest.
fn check(folder: &Path, address: &str, rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for (case, words, variables, code, line) in rows {
        let words = [&["jobs"], words.as_slice()].concat();
        let output = ejob(folder, address, &words, variables);
        let err = String::from_utf8(output.stderr).unwrap();
        let is_expected = match format!("error: {line}").strip_suffix('_') {
            Some(start) => err.starts_with(start) && err.ends_with('\n'),
            None => err == format!("error: {line}\n"),
        };
        let shows_a_secret = err.contains("s3cret") || err.contains("BEGIN");
        if output.status.code() != Some(*code)
            || !is_expected
            || shows_a_secret
            || err.lines().count() != 1
        {
            wrong.push(format!("{case}: {:?}\n  {err}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn folder_with(authority: &Authority) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let identity = authority.issue("worker", ["worker.example.com"]);
    let files = [
        ("ca.pem", authority.pem()),
        ("worker.pem", identity.certificate_pem()),
        ("worker.key", identity.key_pem()),
        ("password", "s3cret\n"),
        ("wrong", "no s3cret\n"),
        ("empty", ""),
    ];
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn invalid_option_is_reported_before_a_connection() {
    let folder = folder_with(&Authority::new("test"));
    let with = |words: &[&'static str]| [&CA[..], words].concat();
    let rows: Vec<Row<'_>> = vec![
        (
            "missing file of authorities",
            vec!["--tls-ca", "gone"],
            &[],
            2,
            format!("--tls-ca is the file gone, {NO_FILE}; valid: one or more certificates of authorities in PEM"),
        ),
        (
            "no certificate in the file",
            vec!["--tls-ca", "worker.key"],
            &[],
            2,
            "--tls-ca is the file worker.key, which cannot be used: no certificate is in it; valid: _".to_owned(),
        ),
        (
            "missing file named by a variable",
            vec![],
            &[("EJOB_TLS_CA", "gone")],
            2,
            format!("--tls-ca is the file gone, {NO_FILE}; valid: _"),
        ),
        (
            "no key",
            with(&["--tls-cert", "worker.pem"]),
            &[],
            2,
            "--tls-cert requires --tls-key FILE or EJOB_TLS_KEY".to_owned(),
        ),
        (
            "no certificate",
            with(&["--tls-key", "worker.key"]),
            &[],
            2,
            "--tls-key requires --tls-cert FILE or EJOB_TLS_CERT".to_owned(),
        ),
        (
            "identity without authorities",
            IDENTITY.to_vec(),
            &[],
            2,
            "--tls-cert requires --tls-ca FILE or EJOB_TLS_CA".to_owned(),
        ),
        (
            "certificate and key exchanged",
            with(&["--tls-cert", "worker.key", "--tls-key", "worker.pem"]),
            &[],
            2,
            "--tls-cert is the file worker.key, which cannot be used: no certificate is in it; valid: _".to_owned(),
        ),
        (
            "the authority's certificate with the worker's key",
            with(&["--tls-cert", "ca.pem", "--tls-key", "worker.key"]),
            &[],
            2,
            "--tls-key is the file worker.key, which cannot be used: it is not the key to the certificate; valid: _"
                .to_owned(),
        ),
        (
            "no password",
            vec!["--sasl-user", "worker"],
            &[],
            2,
            "--sasl-user requires --sasl-password-file FILE or EJOB_SASL_PASSWORD".to_owned(),
        ),
        (
            "no user",
            vec![],
            &[("EJOB_SASL_PASSWORD", "s3cret")],
            2,
            "--sasl-password-file requires --sasl-user NAME or EJOB_SASL_USER".to_owned(),
        ),
        (
            "no password file",
            vec!["--sasl-user", "worker", "--sasl-password-file", "gone"],
            &[],
            2,
            format!("--sasl-password-file (or EJOB_SASL_PASSWORD) is the file gone, {NO_FILE}; valid: _"),
        ),
        (
            "an empty password",
            vec!["--sasl-user", "worker", "--sasl-password-file", "empty"],
            &[],
            2,
            "--sasl-password-file (or EJOB_SASL_PASSWORD) is empty (the file empty); valid: _".to_owned(),
        ),
        (
            "a password that is not ASCII",
            vec!["--sasl-user", "worker"],
            &[("EJOB_SASL_PASSWORD", "s3cret\u{e9}")],
            2,
            "--sasl-password-file (or EJOB_SASL_PASSWORD) is (hidden, the variable EJOB_SASL_PASSWORD); valid: _"
                .to_owned(),
        ),
        (
            "a user that cannot be sent",
            vec!["--sasl-user", "a,b", "--sasl-password-file", "password"],
            &[],
            2,
            "--sasl-user is \"a,b\"; valid: a name of _".to_owned(),
        ),
    ];
    // No server listens at this address, so any connection would fail.
    check(folder.path(), "127.0.0.1:1", &rows);
}

#[test]
fn registry_with_tls_and_sasl_accepts_known_users_only() {
    let authority = Authority::new("test");
    let folder = folder_with(&authority);
    let users = SaslUsers::new().user("worker", "s3cret").required();
    let tls = TlsServer::new(&authority);
    let server = Server::start_with(&ServerOptions::default().tls(tls).sasl(users)).unwrap();
    let address = server.secure_connect_string().unwrap();
    let stranger = Authority::new("a stranger");
    std::fs::write(folder.path().join("stranger.pem"), stranger.pem()).unwrap();
    let all = [&CA[..], &IDENTITY, &USER].concat();
    let absent = ejob(folder.path(), &address, &[&["jobs"], &all[..]].concat(), &[]);
    let line = String::from_utf8(absent.stderr).unwrap();
    assert!(line.starts_with("error: there is no namespace /jobs"), "{line}");
    assert_eq!(absent.status.code(), Some(4), "{line}");

    let refused = "rejects the SASL user or password, or requires them; check --sasl-user \
                   and --sasl-password-file (or EJOB_SASL_PASSWORD)";
    let refused = format!("the registry {refused}");
    let no_tls = format!("no TLS connection to {address}:");
    let rows: Vec<Row<'_>> = vec![
        (
            "another password",
            [&CA[..], &IDENTITY, &["--sasl-user", "worker", "--sasl-password-file", "wrong"]]
                .concat(),
            &[],
            7,
            refused.clone(),
        ),
        ("no user", [&CA[..], &IDENTITY].concat(), &[], 7, refused),
        (
            "another authority",
            [&["--tls-ca", "stranger.pem"], &IDENTITY[..], &USER].concat(),
            &[],
            3,
            format!(
                "{no_tls} invalid peer certificate: UnknownIssuer; check --tls-ca, --tls-cert and the port in --zookeeper"
            ),
        ),
        (
            "no certificate",
            [&CA[..], &USER].concat(),
            &[],
            3,
            format!("{no_tls} received fatal alert_"),
        ),
        (
            "no TLS",
            [&USER[..], &["--connect-timeout", "500ms"]].concat(),
            &[],
            3,
            format!(
                "no ZooKeeper answers at {address} within 500ms; check --zookeeper and that the servers run"
            ),
        ),
    ];
    check(folder.path(), &address, &rows);

    let variables = [
        ("EJOB_TLS_CA", "ca.pem"),
        ("EJOB_TLS_CERT", "worker.pem"),
        ("EJOB_TLS_KEY", "worker.key"),
        ("EJOB_SASL_USER", "worker"),
        ("EJOB_SASL_PASSWORD", "s3cret"),
    ];
    let known = ejob(folder.path(), &address, &["jobs", "--namespace", "/nowhere"], &variables);
    let line = String::from_utf8(known.stderr).unwrap();
    assert!(line.starts_with("error: there is no namespace /nowhere"), "{line}");
}
