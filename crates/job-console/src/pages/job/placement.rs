//! Tab "Placement": the owners of the items, and a dry run of a change.

use std::collections::BTreeMap;

use coordination::{InvalidConfig, ServerIp, server_of};
use maud::{Markup, html};
use operations::{JobSnapshot, MovePlan, WhatIf, plan_moves};
use sharding::{InstanceId, PlacementRules, ShardingItem, StrategyRegistry};

use crate::access::Permission;
use crate::pages::cx::Cx;
use crate::pages::query::encoded;
use crate::pages::shell::choice;
use crate::pages::widgets::{act, instance, pill};

/// Maximum number of moves that are listed. All are counted.
const MAX_MOVES: usize = 200;

/// Returns true if the tab is kept current. A dry run is computed once: it is expensive for many
/// items, and the reader compares it with the owners at that time.
pub(super) fn is_live(cx: &Cx<'_>) -> bool {
    !asks(cx)
}

/// Returns true if the address asks for a dry run.
fn asks(cx: &Cx<'_>) -> bool {
    ["without", "strategy", "count", "placement"].iter().any(|it| cx.address.has(it))
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
                    h2 #plan-title { (lang.dry_run()) }
                    p.dim { (lang.dry_run_hint()) }
                    (form(cx, job))
                    (plan(cx, job))
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

fn member_state(cx: &Cx<'_>, job: &JobSnapshot, id: &InstanceId) -> Markup {
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
fn ranges(items: &[ShardingItem]) -> String {
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

fn form(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    let servers: Vec<String> = job.view().servers().map(|(ip, _)| ip.to_string()).collect();
    let options: Vec<(&str, String)> = std::iter::once(("", lang.none()))
        .chain(servers.iter().map(|ip| (ip.as_str(), ip.clone())))
        .collect();
    let strategies = StrategyRegistry::default();
    let names = strategies.names();
    let known: Vec<(&str, String)> = std::iter::once(("", lang.as_now()))
        .chain(names.iter().map(|name| (&**name, (*name).to_owned())))
        .collect();
    let value = |name: &str| cx.address.value(name).unwrap_or_default();
    html! {
        form.filters data-keep action={ (cx.job(job.job().as_str())) "/placement" } {
            (choice("without", &lang.without_server(), &options, value("without")))
            (choice("strategy", &lang.strategy(), &known, value("strategy")))
            div.field {
                label for="plan-count" { (lang.other_count()) }
                input #plan-count name="count" type="number" min="1" max="100000" value=(value("count"));
            }
            div.field {
                label for="plan-placement" { (lang.placement_rules()) }
                input #plan-placement name="placement" value=(value("placement"));
            }
            button type="submit" { (lang.compute()) }
        }
    }
}

/// Returns the change that the address describes; `None` if it describes none.
///
/// # Errors
/// The placement rules are not valid.
fn what_if(cx: &Cx<'_>) -> Result<Option<WhatIf>, InvalidConfig> {
    if !asks(cx) {
        return Ok(None);
    }
    let without = cx.address.value("without").and_then(|ip| ServerIp::new(ip).ok());
    let rules = cx.address.value("placement").map(PlacementRules::parse);
    let placement = rules.transpose().map_err(|error| InvalidConfig::placement(&error))?;
    Ok(Some(WhatIf::default().with(|it| {
        it.disable = without.into_iter().collect();
        it.total_count = cx.address.number("count").and_then(|count| u32::try_from(count).ok());
        it.strategy = cx.address.value("strategy").map(str::to_owned);
        it.placement = placement;
    })))
}

fn plan(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let what_if = match what_if(cx) {
        Ok(None) => return html! {},
        Ok(Some(what_if)) => what_if,
        Err(error) => return html! { p.why.bad { (error) } },
    };
    match plan_moves(job, &what_if, &StrategyRegistry::default(), cx.now.as_millisecond()) {
        Ok(plan) => planned(cx, &plan),
        Err(fault) => html! { p.why.bad { (fault) } },
    }
}

fn planned(cx: &Cx<'_>, plan: &MovePlan) -> Markup {
    let lang = cx.lang();
    let waiting = plan.moves.iter().filter(|planned| planned.waits).count();
    html! {
        p.why.neutral {
            b { (lang.n_moves(plan.moves.len(), waiting)) } " "
            @if plan.no_available_instance { (lang.no_instance_left()) }
            @else { (lang.members_then(plan.members.len())) }
            @if plan.java_leads { " " (lang.java_leads()) }
        }
        @if !plan.moves.is_empty() {
            div.scroll {
                table {
                    thead { tr {
                        th.num scope="col" { (lang.item()) }
                        th scope="col" { (lang.from()) }
                        th scope="col" { (lang.to()) }
                        th scope="col" { (lang.when()) }
                        th scope="col" { (lang.reason()) }
                    } }
                    tbody {
                        @for planned in plan.moves.iter().take(MAX_MOVES) {
                            tr {
                                td.num { (planned.item) }
                                td { (planned.from.as_deref().unwrap_or("–")) }
                                td { (planned.to.as_deref().unwrap_or("–")) }
                                td { @if planned.waits { (lang.after_run()) } @else { (lang.at_once()) } }
                                td.text { (lang.placement_reason(&planned.reason)) }
                            }
                        }
                    }
                }
            }
        }
        @let more = plan.moves.len().saturating_sub(MAX_MOVES);
        @if more > 0 { p.dim { (lang.and_more(more)) } }
        (reasons(cx, plan))
    }
}

/// Returns the reasons for the owners of all items, moved or not.
fn reasons(cx: &Cx<'_>, plan: &MovePlan) -> Markup {
    let lang = cx.lang();
    let mut by_reason: BTreeMap<&str, Vec<ShardingItem>> = BTreeMap::new();
    for planned in &plan.items {
        by_reason.entry(&planned.reason).or_default().push(ShardingItem::new(planned.item));
    }
    html! {
        div.scroll {
            table {
                thead { tr {
                    th scope="col" { (lang.reason()) }
                    th.num scope="col" { (lang.items()) }
                    th scope="col" { (lang.item_numbers()) }
                } }
                tbody {
                    @for (reason, items) in &by_reason {
                        tr {
                            th scope="row" { (lang.placement_reason(reason)) }
                            td.num { (items.len()) }
                            td.text { (ranges(items)) }
                        }
                    }
                }
            }
        }
    }
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
