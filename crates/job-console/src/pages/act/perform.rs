//! Performs an operation, and shows its result.

use std::sync::Arc;

use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::Response;
use coordination::RequestParameter;
use maud::html;
use operations::{By, Change, Removal, Report, Scope};

use super::form::{entries, heading};
use super::target::Target;
use crate::namespaces::{Namespace, Namespaces};
use crate::pages::cx::{Age, Cx};
use crate::pages::shell::{Body, Section, document};
use crate::pages::{Asked, html as respond, see_other};
use crate::problem::{Answer, Problem};

/// Fields of the form.
type Fields = Vec<(String, String)>;

pub(super) async fn perform(
    State(namespaces): State<Arc<Namespaces>>,
    asked: Asked,
    Form(fields): Form<Fields>,
) -> Answer<Response> {
    let segments = asked.address.segments();
    let namespace = namespaces.get(segments.get(1).copied().unwrap_or_default())?;
    let target = Target::of(&asked.address)?;
    let names: Vec<&str> = namespaces.all().map(|one| one.name.as_str()).collect();
    check_age(Age::of(namespace.live.freshness(), asked.now), field(&fields, "stale"))?;
    let by = By::new(asked.caller.name.clone(), field(&fields, "why"))?;
    let report = change(namespace, &target, &fields, &by).await?;
    let summary = asked.summary(namespace).await;
    let cx = asked.cx(Some(namespace), &names, &summary);
    let is_clean = report.left.iter().all(|entry| entry.as_wanted) && report.failed.is_empty();
    if is_clean && report.has_changed() {
        let page = target.page();
        let separator = if page.contains('?') { '&' } else { '?' };
        let path = format!("{page}{separator}changed={}", report.done.len());
        return Ok(see_other("", &cx.here(&path)));
    }
    Ok(respond(StatusCode::OK, document(&cx, &result(&cx, &target, &report))))
}

fn field<'a>(fields: &'a Fields, name: &str) -> &'a str {
    fields.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.trim())
}

/// Rejects a change by a reader of old data who has not confirmed it.
pub(in crate::pages) fn check_age(age: Age, confirmed: &str) -> Answer<()> {
    if age == Age::Current || confirmed == "yes" {
        return Ok(());
    }
    let detail = "the console has no contact with the registry; confirm the change by the field \
        stale with the value yes, or wait until the console is current";
    Err(Problem::new(StatusCode::CONFLICT, "stale-data", detail))
}

async fn change(
    namespace: &Namespace,
    target: &Target,
    fields: &Fields,
    by: &By,
) -> Answer<Report> {
    let operations = &namespace.operations;
    let job = || target.job.as_ref().ok_or_else(|| Problem::invalid("no job is named"));
    let Some(change) = target.change() else {
        let how = match field(fields, "alive") {
            "yes" => Removal::EvenIfAlive,
            _ => Removal::UnlessAlive,
        };
        return Ok(operations.remove_job(job()?, field(fields, "name"), how, by).await?);
    };
    match change {
        Change::Run(items) => {
            let parameter = field(fields, "parameter");
            if parameter.is_empty() {
                return Ok(operations.trigger(job()?, items.as_ref(), by).await?.report);
            }
            let parameter = RequestParameter::new(parameter)
                .map_err(|error| Problem::invalid(error.to_string()))?;
            let run = operations.trigger_with(job()?, items.as_ref(), &parameter, by);
            Ok(run.await?.report)
        }
        Change::RerunFailed => Ok(operations.rerun_failed(job()?, by).await?.report),
        Change::DisableItems(items) => Ok(operations.disable_items(job()?, &items, by).await?),
        Change::EnableItems(items) => Ok(operations.enable_items(job()?, &items, by).await?),
        Change::Disable(scope) => Ok(operations.disable(&scope, by).await?),
        Change::Enable(scope) => Ok(operations.enable(&scope, by).await?),
        Change::Pause(scope) => Ok(operations.pause(&scope, by).await?),
        Change::Resume(scope) => Ok(operations.resume(&scope, by).await?),
        Change::ShutDown(scope) => Ok(operations.shut_down(&scope, by).await?),
        Change::RemoveServers(scope) => {
            check_name(&scope, field(fields, "name"))?;
            Ok(operations.remove_servers(&scope, by).await?)
        }
        _ => Err(Problem::invalid("the operation is not known to this console")),
    }
}

/// Rejects the removal of a server whose address was not typed.
fn check_name(scope: &Scope, typed: &str) -> Answer<()> {
    let valid = scope.server().map(ToString::to_string).unwrap_or_default();
    if typed == valid {
        return Ok(());
    }
    let detail = format!("name is {typed:?}; valid is {valid:?}, the server to remove");
    Err(Problem::new(StatusCode::CONFLICT, "not-confirmed", detail))
}

fn result(cx: &Cx<'_>, target: &Target, report: &Report) -> Body {
    let lang = cx.lang();
    let word = target.operation.word();
    let main = html! {
        section.card aria-labelledby="act-title" {
            h1 #act-title { (lang.act_title(word)) ": " (heading(cx, target)) }
            p.sub { (lang.result()) }
            (entries(cx, report))
            div.acts { a.button.primary href=(cx.here(&target.page())) { (lang.back()) } }
        }
    };
    Body {
        title: lang.act_title(word),
        crumbs: vec![(target.name(), cx.here(&target.page()))],
        section: if target.job.is_some() { Section::Jobs } else { Section::Servers },
        main,
        is_live: false,
    }
}
