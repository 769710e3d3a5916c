//! Runs of the job's code, from their first to their last record.

use crate::history::{ExecEvent, Fact, Record};
use crate::replay::Replay;
use crate::replay::nodes::JobIndex;
use crate::replay::trace::Spot;
use crate::slot::Slot;

/// One run of an item's code.
#[derive(Clone, Debug)]
pub(crate) struct Exec<'a> {
    pub(crate) process: &'a str,
    pub(crate) inc: u32,
    pub(crate) job_name: &'a str,
    /// `None` if the registry's log has no such job.
    pub(crate) job: Option<JobIndex>,
    pub(crate) slot: Slot,
    pub(crate) fire: i64,
    pub(crate) token: u64,
    pub(crate) source: &'a str,
    pub(crate) config: u32,
    pub(crate) start: Spot,
    /// Time and result of its end; `None` if its process was killed.
    pub(crate) end: Option<(Spot, &'a str)>,
}

/// Returns the runs in the order in which they began. An end without a begin counts as a run
/// without duration.
pub(super) fn of<'a>(records: &'a [Record], replay: &Replay) -> Vec<Exec<'a>> {
    let mut execs: Vec<Exec<'a>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let Fact::Exec { ev, run, source, cfg, result } = &record.fact else { continue };
        let spot = Spot { record: place, mt: record.mt, zxid: None };
        let result = result.as_deref().unwrap_or("ok");
        if *ev == ExecEvent::End {
            let begun = open.iter().position(|exec| {
                let exec = &execs[*exec];
                (exec.process, exec.inc) == (record.p.as_str(), record.inc)
                    && (exec.job_name, exec.slot) == (run.job.as_str(), Slot::of(run))
                    && (exec.fire, exec.token) == (run.fire, run.token)
            });
            if let Some(begun) = begun {
                execs[open.swap_remove(begun)].end = Some((spot, result));
                continue;
            }
        }
        if *ev == ExecEvent::Start {
            open.push(execs.len());
        }
        execs.push(Exec {
            process: &record.p,
            inc: record.inc,
            job_name: &run.job,
            job: replay.nodes.job_of(&run.job),
            slot: Slot::of(run),
            fire: run.fire,
            token: run.token,
            source,
            config: *cfg,
            start: spot,
            end: (*ev == ExecEvent::End).then_some((spot, result)),
        });
    }
    execs
}
