//! `doctor`: what is left over, stuck, damaged or mixed up, and mending it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use coordination::JobName;
use jiff::Timestamp;
use operations::{By, Finding, Namespace, Operations, Report, Severity, diagnose_all};
use serde_json::json;

use super::report;
use crate::context::{Context, Signed};
use crate::fault::{Exit, Fault};
use crate::output::{Page, counted};
use crate::text::{duration, job_name, one_line};

/// A ghost of an instance takes two fixes, one after the other.
const PASSES: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Which job [default: all]
    #[arg(value_parser = job_name)]
    job: Option<JobName>,
    /// Look twice, so far apart: what has not moved is told as stuck
    #[arg(long, value_name = "TIME", value_parser = duration)]
    twice: Option<Duration>,
    /// Leave out what is less than this
    #[arg(long, value_name = "SEVERITY", default_value = "info")]
    least: Least,
    /// Show what would mend the findings; nothing is done without --apply
    #[arg(long)]
    fix: bool,
    /// Mend them
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
    /// Returns the only job to examine; `None` for all.
    pub(crate) fn job(&self) -> Option<&JobName> {
        self.job.as_ref()
    }

    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let by = match self.apply {
            true => Some(self.signed.by_with_reason("doctor --fix --apply")?),
            false => None,
        };
        let operations = cx.operations().await?;
        let (mut findings, mut examined) = self.examine(cx, &operations).await?;
        let Some(by) = by else { return Ok(self.page(&findings, examined, None)) };
        let mut mended = Report::default();
        // What comes to light by mending was not shown before.
        let shown: Vec<Finding> = findings.iter().filter(|f| f.fix.is_some()).cloned().collect();
        for _ in 0..PASSES {
            let is_meant = |f: &&Finding| f.fix.is_some() && shown.iter().any(|s| is_same(s, f));
            let meant: Vec<&Finding> = findings.iter().filter(is_meant).collect();
            if meant.is_empty() {
                break;
            }
            let report = mend(cx, &operations, &meant, &by).await;
            let goes_on = report.has_changed() && report.failed.is_empty();
            let answers = !report.causes.iter().any(operations::Error::is_unanswered);
            mended.extend(report);
            if answers {
                match self.read(&operations).await {
                    Ok(now) => (findings, examined) = (now.findings(None, &self), now.examined()),
                    Err(error) => mended.fail("all", "what is left", error),
                }
            }
            if !goes_on {
                break;
            }
        }
        Ok(self.page(&findings, examined, Some(&mended)))
    }

    async fn examine(
        &self,
        cx: &Context<'_>,
        operations: &Operations,
    ) -> Result<(Vec<Finding>, Examined), Fault> {
        let mut earlier = None;
        if let Some(apart) = self.twice {
            earlier = Some(self.examine_once(operations).await?);
            let waiting = cx.waiting(format!("looking again in {apart:?}"));
            tokio::time::sleep(apart).await;
            waiting.finish_and_clear();
        }
        let now = self.examine_once(operations).await?;
        Ok((now.findings(earlier.as_ref(), self), now.examined()))
    }

    async fn examine_once(&self, operations: &Operations) -> Result<Reading, Fault> {
        Ok(self.read(operations).await?)
    }

    async fn read(&self, operations: &Operations) -> operations::Result<Reading> {
        let namespace = match &self.job {
            None => operations.namespace().await?,
            Some(job) => {
                Namespace { jobs: vec![operations.job(job).await?], ..Namespace::default() }
            }
        };
        // Only a repair may write, and asking for the registry's time is a write.
        let now = if self.apply {
            let configured = namespace.jobs.iter().find(|job| job.has_config());
            operations.registry_now(configured).await
        } else {
            operations.present()
        };
        Ok(Reading { namespace, now })
    }

    fn page(&self, findings: &[Finding], examined: Examined, mended: Option<&Report>) -> Page {
        let Examined { jobs, unread } = examined;
        let has_errors = findings.iter().any(|finding| finding.severity == Severity::Error);
        let mut text = mended.map(report::text).unwrap_or_default();
        let mending = mended.map_or(Exit::Done, report::exit);
        let is_over = matches!(mending, Exit::Unknown | Exit::Unreachable);
        if mended.is_some() && !findings.is_empty() {
            text.push_str(if is_over { "as it was found before:\n" } else { "what is left:\n" });
        }
        findings.iter().for_each(|finding| text.push_str(&self.line(finding)));
        text.push_str(&summary(findings, jobs));
        if self.fix && !self.apply && findings.iter().any(|finding| finding.fix.is_some()) {
            text.push_str("nothing was done; to mend it, repeat with --apply --why TEXT\n");
        }
        let document = json!({ "findings": findings, "mended": mended });
        // Nothing is known of what could not be read, whatever is left out of the list of findings.
        let failed = unread > 0 || mended.is_some_and(|mended| !mended.failed.is_empty());
        Page::new(text, &document).ending(match (is_over, has_errors, failed) {
            (true, ..) => mending,
            (false, true, _) => Exit::Findings,
            (false, false, true) => Exit::Partly,
            (false, false, false) => Exit::Done,
        })
    }

    /// One line for each finding; its fix follows on lines of their own if it was asked for.
    fn line(&self, finding: &Finding) -> String {
        let fault = finding.fault.map(|fault| format!(" ({fault})")).unwrap_or_default();
        let at = finding.node.as_deref().unwrap_or(&finding.job);
        let Finding { severity, code, text, .. } = finding;
        let mut line = one_line(&format!("{severity} {code}{fault} {at}: {text}")) + "\n";
        match (&finding.fix, self.fix) {
            (Some(fix), true) => {
                for step in fix.steps() {
                    line.push_str(&format!("    fix: {}\n", one_line(&step.to_string())));
                }
            }
            (Some(_), false) => line.insert_str(line.len() - 1, " [can be fixed: --fix]"),
            (None, _) => {}
        }
        line
    }
}

/// Returns true if both are the same thing that is wrong at the same place, perhaps with another fix by now.
fn is_same(a: &Finding, b: &Finding) -> bool {
    (&a.job, a.code, &a.node) == (&b.job, b.code, &b.node)
}

/// Mends findings one by one. One that cannot be mended does not keep the others from it, unless the registry does not
/// answer.
async fn mend(cx: &Context<'_>, operations: &Operations, findings: &[&Finding], by: &By) -> Report {
    let bar = cx.progress(findings.len(), "mending");
    let mut mended = Report::default();
    for finding in findings {
        let target = finding.code.to_string();
        if mended.causes.iter().any(operations::Error::is_unanswered) {
            mended.skip(&finding.job, &target);
            continue;
        }
        match operations.fix(finding, by).await {
            Ok(report) => mended.extend(report),
            Err(error) => mended.fail(&finding.job, &target, error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    mended
}

/// How many jobs there are, and how many of them could not be read.
#[derive(Clone, Copy)]
struct Examined {
    jobs: usize,
    unread: usize,
}

/// What was read at one time, by the registry's clock if it has one.
struct Reading {
    namespace: Namespace,
    now: Timestamp,
}

impl Reading {
    fn examined(&self) -> Examined {
        let (read, unread) = (self.namespace.jobs.len(), self.namespace.unread.len());
        Examined { jobs: read + unread, unread }
    }

    fn findings(&self, earlier: Option<&Self>, given: &DoctorArguments) -> Vec<Finding> {
        let earlier = earlier.map(|earlier| &earlier.namespace);
        let all = diagnose_all(&self.namespace, earlier, self.now);
        all.into_iter().filter(|finding| finding.severity >= given.least.severity()).collect()
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
    fn a_diagnosis_that_could_not_read_a_job_is_not_a_clean_one() {
        let given = Line::parse_from(["doctor", "--least", "error"]).given;
        for (unread, expected) in [(0, Exit::Done), (1, Exit::Partly)] {
            let page = given.page(&[], Examined { jobs: 2, unread }, None);
            assert_eq!(page.exit, expected, "{unread} of 2 jobs could not be read");
        }
    }
}
