//! The program: from arguments to an exit code.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use coordination::JobName;
use job_types::ScriptLauncher;
use tracing_subscriber::EnvFilter;

use crate::arguments::{Command, CommandLine};
use crate::completion;
use crate::connect::{NamedRegistries, Registries};
use crate::context::Context;
use crate::examples::program;
use crate::fault::{Exit, Fault};
use crate::init;
use crate::log::Log;
use crate::log_format::{LogFormat, text_log};
use crate::output::{Form, OutputArguments, Page, Screen, document, line};
use crate::suggestion::with_suggestion;
use crate::text::one_line;

/// Minimum limit of open files: a worker with one job, a history, both ports and a few scripts.
const MIN_OPEN_FILES: u64 = 64;
/// Filter of the log of commands that run until a signal.
pub(crate) const SERVICE_FILTER: &str = "info,zookeeper_client=off";

/// Runs the program with the arguments of the process, a ZooKeeper, and the standard streams.
#[must_use]
pub fn main() -> ExitCode {
    // Both have to run before any thread starts, because these processes wait for all children.
    if let Some(code) = ScriptLauncher::serve() {
        return code;
    }
    completion::serve();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if std::process::id() == 1 && is_worker(&arguments) {
        return init::run(&arguments[1..]);
    }
    if let Err(fault) = init_log(&arguments) {
        print_document(&arguments, &fault, &mut std::io::stdout());
        print_error(&mut std::io::stderr(), &fault);
        return ExitCode::from(fault.exit().code());
    }
    if let Err(fault) = check_open_files() {
        print_error(&mut std::io::stderr(), &fault);
        return ExitCode::from(fault.exit().code());
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the runtime cannot start: {error}");
            return ExitCode::from(Exit::Partly.code());
        }
    };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let screen = Screen::stdout();
    let exit = runtime.block_on(run_on(screen, arguments, &NamedRegistries, &mut out, &mut err));
    // A run that does not end must not keep the process alive.
    runtime.shutdown_background();
    ExitCode::from(exit.code())
}

/// Checks the limit of open files: libraries panic if they have too few at their start.
fn check_open_files() -> Result<(), Fault> {
    match rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        Some(limit) if limit < MIN_OPEN_FILES => Err(Fault::refused(format!(
            "the limit of open files (ulimit -n) is {limit}; valid is {MIN_OPEN_FILES} or more"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Logs to the standard error if `EJOB_LOG` is set; a worker, a watcher and a console always log.
fn init_log(arguments: &[OsString]) -> Result<(), Fault> {
    let default = default_filter(arguments);
    let wanted = std::env::var("EJOB_LOG").ok().filter(|filter| !filter.is_empty());
    let filter = wanted.as_deref().unwrap_or(default);
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        let valid = "valid is a filter such as info, or operations=debug,info";
        Fault::usage(format!("EJOB_LOG is {filter:?}; {valid} ({error})"))
    })?;
    let format = LogFormat::parse(&std::env::var("EJOB_LOG_FORMAT").unwrap_or_default())?;
    match format {
        LogFormat::Text => text_log().with_env_filter(filter).with_writer(Log).init(),
        LogFormat::Json => {
            let log = tracing_subscriber::fmt().with_env_filter(filter);
            // A JSON line must not be cut; values are bounded where events are created.
            log.with_writer(std::io::stderr).json().init();
        }
    }
    Ok(())
}

fn is_worker(arguments: &[OsString]) -> bool {
    let line = CommandLine::read(arguments);
    line.is_ok_and(|line| matches!(line.command, Command::Worker(_)))
}

/// Returns the filter of the log if `EJOB_LOG` is not set.
fn default_filter(arguments: &[OsString]) -> &'static str {
    let Ok(line) = CommandLine::read(arguments) else { return "off" };
    #[cfg(feature = "console")]
    if let Command::Console(given) = &line.command {
        return given.log_filter();
    }
    let is_watcher = matches!(&line.command, Command::Watch(given) if given.is_service());
    if is_watcher || is_worker(arguments) { SERVICE_FILTER } else { "off" }
}

/// Runs one command line, which starts with the name of the program.
///
/// The answer is written to `out`, an error to `err` in one line. `out` is not a terminal.
pub async fn run(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    registries: &dyn Registries,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) -> Exit {
    run_on(Screen::default(), arguments, registries, out, err).await
}

async fn run_on(
    screen: Screen,
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    registries: &dyn Registries,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) -> Exit {
    let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    // clap generates `help`, which takes no options.
    if arguments.get(1).is_some_and(|word| word == "help") {
        arguments.retain(|word| word != "--help" && word != "-h");
    }
    let line = match CommandLine::read(&arguments) {
        Ok(line) => line,
        Err(error) => return refuse(&error, screen, &arguments, out, err),
    };
    let CommandLine { connect, output, command } = line;
    let look = output.look(&screen);
    let context = Context::new(connect.with_context(), look, registries, out);
    let answered = if look.form == Form::Name && !command.lists_names() {
        Err(Fault::usage(
            "--output is name, but this command lists no names; valid is table, wide, json or yaml",
        ))
    } else {
        // Boxed to keep the future of the program small.
        Box::pin(answer(command, &context)).await
    };
    let answered = match answered {
        Err(fault) => Err(with_suggestion(fault, &context).await),
        answered => answered,
    };
    context.close().await;
    match answered {
        Ok(page) => {
            let written = context.write(&page.show(look));
            if !look.is_document() {
                let _ = err.write_all(page.beside.as_bytes());
            }
            exit_after_write(written, page.exit, err)
        }
        Err(fault) => {
            if look.is_document() {
                // The line on the standard error has the same text, so a failed write loses
                // nothing.
                let _ = context.write(&document(&fault.json(), look));
            }
            print_error(err, &fault);
            fault.exit()
        }
    }
}

/// Returns the exit code after the answer was written.
///
/// An incomplete answer is an error, although its change may be made. A closed pipe is not
/// reported.
fn exit_after_write(
    written: std::io::Result<()>,
    exit: Exit,
    err: &mut (dyn Write + Send),
) -> Exit {
    let Err(error) = written else { return exit };
    let fault = Fault::refused(format!("the answer could not be written: {error}"));
    if error.kind() != std::io::ErrorKind::BrokenPipe {
        print_error(err, &fault);
    }
    if exit == Exit::Done { fault.exit() } else { exit }
}

async fn answer(command: Command, cx: &Context<'_>) -> Result<Page, Fault> {
    match command {
        // Boxed to keep the future of the other commands small.
        Command::Worker(given) => Box::pin(given.run(cx)).await,
        Command::Jobs(given) => given.run(cx).await,
        Command::Top => Box::pin(crate::commands::top::run(cx)).await,
        Command::Job(given) => given.run(cx).await,
        Command::Instances(given) => given.run(cx).await,
        Command::Servers(given) => given.run(cx).await,
        Command::Why(given) => given.run(cx).await,
        Command::Next(given) => given.run(cx).await,
        Command::Audit(given) => given.run(cx).await,
        Command::Dump(given) => given.run(cx).await,
        Command::Trigger(given) => given.run(cx).await,
        Command::Rerun(given) => given.run(cx).await,
        Command::Backfill(given) => Box::pin(given.run(cx)).await,
        Command::Cancel(given) => given.run(cx).await,
        Command::Pause(given) => given.run(cx).await,
        Command::Resume(given) => given.run(cx).await,
        Command::Disable(given) => given.run(cx).await,
        Command::Enable(given) => given.run(cx).await,
        Command::Drain(given) => Box::pin(given.run(cx)).await,
        Command::Shutdown(given) => given.run(cx).await,
        Command::Remove(given) => Box::pin(given.run(cx)).await,
        Command::RemoveServer(given) => given.run(cx).await,
        Command::Config(given) => given.run(cx).await,
        Command::Groups => crate::commands::groups::list(cx).await,
        Command::Group(given) => given.run(cx).await,
        Command::Context(given) => given.run(cx),
        Command::Create(given) => given.run(cx).await,
        Command::Plan(given) => given.run(cx).await,
        Command::Doctor(given) => {
            let job = given.job().cloned();
            Ok(with_remark(given.run(cx).await?, cx, job.as_ref()).await)
        }
        Command::Watch(given) => Box::pin(given.run(cx)).await,
        Command::History(given) => given.run(cx).await,
        Command::Logs(given) => given.run(cx).await,
        Command::Verify(given) => Box::pin(given.run(cx)).await,
        Command::Export(given) => given.run(cx).await,
        Command::Import(given) => given.run(cx).await,
        Command::Apply(given) => Box::pin(given.run(cx)).await,
        Command::Bench(given) => given.run(cx).await,
        Command::Health(given) => given.run().await,
        #[cfg(feature = "console")]
        Command::Console(given) => Box::pin(given.run(cx)).await,
        Command::Init(given) => given.run(),
        Command::Explain(given) => given.run(),
        Command::Man(given) => given.run(),
        Command::Completions { shell } => completions(shell),
    }
}

/// Adds a remark about nodes that clients without credentials may change.
async fn with_remark(mut page: Page, cx: &Context<'_>, job: Option<&JobName>) -> Page {
    let Some(open) = cx.open_nodes(cx.connect(), cx.connect().target(), job).await else {
        return page;
    };
    if let Some(document) = page.json.as_object_mut() {
        document.insert("remarks".to_owned(), serde_json::json!([open]));
    }
    page.beside.push_str(&line(&format!("remark: {open}")));
    page
}

fn completions(shell: clap_complete::Shell) -> Result<Page, Fault> {
    let script = completion::script(shell)
        .ok_or_else(|| Fault::refused(format!("there are no completions for {shell}")))?;
    Ok(Page::new(script.as_str(), &serde_json::json!({ "script": script })))
}

/// Reports a wrong command line in one line; prints help and version on request.
fn refuse(
    error: &clap::Error,
    screen: Screen,
    arguments: &[OsString],
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) -> Exit {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let look = OutputArguments::scan(arguments).look(&screen);
        let text = error.render();
        let text = if look.has_colors { text.ansi().to_string() } else { text.to_string() };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        return exit_after_write(written, Exit::Done, err);
    }
    let text = error.render().to_string();
    let first = text.split("\nUsage:").next().unwrap_or(&text);
    let first = first.split("\nFor more information").next().unwrap_or(first);
    let what = one_line(first.trim().trim_start_matches("error: "));
    let help = help_of(arguments);
    let is_one_of = |kinds: &[ErrorKind]| kinds.contains(&error.kind());
    let word = arguments.get(1).and_then(|word| word.to_str());
    let is_console = cfg!(not(feature = "console")) && word == Some("console");
    let no_command =
        [ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ErrorKind::MissingSubcommand];
    let fault = if is_console {
        Fault::usage(
            "this ejob was built without the console; install one that has it with \
             `cargo install --locked --path crates/cli --features console`",
        )
    } else if is_one_of(&no_command) {
        Fault::usage(format!("a command is missing; `{help}` lists them"))
    } else if is_one_of(&[ErrorKind::InvalidValue, ErrorKind::ValueValidation]) {
        // These errors name the valid values, so the hint to the help is omitted.
        Fault::usage(what)
    } else if is_one_of(&[ErrorKind::UnknownArgument])
        && matches!(word, Some("jobs" | "list"))
        && let Some(job) = arguments.get(2).and_then(|job| job.to_str())
        && !job.starts_with('-')
    {
        Fault::usage(format!("{what}; `ejob job {job}` shows one job; see `{help}`"))
    } else {
        Fault::usage(format!("{what}; see `{help}`"))
    };
    print_document(arguments, &fault, out);
    print_error(err, &fault);
    fault.exit()
}

/// Returns the command line that shows the help of the given command.
fn help_of(arguments: &[OsString]) -> String {
    let mut command = &program();
    let mut line = "ejob".to_owned();
    for word in arguments.iter().skip(1).filter_map(|argument| argument.to_str()) {
        if let Some(found) = command.find_subcommand(word) {
            command = found;
            line = format!("{line} {word}");
        }
    }
    format!("{line} --help")
}

/// Prints the document of an error if the command line asks for one.
fn print_document(arguments: &[OsString], fault: &Fault, out: &mut dyn Write) {
    let look = OutputArguments::scan(arguments).look(&Screen::default());
    if look.is_document() {
        // The line on the standard error has the same text, so a failed write loses nothing.
        let _ = out.write_all(document(&fault.json(), look).as_bytes());
    }
}

fn print_error(err: &mut (dyn Write + Send), fault: &Fault) {
    for message in fault.messages() {
        let _ = writeln!(err, "error: {message}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use reg_center::{MemoryRegistry, RegistryCenter};

    use super::*;
    use crate::Place;

    struct NoRegistry;

    #[async_trait]
    impl Registries for NoRegistry {
        async fn open(&self, _: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
            Err(Fault::refused("no registry"))
        }
    }

    #[tokio::test]
    async fn help_and_aliases_work() {
        let rows: [(&[&str], Exit, &str); 5] = [
            (&["help"], Exit::Done, "List the jobs of the namespace"),
            (&["help", "--help"], Exit::Done, "List the jobs of the namespace"),
            (&["help", "-h"], Exit::Done, "List the jobs of the namespace"),
            (&["help", "jobs", "--help"], Exit::Done, "List the jobs of the namespace"),
            (&["list", "--registry", "zk://a/jobs"], Exit::Partly, "error: no registry"),
        ];
        for (words, exit, part) in rows {
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let line = std::iter::once("ejob").chain(words.iter().copied());
            let found = run(line, &NoRegistry, &mut out, &mut err).await;
            let text = String::from_utf8([out, err].concat()).unwrap();
            assert_eq!(found, exit, "{words:?}: {text}");
            assert!(text.contains(part), "{words:?}: {text}");
        }
    }

    /// A registry whose nodes can be read, but not their access control lists.
    struct NoLists(MemoryRegistry);

    #[async_trait]
    impl Registries for NoLists {
        async fn open(&self, _: &Place) -> Result<Arc<dyn RegistryCenter>, Fault> {
            Ok(Arc::new(self.0.connect()))
        }

        async fn open_nodes(
            &self,
            _: &Place,
            _: Option<&JobName>,
        ) -> Result<Vec<(String, String)>, Fault> {
            Err(Fault::new(Exit::Unreachable, "no answer"))
        }
    }

    #[tokio::test]
    async fn unreadable_access_control_lists_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let digest = folder.path().join("digest");
        std::fs::write(&digest, "anna:secret").unwrap();
        let with_user = ["--digest-file", digest.to_str().unwrap()];
        let remark = "the access control lists of the nodes could not be examined: no answer";
        let expected = format!("remark: {remark}\n");
        for (words, expected) in [(&with_user[..], expected.as_str()), (&[], "")] {
            let line = ["ejob", "doctor", "--registry", "zk://a/jobs"];
            let line = line.iter().chain(words).copied();
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let registries = NoLists(MemoryRegistry::new());
            let exit = run(line, &registries, &mut out, &mut err).await;
            let (out, err) = (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap());
            assert_eq!((exit, err.as_str()), (Exit::Done, expected), "{out}");
        }
    }
}
