//! `doctor`: finds leftovers, stuck, damaged and mixed state, and fixes it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use coordination::JobName;
use jiff::Timestamp;
use operations::{
    By, Finding, GroupSnapshot, JobSnapshot, Namespace, Operations, Report, Severity, diagnose_all,
    diagnose_groups,
};
use serde_json::json;

use super::report;
use crate::context::{Context, Signed};
use crate::fault::{Exit, Fault};
use crate::output::{Page, Text, counted};
use crate::text::{duration, job_name, one_line};
use crate::waiting;

/// Number of repair passes: a leftover instance node takes two fixes, one after the other.
const PASSES: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Name of the job [default: all]
    #[arg(value_parser = job_name)]
    job: Option<JobName>,
    /// Examine twice, this far apart: faults found both times are reported as stuck
    #[arg(long, value_name = "TIME", value_parser = duration)]
    twice: Option<Duration>,
    /// Lowest severity to show
    #[arg(long, value_name = "SEVERITY", default_value = "info")]
    least: Least,
    /// Show how to fix the findings; nothing is changed without --apply
    #[arg(long)]
    fix: bool,
    /// Apply the fixes
    #[arg(long, requires = "fix")]
    apply: bool,
    #[command(flatten)]
    signed: Signed,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Least {
    Info,
    Warning,
    Error,
}

impl Least {
    fn severity(self) -> Severity {
        match self {
            Self::Info => Severity::Info,
            Self::Warning => Severity::Warning,
            Self::Error => Severity::Error,
        }
    }
}

impl DoctorArguments {
    /// Returns the job to examine, or `None` for all.
    pub(crate) fn job(&self) -> Option<&JobName> {
        self.job.as_ref()
    }

    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = if self.apply {
            Some(self.signed.by_with_reason("doctor --fix --apply")?)
        } else {
            None
        };
        let operations = cx.operations().await?;
        let (mut findings, mut examined) = self.examine(&operations).await?;
        let Some(by) = by else {
            let mut page = self.page(&findings, examined, None);
            if let Some(context) = cx.connect().context_line().filter(|_| self.fix) {
                page.text = Text::from(context).followed_by(page.text);
            }
            return Ok(page);
        };
        let mut fixed = Report::default();
        // Fixes can bring new findings to light; they were not shown, so they are not fixed.
        let shown: Vec<Finding> = findings.iter().filter(|f| f.fix.is_some()).cloned().collect();
        for _ in 0..PASSES {
            let is_meant = |f: &&Finding| f.fix.is_some() && shown.iter().any(|s| is_same(s, f));
            let meant: Vec<&Finding> = findings.iter().filter(is_meant).collect();
            if meant.is_empty() {
                break;
            }
            let report = apply_fixes(cx, &operations, &meant, &by).await;
            let goes_on = report.has_changed() && report.failed.is_empty();
            let answers = !report.is_unanswered();
            fixed.extend(report);
            if answers {
                match self.read(&operations).await {
                    Ok(now) => (findings, examined) = (now.findings(None, &self), now.examined()),
                    Err(error) => fixed.fail("all", "remaining findings", error),
                }
            }
            if !goes_on {
                break;
            }
        }
        Ok(self.page(&findings, examined, Some(&fixed)))
    }

    async fn examine(&self, operations: &Operations) -> Result<(Vec<Finding>, Examined), Fault> {
        let mut earlier = None;
        if let Some(apart) = self.twice {
            earlier = Some(self.examine_once(operations).await?);
            let what = format!("examining again after {apart:?}");
            waiting::shown(&what, tokio::time::sleep(apart)).await;
        }
        let now = self.examine_once(operations).await?;
        Ok((now.findings(earlier.as_ref(), self), now.examined()))
    }

    async fn examine_once(&self, operations: &Operations) -> Result<Reading, Fault> {
        Ok(self.read(operations).await?)
    }

    async fn read(&self, operations: &Operations) -> operations::Result<Reading> {
        // The groups come first: a permit that is taken later is then no finding.
        let groups = operations.groups().await?;
        let namespace = match &self.job {
            None => operations.namespace().await?,
            Some(job) => {
                Namespace { jobs: vec![operations.job(job).await?], ..Namespace::default() }
            }
        };
        // Reading the registry's time is a write, which only a repair may make.
        let now = if self.apply {
            let configured = namespace.jobs.iter().find(|job| job.has_config());
            operations.registry_now(configured).await
        } else {
            operations.present()
        };
        Ok(Reading { namespace, groups, now })
    }

    fn page(&self, findings: &[Finding], examined: Examined, fixed: Option<&Report>) -> Page {
        let Examined { jobs, unread } = examined;
        let has_errors = findings.iter().any(|finding| finding.severity == Severity::Error);
        let mut text = Text::from(fixed.map(report::text).unwrap_or_default());
        let fix_exit = fixed.map_or(Exit::Done, report::exit);
        let is_over = matches!(fix_exit, Exit::Unknown | Exit::Unreachable);
        if fixed.is_some() && !findings.is_empty() {
            text.push_str(if is_over {
                "findings before the fixes:\n"
            } else {
                "remaining findings:\n"
            });
        }
        findings.iter().for_each(|finding| self.push(&mut text, finding));
        text.push_str(&summary(findings, jobs));
        if self.fix && !self.apply && findings.iter().any(|finding| finding.fix.is_some()) {
            text.push_str(
                "nothing was changed; to apply the fixes, repeat with --apply --why TEXT\n",
            );
        }
        let document = json!({ "findings": findings, "mended": fixed });
        // A job that could not be read may have any fault, so the diagnosis is not clean.
        let failed = unread > 0 || fixed.is_some_and(|fixed| !fixed.failed.is_empty());
        let exit = if is_over {
            fix_exit
        } else if has_errors {
            Exit::Findings
        } else if failed {
            Exit::Partly
        } else {
            Exit::Done
        };
        Page::new(text, &document).ending(exit)
    }

    /// Adds one line for a finding, and with `--fix` one for each step of its fix.
    fn push(&self, text: &mut Text, finding: &Finding) {
        let fault = finding.fault.map(|fault| format!(" ({fault})")).unwrap_or_default();
        let at = finding.node.as_deref().unwrap_or(&finding.job);
        let Finding { severity, code, text: what, fix, .. } = finding;
        let hint = if fix.is_some() && !self.fix { " [can be fixed: --fix]" } else { "" };
        let line = one_line(&format!("{severity} {code}{fault} {at}: {what}"));
        text.push_state(&format!("{line}{hint}"));
        for step in fix.iter().filter(|_| self.fix).flat_map(|fix| fix.steps()) {
            text.push_str(&format!("    fix: {}\n", one_line(&step.to_string())));
        }
    }
}

/// Returns true if two findings are the same fault at the same node, perhaps with another fix.
fn is_same(a: &Finding, b: &Finding) -> bool {
    (&a.job, a.code, &a.node) == (&b.job, b.code, &b.node)
}

/// Fixes findings one by one.
///
/// A fix that fails does not stop the others. If the registry does not answer, the remaining
/// fixes are skipped.
async fn apply_fixes(
    cx: &Context<'_>,
    operations: &Operations,
    findings: &[&Finding],
    by: &By,
) -> Report {
    let bar = cx.progress(findings.len(), "fixing");
    let mut fixed = Report::default();
    for finding in findings {
        let target = finding.code.to_string();
        if fixed.is_unanswered() {
            fixed.skip(&finding.job, &target);
            continue;
        }
        match operations.fix(finding, by).await {
            Ok(report) => fixed.extend(report),
            Err(error) => fixed.fail(&finding.job, &target, error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    fixed
}

/// Number of jobs, and number of jobs that could not be read.
#[derive(Clone, Copy)]
struct Examined {
    jobs: usize,
    unread: usize,
}

/// Jobs as read at one time, which is the registry's time if it is known.
struct Reading {
    namespace: Namespace,
    groups: Vec<GroupSnapshot>,
    now: Timestamp,
}

impl Reading {
    fn examined(&self) -> Examined {
        let (read, unread) = (self.namespace.jobs.len(), self.namespace.unread.len());
        Examined { jobs: read + unread, unread }
    }

    fn findings(&self, earlier: Option<&Self>, given: &DoctorArguments) -> Vec<Finding> {
        let before = earlier.map(|earlier| &earlier.namespace);
        let of_jobs = diagnose_all(&self.namespace, before, self.now);
        let all = of_jobs.into_iter().chain(self.findings_of_groups(earlier, given));
        all.filter(|finding| finding.severity >= given.least.severity()).collect()
    }

    /// Returns the findings about groups, for one job those about its nodes and its group's limits.
    fn findings_of_groups(&self, earlier: Option<&Self>, given: &DoctorArguments) -> Vec<Finding> {
        let before = earlier.map(|earlier| (&*earlier.groups, &earlier.namespace));
        let mut findings = diagnose_groups(&self.groups, &self.namespace, before);
        if let Some(job) = &given.job {
            let group = self.namespace.job(job).and_then(JobSnapshot::group);
            findings.retain(|finding| finding.concerns(job, group));
        }
        findings
    }
}

fn summary(findings: &[Finding], jobs: usize) -> String {
    let n = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let found = [
        (n(Severity::Error), "error"),
        (n(Severity::Warning), "warning"),
        (n(Severity::Info), "remark"),
    ];
    let found: Vec<String> =
        found.iter().filter(|(n, _)| *n > 0).map(|(n, what)| counted(*n, what)).collect();
    let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
    format!("found in {}: {found}\n", counted(jobs, "job"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        given: DoctorArguments,
    }

    #[test]
    fn unreadable_job_makes_a_diagnosis_partial() {
        let given = Line::parse_from(["doctor", "--least", "error"]).given;
        for (unread, expected) in [(0, Exit::Done), (1, Exit::Partly)] {
            let page = given.page(&[], Examined { jobs: 2, unread }, None);
            assert_eq!(page.exit, expected, "{unread} of 2 jobs could not be read");
        }
    }
}
