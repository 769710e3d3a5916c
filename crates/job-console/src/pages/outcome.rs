//! The outcome of one operation on many jobs: the jobs that it has changed, by their audit records,
//! and the progress of the runs that it has requested.
//!
//! The address has the author, the operation and the interval of the records, so that it can be
//! opened again later.

use coordination::AuditRecord;
use jiff::Timestamp;
use maud::{Markup, html};
use operations::{JobSnapshot, Recorded, item_briefs};

use super::cx::Cx;
use super::query::{Address, encoded};
use super::reasons::sentence;
use super::shell::{Body, Section};
use super::summary::moment;
use super::view::Snapshots;
use super::widgets::{Column, PAGE, empty, live_table, page_number, pager};
use crate::problem::{Answer, Problem};
use crate::requests::Asked;

/// The operation, as the address has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    who: String,
    act: String,
    /// Times of the first and of the last record.
    from: Timestamp,
    until: Timestamp,
}

impl Outcome {
    pub(crate) fn of(address: &Address) -> Answer<Self> {
        let text = |name: &str| {
            let value = address.value(name).map(str::to_owned);
            value.ok_or_else(|| {
                let valid = "valid is the address that an operation on many jobs leads to";
                Problem::invalid(format!("{name} is missing; {valid}"))
            })
        };
        let time = |name: &str| {
            let value = text(name)?;
            value.parse::<Timestamp>().map_err(|_| {
                let valid = "valid is a UTC time such as 2024-02-29T12:00:00Z";
                Problem::invalid(format!("{name} is {value:?}; {valid}"))
            })
        };
        Ok(Self {
            who: text("who")?,
            act: text("act")?,
            from: time("from")?,
            until: time("until")?,
        })
    }

    /// Returns the path of the page about these records of one operation; `None` without any.
    pub(super) fn path(records: &[Recorded]) -> Option<String> {
        let times = || records.iter().map(|one| one.record.at_ms);
        let first = &records.first()?.record;
        let (from, until) = (moment(times().min())?, moment(times().max())?);
        let (who, act) = (encoded(&first.who), encoded(&first.act));
        Some(format!("outcome?act={act}&who={who}&from={from}&until={until}"))
    }

    fn has(&self, record: &AuditRecord) -> bool {
        let is_then =
            moment(Some(record.at_ms)).is_some_and(|at| self.from <= at && at <= self.until);
        is_then && record.who == self.who && record.act == self.act
    }
}

pub(super) fn page(cx: &Cx<'_>, jobs: &Snapshots, outcome: &Outcome) -> Body {
    let lang = cx.lang();
    let of_job = |job| Some((job, JobSnapshot::audit(job).find(|record| outcome.has(record))?));
    let changed: Vec<(&JobSnapshot, &AuditRecord)> = jobs.configured().filter_map(of_job).collect();
    let (total, number) = (changed.len(), page_number(cx, changed.len()));
    let shown = changed.iter().skip((number - 1) * PAGE).take(PAGE);
    let rows: Vec<_> = shown.map(|(job, record)| row(cx, job, record)).collect();
    let why = changed.first().map(|(_, record)| record.why.as_str());
    let main = html! {
        h1 { (sentence(&lang.audited_act(&outcome.act))) (cx.lang().colon()) (cx.live_inline("found", &html! { (lang.found(total)) })) }
        p.sub {
            (lang.by(&outcome.who)) " " (cx.when(outcome.from, None))
            @if let Some(why) = why { (cx.lang().colon()) (why) }
        }
        section.card aria-label=(lang.result()) {
            @if rows.is_empty() {
                (cx.live("rows", &empty(&lang.no_records(), &lang.no_records_hint(), None)))
            } @else { (table(cx, rows)) }
        }
        (cx.live("pager", &pager(cx, number, total)))
    };
    let crumbs = vec![(lang.jobs(), cx.here("jobs"))];
    Body { title: lang.result(), crumbs, section: Section::Jobs, main, is_live: true }
}

fn table(cx: &Cx<'_>, rows: Vec<(String, Markup)>) -> Markup {
    let lang = cx.lang();
    let columns = [lang.job(), lang.target(), lang.result()].map(Column::Text);
    live_table(cx, "rows", columns, rows)
}

fn row(cx: &Cx<'_>, job: &JobSnapshot, record: &AuditRecord) -> (String, Markup) {
    let name = job.job().as_str();
    let id = format!("o-{}", encoded(name));
    let items = (record.act == "trigger").then(|| item_briefs(job));
    let asked = items.as_ref().map(|items| Asked::of(job, items, record));
    let request = asked.as_ref().map(|_| format!("?request={}", encoded(&record.id)));
    let row = html! {
        tr id=(id) {
            th scope="row" { a href={ (cx.job(name)) (request.unwrap_or_default()) } { (name) } }
            td.text { (record.target) }
            td.text {
                @match &asked {
                    Some(asked) => (asked.progress(cx)),
                    None => (cx.lang().changed()),
                }
            }
        }
    };
    (id, row)
}
