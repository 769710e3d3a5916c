//! The values of a form, and the values from which the form was made.

use coordination::{InvalidConfig, JobConfig};
use operations::{ConfigField, FieldChange};
use reg_center::Revision;

use crate::pages::request::{Fields, field};
use crate::problem::{Answer, Problem};

/// Prefix of the names of the values from which a form was made.
pub(super) const WAS: &str = "was.";

/// Field whose value the form has in two controls: the policy, and its number.
pub(super) const OVERLAP: &str = "overlap";
/// Name of the control with the number: queued fires, or runs at the same time.
pub(super) const QUEUE: &str = "overlap.queue";
/// Policy that needs the number of queued fires.
pub(super) const QUEUE_WORD: &str = "queue";
/// Policy that needs the number of runs at the same time.
pub(super) const PARALLEL_WORD: &str = "parallel";

/// Values of a form for a configuration.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    /// Revision of the configuration from which the form was made.
    pub(super) revision: Revision,
    pub(super) values: Vec<Value>,
}

/// A field, with the value of the form and the value from which the form was made.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) field: &'static ConfigField,
    pub(super) was: String,
    pub(super) value: String,
}

impl Value {
    fn is_typed(&self) -> bool {
        self.value != self.was
    }
}

impl Typed {
    /// Returns the values of a configuration that is to be edited.
    pub(super) fn of(config: &JobConfig, revision: Revision) -> Self {
        let values = ConfigField::all().map(|field| {
            let was = lines(&field.text(config));
            Value { field, value: was.clone(), was }
        });
        Self { revision, values: values.collect() }
    }

    /// Reads a submitted form.
    pub(super) fn read(form: &Fields) -> Answer<Self> {
        let values = ConfigField::all().map(|config_field| {
            let name = config_field.name();
            let was = field(form, &format!("{WAS}{name}")).map(lines);
            let was = was.ok_or_else(|| {
                let detail = format!("{WAS}{name} is missing; valid is the value in the form");
                Problem::invalid(detail)
            })?;
            // A browser does not send an empty check box.
            let absent = if config_field.is_flag() { "false" } else { &*was };
            let mut value = lines(field(form, name).unwrap_or(absent));
            if name == OVERLAP && [QUEUE_WORD, PARALLEL_WORD].contains(&&*value) {
                let number = field(form, QUEUE).unwrap_or_default().trim();
                value = format!("{value} {number}");
            }
            Ok(Value { field: config_field, was, value })
        });
        Ok(Self { revision: revision(form)?, values: values.collect::<Answer<_>>()? })
    }

    /// Returns a configuration with the values that differ from those of the form's beginning, and
    /// the values that cannot be read, which stay as stored.
    pub(super) fn applied_to(&self, stored: &JobConfig) -> (JobConfig, Vec<InvalidConfig>) {
        let mut wanted = stored.clone();
        let typed = self.values.iter().filter(|value| value.is_typed());
        let faults = typed.filter_map(|value| value.field.set(&mut wanted, &value.value).err());
        let faults = faults.collect();
        (wanted, faults)
    }

    /// Gives a field its stored value, so that the other fields can be checked. Returns false if
    /// these checks would find no other fault.
    pub(super) fn reset(wanted: &mut JobConfig, name: &str, stored: &JobConfig) -> bool {
        let Some(field) = ConfigField::all().find(|field| field.name() == name) else {
            return false;
        };
        let before = field.text(stored);
        let is_reset = field.text(wanted) != before && field.set(wanted, &before).is_ok();
        // Without an expression, the checks would reject its limits.
        is_reset && (name != "cron" || wanted.cron.is_some())
    }

    /// Returns the values upon a later configuration, and what changed since the form was made.
    ///
    /// Typed values are kept. Fields that were not edited get their present values.
    pub(super) fn rebased(&self, stored: &JobConfig, now: Revision) -> (Self, Vec<FieldChange>) {
        let mut meanwhile = Vec::new();
        let values = self.values.iter().map(|old| {
            let present = lines(&old.field.text(stored));
            if present != old.was {
                let (from, to) = (old.was.clone(), present.clone());
                meanwhile.push(FieldChange { field: old.field.name(), from, to });
            }
            let value = if old.is_typed() { old.value.clone() } else { present.clone() };
            Value { field: old.field, was: present, value }
        });
        (Self { revision: now, values: values.collect() }, meanwhile)
    }
}

/// Reads the revision of a form.
pub(super) fn revision(form: &Fields) -> Answer<Revision> {
    let text = field(form, "revision").unwrap_or_default();
    let number = text.parse().map_err(|_| {
        Problem::invalid(format!("revision is {text:?}; valid is the revision in the form"))
    })?;
    Ok(Revision(number))
}

/// Returns a text with the line ends that a form has before a browser sends it.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use coordination::{JobName, Overlap};

    use super::*;

    fn config() -> JobConfig {
        let mut config = JobConfig::new(JobName::new("report").unwrap(), 3);
        config.cron = Some("0 0 3 * * ?".to_owned());
        config.job_parameter = "a\r\nb".to_owned();
        config
    }

    /// Returns the form as a browser sends it.
    fn form(typed: &Typed, changes: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut fields = vec![("revision".to_owned(), typed.revision.0.to_string())];
        for Value { field, was, value } in &typed.values {
            let name = field.name();
            fields.push((format!("{WAS}{name}"), was.replace('\n', "\r\n")));
            let change = changes.iter().find(|(changed, _)| *changed == name);
            let value = change.map_or(&**value, |(_, value)| value);
            if !(field.is_flag() && value == "false") {
                fields.push((name.to_owned(), value.replace('\n', "\r\n")));
            }
        }
        fields
    }

    #[test]
    fn form_that_was_not_edited_changes_nothing() {
        let typed = Typed::of(&config(), Revision(7));
        let read = Typed::read(&form(&typed, &[])).unwrap();
        assert_eq!(read.applied_to(&config()), (config(), Vec::new()));
        assert_eq!(read.revision, Revision(7));
    }

    #[test]
    fn typed_values_are_kept_upon_a_later_configuration() {
        let typed = Typed::of(&config(), Revision(7));
        let changes = [("misfire", "false"), ("description", "x"), ("cron", "0 0 4 * * ?")];
        let read = Typed::read(&form(&typed, &changes)).unwrap();
        let later = config().with(|it| {
            it.cron = Some("0 0 5 * * ?".to_owned());
            it.sharding_total_count = 9;
        });
        let (rebased, meanwhile) = read.rebased(&later, Revision(8));
        let meanwhile: Vec<_> = meanwhile.iter().map(ToString::to_string).collect();
        let expected = ["cron: 0 0 3 * * ? -> 0 0 5 * * ?", "sharding_total_count: 3 -> 9"];
        assert_eq!(meanwhile, expected);
        let wanted = later.clone().with(|it| {
            it.misfire = false;
            it.description = "x".to_owned();
            it.cron = Some("0 0 4 * * ?".to_owned());
        });
        assert_eq!(rebased.applied_to(&later), (wanted, Vec::new()));
        assert_eq!(rebased.revision, Revision(8));
    }

    #[test]
    fn overlap_has_its_number_from_a_control_of_its_own() {
        let typed = Typed::of(&config(), Revision(7));
        for (length, valid) in [("10", true), ("", false), ("0", false), ("101", false)] {
            let mut fields = form(&typed, &[(OVERLAP, QUEUE_WORD)]);
            fields.push((QUEUE.to_owned(), length.to_owned()));
            let (wanted, faults) = Typed::read(&fields).unwrap().applied_to(&config());
            assert_eq!(faults.is_empty(), valid, "{length}");
            let expected = if valid { Overlap::parse("queue 10") } else { None };
            assert_eq!(wanted.overlap, expected, "{length}");
        }
        for (number, valid) in [("2", true), ("16", true), ("1", false), ("17", false)] {
            let mut fields = form(&typed, &[(OVERLAP, PARALLEL_WORD)]);
            fields.push((QUEUE.to_owned(), number.to_owned()));
            let (wanted, faults) = Typed::read(&fields).unwrap().applied_to(&config());
            let named: Vec<_> = faults.iter().map(|fault| fault.field).collect();
            assert_eq!(named, if valid { vec![] } else { vec!["overlap"] }, "{number}");
            let expected = Overlap::parse(&format!("parallel {number}")).filter(|_| valid);
            assert_eq!(wanted.overlap, expected, "{number}");
        }
        // The page with the differences sends the whole value again.
        let fields = form(&typed, &[(OVERLAP, "queue 7")]);
        let (wanted, _) = Typed::read(&fields).unwrap().applied_to(&config());
        assert_eq!(wanted.overlap, Overlap::parse("queue 7"));
    }

    #[test]
    fn forms_without_their_beginning_are_refused_by_field() {
        let mut fields = form(&Typed::of(&config(), Revision(7)), &[]);
        fields.retain(|(name, _)| name != "was.failover");
        let error = Typed::read(&fields).unwrap_err().detail;
        assert_eq!(error, "was.failover is missing; valid is the value in the form");
        assert!(revision(&[]).unwrap_err().detail.starts_with("revision is \"\"; valid is"));
    }
}
