//! The records of this project as JSON, one file for each kind of record.
//!
//! Each record begins with its format version; see [`format`].

mod assignment;
mod audit;
mod backfills;
mod format;
mod former_configs;
#[cfg(test)]
mod golden;
mod groups;
mod item_ranges;
mod ledger;
mod once;
mod progress;
mod request;
mod starts;
mod template;
mod term;
mod waiting;
mod words;

use crate::{FencingToken, RequestParameter};

pub use assignment::{decode_assignment, encode_assignment};
pub(crate) use audit::{decode_audit, encode_audit};
pub use backfills::decode_backfills;
pub(crate) use backfills::encode_backfills;
pub use format::{FORMAT_VERSION, RecordError};
pub(crate) use former_configs::{decode_former_configs, encode_former_configs};
pub use groups::{decode_group_limits, encode_group_limits};
pub(crate) use groups::{decode_permit_holder, decode_place, encode_permit_holder, encode_place};
pub use ledger::{decode_ledger, encode_ledger};
pub(crate) use once::{decode_once, encode_once};
pub use progress::{decode_progress, encode_progress};
pub(crate) use request::{decode_trigger, encode_trigger};
pub(crate) use starts::{decode_starts, encode_starts};
pub use template::decode_template;
pub(crate) use template::encode_template;
pub(crate) use term::{decode_term, encode_term};
pub(crate) use waiting::{decode_waiting, encode_waiting};

/// Checks that the token can still rise. A manual edit to the greatest token would stop the item
/// for good, so such a record counts as damaged.
fn decode_token(token: u64) -> Result<FencingToken, String> {
    let max = FencingToken::MAX;
    match FencingToken(token) {
        token if token < max => Ok(token),
        token => Err(format!("token {token} is not below {max}")),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn encode_parameter(parameter: Option<&RequestParameter>) -> Option<String> {
    parameter.map(ToString::to_string)
}

fn decode_parameter(text: Option<&str>) -> Result<Option<RequestParameter>, String> {
    text.map(RequestParameter::new).transpose().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_numbers_are_rejected() {
        type DecodeText = fn(&[u8]) -> Option<String>;
        let ledger: DecodeText = |bytes| decode_ledger(bytes).err().map(|error| error.to_string());
        let once: DecodeText = |bytes| decode_once(bytes).err().map(|error| error.to_string());
        let assignment: DecodeText =
            |bytes| decode_assignment(bytes).err().map(|error| error.to_string());
        let backfills: DecodeText =
            |bytes| decode_backfills(bytes).err().map(|error| error.to_string());
        let trigger: DecodeText =
            |bytes| decode_trigger(bytes).err().map(|error| error.to_string());
        let rows = [
            (ledger, r#"{"state":"idle","token":9223372036854775807}"#, "token"),
            (
                once,
                r#"{"started":{"fire":1,"token":18446744073709551615,"holder":"a","done":true}}"#,
                "token",
            ),
            (
                assignment,
                r#"{"members":[],"total":100001,"strategy":"","handled":0}"#,
                "total 100001 is above 100000",
            ),
            (
                assignment,
                r#"{"members":[],"total":3,"strategy":"","handled":0,"pending":{"a":[[2,3]]}}"#,
                "items 2 to 3",
            ),
            (
                assignment,
                r#"{"members":[],"total":3,"strategy":"","handled":0,"pending":{"a":[[1,1]],"b":[[1,1]]}}"#,
                "two next owners, a and b",
            ),
            (trigger, r#"{"by":"a","at":1,"items":[[0,99999],[0,99999]]}"#, "items 0 to 99999"),
            (
                backfills,
                r#"[{"id":"b","by":"a","why":"b","at":1,"from":0,"until":9,"fires":[5,5],"total":2,"items":[[0,0]],"concurrency":1,"done":0}]"#,
                "not ascending",
            ),
            (
                backfills,
                r#"[{"id":"b","by":"a","why":"b","at":1,"from":0,"until":9,"total":2,"items":[[0,0]],"concurrency":17,"done":0}]"#,
                "concurrency 17",
            ),
            (trigger, r#"{"by":"a","at":1,"items":[[5,4]]}"#, "items 5 to 4"),
            (trigger, r#"{"by":"a","at":1,"parameter":""}"#, "parameter is empty"),
            (
                ledger,
                r#"{"state":"idle","token":0,"request":{"id":"r","at":1,"parameter":"\u0000"}}"#,
                "parameter is \"\\0\"",
            ),
        ];
        for (decode, text, expected) in rows {
            let error = decode(text.as_bytes()).unwrap_or_else(|| panic!("accepted: {text}"));
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    type Decode = fn(&[u8]) -> Option<RecordError>;

    /// Each decoder, with a record that it accepts.
    fn decoders() -> [(Decode, &'static str); 14] {
        [
            (|bytes| decode_ledger(bytes).err(), r#"{"state":"idle","token":0}"#),
            (|bytes| decode_term(bytes).err(), r#"{"leader":"a"}"#),
            (
                |bytes| decode_assignment(bytes).err(),
                r#"{"members":[],"total":3,"strategy":"","handled":0}"#,
            ),
            (|bytes| decode_trigger(bytes).err(), r#"{"by":"a","at":1}"#),
            (|bytes| decode_once(bytes).err(), "{}"),
            (
                |bytes| decode_audit(bytes).err(),
                r#"[{"id":"a","at_ms":1,"who":"a","why":"b","act":"c","target":"d"}]"#,
            ),
            (
                |bytes| decode_former_configs(bytes).err(),
                r#"[{"replaced_ms":1,"who":"a","why":"b","document":"{}"}]"#,
            ),
            (
                |bytes| decode_backfills(bytes).err(),
                r#"[{"id":"b","by":"a","why":"b","at":1,"from":0,"until":9,"total":1,"items":[[0,0]],"concurrency":1,"done":1,"ended":7}]"#,
            ),
            (|bytes| decode_template(bytes).err(), r#"{"template":"report"}"#),
            (|bytes| decode_starts(bytes).err(), r#"{"starts":[[1,2]]}"#),
            (|bytes| decode_group_limits(bytes).err(), r#"{"cluster_concurrency":2}"#),
            (
                |bytes| decode_permit_holder(bytes).err(),
                r#"{"job":"a","item":0,"by":"10.0.0.1@-@1","token":1}"#,
            ),
            (|bytes| decode_place(bytes).err(), r#"{"by":"10.0.0.1@-@1"}"#),
            (
                |bytes| decode_waiting(bytes).err(),
                r#"{"limit":4,"since":1,"count":2,"items":[0,3]}"#,
            ),
        ]
    }

    #[test]
    fn version_decides_whether_a_record_is_read() {
        let newer = Some(RecordError::Newer { version: 3 });
        for (decode, text) in decoders() {
            let with =
                |fields: &str| text.replacen('{', &format!("{{{fields},"), 1).replace(",}", "}");
            assert_eq!(decode(text.as_bytes()), None, "{text}");
            for fields in [r#""v":0"#, r#""v":1"#, r#""v":1,"later":{"a":[1,null]}"#] {
                assert_eq!(decode(with(fields).as_bytes()), None, "{fields} in {text}");
            }
            assert_eq!(decode(with(r#""v":3"#).as_bytes()), newer, "{text}");
            assert_eq!(decode(br#"{"other":["shape"],"v":3}"#), newer, "{text}");
            for fields in [r#""v":-1"#, r#""v":"2""#, r#""v":1.5"#, r#""v":3,"v":3"#] {
                let error = decode(with(fields).as_bytes());
                assert!(error.is_some_and(|error| !error.is_newer()), "{fields} in {text}");
            }
            let cut = decode(br#"{"v":3,"#);
            assert!(cut.is_some_and(|error| !error.is_newer()), "{text}");
        }
    }

    #[test]
    fn unknown_fields_are_kept_when_a_record_is_rewritten() {
        type Rewrite = fn(&[u8]) -> String;
        let rows: [(Rewrite, &str); 7] = [
            (
                |bytes| encode_ledger(&decode_ledger(bytes).unwrap()),
                r#"{"v":1,"state":"idle","token":0,"later":[1]}"#,
            ),
            (
                |bytes| encode_assignment(&decode_assignment(bytes).unwrap()),
                r#"{"v":1,"members":[],"total":3,"strategy":"","handled":0,"later":[1]}"#,
            ),
            (
                |bytes| encode_trigger(&decode_trigger(bytes).unwrap()),
                r#"{"v":1,"by":"a","at":1,"later":[1]}"#,
            ),
            (|bytes| encode_once(&decode_once(bytes).unwrap()), r#"{"v":1,"later":[1]}"#),
            (
                |bytes| encode_audit(&decode_audit(bytes).unwrap()),
                r#"[{"v":1,"id":"a","at_ms":1,"who":"a","why":"b","act":"c","target":"d","later":[1]}]"#,
            ),
            (
                |bytes| encode_former_configs(&decode_former_configs(bytes).unwrap()),
                r#"[{"v":1,"replaced_ms":1,"who":"a","why":"b","document":"{}","later":[1]}]"#,
            ),
            (
                |bytes| encode_backfills(&decode_backfills(bytes).unwrap()),
                r#"[{"v":1,"id":"b","by":"a","why":"b","at":1,"from":0,"until":9,"fires":[5],"total":1,"items":[[0,2]],"concurrency":1,"done":0,"later":[1]}]"#,
            ),
        ];
        for (rewrite, text) in rows {
            assert_eq!(rewrite(text.as_bytes()), text);
            let version_0 = text.replace(r#""v":1,"#, "");
            assert_eq!(rewrite(version_0.as_bytes()), text, "{version_0}");
        }
    }

    #[test]
    fn error_of_later_version_says_what_to_do() {
        let error = decode_ledger(br#"{"v":3}"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the record has format version 3, and this program reads versions up to 2: update this program"
        );
    }

    #[test]
    fn damaged_records_are_rejected_without_panic() {
        for text in
            ["", "{}", "[]", r#"{"state":"running","token":1}"#, r#"{"state":"gone","token":1}"#]
        {
            assert!(decode_ledger(text.as_bytes()).is_err(), "{text}");
            assert!(decode_assignment(text.as_bytes()).is_err(), "{text}");
            assert!(decode_term(text.as_bytes()).is_err(), "{text}");
        }
    }
}
