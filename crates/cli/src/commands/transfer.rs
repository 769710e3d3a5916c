//! `export`, `import`: configurations to and from a file, or from a namespace of ElasticJob 1.x.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use coordination::{Dialect, GroupLimits, GroupName, JobName};
use jiff::Timestamp;
use operations::{
    Export, ImportAct, ImportStep, Importable, convert_version_1, groups_of, plan_group_import,
    plan_import,
};
use serde_json::{Value, json};
use sharding::StrategyRegistry;

use super::report;
use crate::context::{Context, Signed};
use crate::fault::{Exit, Fault};
use crate::output::{Page, counted};
use crate::target::{Target, ZookeeperTarget};
use crate::text::{dialect, job_name, one_line};

/// Format of an export file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Yaml,
    Json,
}

impl Form {
    /// Returns JSON for a file name that ends in `.json`, otherwise YAML.
    fn of(path: Option<&Path>) -> Self {
        let extension = path.and_then(Path::extension).and_then(|extension| extension.to_str());
        if extension == Some("json") { Self::Json } else { Self::Yaml }
    }

    fn write(self, export: &Export) -> Result<String, Fault> {
        let refused = |error: &dyn std::fmt::Display| {
            Fault::refused(format!("nothing was exported: {error}"))
        };
        match self {
            Self::Yaml => serde_saphyr::to_string(export).map_err(|error| refused(&error)),
            Self::Json => match serde_json::to_string_pretty(export) {
                Ok(text) => Ok(text + "\n"),
                Err(error) => Err(refused(&error)),
            },
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Names of the jobs [default: all]
    #[arg(value_parser = job_name)]
    jobs: Vec<JobName>,
    /// New file for the export [default: the standard output]
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Format of the export [default: by the extension of the file, otherwise yaml]
    #[arg(long, value_name = "FORM")]
    form: Option<Form>,
}

impl ExportArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let operations = cx.operations().await?;
        let namespace = operations.namespace().await?;
        let is_unread =
            |job: &JobName| namespace.unread.iter().any(|(name, _)| name == job.as_str());
        let is_there = |job: &JobName| namespace.configured().any(|found| found.job() == job);
        let missing = self.jobs.iter().find(|job| !is_there(job) && !is_unread(job));
        if let Some(missing) = missing {
            return Err(operations::Error::NoSuchJob { job: missing.clone() }.into());
        }
        let is_meant =
            |name: &str| self.jobs.is_empty() || self.jobs.iter().any(|job| job.as_str() == name);
        let jobs = namespace.jobs.iter().filter(|job| is_meant(job.job().as_str()));
        let (mut export, mut left_out) = operations::export(jobs.clone());
        let of_jobs = (!self.jobs.is_empty()).then(|| groups_of(jobs));
        let groups = operations.groups().await?;
        left_out.extend(export.add_groups(groups.iter().filter(|group| {
            of_jobs.as_ref().is_none_or(|groups| groups.contains(group.view().name()))
        })));
        let unread = namespace.unread.iter().filter(|(job, _)| is_meant(job));
        left_out.extend(unread.map(|(job, error)| (job.clone(), error.to_string())));
        let form = self.form.unwrap_or_else(|| Form::of(self.file.as_deref()));
        let text = form.write(&export)?;
        let entries = left_out.iter().map(|(job, why)| json!({ "job": job, "why": why }));
        let document = json!({
            "export": export,
            "left_out": entries.collect::<Vec<Value>>(),
        });
        let lines = left_out
            .iter()
            .map(|(job, why)| one_line(&format!("left out: {job}: {why}")) + "\n")
            .collect::<String>();
        let exit = if left_out.is_empty() { Exit::Done } else { Exit::Partly };
        // The standard output has to stay a valid export. YAML allows comments, JSON does not.
        let (shown, beside) = match (&self.file, form) {
            (Some(path), _) => {
                write_new(path, &text)?;
                let mut what = counted(export.jobs.len(), "job");
                if !export.groups.is_empty() {
                    what = format!("{what} and {}", counted(export.groups.len(), "group"));
                }
                (format!("{what} written to {}\n{lines}", path.display()), String::new())
            }
            (None, Form::Json) => (text, lines),
            (None, Form::Yaml) => {
                let comments = lines.lines().map(|line| format!("# {line}\n"));
                (text + &comments.collect::<String>(), String::new())
            }
        };
        Ok(Page::new(shown, &document).ending(exit).beside(beside))
    }
}

/// Writes a new file, readable only by its owner, because configurations may hold secrets.
///
/// An existing file is never replaced, and an incomplete one is removed.
fn write_new(path: &Path, text: &str) -> Result<(), Fault> {
    let shown = path.display();
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(|error| {
        Fault::usage(format!(
            "--file {shown} cannot be written: {error}; name a file that does not exist"
        ))
    })?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| match std::fs::remove_file(path) {
        Ok(()) => Fault::refused(format!("--file {shown} cannot be written: {error}")),
        Err(left) => Fault::refused(format!(
            "--file {shown} cannot be written: {error}; the incomplete file cannot be removed: {left}"
        )),
    })
}

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// File that `ejob export` has written; - for the standard input
    #[arg(required_unless_present = "from_1x", conflicts_with = "from_1x")]
    file: Option<PathBuf>,
    /// Namespace of ElasticJob 1.x in the same registry, instead of a file
    #[arg(long, value_name = "PATH")]
    from_1x: Option<String>,
    /// Dialect in which jobs of 1.x are stored: 2.1.5 or 3.x
    #[arg(long, value_name = "DIALECT", default_value = "2.1.5", value_parser = dialect)]
    dialect: Dialect,
    /// Import; without this option the plan is only shown
    #[arg(long)]
    apply: bool,
    /// Replace stored configurations that differ
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    signed: Signed,
}

/// Configurations to import.
#[derive(Default)]
struct Given {
    jobs: Vec<Importable>,
    /// Limits of groups.
    limits: BTreeMap<GroupName, GroupLimits>,
    /// Settings that could not be converted: job and note.
    notes: Vec<(String, String)>,
    /// Jobs that could not be converted: job and reason.
    refused: Vec<(String, String)>,
}

impl ImportArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = self.signed.by("import")?;
        let given = self.given(cx).await?;
        let (operations, present) = cx.to_change(!self.apply).await?;
        let strategies = StrategyRegistry::default();
        let now = Timestamp::now();
        let groups = match &operations {
            Some(operations) if !given.limits.is_empty() => operations.groups().await?,
            Some(_) | None => Vec::new(),
        };
        // The limits come first, so that no new job of a group runs without them.
        let mut steps = plan_group_import(&given.limits, &groups, self.overwrite);
        let stored = |name: &JobName| present.stored(name);
        steps.extend(plan_import(&given.jobs, stored, self.overwrite, &strategies, now));
        let operations = match operations {
            Some(operations) if self.apply => operations,
            Some(_) | None => return Ok(self.dry_run(cx, &steps, &given)),
        };
        let bar = cx.progress(steps.len(), "importing");
        let report = operations.import_all(&steps, &by, || bar.inc(1)).await;
        bar.finish_and_clear();
        let text = given.text() + &report::text(&report);
        let document = json!({ "steps": steps, "report": report, "notes": given.document() });
        let exit = report::exit(&report);
        let is_less = exit == Exit::Done && !given.refused.is_empty();
        let exit = if is_less { Exit::Partly } else { exit };
        Ok(Page::new(text, &document).ending(exit))
    }

    fn dry_run(&self, cx: &Context<'_>, steps: &[ImportStep], given: &Given) -> Page {
        let context = cx.connect().context_line().unwrap_or_default();
        let lines = steps.iter().map(|step| one_line(&format!("would {step}")) + "\n");
        let mut text = context + &given.text() + &lines.collect::<String>();
        let is_kept = |step: &ImportStep| matches!(step.act, ImportAct::Stays { .. });
        if steps.iter().any(is_kept) {
            text.push_str("configurations that differ stay; to replace them, add --overwrite\n");
        }
        text.push_str("nothing was changed; to import, repeat with --apply\n");
        let is_refused = |step: &ImportStep| matches!(step.act, ImportAct::Refused { .. });
        let refused = steps.iter().any(is_refused) || !given.refused.is_empty();
        let exit = if refused { Exit::Partly } else { Exit::Done };
        let document = json!({ "steps": steps, "report": null, "notes": given.document() });
        Page::new(text, &document).ending(exit)
    }

    async fn given(&self, cx: &Context<'_>) -> Result<Given, Fault> {
        match (&self.from_1x, &self.file) {
            (Some(namespace), _) => self.version_1(cx, namespace).await,
            (None, Some(path)) => {
                let (jobs, limits) = read(path)?;
                Ok(Given { jobs, limits, ..Given::default() })
            }
            (None, None) => {
                Err(Fault::usage("a file is missing; name one written by `ejob export`"))
            }
        }
    }

    async fn version_1(&self, cx: &Context<'_>, namespace: &str) -> Result<Given, Fault> {
        let target = match cx.connect().target()? {
            Target::Zookeeper(target) if target.namespace == namespace => {
                return Err(Fault::usage(format!(
                    "--from-1x and {} are both {namespace}; valid is another namespace: the nodes of 1.x occupy the places of those of later releases",
                    target.named_by.namespace()
                )));
            }
            Target::Zookeeper(target) => target,
            target @ (Target::File(_) | Target::Server(_) | Target::Memory) => {
                return Err(Fault::usage(format!(
                    "--from-1x is a namespace of ZooKeeper, but the registry is {target}; import to another namespace of that ZooKeeper, then `ejob export` there and `ejob import` here"
                )));
            }
        };
        let source = ZookeeperTarget { namespace: namespace.to_owned(), ..target };
        let registry = cx.registry(Target::Zookeeper(source), false, None).await?;
        let source = cx.operating(registry).namespace().await?;
        let mut given = Given::default();
        for job in &source.jobs {
            let name = job.job().to_string();
            match convert_version_1(job, self.dialect) {
                None => {}
                Some(Ok(converted)) => {
                    let notes = converted.notes.into_iter();
                    given.notes.extend(notes.map(|note| (name.clone(), note)));
                    let mut wanted = Importable::from(converted.config);
                    wanted.checkpoints = converted.checkpoints;
                    given.jobs.push(wanted);
                }
                Some(Err(reason)) => given.refused.push((name, reason)),
            }
        }
        let unread = source.unread.iter();
        given.refused.extend(unread.map(|(job, error)| (job.clone(), error.to_string())));
        if given.jobs.is_empty() && given.refused.is_empty() {
            return Err(Fault::not_found(format!(
                "{namespace} has no job of ElasticJob 1.x; check --from-1x"
            )));
        }
        Ok(given)
    }
}

impl Given {
    fn text(&self) -> String {
        let lines = |word: &'static str, of: &[(String, String)]| {
            let line = |(job, what): &(String, String)| one_line(&format!("{word}: {job}: {what}"));
            of.iter().map(|entry| line(entry) + "\n").collect::<String>()
        };
        lines("note", &self.notes) + &lines("not converted", &self.refused)
    }

    fn document(&self) -> Value {
        let all = self.notes.iter().map(|note| (note, false));
        let all = all.chain(self.refused.iter().map(|refused| (refused, true)));
        let one = |((job, text), refused): (&(String, String), bool)| json!({ "job": job, "text": text, "refused": refused });
        all.map(one).collect()
    }
}

/// Reads an export file. The YAML parser also reads JSON.
fn read(path: &Path) -> Result<(Vec<Importable>, BTreeMap<GroupName, GroupLimits>), Fault> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    let shown = path.display();
    read.map_err(|error| Fault::usage(format!("{shown} cannot be read: {error}")))?;
    let options = serde_saphyr::options! { with_snippet: false };
    let export: Export = serde_saphyr::from_str_with_options(&text, options)
        .map_err(|error| Fault::usage(format!("{shown} is not an export of ejob: {error}")))?;
    let refused = |error| Fault::usage(format!("{shown}: {error}"));
    Ok((export.importable().map_err(refused)?, export.limits().map_err(refused)?))
}
