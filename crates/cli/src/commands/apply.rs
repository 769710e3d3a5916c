//! `apply`: makes a namespace have the jobs and the limits of groups that the files of a folder
//! declare.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use coordination::{GroupLimits, GroupName, JobConfig};
use jiff::Timestamp;
use job_types::{JobFile, declared_configs, declared_groups};
use operations::{ApplyPlan, JobSnapshot, Owner, plan_apply};
use serde_json::json;
use sharding::StrategyRegistry;

use super::history::StoreArguments;
use super::removal_history::RemovalHistory;
use super::report;
use super::worker::file_fault;
use crate::context::{Context, Signed};
use crate::fault::{Exit, Fault};
use crate::output::{Page, counted};
use crate::text::one_line;
use crate::waiting;

/// Maximum number of files in a folder.
const MAX_FILES: usize = 1_000;
/// Extensions of the files that are read.
const EXTENSIONS: [&str; 3] = ["toml", "yaml", "yml"];

#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    /// Folder with job files, as `ejob worker` reads them: all *.toml, *.yaml and *.yml in it
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Remove the jobs that an earlier apply of the same owner created and no file declares
    #[arg(long)]
    prune: bool,
    /// Show the differences and change nothing; exit code 1 if there are any
    #[arg(long)]
    dry_run: bool,
    /// Name of this set of files, stored with the jobs that it creates
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = Owner::parse)]
    owner: Owner,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    signed: Signed,
}

impl ApplyArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let (declared, limits) = declared(&self.folder)?;
        let by = match (self.dry_run, self.prune) {
            (true, _) => None,
            (false, true) => Some(self.signed.by_with_reason("apply")?),
            (false, false) => Some(self.signed.by("apply")?),
        };
        let (operations, present) = cx.to_change(by.is_none()).await?;
        let strategies = StrategyRegistry::default();
        let now = Timestamp::now();
        let groups = match &operations {
            Some(operations) if !limits.is_empty() => operations.groups().await?,
            Some(_) | None => Vec::new(),
        };
        let plan = plan_apply(&declared, &present, &self.owner, self.prune, &strategies, now);
        let plan = plan.with_limits(&limits, &groups);
        let (Some(operations), Some(by)) = (&operations, by) else {
            return Ok(dry_run(cx, &plan));
        };
        let is_removed = |job: &&JobSnapshot| {
            plan.removals.iter().any(|removal| removal.job == job.job().as_str())
        };
        let store = if plan.removals.is_empty() { None } else { self.store.options()? };
        let removed = present.jobs.iter().filter(is_removed);
        let history = RemovalHistory::before_removal_of(removed, store).await;
        let what = format!("applying {}", self.folder.display());
        let report = Box::pin(waiting::shown(&what, operations.apply(&plan, &by))).await;
        let unread = unread(&plan);
        let exit = report::exit(&report);
        let is_less = exit == Exit::Done && !plan.unread.is_empty();
        let exit = if is_less { Exit::Partly } else { exit };
        let document = json!({ "plan": plan, "report": report });
        let page = Page::new(report::text(&report) + &unread, &document).ending(exit);
        Ok(history.after(&report, page).await)
    }
}

fn dry_run(cx: &Context<'_>, plan: &ApplyPlan) -> Page {
    let mut text = cx.connect().context_line().unwrap_or_default();
    for step in &plan.steps {
        text.push_str(&(one_line(&format!("would {step}")) + "\n"));
    }
    for removal in &plan.removals {
        let nodes = counted(removal.nodes, "node");
        let alive = match removal.instances.len() {
            0 => String::new(),
            n => format!("; refused while {} are alive", counted(n, "instance")),
        };
        text.push_str(&(one_line(&format!("would remove {}: {nodes}{alive}", removal.job)) + "\n"));
    }
    text.push_str(&unread(plan));
    text.push_str("nothing was changed\n");
    let differs = plan.has_changes() || plan.is_partial();
    let exit = if differs { Exit::Partly } else { Exit::Done };
    Page::new(text, &json!({ "plan": plan, "report": null })).ending(exit)
}

/// Returns one line for each job that could not be read, and so was not compared with the files.
fn unread(plan: &ApplyPlan) -> String {
    let line = |(job, why): &(String, String)| one_line(&format!("not read: {job}: {why}")) + "\n";
    plan.unread.iter().map(line).collect()
}

/// Reads the jobs that the files of a folder declare, in the order of the names of the files, and
/// the limits of groups. The mistakes of all files are one fault.
fn declared(folder: &Path) -> Result<(Vec<JobConfig>, BTreeMap<GroupName, GroupLimits>), Fault> {
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    for path in files(folder)? {
        match JobFile::read(&path) {
            Ok(file) => read.push((path.display().to_string(), file)),
            Err(error) => faults.push(file_fault(&path, &error)),
        }
    }
    let mut faults = faults.into_iter();
    match faults.next() {
        None => {
            let configs =
                declared_configs(&read).map_err(|error| Fault::usage(error.to_string()))?;
            let limits = declared_groups(&read).map_err(|error| Fault::usage(error.to_string()))?;
            Ok((configs, limits))
        }
        Some(first) => Err(first.and(faults)),
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let shown = folder.display();
    let fault = |error: std::io::Error| {
        Fault::usage(format!("{shown} cannot be read: {error}; valid is a folder with job files"))
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_file() && extension.is_some_and(|of| EXTENSIONS.contains(&of)) {
            files.push(path);
        }
    }
    if files.is_empty() || files.len() > MAX_FILES {
        return Err(Fault::usage(format!(
            "{shown} has {} files of jobs; valid is 1 to {MAX_FILES} files *.toml, *.yaml or *.yml",
            files.len()
        )));
    }
    files.sort();
    Ok(files)
}
