//! Tab "Configuration": the fields, the revision, the former configurations, and the
//! document as it is stored.

use coordination::NodeKind;
use job_types::entry_of;
use maud::{Markup, html};
use operations::JobSnapshot;

use crate::access::Permission;
use crate::pages::configure::config_value;
use crate::pages::configure::former::list;
use crate::pages::cx::Cx;

pub(super) fn tab(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    let revision = job.config_revision().map(|revision| revision.to_string());
    let fields = html! {
        @if let Some(fault) = job.config_fault() { p.why.bad { (lang.config_fault()) " " (fault) } }
        dl.facts {
            dt { (lang.revision()) } dd { (revision.unwrap_or_default()) }
            dt { (lang.dialect()) } dd { (job.dialect().as_str()) }
            @if let Some(config) = job.config() {
                @for (name, value) in config.fields() { dt { code { (name) } } dd { (config_value(cx, name, &value)) } }
            }
        }
    };
    html! {
        section.card aria-labelledby="config-title" {
            div.title {
                h2 #config-title { (lang.configuration()) }
                span.grow {}
                (cx.live("edit", &edit(cx, job)))
            }
            (cx.live("config", &fields))
        }
        section.card aria-labelledby="former-title" {
            h2 #former-title { (lang.former_configurations()) }
            (cx.live("former", &list(cx, job)))
        }
        @if let Some(config) = job.config() {
            section.card aria-labelledby="entry-title" {
                div.title {
                    h2 #entry-title { (lang.entry_of_job_file()) }
                    span.grow {}
                    button type="button" data-copy="entry" data-copied=(lang.copied()) hidden { (lang.copy()) }
                }
                p.sub { (lang.entry_hint()) }
                (cx.live("entry", &html! { pre tabindex="0" { code { (entry_of(config)) } } }))
            }
        }
        section.card aria-labelledby="document-title" {
            h2 #document-title { (lang.document()) }
            (cx.live("document", &document(cx, job)))
        }
    }
}

/// Returns the link to the form, if the caller may change a configuration that can be read.
fn edit(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let name = job.job().as_str();
    let is_editable = job.config().is_some() && cx.may(Permission::Configure, Some(name));
    html! {
        @if is_editable {
            a.button href={ (cx.job(name)) "/configuration/edit" } { (cx.lang().change_configuration()) "…" }
        }
    }
}

/// Returns the stored document, which may hold secrets, to callers who may change it.
fn document(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let is_allowed = cx.may(Permission::Configure, Some(job.job().as_str()));
    html! {
        @if !is_allowed { p.dim { (cx.lang().document_hidden()) } }
        @else if let Some(node) = job.node(&NodeKind::Config) {
            pre tabindex="0" { code { (String::from_utf8_lossy(&node.data)) } }
        }
    }
}
