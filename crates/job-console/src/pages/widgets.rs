//! Small parts that several pages share.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use operations::{Attention, ItemBrief, ItemState, JobLine, JobState, ProgressBrief};

use super::cx::Cx;
use super::history::Dropped;
use super::query::encoded;
use super::summary::Since;
use super::time::with_times;
use crate::access::Permission;

/// Number of rows of one page of a list.
pub(crate) const PAGE: usize = 50;

/// Returns the reason why the history does not answer.
pub(crate) fn history_fault(cx: &Cx<'_>, fault: &str) -> Markup {
    html! { p.why.bad { (cx.lang().history_failed()) " " span lang="en" { (fault) } } }
}

/// Returns the records that the history lacks, so that a missing run is not taken for one that was
/// not started.
pub(crate) fn history_gap(cx: &Cx<'_>, dropped: Option<Dropped>) -> Markup {
    let Some(Dropped { records, first, last }) = dropped else { return html! {} };
    html! {
        p.why {
            b { (cx.lang().history_lacks(records)) } " "
            (cx.when(first, None)) " – " (cx.when(last, None)) ". " (cx.lang().history_lacks_hint())
        }
    }
}

/// Returns a state as a coloured word. The style sheet puts a sign before it.
pub(crate) fn pill(class: &str, word: &str) -> Markup {
    html! { span class={ "st " (class) } { (word) } }
}

/// Returns the state of a job, or the reason why it needs attention.
pub(crate) fn job_state(cx: &Cx<'_>, job: &JobLine) -> Markup {
    let lang = cx.lang();
    match job.attention(cx.now.as_millisecond()) {
        Some(attention) => pill(attention_class(attention), &lang.attention(attention)),
        None if job.status == JobState::Ok && job.running_items > 0 => pill("run", &lang.running()),
        None => pill(state_class(job.status), &lang.job_state(job.status)),
    }
}

pub(crate) fn attention_class(attention: Attention) -> &'static str {
    match attention {
        Attention::Crashed | Attention::InvalidConfig | Attention::Failing => "fail",
        Attention::Late
        | Attention::NoInstance
        | Attention::Resharding
        | Attention::Paused
        | Attention::PartlyPaused => "wait",
        _ => "wait",
    }
}

fn state_class(state: JobState) -> &'static str {
    match state {
        JobState::Ok => "done",
        JobState::Failing | JobState::Crashed => "fail",
        JobState::Resharding | JobState::Paused | JobState::NoInstance => "wait",
        JobState::Disabled => "off",
        _ => "wait",
    }
}

/// Returns the class and the word of an item's state, the most important fact first.
pub(crate) fn item_state(cx: &Cx<'_>, item: &ItemBrief) -> (&'static str, String) {
    let lang = cx.lang();
    if item.running && item.failover {
        return ("over", lang.taken_over());
    }
    if item.running {
        return ("run", lang.running());
    }
    if item.orphaned {
        return ("wait", lang.orphaned());
    }
    match (item.status, item.outcome) {
        (ItemState::Disabled, _) => ("off", lang.disabled()),
        (ItemState::Unowned, _) => ("wait", lang.no_owner()),
        (_, Some(word)) if item.failing => ("fail", lang.outcome(word)),
        (_, Some("succeeded")) => ("done", lang.outcome("succeeded")),
        (_, Some(word)) => ("off", lang.outcome(word)),
        (ItemState::Running | ItemState::Pending, None) => ("off", lang.waiting()),
    }
}

/// Outcomes of runs that did not succeed, in the order of filters.
pub(crate) const FAILURES: [&str; 4] = ["failed", "panicked", "timed_out", "interrupted"];

/// Returns the class of an outcome of the history.
pub(crate) fn outcome_class(word: &str) -> &'static str {
    match word {
        "succeeded" => "done",
        failure if FAILURES.contains(&failure) => "fail",
        "running" => "run",
        "orphaned" | "missed" | "misfired" | "gap" => "wait",
        _ => "off",
    }
}

pub(crate) fn since(cx: &Cx<'_>, since: Since, zone: Option<&str>) -> Markup {
    html! {
        (cx.when(since.at(), zone))
        @if let Since::Seen(_) = since { " " span.dim { (cx.lang().or_earlier()) } }
    }
}

/// Returns the text for a list without entries: what belongs there, and how it gets there.
pub(crate) fn empty(title: &str, text: &str, command: Option<&str>) -> Markup {
    html! {
        div.empty {
            p { b { (title) } }
            p { (text) }
            @if let Some(command) = command { pre { code { (command) } } }
        }
    }
}

/// A column of a table, with its heading.
pub(crate) enum Column {
    Text(String),
    /// Aligned at the right.
    Number(String),
}

/// Returns a table whose rows the stream sends one by one. If it is wider than the screen, it is
/// scrolled, and not the page.
pub(crate) fn live_table(
    cx: &Cx<'_>,
    id: &str,
    columns: impl IntoIterator<Item = Column>,
    rows: Vec<(String, Markup)>,
) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr {
                    @for column in columns {
                        @match column {
                            Column::Text(label) => { th scope="col" { (label) } },
                            Column::Number(label) => { th.num scope="col" { (label) } },
                        }
                    }
                } }
                (cx.live_rows(id, rows))
            }
        }
    }
}

/// Returns a field of a form of filters, with its value in the address.
pub(crate) fn search_field(cx: &Cx<'_>, name: &str, label: &str) -> Markup {
    let id = format!("by-{name}");
    html! {
        div.field {
            label for=(id) { (label) }
            input id=(id) name=(name) type="search" maxlength="128"
                value=(cx.address.value(name).unwrap_or_default());
        }
    }
}

/// Returns the numbers of entries by the value of a filter, each a link to these entries. A value
/// without entries is left out, unless it is chosen; the empty one is that of all.
pub(crate) fn numbers<'a>(
    cx: &Cx<'_>,
    filter: &str,
    title: &str,
    values: impl IntoIterator<Item = (&'a str, String, usize)>,
) -> Markup {
    let chosen = cx.address.value(filter).unwrap_or_default();
    let is_shown = |value: &str, n: usize| n > 0 || value.is_empty() || value == chosen;
    html! {
        nav.states aria-label=(title) {
            @for (value, label, n) in values.into_iter().filter(|(value, _, n)| is_shown(value, *n)) {
                a href=(cx.with(&[(filter, value), ("page", "")]))
                    aria-current=[(value == chosen).then_some("true")] {
                    (label) " " b.n { (n) }
                }
            }
        }
    }
}

/// Returns links to the neighbouring pages of a list.
pub(crate) fn pager(cx: &Cx<'_>, page: usize, total: usize) -> Markup {
    pager_of(cx, page, total, PAGE)
}

/// Returns links to the neighbouring pages of `size` entries.
pub(crate) fn pager_of(cx: &Cx<'_>, page: usize, total: usize, size: usize) -> Markup {
    let pages = total.div_ceil(size).max(1);
    let to = |page: usize| cx.with(&[("page", &page.to_string())]);
    html! {
        @if pages > 1 {
            nav.pager aria-label=(cx.lang().pages()) {
                @if page > 1 { a href=(to(page - 1)) rel="prev" { (cx.lang().previous()) } }
                span { (cx.lang().page_of(page, pages)) }
                @if page < pages { a href=(to(page + 1)) rel="next" { (cx.lang().next()) } }
            }
        }
    }
}

/// Returns the page that the address asks for, which exists.
pub(crate) fn page_number(cx: &Cx<'_>, total: usize) -> usize {
    page_number_of(cx, total, PAGE)
}

/// Returns the page of `size` entries that the address asks for, which exists.
pub(crate) fn page_number_of(cx: &Cx<'_>, total: usize, size: usize) -> usize {
    cx.address.number("page").unwrap_or(1).clamp(1, total.div_ceil(size).max(1))
}

/// Returns a link to an operation on a job, if the caller may use it. `query` is empty, or names
/// the part of the job, such as `?item=0`.
///
/// The id of the link is unique if no other link to this operation is in the same place. The script
/// matches the elements of a page by their ids. Without one, a link that has the focus would become
/// its neighbour when a link before it disappears.
pub(crate) fn act(
    cx: &Cx<'_>,
    place: &str,
    permission: Permission,
    job: &str,
    (word, query): (&str, &str),
) -> Markup {
    let is_allowed = cx.may(permission, Some(job));
    html! {
        @if is_allowed {
            a.button id={ (place) "-" (word) } href={ (cx.job(job)) "/act/" (word) (query) } data-dialog {
                (cx.lang().act_title(word)) "…"
            }
        }
    }
}

/// Returns a link to the cancellation of all runs for a fire, if the caller may cancel runs. The
/// place makes its id unique.
pub(crate) fn cancel_fire(cx: &Cx<'_>, place: &str, job: &str, fire: Timestamp) -> Markup {
    let query = format!("?fire={}", encoded(&fire.to_string()));
    html! {
        @if cx.may(Permission::Cancel, Some(job)) {
            a.button id={ (place) "-cancel-fire" } href={ (cx.job(job)) "/act/cancel" (query) } data-dialog {
                (cx.lang().cancel_fire()) "…"
            }
        }
    }
}

/// Returns the effect of a change of a target, or why there is none.
pub(crate) fn effect_text(cx: &Cx<'_>, text: &str) -> Markup {
    translated(cx, None, cx.lang().effect_of_change(text), text)
}

/// Returns a sentence of another crate: in the language of the reader if it has a translation, and
/// otherwise as it is written.
pub(crate) fn translated(
    cx: &Cx<'_>,
    zone: Option<&str>,
    translation: Option<String>,
    text: &str,
) -> Markup {
    match translation {
        Some(shown) => with_times(cx, zone, &shown),
        None => html! { span lang="en" { (with_times(cx, zone, text)) } },
    }
}

/// Returns the reason of an outcome of the history. Those of failures are texts of the job.
pub(crate) fn reason_of_outcome(cx: &Cx<'_>, outcome: &str, reason: Option<&str>) -> Markup {
    match reason {
        None => html! {},
        Some(text) => match cx.lang().reason_of_outcome(outcome, text) {
            Some(shown) => with_times(cx, None, &shown),
            None => html! { (text) },
        },
    }
}

/// Returns a duration as a bar against the median, and in words.
pub(crate) fn bar(class: &str, length: SignedDuration, median: Option<SignedDuration>) -> Markup {
    const WIDTH: i64 = 96;
    let Some(median) = median.filter(|median| median.is_positive()) else { return html! {} };
    let full = (median.as_millis() * 5 / 2).max(length.as_millis()).max(1);
    let scaled = |part: SignedDuration| {
        i64::try_from(part.as_millis() * i128::from(WIDTH) / full).unwrap_or(WIDTH)
    };
    let (width, mark) = (scaled(length).clamp(1, WIDTH), scaled(median));
    html! {
        svg class={ "d " (class) } width=(WIDTH) height="7" viewBox="0 0 96 7" aria-hidden="true" {
            rect.track width=(WIDTH) height="7" rx="3" {}
            rect.fill width=(width) height="7" rx="3" {}
            rect.mark x=(mark) width="1" height="7" {}
        }
    }
}

/// Returns the progress of a run as a bar, if its total is known, and in words.
pub(crate) fn progress(reported: &ProgressBrief) -> Markup {
    let ProgressBrief { done, total, percent, message, .. } = reported;
    html! {
        span.dim {
            @if let Some(percent) = percent {
                (percent_bar(usize::from(*percent))) " "
            }
            (done) @if let Some(total) = total { " / " (total) }
            @if let Some(percent) = percent { " · " (percent) " %" }
        }
        @if !message.is_empty() { " " span.cut title=(message) { (message) } }
    }
}

fn percent_bar(percent: usize) -> Markup {
    html! {
        svg.d.run width="50" height="7" viewBox="0 0 50 7" aria-hidden="true" {
            rect.track width="50" height="7" rx="3" {}
            rect.fill width=(percent.min(100) / 2) height="7" rx="3" {}
        }
    }
}

/// Returns a part of a whole as a bar.
pub(crate) fn progress_bar(done: usize, total: usize) -> Markup {
    percent_bar(done.saturating_mul(100).checked_div(total).unwrap_or_default())
}

/// Returns the address of an instance without its process, for a narrow column.
pub(crate) fn short(instance: &str) -> &str {
    instance.split("@-@").next().unwrap_or(instance)
}

/// Returns an instance as a link to its server, with the whole id on hover.
pub(crate) fn instance(cx: &Cx<'_>, id: &str) -> Markup {
    html! { a href=(cx.server(short(id))) title=(id) { (short(id)) } }
}

/// Returns the duration between two times that are known.
pub(crate) fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<SignedDuration> {
    Some(to?.duration_since(from?).max(SignedDuration::ZERO))
}
