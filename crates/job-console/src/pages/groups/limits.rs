//! Changes of the limits of a group: the form, the page that shows the change, and the write.

use axum::http::{Method, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use coordination::{GroupLimits, GroupName};
use maud::{Markup, html};
use operations::{GroupChange, GroupSnapshot};

use super::named;
use crate::access::Permission;
use crate::bulk::digest;
use crate::groups::limits;
use crate::pages::configure::preview::{confirmation, differences};
use crate::pages::cx::Cx;
use crate::pages::locale::Lang;
use crate::pages::query::{Address, encoded};
use crate::pages::request::{Again, Fault, Form, PageRequest};
use crate::pages::shell::Section;
use crate::problem::Answer;
use crate::routes::Routes;

/// The group is in the form: a path below the groups would hide a group of that name.
const SET: &str = "/n/{namespace}/group-limits";
const REMOVE: &str = "/n/{namespace}/groups/{group}/removal";

const RUNS: &str = "cluster_concurrency";
const RATE: &str = "start_rate";

pub(in crate::pages) fn add(routes: Routes) -> Routes {
    let configure = Permission::Configure;
    routes
        .page(configure, &Method::GET, SET, get(show))
        .page(configure, &Method::POST, SET, post(submit))
        .page(configure, &Method::GET, REMOVE, get(show_removal))
        .page(configure, &Method::POST, REMOVE, post(submit_removal))
}

/// Returns the link to the form for a group, or for one that the form names.
pub(super) fn link(cx: &Cx<'_>, group: Option<&GroupName>) -> Markup {
    let query = group.map(|group| format!("?group={}", encoded(group.as_str())));
    let address = cx.here(&format!("group-limits{}", query.unwrap_or_default()));
    html! {
        @if cx.may(Permission::Configure, None) {
            a.button href=(address) { (cx.lang().set_limits()) "…" }
        }
    }
}

/// Returns the links to the changes of a group that are possible.
pub(super) fn links(cx: &Cx<'_>, group: &GroupSnapshot) -> Markup {
    let name = group.view().name();
    let has_limits = group.view().limits() != Some(GroupLimits::NONE);
    html! {
        (link(cx, Some(name)))
        @if has_limits && cx.may(Permission::Configure, None) {
            a.button href={ (cx.group(name)) "/removal" } data-dialog { (cx.lang().remove_limits()) "…" }
        }
    }
}

/// Limits that a request wants for a group.
struct Wanted {
    group: GroupName,
    limits: GroupLimits,
}

async fn show(request: PageRequest) -> Answer<Response> {
    let address = &request.asked.address;
    if address.value("edit").is_some() || !(address.has(RUNS) || address.has(RATE)) {
        return Ok(form(&request, &[]));
    }
    match wanted(address) {
        Err(faults) => Ok(form(&request, &faults)),
        Ok(wanted) => {
            let expected = expected(&request, &wanted).await?;
            Ok(preview(&request, StatusCode::OK, &expected, None))
        }
    }
}

async fn submit(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let wanted = match wanted(&request.asked.address) {
        Err(faults) => return Ok(form(&request, &faults)),
        Ok(wanted) => wanted,
    };
    request.confirm_age(&fields)?;
    let expected = expected(&request, &wanted).await?;
    let by = match request.confirmed(&fields, &digest_of(&expected)) {
        Ok(by) => by,
        Err((status, again)) => return Ok(preview(&request, status, &expected, Some(again))),
    };
    let change = request.namespace.operations.set_group(&wanted.group, wanted.limits, &by).await?;
    Ok(done(&request, &change))
}

/// Leads to the group. The list shows a new group as soon as the console knows it.
fn done(request: &PageRequest, change: &GroupChange) -> Response {
    let page = match request.namespace.live.group(&change.group) {
        Some(_) => format!("groups/{}", encoded(change.group.as_str())),
        None => "groups".to_owned(),
    };
    match &change.record {
        Some(_) => request.lead_to_changed(&page, 1),
        None => request.lead_to(&page),
    }
}

/// Returns the limits that an address has, or the faults of its fields.
fn wanted(address: &Address) -> Result<Wanted, Vec<Fault>> {
    let mut faults = Vec::new();
    let group = match address.value("group").map(GroupName::new) {
        Some(Ok(group)) => Some(group),
        Some(Err(error)) => {
            faults.push(Fault { field: "group", text: error.to_string() });
            None
        }
        None => {
            let text = format!("group is missing; valid is {}", GroupName::VALID);
            faults.push(Fault { field: "group", text });
            None
        }
    };
    let runs = address.value(RUNS).map(|text| {
        text.parse::<u32>().map_err(|_| {
            let text = format!("{RUNS} is {text:?}; valid is a number from 1 to {}", u32::MAX);
            Fault { field: RUNS, text }
        })
    });
    let limits = runs.transpose().and_then(|runs| {
        let limits = limits(runs, address.value(RATE));
        limits.map_err(|fault| Fault { field: fault.field, text: fault.text })
    });
    match (group, limits) {
        (Some(group), Ok(limits)) => Ok(Wanted { group, limits }),
        (_, limits) => Err(faults.into_iter().chain(limits.err()).collect()),
    }
}

async fn expected(request: &PageRequest, wanted: &Wanted) -> Answer<GroupChange> {
    Ok(request.namespace.operations.preview_set_group(&wanted.group, wanted.limits).await?)
}

/// Returns the digest of the expected change. If the limits have changed since the preview, it is
/// shown again.
fn digest_of(expected: &GroupChange) -> String {
    digest("group-limits", [expected.group.to_string(), expected.to_string()].into_iter())
}

fn respond(
    request: &PageRequest,
    status: StatusCode,
    title: impl FnOnce(Lang) -> String,
    main: impl FnOnce(&Cx<'_>) -> Markup,
) -> Response {
    request.respond_below(Section::Groups, status, title, main)
}

fn form(request: &PageRequest, faults: &[Fault]) -> Response {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    respond(request, status, Lang::set_limits, |cx| {
        let lang = cx.lang();
        html! {
            section.card aria-labelledby="limits-title" {
                h1 #limits-title { (lang.set_limits()) }
                p.sub { (lang.set_limits_hint()) }
                form.act action=(cx.here("group-limits")) {
                    @for name in ["group", RUNS, RATE] {
                        (control(cx, name, faults.iter().find(|fault| fault.field == name)))
                    }
                    div.acts {
                        button.primary type="submit" { (lang.show_changes()) "…" }
                        a.button href=(back(cx)) { (lang.cancel()) }
                    }
                }
            }
        }
    })
}

/// Returns the group that the address names, if the console knows it.
fn known(cx: &Cx<'_>) -> Option<std::sync::Arc<GroupSnapshot>> {
    let name = GroupName::new(cx.address.value("group")?).ok()?;
    cx.source?.live.group(&name)
}

/// Returns the page from which the reader has come: that of the group, or the list.
fn back(cx: &Cx<'_>) -> String {
    known(cx).map_or_else(|| cx.here("groups"), |group| cx.group(group.view().name()))
}

/// Returns the control of a field with its value in the address. Without a value of either limit,
/// the present limits are shown.
fn control(cx: &Cx<'_>, name: &str, fault: Option<&Fault>) -> Markup {
    let (lang, id) = (cx.lang(), format!("limits-{name}"));
    let (fault_id, example_id) = (format!("fault-{name}"), format!("example-{name}"));
    let is_given = name == "group" || cx.address.has(RUNS) || cx.address.has(RATE);
    let present = || known(cx).and_then(|group| group.view().limits()).unwrap_or_default();
    let value = match name {
        _ if is_given => cx.address.value(name).unwrap_or_default().to_owned(),
        RUNS => present().cluster_concurrency.map(|max| max.to_string()).unwrap_or_default(),
        _ => present().start_rate.map(|rate| rate.to_string()).unwrap_or_default(),
    };
    let (label, example) = match name {
        "group" => (lang.name_of_group(), "database"),
        RUNS => (lang.config_field(name), "4"),
        _ => (lang.config_field(name), "10 in 1m"),
    };
    let described_by = match fault {
        Some(_) => format!("{fault_id} {example_id}"),
        None => example_id.clone(),
    };
    html! {
        div.field {
            label for=(id) { (label) }
            @if name == RUNS {
                input id=(id) name=(name) type="number" min="1" max=(u32::MAX) value=(value)
                    aria-invalid=[fault.map(|_| "true")] aria-describedby=(described_by);
            } @else {
                input id=(id) name=(name) type="text" maxlength="128" required[name == "group"]
                    autocomplete="off" spellcheck="false" autocapitalize="off" value=(value)
                    aria-invalid=[fault.map(|_| "true")] aria-describedby=(described_by);
            }
            p.dim id=(example_id) { (lang.for_example()) " " code { (example) } }
            @if let Some(fault) = fault { p.fault id=(fault_id) role="alert" lang="en" { (fault.text) } }
        }
    }
}

fn preview(
    request: &PageRequest,
    status: StatusCode,
    expected: &GroupChange,
    again: Option<Again>,
) -> Response {
    let fault = again.as_ref().and_then(Again::fault);
    let has_effect = expected.has_effect();
    respond(request, status, Lang::set_limits, |cx| {
        let lang = cx.lang();
        html! {
            section.card aria-labelledby="limits-title" {
                h1 #limits-title { (lang.set_limits()) (lang.colon()) (expected.group) }
                (Again::notice(again.as_ref(), cx))
                (effects(cx, expected))
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    input type="hidden" name="digest" value=(digest_of(expected));
                    @if has_effect { (confirmation(cx, fault)) }
                    div.acts {
                        @if has_effect {
                            button.primary type="submit" { (lang.set_limits()) }
                        }
                        a.button href=(cx.with(&[("edit", "yes")])) { (lang.edit_again()) }
                        a.button href=(back(cx)) { (lang.cancel()) }
                    }
                }
            }
        }
    })
}

/// Returns the changed limits, and what they mean for the runs and the jobs of the group.
fn effects(cx: &Cx<'_>, expected: &GroupChange) -> Markup {
    let lang = cx.lang();
    let live = cx.source.map(|namespace| &namespace.live);
    let group = live.and_then(|live| live.group(&expected.group));
    let view = group.as_ref().map(|group| group.view());
    let taken = view.map_or(0, |view| view.permits().len());
    let waiting = view.map_or(0, |view| view.line().len());
    let exceeded = expected.after.cluster_concurrency;
    let exceeded = exceeded.filter(|max| usize::try_from(*max).is_ok_and(|max| taken > max));
    let jobs = live.map(|live| live.jobs_of_group(&expected.group)).unwrap_or_default();
    html! {
        @if expected.has_effect() { (differences(cx, &expected.changes(&lang.unreadable()))) }
        @else { p.why { b { (lang.nothing_changes()) } } }
        @if let Some(max) = exceeded { p { (lang.more_runs_than(taken, max)) } }
        @if waiting > 0 { p { (lang.n_jobs_wait(waiting)) } }
        @if jobs.is_empty() { p.dim { (lang.no_job_in_group()) } }
        @else { p { (lang.n_jobs_in_group(jobs.len())) " " (named(cx, jobs.iter())) } }
    }
}

async fn show_removal(request: PageRequest) -> Answer<Response> {
    removal_form(&request, StatusCode::OK, None).await
}

async fn submit_removal(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let group = request.group()?;
    request.confirm_age(&fields)?;
    let expected =
        request.namespace.operations.preview_set_group(&group, GroupLimits::NONE).await?;
    let by = match request.confirmed(&fields, &digest_of(&expected)) {
        Ok(by) => by,
        Err((status, again)) => return removal_form(&request, status, Some(again)).await,
    };
    let change = request.namespace.operations.set_group(&group, GroupLimits::NONE, &by).await?;
    Ok(done(&request, &change))
}

async fn removal_form(
    request: &PageRequest,
    status: StatusCode,
    again: Option<Again>,
) -> Answer<Response> {
    let group = request.group()?;
    let expected =
        request.namespace.operations.preview_set_group(&group, GroupLimits::NONE).await?;
    let fault = again.as_ref().and_then(Again::fault);
    let has_effect = expected.has_effect();
    Ok(respond(request, status, Lang::remove_limits, |cx| {
        let lang = cx.lang();
        html! {
            section #act-form.card aria-labelledby="act-title" {
                h1 #act-title tabindex="-1" { (lang.remove_limits()) (lang.colon()) (group) }
                p.sub { (lang.remove_limits_hint()) }
                (Again::notice(again.as_ref(), cx))
                (effects(cx, &expected))
                form.act method="post" action=(cx.href(&cx.address.text())) {
                    input type="hidden" name="digest" value=(digest_of(&expected));
                    @if has_effect { (confirmation(cx, fault)) }
                    div.acts {
                        @if has_effect {
                            button.primary type="submit" { (lang.remove_limits()) }
                        }
                        a.button href=(cx.group(&group)) data-close { (lang.cancel()) }
                    }
                }
            }
        }
    }))
}
