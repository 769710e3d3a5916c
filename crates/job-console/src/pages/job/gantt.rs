//! Drawings of fires: bars of the last ones, and the runs of one over time. They are SVG, because
//! the content security policy allows no style attributes.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use job_history::FireRecord;
use maud::{Markup, html};

use crate::pages::cx::Cx;
use crate::pages::widgets::{between, outcome_class, short};

/// Number of fires that are drawn as bars.
const BARS: usize = 24;
/// Width of a drawing, in its own units.
const WIDTH: i64 = 720;
const ROW: usize = 18;
/// Width of the labels before the runs.
const LABELS: i64 = 130;

/// A fire of a job: its items in the order of the history.
#[derive(Clone, Debug)]
pub(super) struct Fire<'a> {
    pub(super) at: Timestamp,
    pub(super) items: Vec<&'a FireRecord>,
}

impl Fire<'_> {
    /// Returns the outcome that matters most.
    pub(super) fn worst(&self) -> &str {
        let rank = |record: &&&FireRecord| match outcome_class(record.outcome.as_str()) {
            "fail" => 3,
            "wait" => 2,
            "run" => 1,
            _ => 0,
        };
        self.items.iter().max_by_key(rank).map_or("unknown", |record| record.outcome.as_str())
    }

    /// Returns the first start and the last end of its runs.
    pub(super) fn span(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        let began = self.items.iter().filter_map(|record| record.began).min();
        let ended = self.items.iter().filter_map(|record| record.ended).max();
        (began, ended)
    }

    pub(super) fn length(&self) -> Option<SignedDuration> {
        let (began, ended) = self.span();
        between(began, ended)
    }

    pub(super) fn succeeded(&self) -> usize {
        self.items.iter().filter(|record| record.outcome.as_str() == "succeeded").count()
    }
}

/// Groups the rows of items by their fire, the latest first.
pub(super) fn fires(records: &[FireRecord]) -> Vec<Fire<'_>> {
    let mut by_time: BTreeMap<Timestamp, Vec<&FireRecord>> = BTreeMap::new();
    for record in records {
        by_time.entry(record.fire).or_default().push(record);
    }
    for items in by_time.values_mut() {
        items.sort_by_key(|record| record.item);
    }
    by_time.into_iter().rev().map(|(at, items)| Fire { at, items }).collect()
}

/// Returns the bars of the last fires, and their figures.
pub(super) fn spark(cx: &Cx<'_>, records: &[FireRecord], median: Option<SignedDuration>) -> Markup {
    const HEIGHT: i128 = 56;
    const STEP: usize = 11;
    let lang = cx.lang();
    let mut last = fires(records);
    last.truncate(BARS);
    last.reverse();
    let lengths: Vec<i128> =
        last.iter().map(|fire| fire.length().map_or(0, |length| length.as_millis())).collect();
    let longest = lengths.iter().copied().max().unwrap_or(0).max(1);
    let failed = last.iter().filter(|fire| outcome_class(fire.worst()) == "fail").count();
    let missed = records.iter().filter(|record| record.outcome.as_str() == "missed").count();
    let slowest = last.iter().filter_map(Fire::length).max();
    html! {
        svg.spark viewBox="0 0 264 56" preserveAspectRatio="none" role="img"
            aria-label=(lang.spark_label(last.len(), failed)) {
            @for (index, (fire, length)) in last.iter().zip(&lengths).enumerate() {
                @let height = (length * HEIGHT / longest).max(3);
                rect class=(outcome_class(fire.worst())) x=(index * STEP) y=(HEIGHT - height)
                    width=(STEP - 3) height=(height) rx="1" { title { (bar_title(cx, fire)) } }
            }
        }
        dl {
            @if let Some(median) = median { dt { (lang.median()) } dd { (cx.length(median)) } }
            @if let Some(slowest) = slowest { dt { (lang.slowest()) } dd { (cx.length(slowest)) } }
            dt { (lang.failed_fires()) } dd { (failed) " / " (last.len()) }
            dt { (lang.missed()) } dd { (missed) }
        }
    }
}

/// Returns the time, the outcome and the duration of a fire.
fn bar_title(cx: &Cx<'_>, fire: &Fire<'_>) -> String {
    let length = fire.length().map_or_else(|| "–".to_owned(), |length| cx.length(length));
    cx.lang().fire_at(&fire.at.to_string(), &cx.lang().outcome(fire.worst()), &length)
}

/// Number of parts into which the marks divide the time axis.
const PARTS: i64 = 4;
/// Height of the time axis.
const AXIS: usize = 20;

/// Returns the time axis: marks with the time since the first start.
fn axis(cx: &Cx<'_>, total_ms: i128, height: usize) -> Markup {
    let top = height - AXIS;
    let marks = (0..=PARTS).map(|part| {
        let x = LABELS + (WIDTH - LABELS) * part / PARTS;
        let ms = i64::try_from(total_ms * i128::from(part) / i128::from(PARTS)).unwrap_or(i64::MAX);
        // The texts at the ends stay within the drawing.
        let anchor = match part {
            0 => "start",
            PARTS => "end",
            _ => "middle",
        };
        (x, anchor, format!("+{}", cx.length(SignedDuration::from_millis(ms))))
    });
    html! {
        g.axis {
            @for (x, anchor, label) in marks {
                line x1=(x) x2=(x) y1="0" y2=(top + 4) {}
                text.note x=(x) y=(top + 16) text-anchor=(anchor) { (label) }
            }
        }
    }
}

/// Returns the runs of one fire over time, one row for each item.
pub(super) fn gantt(cx: &Cx<'_>, fire: &Fire<'_>) -> Markup {
    let (began, ended) = fire.span();
    let Some(first) = began else { return html! {} };
    let last = ended.unwrap_or(first).max(first);
    let last =
        if fire.items.iter().any(|item| item.ended.is_none()) { cx.now.max(last) } else { last };
    let total = last.duration_since(first).as_millis().max(1);
    let place = |at: Timestamp| {
        let part = at.duration_since(first).as_millis() * i128::from(WIDTH - LABELS) / total;
        LABELS + i64::try_from(part).unwrap_or(0)
    };
    let height = fire.items.len() * ROW + AXIS;
    html! {
        div.scroll {
            svg.gantt width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) } role="img"
                aria-label=(cx.lang().gantt_label()) {
                (axis(cx, total, height))
                @for (index, record) in fire.items.iter().enumerate() {
                    @let top = index * ROW;
                    @let owner = record.instance.as_ref().map_or("–", |id| short(id.as_str()));
                    text x="0" y=(top + 13) { (record.item) " · " (owner) }
                    @if let Some(from) = record.began {
                        @let to = record.ended.unwrap_or(last);
                        rect class=(outcome_class(record.outcome.as_str())) x=(place(from)) y=(top + 3)
                            width=((place(to) - place(from)).max(2)) height=(ROW - 6) rx="2" {
                            title { (record.item) ": " (cx.lang().outcome(record.outcome.as_str())) }
                        }
                    }
                    @if let Some(former) = &record.former_holder {
                        text.note x=(LABELS + 4) y=(top + 13) {
                            (cx.lang().taken_over_from()) " " (short(former.as_str()))
                        }
                    }
                }
            }
        }
    }
}
