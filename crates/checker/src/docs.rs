//! The documents in the nodes, as far as they matter for judging. Unknown fields are ignored.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::names::{Name, Names};

/// Where an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Idle,
    Running,
    Orphan,
    Retired,
}

/// Why an item runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Source {
    Normal,
    Misfire,
    Failover,
    Manual,
}

impl Source {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Misfire => "MISFIRE",
            Self::Failover => "FAILOVER",
            Self::Manual => "MANUAL",
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Succeeded,
    Failed,
    Panicked,
    #[serde(rename = "timed_out")]
    TimedOut,
    Interrupted,
    Disabled,
}

/// Fires that were merged into one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Range {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) count: u32,
}

/// A run in progress, or left unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) holder: Name,
    pub(crate) fire: i64,
    pub(crate) source: Source,
    pub(crate) merged: Option<Range>,
    /// What the request that it answers tells it.
    pub(crate) parameter: Option<Name>,
}

/// An operator's request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) id: Name,
    pub(crate) at: i64,
    pub(crate) parameter: Option<Name>,
}

impl Run {
    /// Returns the fires that the run stands for, first and last.
    pub(crate) fn span(&self) -> (i64, i64) {
        let merged = self.merged.map_or((self.fire, self.fire), |range| (range.first, range.last));
        (merged.0.min(self.fire), merged.1.max(self.fire))
    }
}

/// Fires that no instance ran, noted or skipped: from the first to before the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Gap {
    pub(crate) first: i64,
    pub(crate) until: i64,
}

/// The greatest number of gaps in a record.
const MAX_GAPS: usize = 4;

/// The record of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) state: State,
    /// Present if and only if the state is running or orphan.
    pub(crate) run: Option<Run>,
    pub(crate) token: u64,
    pub(crate) config: Option<u32>,
    pub(crate) last: Option<i64>,
    pub(crate) previous: Option<i64>,
    pub(crate) misfire: Option<Range>,
    pub(crate) request: Option<Request>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) disabled: bool,
    gaps: [Option<Gap>; MAX_GAPS],
}

impl Ledger {
    pub(crate) fn is_busy(&self) -> bool {
        self.run.is_some()
    }

    /// Returns true if the record says that no instance ran a fire.
    pub(crate) fn has_in_gap(&self, fire: i64) -> bool {
        self.gaps.iter().flatten().any(|gap| (gap.first..gap.until).contains(&fire))
    }
}

#[derive(Deserialize)]
struct LedgerDoc {
    state: State,
    holder: Option<String>,
    fire: Option<i64>,
    source: Option<Source>,
    merged: Option<Range>,
    parameter: Option<String>,
    token: u64,
    config: Option<u32>,
    last: Option<i64>,
    previous: Option<i64>,
    misfire: Option<Range>,
    request: Option<RequestDoc>,
    outcome: Option<Outcome>,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    gaps: Vec<Gap>,
}

#[derive(Deserialize)]
struct RequestDoc {
    id: String,
    at: i64,
    parameter: Option<String>,
}

/// Reads an item's record.
pub(crate) fn ledger(text: &str, names: &mut Names) -> Result<Ledger, String> {
    let doc: LedgerDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let run = match doc.state {
        State::Idle | State::Retired => None,
        State::Running | State::Orphan => match (&doc.holder, doc.fire, doc.source) {
            (Some(holder), Some(fire), Some(source)) => {
                let parameter = doc.parameter.as_deref().map(|text| names.of(text));
                Some(Run { holder: names.of(holder), fire, source, merged: doc.merged, parameter })
            }
            _ => return Err("a run needs holder, fire and source".to_owned()),
        },
    };
    let request = doc.request.map(|request| Request {
        id: names.of(&request.id),
        at: request.at,
        parameter: request.parameter.as_deref().map(|text| names.of(text)),
    });
    let mut gaps = [None; MAX_GAPS];
    if doc.gaps.len() > MAX_GAPS {
        return Err(format!("{} gaps; valid is at most {MAX_GAPS}", doc.gaps.len()));
    }
    for (place, gap) in gaps.iter_mut().zip(doc.gaps) {
        *place = Some(gap);
    }
    Ok(Ledger {
        state: doc.state,
        run,
        request,
        token: doc.token,
        config: doc.config,
        last: doc.last,
        previous: doc.previous,
        misfire: doc.misfire,
        outcome: doc.outcome,
        disabled: doc.disabled,
        gaps,
    })
}

/// What an assignment was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// In ascending order of their numbers, to be compared as a set.
    pub(crate) members: Vec<Name>,
    pub(crate) total: u32,
    pub(crate) strategy: String,
    pub(crate) handled: u32,
    /// Items that have yet to move, and to whom.
    pub(crate) pending: BTreeMap<u32, Name>,
    /// The stable names of owners that have one: under static sharding, whoever has the name goes on with the items.
    pub(crate) names: BTreeMap<Name, Name>,
}

#[derive(Deserialize)]
struct AssignmentDoc {
    members: Vec<String>,
    total: u32,
    strategy: String,
    handled: u32,
    #[serde(default)]
    pending: BTreeMap<String, Vec<(u32, u32)>>,
    #[serde(default)]
    names: BTreeMap<String, String>,
}

/// More items than any job has; ranges beyond are refused rather than expanded.
const MAX_ITEMS: u32 = 1_000_000;
/// A day: what delays of fires are less than, at most.
const MAX_JITTER_MS: u32 = 86_400_000;

/// Reads what an assignment was made for.
pub(crate) fn assignment(text: &str, names: &mut Names) -> Result<Assignment, String> {
    let doc: AssignmentDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut pending = BTreeMap::new();
    for (owner, ranges) in &doc.pending {
        let owner = names.of(owner);
        for (first, last) in ranges {
            if *last >= MAX_ITEMS {
                return Err(format!("pending item {last}; valid is below {MAX_ITEMS}"));
            }
            pending.extend((*first..=*last).map(|item| (item, owner)));
        }
    }
    if doc.total > MAX_ITEMS {
        return Err(format!("{} items; valid is at most {MAX_ITEMS}", doc.total));
    }
    let mut members: Vec<_> = doc.members.iter().map(|member| names.of(member)).collect();
    members.sort_unstable();
    let stable = doc.names.iter().map(|(id, name)| (names.of(id), names.of(name))).collect();
    let AssignmentDoc { total, strategy, handled, .. } = doc;
    Ok(Assignment { members, total, strategy, handled, pending, names: stable })
}

#[derive(Deserialize)]
struct TermDoc {
    leader: String,
}

/// Reads who leads a term.
pub(crate) fn term(text: &str, names: &mut Names) -> Result<Name, String> {
    let doc: TermDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(names.of(&doc.leader))
}

/// A callback that happens once per cluster, as somebody has won it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Call {
    pub(crate) fire: i64,
    pub(crate) token: u64,
}

/// Reads the last call of each stage.
pub(crate) fn calls(text: &str) -> Result<BTreeMap<String, Call>, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// What to do about fires that nobody ran in their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CatchUp {
    /// How old a fire may be, before the next one.
    pub(crate) window_seconds: i64,
    /// How many fires of an item at most: the latest ones.
    pub(crate) max: usize,
}

/// The stored configuration, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Empty if the job runs on request only.
    pub(crate) cron: String,
    pub(crate) time_zone: String,
    /// Empty if none are left out.
    pub(crate) excluded_days: String,
    /// What the delays of fires are less than, in milliseconds; `None` if fires begin in time.
    pub(crate) jitter_ms: Option<u32>,
    pub(crate) total: u32,
    pub(crate) failover: bool,
    pub(crate) misfire: bool,
    pub(crate) monitor: bool,
    pub(crate) strategy: String,
    pub(crate) catch_up: Option<CatchUp>,
    /// Items stay with their instances, whoever comes and goes.
    pub(crate) static_sharding: bool,
}

impl Config {
    pub(crate) fn fails_over(&self) -> bool {
        self.failover && self.monitor
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigDoc {
    #[serde(default)]
    cron: Option<String>,
    #[serde(default)]
    time_zone: Option<String>,
    #[serde(default)]
    excluded_days: Option<String>,
    #[serde(default)]
    jitter_milliseconds: Option<u32>,
    sharding_total_count: Number,
    #[serde(default)]
    failover: bool,
    #[serde(default)]
    misfire: bool,
    #[serde(default = "yes")]
    monitor_execution: bool,
    #[serde(default)]
    job_sharding_strategy_class: Option<String>,
    #[serde(default)]
    catch_up: Option<CatchUp>,
    #[serde(default)]
    static_sharding: bool,
}

fn yes() -> bool {
    true
}

/// Java's console writes numbers with or without quotes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u32),
    Quoted(String),
}

/// Reads a configuration.
pub(crate) fn config(text: &str) -> Result<Config, String> {
    let doc: ConfigDoc = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let total = match doc.sharding_total_count {
        Number::Plain(total) => total,
        Number::Quoted(text) => text.trim().parse().map_err(|_| format!("{text:?} items"))?,
    };
    if total == 0 || total > MAX_ITEMS {
        return Err(format!("{total} items; valid is 1 to {MAX_ITEMS}"));
    }
    if let Some(bound) = doc.jitter_milliseconds
        && !(1..=MAX_JITTER_MS).contains(&bound)
    {
        return Err(format!("delays of less than {bound} ms; valid is 1 to {MAX_JITTER_MS}"));
    }
    Ok(Config {
        cron: doc.cron.unwrap_or_default(),
        time_zone: doc.time_zone.unwrap_or_default(),
        excluded_days: doc.excluded_days.unwrap_or_default(),
        jitter_ms: doc.jitter_milliseconds,
        total,
        failover: doc.failover,
        misfire: doc.misfire,
        monitor: doc.monitor_execution,
        strategy: doc.job_sharding_strategy_class.unwrap_or_default(),
        catch_up: doc.catch_up,
        static_sharding: doc.static_sharding,
    })
}
