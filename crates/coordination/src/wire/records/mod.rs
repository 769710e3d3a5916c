//! The records of this project as JSON, one file for each kind of record.

mod assignment;
mod audit;
#[cfg(test)]
mod golden;
mod item_ranges;
mod ledger;
mod once;
mod request;
mod template;
mod term;
mod words;

use serde::Serialize;

use crate::{FencingToken, RequestParameter};

pub use assignment::{decode_assignment, encode_assignment};
pub(crate) use audit::{decode_audit, encode_audit};
pub use ledger::{decode_ledger, encode_ledger};
pub(crate) use once::{decode_once, encode_once};
pub(crate) use request::{decode_trigger, encode_trigger};
pub use template::decode_template;
pub(crate) use template::encode_template;
pub(crate) use term::{decode_term, encode_term};

fn to_json(doc: &impl Serialize) -> String {
    serde_json::to_string(doc).expect("records have string keys and no maps that could fail")
}

/// Checks that the token can still rise. A manual edit to the greatest token would stop the item
/// for good, so such a record counts as damaged.
fn decode_token(token: u64) -> Result<FencingToken, String> {
    let max = FencingToken::MAX;
    match FencingToken(token) {
        token if token < max => Ok(token),
        token => Err(format!("token {token} is not below {max}")),
    }
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
        type Decode = fn(&[u8]) -> Option<String>;
        let ledger: Decode = |bytes| decode_ledger(bytes).err();
        let once: Decode = |bytes| decode_once(bytes).err();
        let assignment: Decode = |bytes| decode_assignment(bytes).err();
        let trigger: Decode = |bytes| decode_trigger(bytes).err();
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
                "both a and b",
            ),
            (trigger, r#"{"by":"a","at":1,"items":[[0,99999],[0,99999]]}"#, "items 0 to 99999"),
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
