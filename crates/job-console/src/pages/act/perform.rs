//! Performs an operation, and shows its result.

use axum::http::StatusCode;
use axum::response::Response;
use coordination::RequestParameter;
use operations::{By, Change, Removal, Report, Scope};

use super::form::{heading, is_done, result};
use super::target::{Operation, Target};
use crate::audit_copy;
use crate::namespaces::Namespace;
use crate::pages::request::{Fields, Form, PageRequest, field};
use crate::pages::shell::{Body, Section};
use crate::problem::{Answer, Problem};

pub(super) async fn perform(request: PageRequest, Form(fields): Form) -> Answer<Response> {
    let target = Target::of(&request.asked.address)?;
    request.confirm_age(&fields)?;
    let by = By::new(request.asked.caller.name.clone(), text(&fields, "why"))?;
    let report = change(&request.namespace, &target, &fields, &by).await?;
    let page = target.page();
    if is_done(&report)
        && target.operation.is_run()
        && let Some(asked) = report.records.first()
    {
        return Ok(request.lead_to(&target.page_of_request(&asked.record.id)));
    }
    if is_done(&report) {
        let word = target.operation.word();
        return Ok(request.lead_to_done(&page, word, report.done.len()));
    }
    Ok(request.respond(StatusCode::OK, |cx| {
        let title = cx.lang().act_title(target.operation.word());
        let heading = format!("{title}: {}", heading(cx, &target));
        Body {
            title,
            crumbs: vec![(target.name(), cx.here(&page))],
            section: if target.job.is_some() { Section::Jobs } else { Section::Servers },
            main: result(cx, &heading, &report, &page),
            is_live: false,
        }
    }))
}

fn text<'a>(fields: &'a Fields, name: &str) -> &'a str {
    field(fields, name).unwrap_or_default().trim()
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
        let how = match text(fields, "alive") {
            "yes" => Removal::EvenIfAlive,
            _ => Removal::UnlessAlive,
        };
        let report = operations.remove_job(job()?, text(fields, "name"), how, by).await?;
        audit_copy::remember(namespace, &report).await;
        return Ok(report);
    };
    match change {
        Change::Run(items) => {
            let parameter = text(fields, "parameter");
            if parameter.is_empty() {
                return Ok(operations.trigger(job()?, items.as_ref(), by).await?.report);
            }
            let parameter = RequestParameter::new(parameter)
                .map_err(|error| Problem::invalid(error.to_string()))?;
            let run = operations.trigger_with(job()?, items.as_ref(), &parameter, by);
            Ok(run.await?.report)
        }
        Change::RerunFailed => Ok(operations.rerun_failed(job()?, by).await?.report),
        Change::Cancel(which) => Ok(operations.cancel(job()?, &which, by).await?),
        Change::DisableItems(items) => Ok(operations.disable_items(job()?, &items, by).await?),
        Change::EnableItems(items) => Ok(operations.enable_items(job()?, &items, by).await?),
        // The page of the server follows the drain.
        Change::Disable(scope) if target.operation == Operation::Drain => {
            Ok(operations.begin_drain(&scope, by).await?)
        }
        Change::Disable(scope) => Ok(operations.disable(&scope, by).await?),
        Change::Enable(scope) => Ok(operations.enable(&scope, by).await?),
        Change::Pause(scope) => Ok(operations.pause(&scope, by).await?),
        Change::Resume(scope) => Ok(operations.resume(&scope, by).await?),
        Change::ShutDown(scope) => Ok(operations.shut_down(&scope, by).await?),
        Change::ShutDownInstance(instance) => {
            Ok(operations.shut_down_instance(job()?, &instance, by).await?)
        }
        Change::RemoveServers(scope) => {
            check_name(&scope, text(fields, "name"))?;
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
