//! Runtime jobs: a template provides their code, and labels select the processes that run them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::InvalidName;

/// Maximum length of a template name or a label, in bytes.
pub const MAX_TEMPLATE_NAME_BYTES: usize = 128;

macro_rules! checked_text {
    ($name:ident) => {
        impl $name {
            /// Returns the text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

/// The name of a template: code that processes offer for runtime jobs.
///
/// 1 to 128 bytes, without control characters, and without leading or trailing blanks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateName(Arc<str>);

checked_text!(TemplateName);

impl TemplateName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`InvalidName`] names the value and the rule that it breaks.
    ///
    /// # Examples
    /// ```
    /// use coordination::TemplateName;
    ///
    /// assert_eq!(TemplateName::new("daily report")?.as_str(), "daily report");
    /// assert!(TemplateName::new(" ").is_err());
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn new(name: &str) -> Result<Self, InvalidName> {
        match fault(name) {
            Some(reason) => Err(InvalidName::new("template name", name, reason)),
            None => Ok(Self(Arc::from(name))),
        }
    }
}

/// A label, by which processes select runtime jobs, as in ElasticJob 3.x.
///
/// 1 to 128 bytes, without commas and control characters, and without leading or trailing blanks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Label(Arc<str>);

checked_text!(Label);

impl Label {
    /// Checks a label.
    ///
    /// # Errors
    /// [`InvalidName`] names the value and the rule that it breaks.
    ///
    /// # Examples
    /// ```
    /// use coordination::Label;
    ///
    /// assert_eq!(Label::new("eu")?.as_str(), "eu");
    /// assert!(Label::new("eu,us").is_err());
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn new(label: &str) -> Result<Self, InvalidName> {
        let comma = label.contains(',').then_some("it contains a comma, which separates labels");
        match fault(label).or(comma) {
            Some(reason) => Err(InvalidName::new("label", label, reason)),
            None => Ok(Self(Arc::from(label))),
        }
    }
}

fn fault(text: &str) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("it is blank");
    }
    if text.len() > MAX_TEMPLATE_NAME_BYTES {
        return Some("it is longer than 128 bytes");
    }
    if text.chars().any(char::is_control) {
        return Some("it contains a control character");
    }
    (text.trim() != text).then_some("it has blanks at its ends")
}

/// Record that makes a stored job a runtime job.
///
/// It is stored with the job and never changes while the job exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TemplateRecord {
    /// Template that provides the code of the job.
    pub template: TemplateName,
    /// Label of the job. `None` if only processes without a selection run it.
    pub label: Option<Label>,
}

impl TemplateRecord {
    /// Returns true if a process with these labels runs the job.
    ///
    /// A process without a selection (`None`) runs every job. A process with one runs no job
    /// without a label.
    ///
    /// # Examples
    /// ```
    /// use coordination::{Label, TemplateName, TemplateRecord};
    ///
    /// let (eu, us) = (Label::new("eu")?, Label::new("us")?);
    /// let template = TemplateName::new("report")?;
    /// let record = TemplateRecord { template, label: Some(eu.clone()) };
    /// assert!(record.is_for(None));
    /// assert!(record.is_for(Some(&[eu, us.clone()].into())));
    /// assert!(!record.is_for(Some(&[us].into())));
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    #[must_use]
    pub fn is_for(&self, labels: Option<&BTreeSet<Label>>) -> bool {
        labels.is_none_or(|labels| self.label.as_ref().is_some_and(|label| labels.contains(label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(label: Option<&str>) -> TemplateRecord {
        let label = label.map(|label| Label::new(label).unwrap());
        TemplateRecord { template: TemplateName::new("report").unwrap(), label }
    }

    #[test]
    fn invalid_names_and_labels_are_rejected() {
        let rows = [
            ("plain", "report", true, true),
            ("blank inside", "daily report", true, true),
            ("Unicode", "月报", true, true),
            ("slash", "a/b", true, true),
            ("comma", "a,b", true, false),
            ("empty", "", false, false),
            ("blank", " ", false, false),
            ("blank at the end", "a ", false, false),
            ("line break", "a\nb", false, false),
            ("longest", &"x".repeat(128), true, true),
            ("too long", &"x".repeat(129), false, false),
        ];
        for (case, text, as_name, as_label) in rows {
            assert_eq!(TemplateName::new(text).is_ok(), as_name, "{case}");
            assert_eq!(Label::new(text).is_ok(), as_label, "{case}");
        }
    }

    #[test]
    fn a_process_with_labels_runs_jobs_with_one_of_them() {
        let selected = |labels: &[&str]| -> BTreeSet<Label> {
            labels.iter().map(|label| Label::new(label).unwrap()).collect()
        };
        let rows = [
            ("no label on either side", None, None, true),
            ("process without a selection", None, Some("eu"), true),
            ("selected", Some(selected(&["eu", "us"])), Some("eu"), true),
            ("another label", Some(selected(&["us"])), Some("eu"), false),
            ("job without a label", Some(selected(&["us"])), None, false),
            ("process with an empty selection", Some(selected(&[])), Some("eu"), false),
        ];
        for (case, labels, label, expected) in rows {
            assert_eq!(record(label).is_for(labels.as_ref()), expected, "{case}");
        }
    }
}
