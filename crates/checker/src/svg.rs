//! Timeline of a run as SVG: fires as lines, runs as bars, faults as bands, violations as red
//! marks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::history::{ExecEvent, Fact, NemesisEvent, RunId};
use crate::slot::Slot;
use crate::{History, Report};

const WIDTH: f64 = 1_600.0;
const LEFT: f64 = 160.0;
const ROW: f64 = 22.0;

/// A period in one row.
struct Bar {
    row: usize,
    from: u64,
    until: u64,
    colour: &'static str,
    text: String,
}

/// Rows from top to bottom: processes first, then items of jobs with their slots.
#[derive(Default)]
struct Rows(BTreeMap<(u8, String, Slot), ()>);

impl Rows {
    fn of(history: &History) -> Self {
        let mut rows = Self::default();
        for record in history.records() {
            match &record.fact {
                Fact::Nemesis { target, .. } => rows.add(process(target)),
                Fact::Process { .. } => rows.add(process(&record.p)),
                Fact::Exec { run, .. } => rows.add(item(run)),
                _ => {}
            }
        }
        rows
    }

    fn add(&mut self, key: (u8, String, Slot)) {
        self.0.insert(key, ());
    }

    fn place(&self, key: &(u8, String, Slot)) -> usize {
        self.0.range(..key).count()
    }
}

fn process(name: &str) -> (u8, String, Slot) {
    (0, name.to_owned(), Slot::first(0))
}

fn item(run: &RunId) -> (u8, String, Slot) {
    (1, run.job.clone(), Slot::of(run))
}

/// Draws a history as SVG.
#[must_use]
pub fn timeline(history: &History, report: &Report) -> String {
    let records = history.records();
    let (first, last) = match (records.first(), records.last()) {
        (Some(first), Some(last)) => (first.mt, last.mt.max(first.mt + 1)),
        _ => (0, 1),
    };
    let span = (last - first) as f64;
    let x = |mt: u64| LEFT + mt.saturating_sub(first) as f64 / span * (WIDTH - LEFT - 10.0);
    let rows = Rows::of(history);
    let height = (rows.0.len() as f64 + 3.0) * ROW;

    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| {
        writeln!(out, "{text}").expect("writing to a string cannot fail");
    };
    line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">"#
    ));
    line(format_args!(r#"<text x="4" y="14">{}: {}</text>"#, report.verdict, escape(&report.run)));
    for record in records {
        if let Fact::Fire { .. } = record.fact {
            let at = x(record.mt);
            line(format_args!(
                r##"<line x1="{at:.1}" x2="{at:.1}" y1="{ROW}" y2="{height}" stroke="#ddd"/>"##
            ));
        }
    }
    for Bar { row, from, until, colour, text } in bars(history, &rows, last) {
        let (at, y) = (x(from), (row as f64 + 1.5) * ROW);
        let width = (x(until) - at).max(1.0);
        line(format_args!(
            r#"<rect x="{at:.1}" y="{y}" width="{width:.1}" height="14" fill="{colour}"><title>{}</title></rect>"#,
            escape(&text)
        ));
    }
    for (row, (kind, name, slot)) in rows.0.keys().enumerate() {
        let y = (row as f64 + 2.0) * ROW;
        let number = if *kind == 1 { format!(" {slot}") } else { String::new() };
        line(format_args!(r#"<text x="4" y="{y}">{}{number}</text>"#, escape(name)));
    }
    for violation in &report.violations {
        let at = x(violation.at.mt);
        line(format_args!(
            r#"<line x1="{at:.1}" x2="{at:.1}" y1="{ROW}" y2="{height}" stroke="red"><title>{}</title></line>"#,
            escape(&violation.to_string())
        ));
    }
    line(format_args!("</svg>"));
    out
}

/// Returns the runs and faults. A run or fault without an end lasts until the end of the history.
fn bars(history: &History, rows: &Rows, last: u64) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for record in history.records() {
        let mt = record.mt;
        let (key, begins, lasts, row, colour, text) = match &record.fact {
            Fact::Exec { ev, run, source, .. } => {
                let text = format!("{} {source} {} token {}", record.p, run.fire, run.token);
                let key = format!("{} {} {run:?}", record.p, record.inc);
                (key, *ev == ExecEvent::Start, true, item(run), of_source(source), text)
            }
            Fact::Nemesis { ev, kind, target, .. } => {
                let begins = *ev != NemesisEvent::End;
                let lasts = *ev != NemesisEvent::Point;
                (
                    format!("{kind} {target}"),
                    begins,
                    lasts,
                    process(target),
                    "#f4b183",
                    kind.clone(),
                )
            }
            _ => continue,
        };
        if begins {
            let until = if lasts { last } else { mt };
            bars.push(Bar { row: rows.place(&row), from: mt, until, colour, text });
            if lasts {
                open.insert(key, bars.len() - 1);
            }
        } else if let Some(begun) = open.remove(&key) {
            bars[begun].until = mt;
        }
    }
    bars
}

fn of_source(source: &str) -> &'static str {
    match source {
        "MISFIRE" => "#ffd966",
        "FAILOVER" => "#c9a0dc",
        "MANUAL" => "#9fc5e8",
        _ => "#93c47d",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
