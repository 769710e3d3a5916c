//! Bad input: exit code and error line of the program for each case. Stored nodes do not change.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use coordination::{JobConfig, JobName, encode_config};
use reg_center::{Lifetime, NodePath, RegistryCenter, Txn};
use reg_center_zookeeper::{ZookeeperCenter, ZookeeperOptions};
use serde_json::Value;
use zookeeper_fixture::Server;

/// A test case: label, arguments, exit code, and the line without `error: `.
type Row<'a> = (&'a str, &'a [&'a str], i32, &'a str);

const DURATION: &str = "valid is a duration with its unit, such as 500ms, 5s or 1m 30s";
const TIME: &str = "valid is a time such as 2024-02-29T12:00:00Z, or 2024-02-29T20:00:00+08:00";
const TIME_OR_AGE: &str = "valid is a time such as 2024-02-29T12:00:00Z, a date or time in UTC such as \
                             2024-02-29 or 2024-02-29T12:00, or an age such as 5m or 2h";
const IP: &str = "valid is an IP address such as 10.0.0.7";

/// A job file without a registry.
const GOOD: &str = "[[jobs]]\nname='a'\nsharding_total_count=1\nscript={command='true'}\n";

/// Rust types and values, which an error line must not contain.
const INTERNALS: [&str; 8] = ["Some(", "None", "struct ", "enum ", "u32", "u64", "Doc", "i64"];

fn ejob(folder: &Path, server: Option<&str>, words: &[&str]) -> Output {
    command(folder, server, words).output().unwrap()
}

/// End of the error about an option that is given without a registry.
const NO_REGISTRY: &str = "but no registry; give --registry ADDRESS, such as zk://zk-1:2181,zk-2:2181/jobs, or set EJOB_REGISTRY or EJOB_ZOOKEEPER";

fn command(folder: &Path, server: Option<&str>, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ejob"));
    command.current_dir(folder).args(words);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("EJOB_") {
            command.env_remove(name);
        }
    }
    // No test finds or creates a registry file of the user.
    command.env("XDG_STATE_HOME", folder.join("state"));
    command.env("XDG_CONFIG_HOME", folder.join("config"));
    if let Some(server) = server {
        command.args(["--zookeeper", server]);
        if !words.contains(&"--namespace") {
            command.args(["--namespace", "/jobs"]);
        }
    }
    command
}

/// A forgotten value must not start a cluster of its own on each host, and no command may change
/// the file of a host in place of the registry of all hosts.
#[test]
fn variables_that_name_no_registry_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.toml"), GOOD).unwrap();
    let rows = [
        ("EJOB_REGISTRY", "", "EJOB_REGISTRY is set, but empty; "),
        ("EJOB_ZOOKEEPER", "", "EJOB_ZOOKEEPER is set, but empty; "),
        ("EJOB_NAMESPACE", "", "EJOB_NAMESPACE is set, but empty; "),
        ("ETCD_PASSWORD", "x", "ETCD_PASSWORD is given, but no registry; "),
    ];
    let commands: [&[&str]; 4] =
        [&["worker", "good.toml"], &["jobs"], &["trigger", "a"], &["console"]];
    for (variable, value, expected) in rows {
        for words in commands {
            let mut command = command(folder.path(), None, words);
            let output = command.env(variable, value).output().unwrap();
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{variable}, {words:?}: {error}");
            let expected = format!("error: {expected}");
            assert!(error.starts_with(&expected), "{variable}, {words:?}: {error}");
        }
    }
    assert!(!folder.path().join("state").exists(), "a registry file was created");
}

#[test]
fn worker_without_a_state_directory_names_both_variables() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.toml"), GOOD).unwrap();
    let mut worker = command(folder.path(), None, &["worker", "good.toml"]);
    let output = worker.env_remove("XDG_STATE_HOME").env_remove("HOME").output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    let expected = "error: no registry is named, and neither XDG_STATE_HOME nor HOME names a state directory for a file; give --registry ADDRESS, such as _";
    assert!(error.starts_with(expected.trim_end_matches('_')), "{error}");
}

/// `PGPASSWORD` may be for the scripts of jobs, so it is no reason to refuse the file.
#[test]
fn first_line_of_a_worker_names_the_default_file_and_its_single_host() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.toml"), GOOD).unwrap();
    let mut worker = command(folder.path(), None, &["worker", "good.toml"]);
    worker.env("PGPASSWORD", "x").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut worker = worker.spawn().unwrap();
    let mut first = String::new();
    BufReader::new(worker.stdout.take().unwrap()).read_line(&mut first).unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    let file = folder.path().join("state/ejob/registry.db");
    let expected = format!("registry: {}, single host only; ", file.display());
    assert!(first.starts_with(&expected), "{first}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the rows. A final `_` in a line stands for any rest. Only a quotation with carets adds
/// lines.
fn check(folder: &Path, server: Option<&str>, rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for (case, words, code, line) in rows {
        let output = ejob(folder, server, words);
        let err = text(&output.stderr);
        let expected = format!("error: {line}");
        let is_expected = match expected.strip_suffix('_') {
            Some(start) => err.starts_with(start) && err.ends_with('\n'),
            None => err == format!("{expected}\n"),
        };
        let further: Vec<&str> = err.lines().skip(1).collect();
        let is_one_line = match further[..] {
            [] => true,
            [quoted, carets] => {
                quoted.starts_with("  ") && carets.trim().trim_matches('^').is_empty()
            }
            _ => false,
        };
        // A worker names its registry before it opens it.
        let out = text(&output.stdout);
        let is_silent = out.is_empty() || (out.starts_with("registry: ") && words[0] == "worker");
        let names_internals = INTERNALS.iter().any(|word| err.contains(word));
        if output.status.code() != Some(*code)
            || !is_expected
            || !is_one_line
            || !is_silent
            || names_internals
        {
            wrong.push(format!("{case}: {:?}\n  {err}  {out}", output.status.code()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_command_line_is_one_error_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("colonless", "secret\n");
    write("later.yaml", "format: ejob-export\nversion: 2\njobs: []\n");
    write("nameless.toml", "[[jobs]]\nsharding_total_count = 1\nstored = true\n");
    let declare =
        |line: &str| format!("[[jobs]]\nname='a'\nsharding_total_count=1\n{line}\nstored=true\n");
    write("wrong.toml", &declare("cron='x'"));
    write("never.toml", &declare("cron='0 0 0 30 2 ?'"));
    write("pairs.toml", &declare("sharding_item_parameters='0=a,x'"));
    write(
        "misspelt.yaml",
        "jobs:\n- name: a\n  failver: true\n  sharding_total_count: 1\n  stored: true\n",
    );
    write("good.toml", "[[jobs]]\nname='a'\nsharding_total_count=1\nscript={command='true'}\n");
    let script = |command: &str| {
        format!("[[jobs]]\nname='a'\nsharding_total_count=1\nscript={{command='{command}'}}\n")
    };
    write("programless.toml", &script("/no/such/tool"));
    let at = |registry: &str| format!("registry='{registry}'\n{}", script("true"));
    write("redis.toml", &at("redis://a"));
    write("unnamed.toml", &at("zk://a"));
    write("placed.toml", &at("sqlite:placed.db"));
    write("empty.toml", &at(""));
    write("blank.db", "");
    write("operator.toml", &script("true | cat"));
    let why = ["--why", "x"];
    let missing = "the following required arguments were not provided:";
    let no_file = "No such file or directory (os error 2)";
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let rows: &[Row<'_>] = &[
        (
            "a live view without a terminal",
            &["top"],
            2,
            "`top` needs a terminal as input and output; elsewhere, use `ejob jobs --watch`",
        ),
        ("no command", &[], 2, "a command is missing; `ejob --help` lists them"),
        ("no subcommand", &["config"], 2, "a command is missing; `ejob config --help` lists them"),
        ("another command", &["jbos"], 2, "unrecognized subcommand 'jbos'; tip: _"),
        (
            "another option",
            &["jobs", "--bogus"],
            2,
            "unexpected argument '--bogus' found; see `ejob jobs --help`",
        ),
        (
            "no namespace",
            &["jobs", "--zookeeper", "a"],
            2,
            "--namespace is missing; give it, such as --namespace /jobs, or set EJOB_NAMESPACE",
        ),
        (
            "namespace without a registry",
            &["jobs", "--namespace", "/a"],
            2,
            &format!("--namespace (or EJOB_NAMESPACE) is given, {NO_REGISTRY}"),
        ),
        (
            "credentials without a registry",
            &["worker", "good.toml", "--digest-file", "colonless"],
            2,
            &format!("--digest-file (or EJOB_DIGEST) is given, {NO_REGISTRY}"),
        ),
        (
            "TLS without a registry",
            &["jobs", "--tls-ca", "ca.pem"],
            2,
            &format!("--tls-ca is given, {NO_REGISTRY}"),
        ),
        (
            "server IP without a registry",
            &["worker", "good.toml", "--server-ip", "10.0.0.1"],
            2,
            &format!("--server-ip is given, {NO_REGISTRY}"),
        ),
        (
            "unknown registry in a job file",
            &["worker", "redis.toml", "--check"],
            2,
            "redis.toml: line 1: registry: registry address \"redis://a\": unknown kind; valid: _",
        ),
        (
            "registry without a namespace in a job file",
            &["worker", "unnamed.toml"],
            2,
            "unnamed.toml: line 1: registry: \"zk://a\" names no namespace; valid is zk://a/NAMESPACE, such as zk://a/jobs",
        ),
        (
            "empty registry in a job file",
            &["worker", "empty.toml"],
            2,
            "empty.toml: line 1: registry is empty; valid is an address in quotes, such as _",
        ),
        (
            "namespace beside the registry of a job file",
            &["worker", "placed.toml", "--namespace", "/a"],
            2,
            "--namespace is given beside the registry of the job file, whose address has the namespace, such as zk://zk-1:2181,zk-2:2181/jobs",
        ),
        (
            "credentials beside a file that a job file names",
            &["worker", "placed.toml", "--digest-file", "colonless"],
            2,
            "--digest-file (or EJOB_DIGEST) is given, which only ZooKeeper has, but the registry is sqlite:placed.db",
        ),
        (
            "two registries",
            &["jobs", "--registry", "sqlite:a.db", "--zookeeper", "a", "--namespace", "/a"],
            2,
            "--registry (or EJOB_REGISTRY) and --zookeeper (or EJOB_ZOOKEEPER) are both given; valid is one of them",
        ),
        (
            "namespace beside an address",
            &["jobs", "--registry", "zk://a/b", "--namespace", "/a"],
            2,
            "--namespace is given beside --registry, whose address has the namespace, such as zk://zk-1:2181,zk-2:2181/jobs",
        ),
        (
            "credentials of ZooKeeper for a file",
            &["jobs", "--registry", "sqlite:a.db", "--digest-file", "colonless"],
            2,
            "--digest-file (or EJOB_DIGEST) is given, which only ZooKeeper has, but the registry is sqlite:a.db",
        ),
        (
            "address without a namespace",
            &["jobs", "--registry", "zk://a"],
            2,
            "--registry: \"zk://a\" names no namespace; valid is zk://a/NAMESPACE, such as zk://a/jobs",
        ),
        (
            "address of an unknown kind",
            &["jobs", "--registry", "redis://a"],
            2,
            "--registry: registry address \"redis://a\": unknown kind; valid: _",
        ),
        (
            "memory of a process that ends",
            &["jobs", "--registry", "memory:"],
            2,
            "--registry is memory:, which ends with its process, so only `ejob worker` can use it; valid is an address such as _",
        ),
        (
            "no registry file",
            &["jobs", "--registry", "sqlite:gone.db"],
            4,
            "there is no registry sqlite:gone.db: `ejob worker` creates it; or check --registry",
        ),
        (
            "items to pause",
            &["pause", "report", "--items", "3", "--why", "x"],
            2,
            "invalid value '3' for '--items <ITEMS>': servers are paused, and items are disabled: `ejob disable JOB --items 3`",
        ),
        (
            "registry file of no bytes",
            &["jobs", "--registry", "sqlite:blank.db"],
            4,
            "there is no registry sqlite:blank.db: `ejob worker` creates it; or check --registry",
        ),
        (
            "parameters in an address of ZooKeeper",
            &["jobs", "--registry", "zk://a/jobs?digest=u:secret"],
            2,
            "--registry: registry address (hidden): url is (hidden); valid: no parameters in a URL, _",
        ),
        (
            "no registry and no default file",
            &["jobs"],
            4,
            "no registry is named, and no worker has created _",
        ),
        (
            "the root as namespace",
            &["jobs", "--namespace", "/", "--zookeeper", "127.0.0.1:1"],
            2,
            "--namespace is \"/\", where ZooKeeper keeps its own nodes; valid is a node below it, such as /jobs",
        ),
        (
            "address",
            &["jobs", "--namespace", "/a", "--zookeeper", "a,,b"],
            2,
            "--zookeeper is \"\"; valid: host or host:port, comma separated, IPv6 in brackets",
        ),
        (
            "namespace",
            &["jobs", "--namespace", "a", "--zookeeper", "a"],
            2,
            "--namespace is \"a\"; valid: a node path such as /jobs, of at most 200 bytes",
        ),
        (
            "connect timeout",
            &["jobs", "--connect-timeout", "5"],
            2,
            &format!("invalid value '5' for '--connect-timeout <TIME>': {DURATION}"),
        ),
        (
            "timeout",
            &["jobs", "--timeout", "soon"],
            2,
            &format!("invalid value 'soon' for '--timeout <TIME>': {DURATION}"),
        ),
        (
            "no digest file",
            &["jobs", "--namespace", "/a", "--zookeeper", "a", "--digest-file", "gone"],
            2,
            &format!("--digest-file gone cannot be read: {no_file}"),
        ),
        (
            "digest without a colon",
            &["jobs", "--namespace", "/a", "--zookeeper", "a", "--digest-file", "colonless"],
            2,
            "--digest-file (or EJOB_DIGEST) is (hidden); valid: user:password",
        ),
        (
            "unreachable",
            &[
                "jobs",
                "--namespace",
                "/a",
                "--zookeeper",
                "127.0.0.1:1",
                "--connect-timeout",
                "300ms",
            ],
            3,
            "no ZooKeeper answers at 127.0.0.1:1 within 300ms; check --zookeeper and that the servers run",
        ),
        (
            "job name",
            &["job", "a/b"],
            2,
            "invalid value 'a/b' for '<JOB>': job name \"a/b\" is not valid: a name must not contain a slash",
        ),
        ("no job", &["job"], 2, &format!("{missing} <JOB>; see `ejob job --help`")),
        (
            "item",
            &["why", "a", "x"],
            2,
            "invalid value 'x' for '[ITEM]': valid is the number of an item, counted from 0",
        ),
        (
            "server",
            &["jobs", "--server", "a"],
            2,
            &format!("invalid value 'a' for '--server <IP>': {IP}"),
        ),
        (
            "count",
            &["next", "a", "-n", "0"],
            2,
            "invalid value '0' for '-n <COUNT>': 0 is not in 1..=1000",
        ),
        (
            "cron",
            &["next", "--cron", "0 0 25 * * ?"],
            2,
            "--cron is \"0 0 25 * * ?\"; valid is a Quartz expression such as \"0 0/5 * * * ?\"; \
             cron expression, hour: 25 is not within 0-23; valid are 0-23, ranges `a-b`, steps `*/n`, \
             `a/n`, `a-b/n`, lists `a,b` of them, and `*`\n  0 0 25 * * ?\n      ^^",
        ),
        (
            "an expression that never fires",
            &["next", "--cron", "0 0 0 30 2 ?", "--after", "2026-11-23T00:00:00Z"],
            2,
            "--cron is \"0 0 0 30 2 ?\"; valid is an expression that fires after 2026-11-23T00:00:00Z; this one never fires after that",
        ),
        (
            "time zone",
            &["next", "--cron", "0 0 5 * * ?", "--time-zone", "Mars"],
            2,
            "--time-zone is \"Mars\"; valid is an IANA name such as Asia/Shanghai, or an offset such as GMT+08:00",
        ),
        (
            "misspelt time zone",
            &["next", "--cron", "0 0 5 * * ?", "--time-zone", "America/New_Yrk"],
            2,
            "--time-zone is \"America/New_Yrk\"; valid is an IANA name such as Asia/Shanghai, \
             or an offset such as GMT+08:00; did you mean America/New_York?",
        ),
        (
            "time zone of a job",
            &["next", "a", "--time-zone", "UTC"],
            2,
            "the argument '[JOB]' cannot be used with '--time-zone <ZONE>'; see `ejob next --help`",
        ),
        (
            "time",
            &["next", "a", "--after", "noon"],
            2,
            &format!("invalid value 'noon' for '--after <TIME>': {TIME}"),
        ),
        (
            "from",
            &["history", "--from", "noon"],
            2,
            &format!("invalid value 'noon' for '--from <TIME>': {TIME_OR_AGE}"),
        ),
        (
            "until",
            &["history", "--until", "noon"],
            2,
            &format!("invalid value 'noon' for '--until <TIME>': {TIME_OR_AGE}"),
        ),
        (
            "parameter",
            &["trigger", "a", "--parameter", "\u{7}"],
            2,
            "invalid value '' for '--parameter <TEXT>': valid is 1 to 4096 bytes of text, without _",
        ),
        (
            "items",
            &["trigger", "a", "--items", "5-3"],
            2,
            "invalid value '5-3' for '--items <ITEMS>': valid are item numbers and ranges, such as 0,3-5",
        ),
        (
            "wait",
            &["rerun", "a", "--wait", "5"],
            2,
            &format!("invalid value '5' for '--wait <TIME>': {DURATION}"),
        ),
        (
            "no reason to cancel",
            &["cancel", "a", "--all"],
            2,
            "--why is missing; give a reason, such as cancel --why \"release 12\"",
        ),
        (
            "no reason for a backfill",
            &["backfill", "a", "--from", "2d", "--to", "1d"],
            2,
            "--why is missing; give a reason, such as backfill --why \"release 12\"",
        ),
        (
            "fire to cancel",
            &["cancel", "a", "--fire", "noon"],
            2,
            "invalid value 'noon' for '--fire <TIME>': valid is a time such as 2024-02-29T12:00:00Z, or 2024-02-29T20:00:00+08:00",
        ),
        (
            "no reason",
            &["pause", "a"],
            2,
            &format!("{missing} --why <TEXT>; see `ejob pause --help`"),
        ),
        (
            "nothing named",
            &[&["disable"], &why[..]].concat(),
            2,
            &format!("{missing} <JOB|--server <IP>>; see `ejob disable --help`"),
        ),
        (
            "reason",
            &["pause", "a", "--why", " "],
            2,
            "--why is blank; valid is a text of 1 to 512 bytes without control characters",
        ),
        (
            "who",
            &["resume", "a", "--by", "\u{7}"],
            2,
            "--by is \"\\u{7}\"; valid is a text of 1 to 512 bytes without control characters",
        ),
        (
            "items of a server",
            &[&["enable", "a", "--items", "1", "--server", "10.0.0.1"][..]].concat(),
            2,
            "the argument '--items <ITEMS>' cannot be used with '--server <IP>'; see `ejob enable --help`",
        ),
        (
            "drain of nothing",
            &[&["drain", "a"], &why[..]].concat(),
            2,
            &format!("{missing} --server <IP>; see `ejob drain --help`"),
        ),
        (
            "deadline",
            &[&["drain", "a", "--server", "10.0.0.1", "--deadline", "0s"], &why[..]].concat(),
            2,
            &format!("invalid value '0s' for '--deadline <TIME>': {DURATION}"),
        ),
        (
            "instance",
            &[&["shutdown", "a", "--instance", "x"], &why[..]].concat(),
            2,
            "invalid value 'x' for '--instance <ID>': valid is an id such as 10.0.0.7@-@4123-k3f9a; \
             `ejob instances` lists them",
        ),
        (
            "no server to remove",
            &[&["remove-server"], &why[..]].concat(),
            2,
            &format!("{missing} --server <IP>; see `ejob remove-server --help`"),
        ),
        (
            "empty server to remove",
            &[&["remove-server", "--server", ""], &why[..]].concat(),
            2,
            "invalid value '' for '--server <IP>': valid is an IP address such as 10.0.0.7, or a \
             pattern such as 10.0.*",
        ),
        (
            "removal without a reason",
            &["remove", "a", "--confirm", "a"],
            2,
            "--why is missing; give a reason, such as remove --why \"release 12\"",
        ),
        (
            "no field",
            &["config", "set", "a"],
            2,
            &format!("{missing} <FIELD=VALUE>...; see `ejob config set --help`"),
        ),
        (
            "revision",
            &["config", "set", "a", "failover=true", "--revision", "x"],
            2,
            "invalid value 'x' for '--revision <REVISION>': valid is a revision as `ejob config get` shows it, such as r42",
        ),
        (
            "two files",
            &["config", "diff", "a", "--document", "a", "--jobs", "b"],
            2,
            "the argument '--document <FILE>' cannot be used with '--jobs <FILE>'; see `ejob config diff --help`",
        ),
        (
            "no template",
            &["create", "a", "sharding_total_count=1"],
            2,
            &format!("{missing} --template <NAME>; see `ejob create --help`"),
        ),
        (
            "nothing of a new job",
            &["create", "a", "--template", "t"],
            2,
            &format!("{missing} <FIELD=VALUE>...; see `ejob create --help`"),
        ),
        (
            "no number of items",
            &["create", "a", "failover=true", "--template", "t"],
            2,
            "sharding_total_count is missing; valid is 1 to 100000, such as sharding_total_count=4",
        ),
        (
            "template",
            &["create", "a", "sharding_total_count=1", "--template", " "],
            2,
            "invalid value ' ' for '--template <NAME>': template name \" \" is not valid: it is blank",
        ),
        (
            "label",
            &["create", "a", "sharding_total_count=1", "--template", "t", "--label", "a,b"],
            2,
            "invalid value 'a,b' for '--label <WORD>': label \"a,b\" is not valid: it contains a comma_",
        ),
        (
            "dialect of a document",
            &["create", "a", "--template", "t", "--document", "x", "--dialect", "3.x"],
            2,
            "the argument '--document <FILE>' cannot be used with '--dialect <DIALECT>'; see `ejob create --help`",
        ),
        (
            "number of items",
            &["plan", "a", "--items", "0"],
            2,
            "invalid value '0' for '--items <COUNT>': 0 is not in 1..=100000",
        ),
        (
            "strategy",
            &["plan", "a", "--strategy", "NO"],
            2,
            "--strategy: unknown sharding strategy \"NO\"; valid are _",
        ),
        (
            "address to join",
            &["plan", "a", "--join", "x"],
            2,
            &format!("invalid value 'x' for '--join <IP>': {IP}"),
        ),
        (
            "applying nothing",
            &["doctor", "--apply"],
            2,
            &format!("{missing} --fix; see `ejob doctor --help`"),
        ),
        (
            "fixes without a reason",
            &["doctor", "--fix", "--apply"],
            2,
            "--why is missing; give a reason, such as doctor --fix --apply --why \"release 12\"",
        ),
        (
            "apart",
            &["doctor", "--twice", "0s"],
            2,
            &format!("invalid value '0s' for '--twice <TIME>': {DURATION}"),
        ),
        (
            "severity",
            &["doctor", "--least", "bad"],
            2,
            "invalid value 'bad' for '--least <SEVERITY>'; [possible values: info, warning, error]",
        ),
        (
            "a history without its kind",
            &["history", "--history", "history.db"],
            2,
            "--history: url: the given text is not valid, it must be sqlite:PATH, \
             postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE; \
             did you mean sqlite:history.db?",
        ),
        (
            "one job of the list",
            &["jobs", "report"],
            2,
            "unexpected argument 'report' found; `ejob job report` shows one job; \
             see `ejob jobs --help`",
        ),
        (
            "no history",
            &["history"],
            2,
            "--history is missing; give it, such as --history sqlite:history.db, or set EJOB_HISTORY",
        ),
        (
            "history",
            &["history", "--history", "oracle://x"],
            2,
            "--history: url: its scheme is not valid, it must be sqlite:PATH, \
             postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE",
        ),
        (
            "a password in an argument",
            &["history", "--history", "postgres://anna:secret@h/d"],
            2,
            "--history contains a password, which every user of this host can see; \
             pass it with --history-password-file, or set EJOB_HISTORY_PASSWORD or EJOB_HISTORY",
        ),
        (
            "no file of a history",
            &["history", "--history", "sqlite:gone.db"],
            4,
            "there is no history at gone.db; check --history",
        ),
        ("no database", &["history", "--history", "sqlite:good.toml"], 2, "the history store _"),
        (
            "outcome of a history",
            &["history", "--history", "sqlite:gone.db", "--outcome", "fail"],
            2,
            "invalid value 'fail' for '--outcome <WORD>'; [possible values: succeeded, failed, panicked, \
             timed_out, interrupted, cancelled, disabled, running, unknown, orphaned, missed, \
             misfired, gap]; \
             tip: a similar value exists: 'failed'",
        ),
        (
            "limit",
            &["history", "--limit", "0"],
            2,
            "invalid value '0' for '--limit <COUNT>': 0 is not in 1..=1000",
        ),
        (
            "no history to verify",
            &["verify", "count", "--from", "1d"],
            2,
            "--history is missing; give it, such as --history sqlite:history.db, or set EJOB_HISTORY",
        ),
        (
            "no history of output",
            &["logs", "count"],
            2,
            "--history is missing; give it, such as --history sqlite:history.db, or set EJOB_HISTORY",
        ),
        (
            "no file of a history of output",
            &["logs", "count", "--history", "sqlite:gone.db"],
            4,
            "there is no history at gone.db; check --history",
        ),
        (
            "source of output",
            &["logs", "count", "--history", "sqlite:gone.db", "--stream", "out"],
            2,
            "invalid value 'out' for '--stream <WORD>'; [possible values: stdout, stderr, log, http]",
        ),
        (
            "no beginning of a verification",
            &["verify", "count", "--history", "sqlite:gone.db"],
            2,
            "the following required arguments were not provided: --from <TIME>; see `ejob verify --help`",
        ),
        (
            "verdict",
            &["verify", "count", "--from", "1d", "--verdict", "twice"],
            2,
            "invalid value 'twice' for '--verdict <WORD>'; [possible values: run, run_twice, missed, \
             unexplained, open]",
        ),
        (
            "no file of a history to verify",
            &["verify", "count", "--from", "1d", "--history", "sqlite:gone.db"],
            4,
            "there is no history at gone.db; check --history",
        ),
        (
            "end of a verification before its beginning",
            &[
                "verify",
                "count",
                "--history",
                "sqlite:good.toml",
                "--from",
                "2024-02-29",
                "--to",
                "2024-02-28",
            ],
            2,
            "--to is 2024-02-28T00:00:00Z with from 2024-02-29T00:00:00Z; valid is a time after from",
        ),
        (
            "verification of two years",
            &[
                "verify",
                "count",
                "--history",
                "sqlite:good.toml",
                "--from",
                "2022-01-01",
                "--to",
                "2024-01-01",
            ],
            2,
            "--to is 2024-01-01T00:00:00Z with from 2022-01-01T00:00:00Z; \
             valid is at most 366 days after from",
        ),
        (
            "items of events",
            &["history", "--events", "--item", "1"],
            2,
            "the argument '--events' cannot be used with '--item <ITEM>'; see `ejob history --help`",
        ),
        (
            "no password file",
            &["history", "--history", "postgres://u@h/d", "--history-password-file", "gone"],
            2,
            &format!("--history-password-file gone cannot be read: {no_file}"),
        ),
        (
            "shell",
            &["completions", "tcsh"],
            2,
            "invalid value 'tcsh' for '<SHELL>'; [possible values: bash, elvish, fish, powershell, zsh]_",
        ),
        (
            "nothing to import",
            &["import"],
            2,
            &format!("{missing} <FILE>; see `ejob import --help`"),
        ),
        ("import", &["import", "gone"], 2, &format!("gone cannot be read: {no_file}")),
        ("not an export", &["import", "good.toml"], 2, "good.toml is not an export of ejob: _"),
        (
            "an import of a later version",
            &["import", "later.yaml"],
            2,
            "later.yaml: version is 2; this program reads version 1",
        ),
        (
            "dialect of an import",
            &["import", "--from-1x", "/a", "--dialect", "1"],
            2,
            "invalid value '1' for '--dialect <DIALECT>': valid is 2.1.5 or 3.x",
        ),
        (
            "an import into itself",
            &["import", "--from-1x", "/a", "--namespace", "/a", "--zookeeper", "a"],
            2,
            "--from-1x and --namespace are both /a; valid is another namespace: _",
        ),
        (
            "form",
            &["export", "--form", "xml"],
            2,
            "invalid value 'xml' for '--form <FORM>'; [possible values: yaml, json]_",
        ),
        ("no file", &["worker"], 2, &format!("{missing} <FILE>; see `ejob worker --help`")),
        (
            "file",
            &["worker", "gone.toml"],
            2,
            &format!(
                "gone.toml cannot be read: {no_file}; `ejob init` writes a file to begin with"
            ),
        ),
        (
            "form",
            &["worker", "x.ini"],
            2,
            "x.ini is of no known form; valid is a name that ends in .toml, .yaml or .yml",
        ),
        (
            "syntax",
            &["worker", "nameless.toml"],
            2,
            "nameless.toml: line 1: job \"jobs[0]\": name is missing; valid is a text of 1 to 128 bytes in quotes, such as \"report\"",
        ),
        (
            "no program",
            &["worker", "programless.toml", "--check"],
            2,
            "programless.toml: line 4: job \"a\": the program of script is \"/no/such/tool\"; \
             valid is an executable file; /no/such/tool does not exist",
        ),
        (
            "operator",
            &["worker", "operator.toml", "--check"],
            2,
            "operator.toml: line 4: job \"a\": script.command is \"true | cat\", with the operator | of a \
             shell; valid is one program and its arguments; a command of a shell is `shell` in place \
             of `command`, and in quotes an operator is an argument",
        ),
        (
            "cron in a file",
            &["worker", "wrong.toml", "--check"],
            2,
            "wrong.toml: line 4: job \"a\": cron is \"x\"; valid is a Quartz expression _",
        ),
        (
            "cron that never fires",
            &["worker", "never.toml", "--check"],
            2,
            "never.toml: line 4: job \"a\": cron is \"0 0 0 30 2 ?\"; valid is rules that fire after _",
        ),
        (
            "cron that never fires, at the start",
            &["worker", "never.toml"],
            2,
            "never.toml: line 4: job \"a\": cron is \"0 0 0 30 2 ?\"; valid is rules that fire after _",
        ),
        (
            "parameters of items",
            &["worker", "pairs.toml", "--check"],
            2,
            "pairs.toml: line 4: job \"a\": sharding_item_parameters is \"0=a,x\"; valid is pairs such as \
             0=Beijing,1=Shanghai; sharding item parameters: the pair has no equals sign; valid are \
             `item=value` pairs separated by commas, such as `0=Beijing,1=Shanghai`\n  0=a,x\n      ^",
        ),
        (
            "a misspelt key",
            &["worker", "misspelt.yaml", "--check"],
            2,
            "misspelt.yaml: line 3: job \"a\": failver is an unknown key of a job; did you mean failover?",
        ),
        (
            "dialect",
            &["worker", "good.toml", "--dialect", "4"],
            2,
            "invalid value '4' for '--dialect <DIALECT>': valid is 2.1.5 or 3.x",
        ),
        (
            "address",
            &["worker", "good.toml", "--server-ip", "x"],
            2,
            &format!("invalid value 'x' for '--server-ip <IP>': {IP}"),
        ),
        (
            "drain",
            &["worker", "good.toml", "--drain", "0s"],
            2,
            &format!("invalid value '0s' for '--drain <TIME>': {DURATION}"),
        ),
        (
            "concurrency",
            &["worker", "good.toml", "--max-concurrency", "0"],
            2,
            "invalid value '0' for '--max-concurrency <N>': valid is a whole number, from 1",
        ),
        (
            "session",
            &[
                "worker",
                "good.toml",
                "--session-timeout",
                "1ms",
                "--zookeeper",
                "a",
                "--namespace",
                "/a",
            ],
            2,
            "--session-timeout is \"1ms\"; valid: 100 ms to 1 h",
        ),
        (
            "zone",
            &["worker", "good.toml", "--default-time-zone", "Mars"],
            2,
            "--default-time-zone is \"Mars\"; valid is an IANA name such as Asia/Shanghai, or an offset such as GMT+08:00",
        ),
        (
            "port",
            &["worker", "good.toml", "--dump-port", "70000"],
            2,
            "invalid value '70000' for '--dump-port <PORT>': 70000 is not in 0..=65535",
        ),
        (
            "port in use",
            &["worker", "good.toml", "--metrics-port", &taken],
            2,
            &format!(
                "--metrics-port {taken}: cannot listen on this port: Address already in use (os error 98); name a free port"
            ),
        ),
        (
            "history of a worker",
            &["worker", "good.toml", "--history", "sqlite:/gone/h.db"],
            2,
            &format!(
                "the history store sqlite:/gone/h.db cannot be used: the file cannot be created: {no_file}"
            ),
        ),
    ];
    check(folder.path(), None, rows);
}

/// A command line for each command that connects to the registry.
const LINES: [&[&str]; 30] = [
    &["jobs"],
    &["jobs", "--server", "10.0.0.1"],
    &["job", "a"],
    &["instances"],
    &["servers"],
    &["why", "a"],
    &["next", "a"],
    &["audit"],
    &["dump", "a"],
    &["trigger", "a"],
    &["rerun", "a"],
    &["backfill", "a"],
    &["cancel", "a", "--all", "--why", "x"],
    &["pause", "a", "--why", "x"],
    &["resume", "a"],
    &["disable", "a", "--why", "x"],
    &["enable", "a"],
    &["drain", "a", "--server", "10.0.0.1", "--why", "x"],
    &["shutdown", "a", "--why", "x"],
    &["remove", "a"],
    &["remove-server", "--server", "10.0.0.1", "--why", "x"],
    &["config", "get", "a"],
    &["config", "set", "a", "failover=true"],
    &["config", "diff", "a", "failover=true"],
    &["create", "a", "sharding_total_count=1", "--template", "t"],
    &["plan", "a"],
    &["doctor"],
    &["export"],
    &["import", "export.yaml"],
    &["worker", "jobs.toml"],
];

#[test]
fn every_command_reports_an_unreachable_registry() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("export.yaml", "format: ejob-export\nversion: 1\njobs: []\n");
    write("jobs.toml", "[[jobs]]\nname='a'\nsharding_total_count=1\nscript={command='true'}\n");
    let line = "no ZooKeeper answers at 127.0.0.1:1 within 100ms; check --zookeeper and that the servers run";
    let words = |line: &&[&'static str]| [line, &["--connect-timeout", "100ms"][..]].concat();
    let lines: Vec<Vec<&str>> = LINES.iter().map(words).collect();
    let rows: Vec<Row<'_>> = lines.iter().map(|words| (words[0], &words[..], 3, line)).collect();
    // A worker also logs, so its standard error has more lines.
    let (worker, rows) = rows.split_last().unwrap();
    check(folder.path(), Some("127.0.0.1:1"), rows);
    let worker = ejob(folder.path(), Some("127.0.0.1:1"), worker.1);
    assert_eq!(worker.status.code(), Some(3), "{worker:?}");
    assert!(text(&worker.stderr).ends_with(&format!("error: {line}\n")), "{worker:?}");
}

#[cfg(not(feature = "postgres"))]
#[test]
fn history_store_that_was_not_built_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["history", "--history", "postgres://anna@127.0.0.1:1/d"];
    let line = "--history: this ejob was built without PostgreSQL; install one with \
                `cargo install --locked --path crates/cli --features postgres`, or name a file, such as \
                sqlite:history.db";
    check(folder.path(), None, &[("not built", &words, 2, line)]);
}

#[cfg(feature = "postgres")]
#[test]
fn unreachable_history_store_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["history", "--history", "postgres://anna@127.0.0.1:1/d"];
    check(folder.path(), None, &[("away", &words, 3, "the history store _")]);
}

#[test]
fn errors_are_one_document_with_json() {
    let folder = tempfile::tempdir().unwrap();
    let rows: [(&[&str], i32, &str); 5] = [
        (&["jbos"], 2, "usage"),
        (&["next", "a", "-n", "0"], 2, "usage"),
        (&["jobs"], 4, "not-found"),
        (&["history", "--history", "sqlite:gone.db"], 4, "not-found"),
        (
            &[
                "jobs",
                "--namespace",
                "/a",
                "--zookeeper",
                "127.0.0.1:1",
                "--connect-timeout",
                "100ms",
            ],
            3,
            "unreachable",
        ),
    ];
    for (words, code, kind) in rows {
        let output = ejob(folder.path(), None, &[words, &["--json"][..]].concat());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
        let document = super::support::document(&output.stdout);
        let error = &document["error"];
        assert_eq!((&error["kind"], &error["code"]), (&kind.into(), &code.into()), "{words:?}");
        let line = format!("error: {}\n", error["message"].as_str().unwrap());
        assert_eq!(text(&output.stderr), line, "{words:?}");
    }
}

#[test]
fn invalid_log_filter_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let line = "EJOB_LOG is \"operations=loud\"; valid is a filter such as info, or operations=debug,info (";
    for json in [false, true] {
        let words: &[&str] = if json { &["jobs", "--json"] } else { &["jobs"] };
        let mut command = command(folder.path(), None, words);
        let output = command.env("EJOB_LOG", "operations=loud").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let err = text(&output.stderr);
        assert!(err.starts_with(&format!("error: {line}")) && err.lines().count() == 1, "{err}");
        let document: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        assert_eq!(document.is_some_and(|d| d["error"]["kind"] == "usage"), json, "{output:?}");
    }
}

#[test]
fn help_does_not_show_variables_with_passwords() {
    let folder = tempfile::tempdir().unwrap();
    for word in ["history", "worker"] {
        let mut command = command(folder.path(), None, &[word, "--help"]);
        let url = "postgres://anna:t0ps3cret@h/d";
        let output = command.env("EJOB_HISTORY", url).output().unwrap();
        let help = text(&output.stdout);
        assert!(help.contains("EJOB_HISTORY") && !help.contains("t0ps3cret"), "{word}: {help}");
    }
}

async fn connect(options: ZookeeperOptions) -> Arc<ZookeeperCenter> {
    ZookeeperCenter::connect(options).await.unwrap()
}

/// Returns the data and the version of every node, except ZooKeeper's own nodes.
async fn all_nodes(center: &ZookeeperCenter) -> BTreeMap<String, (String, u32)> {
    let (mut nodes, mut open) = (BTreeMap::new(), vec![NodePath::root()]);
    while let Some(path) = open.pop() {
        for name in center.children(&path).await.unwrap().unwrap() {
            let path = path.join(&name).unwrap();
            if path.as_str() == "/zookeeper" {
                continue;
            }
            let node = center.read(&path).await.unwrap().unwrap();
            let data = text(&node.data);
            nodes.insert(path.to_string(), (data, node.stat.version.0));
            open.push(path);
        }
    }
    nodes
}

/// Creates a job with an instance, which is alive until the returned center is dropped.
async fn live(address: &str) -> Arc<ZookeeperCenter> {
    let center = connect(ZookeeperOptions::new(address).namespace("/jobs")).await;
    let config = encode_config(&JobConfig::new(JobName::new("live").unwrap(), 1));
    let nodes = [
        ("/live/config", &*config, Lifetime::Persistent),
        ("/live/instances/10.0.0.2@-@2", "", Lifetime::Ephemeral),
    ];
    for (path, data, lifetime) in nodes {
        let path = NodePath::parse(path).unwrap();
        let txn = Txn::new().create(path, data.to_owned(), lifetime);
        assert!(center.commit(txn).await.unwrap().is_committed(), "{data}");
    }
    center
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_or_forbidden_targets_are_one_error_line() {
    let server = Server::start().expect("a ZooKeeper server is needed");
    let address = server.connect_string();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("jobs.toml", "[[jobs]]\nname='a'\nsharding_total_count=2\nstored=true\n");
    write("digest", "anna:secret\n");
    write("other", "otto:secret\n");
    write("good.toml", "[[jobs]]\nname='c'\nsharding_total_count=1\nscript={command='true'}\n");
    write("of-b", r#"{"jobName":"b","jobClass":"","jobType":"SIMPLE","shardingTotalCount":3}"#);
    // One worker stores a job without credentials, another one with credentials, and both leave.
    settle(folder.path(), &address, &["--namespace", "/jobs"]);
    settle(folder.path(), &address, &["--namespace", "/hers", "--digest-file", "digest"]);
    let _live = live(&address).await;
    let everywhere = connect(ZookeeperOptions::new(&address).digest("anna:secret")).await;
    let before = all_nodes(&everywhere).await;
    for path in ["/jobs/a/config", "/hers/a/config", "/jobs/live/instances/10.0.0.2@-@2"] {
        assert!(before.contains_key(path), "{path}: {before:?}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().port().to_string();
    let why = ["--why", "x"];
    let none = "the registry has no job b; `ejob jobs` lists the existing ones";
    let gone = "No such file or directory (os error 2)";
    let rows: &[Row<'_>] = &[
        (
            "no namespace",
            &["jobs", "--namespace", "/jbos"],
            4,
            "there is no namespace /jbos: its first worker, or `ejob create`, creates it; or check \
             --namespace and --zookeeper",
        ),
        (
            "no credentials",
            &["job", "a", "--namespace", "/hers"],
            7,
            "reading job a: not authorized for /a; give the user and password by --digest-file or EJOB_DIGEST (ZooKeeper), or grant the rights to the user in the address (PostgreSQL, etcd)",
        ),
        (
            "wrong credentials",
            &["trigger", "a", "--namespace", "/hers", "--digest-file", "other"],
            7,
            "reading job a: not authorized for /a; give the user and password by --digest-file or EJOB_DIGEST (ZooKeeper), or grant the rights to the user in the address (PostgreSQL, etcd)",
        ),
        ("job", &["job", "b"], 4, none),
        ("why", &["why", "b"], 4, none),
        ("next", &["next", "b"], 4, none),
        ("audit", &["audit", "b"], 4, none),
        ("dump", &["dump", "b"], 4, none),
        ("instances", &["instances", "--job", "b"], 4, none),
        ("trigger", &["trigger", "b"], 4, none),
        ("rerun", &["rerun", "b"], 4, none),
        ("backfill", &["backfill", "b"], 4, none),
        ("cancel", &[&["cancel", "b", "--all"], &why[..]].concat(), 4, none),
        ("preview of a cancellation", &["cancel", "b", "--all", "--dry-run"], 4, none),
        ("pause", &[&["pause", "b"], &why[..]].concat(), 4, none),
        ("resume", &["resume", "b"], 4, none),
        ("disable", &[&["disable", "b"], &why[..]].concat(), 4, none),
        ("enable", &["enable", "b", "--items", "0"], 4, none),
        ("drain", &[&["drain", "b", "--server", "10.0.0.1"], &why[..]].concat(), 4, none),
        ("shutdown", &[&["shutdown", "b"], &why[..]].concat(), 4, none),
        ("remove", &["remove", "b"], 4, none),
        ("removal", &[&["remove", "b", "--confirm", "b"], &why[..]].concat(), 4, none),
        ("config get", &["config", "get", "b"], 4, none),
        ("config set", &["config", "set", "b", "failover=true"], 4, none),
        ("config diff", &["config", "diff", "b", "failover=true"], 4, none),
        ("config former", &["config", "former", "b"], 4, none),
        ("config restore", &["config", "restore", "b"], 4, none),
        ("plan", &["plan", "b"], 4, none),
        ("doctor", &["doctor", "b"], 4, none),
        ("export", &["export", "b"], 4, none),
        (
            "an existing file",
            &["export", "-f", "digest"],
            2,
            "--file digest cannot be written: File exists (os error 17); name a file that does not exist",
        ),
        (
            "no namespace of 1.x",
            &["import", "--from-1x", "/gone"],
            4,
            "there is no namespace /gone: its first worker, or `ejob create`, creates it; or check \
             --namespace and --zookeeper",
        ),
        (
            "no job of 1.x",
            &["import", "--from-1x", "/hers", "--digest-file", "digest"],
            4,
            "/hers has no job of ElasticJob 1.x; check --from-1x",
        ),
        ("item", &["why", "a", "2"], 4, "job a has no item 2; it has 2 items, counted from 0"),
        (
            "items to run",
            &["trigger", "a", "--items", "0-2"],
            4,
            "job a has no item 2; it has 2 items, counted from 0",
        ),
        (
            "period of a backfill",
            &["backfill", "a", "--from", "2024-02-02", "--to", "2024-02-01", "--dry-run"],
            1,
            "a backfill is not possible for job a: it has no schedule, so it has no past fires",
        ),
        (
            "backfill to cancel",
            &["backfill", "a", "--cancel", "b", "--dry-run"],
            4,
            "job a has no backfill b; it has none",
        ),
        (
            "items to cancel",
            &[&["cancel", "a", "--items", "1-2"], &why[..]].concat(),
            4,
            "job a has no item 2; it has 2 items, counted from 0",
        ),
        (
            "items to disable",
            &[&["disable", "a", "--items", "1-2"], &why[..]].concat(),
            4,
            "job a has no item 2; it has 2 items, counted from 0",
        ),
        (
            "server of a job",
            &[&["pause", "a", "--server", "10.0.0.9"], &why[..]].concat(),
            4,
            "job a has no server 10.0.0.9; it has 10.0.0.1",
        ),
        (
            "server",
            &[&["remove-server", "--server", "10.0.0.9"], &why[..]].concat(),
            4,
            "no job knows a server 10.0.0.9; did you mean 10.0.0.2? `ejob servers` lists the existing ones",
        ),
        (
            "jobs of a server",
            &["jobs", "--server", "10.0.0.9"],
            4,
            "no job knows a server 10.0.0.9; did you mean 10.0.0.2? `ejob servers` lists the existing ones",
        ),
        (
            "instance",
            &[&["shutdown", "a", "--instance", "10.0.0.1@-@1"], &why[..]].concat(),
            4,
            "job a has no instance 10.0.0.1@-@1; it has none",
        ),
        (
            "instance that would leave",
            &["plan", "a", "--leave", "10.0.0.1@-@1"],
            4,
            "--leave: job a has no instance 10.0.0.1@-@1; it has none",
        ),
        (
            "stale revision",
            &["config", "set", "a", "failover=true", "--revision", "r1"],
            5,
            "the configuration of job a has revision _",
        ),
        (
            "field",
            &["config", "set", "a", "crom=x"],
            2,
            "there is no field \"crom\"; did you mean cron?",
        ),
        (
            "value",
            &["config", "set", "a", "failover=yes"],
            2,
            "failover is \"yes\"; valid is true or false",
        ),
        (
            "values that do not go together",
            &["config", "set", "a", "failover=true", "monitor_execution=false"],
            2,
            "failover is true; valid is false, or monitor_execution = true: without claims there is nothing to take over",
        ),
        (
            "no document",
            &["config", "set", "a", "--document", "gone"],
            2,
            "--document gone cannot be read: No such file or directory (os error 2)",
        ),
        (
            "not a document",
            &["config", "set", "a", "--document", "digest"],
            2,
            "--document digest is not a configuration: _",
        ),
        (
            "a document of another job",
            &["config", "set", "a", "--document", "of-b"],
            2,
            "--document of-b is for job b; valid is a document for job a",
        ),
        (
            "no file of jobs",
            &["config", "diff", "a", "--jobs", "gone.toml"],
            2,
            &format!("gone.toml cannot be read: {gone}; `ejob init` writes a file to begin with"),
        ),
        (
            "a file without the job",
            &["config", "diff", "a", "--jobs", "good.toml"],
            4,
            "good.toml declares no job a",
        ),
        (
            "an existing job",
            &["create", "a", "sharding_total_count=1", "--template", "t"],
            5,
            "the registry already has job a: registered by the code of its instances; remove it, or choose another name",
        ),
        (
            "items of a new job",
            &["create", "c", "sharding_total_count=0", "--template", "t"],
            2,
            "sharding_total_count is 0; valid is 1 to 100000_",
        ),
        (
            "server to drain",
            &[&["drain", "a", "--server", "10.0.0.9"], &why[..]].concat(),
            4,
            "job a has no server 10.0.0.9; it has 10.0.0.1",
        ),
        (
            "server that would be disabled",
            &["plan", "a", "--disable", "10.0.0.9"],
            4,
            "--disable: job a has no server 10.0.0.9; it has 10.0.0.1",
        ),
        (
            "server that would be enabled",
            &["plan", "a", "--enable", "10.0.0.9"],
            4,
            "--enable: job a has no server 10.0.0.9; it has 10.0.0.1",
        ),
        (
            "server that would be enabled and disabled",
            &["plan", "a", "--enable", "10.0.0.1", "--disable", "10.0.0.1"],
            2,
            "--enable is \"10.0.0.1\"; valid is a server that disable does not name",
        ),
        (
            "a job with live instances",
            &[&["remove", "live", "--confirm", "live"], &why[..]].concat(),
            1,
            "instances of job live are alive: 10.0.0.2@-@2; shut them down first with `ejob shutdown live --why TEXT`, or add --force",
        ),
        (
            "confirmation",
            &[&["remove", "a", "--confirm", "b"], &why[..]].concat(),
            1,
            "removing job a is confirmed by \"a@r_",
        ),
    ];
    check(folder.path(), Some(&address), rows);
    let worker = ["worker", "good.toml", "--dump-port", &taken];
    let output = command(folder.path(), Some(&address), &worker).env("EJOB_LOG", "off").output();
    let output = output.unwrap();
    let line = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(line.starts_with(&format!("error: --dump-port {taken}: ")), "{line}");
    assert!(line.ends_with("; name a free port\n") && line.lines().count() == 1, "{line}");
    let output = export_with_file_size_limit(folder.path(), &address);
    let line = "error: --file cut.yaml cannot be written: File too large (os error 27)\n";
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(1), line), "{output:?}");
    assert!(!folder.path().join("cut.yaml").exists(), "an incomplete file is left");
    let after = all_nodes(&everywhere).await;
    assert_eq!(after, before, "stored nodes have changed");
}

/// Exports with a file size limit of 0, which must be an error and not end the process by a signal.
fn export_with_file_size_limit(folder: &Path, address: &str) -> Output {
    let line = r#"trap '' XFSZ; ulimit -f 0; exec "$0" export -f cut.yaml --namespace /jobs --zookeeper "$1""#;
    let mut command = Command::new("sh");
    command.current_dir(folder).args(["-c", line, env!("CARGO_BIN_EXE_ejob"), address]);
    command.output().unwrap()
}

/// A process that is killed when it is dropped.
struct Running(std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The process has already ended, unless the test fails.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a worker until it is ready, then ends it.
fn settle(folder: &Path, address: &str, options: &[&str]) {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_ejob"));
    worker
        .current_dir(folder)
        .args(["worker", "jobs.toml", "--server-ip", "10.0.0.1", "--zookeeper", address])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut worker = Running(worker.spawn().unwrap());
    let mut lines = BufReader::new(worker.0.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with(&format!("registry: zk://{address}/")));
    assert_eq!(lines.next().unwrap().unwrap(), "ready: a on server 10.0.0.1");
    let id = worker.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(worker.0.wait().unwrap().success());
}
