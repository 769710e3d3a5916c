//! The examples of every command: `--help` shows them, and `docs/ejob.md` lists them.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::arguments::CommandLine;

/// Command lines with a remark, which may be empty, in the order of `docs/ejob.md`.
const EXAMPLES: &[(&str, &str)] = &[
    ("ejob jobs", "all jobs with their states"),
    ("ejob jobs --server 10.0.0.7", "the jobs of one server"),
    ("ejob jobs --watch", "the list again after each change"),
    ("ejob top", "what needs attention, live"),
    ("ejob job report", "one job: configuration, items, instances"),
    ("ejob instances", ""),
    ("ejob servers", ""),
    ("ejob why report 3", "why item 3 does not run"),
    ("ejob why report --watch", "the reasons again after each change"),
    ("ejob next report -n 2", ""),
    ("ejob next --cron \"0 0 3 ? * MON-FRI\" --time-zone Asia/Shanghai", ""),
    ("ejob audit report", "who changed what, when and why"),
    ("ejob audit --group database", "the changes of the limits of a group"),
    ("ejob dump report > report.txt", "the nodes as they are stored, secrets included"),
    ("ejob history report --outcome failed --from 2h", ""),
    ("ejob history --counts --from 1d", ""),
    ("ejob history --events --from 30m", ""),
    ("ejob logs report --item 3 --follow", "the output of the present run, as it is written"),
    ("ejob logs report --fire 2024-02-29T12:00:00Z --stream stderr", ""),
    ("ejob verify report --from 1d", "was each fire of the last day run once?"),
    ("ejob verify report --from 2h --verdict unexplained --verdict run_twice", ""),
    ("ejob plan report --join 10.0.0.8", "which items would move"),
    ("ejob doctor --twice 5s --least warning", ""),
    ("ejob health 9184", "is the worker with this metrics port ready?"),
    ("ejob jobs -o wide", "all columns, whole texts"),
    ("ejob jobs -o json", "one document, for programs"),
    ("ejob explain max_time_diff", "type, default and example of a key"),
    ("ejob trigger report --items 0,2-3 --parameter full --wait 1m --why \"a new export\"", ""),
    ("ejob rerun import --wait 30s --why \"the disk has room again\"", ""),
    (
        "ejob backfill report --from 2024-02-01 --to 2024-02-08 --dry-run",
        "which past fires would run again",
    ),
    (
        "ejob backfill report --from 2024-02-01 --to 2024-02-08 --concurrency 2 --why \"wrong rates\"",
        "",
    ),
    ("ejob backfill report", "backfills with their progress"),
    ("ejob backfill report --cancel 20240229-3fa2c1 --why \"the rates are wrong again\"", ""),
    ("ejob cancel report --items 3 --why \"item 3 hangs\"", ""),
    ("ejob cancel report --all --dry-run", "which runs would be cancelled"),
    ("ejob pause report --why \"bad input; ask anna before resuming\"", ""),
    ("ejob resume report --why \"input repaired\"", ""),
    ("ejob disable report --items 3 --why \"item 3 has bad data\"", ""),
    ("ejob enable report --items 3 --why \"the data are repaired\"", ""),
    ("ejob drain report --server 10.0.0.7 --deadline 10m --why \"kernel update\"", ""),
    ("ejob drain --server 10.0.0.7 --why \"kernel update\"", "of all its jobs"),
    ("ejob enable --server 10.0.0.7 --why \"the update is done\"", ""),
    ("ejob shutdown report --instance 10.0.0.7@-@12996-24ea6 --why \"item 0 hangs\"", ""),
    ("ejob config get report", ""),
    ("ejob config diff report failover=true \"cron=0 0 3 * * ?\"", ""),
    ("ejob config set report failover=true \"cron=0 0 3 * * ?\" --why \"release 12\"", ""),
    ("ejob config set report --jobs jobs.toml --why \"release 12\"", ""),
    ("ejob config former report", ""),
    ("ejob config restore report --why \"release 12 is withdrawn\"", ""),
    ("ejob groups", "limits of groups of jobs, their permits, and the jobs that wait"),
    (
        "ejob group set database --cluster-concurrency 4 --start-rate \"100 in 1m\" --why \"slow disk\"",
        "",
    ),
    ("ejob group remove database --why \"new disk\"", ""),
    (
        "ejob create report-eu --template report sharding_total_count=4 \"cron=0 0 3 * * ?\" --why \"a new region\"",
        "",
    ),
    ("ejob remove import", "shows what would be removed"),
    ("ejob remove import --confirm import --why \"replaced by report\"", ""),
    ("ejob remove-server --server 10.0.0.9 --why \"it does not come back\"", ""),
    (
        "ejob remove-server --server '10.0.*' --dry-run",
        "which servers of which jobs would be removed",
    ),
    ("ejob doctor report --fix", "shows how the findings would be repaired"),
    ("ejob doctor report --fix --apply --why \"left over after the outage\"", ""),
    ("ejob export -f jobs.yaml", ""),
    ("ejob apply jobs.d --dry-run", "how the jobs differ from the files of a folder"),
    ("ejob apply jobs.d --prune --why \"release 12\"", ""),
    (
        "ejob import jobs.yaml --registry sqlite:new.db --apply --why \"move to another registry\"",
        "",
    ),
    ("ejob worker jobs.toml --history sqlite:history.db --metrics-port 9184", ""),
    ("ejob watch watch.toml --metrics-port 9185", ""),
    ("ejob console --history sqlite:history.db --listen 127.0.0.1:8080", ""),
    ("ejob worker jobs.toml --check", ""),
    ("ejob watch watch.toml --check", ""),
    ("ejob watch watch.toml --history sqlite:history.db --java-zone Asia/Shanghai", ""),
    ("ejob watch silence report late_after --for 2h --why \"release 12\"", ""),
    ("ejob watch silences", ""),
    ("ejob bench --rounds 20", ""),
    ("ejob console hash", "asks for a password, and prints a line for the file of users"),
    ("ejob console token", "prints a new token, and its hash for the file of tokens"),
    ("ejob init", "writes jobs.toml, with comments"),
    ("ejob init --rust ../hello --path .", "in a checkout: a project that `cargo run` starts"),
    ("ejob completions bash > ejob.bash", ""),
    ("ejob man --dir man1", "a manual page for each command"),
    (
        "ejob context add prod --registry zk://zk-1:2181,zk-2:2181/jobs --digest-file /run/secrets/digest",
        "",
    ),
    ("ejob context use prod", "for all commands that name no registry"),
    ("ejob context list", ""),
    ("ejob context show prod", ""),
    ("ejob context remove prod", ""),
    ("ejob jobs --context prod", "for this command only"),
];

/// Command lines of a first session, for the help of the program.
const FIRST_STEPS: &[(&str, &str)] = &[
    ("ejob init", "writes jobs.toml, with comments"),
    ("ejob worker jobs.toml", "runs its jobs, with a file as the registry"),
    ("ejob jobs", "in another terminal: all jobs with their states"),
    ("ejob why report", "why a job does not run"),
];

/// Notes on all commands.
const NOTES: &str = "\n\n\
    EJOB_LOG filters the log lines, such as info or lite=debug; EJOB_LOG_FORMAT is text or json.\n\
    `ejob COMMAND --help` shows examples of a command, and its variables.";

/// Returns the program with all its commands, each with its examples.
pub(crate) fn program() -> Command {
    with_examples(CommandLine::command(), "ejob")
}

fn with_examples(mut command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|child| child.get_name().to_owned()).collect();
    for name in names {
        let path = format!("{path} {name}");
        command = command.mut_subcommand(name, |child| with_examples(child, &path));
    }
    let (examples, notes) = match path {
        "ejob" => (list(FIRST_STEPS.iter()), NOTES),
        _ => (list(of_command(path)), ""),
    };
    let header = command.get_styles().get_header();
    let help = StyledStr::from(format!("{header}Examples:{header:#}{examples}{notes}"));
    command.after_help(help)
}

fn list<'a>(examples: impl Iterator<Item = &'a (&'a str, &'a str)>) -> String {
    let lines = examples.map(|(line, remark)| match *remark {
        "" => format!("\n  {line}"),
        remark => format!("\n  # {remark}\n  {line}"),
    });
    lines.collect()
}

/// Returns the examples of a command and of its subcommands.
fn of_command(path: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let is_its = move |line: &str| line.strip_prefix(path).is_some_and(is_end);
    EXAMPLES.iter().filter(move |(line, _)| is_its(line))
}

fn is_end(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the paths of all commands, such as `ejob config get`.
    fn paths(command: &Command, path: &str) -> Vec<String> {
        let children = command.get_subcommands().filter(|child| child.get_name() != "help");
        let of_child = |child: &Command| {
            let path = format!("{path} {}", child.get_name());
            [vec![path.clone()], paths(child, &path)].concat()
        };
        children.flat_map(of_child).collect()
    }

    #[test]
    fn each_command_has_an_example_in_its_help() {
        let all = [vec!["ejob".to_owned()], paths(&program(), "ejob")].concat();
        assert!(all.len() > 30, "{all:?}");
        for path in all {
            let words = path.split(' ').chain(["--help"]);
            let help = program().try_get_matches_from(words).unwrap_err().to_string();
            let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_default();
            assert!(examples.contains(&format!("  {path}")), "{path}: {help}");
        }
    }

    #[test]
    fn examples_are_those_of_the_documentation() {
        let page = include_str!("../../../docs/ejob.md");
        let (_, section) = page.split_once("\n### Examples\n").unwrap();
        let (section, _) = section.split_once("\n### ").unwrap();
        let lines = section.lines().filter(|line| line.starts_with("ejob "));
        let documented: Vec<_> = lines
            .map(|line| {
                let (line, remark) = line.split_once(" # ").unwrap_or((line, ""));
                (line.trim(), remark.trim())
            })
            .collect();
        assert_eq!(documented, EXAMPLES);
    }
}
