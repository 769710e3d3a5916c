//! The record of a runtime job as JSON.

use serde::{Deserialize, Serialize};

use super::format::{FormatVersion, RecordError, from_json, to_json};
use crate::{Label, TemplateName, TemplateRecord};

#[derive(Serialize, Deserialize)]
struct TemplateDoc {
    #[serde(rename = "v", default)]
    version: FormatVersion,
    template: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

/// Encodes the record of a runtime job.
pub(crate) fn encode_template(record: &TemplateRecord) -> String {
    let doc = TemplateDoc {
        version: FormatVersion::WRITTEN,
        template: record.template.to_string(),
        label: record.label.as_ref().map(ToString::to_string),
    };
    to_json(&doc)
}

/// Decodes the record of a runtime job.
///
/// # Errors
/// The bytes are no valid record, or a record of a later version.
///
/// # Examples
/// ```
/// let record = coordination::decode_template(br#"{"template":"report","label":"eu"}"#)?;
/// assert_eq!(record.template.as_str(), "report");
/// # Ok::<(), coordination::RecordError>(())
/// ```
pub fn decode_template(bytes: &[u8]) -> Result<TemplateRecord, RecordError> {
    let doc: TemplateDoc = from_json(bytes)?;
    let template = TemplateName::new(&doc.template).map_err(|error| error.to_string())?;
    let label = doc.label.map(|label| Label::new(&label)).transpose();
    Ok(TemplateRecord { template, label: label.map_err(|error| error.to_string())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(label: Option<&str>) -> TemplateRecord {
        let label = label.map(|label| Label::new(label).unwrap());
        TemplateRecord { template: TemplateName::new("report").unwrap(), label }
    }

    #[test]
    fn an_encoded_record_is_decoded_and_an_invalid_one_is_rejected() {
        for label in [None, Some("eu")] {
            let text = encode_template(&record(label));
            assert_eq!(decode_template(text.as_bytes()), Ok(record(label)), "{text}");
        }
        assert_eq!(encode_template(&record(None)), r#"{"v":1,"template":"report"}"#);
        let rows = [
            ("empty", "", "EOF"),
            ("no object", "report", "expected"),
            ("no template", r#"{"label":"eu"}"#, "template"),
            ("blank template", r#"{"template":""}"#, "blank"),
            ("two labels", r#"{"template":"a","label":"b,c"}"#, "comma"),
        ];
        for (case, text, expected) in rows {
            let error = decode_template(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{case}: {error}");
        }
    }
}
