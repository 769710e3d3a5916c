//! `ejob` as people use it: on a terminal, with contexts, and with completions of the shell.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use job_types::JobFile;
use lite::Scheduler;
use reg_center_sqlite::{SqliteCenter, SqliteOptions};

use super::support::{PATIENCE, document, terminal, within};

const JOBS: &str = "[[jobs]]\nname = 'report'\nsharding_total_count = 2\n\
    description = 'a description that is longer than the rest of a narrow terminal'\n\
    script = { argv = ['true'] }\n";

/// Returns `ejob` in a folder, without the variables and the files of the user.
fn ejob(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("EJOB_") {
            command.env_remove(name);
        }
    }
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.env("XDG_STATE_HOME", folder.join("state"));
    command.env("XDG_CONFIG_HOME", folder.join("config"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

fn done(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the exit code and the standard error of a command that fails.
fn failed(mut command: Command) -> (i32, String) {
    let Output { status, stderr, .. } = command.output().unwrap();
    (status.code().unwrap(), String::from_utf8(stderr).unwrap())
}

/// Returns the output of a command on a terminal.
fn on_terminal(mut command: Command, columns: u16) -> String {
    let (terminal, for_child) = terminal::open(columns);
    let mut child = command.env("TERM", "xterm").stdout(for_child).spawn().unwrap();
    // It has the terminal, which must close with the child.
    drop(command);
    let parts = terminal::output_of(terminal);
    let mut text = Vec::new();
    loop {
        match parts.recv_timeout(PATIENCE) {
            Ok(part) => text.extend(part),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("no end: {}", String::from_utf8_lossy(&text)),
        }
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

/// Creates the registry `r.db` with the job `report`.
async fn registry(folder: &Path) {
    let center = SqliteCenter::connect(SqliteOptions::new(folder.join("r.db"))).await.unwrap();
    let scheduler = Scheduler::builder(center).server_ip("10.0.0.1").unwrap().build().unwrap();
    for job in JobFile::from_toml(JOBS).unwrap().into_jobs() {
        let handle = job.schedule(&scheduler).await.unwrap();
        within("joining", handle.joined()).await.unwrap();
    }
    within("the end", scheduler.shutdown(super::support::PATIENCE)).await;
}

#[tokio::test]
async fn output_is_fitted_to_terminals_and_whole_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    registry(folder).await;
    let jobs =
        |more: &[&str]| ejob(folder, &[&["jobs", "--registry", "sqlite:r.db"][..], more].concat());
    let shown = on_terminal(jobs(&[]), 60);
    assert!(shown.contains("\u{1b}[33mNO_INSTANCE\u{1b}[0m"), "{shown:?}");
    let remark = "not shown: DESCRIPTION; -o wide shows all";
    assert!(shown.contains(remark), "{shown}");
    let shown = on_terminal(jobs(&["--color", "never"]), 75);
    assert!(!shown.contains('…') && shown.contains(remark), "{shown}");
    let wide = on_terminal(jobs(&["-o", "wide", "--color", "never"]), 60);
    assert_eq!(wide, done(jobs(&["-o", "wide"])), "wide does not depend on the terminal");
    let file = done(jobs(&[]));
    assert!(wide.contains("2.1.5") && !file.contains("2.1.5"), "{wide}{file}");
    assert!(file.contains("narrow terminal\n"), "{file}");
    assert!(wide.contains("narrow terminal\n") && !wide.contains('\u{1b}'), "{wide}");

    let mut plain = jobs(&[]);
    plain.env("NO_COLOR", "1");
    assert!(!on_terminal(plain, 60).contains('\u{1b}'));
    let mut forced = jobs(&[]);
    forced.env("CLICOLOR_FORCE", "1");
    for command in [forced, jobs(&["--color", "always"])] {
        assert!(done(command).contains("\u{1b}[33mNO_INSTANCE"));
    }
    assert!(on_terminal(ejob(folder, &["--help"]), 80).contains("\u{1b}["));
    let help = on_terminal(ejob(folder, &["jobs", "--help", "--color", "never"]), 80);
    assert!(!help.contains('\u{1b}'), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");

    assert_eq!(done(jobs(&["-o", "name"])), "report\n");
    let json = document(done(jobs(&["-o", "json"])).as_bytes());
    assert_eq!(json, document(done(jobs(&["--json"])).as_bytes()));
    let yaml = done(jobs(&["-o", "yaml"]));
    assert!(yaml.starts_with("jobs:\n") && yaml.contains("job_name: report\n"), "{yaml}");
    let (code, error) = failed(jobs(&["--json", "-o", "yaml"]));
    assert!(code == 2 && error.contains("cannot be used with"), "{error}");
    let wrong = ejob(folder, &["job", "report", "-o", "name", "--registry", "sqlite:r.db"]);
    let (code, error) = failed(wrong);
    assert!(code == 2 && error.contains("lists no names; valid is table, wide, json"), "{error}");
}

#[tokio::test]
async fn context_is_used_unless_a_registry_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    registry(folder).await;
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    let in_other_folder = |arguments: &[&str]| {
        let mut command = ejob(folder, arguments);
        command.current_dir(folder.join("elsewhere"));
        command
    };
    let add = ["context", "add", "prod", "--registry", "sqlite:r.db"];
    done(ejob(folder, &add));
    let (code, error) = failed(ejob(folder, &add));
    assert!(code == 1 && error.contains("add --replace"), "{error}");
    let (code, _) = failed(in_other_folder(&["jobs"]));
    assert_eq!(code, 4, "no context is current");
    assert!(done(in_other_folder(&["jobs", "--context", "prod"])).contains("report"));
    let mut by_variable = in_other_folder(&["jobs"]);
    assert!(
        done({
            by_variable.env("EJOB_CONTEXT", "prod");
            by_variable
        })
        .contains("report")
    );

    done(ejob(folder, &["context", "use", "prod"]));
    assert!(done(in_other_folder(&["jobs"])).contains("report"));
    assert_eq!(done(ejob(folder, &["context", "list", "-o", "name"])), "prod\n");
    let preview = done(in_other_folder(&["remove", "report"]));
    assert!(preview.starts_with("context prod: sqlite:/"), "{preview}");
    let preview = done(in_other_folder(&["doctor", "--fix"]));
    assert!(preview.starts_with("context prod: sqlite:/"), "{preview}");
    // A context is made of what the command line names, not of the current one.
    let (code, error) = failed(ejob(folder, &["context", "add", "copy"]));
    assert!(code == 2 && error.contains("--registry is missing"), "{error}");

    // A named registry wins over the current context, and excludes a named one.
    let (code, error) = failed(in_other_folder(&["jobs", "--registry", "sqlite:none.db"]));
    assert!(code == 4 && error.contains("none.db"), "{error}");
    let both = ["jobs", "--context", "prod", "--registry", "sqlite:r.db"];
    let (code, error) = failed(ejob(folder, &both));
    assert!(code == 2 && error.contains("--context is \"prod\", but --registry"), "{error}");
    let (code, error) = failed(in_other_folder(&["jobs", "--namespace", "/other"]));
    assert!(code == 2 && error.contains("--namespace is given beside a context"), "{error}");
    let (code, error) = failed(in_other_folder(&["jobs", "--context", "dev"]));
    assert!(code == 4 && error.contains("no context \"dev\"") && error.contains("valid is prod"));

    // A file that cannot be used must not lead to another registry.
    let file = folder.join("config/ejob/contexts.toml");
    std::fs::write(&file, "current = 'prod'\n").unwrap();
    let (code, error) = failed(in_other_folder(&["jobs"]));
    assert!(code == 2 && error.contains("contexts.toml: current is \"prod\""), "{error}");
    assert!(done(ejob(folder, &["jobs", "--registry", "sqlite:r.db"])).contains("report"));
}

#[test]
fn context_has_secrets_by_reference_only() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let add = ["context", "add", "prod", "--registry", "zk://zk-1:2181/jobs"];
    let options = ["--digest-file", "digest", "--tls-ca", "/ca.pem", "--sasl-user", "anna"];
    let mut command = ejob(folder, &[&add[..], &options].concat());
    done({
        command.env("EJOB_SASL_PASSWORD", "s3cret");
        command
    });
    let stored = std::fs::read_to_string(folder.join("config/ejob/contexts.toml")).unwrap();
    let digest = std::path::absolute(folder.join("digest")).unwrap();
    assert!(stored.contains(&format!("digest = \"${{file:{}}}\"", digest.display())), "{stored}");
    assert!(stored.contains("sasl_password = \"${env:EJOB_SASL_PASSWORD}\""), "{stored}");
    let shown = done(ejob(folder, &["context", "show", "prod"]));
    assert!(shown.contains("sasl_user      anna\n"), "{shown}");
    assert!(!stored.contains("s3cret") && !shown.contains("s3cret"));
    // Without the secret a connection would go on without credentials.
    let (code, error) = failed(ejob(folder, &["jobs", "--context", "prod"]));
    assert!(code == 2 && error.contains("digest: ") && error.contains("cannot be read"), "{error}");
    let wrong = ["context", "add", "b", "--registry", "sqlite:r.db", "--tls-ca", "/ca.pem"];
    let (code, error) = failed(ejob(folder, &wrong));
    assert!(code == 2 && error.contains("which only ZooKeeper has"), "{error}");
}

#[tokio::test]
async fn worker_uses_the_registry_of_its_file_before_the_current_context() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    registry(folder).await;
    done(ejob(folder, &["context", "add", "prod", "--registry", "sqlite:r.db"]));
    done(ejob(folder, &["context", "use", "prod"]));
    // The registries of the files cannot be opened, so that the errors name them.
    let file = |registry: &str| format!("{registry}{JOBS}");
    std::fs::write(folder.join("a.toml"), file("registry = 'sqlite:/dev/null/a.db'\n")).unwrap();
    let (_, error) = failed(ejob(folder, &["worker", "a.toml"]));
    assert!(error.contains("/dev/null/a.db"), "{error}");
    done(ejob(folder, &["context", "add", "b", "--registry", "sqlite:/dev/null/b.db"]));
    let (_, error) = failed(ejob(folder, &["worker", "a.toml", "--context", "b"]));
    assert!(error.contains("/dev/null/b.db"), "{error}");
    done(ejob(folder, &["context", "use", "b"]));
    std::fs::write(folder.join("c.toml"), file("")).unwrap();
    let (_, error) = failed(ejob(folder, &["worker", "c.toml"]));
    assert!(error.contains("/dev/null/b.db"), "{error}");
}

/// Returns the words that bash offers for the last word of a command line.
fn completed(folder: &Path, line: &[&str]) -> Vec<String> {
    let program = Path::new(env!("CARGO_BIN_EXE_ejob"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut bash = ejob(folder, &[]);
    let script = r#"source <(ejob completions bash) || exit 1
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        _clap_complete_ejob ejob "${COMP_WORDS[COMP_CWORD]}" ""
        printf '%s\n' "${COMPREPLY[@]}""#;
    let environment: Vec<_> =
        bash.get_envs().map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned))).collect();
    bash = Command::new("bash");
    for (name, value) in environment {
        match value {
            Some(value) => bash.env(name, value),
            None => bash.env_remove(name),
        };
    }
    bash.env("PATH", path).current_dir(folder).stdin(Stdio::null());
    bash.args(["--noprofile", "--norc", "-c", script, "bash"]).args(line);
    let output = bash.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|word| word.trim_end().to_owned()).filter(|word| !word.is_empty()).collect()
}

#[tokio::test]
async fn shell_completes_commands_jobs_and_contexts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    registry(folder).await;
    done(ejob(folder, &["context", "add", "prod", "--registry", "sqlite:r.db"]));
    let place = ["--registry", "sqlite:r.db"];
    assert_eq!(completed(folder, &["ejob", "dra"]), ["drain"]);
    let job = [&["ejob"], &place[..], &["pause", "rep"]].concat();
    assert_eq!(completed(folder, &job), ["report"]);
    assert_eq!(completed(folder, &["ejob", "context", "use", "p"]), ["prod"]);
    assert_eq!(completed(folder, &["ejob", "jobs", "--context", "p"]), ["prod"]);
    assert_eq!(completed(folder, &["ejob", "--context", "prod", "job", "r"]), ["report"]);
    assert_eq!(completed(folder, &["ejob", "explain", "job_par"]), ["job_parameter"]);
    let fields = [&["ejob"], &place[..], &["config", "set", "report", "fail"]].concat();
    assert_eq!(completed(folder, &fields), ["failover="]);
    // A registry that does not exist offers nothing, and prints nothing.
    let none = ["ejob", "--registry", "sqlite:none.db", "job", "r"];
    assert!(completed(folder, &none).is_empty());
}

/// Waits no longer than the program does for a registry: less than the deadline of a connection,
/// which is ten seconds.
#[test]
fn completion_does_not_wait_for_a_registry_that_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    // It accepts connections, and never sends a byte.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("zk://{}/jobs", silent.local_addr().unwrap());
    let started = Instant::now();
    let found = completed(folder.path(), &["ejob", "--registry", &address, "job", "r"]);
    assert!(found.is_empty(), "{found:?}");
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}
