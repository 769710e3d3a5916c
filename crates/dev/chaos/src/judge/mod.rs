//! The judge: checks that each scheduled fire is explained, and that the runs keep their rules.
//!
//! It shares no code with the product. The cron implementation of `checker` computes the fires,
//! from the configurations that the harness read back.

mod due;
mod explain;
mod runs;

use std::fmt;

use crate::evidence::{Evidence, Fault, JobFacts};
use due::Due;
use explain::{Explanation, Records};
pub use runs::Run;

/// Reach of the neighbourhood of an unexplained fire, in milliseconds before and after it.
const NEIGHBOURHOOD_MS: i64 = 10_000;

/// A row of the table: the numbers of fires of a job by result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The name of the job.
    pub job: String,
    /// True if unexplained fires of the job count as violations.
    pub monitored: bool,
    /// Fires of items that were due or may have been due.
    pub due: usize,
    /// Fires whose script ran.
    pub ran: usize,
    /// Fires that a history explains, for example as missed, in a gap, misfired or interrupted.
    pub recorded: usize,
    /// Fires that may not have been due, because the configuration had just changed.
    pub not_there: usize,
    /// All other fires.
    pub unexplained: usize,
}

/// A fire of an item without an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// The name of the job.
    pub job: String,
    /// The item.
    pub item: u32,
    /// The scheduled fire time.
    pub fire_ms: i64,
}

/// The verdict on a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// A row for each job.
    pub tallies: Vec<Tally>,
    /// The fires of monitored jobs without an explanation.
    pub unexplained: Vec<Unexplained>,
    /// Broken promises, each as a sentence.
    pub violations: Vec<String>,
    /// Runs of one item that overlapped after a fault that allows it.
    pub overlaps: usize,
    /// The longest of these overlaps, in milliseconds.
    pub longest_overlap_ms: i64,
}

impl Judgement {
    /// Returns true if every fire is explained and no promise is broken.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.unexplained.is_empty() && self.violations.is_empty()
    }
}

/// Judges a run.
///
/// # Errors
/// Returns a text if the evidence cannot be judged: an invalid cron expression, a job without a
/// configuration, or a job without due fires.
pub fn judge(evidence: &Evidence) -> Result<Judgement, String> {
    let mut judgement =
        Judgement { violations: evidence.incidents.clone(), ..Judgement::default() };
    let runs = runs::of_lines(&evidence.lines);
    let records = Records::new(evidence, &runs);
    for job in &evidence.jobs {
        let tally = tally(evidence, job, &records, &mut judgement.unexplained)?;
        judgement.tallies.push(tally);
    }
    runs::check(evidence, &runs, &mut judgement);
    Ok(judgement)
}

fn tally<'a>(
    evidence: &Evidence,
    job: &'a JobFacts,
    records: &Records<'a>,
    unexplained: &mut Vec<Unexplained>,
) -> Result<Tally, String> {
    let mut tally = Tally { job: job.name.clone(), monitored: job.monitored, ..Tally::default() };
    for Due { item, fire_ms, is_certain } in due::fires(job, evidence.first_ms, evidence.last_ms)? {
        tally.due += 1;
        match records.explain(job, item, fire_ms) {
            Some(Explanation::Ran) => tally.ran += 1,
            Some(Explanation::Recorded) => tally.recorded += 1,
            None if !is_certain => tally.not_there += 1,
            None => {
                tally.unexplained += 1;
                if job.monitored {
                    unexplained.push(Unexplained { job: job.name.clone(), item, fire_ms });
                }
            }
        }
    }
    if tally.due == 0 {
        return Err(format!(
            "no fire of job {} was due, so that there is nothing to judge",
            job.name
        ));
    }
    Ok(tally)
}

/// Unexplained fires of one item that are close to each other, in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name of the job.
    pub job: String,
    /// The item.
    pub item: u32,
    /// The scheduled fire times; at least one.
    pub fires_ms: Vec<i64>,
}

impl Judgement {
    /// Groups the unexplained fires of each item that share a neighbourhood.
    #[must_use]
    pub fn groups(&self) -> Vec<Group> {
        let mut fires: Vec<&Unexplained> = self.unexplained.iter().collect();
        fires.sort_by_key(|fire| (&fire.job, fire.item, fire.fire_ms));
        let mut groups: Vec<Group> = Vec::new();
        for Unexplained { job, item, fire_ms } in fires {
            let near = groups.last_mut().filter(|group| {
                let last_ms = group.fires_ms.last().copied().unwrap_or(i64::MIN);
                group.job == *job
                    && group.item == *item
                    && fire_ms.saturating_sub(last_ms) <= NEIGHBOURHOOD_MS
            });
            match near {
                Some(group) => group.fires_ms.push(*fire_ms),
                None => {
                    let fires_ms = vec![*fire_ms];
                    groups.push(Group { job: job.clone(), item: *item, fires_ms });
                }
            }
        }
        groups
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fires: Vec<String> = self.fires_ms.iter().map(|ms| clock(*ms)).collect();
        write!(f, "{} item {}: {}", self.job, self.item, fires.join(", "))
    }
}

/// The rows, lines, events and faults around unexplained fires, in order of time.
pub struct Neighbourhood<'a> {
    /// All facts of the run.
    pub evidence: &'a Evidence,
    /// The unexplained fires.
    pub group: &'a Group,
}

impl fmt::Debug for Neighbourhood<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Neighbourhood").field("group", &self.group).finish_non_exhaustive()
    }
}

impl fmt::Display for Neighbourhood<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Group { job, item, fires_ms } = self.group;
        let (Some(first), Some(last)) = (fires_ms.first(), fires_ms.last()) else { return Ok(()) };
        let (from_ms, until_ms) = (first - NEIGHBOURHOOD_MS, last + NEIGHBOURHOOD_MS);
        let is_near = |ms: i64| (from_ms..=until_ms).contains(&ms);
        writeln!(f, "{}", self.group)?;
        let is_item = |of: &str, which: u32| of == job && which == *item;
        let mut found: Vec<(i64, String)> = Vec::new();
        for row in &self.evidence.rows {
            if is_item(&row.job, row.item) && is_near(row.fire_ms) {
                let reason = row.reason.as_deref().unwrap_or_default();
                let gap = row.gap_until_ms.map(clock);
                let gap = gap.map_or_else(String::new, |until| format!(", gap until {until}"));
                found.push((
                    row.fire_ms,
                    format!(
                        "row of {}: {} {} token {:?} by {}{gap} {reason}",
                        row.worker,
                        row.outcome,
                        row.source.as_deref().unwrap_or("-"),
                        row.token,
                        row.instance.as_deref().unwrap_or("-"),
                    ),
                ));
            }
        }
        for line in &self.evidence.lines {
            if is_item(&line.job, line.item) && is_near(line.at_ms) {
                found.push((
                    line.at_ms,
                    format!(
                        "script {:?}: fire {} {} token {} by {}",
                        line.phase,
                        clock(line.fire_ms),
                        line.source,
                        line.token,
                        line.instance
                    ),
                ));
            }
        }
        for event in &self.evidence.events {
            let concerns = event.job == *job && event.item.is_none_or(|which| which == *item);
            if concerns && is_near(event.at_ms) {
                let instance = event.instance.as_deref().unwrap_or("-");
                found.push((event.at_ms, format!("event of {instance}: {}", event.text)));
            }
        }
        for fault in &self.evidence.faults {
            if fault.from_ms <= until_ms && fault.until_ms >= from_ms {
                let Fault { kind, target, .. } = fault;
                let seconds = (fault.until_ms - fault.from_ms) as f64 / 1_000.0;
                found.push((fault.from_ms, format!("fault: {kind} {target}, for {seconds:.1} s")));
            }
        }
        found.sort();
        found.iter().try_for_each(|(at, text)| writeln!(f, "  {} {text}", clock(*at)))
    }
}

/// Returns the time of day in UTC with milliseconds.
pub(crate) fn clock(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    time.strftime("%H:%M:%S%.3f").to_string()
}
