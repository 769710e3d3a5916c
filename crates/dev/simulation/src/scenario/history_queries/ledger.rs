//! Ledger records of the items, from the registry's log. They are decoded here anew, because the
//! judge must not rely on the product's code.

use checker::history::{Fact, RegOp};
use serde::Deserialize;

use super::{JOB, Seen};

/// The fields of an item's record that scenarios need.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct LedgerSeen {
    pub(crate) state: String,
    #[serde(default)]
    pub(crate) holder: Option<String>,
    #[serde(default)]
    pub(crate) fire: Option<i64>,
    #[serde(default)]
    pub(crate) source: Option<String>,
    #[serde(default)]
    pub(crate) merged: Option<RangeSeen>,
    pub(crate) token: u64,
    #[serde(default)]
    pub(crate) last: Option<i64>,
    #[serde(default)]
    pub(crate) next: Option<i64>,
    #[serde(default)]
    pub(crate) misfire: Option<NotedSeen>,
    #[serde(default)]
    pub(crate) gaps: Vec<GapSeen>,
    #[serde(default)]
    pub(crate) outcome: Option<String>,
    #[serde(default)]
    pub(crate) cancel: Option<CancelSeen>,
    #[serde(default)]
    pub(crate) permit: Option<u32>,
    #[serde(default)]
    pub(crate) past_fire: Option<i64>,
    #[serde(default)]
    pub(crate) backfilled: Option<Backfilled>,
}

/// The last past fire that an item got, and the backfill that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Backfilled {
    pub(crate) id: String,
    pub(crate) fire: i64,
}

/// A request to cancel the run of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct CancelSeen {
    pub(crate) token: u64,
}

/// Fires that were not run: first (inclusive) and end (exclusive).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct GapSeen {
    pub(crate) first: i64,
    pub(crate) until: i64,
}

/// Fires that were merged into one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct RangeSeen {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) count: u32,
}

/// Fires that wait for one run, or for a run each if `each` names them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct NotedSeen {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) count: u32,
    #[serde(default)]
    pub(crate) each: Vec<i64>,
}

/// A committed change of the record of an item, or of a further slot.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) mt: u64,
    pub(crate) zxid: i64,
    pub(crate) sid: i64,
    pub(crate) item: u32,
    /// Number of the slot; 0 for the record of the item itself.
    pub(crate) slot: u32,
    pub(crate) before: Option<LedgerSeen>,
    pub(crate) after: LedgerSeen,
}

/// The fires of a claim: one, or several that were merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) count: u32,
    pub(crate) token: u64,
    pub(crate) is_misfire: bool,
    /// The next fire by the schedule, if the claim states it. The checker compares it with the
    /// schedule.
    pub(crate) next: Option<i64>,
    /// First fire of the gap before this claim, if the record has one.
    pub(crate) gap_from: Option<i64>,
}

/// A run that a process held at some moment, with the later changes of its record.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    pub(crate) item: u32,
    pub(crate) fire: i64,
    pub(crate) token: u64,
    /// Later changes of the record, in order: orphaned, taken over, completed …
    pub(crate) then: Vec<Change>,
}

impl LedgerSeen {
    pub(crate) fn is_running(&self) -> bool {
        self.state == "running"
    }

    pub(crate) fn is_orphan(&self) -> bool {
        self.state == "orphan"
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state == "idle"
    }

    /// Returns true if the cancellation of its run is requested, or the run ended by the request.
    pub(crate) fn has_cancel_request(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.token == self.token)
    }

    /// Returns the queued fires, ascending.
    pub(crate) fn queued(&self) -> &[i64] {
        self.misfire.as_ref().map_or(&[], |noted| &noted.each)
    }

    pub(crate) fn has_source(&self, source: &str) -> bool {
        self.source.as_deref() == Some(source)
    }
}

impl Change {
    /// Returns true if an instance begins to run the item with this write.
    pub(crate) fn is_claim(&self) -> bool {
        self.after.is_running()
            && self.before.as_ref().is_none_or(|before| before.token < self.after.token)
    }

    /// Returns the former holder if this write orphans a run, releases it unfinished, or takes it
    /// over.
    pub(crate) fn former_holder(&self) -> Option<&str> {
        let before = self.before.as_ref().filter(|before| before.is_running())?;
        let lost = self.after.is_orphan() || self.is_claim();
        before.holder.as_deref().filter(|_| lost)
    }

    /// Returns true if this write completes a run or ends it as interrupted.
    pub(crate) fn is_end(&self) -> bool {
        self.after.is_idle()
            && self.before.as_ref().is_some_and(|before| before.is_running() || before.is_orphan())
    }

    fn is_of(&self, other: &Self) -> bool {
        (self.item, self.slot) == (other.item, other.slot)
    }

    /// Returns the fires of a scheduled claim. `gaps` are those of all records until then, and
    /// `next` is the next fire of the item by the schedule.
    fn account(&self, gaps: &[GapSeen], next: Option<i64>) -> Option<Account> {
        let fire = self.after.fire?;
        let is_first = self.after.has_source("NORMAL") || self.after.has_source("MISFIRE");
        if !self.is_claim() || !is_first {
            return None;
        }
        let range = self.after.merged.unwrap_or(RangeSeen { first: fire, last: fire, count: 1 });
        // The gap before noted fires was recorded with the first noted fire. The note of a further
        // fire may have removed it, because its instance had reported it.
        let gap = gaps.iter().find(|gap| gap.until == range.first);
        Some(Account {
            first: range.first,
            last: range.last,
            count: range.count,
            token: self.after.token,
            // Beside a queue, the record has the fire that follows the last queued one.
            next: next.filter(|next| *next > range.last && self.after.queued().is_empty()),
            is_misfire: self.after.has_source("MISFIRE"),
            gap_from: gap.map(|gap| gap.first),
        })
    }
}

impl Seen<'_> {
    /// Returns all changes of ledger records in the order of the registry. Unreadable records are
    /// left out, because the checker reports them.
    pub(crate) fn ledger(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        for record in self.records() {
            let Fact::Reg { zxid, sid, ops } = &record.fact else { continue };
            for op in ops {
                let Some((item, slot, after)) = ledger_write(op) else { continue };
                let (mt, zxid, sid) = (record.mt, *zxid, *sid);
                let change = Change { mt, zxid, sid, item, slot, before: None, after };
                let before = changes.iter().rev().find(|earlier| earlier.is_of(&change));
                let before = before.map(|earlier| earlier.after.clone());
                changes.push(Change { before, ..change });
            }
        }
        changes
    }

    /// Returns the changes of one item's record.
    pub(crate) fn ledger_of(&self, item: u32) -> Vec<Change> {
        self.ledger().into_iter().filter(|it| it.item == item && it.slot == 0).collect()
    }

    /// Returns the fires of the scheduled claims of an item in all of its slots, in order.
    pub(crate) fn accounts(&self, item: u32) -> Vec<Account> {
        let (mut gaps, mut next, mut accounts) = (Vec::new(), None, Vec::new());
        for change in self.ledger().into_iter().filter(|change| change.item == item) {
            gaps.extend(change.after.gaps.iter().copied());
            // A claim in a further slot writes the record of the item first.
            if change.slot == 0 {
                next = change.after.next;
            }
            accounts.extend(change.account(&gaps, next));
        }
        accounts
    }

    /// Returns the runs that a process held at this moment, with the later changes of their
    /// records. It considers all instances of the process until then, whether their sessions have
    /// ended or not.
    pub(crate) fn held_at(&self, p: &str, mt: u64) -> Vec<Lost> {
        let changes = self.ledger();
        let mut lost = Vec::new();
        for (place, change) in changes.iter().enumerate().take_while(|(_, change)| change.mt <= mt)
        {
            let later = || changes.iter().skip(place + 1).filter(|later| later.is_of(change));
            let is_last = later().next().is_none_or(|next| next.mt > mt);
            let holder = change.after.holder.as_deref();
            let holder = holder.filter(|_| is_last && change.after.is_running());
            let is_of_process = holder.is_some_and(|id| self.process_of(id) == Some(p));
            if let Some(fire) = change.after.fire.filter(|_| is_of_process) {
                let (item, token) = (change.item, change.after.token);
                lost.push(Lost { item, fire, token, then: later().cloned().collect() });
            }
        }
        lost
    }
}

impl Lost {
    /// Returns the change that orphaned the run or took it over.
    pub(crate) fn orphaned_by(&self) -> Option<&Change> {
        let of_run =
            |change: &&Change| change.before.as_ref().is_some_and(|b| b.token == self.token);
        self.then.iter().filter(of_run).find(|change| change.former_holder().is_some())
    }

    /// Returns the claims by failover of the same fire.
    pub(crate) fn takeovers(&self) -> impl Iterator<Item = &Change> {
        self.then.iter().filter(|change| {
            change.is_claim()
                && change.after.has_source("FAILOVER")
                && change.after.fire == Some(self.fire)
        })
    }

    /// Returns true if the holder itself had already sent the end of the run.
    pub(crate) fn has_ended_itself(&self) -> bool {
        self.then.first().is_some_and(|next| next.is_end() && next.after.token == self.token)
    }

    /// Returns the change that completed the run.
    pub(crate) fn completed_by(&self) -> Option<&Change> {
        self.then.iter().find(|change| change.is_end())
    }
}

/// Returns the item, the slot and the record that an operation writes.
fn ledger_write(op: &RegOp) -> Option<(u32, u32, LedgerSeen)> {
    let (path, data) = match op {
        RegOp::Create { path, data, .. } | RegOp::Set { path, data, .. } => (path, data),
        RegOp::Delete { .. } | RegOp::Check { .. } => return None,
    };
    let name = path.strip_prefix('/')?.strip_prefix(JOB)?.strip_prefix("/ledger/")?;
    let (item, slot) = name.split_once('.').unwrap_or((name, "0"));
    Some((item.parse().ok()?, slot.parse().ok()?, serde_json::from_str(data).ok()?))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Seen;
    use crate::scenario::findings::Findings;

    /// Returns what is wrong with the fires of item 0, whose record takes these states in order.
    fn unmet(records: &[&str]) -> Vec<String> {
        let record = |(n, data): (usize, &&str)| {
            let line = serde_json::json!({
                "p": "registry", "inc": 0, "seq": n, "mt": n, "wt": n, "ty": "reg", "zxid": n,
                "sid": 1, "ops": [{"op": "set", "path": "/job/ledger/0", "ver": n, "data": data}],
            });
            serde_json::from_value(line).unwrap()
        };
        let records: Vec<_> = records.iter().enumerate().map(record).collect();
        let seen = Seen::new(&records, Duration::from_secs(2), Duration::from_secs(1));
        let mut findings = Findings::default();
        findings.each_fire_accounted(&seen, 0);
        findings.into_sentences()
    }

    #[test]
    fn gap_counts_although_the_note_of_a_further_fire_removed_it() {
        let claimed = r#"{"state":"running","token":1,"holder":"a","source":"NORMAL","fire":0,"last":0,"next":2000}"#;
        let taken_over = r#"{"state":"running","token":2,"holder":"b","source":"FAILOVER","fire":0,"last":0,"next":2000}"#;
        let noted = r#"{"state":"running","token":2,"holder":"b","source":"FAILOVER","fire":0,"last":0,"next":6000,"gaps":[{"first":2000,"until":4000}],"misfire":{"first":4000,"last":4000,"count":1}}"#;
        let noted_again = r#"{"state":"running","token":2,"holder":"b","source":"FAILOVER","fire":0,"last":0,"next":8000,"misfire":{"first":4000,"last":6000,"count":2}}"#;
        let ended = r#"{"state":"idle","token":2,"last":0,"next":8000,"misfire":{"first":4000,"last":6000,"count":2}}"#;
        let made_up = r#"{"state":"running","token":3,"holder":"b","source":"MISFIRE","fire":6000,"last":6000,"next":8000,"merged":{"first":4000,"last":6000,"count":2}}"#;
        let all = [claimed, taken_over, noted, noted_again, ended, made_up];
        assert_eq!(unmet(&all), Vec::<String>::new());
        let without_gap = [claimed, taken_over, noted_again, ended, made_up];
        assert_eq!(unmet(&without_gap).len(), 1, "no record has the gap");
    }
}
