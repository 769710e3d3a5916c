//! The list of former configurations, the one that was replaced last first.

use coordination::FormerConfig;
use jiff::Timestamp;
use maud::{Markup, html};
use operations::{Error, FieldChange, JobSnapshot, differences};

use super::config_value;
use crate::access::Permission;
use crate::pages::cx::Cx;
use crate::problem::{Answer, Problem};

/// Returns the former configurations.
pub(super) fn newest_first(job: &JobSnapshot) -> Answer<Vec<FormerConfig>> {
    let former = job.former_configs().map_err(|error| unreadable(job, &error.to_string()))?;
    Ok(former.iter().rev().cloned().collect())
}

fn unreadable(job: &JobSnapshot, reason: &str) -> Problem {
    let reason = format!("its former configurations: {reason}");
    Error::Unreadable { job: job.job().clone(), reason }.into()
}

/// Returns the fields that restoring a configuration would change.
pub(super) fn changes(job: &JobSnapshot, former: &FormerConfig) -> Answer<Vec<FieldChange>> {
    let wanted = job.restored(former)?;
    Ok(job.config().map(|present| differences(present, &wanted)).unwrap_or_default())
}

/// Returns the time at which a configuration was replaced.
pub(super) fn when(cx: &Cx<'_>, job: &JobSnapshot, former: &FormerConfig) -> Markup {
    let zone = job.config().and_then(|config| config.time_zone.as_deref());
    match Timestamp::from_millisecond(former.replaced_ms) {
        Ok(time) => cx.when(time, zone),
        // Another program may have written any number.
        Err(_) => html! { (former.replaced_ms) },
    }
}

/// Returns the label of the link that restores a configuration.
fn restore_label(cx: &Cx<'_>, former: &FormerConfig) -> String {
    let time = Timestamp::from_millisecond(former.replaced_ms).map(|time| time.to_string());
    cx.lang().restore_this_label(&time.unwrap_or_else(|_| former.replaced_ms.to_string()))
}

/// Returns the list, with links to restore one.
pub(in crate::pages) fn list(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    match newest_first(job) {
        Err(problem) => html! { p.why.bad lang="en" { (problem.detail) } },
        Ok(all) if all.is_empty() => html! { p.dim { (lang.no_former_configurations()) } },
        Ok(all) => html! {
            div.scroll {
                table {
                    thead { tr {
                        th scope="col" { (lang.replaced()) }
                        th scope="col" { (lang.author()) }
                        th scope="col" { (lang.reason()) }
                        th scope="col" { (lang.restoring_changes()) }
                        th scope="col" { span.hidden { (lang.operations()) } }
                    } }
                    tbody { @for former in &all { (row(cx, job, former)) } }
                }
            }
        },
    }
}

fn row(cx: &Cx<'_>, job: &JobSnapshot, former: &FormerConfig) -> Markup {
    let (lang, name) = (cx.lang(), job.job().as_str());
    let changes = changes(job, former);
    let can_restore = changes.as_ref().is_ok_and(|changes| !changes.is_empty());
    let can_restore = can_restore || (changes.is_ok() && job.config().is_none());
    html! {
        tr {
            th.nowrap scope="row" { (when(cx, job, former)) }
            td { (former.who) }
            td.text { (former.why) }
            td.text {
                @match &changes {
                    Err(problem) => { span.dim lang="en" { (problem.detail) } },
                    Ok(_) if job.config().is_none() => (lang.everything()),
                    Ok(changes) if changes.is_empty() => { span.dim { (lang.same_as_present()) } },
                    Ok(changes) => {
                        ul.plain {
                            @for one in changes {
                                li { code { (one.field) } (lang.colon()) (config_value(cx, one.field, &one.from)) " → " (config_value(cx, one.field, &one.to)) }
                            }
                        }
                    },
                }
            }
            td.nowrap {
                @if can_restore && cx.may(Permission::Configure, Some(name)) {
                    a.button href={ (cx.job(name)) "/configuration/restore?replaced=" (former.replaced_ms) }
                        aria-label=(restore_label(cx, former)) { (lang.restore_this()) "…" }
                }
            }
        }
    }
}
