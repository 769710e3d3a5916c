//! The arguments of the command line.

use std::ffi::OsString;

use clap::{FromArgMatches, Parser, Subcommand};

#[cfg(feature = "console")]
use crate::commands::console;
use crate::commands::{
    apply, backfill, bench, cancel, config, context, create, doctor, drain, groups, health,
    history, hold, init, leave, list, logs, look, man, plan, run_now, transfer, verify,
    watch_expectations, why, worker,
};
use crate::connect::ConnectArguments;
use crate::examples::program;
use crate::explain;
use crate::groups::with_groups;
use crate::output::OutputArguments;

/// Runs and operates sharded jobs in an ElasticJob namespace: 2.1.5 or 3.x, Java or Rust.
///
/// Exit codes: 0 done, 1 refused or only partly done, 2 usage, 3 unreachable, 4 not found,
/// 5 changed by another client, 6 unknown outcome, 7 not authorized, 8 errors found.
#[derive(Debug, Parser)]
#[command(name = "ejob", version, max_term_width = 110, arg_required_else_help = false)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) connect: ConnectArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl CommandLine {
    /// Parses a command line, which starts with the name of the program.
    ///
    /// The errors for help have the examples of the command.
    pub(crate) fn read(arguments: &[OsString]) -> Result<Self, clap::Error> {
        Self::from_arg_matches(&with_groups(program()).try_get_matches_from(arguments)?)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the jobs that a file declares, until SIGTERM or ctrl-c
    Worker(worker::WorkerArguments),
    /// List the jobs of the namespace
    #[command(visible_alias = "list")]
    Jobs(list::JobsArguments),
    /// Show the jobs that need attention and the oldest runs, live
    Top,
    /// Show one job: its configuration, its items, its instances
    Job(look::JobArguments),
    /// List the live instances
    Instances(list::InstancesArguments),
    /// List the servers that at least one job knows
    Servers(list::ServersArguments),
    /// Show why a job, or an item of it, does not run
    Why(why::WhyArguments),
    /// Show when a job fires next
    Next(look::NextArguments),
    /// Show the last changes by operators
    Audit(look::AuditArguments),
    /// Print the nodes of a job as stored
    Dump(look::DumpArguments),
    /// Run a job now: all items, or some of them
    Trigger(run_now::TriggerArguments),
    /// Run the items now whose last run failed
    Rerun(run_now::RerunArguments),
    /// Run past fires of the schedule again; list or cancel backfills
    Backfill(backfill::BackfillArguments),
    /// Cancel runs: they end, and no instance runs them again
    Cancel(cancel::CancelArguments),
    /// Pause servers: their items stay, but start nothing
    Pause(hold::PauseArguments),
    /// Resume paused servers
    Resume(hold::ResumeArguments),
    /// Disable servers, whose items move to others, or single items
    Disable(hold::DisableArguments),
    /// Enable servers or items again
    Enable(hold::EnableArguments),
    /// Disable or pause a server, and wait until nothing runs there
    Drain(drain::DrainArguments),
    /// Ask instances to leave; their present runs are completed first
    Shutdown(leave::ShutdownArguments),
    /// Remove a job with everything that is stored of it
    Remove(leave::RemoveArguments),
    /// Shut down the instances of a server, and remove the server
    RemoveServer(leave::RemoveServerArguments),
    /// Show and change configurations
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// List the groups of jobs: limits, permits, and jobs that wait
    Groups,
    /// Change the limits of groups of jobs
    #[command(subcommand)]
    Group(groups::GroupCommand),
    /// Name registries, so that a command needs no address
    #[command(subcommand)]
    Context(context::ContextCommand),
    /// Create a job from a template that processes offer
    Create(create::CreateArguments),
    /// Show which items would move after a change
    Plan(plan::PlanArguments),
    /// Find leftovers, stuck, damaged and mixed state, and fix it
    Doctor(doctor::DoctorArguments),
    /// Send a message when an expectation of a job is violated
    Watch(watch_expectations::WatchArguments),
    /// Show the outcomes of fires, from a history
    History(history::HistoryArguments),
    /// Show the output of runs, from a history
    Logs(logs::LogsArguments),
    /// Judge each fire of a job by its history
    Verify(verify::VerifyArguments),
    /// Write the configurations of a namespace to a file
    Export(transfer::ExportArguments),
    /// Read configurations from a file, or from ElasticJob 1.x
    Import(transfer::ImportArguments),
    /// Make the namespace have the jobs that a folder declares
    Apply(apply::ApplyArguments),
    /// Ask a worker or a watcher of this host whether it is ready
    Health(health::HealthArguments),
    /// Measure the latency of the registry
    Bench(bench::BenchArguments),
    /// Serve the web console and the HTTP API, until SIGTERM or ctrl-c
    #[cfg(feature = "console")]
    Console(console::ConsoleArguments),
    /// Write a file of jobs, or a small Rust project, to begin with
    Init(init::InitArguments),
    /// Explain a key of job files and configurations
    Explain(explain::ExplainArguments),
    /// Print or write manual pages
    Man(man::ManArguments),
    /// Print a script by which a shell completes command lines
    Completions {
        /// Name of the shell
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Returns true if the answer has a column of names, for `-o name`.
    pub(crate) fn lists_names(&self) -> bool {
        let has_contexts = matches!(self, Self::Context(context::ContextCommand::List));
        let has_keys = matches!(self, Self::Explain(given) if given.is_list());
        let has_backfills = matches!(self, Self::Backfill(given) if given.is_list());
        let always =
            matches!(self, Self::Jobs(_) | Self::Instances(_) | Self::Servers(_) | Self::Groups);
        has_contexts || has_keys || has_backfills || always
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use clap::CommandFactory;

    use super::*;

    /// Words at which a shell ends the arguments of a command.
    const OPERATORS: [&str; 6] = ["|", "&", "&&", ";", ">", "2>"];

    fn variables(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|argument| argument.get_env());
        let own = own.map(|name| name.to_string_lossy().into_owned());
        own.chain(command.get_subcommands().flat_map(variables)).collect()
    }

    #[test]
    fn docs_list_every_variable() {
        let page = include_str!("../../../docs/ejob.md");
        let (_, table) =
            page.split_once("## Variables").expect("docs/ejob.md has a section Variables");
        let (table, _) =
            table.split_once("\n## ").expect("a section follows the section Variables");
        let all = variables(&CommandLine::command());
        assert!(all.len() > 5, "{all:?}");
        let missing: Vec<_> =
            all.into_iter().filter(|name| !table.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/ejob.md does not have {missing:?}");
    }

    /// Returns the README and all pages in `docs`.
    fn pages() -> Vec<PathBuf> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (mut pages, mut folders) = (vec![root.join("README.md")], vec![root.join("docs")]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    pages.push(path);
                }
            }
        }
        pages
    }

    /// Returns the words of each command `ejob …` in the shell blocks and sessions of a page.
    fn command_lines(page: &str) -> Vec<Vec<String>> {
        let (mut found, mut language) = (Vec::new(), None);
        for line in page.lines().map(str::trim) {
            if let Some(fence) = line.strip_prefix("```") {
                language = language.is_none().then_some(fence);
                continue;
            }
            let command = match language {
                Some("sh") => line,
                Some("console") => line.strip_prefix("$ ").unwrap_or_default(),
                _ => continue,
            };
            if !command.contains("ejob ") {
                continue;
            }
            let words = shell_words::split(command).unwrap_or_else(|e| panic!("{command}: {e}"));
            let words = words.into_iter().skip_while(|word| word.contains('=') || word == "sudo");
            let words: Vec<_> = words.take_while(|word| !OPERATORS.contains(&&**word)).collect();
            if words.first().is_some_and(|program| program == "ejob") {
                found.push(words);
            }
        }
        found
    }

    #[test]
    fn command_lines_of_the_documents_are_valid() {
        let mut n_checked = 0;
        for path in pages() {
            let page = fs::read_to_string(&path).unwrap();
            for words in command_lines(&page) {
                let is_console = words.get(1).is_some_and(|command| command == "console");
                if is_console && cfg!(not(feature = "console")) {
                    // This program has no such command. The tests of all features check it.
                    continue;
                }
                if let Err(error) = CommandLine::try_parse_from(&words) {
                    panic!("{}: {}\n{error}", path.display(), words.join(" "));
                }
                n_checked += 1;
            }
        }
        assert!(n_checked > 100, "only {n_checked} command lines were found");
    }

    #[test]
    fn wrong_command_line_of_a_document_is_found() {
        let rows = [
            ("sh", "ejob jobs --watch", true),
            ("sh", "EJOB_LOG=info sudo ejob jobs 2> jobs.log &   # a comment", true),
            ("console", "$ ejob pause hello --why 'two words' | cat --no-such-option", true),
            ("sh", "ejob no-such-command", false),
            ("console", "$ ejob jobs --no-such-option", false),
            ("console", "$ ejob pause hello", false),
        ];
        for (language, line, expected) in rows {
            let lines = command_lines(&format!("```{language}\n{line}\n```\n"));
            let [words] = &lines[..] else { panic!("{line}: {lines:?}") };
            assert_eq!(CommandLine::try_parse_from(words).is_ok(), expected, "{line}");
        }
        let others = [
            "```text\nejob jobs\n```\nejob jobs\n",
            "```console\nejob jobs\n```\n",
            "```sh\nsudo install ejob /usr/local/bin/ejob\n```\n",
        ];
        for page in others {
            assert_eq!(command_lines(page).len(), 0, "{page}");
        }
    }

    #[test]
    fn command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }
}
