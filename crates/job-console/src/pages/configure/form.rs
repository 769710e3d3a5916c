//! The form for the fields of a configuration.

use maud::{Markup, html};
use operations::FieldChange;

use super::preview::differences;
use super::typed::{Typed, Value, WAS};
use crate::pages::cx::Cx;
use crate::pages::request::Fault;

/// Fields whose values may have several lines.
const LONG: [&str; 4] =
    ["excluded_times", "sharding_item_parameters", "job_parameter", "description"];

/// Returns the form. `meanwhile` has the changes since the form was made, if it is out of date.
pub(super) fn form(
    cx: &Cx<'_>,
    typed: &Typed,
    fault: Option<&Fault>,
    meanwhile: Option<&[FieldChange]>,
) -> Markup {
    let lang = cx.lang();
    let job = cx.address.segments.get(3).map(String::as_str).unwrap_or_default();
    let has_control =
        |fault: &&Fault| typed.values.iter().any(|one| one.field.name() == fault.field);
    html! {
        section.card aria-labelledby="edit-title" {
            h1 #edit-title { (lang.change_configuration()) ": " (job) }
            p.sub { (lang.revision()) " " (typed.revision.0) ". " (lang.edit_hint()) }
            @if let Some(changes) = meanwhile { (out_of_date(cx, changes)) }
            @if let Some(fault) = fault {
                p.why.bad role="alert" {
                    @if has_control(&fault) { a href={ "#c-" (fault.field) } { code { (fault.field) } } " " }
                    (lang.not_valid()) " " span lang="en" { (fault.text) }
                }
            }
            form.config method="post" action=(cx.href(&cx.address.text())) {
                input type="hidden" name="revision" value=(typed.revision.0);
                @for value in &typed.values { (control(cx, value, fault)) }
                div.acts {
                    button.primary type="submit" name="step" value="preview" { (lang.show_changes()) "…" }
                    a.button href={ (cx.job(job)) "/configuration" } { (lang.cancel()) }
                }
            }
        }
    }
}

fn out_of_date(cx: &Cx<'_>, changes: &[FieldChange]) -> Markup {
    let lang = cx.lang();
    html! {
        div.why role="alert" {
            div {
                p { b { (lang.changed_meanwhile()) } " " (lang.typed_values_kept()) }
                @if changes.is_empty() { p { (lang.no_field_of_form_changed()) } }
                @else { (differences(cx, changes)) }
            }
        }
    }
}

fn control(cx: &Cx<'_>, value: &Value, fault: Option<&Fault>) -> Markup {
    let name = value.field.name();
    let (id, fault_id) = (format!("c-{name}"), format!("fault-{name}"));
    let fault = fault.filter(|fault| fault.field == name);
    let described_by = fault.map(|_| fault_id.as_str());
    let is_invalid = fault.map(|_| "true");
    let label = html! { (cx.lang().config_field(name)) " " code { (name) } };
    let hidden = html! { input type="hidden" name={ (WAS) (name) } value=(value.was); };
    let problem = html! {
        @if let Some(fault) = fault { p.fault id=(fault_id) lang="en" { (fault.text) } }
    };
    if value.field.is_flag() {
        return html! {
            div.check {
                (hidden)
                input id=(id) type="checkbox" name=(name) value="true" checked[value.value == "true"]
                    aria-invalid=[is_invalid] aria-describedby=[described_by];
                label for=(id) { (label) }
                (problem)
            }
        };
    }
    html! {
        div.field {
            (hidden)
            label for=(id) { (label) }
            @if LONG.contains(&name) {
                // A parser of HTML drops the first line end.
                textarea id=(id) name=(name) rows="2" spellcheck="false" aria-invalid=[is_invalid]
                    aria-describedby=[described_by] { "\n" (value.value) }
            } @else {
                input id=(id) name=(name) value=(value.value) autocomplete="off" spellcheck="false"
                    autocapitalize="off" aria-invalid=[is_invalid] aria-describedby=[described_by];
            }
            (problem)
        }
    }
}
