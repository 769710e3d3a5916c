//! The form for the fields of a configuration.

use coordination::MAX_QUEUED_FIRES;
use maud::{Markup, html};
use operations::FieldChange;
use sharding::StrategyRegistry;

use super::preview::differences;
use super::typed::{OVERLAP, PARALLEL_WORD, QUEUE, QUEUE_WORD, Typed, Value, WAS};
use crate::pages::cx::Cx;
use crate::pages::request::Fault;

/// Fields whose values may have several lines.
const LONG: [&str; 5] =
    ["placement", "excluded_times", "sharding_item_parameters", "job_parameter", "description"];

/// Returns a valid value of a field whose format is not obvious.
fn example(name: &str) -> Option<&'static str> {
    Some(match name {
        "cron" => "0 30 4 * * ?",
        "time_zone" => "Asia/Shanghai",
        "excluded_days" => "SAT..SUN,12-25",
        "excluded_times" => "12:00..13:00 # lunch",
        "not_before" => "2026-01-31T09:00:00",
        "not_after" => "2099-12-31T18:00:00",
        "jitter" => "30s",
        "sharding_total_count" => "4",
        "sharding_item_parameters" => "0=Beijing,1=Shanghai",
        "max_time_diff" => "5s",
        "reconcile_interval" => "10m",
        "server_ttl" => "24h",
        "cluster_concurrency" => "4",
        "start_rate" => "10 in 1m",
        "group" => "database",
        "catch_up" => "5 in 10m",
        "strategy" => "odevity",
        "placement" => "require disk=ssd",
        _ => return None,
    })
}

/// Returns the valid values of a field that has few, each with its meaning.
fn options(cx: &Cx<'_>, name: &str) -> Option<Vec<(&'static str, String)>> {
    let lang = cx.lang();
    Some(match name {
        OVERLAP => vec![
            ("", lang.overlap_none()),
            ("cancel", lang.overlap_cancel()),
            (QUEUE_WORD, lang.overlap_queue()),
            (PARALLEL_WORD, lang.overlap_parallel()),
        ],
        "repeated_hour" => vec![("", lang.repeated_later()), ("both", lang.repeated_both())],
        _ => return None,
    })
}

/// Returns the option of a value, and its number.
fn parts(value: &str) -> (&str, &str) {
    let numbered = |word| Some((word, value.strip_prefix(word)?.trim()));
    match numbered(QUEUE_WORD).or_else(|| numbered(PARALLEL_WORD)) {
        Some(parts) => parts,
        None => (value, ""),
    }
}

/// Returns the form. `meanwhile` has the changes since the form was made, if it is out of date.
pub(super) fn form(
    cx: &Cx<'_>,
    typed: &Typed,
    faults: &[Fault],
    meanwhile: Option<&[FieldChange]>,
) -> Markup {
    let lang = cx.lang();
    let job = cx.address.segments.get(3).map(String::as_str).unwrap_or_default();
    let has_control = |name: &str| typed.values.iter().any(|one| one.field.name() == name);
    html! {
        section.card aria-labelledby="edit-title" {
            h1 #edit-title { (lang.change_configuration()) (cx.lang().colon()) (job) }
            p.sub { (lang.revision()) " " (typed.revision.0) (lang.stop()) " " (lang.edit_hint()) }
            @if let Some(changes) = meanwhile { (out_of_date(cx, changes)) }
            (fault_list(cx, faults, has_control))
            form.config method="post" action=(cx.href(&cx.address.text())) {
                (controls(cx, typed, faults))
                div.acts {
                    button.primary type="submit" name="step" value="preview" { (lang.show_changes()) "…" }
                    a.button href={ (cx.job(job)) "/configuration" } { (lang.cancel()) }
                }
            }
        }
    }
}

/// Returns the faults of a form, each with a link to its control.
pub(super) fn fault_list(
    cx: &Cx<'_>,
    faults: &[Fault],
    has_control: impl Fn(&str) -> bool,
) -> Markup {
    html! {
        @if !faults.is_empty() {
            div.why.bad role="alert" { ul.plain {
                @for fault in faults {
                    li {
                        @if has_control(fault.field) { a href={ "#c-" (fault.field) } { code { (fault.field) } } " " }
                        (cx.lang().not_valid()) " " span lang="en" { (fault.text) }
                    }
                }
            } }
        }
    }
}

/// Returns the controls of the fields of a configuration.
pub(super) fn controls(cx: &Cx<'_>, typed: &Typed, faults: &[Fault]) -> Markup {
    let fault_of = |value: &Value| faults.iter().find(|it| it.field == value.field.name());
    html! {
        input type="hidden" name="revision" value=(typed.revision.0);
        @for value in &typed.values { (control(cx, value, fault_of(value))) }
        datalist #strategies {
            @for name in StrategyRegistry::default().names() { option value=(name) {} }
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
    let (example, example_id) = (example(name), format!("example-{name}"));
    let described_by = [fault.map(|_| fault_id.as_str()), example.map(|_| example_id.as_str())];
    let described_by: Vec<&str> = described_by.into_iter().flatten().collect();
    let described_by = Some(described_by.join(" ")).filter(|ids| !ids.is_empty());
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
                    aria-invalid=[is_invalid] aria-describedby=[&described_by];
                label for=(id) { (label) }
                (problem)
            }
        };
    }
    if let Some(options) = options(cx, name) {
        let (word, length) = parts(&value.value);
        // A value that this console does not know stays as it is.
        let is_known = options.iter().any(|(known, _)| *known == word);
        return html! {
            div.field {
                (hidden)
                label for=(id) { (label) }
                select id=(id) name=(name) aria-invalid=[is_invalid] aria-describedby=[&described_by] {
                    @for (word_of, text) in &options {
                        option value=(word_of) selected[*word_of == word] { (text) }
                    }
                    @if !is_known { option value=(value.value) selected { (value.value) } }
                }
                @if name == OVERLAP {
                    label for="c-overlap-queue" { (cx.lang().overlap_number()) }
                    input #c-overlap-queue name=(QUEUE) type="number" min="1" max=(MAX_QUEUED_FIRES)
                        value=(length) autocomplete="off";
                }
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
                    aria-describedby=[&described_by] { "\n" (value.value) }
            } @else {
                input id=(id) name=(name) value=(value.value) autocomplete="off" spellcheck="false"
                    autocapitalize="off" aria-invalid=[is_invalid] aria-describedby=[&described_by]
                    list=[(name == "strategy").then_some("strategies")];
            }
            @if let Some(example) = example {
                p.dim id=(example_id) { (cx.lang().for_example()) " " code { (example) } }
            }
            (problem)
        }
    }
}

#[cfg(test)]
mod tests {
    use coordination::{JobConfig, JobName};
    use jiff::Timestamp;
    use operations::{ConfigField, validate};

    use super::*;

    #[test]
    fn examples_are_valid_values() {
        let fields = ConfigField::all().filter_map(|field| Some((field, example(field.name())?)));
        let fields: Vec<_> = fields.collect();
        assert_eq!(fields.len(), 18, "each example belongs to a field");
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for (field, example) in fields {
            // Some of the fields exclude each other, and most need a schedule.
            let mut config = JobConfig::new(JobName::new("report").unwrap(), 1);
            config.cron = Some("0 0 9 * * ?".to_owned());
            field.set(&mut config, example).unwrap();
            let valid = validate(&config, None, &StrategyRegistry::default(), now);
            assert!(valid.is_ok(), "{}: {valid:?}", field.name());
        }
    }
}
