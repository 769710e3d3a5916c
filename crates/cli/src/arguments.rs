//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{
    bench, config, create, doctor, drain, history, hold, leave, list, look, plan, run_now,
    transfer, worker,
};
use crate::connect::ConnectArguments;

/// Runs and operates sharded jobs in an ElasticJob namespace: 2.1.5 or 3.x, Java or Rust.
///
/// Exit codes: 0 done, 1 refused or only in part, 2 usage, 3 unreachable, 4 not found, 5 changed meanwhile, 6 unknown whether it
/// has happened, 7 not authorized, 8 errors found.
#[derive(Debug, Parser)]
#[command(name = "ejob", version, max_term_width = 110, arg_required_else_help = false)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) connect: ConnectArguments,
    /// Print one JSON document, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the jobs that a file declares, until SIGTERM or ctrl-c
    Worker(worker::WorkerArguments),
    /// List the jobs of the namespace
    #[command(visible_alias = "list")]
    Jobs(list::JobsArguments),
    /// Show one job: its configuration, its items, its instances
    Job(look::JobArguments),
    /// List the instances that live
    Instances(list::InstancesArguments),
    /// List the servers that jobs know
    Servers,
    /// Tell why a job, or an item of it, is not running
    Why(look::WhyArguments),
    /// Tell when a job fires next
    Next(look::NextArguments),
    /// Show the last changes that operators made
    Audit(look::AuditArguments),
    /// Print the nodes of a job as they are stored
    Dump(look::DumpArguments),
    /// Run a job now: all items, or some
    Trigger(run_now::TriggerArguments),
    /// Run those items now whose last run failed
    Rerun(run_now::RerunArguments),
    /// Pause servers: items stay, nothing starts
    Pause(hold::PauseArguments),
    /// Let paused servers go on
    Resume(hold::ResumeArguments),
    /// Disable servers, so that their items move elsewhere, or items
    Disable(hold::DisableArguments),
    /// Enable servers or items again
    Enable(hold::EnableArguments),
    /// Disable or pause a server and wait until nothing of a job runs there
    Drain(drain::DrainArguments),
    /// Tell instances to leave; what runs is finished first
    Shutdown(leave::ShutdownArguments),
    /// Remove a job with everything that is stored of it
    Remove(leave::RemoveArguments),
    /// Shut the instances of a server down and forget it
    RemoveServer(leave::RemoveServerArguments),
    /// Look at configurations and change them
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Make a job from a template that processes offer
    Create(create::CreateArguments),
    /// Show which items would move if something changed
    Plan(plan::PlanArguments),
    /// Look for what is left over, stuck, damaged or mixed up
    Doctor(doctor::DoctorArguments),
    /// Show what has become of fires, from a history
    History(history::HistoryArguments),
    /// Write the configurations of a namespace into a file
    Export(transfer::ExportArguments),
    /// Read configurations from a file, or from a namespace of ElasticJob 1.x
    Import(transfer::ImportArguments),
    /// Measure how fast the registry answers, in a namespace of its own that is removed again
    Bench(bench::BenchArguments),
    /// Print what completes command lines in a shell
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn variables(command: &clap::Command) -> Vec<String> {
        let own = command.get_arguments().filter_map(|argument| argument.get_env());
        let own = own.map(|name| name.to_string_lossy().into_owned());
        own.chain(command.get_subcommands().flat_map(variables)).collect()
    }

    #[test]
    fn the_page_has_each_variable() {
        let page = include_str!("../../../docs/ejob.md");
        let (_, table) = page.split_once("## Variables").expect("a section of variables");
        let (table, _) = table.split_once("\n## ").expect("a section after it");
        let all = variables(&CommandLine::command());
        assert!(all.len() > 5, "{all:?}");
        let missing: Vec<_> =
            all.into_iter().filter(|name| !table.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "docs/ejob.md does not have {missing:?}");
    }

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
    }
}
