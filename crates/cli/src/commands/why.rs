//! `why`: the reasons why a job or an item does not run, and its last outages.

use std::collections::BTreeSet;
use std::fmt;

use clap::Args;
use coordination::JobName;
use jiff::{SignedDuration, Timestamp};
use job_history::{FireOutcome, FireQuery, FireRecord, History};
use operations::{
    JobSnapshot, LiveNamespace, WhyNot, next_fires, why_item_not_running, why_not_running,
};
use serde_json::{Value, json};
use sharding::ShardingItem;

use super::history::StoreArguments;
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
    #[command(flatten)]
    store: StoreArguments,
    #[command(flatten)]
    follow: WatchOption,
}

impl WhyArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let operations = cx.operations().await?;
        let job = operations.job(&self.job).await?;
        let now = operations.present();
        let mut reasons = self.reasons(&job, now)?;
        if self.follow.watch {
            // A new session, so that the clock of the registry is not known.
            let draw = |live: &LiveNamespace| {
                live_job(live, &self.job, |job| self.live(job, Timestamp::now()))
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
        let (last, others) = reasons.split_last().map_or((None, &[][..]), |(l, o)| (Some(l), o));
        let mut text: String = others.iter().map(sentence).collect();
        text.extend(outages.iter().map(|outage| line(&one_line(&outage.to_string()))));
        // The schedule stays the last line.
        text.extend(last.map(sentence));
        let outages: Vec<Value> = outages.iter().map(Outage::document).collect();
        Ok(Page::new(text, &json!({ "reasons": reasons, "outages": outages })).beside(remark))
    }

    fn reasons(&self, job: &JobSnapshot, now: Timestamp) -> Result<Vec<WhyNot>, Fault> {
        let Some(item) = self.item.map(ShardingItem::new) else {
            return Ok(why_not_running(job, now));
        };
        if !job.items().contains(&item) {
            let n = job.items().len();
            return Err(Fault::not_found(format!(
                "job {} has no item {item}; it has {n} items, counted from 0",
                self.job
            )));
        }
        Ok(why_item_not_running(job, item, now))
    }

    fn live(&self, job: &JobSnapshot, now: Timestamp) -> Text {
        match self.reasons(job, now) {
            Ok(reasons) => reasons.iter().map(sentence).collect::<String>().into(),
            Err(fault) => line(&fault.to_string()).into(),
        }
    }

    /// Reads the recent outages from the history, if one is named.
    async fn outages(&self, job: &JobSnapshot, now: Timestamp) -> Result<Vec<Outage>, Fault> {
        let Some(options) = self.store.options()? else { return Ok(Vec::new()) };
        self.store.check_exists()?;
        let history = History::open(options).await?;
        let read = self.missed(&history, now).await;
        // Nothing was written, so closing cannot lose records.
        let _ = history.close(std::time::Duration::from_secs(1)).await;
        Ok(Outage::of(&read?, job))
    }

    /// Returns the recent fires without a run, in ascending order.
    async fn missed(&self, history: &History, now: Timestamp) -> Result<Vec<FireRecord>, Fault> {
        let from = now.saturating_sub(RECENT).unwrap_or(Timestamp::MIN);
        let mut query = FireQuery::default().job(self.job.as_str()).from(from);
        if let Some(item) = self.item {
            query = query.item(ShardingItem::new(item));
        }
        let mut fires = Vec::new();
        for outcome in [FireOutcome::missed(), FireOutcome::gap()] {
            fires.extend(
                history.fires(&query.clone().outcome(outcome), MAX_FIRES, None).await?.fires,
            );
        }
        fires.sort_by_key(|fire| fire.fire);
        Ok(fires)
    }
}

/// Scheduled fires in a row that were not run.
#[derive(Debug, PartialEq, Eq)]
struct Outage {
    /// First fire that was not run.
    first: Timestamp,
    /// Exclusive end: the next fire of the schedule.
    until: Timestamp,
    items: BTreeSet<u32>,
    /// Why the fires were not run, each reason once.
    reasons: Vec<String>,
}

impl Outage {
    /// Groups fires in ascending order to the latest outages. An outage ends as soon as the
    /// schedule has a fire that is not among them.
    fn of(fires: &[FireRecord], job: &JobSnapshot) -> Vec<Self> {
        let next = |after: Timestamp| {
            let fires = job.config().and_then(|config| next_fires(config, after, 1).ok());
            fires.and_then(|fires| fires.first().copied()).unwrap_or(after)
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
        outages.split_off(outages.len().saturating_sub(MAX_OUTAGES))
    }

    fn empty(first: Timestamp) -> Self {
        Self { first, until: first, items: BTreeSet::new(), reasons: Vec::new() }
    }

    fn add(&mut self, fire: &FireRecord, until: Timestamp) {
        self.until = self.until.max(until);
        self.items.insert(fire.item.index());
        if let Some(reason) = fire.reason.as_ref().filter(|reason| !self.reasons.contains(reason)) {
            self.reasons.push(reason.clone());
        }
    }

    fn document(&self) -> Value {
        let Self { first, until, items, reasons } = self;
        let (first, until) = (first.to_string(), until.to_string());
        json!({ "first": first, "until": until, "items": items, "reasons": reasons })
    }

    fn has(&self, ms: i64) -> bool {
        (self.first.as_millisecond()..self.until.as_millisecond()).contains(&ms)
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, until, items, reasons } = self;
        let items: Vec<u32> = items.iter().copied().collect();
        let items = named_items(&items);
        write!(f, "outage: the fires of {items} from {first} to before {until} were not run")?;
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

fn sentence(why: &WhyNot) -> String {
    one_line(&why.to_string()) + "\n"
}
