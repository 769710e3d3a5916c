//! Tab "Placement": the owners of the items, and a dry run of a change.

use std::collections::BTreeMap;

use coordination::server_of;
use maud::{Markup, html};
use operations::JobSnapshot;
use sharding::{InstanceId, ShardingItem};

use super::dry_run;
use crate::access::Permission;
use crate::pages::cx::Cx;
use crate::pages::query::encoded;
use crate::pages::widgets::{act, instance, pill};

/// Returns true if the tab is kept current. A dry run is computed once: it is expensive for many
/// items, and the reader compares it with the owners at that time.
pub(super) fn is_live(cx: &Cx<'_>) -> bool {
    !dry_run::is_requested(cx)
}

pub(super) fn tab(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    html! {
        div.cols {
            div.stack {
                section.card aria-labelledby="owners-title" {
                    h2 #owners-title { (lang.owners()) }
                    (cx.live("owners", &owners(cx, job)))
                }
                section.card aria-labelledby="plan-title" {
                    (dry_run::card(cx, job))
                }
            }
        }
    }
}

fn owners(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    let mut owned: BTreeMap<InstanceId, Vec<ShardingItem>> =
        job.instances().into_iter().map(|id| (id, Vec::new())).collect();
    let mut unowned = Vec::new();
    for item in job.items() {
        match job.owner(item) {
            Some(owner) => owned.entry(owner.clone()).or_default().push(item),
            None => unowned.push(item),
        }
    }
    let may_shut_down = cx.may(Permission::ShutDown, Some(job.job().as_str()));
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.instance()) }
                    th scope="col" { (lang.state()) }
                    th.num scope="col" { (lang.items()) }
                    th scope="col" { (lang.item_numbers()) }
                    @if may_shut_down { th scope="col" { (lang.operations()) } }
                } }
                tbody {
                    @for (id, items) in &owned {
                        @let row = format!("o-{}", encoded(id.as_str()));
                        tr id=(row) {
                            th scope="row" {
                                (instance(cx, id.as_str()))
                                @let attributes = job.view().attributes_of(id).unwrap_or_default();
                                @if !attributes.is_default() { " " code { (attributes) } }
                            }
                            td { (member_state(cx, job, id)) }
                            td.num { (items.len()) }
                            td.text { (ranges(items)) }
                            @if may_shut_down { td.nowrap { (shut_down(cx, &row, job, id)) } }
                        }
                    }
                    @if !unowned.is_empty() {
                        tr {
                            th scope="row" { "–" }
                            td { (pill("wait", &lang.no_owner())) }
                            td.num { (unowned.len()) }
                            td.text { (ranges(&unowned)) }
                            @if may_shut_down { td {} }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the link to the shutdown of an instance that is registered.
fn shut_down(cx: &Cx<'_>, row: &str, job: &JobSnapshot, id: &InstanceId) -> Markup {
    let query = format!("?instance={}", encoded(id.as_str()));
    html! {
        @if job.view().is_registered(id) {
            (act(cx, row, Permission::ShutDown, job.job().as_str(), ("shut-down", &query)))
        }
    }
}

pub(super) fn member_state(cx: &Cx<'_>, job: &JobSnapshot, id: &InstanceId) -> Markup {
    let lang = cx.lang();
    let view = job.view();
    let server = server_of(id).and_then(|ip| view.server_state(&ip));
    html! {
        @if !view.is_registered(id) { (pill("fail", &lang.gone())) }
        @else if view.is_draining(id) { (pill("wait", &lang.leaving())) }
        @else if let Some(unmet) = view.unmet_condition(id) {
            (pill("wait", &lang.needs_label(&unmet.to_string())))
        }
        @else if let Some(state) = server { (lang.server_pill(state)) }
        @else { (pill("wait", &lang.no_record())) }
        @if view.leader() == Some(id) { " " span.label { (lang.leader()) } }
        @if job.is_java(id) == Some(true) { " " span.label { "Java" } }
    }
}

/// Returns item numbers as ranges, such as `0–3, 7`.
pub(super) fn ranges(items: &[ShardingItem]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for index in items.iter().map(|item| item.index()) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            Some(_) | None => runs.push((index, index)),
        }
    }
    let text = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}–{last}") }
    };
    runs.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_numbers_are_merged_to_ranges() {
        for (items, expected) in
            [(&[][..], ""), (&[3], "3"), (&[0, 1, 2, 3, 7, 9, 10], "0–3, 7, 9–10")]
        {
            let items: Vec<_> = items.iter().map(|item| ShardingItem::new(*item)).collect();
            assert_eq!(ranges(&items), expected);
        }
    }
}
