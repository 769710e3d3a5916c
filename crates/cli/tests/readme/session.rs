//! A session of a page: its commands, run one after the other in a shell, and the comparison of
//! their output with the printed one.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Deadline of each command, long enough for a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// Commands that only read, and are repeated until the state of the earlier ones has settled.
const READS: [&str; 3] = ["ejob jobs", "ejob doctor", "ejob doctor import"];
/// Beginnings of other commands that only read, in the pages for newcomers and operators.
const OTHER_READS: [&str; 5] =
    ["ejob job ", "ejob instances", "ejob plan ", "ejob why ", "ejob history "];

/// Compares a line of the output with the printed one.
pub(super) type IsSame = fn(&str, &str) -> bool;

/// A command of the section, and its printed output.
pub(super) struct Step<'a> {
    command: &'a str,
    answer: Vec<&'a str>,
}

/// Returns the commands of a session, which has at least this number.
pub(super) fn steps(console: &str, at_least: usize) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in console.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => steps.push(Step { command, answer: Vec::new() }),
            None => steps.last_mut().unwrap().answer.push(line),
        }
    }
    assert!(steps.len() >= at_least, "the session has lost its commands");
    steps
}

/// Returns true if a line equals a printed one.
///
/// In the printed one, `…` stands for any text, and then numbers of blanks do not matter.
pub(super) fn is_as_printed(line: &str, printed: &str) -> bool {
    if !printed.contains('…') {
        return line == printed;
    }
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = words(line);
    let mut rest = line.as_str();
    for (n, part) in printed.split('…').enumerate() {
        let part = words(part);
        match rest.find(&part) {
            Some(at) if n > 0 || at == 0 => rest = &rest[at + part.len()..],
            _ => return false,
        }
    }
    printed.ends_with('…') || rest.is_empty()
}

/// Returns true if a line equals a printed one except for times, ids of instances and backfills,
/// authors, the address of the host, and the width of columns.
///
/// Pages for newcomers and operators print them as they were in one session.
pub(super) fn is_like_printed(line: &str, printed: &str) -> bool {
    let differs = |word: &str| {
        let bare = word.trim_end_matches([',', ':']);
        let is_time = bare.parse::<jiff::Timestamp>().is_ok();
        // 20261129-06595a
        let is_backfill = bare.len() == 15
            && bare
                .split_once('-')
                .is_some_and(|(day, _)| day.parse::<jiff::civil::Date>().is_ok());
        is_time
            || is_backfill
            || word.contains('@')
            || word == "192.0.2.2"
            || word.starts_with("/home/you/")
    };
    let mut before = "";
    let masked: Vec<&str> = printed
        .split_whitespace()
        .map(|word| {
            // A token counts the runs before, of which a test has more than the page.
            let is_token = std::mem::replace(&mut before, word) == "token";
            if is_token || differs(word) { "…" } else { word }
        })
        .collect();
    let line: Vec<&str> = line.split_whitespace().collect();
    is_as_printed(&line.join(" "), &masked.join(" "))
}

/// A shell that runs commands one after the other.
pub(super) struct Shell {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

/// Number of process ids that are used at most until a session has started its workers: by the
/// session and by all other programs.
const IDS_OF_A_START: u32 = 2_000;

/// Starts processes until the ids of the next ones are in the same order as numbers and as texts.
///
/// Items are assigned by the texts of the instances' ids, and `9999` follows `10000`. A printed
/// session has the order in which its workers started.
async fn skip_unordered_ids() {
    let end = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    let end: u32 = end.trim().parse().unwrap();
    for _ in 0..10 * IDS_OF_A_START {
        let mut process = Command::new("true").spawn().unwrap();
        let id = process.id().unwrap();
        process.wait().await.unwrap();
        let last = id + IDS_OF_A_START;
        if last < end && last.to_string().len() == id.to_string().len() {
            return;
        }
    }
    panic!("process ids end at {end}: no {IDS_OF_A_START} of them have the same number of digits");
}

impl Shell {
    pub(super) async fn start(folder: &Path) -> Self {
        skip_unordered_ids().await;
        let program = Path::new(env!("CARGO_BIN_EXE_ejob"));
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", program.parent().unwrap().display());
        let mut bash = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("EJOB_") {
                bash.env_remove(name);
            }
        }
        let mut child = bash
            .args(["--noprofile", "--norc"])
            .current_dir(folder)
            .env("PATH", path)
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take().unwrap(), output, _child: child }
    }

    /// Controls jobs as an interactive shell does. All background jobs end with the shell.
    pub(super) async fn control_jobs(&mut self) {
        self.give("set -m; trap 'kill -9 $(jobs -p) 2> /dev/null' EXIT").await;
    }

    pub(super) async fn give(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Returns the next line that a command prints.
    pub(super) async fn line(&mut self, command: &str) -> String {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("no line within {PATIENCE:?}: {command}"));
        line.unwrap().unwrap_or_else(|| panic!("the shell has ended: {command}"))
    }

    /// Runs a command in the foreground, and returns its output, with remarks and errors.
    pub(super) async fn run(&mut self, command: &str) -> Vec<String> {
        self.give(&format!("{command} 2>&1")).await;
        self.give("echo '(end)'").await;
        let mut output = Vec::new();
        loop {
            match self.line(command).await {
                end if end == "(end)" => return output,
                line => output.push(line),
            }
        }
    }

    /// Runs a command that must succeed.
    pub(super) async fn succeed(&mut self, command: &str) {
        let output = self.run(&format!("{{ {command}; }} 2>&1 && echo succeeded")).await;
        let last = output.last().map(String::as_str);
        assert_eq!(last, Some("succeeded"), "{command}\n{output:#?}");
    }

    /// Runs a command until its output has a text, and returns the output.
    pub(super) async fn until(&mut self, command: &str, text: &str) -> String {
        self.until_output(command, |output| output.contains(text)).await
    }

    /// Runs a command until its output does not have a text.
    pub(super) async fn until_without(&mut self, command: &str, text: &str) {
        self.until_output(command, |output| !output.contains(text)).await;
    }

    /// Runs a command until its output is another one than now.
    pub(super) async fn until_changed(&mut self, command: &str) {
        let before = self.run(command).await.join("\n");
        self.until_output(command, |output| output != before).await;
    }

    async fn until_output(&mut self, command: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let output = self.run(command).await.join("\n");
            if is_wanted(&output) {
                return output;
            }
            assert!(started.elapsed() < PATIENCE, "{command} still prints\n{output}");
        }
    }
}

fn answers(output: &[String], step: &Step<'_>, is_same: IsSame) -> bool {
    let pairs = || output.iter().zip(&step.answer);
    output.len() == step.answer.len() && pairs().all(|(line, printed)| is_same(line, printed))
}

/// Runs the steps of a session, and compares each line of the output with the printed one.
pub(super) async fn run_steps(
    shell: &mut Shell,
    steps: &[Step<'_>],
    servers: &[(&str, &str)],
    is_same: IsSame,
) {
    shell.control_jobs().await;
    for step in steps {
        // The addresses of the test's servers are the only difference from the printed commands.
        let command = servers.iter().fold(step.command.to_owned(), |command, (printed, used)| {
            command.replace(printed, used)
        });
        let is_background = command.ends_with('&') || command.starts_with("kill");
        if is_background {
            shell.give(&command).await;
            for printed in &step.answer {
                let line = shell.line(&command).await;
                assert!(is_same(&line, printed), "{command}\n{line}\n{printed}");
            }
            continue;
        }
        let started = Instant::now();
        let mut output = shell.run(&command).await;
        let repeats =
            READS.contains(&&*command) || OTHER_READS.iter().any(|read| command.starts_with(read));
        while !answers(&output, step, is_same) && repeats && started.elapsed() < PATIENCE {
            output = shell.run(&command).await;
        }
        assert!(answers(&output, step, is_same), "{command}\n{output:#?}\n{:#?}", step.answer);
    }
}

#[test]
fn ellipsis_stands_for_any_text() {
    let rows = [
        ("a b", "a b", true),
        ("a  b", "a b", false),
        ("a 17 b", "a … b", true),
        ("a    17 18   b", "a … b", true),
        ("a 17", "a …", true),
        ("x a 17", "a …", false),
        ("17 a", "… a", true),
        ("17 a b", "… a", false),
        ("17 c", "… a", false),
    ];
    for (line, printed, expected) in rows {
        assert_eq!(is_as_printed(line, printed), expected, "{line:?} {printed:?}");
    }
}

#[test]
fn sessions_may_differ_in_times_ids_and_widths_only() {
    let printed = "2026-11-26T08:04:40Z      hello  2     succeeded  192.0.2.2@-@27173-qzvqf";
    let rows = [
        ("2026-11-27T10:00:00.5Z  hello  2  succeeded  10.1.1.1@-@1-abcde", true),
        ("2026-11-27T10:00:00.5Z  hello  3  succeeded  10.1.1.1@-@1-abcde", false),
        ("2026-11-27T10:00:00.5Z  hello  2  failed  10.1.1.1@-@1-abcde", false),
        ("2026-11-27T10:00:00.5Z  hello  2  10.1.1.1@-@1-abcde", false),
    ];
    for (line, expected) in rows {
        assert_eq!(is_like_printed(line, printed), expected, "{line:?}");
    }
    let printed = "2026-11-27T03:00:00Z  2026-11-27T04:00:00+01:00[Europe/Berlin]";
    assert!(is_like_printed("2027-06-27T02:00:00Z 2027-06-27T04:00:00+02:00[x]", printed));
}
