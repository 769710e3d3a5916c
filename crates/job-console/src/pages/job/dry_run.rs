//! Dry run of a change of the placement: a form whose parts are in the address, and the moves.

use std::collections::{BTreeMap, BTreeSet};

use coordination::{ServerIp, ServerState, server_of};
use maud::{Markup, html};
use operations::{JobSnapshot, MovePlan, PlanError, WhatIf, WhatIfPart, plan_moves};
use sharding::{InstanceId, ShardingItem, StrategyRegistry};

use super::placement::{member_state, ranges};
use crate::pages::cx::Cx;
use crate::pages::query::{Address, encoded};
use crate::pages::widgets::pill;

/// Maximum number of rows of each table. All items are counted.
const MAX_ROWS: usize = 200;

/// Returns true if the address asks for a dry run.
pub(super) fn is_requested(cx: &Cx<'_>) -> bool {
    WhatIfPart::ALL.iter().any(|part| cx.address.has(part.as_str()))
}

pub(super) fn card(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    let plan = is_requested(cx).then(|| plan(cx, job));
    let fault = plan.as_ref().and_then(|plan| plan.as_ref().err());
    html! {
        h2 #plan-title { (lang.dry_run()) }
        p.dim { (lang.dry_run_hint()) }
        @if let Some(error) = fault { (refusal(cx, error)) }
        (form(cx, job, fault))
        @if let Some(Ok(plan)) = &plan { (planned(cx, plan)) }
    }
}

/// Returns the text of a part; `None` if it stays as it is. Checked boxes repeat their name. Rules
/// can be emptied, and the other parts cannot.
fn text(address: &Address, part: WhatIfPart) -> Option<String> {
    if part == WhatIfPart::Placement {
        return address.has(part.as_str()).then(|| value(address, part));
    }
    let given = given(address, part);
    (!given.is_empty()).then(|| given.join(","))
}

/// Returns the values of a part that are not blank.
fn given(address: &Address, part: WhatIfPart) -> Vec<&str> {
    let of_part = address.query.iter().filter(|(key, _)| key == part.as_str());
    of_part.map(|(_, value)| value.trim()).filter(|value| !value.is_empty()).collect()
}

fn value(address: &Address, part: WhatIfPart) -> String {
    address.value(part.as_str()).unwrap_or_default().to_owned()
}

fn plan(cx: &Cx<'_>, job: &JobSnapshot) -> Result<MovePlan, PlanError> {
    let mut what_if = WhatIf::default();
    for part in WhatIfPart::ALL {
        if let Some(text) = text(cx.address, part) {
            what_if.set(part, &text)?;
        }
    }
    plan_moves(job, &what_if, &StrategyRegistry::default(), cx.now.as_millisecond())
}

/// Returns why there is no plan, with a link to the control that is at fault.
fn refusal(cx: &Cx<'_>, error: &PlanError) -> Markup {
    html! {
        p.why.bad role="alert" {
            @if let Some(part) = error.part() {
                a href={ "#plan-" (part) } { (label(cx, part)) } " "
            }
            (cx.lang().not_valid()) " " span lang="en" { (error) }
        }
    }
}

fn label(cx: &Cx<'_>, part: WhatIfPart) -> String {
    let lang = cx.lang();
    match part {
        WhatIfPart::Join => lang.servers_to_join(),
        WhatIfPart::Joining => lang.attributes_to_join(),
        WhatIfPart::Leave => lang.instances_to_leave(),
        WhatIfPart::Disable => lang.servers_to_disable(),
        WhatIfPart::Enable => lang.servers_to_enable(),
        WhatIfPart::TotalCount => lang.other_count(),
        WhatIfPart::Strategy => lang.strategy(),
        WhatIfPart::Placement => lang.placement_rules(),
        _ => part.to_string(),
    }
}

/// Attributes of a control that is at fault: its state, and the id of the fault.
fn marks(part: WhatIfPart, fault: Option<&PlanError>) -> (Option<&'static str>, Option<String>) {
    let is_faulty = fault.is_some_and(|error| error.part() == Some(part));
    (is_faulty.then_some("true"), is_faulty.then(|| format!("plan-fault-{part}")))
}

/// Returns the fault of a part, below its control.
fn fault_of(part: WhatIfPart, fault: Option<&PlanError>) -> Markup {
    html! {
        @if let (Some(id), Some(error)) = (marks(part, fault).1, fault) {
            p.fault id=(id) lang="en" { (error) }
        }
    }
}

fn form(cx: &Cx<'_>, job: &JobSnapshot, fault: Option<&PlanError>) -> Markup {
    let lang = cx.lang();
    let page = format!("{}/placement", cx.job(job.job().as_str()));
    let (enabled, disabled) = servers(cx, job);
    html! {
        // The table of owners can be long, so the answer begins at the dry run.
        form.config.plan data-keep action={ (page) "#plan-title" } {
            (input(cx, WhatIfPart::Join, "10.0.0.8, 10.0.0.9", fault))
            (input(cx, WhatIfPart::Joining, "weight=2 zone=a disk=ssd", fault))
            (input(cx, WhatIfPart::TotalCount, "", fault))
            (picks(cx, WhatIfPart::Leave, instances(cx, job), &lang.no_instances(), fault))
            (picks(cx, WhatIfPart::Disable, enabled, &lang.none(), fault))
            (picks(cx, WhatIfPart::Enable, disabled, &lang.none(), fault))
            (strategy(cx, fault))
            (rules(cx, job, fault))
            div.acts {
                button.primary type="submit" { (lang.compute()) }
                @if is_requested(cx) { a.button href=(page) { (lang.clear()) } }
            }
        }
    }
}

/// Returns a control of one line, with an example if it is not empty.
fn input(cx: &Cx<'_>, part: WhatIfPart, example: &str, fault: Option<&PlanError>) -> Markup {
    let (is_invalid, described_by) = (marks(part, fault).0, described_by(part, example, fault));
    let is_count = part == WhatIfPart::TotalCount;
    html! {
        div.field {
            label for={ "plan-" (part) } { (label(cx, part)) }
            input id={ "plan-" (part) } name=(part) value=(given(cx.address, part).join(", "))
                autocomplete="off" autocapitalize="off" spellcheck="false"
                inputmode=[is_count.then_some("numeric")]
                placeholder=[is_count.then(|| cx.lang().as_now())]
                aria-invalid=[is_invalid] aria-describedby=[described_by];
            (fault_of(part, fault))
            (example_of(cx, part, example))
        }
    }
}

/// Returns the ids of the fault and the example of a control.
fn described_by(part: WhatIfPart, example: &str, fault: Option<&PlanError>) -> Option<String> {
    let example = (!example.is_empty()).then(|| format!("plan-example-{part}"));
    let ids: Vec<String> = marks(part, fault).1.into_iter().chain(example).collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}

fn example_of(cx: &Cx<'_>, part: WhatIfPart, example: &str) -> Markup {
    html! {
        @if !example.is_empty() {
            p.dim id={ "plan-example-" (part) } { (cx.lang().for_example()) " " code { (example) } }
        }
    }
}

fn strategy(cx: &Cx<'_>, fault: Option<&PlanError>) -> Markup {
    let part = WhatIfPart::Strategy;
    let (is_invalid, fault_id) = marks(part, fault);
    let strategies = StrategyRegistry::default();
    let (names, chosen) = (strategies.names(), value(cx.address, part));
    // A value that this console does not know is shown with its fault.
    let is_known = chosen.is_empty() || names.contains(&&*chosen);
    html! {
        div.field {
            label for={ "plan-" (part) } { (label(cx, part)) }
            select id={ "plan-" (part) } name=(part)
                aria-invalid=[is_invalid] aria-describedby=[fault_id] {
                option value="" { (cx.lang().as_now()) }
                @for name in names { option value=(name) selected[*name == *chosen] { (name) } }
                @if !is_known { option value=(chosen) selected { (chosen) } }
            }
            (fault_of(part, fault))
        }
    }
}

/// Returns the control of the placement rules. It begins with the stored ones.
fn rules(cx: &Cx<'_>, job: &JobSnapshot, fault: Option<&PlanError>) -> Markup {
    let (part, example) = (WhatIfPart::Placement, "require disk=ssd; pin 0 zone=a");
    let (is_invalid, described_by) = (marks(part, fault).0, described_by(part, example, fault));
    let stored = job.config().map(|config| config.placement.to_string());
    let shown = text(cx.address, part).or(stored).unwrap_or_default();
    html! {
        div.field {
            label for={ "plan-" (part) } { (label(cx, part)) }
            // A parser of HTML drops the first line end.
            textarea id={ "plan-" (part) } name=(part) rows="2" spellcheck="false"
                aria-invalid=[is_invalid] aria-describedby=[described_by] { "\n" (shown) }
            (fault_of(part, fault))
            (example_of(cx, part, example))
        }
    }
}

/// A name that can be chosen, and its state.
type Pick = (String, Markup);

/// Returns a box for each name. The names follow the stream; boxes that the reader has checked stay
/// checked.
fn picks(
    cx: &Cx<'_>,
    part: WhatIfPart,
    names: Vec<Pick>,
    without: &str,
    fault: Option<&PlanError>,
) -> Markup {
    let given = given(cx.address, part);
    let chosen: BTreeSet<&str> =
        given.iter().flat_map(|text| text.split(',')).map(str::trim).collect();
    // A chosen name that the job does not have is shown, so that the reader can remove it.
    let missing: Vec<Pick> = chosen
        .iter()
        .filter(|one| names.iter().all(|(name, _)| name != *one))
        .map(|name| ((*name).to_owned(), html! {}))
        .collect();
    let all: Vec<Pick> = names.into_iter().chain(missing).collect();
    let boxes = html! {
        @if all.is_empty() { p.dim { (without) } }
        ul.plain {
            @for (name, state) in &all {
                @let id = format!("plan-{part}-{}", encoded(name));
                li.check id={ "row-" (id) } {
                    input id=(id) type="checkbox" name=(part) value=(name) data-keep
                        checked[chosen.contains(name.as_str())];
                    label for=(id) { (name) }
                    (state)
                }
            }
        }
    };
    html! {
        fieldset.picks id={ "plan-" (part) } tabindex="-1" aria-describedby=[marks(part, fault).1] {
            legend { (label(cx, part)) }
            (cx.live(&format!("plan-{part}-names"), &boxes))
            (fault_of(part, fault))
        }
    }
}

/// Returns the instances that can leave, with their attributes, and the states of those that are
/// held back.
fn instances(cx: &Cx<'_>, job: &JobSnapshot) -> Vec<Pick> {
    let view = job.view();
    let pick = |id: &InstanceId| {
        let attributes = view.attributes_of(id).unwrap_or_default();
        let server = server_of(id).and_then(|ip| view.server_state(&ip));
        let is_held = server != Some(ServerState::Enabled)
            || view.is_draining(id)
            || view.unmet_condition(id).is_some();
        let state = html! {
            @if !attributes.is_default() { code { (attributes) } }
            @if is_held { (member_state(cx, job, id)) }
        };
        (id.to_string(), state)
    };
    view.instances().map(pick).collect()
}

/// Returns the servers of a job that can be disabled, and the other ones. Only states other than
/// `enabled` are shown.
fn servers(cx: &Cx<'_>, job: &JobSnapshot) -> (Vec<Pick>, Vec<Pick>) {
    let view = job.view();
    let pick = |ip: ServerIp| {
        let state = match view.server_state(&ip) {
            Some(ServerState::Enabled) => html! {},
            Some(state) => cx.lang().server_pill(state),
            None => pill("wait", &cx.lang().no_record()),
        };
        (ip.to_string(), state)
    };
    let (enabled, other): (Vec<_>, Vec<_>) =
        job.known_servers().into_iter().partition(|ip| view.is_enabled(ip));
    (enabled.into_iter().map(pick).collect(), other.into_iter().map(pick).collect())
}

fn planned(cx: &Cx<'_>, plan: &MovePlan) -> Markup {
    let lang = cx.lang();
    let waiting = plan.moves.iter().filter(|planned| planned.waits).count();
    html! {
        p.why.neutral role="status" {
            b { (lang.n_moves(plan.moves.len(), waiting)) } " "
            @if plan.no_available_instance { (lang.no_instance_left()) }
            @else { (lang.members_then(plan.members.len())) }
            @if plan.java_leads { " " (lang.java_leads()) }
        }
        @if !plan.moves.is_empty() { (moves(cx, plan)) }
        (owners(cx, plan))
    }
}

fn moves(cx: &Cx<'_>, plan: &MovePlan) -> Markup {
    let lang = cx.lang();
    html! {
        h3 #plan-moves { (lang.items_to_move()) }
        div.scroll {
            table aria-labelledby="plan-moves" {
                thead { tr {
                    th.num scope="col" { (lang.item()) }
                    th scope="col" { (lang.from()) }
                    th scope="col" { (lang.to()) }
                    th scope="col" { (lang.when()) }
                    th scope="col" { (lang.reason()) }
                } }
                tbody {
                    @for planned in plan.moves.iter().take(MAX_ROWS) {
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
        (more(cx, plan.moves.len()))
    }
}

/// Returns the number of rows that are not shown.
fn more(cx: &Cx<'_>, rows: usize) -> Markup {
    let more = rows.saturating_sub(MAX_ROWS);
    html! { @if more > 0 { p.dim { (cx.lang().and_more(more)) } } }
}

/// Returns the items of each instance after the change, moved or not, by the reasons for it. An
/// available instance without items has a row, too.
fn owners(cx: &Cx<'_>, plan: &MovePlan) -> Markup {
    let lang = cx.lang();
    let mut rows: BTreeMap<(Option<&str>, &str), Vec<ShardingItem>> = BTreeMap::new();
    for planned in &plan.items {
        let row = rows.entry((planned.owner.as_deref(), &planned.reason)).or_default();
        row.push(ShardingItem::new(planned.item));
    }
    let owners: BTreeSet<Option<&str>> = rows.keys().map(|(owner, _)| *owner).collect();
    for id in plan.members.iter().filter(|id| !owners.contains(&Some(id.as_str()))) {
        rows.insert((Some(id), ""), Vec::new());
    }
    html! {
        h3 #plan-owners { (lang.all_items_then()) }
        div.scroll {
            table aria-labelledby="plan-owners" {
                thead { tr {
                    th scope="col" { (lang.owner()) }
                    th.num scope="col" { (lang.items()) }
                    th scope="col" { (lang.item_numbers()) }
                    th scope="col" { (lang.reason()) }
                } }
                tbody {
                    @for ((owner, reason), items) in rows.iter().take(MAX_ROWS) {
                        tr {
                            th scope="row" {
                                @match owner {
                                    Some(owner) => (owner),
                                    None => (pill("wait", &lang.no_owner())),
                                }
                            }
                            td.num { (items.len()) }
                            td.text { (ranges(items)) }
                            td.text { (lang.placement_reason(reason)) }
                        }
                    }
                }
            }
        }
        (more(cx, rows.len()))
    }
}
