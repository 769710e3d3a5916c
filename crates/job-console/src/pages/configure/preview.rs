//! The page before a configuration is written: the differences, the reason, and the author.

use coordination::AuditRecord;
use maud::{Markup, html};
use operations::FieldChange;

use super::config_value;
use crate::pages::cx::{Age, Cx};
use crate::pages::request::Fault;

/// Content of the page.
pub(super) struct Preview<'a> {
    pub(super) title: String,
    /// Explanation above the differences.
    pub(super) notice: Markup,
    pub(super) changes: &'a [FieldChange],
    /// True if something is written although no difference is known: the stored document is faulty.
    pub(super) repairs: bool,
    /// Values that the form sends again.
    pub(super) hidden: Markup,
    /// True if the reader can return to a form with these values.
    pub(super) is_editable: bool,
    pub(super) fault: Option<Fault>,
}

/// Returns fields with their values before and after a change.
pub(in crate::pages) fn differences(cx: &Cx<'_>, changes: &[FieldChange]) -> Markup {
    let lang = cx.lang();
    html! {
        div.scroll {
            table.diff {
                thead { tr {
                    th scope="col" { (lang.field()) }
                    th scope="col" { (lang.present_value()) }
                    th scope="col" { (lang.new_value()) }
                } }
                tbody {
                    @for change in changes {
                        tr {
                            th scope="row" { code { (change.field) } }
                            td.text { del { (config_value(cx, change.field, &change.from)) } }
                            td.text { ins { (config_value(cx, change.field, &change.to)) } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn preview(cx: &Cx<'_>, page: &Preview<'_>) -> Markup {
    let lang = cx.lang();
    let job = cx.address.segments.get(3).map(String::as_str).unwrap_or_default();
    let has_effect = page.repairs || !page.changes.is_empty();
    html! {
        section.card aria-labelledby="preview-title" {
            h1 #preview-title { (page.title) (cx.lang().colon()) (job) }
            (page.notice)
            @if page.repairs { p.why { b { (lang.replaces_faulty_document()) } } }
            @else if !has_effect { p.why { b { (lang.nothing_changes()) } } }
            @else { (differences(cx, page.changes)) }
            form.act method="post" action=(cx.href(&cx.address.text())) {
                (page.hidden)
                @if has_effect { (confirmation(cx, page.fault.as_ref())) }
                div.acts {
                    @if has_effect {
                        button.primary type="submit" name="step" value="write" { (lang.write_configuration()) }
                    }
                    @if page.is_editable {
                        button type="submit" name="step" value="edit" formnovalidate { (lang.edit_again()) }
                    }
                    a.button href={ (cx.job(job)) "/configuration" } { (lang.cancel()) }
                }
            }
        }
    }
}

/// Returns the field for the reason, and the author.
pub(in crate::pages) fn confirmation(cx: &Cx<'_>, fault: Option<&Fault>) -> Markup {
    let lang = cx.lang();
    html! {
        div.field {
            label for="act-why" { (lang.reason_required()) }
            input #act-why name="why" required maxlength=(AuditRecord::MAX_TEXT_BYTES) autocomplete="off"
                autofocus aria-invalid=[fault.map(|_| "true")] aria-describedby=[fault.map(|_| "fault-why")];
            @if let Some(fault) = fault { p.fault #fault-why lang="en" { (fault.text) } }
        }
        @if cx.age != Age::Current {
            div.check {
                input #act-stale type="checkbox" name="stale" value="yes" required;
                label for="act-stale" { (lang.although_stale()) }
            }
        }
        p.dim { (lang.recorded_as(&cx.caller.name)) }
    }
}
