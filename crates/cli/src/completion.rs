//! Completion of command lines by the shell: the shell asks this program, which knows the names of
//! jobs, servers, instances and contexts.

use std::ffi::OsString;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Arg, Command, FromArgMatches as _};
use clap_complete::env::Shells;
use clap_complete::{ArgValueCandidates, CompleteEnv, CompletionCandidate};
use operations::{ConfigField, Namespace, Operations, ReadBounds};

use crate::connect::{ConnectArguments, NamedRegistries, Place, Registries as _};
use crate::contexts::ContextsFile;
use crate::examples::program;
use crate::explain;

/// Variable that the script of the shell sets.
const VARIABLE: &str = "EJOB_COMPLETE";
/// Maximum time for reading names from a registry.
const DEADLINE: Duration = Duration::from_secs(1);

/// Answers the shell and ends the process, if the shell asks for a completion.
pub(crate) fn serve() {
    CompleteEnv::with_factory(|| completed(program())).var(VARIABLE).complete();
}

/// Returns the script of a shell that calls this program for completions.
pub(crate) fn script(shell: clap_complete::Shell) -> Option<String> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string())?;
    completer.write_registration(VARIABLE, "ejob", "ejob", "ejob", &mut script).ok()?;
    String::from_utf8(script).ok()
}

/// Adds the names that are valid for arguments.
fn completed(command: Command) -> Command {
    let of_context = matches!(command.get_name(), "use" | "show" | "remove");
    let command = command.mut_args(|arg| match arg.get_id().as_str() {
        "job" | "jobs" if arg.is_positional() => with(arg, || names(jobs)),
        "job" => with(arg, || names(jobs)),
        "server" => with(arg, || names(servers)),
        "instance" => with(arg, || names(instances)),
        "context" => with(arg, contexts),
        "name" if of_context => with(arg, contexts),
        "fields" => with(arg, || ConfigField::all().map(|f| format!("{}=", f.name())).collect()),
        "field" => with(arg, || explain::keys().map(str::to_owned).collect()),
        _ => arg,
    });
    command.mut_subcommands(completed)
}

fn with(arg: Arg, candidates: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Arg {
    let candidates = move || {
        let names = candidates().into_iter().filter(|name| is_plain(name));
        names.map(CompletionCandidate::new).collect()
    };
    arg.add(ArgValueCandidates::new(candidates))
}

/// Returns true for a word that no shell interprets. A name from the registry is inserted in the
/// command line as it is.
fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | ':' | '=');
    name.chars().all(is_plain)
}

fn contexts() -> Vec<String> {
    let file = ContextsFile::read();
    file.map_or(Vec::new(), |file| file.all().map(|(name, _)| name.to_owned()).collect())
}

fn jobs(namespace: &Namespace) -> Vec<String> {
    let read = namespace.configured().map(|job| job.job().to_string());
    read.chain(namespace.unread.iter().map(|(job, _)| job.clone())).collect()
}

fn servers(namespace: &Namespace) -> Vec<String> {
    operations::server_briefs(&namespace.jobs).into_iter().map(|server| server.server_ip).collect()
}

fn instances(namespace: &Namespace) -> Vec<String> {
    let ids = |job: &operations::JobSnapshot| {
        job.instances().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    namespace.configured().flat_map(ids).collect()
}

/// Reads names from the registry of the command line; none if it does not answer in time.
fn names(of: fn(&Namespace) -> Vec<String>) -> Vec<String> {
    let (sender, names) = mpsc::channel();
    // The process ends without waiting for the thread.
    std::thread::spawn(move || {
        let found = read(of);
        // The receiver has gone if the time is over.
        let _ = sender.send(found);
    });
    names.recv_timeout(DEADLINE).ok().flatten().unwrap_or_default()
}

fn read(of: fn(&Namespace) -> Vec<String>) -> Option<Vec<String>> {
    let words: Vec<OsString> =
        std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let matches = program().ignore_errors(true).try_get_matches_from(words).ok()?;
    let connect = ConnectArguments::from_arg_matches(&matches).ok()?.with_context();
    let target = connect.target().ok()?;
    let place = Place { connect, target, may_create: false, session_timeout: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let registry = NamedRegistries.open(&place).await.ok()?;
        let bounds = ReadBounds::default().with(|it| it.deadline = DEADLINE);
        let namespace = Operations::new(registry.clone()).bounds(bounds).namespace().await.ok();
        let names = namespace.map(|namespace| of(&namespace));
        // A session that is not closed ends by its timeout, and no node depends on it.
        let _ = tokio::time::timeout(DEADLINE, registry.close()).await;
        names
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_a_shell_would_interpret_is_not_offered() {
        let rows = [
            ("report", true),
            ("报表-2.eu", true),
            ("10.0.0.7@-@12996-24ea6", true),
            ("a b", false),
            ("$(reboot)", false),
            ("a;reboot", false),
            ("`reboot`", false),
            ("a\u{1b}[2J", false),
        ];
        for (name, expected) in rows {
            assert_eq!(is_plain(name), expected, "{name}");
        }
    }
}
