//! `why`: the reasons why a job or an item does not run, and its last outages.

use std::collections::BTreeSet;
use std::fmt;

use clap::Args;
use coordination::JobName;
use jiff::{SignedDuration, Timestamp};
use job_history::{FireOutcome, FireQuery, FireRecord, History};
use operations::{
    GroupSnapshot, JobSnapshot, LiveNamespace, WhyNot, schedule_of, why_item_not_running_in,
    why_not_running_in,
};
use serde_json::{Value, json};
use sharding::ShardingItem;

use super::history::{StoreArguments, reading};
use super::list::named_items;
use super::look::live_job;
use super::watch::{WatchOption, follow};
use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Page, Text, line};
use crate::text::{job_name, one_line};

/// Time in the past in which the history is searched for outages.
const RECENT: SignedDuration = SignedDuration::from_hours(24);
/// Maximum number of fires of the history that are read.
const MAX_FIRES: u32 = 1_000;
/// Maximum number of outages that are named, the latest ones.
const MAX_OUTAGES: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct WhyArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    /// Number of the item [default: the whole job]
    #[arg(value_parser = crate::text::item)]
    item: Option<u32>,
    /// The same, as other commands name an item
    #[arg(long = "item", hide = true, value_name = "ITEM", value_parser = crate::text::item,
        conflicts_with = "item")]
    named_item: Option<u32>,
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    follow: WatchOption,
}

impl WhyArguments {
    pub(crate) async fn run(mut self, cx: &Context<'_>) -> Result<Page, Fault> {
        self.item = self.item.or(self.named_item);
        let operations = cx.operations().await?;
        let job = operations.job(&self.job).await?;
        let group = operations.group_of(&job).await?;
        let now = operations.present();
        let mut reasons = self.reasons(&job, group.as_ref(), now)?;
        if self.follow.watch {
            let draw = |live: &LiveNamespace| {
                live_job(live, &self.job, |job| {
                    self.live(job, live.group_of(job).as_deref(), operations.present())
                })
            };
            return follow(cx, &format!("why {}", self.job), draw).await;
        }
        // The state of the job is the answer. A history that cannot be read only takes the outages
        // from it.
        let (outages, remark) = match self.outages(&job, now).await {
            Ok(outages) => (outages, String::new()),
            Err(fault) => (Vec::new(), line(&format!("remark: no outages are shown: {fault}"))),
        };
        reasons.retain(|why| !is_among(why, &outages));
        if !outages.is_empty() {
            reasons.iter_mut().for_each(without_all_clear);
        }
        let (last, others) = reasons.split_last().map_or((None, &[][..]), |(l, o)| (Some(l), o));
        let mut text: String = others.iter().map(sentence).collect();
        text.extend(outages.iter().map(|outage| line(&one_line(&outage.to_string()))));
        // The schedule stays the last line.
        text.extend(last.map(sentence));
        // A document has no remark: without the history the outages are unknown, not absent.
        let known = remark.is_empty().then(|| outages.iter().map(Outage::document));
        let known: Option<Vec<Value>> = known.map(Iterator::collect);
        Ok(Page::new(text, &json!({ "reasons": reasons, "outages": known })).beside(remark))
    }

    fn reasons(
        &self,
        job: &JobSnapshot,
        group: Option<&GroupSnapshot>,
        now: Timestamp,
    ) -> Result<Vec<WhyNot>, Fault> {
        let Some(item) = self.item.map(ShardingItem::new) else {
            return Ok(why_not_running_in(job, group, now));
        };
        if !job.items().contains(&item) {
            let n = job.items().len();
            return Err(Fault::not_found(format!(
                "job {} has no item {item}; it has {n} items, counted from 0",
                self.job
            )));
        }
        Ok(why_item_not_running_in(job, group, item, now))
    }

    fn live(&self, job: &JobSnapshot, group: Option<&GroupSnapshot>, now: Timestamp) -> Text {
        match self.reasons(job, group, now) {
            Ok(reasons) => reasons.iter().map(sentence).collect::<String>().into(),
            Err(fault) => line(&fault.to_string()).into(),
        }
    }

    /// Reads the recent outages from the history, if one is named.
    async fn outages(&self, job: &JobSnapshot, now: Timestamp) -> Result<Vec<Outage>, Fault> {
        let Some(options) = self.store.options()? else { return Ok(Vec::new()) };
        self.store.check_exists()?;
        let (fires, is_cut) =
            reading(options, async |history| self.missed(history, now).await).await??;
        Ok(Outage::of(&fires, job, is_cut))
    }

    /// Returns the recent fires without a run, in ascending order, and whether there are earlier
    /// ones that were not read.
    async fn missed(
        &self,
        history: &History,
        now: Timestamp,
    ) -> Result<(Vec<FireRecord>, bool), Fault> {
        let from = now.saturating_sub(RECENT).unwrap_or(Timestamp::MIN);
        let mut query = FireQuery::default().job(self.job.as_str()).from(from);
        if let Some(item) = self.item {
            query = query.item(ShardingItem::new(item));
        }
        let (mut fires, mut is_cut) = (Vec::new(), false);
        for outcome in [FireOutcome::missed(), FireOutcome::gap()] {
            let page = history.fires(&query.clone().outcome(outcome), MAX_FIRES, None).await?;
            fires.extend(page.fires);
            is_cut |= page.next.is_some();
        }
        fires.sort_by_key(|fire| fire.fire);
        Ok((fires, is_cut))
    }
}

/// Beginnings of the reasons of outages. The others are limits, full queues and decisions.
const OF_OUTAGES: [&str; 2] = ["no instance lived", "the registry could not be reached"];

/// Scheduled fires in a row that were not run.
#[derive(Debug, PartialEq, Eq)]
struct Outage {
    /// First fire that was not run.
    first: Timestamp,
    /// True if the outage may have begun before its first fire, which is the first that was read.
    is_cut: bool,
    /// Exclusive end: the next fire of the schedule.
    until: Timestamp,
    items: BTreeSet<u32>,
    /// Why the fires were not run, each reason once.
    reasons: Vec<String>,
}

impl Outage {
    /// Groups fires in ascending order to the latest outages. An outage ends as soon as the
    /// schedule has a fire that is not among them.
    fn of(fires: &[FireRecord], job: &JobSnapshot, is_cut: bool) -> Vec<Self> {
        let schedule = job.config().and_then(|config| schedule_of(config).ok()?);
        let next = |after: Timestamp| {
            schedule.as_ref().and_then(|schedule| schedule.next_after(after)).unwrap_or(after)
        };
        let mut outages: Vec<Self> = Vec::new();
        for fire in fires {
            let until = fire.gap_until.unwrap_or_else(|| next(fire.fire));
            match outages.last_mut().filter(|last| fire.fire <= last.until) {
                Some(last) => last.add(fire, until),
                None => {
                    let mut outage = Self::empty(fire.fire);
                    outage.add(fire, until);
                    outages.push(outage);
                }
            }
        }
        if let Some(first) = outages.first_mut() {
            first.is_cut = is_cut;
        }
        outages.split_off(outages.len().saturating_sub(MAX_OUTAGES))
    }

    fn empty(first: Timestamp) -> Self {
        Self { first, is_cut: false, until: first, items: BTreeSet::new(), reasons: Vec::new() }
    }

    fn add(&mut self, fire: &FireRecord, until: Timestamp) {
        self.until = self.until.max(until);
        self.items.insert(fire.item.index());
        if let Some(reason) = fire.reason.as_ref().filter(|reason| !self.reasons.contains(reason)) {
            self.reasons.push(reason.clone());
        }
    }

    fn document(&self) -> Value {
        let Self { first, is_cut, until, items, reasons } = self;
        json!({
            "first": first.to_string(),
            "or_earlier": is_cut,
            "until": until.to_string(),
            "items": items,
            "reasons": reasons,
        })
    }

    fn has(&self, ms: i64) -> bool {
        (self.first.as_millisecond()..self.until.as_millisecond()).contains(&ms)
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, is_cut, until, items, reasons } = self;
        let items: Vec<u32> = items.iter().copied().collect();
        let (items, cut) = (named_items(&items), if *is_cut { " or earlier" } else { "" });
        let is_outage = |reason: &String| OF_OUTAGES.iter().any(|it| reason.starts_with(it));
        let of_outage = reasons.is_empty() || reasons.iter().any(is_outage);
        let kind = if of_outage { "outage" } else { "gap" };
        write!(f, "{kind}: the fires of {items} from {first}{cut} to before {until} were not run")?;
        match &reasons[..] {
            [] => Ok(()),
            reasons => write!(f, ": {}", reasons.join("; ")),
        }
    }
}

/// Returns true if the history has the gap of a record, with its reason.
fn is_among(why: &WhyNot, outages: &[Outage]) -> bool {
    matches!(why, WhyNot::Gap { first_ms, .. } if outages.iter().any(|o| o.has(*first_ms)))
}

/// Leaves "no problem found" out: an outage is one.
fn without_all_clear(why: &mut WhyNot) {
    if let WhyNot::WaitsForFire { at_ms } = *why {
        *why = WhyNot::NextFire { at_ms };
    }
}

fn sentence(why: &WhyNot) -> String {
    one_line(&why.to_string()) + "\n"
}

#[cfg(test)]
mod tests {
    use coordination::MissReason;

    use super::*;

    #[test]
    fn only_reasons_of_outages_are_called_outages() {
        let shown = |reasons: &[&str]| {
            let mut outage = Outage::empty(Timestamp::UNIX_EPOCH);
            outage.reasons = reasons.iter().map(ToString::to_string).collect();
            outage.to_string()
        };
        let outage = coordination::Outage { from_ms: 0, until_ms: None };
        let limit = &*MissReason::LimitReached.to_string();
        let full = &*MissReason::QueueFull.to_string();
        let lost = &*MissReason::RegistryUnreachable(outage).to_string();
        assert!(shown(&[]).starts_with("outage: "));
        assert!(shown(&[limit]).starts_with("gap: the fires of "), "{}", shown(&[limit]));
        assert!(shown(&[limit, full]).starts_with("gap: "));
        assert!(shown(&[full, lost]).starts_with("outage: "));
    }

    #[test]
    fn outage_is_not_followed_by_the_absence_of_problems() {
        let (mut waits, mut other) = (WhyNot::WaitsForFire { at_ms: 7 }, WhyNot::NoLeader);
        without_all_clear(&mut waits);
        without_all_clear(&mut other);
        assert_eq!((waits, other), (WhyNot::NextFire { at_ms: 7 }, WhyNot::NoLeader));
    }
}
