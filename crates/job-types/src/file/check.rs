//! Conversion of a parsed file to jobs. It checks every value and names the first invalid one.

use std::fs::File;
use std::io::Read as _;
use std::time::Duration;

use jiff::SignedDuration;
use lite::{
    GroupLimits, GroupName, InvalidConfig, JobBuilder, JobConfig, Overlap, RetryPolicy, ServerTtl,
    StartRate,
};

use super::Reads;
use super::declared::{DeclaredJob, Lines, Work};
use super::handlers::handlers;
use super::model::{AllowDoc, GroupDoc, JobDoc, RetryDoc, ScriptDoc, TextDoc};
#[cfg(feature = "http")]
use super::request;
use crate::{Allow, Invalid, Script, ScriptContext, SecretError, SecretText, StoredJob};

pub(super) fn allow(doc: AllowDoc) -> Result<Allow, Invalid> {
    let commands = doc.commands.into_iter().try_fold(Allow::nothing(), Allow::command)?;
    let hosts = doc.hosts.iter().try_fold(commands, |allow, host| allow.host(host))?;
    let hosts = doc.alert_hosts.iter().try_fold(hosts, |allow, host| allow.alert_host(host))?;
    doc.secrets.iter().try_fold(hosts, |allow, secret| allow.secret(secret))
}

/// Returns a group and its limits.
pub(super) fn group(doc: &GroupDoc) -> Result<(GroupName, GroupLimits), Invalid> {
    let name = GroupName::new(&doc.name).map_err(|error| {
        let valid = format!("{} ({error})", GroupName::VALID);
        Invalid::new("name", format!("{:?}", doc.name), valid)
    })?;
    let rate = |text: &String| {
        let invalid = || Invalid::new("start_rate", format!("{text:?}"), StartRate::VALID);
        StartRate::parse(text).ok_or_else(invalid)
    };
    let start_rate = doc.start_rate.as_ref().map(rate).transpose()?;
    let limits = GroupLimits { cluster_concurrency: doc.cluster_concurrency, start_rate };
    limits.check().map_err(invalid)?;
    if limits.is_none() {
        let valid = "1 to 4294967295, unless the group has a start_rate";
        return Err(Invalid::new("cluster_concurrency", "missing", valid));
    }
    Ok((name, limits))
}

pub(super) fn job(
    doc: JobDoc,
    allow: &Allow,
    lines: Lines,
    reads: Reads<'_>,
) -> Result<DeclaredJob, Invalid> {
    let config = config(&doc, reads)?;
    let timeout = doc.timeout.as_deref().map(|text| positive("timeout", text)).transpose()?;
    let grace = doc.shutdown_grace.as_deref().map(|text| duration("shutdown_grace", text));
    let handler_timeout = doc.error_handler_timeout.as_deref();
    let handler_timeout = handler_timeout.map(|text| positive("error_handler_timeout", text));
    if doc.max_concurrency == Some(0) {
        return Err(Invalid::new("max_concurrency", 0, "1 or more, or no such key: no limit"));
    }
    let output_limit = output_limit(doc.output.as_deref(), doc.output_kib)?;
    let types = [
        ("script", doc.script.is_some()),
        ("http", doc.http.is_some()),
        ("stored", doc.stored == Some(true)),
    ];
    let valid = "script, http and stored = true, such as script = { shell = \"echo hello\" }";
    one_of("the job type", types, valid)?;
    // The checks of work resolve its secrets, and errors could show them to another host.
    let has_work = !matches!(reads, Reads::Nothing);
    let work = match (doc.script, doc.http) {
        _ if !has_work => Ok(Work::Stored(StoredJob::new(Allow::nothing()))),
        (Some(script), None) => self::script(script).map(Work::Script),
        #[cfg(feature = "http")]
        (None, Some(http)) => request::http(http).map(Work::Http),
        #[cfg(not(feature = "http"))]
        (None, Some(_)) => Err(crate::no_http("http")),
        _ => Ok(Work::Stored(StoredJob::new(allow.clone()))),
    };
    Ok(DeclaredJob {
        config,
        work: work?,
        lines,
        timeout,
        grace: grace.transpose()?,
        max_concurrency: doc.max_concurrency,
        output_limit,
        retry: doc.retry.map(retry).transpose()?,
        handlers: if has_work { handlers(doc.error_handlers)? } else { Vec::new() },
        handler_timeout: handler_timeout.transpose()?,
    })
}

/// Returns the limit of the kept output of a run, in bytes.
fn output_limit(output: Option<&str>, kib: Option<usize>) -> Result<Option<usize>, Invalid> {
    if let Some(kib) = kib.filter(|kib| !(1..=16_384).contains(kib)) {
        return Err(Invalid::new("output_kib", kib, "1 to 16384"));
    }
    match output {
        Some("none") => Ok(Some(0)),
        None | Some("keep") => Ok(kib.map(|kib| kib * 1_024)),
        Some(other) => Err(Invalid::new("output", format!("{other:?}"), "\"keep\" or \"none\"")),
    }
}

/// Checks that exactly one of several keys is set.
fn one_of<const N: usize>(field: &str, keys: [(&str, bool); N], all: &str) -> Result<(), Invalid> {
    let set: Vec<&str> = keys.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| *key).collect();
    let found = match &set[..] {
        [_] => return Ok(()),
        [] => "missing".to_owned(),
        several => format!("given more than once, as {}", several.join(" and ")),
    };
    Err(Invalid::new(field, found, format!("exactly one of {all}")))
}

/// Returns the excluded times of a job, with the contents of the file that it names.
fn excluded_times(doc: &JobDoc, reads: Reads<'_>) -> Result<Option<String>, Invalid> {
    let Some(name) = &doc.excluded_times_file else { return Ok(doc.excluded_times.clone()) };
    let invalid = |valid: String| Invalid::new("excluded_times_file", format!("{name:?}"), valid);
    // A document that another host has sent must not make this process read its files.
    let Reads::FilesOf(folder) = reads else {
        return Err(invalid(
            "no such key: only a job file on this host may name a file; write its contents \
             into excluded_times"
                .to_owned(),
        ));
    };
    let text = File::open(folder.join(name)).and_then(text_of).map_err(|error| {
        let path = folder.join(name);
        invalid(format!("a file of UTF-8 that this process can read ({}: {error})", path.display()))
    })?;
    let given = doc.excluded_times.as_deref().map(|times| format!("{times}\n"));
    Ok(Some(given.unwrap_or_default() + &text))
}

/// Maximum length of the excluded times of a configuration, in bytes.
const MAX_TIMES_BYTES: usize = 65_536;

/// Reads the text of a file, of a longer one one byte more than is valid: the check of the
/// configuration names the excess.
fn text_of(file: File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_TIMES_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() > MAX_TIMES_BYTES;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // The last character may be cut, too.
        Err(error) if is_cut => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Err(error) => Err(std::io::Error::new(std::io::ErrorKind::InvalidData, error)),
    }
}

fn config(doc: &JobDoc, reads: Reads<'_>) -> Result<JobConfig, Invalid> {
    /// Sets an option if the file has it.
    fn set<T: Clone>(
        job: JobBuilder,
        value: &Option<T>,
        set: impl FnOnce(JobBuilder, T) -> JobBuilder,
    ) -> JobBuilder {
        match value.clone() {
            Some(value) => set(job, value),
            None => job,
        }
    }
    let mut job = JobBuilder::new(doc.name.as_str(), doc.sharding_total_count);
    job = set(job, &doc.cron, JobBuilder::cron);
    job = set(job, &doc.time_zone, JobBuilder::time_zone);
    job = set(job, &doc.excluded_days, JobBuilder::excluded_days);
    job = set(job, &excluded_times(doc, reads)?, JobBuilder::excluded_times);
    job = set(job, &doc.not_before, JobBuilder::not_before);
    job = set(job, &doc.not_after, JobBuilder::not_after);
    job = set(job, &doc.repeated_hour, JobBuilder::repeated_hour);
    job = set(job, &doc.sharding_item_parameters, JobBuilder::sharding_item_parameters);
    job = set(job, &doc.job_parameter, JobBuilder::job_parameter);
    job = set(job, &doc.failover, JobBuilder::failover);
    job = set(job, &doc.misfire, JobBuilder::misfire);
    job = set(job, &doc.monitor_execution, JobBuilder::monitor_execution);
    job = set(job, &doc.static_sharding, JobBuilder::static_sharding);
    job = set(job, &doc.strategy, JobBuilder::strategy);
    job = set(job, &doc.placement, JobBuilder::placement);
    job = set(job, &doc.description, JobBuilder::description);
    job = set(job, &doc.disabled, JobBuilder::disabled);
    job = set(job, &doc.overwrite, JobBuilder::overwrite);
    if let Some(catch_up) = &doc.catch_up {
        job = job.catch_up(duration("catch_up.window", &catch_up.window)?, catch_up.max);
    }
    if let Some(bound) = &doc.jitter {
        job = job.jitter(duration("jitter", bound)?);
    }
    match doc.max_time_diff.as_deref() {
        None => {}
        Some("off") => job = job.compare_clocks(false),
        Some(bound) => {
            let bound = duration("max_time_diff", bound).map_err(|_| {
                let valid = "a time of whole seconds from 1s, such as 5s, or off";
                Invalid::new("max_time_diff", format!("{bound:?}"), valid)
            })?;
            job = job.max_time_diff(bound);
        }
    }
    if let Some(interval) = &doc.reconcile_interval {
        job = job.reconcile_interval(duration("reconcile_interval", interval)?);
    }
    if let Some(ttl) = &doc.server_ttl {
        job = job.server_ttl(
            ServerTtl::parse(ttl)
                .ok_or_else(|| Invalid::new("server_ttl", format!("{ttl:?}"), ServerTtl::VALID))?,
        );
    }
    if let Some(rate) = &doc.start_rate {
        job = job
            .start_rate(StartRate::parse(rate).ok_or_else(|| {
                Invalid::new("start_rate", format!("{rate:?}"), StartRate::VALID)
            })?);
    }
    if let Some(group) = &doc.group {
        job = job.group(group);
    }
    if let Some(overlap) = &doc.overlap {
        job = job.overlap(
            Overlap::parse(overlap)
                .ok_or_else(|| Invalid::new("overlap", format!("{overlap:?}"), Overlap::VALID))?,
        );
    }
    if let Some(max) = doc.cluster_concurrency {
        job = job.cluster_concurrency(max);
    }
    let config = job.build().map_err(invalid)?;
    check_items(&config)?;
    Ok(config)
}

/// Rejects a parameter or a pin of an item that the job does not have. Only stored configurations
/// may have such items, because operators change their number of items.
fn check_items(config: &JobConfig) -> Result<(), Invalid> {
    let last = config.sharding_total_count.saturating_sub(1);
    if let Some(item) = config.parameters_without_item().first() {
        let (field, text) = ("sharding_item_parameters", &config.sharding_item_parameters);
        let valid = format!("parameters of the items 0 to {last}");
        return Err(Invalid::new(field, format!("{text:?}, of item {item}"), valid));
    }
    if let Some(item) = config.pins_without_item().first() {
        let text = config.placement.as_str();
        let valid = format!("pins of the items 0 to {last}");
        return Err(Invalid::new(
            "placement",
            format!("{text:?}, with a pin of item {item}"),
            valid,
        ));
    }
    Ok(())
}

fn retry(doc: RetryDoc) -> Result<RetryPolicy, Invalid> {
    let mut policy = RetryPolicy::new(doc.max_attempts);
    if let Some(delay) = &doc.first_delay {
        policy = policy.first_delay(duration("retry.first_delay", delay)?);
    }
    if let Some(delay) = &doc.max_delay {
        policy = policy.max_delay(duration("retry.max_delay", delay)?);
    }
    policy = policy.after_panics(doc.after_panics.unwrap_or(false));
    policy.check().map_err(invalid)?;
    Ok(policy)
}

fn script(doc: ScriptDoc) -> Result<Script, Invalid> {
    let commands = [
        ("command", doc.command.is_some()),
        ("argv", doc.argv.is_some()),
        ("shell", doc.shell.is_some()),
    ];
    one_of("the command of script", commands, "command, argv and shell")?;
    let mut script = match (doc.command, doc.argv, doc.shell) {
        (Some(line), _, _) => without_operators(&line)?,
        (None, Some(argv), _) => from_words(argv)?,
        (None, None, command) => match command.unwrap_or_default() {
            blank if blank.trim().is_empty() => {
                return Err(Invalid::new("script.shell", format!("{blank:?}"), "a command"));
            }
            command => Script::shell(command),
        },
    };
    for (name, TextDoc(value)) in doc.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(Invalid::new("script.env", format!("{name:?}"), "a name without ="));
        }
        check_references(&format!("script.env.{name}"), &value)?;
        script = script.env(name, value);
    }
    if let Some(directory) = doc.directory {
        script = script.directory(directory);
    }
    if let Some(grace) = doc.grace {
        script = script.grace(duration("script.grace", &grace)?);
    }
    if let Some(max) = doc.max_logged_lines {
        script = script.max_logged_lines(max);
    }
    script = script.inherits_environment(doc.inherit_environment.unwrap_or(true));
    script = script.context(context(doc.context.as_deref())?);
    script = script.outlives_worker(doc.outlives_worker.unwrap_or(false));
    Ok(script)
}

fn context(name: Option<&str>) -> Result<ScriptContext, Invalid> {
    match name {
        None | Some("environment") => Ok(ScriptContext::Environment),
        Some("argument") => Ok(ScriptContext::Argument),
        Some("none") => Ok(ScriptContext::None),
        Some(other) => {
            let valid = "environment, argument or none";
            Err(Invalid::new("script.context", format!("{other:?}"), valid))
        }
    }
}

/// Splits a command line, and rejects operators of a shell: without a shell they would be
/// arguments.
fn without_operators(line: &str) -> Result<Script, Invalid> {
    let script = Script::parse(line)?;
    match operator(line) {
        None => Ok(script),
        Some(operator) => {
            let valid = "one program and its arguments; a command of a shell is `shell` in place of \
                         `command`, and in quotes an operator is an argument";
            let found = format!("{line:?}, with the operator {operator} of a shell");
            Err(Invalid::new("script.command", found, valid))
        }
    }
}

/// Returns the first operator of a shell outside of quotes and comments: a pipe, a list, a
/// redirection or a command substitution. Every quote must be closed.
fn operator(line: &str) -> Option<&'static str> {
    const OPERATORS: [&str; 7] = ["|", "&", ";", "<", ">", "`", "$("];
    let (mut quote, mut begins_word) = (None, true);
    let mut rest = line.chars();
    loop {
        let text = rest.as_str();
        let c = rest.next()?;
        let is_delimiter = matches!(c, ' ' | '\t' | '\n') && quote.is_none();
        match (quote, c) {
            (None | Some('"'), '\\') => drop(rest.next()),
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if begins_word => {
                let comment = text.split('\n').next().unwrap_or_default();
                rest = text[comment.len()..].chars();
            }
            (None, _) => {
                let found = OPERATORS.into_iter().find(|operator| text.starts_with(operator));
                if found.is_some() {
                    return found;
                }
            }
        }
        begins_word = is_delimiter;
    }
}

fn from_words(argv: Vec<String>) -> Result<Script, Invalid> {
    let mut words = argv.into_iter();
    let program = words.next().filter(|program| !program.is_empty());
    let program = program
        .ok_or_else(|| Invalid::new("script.argv", "empty", "a program and its arguments"))?;
    Ok(words.fold(Script::new(program), Script::arg))
}

#[cfg(any(feature = "alerts", feature = "http"))]
pub(super) fn plain_credential(field: &str) -> Invalid {
    let valid = "a reference such as ${env:NAME} or ${file:/run/secrets/name}";
    Invalid::new(field, "a credential in plain text", valid)
}

/// Checks that all references of a text can be resolved. The error shows the reference, which is no
/// secret itself.
pub(super) fn check_references(field: &str, text: &SecretText) -> Result<(), Invalid> {
    text.resolve().map(drop).map_err(|error| match error {
        SecretError::Environment { name } => {
            let valid = "a variable that the environment of this process has, in UTF-8";
            Invalid::new(field, format!("${{env:{name}}}"), valid)
        }
        SecretError::File { path, source } => {
            let valid =
                format!("a file of at most 64 KiB of UTF-8 that this process can read ({source})");
            Invalid::new(field, format!("${{file:{path}}}"), valid)
        }
        other => Invalid::new(field, other, "a reference to something that exists"),
    })
}

pub(super) fn positive(field: &'static str, text: &str) -> Result<Duration, Invalid> {
    let time = duration(field, text)?;
    if time.is_zero() {
        return Err(Invalid::new(field, format!("{text:?}"), "more than zero"));
    }
    Ok(time)
}

pub(super) fn duration(field: &str, text: &str) -> Result<Duration, Invalid> {
    let time = text.parse::<SignedDuration>().ok();
    time.and_then(|time| Duration::try_from(time).ok()).ok_or_else(|| {
        let valid = "a time with its unit, such as 500ms, 5s or 1m 30s";
        Invalid::new(field, format!("{text:?}"), valid)
    })
}

fn invalid(error: InvalidConfig) -> Invalid {
    let field = if error.field == "job_name" { "name" } else { error.field };
    Invalid::new(field, error.value, error.valid)
}
