//! Entries of the timeline, and the page that the entries of several sources make.

use std::cmp::Reverse;

use coordination::{AuditRecord, AuditSubject, FormerConfigs, GroupName};
use jiff::Timestamp;
use job_history::{EventQuery, EventRecord, FireOutcome, FireQuery, FireRecord, History};
use operations::{GroupSnapshot, JobSnapshot, audited_changes};

use super::Filter;
use crate::pages::history::Dropped;
use crate::pages::widgets::{FAILURES, PAGE};

/// Maximum number of rows that are read from each source.
const ROWS: u32 = 500;

/// Kind of the entry of an audited operator action.
pub(super) const OPERATOR: &str = "operator";
/// Kind of the entry of a replaced configuration.
pub(super) const CONFIGURATION: &str = "configuration";
/// A kind of event that is an entry of the timeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventKind {
    /// Word of [`JobEvent::name`](coordination::JobEvent::name).
    pub(crate) word: &'static str,
    /// Class of the style.
    pub(crate) class: &'static str,
    /// The kind in words, in English and Chinese.
    pub(crate) label: [&'static str; 2],
}

impl EventKind {
    const fn new(word: &'static str, class: &'static str, label: [&'static str; 2]) -> Self {
        Self { word, class, label }
    }

    /// Returns the kind with this word.
    pub(crate) fn of(word: &str) -> Option<&'static Self> {
        EVENTS.iter().find(|kind| kind.word == word)
    }
}

/// Events of the history that are entries, in the order of the filter: all but claims and
/// completions.
pub(crate) const EVENTS: [EventKind; 24] = [
    EventKind::new("missed", "wait", ["fire missed", "漏掉的触发"]),
    EventKind::new("misfire_noted", "wait", ["misfire", "错过触发"]),
    EventKind::new("gap", "wait", ["gap", "空档"]),
    EventKind::new("orphaned", "wait", ["run orphaned", "运行孤立"]),
    EventKind::new("cancelled", "off", ["run cancelled", "运行被取消"]),
    EventKind::new("resharded", "over", ["resharded", "重新分片"]),
    EventKind::new("became_leader", "over", ["leader elected", "选出主节点"]),
    EventKind::new("lost_leadership", "off", ["leadership lost", "失去主节点身份"]),
    EventKind::new("joined", "done", ["instance joined", "实例加入"]),
    EventKind::new("left", "off", ["instance left", "实例离开"]),
    EventKind::new("suspended", "wait", ["connection lost", "连接中断"]),
    EventKind::new("reconnected", "done", ["connection restored", "连接恢复"]),
    EventKind::new("session_lost", "wait", ["session lost", "会话失效"]),
    EventKind::new("session_started", "done", ["session started", "会话开始"]),
    EventKind::new("fenced", "wait", ["run fenced", "运行被隔离"]),
    EventKind::new("config_rejected", "fail", ["configuration rejected", "配置被拒绝"]),
    EventKind::new("request_dropped", "wait", ["request dropped", "请求被丢弃"]),
    EventKind::new("commit_refused", "wait", ["commit refused", "提交被拒绝"]),
    EventKind::new("strategy_failed", "fail", ["strategy failed", "分片策略失败"]),
    EventKind::new("anomaly", "wait", ["node unreadable", "节点不可读"]),
    EventKind::new("changes_missed", "fail", ["changes missed", "变更未送达"]),
    EventKind::new("clock_differs", "wait", ["clock differs", "时钟偏差"]),
    EventKind::new("clock_agrees", "done", ["clock agrees", "时钟一致"]),
    EventKind::new("stopped", "off", ["job stopped", "作业停止"]),
];

/// Subject of an entry. The history can have jobs that were removed since.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Subject {
    Job(String),
    Group(GroupName),
}

impl From<AuditSubject> for Subject {
    fn from(subject: AuditSubject) -> Self {
        match subject {
            AuditSubject::Job(name) => Self::Job(name.to_string()),
            AuditSubject::Group(name) => Self::Group(name),
        }
    }
}

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Time of the event; for a run, its scheduled fire time.
    pub(super) at: Timestamp,
    /// Word of an event, an outcome, [`OPERATOR`] or [`CONFIGURATION`].
    pub(super) kind: String,
    pub(super) subject: Subject,
    pub(super) item: Option<u32>,
    pub(super) instance: Option<String>,
    /// Author of a change.
    pub(super) who: Option<String>,
    /// Operation and targets of a change.
    pub(super) change: Option<(String, String)>,
    pub(super) text: String,
}

/// Entries of the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(super) entries: Vec<Entry>,
    /// Time up to which further entries exist that were not read.
    pub(super) unread_until: Option<Timestamp>,
    pub(super) dropped: Option<Dropped>,
}

impl Recorded {
    /// Reads the latest entries of the history that meet the filter.
    pub(crate) async fn of(history: &History, filter: &Filter) -> job_history::Result<Self> {
        let dropped = Dropped::of(history, filter.from, filter.until).await?;
        let mut found = Self { dropped, ..Self::default() };
        if filter.kind.as_deref().is_none_or(|kind| EventKind::of(kind).is_some()) {
            let page = history.events(&event_query(filter), ROWS, None).await?;
            found.add(page.events.into_iter().map(of_event), page.next.is_some());
        }
        for outcome in FAILURES.into_iter().filter(|outcome| filter.accepts(outcome)) {
            let query = fire_query(filter).outcome(FireOutcome::new(outcome));
            let page = history.fires(&query, ROWS, None).await?;
            found.add(page.fires.into_iter().map(of_fire), page.next.is_some());
        }
        Ok(found)
    }

    /// Adds the entries of one query, the latest first.
    fn add(&mut self, entries: impl Iterator<Item = Entry>, has_more: bool) {
        self.entries.extend(entries);
        let last = self.entries.last().filter(|_| has_more).map(|entry| entry.at);
        self.unread_until = self.unread_until.max(last);
    }
}

fn event_query(filter: &Filter) -> EventQuery {
    let mut query = EventQuery::default();
    if let Some(job) = &filter.job {
        query = query.job(job);
    }
    if let Some(kind) = &filter.kind {
        query = query.kind(kind);
    }
    if let Some(from) = filter.from {
        query = query.from(from);
    }
    match filter.until {
        Some(until) => query.until(until),
        None => query,
    }
}

fn fire_query(filter: &Filter) -> FireQuery {
    let mut query = FireQuery::default();
    if let Some(job) = &filter.job {
        query = query.job(job);
    }
    if let Some(from) = filter.from {
        query = query.from(from);
    }
    match filter.until {
        Some(until) => query.until(until),
        None => query,
    }
}

fn of_event(event: EventRecord) -> Entry {
    Entry {
        at: event.at,
        kind: event.kind,
        subject: Subject::Job(event.job),
        item: event.item.map(|item| item.index()),
        instance: event.instance.map(|id| id.to_string()),
        who: None,
        change: None,
        text: event.text,
    }
}

fn of_fire(fire: FireRecord) -> Entry {
    Entry {
        at: fire.fire,
        kind: fire.outcome.as_str().to_owned(),
        subject: Subject::Job(fire.job),
        item: Some(fire.item.index()),
        instance: fire.instance.map(|id| id.to_string()),
        who: None,
        change: None,
        text: fire.reason.unwrap_or_default(),
    }
}

/// Returns the changes of operators that meet the filter, from the nodes of the jobs and groups. A
/// filter for a job also accepts the changes of its group.
pub(super) fn of_registry<'a>(
    jobs: impl Iterator<Item = &'a JobSnapshot>,
    groups: impl Iterator<Item = &'a GroupSnapshot>,
    filter: &Filter,
) -> Vec<Entry> {
    let is_wanted = |job: &&JobSnapshot| match &filter.job {
        Some(wanted) => job.job().as_str() == wanted,
        None => true,
    };
    let jobs: Vec<_> = jobs.filter(is_wanted).collect();
    let has_wanted_job = |group: &&GroupSnapshot| {
        filter.job.is_none() || jobs.iter().any(|job| job.group() == Some(group.view().name()))
    };
    let mut found = Vec::new();
    if filter.accepts(OPERATOR) {
        let changes = audited_changes(jobs.iter().copied(), groups.filter(has_wanted_job));
        found.extend(changes.filter_map(|(subject, record)| of_audit(&subject.into(), record)));
    }
    if filter.accepts(CONFIGURATION) {
        for job in jobs {
            let name = &Subject::Job(job.job().to_string());
            // The page of the doctor reports a log that cannot be read.
            let former = job.former_configs().into_iter().flat_map(FormerConfigs::iter);
            let entry = |at_ms, who: &str, why: &str| change(name, CONFIGURATION, at_ms, who, why);
            let former = former.map(|one| entry(one.replaced_ms, &one.who, &one.why));
            found.extend(former.flatten());
        }
    }
    found.retain(|entry| filter.has_time(entry.at));
    found
}

fn of_audit(subject: &Subject, record: &AuditRecord) -> Option<Entry> {
    let entry = change(subject, OPERATOR, record.at_ms, &record.who, &record.why)?;
    Some(Entry { change: Some((record.act.clone(), record.target.clone())), ..entry })
}

/// Returns the entry of a change, unless its time is none.
fn change(subject: &Subject, kind: &str, at_ms: i64, who: &str, text: &str) -> Option<Entry> {
    Some(Entry {
        at: Timestamp::from_millisecond(at_ms).ok()?,
        kind: kind.to_owned(),
        subject: subject.clone(),
        item: None,
        instance: None,
        who: Some(who.to_owned()),
        change: None,
        text: text.to_owned(),
    })
}

/// The entries of one page.
#[derive(Debug)]
pub(super) struct Shown {
    /// The latest first. All entries of a millisecond are on the same page.
    pub(super) entries: Vec<Entry>,
    /// Exclusive end of the next page.
    pub(super) older: Option<Timestamp>,
    /// True if a millisecond has more entries than are read, so that entries are missing.
    pub(super) is_cut: bool,
}

impl Shown {
    /// Returns the latest entries of all sources.
    pub(super) fn of(recorded: &Recorded, of_registry: &[Entry]) -> Self {
        let mut entries: Vec<&Entry> = of_registry.iter().chain(&recorded.entries).collect();
        entries.sort_by(|a, b| {
            let key = |entry: &Entry| (Reverse(entry.at), entry.item);
            key(a).cmp(&key(b)).then_with(|| (&a.subject, &a.kind).cmp(&(&b.subject, &b.kind)))
        });
        let unread = recorded.unread_until;
        let complete = entries.partition_point(|entry| Some(entry.at) > unread);
        // The next page has the millisecond that is not complete, unless nothing is before it.
        let is_cut = complete == 0 && unread.is_some();
        let usable = match is_cut {
            true => entries.partition_point(|entry| Some(entry.at) >= unread),
            false => complete,
        };
        let last = entries[..usable].iter().take(PAGE).next_back().map(|entry| entry.at);
        let shown = entries[..usable].partition_point(|entry| Some(entry.at) >= last);
        let has_older = shown < entries.len() || unread.is_some();
        let entries = entries.into_iter().take(shown).cloned().collect();
        Self { older: last.filter(|_| has_older), entries, is_cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(ms: i64, item: u32) -> Entry {
        let at = Timestamp::from_millisecond(ms).unwrap();
        let kind = "missed".to_owned();
        let (instance, who, change) = (None, None, None);
        let (subject, text) = (Subject::Job("a".to_owned()), String::new());
        Entry { at, kind, subject, item: Some(item), instance, who, change, text }
    }

    fn ms(time: Option<Timestamp>) -> Option<i64> {
        time.map(Timestamp::as_millisecond)
    }

    #[test]
    fn page_ends_with_a_whole_millisecond() {
        let of = |entries: Vec<Entry>| Shown::of(&Recorded::default(), &entries);
        let shown = of((0..60).map(|item| entry(5, item)).chain([entry(4, 0)]).collect());
        assert_eq!((shown.entries.len(), ms(shown.older)), (60, Some(5)));
        let shown = of((0..60).map(|item| entry(i64::from(item), item)).collect());
        assert_eq!((shown.entries.len(), ms(shown.older)), (50, Some(10)));
        let shown = of(vec![entry(1, 0)]);
        assert_eq!((shown.entries.len(), ms(shown.older)), (1, None));
        assert!(of(Vec::new()).entries.is_empty());
    }

    #[test]
    fn entries_up_to_the_unread_ones_are_left_to_the_next_page() {
        let of = |entries: Vec<Entry>, unread: i64| {
            let unread_until = Timestamp::from_millisecond(unread).ok();
            Shown::of(&Recorded { entries, unread_until, dropped: None }, &[entry(2, 0)])
        };
        let shown = of(vec![entry(9, 0), entry(5, 0), entry(5, 1)], 5);
        assert_eq!((shown.entries.len(), ms(shown.older), shown.is_cut), (1, Some(9), false));
        let shown = of(vec![entry(5, 0), entry(5, 1)], 5);
        assert_eq!((shown.entries.len(), ms(shown.older), shown.is_cut), (2, Some(5), true));
    }
}
