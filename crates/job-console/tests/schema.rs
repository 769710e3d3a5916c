//! A validator for the part of JSON Schema that the document uses. An unknown keyword panics.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords without effect on validity.
const NOTES: [&str; 5] = ["description", "title", "example", "examples", "default"];

/// Returns the faults of a value, each with its place.
pub(crate) fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut checker = Checker { document, faults: Vec::new() };
    checker.check(schema, value, "$");
    checker.faults
}

struct Checker<'a> {
    document: &'a Value,
    faults: Vec<String>,
}

impl<'a> Checker<'a> {
    fn resolve(&self, reference: &str) -> &'a Value {
        let pointer = reference.strip_prefix('#').unwrap();
        self.document.pointer(pointer).unwrap_or_else(|| panic!("{reference} is not defined"))
    }

    fn fault(&mut self, at: &str, text: String) {
        self.faults.push(format!("{at}: {text}"));
    }

    fn check(&mut self, schema: &Value, value: &Value, at: &str) {
        self.check_keywords(schema, value, at);
        // Each field of an answer must be in the document.
        let mut known = BTreeSet::new();
        if let (Some(object), true) = (value.as_object(), self.known_fields(schema, &mut known)) {
            for name in object.keys().filter(|name| !known.contains(*name)) {
                self.fault(at, format!("field {name} is not in the document"));
            }
        }
    }

    /// Checks everything but unknown fields, which a part of an `allOf` cannot judge.
    fn check_keywords(&mut self, schema: &Value, value: &Value, at: &str) {
        let schema = schema.as_object().unwrap_or_else(|| panic!("{schema} is no schema"));
        for (keyword, rule) in schema {
            match keyword.as_str() {
                "$ref" => self.check_keywords(self.resolve(rule.as_str().unwrap()), value, at),
                "allOf" => {
                    rule.as_array().unwrap().iter().for_each(|s| self.check_keywords(s, value, at));
                }
                "oneOf" | "anyOf" => {
                    let schemas = rule.as_array().unwrap();
                    if !schemas.iter().any(|schema| self.is_part_valid(schema, value)) {
                        self.fault(at, format!("{value} matches no schema of {keyword}"));
                    }
                }
                "properties" => self.check_fields(rule.as_object().unwrap(), value, at),
                "items" => {
                    for (n, one) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, one, &format!("{at}[{n}]"));
                    }
                }
                "additionalProperties" if rule.is_object() => {
                    for (name, one) in value.as_object().into_iter().flatten() {
                        self.check(rule, one, &format!("{at}.{name}"));
                    }
                }
                _ => self.check_simple(keyword, rule, value, at),
            }
        }
    }

    fn is_part_valid(&self, schema: &Value, value: &Value) -> bool {
        let mut checker = Checker { document: self.document, faults: Vec::new() };
        checker.check_keywords(schema, value, "$");
        checker.faults.is_empty()
    }

    fn check_fields(&mut self, fields: &Map<String, Value>, value: &Value, at: &str) {
        for (name, schema) in fields {
            if let Some(one) = value.get(name) {
                self.check(schema, one, &format!("{at}.{name}"));
            }
        }
    }

    fn check_simple(&mut self, keyword: &str, rule: &Value, value: &Value, at: &str) {
        let number = value.as_f64();
        let is_met = match keyword {
            "type" => match rule.as_array() {
                Some(kinds) => kinds.iter().any(|kind| is_of(kind, value)),
                None => is_of(rule, value),
            },
            "required" => {
                let lacks = |name: &&Value| value.get(name.as_str().unwrap()).is_none();
                let lacking = rule.as_array().unwrap().iter().find(lacks);
                lacking.is_none() || !value.is_object()
            }
            "enum" => rule.as_array().unwrap().contains(value),
            "const" => rule == value,
            "minimum" => number.is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => number.is_none_or(|number| number <= rule.as_f64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
            "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
            "minLength" => length(value).is_none_or(|length| length >= rule.as_u64().unwrap()),
            "maxLength" => length(value).is_none_or(|length| length <= rule.as_u64().unwrap()),
            "uniqueItems" | "propertyNames" => true,
            "additionalProperties" => rule == &Value::Bool(false),
            "format" => is_format(rule.as_str().unwrap(), value),
            _ if NOTES.contains(&keyword) => true,
            _ => panic!("{at}: the validator does not know the keyword {keyword}"),
        };
        if !is_met {
            self.fault(at, format!("{value} does not meet {keyword} {rule}"));
        }
    }

    /// Collects the fields of an object schema; returns false if any field is valid.
    fn known_fields(&self, schema: &Value, known: &mut BTreeSet<String>) -> bool {
        if let Some(reference) = schema.get("$ref") {
            return self.known_fields(self.resolve(reference.as_str().unwrap()), known);
        }
        let mut is_closed = false;
        for (name, _) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            known.insert(name.clone());
            is_closed = true;
        }
        for keyword in ["allOf", "oneOf", "anyOf"] {
            for part in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                is_closed |= self.known_fields(part, known);
            }
        }
        is_closed && !schema.get("additionalProperties").is_some_and(Value::is_object)
    }
}

/// Returns the number of characters of a text.
fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

fn is_format(format: &str, value: &Value) -> bool {
    match (format, value.as_str()) {
        ("date-time", Some(text)) => text.parse::<jiff::Timestamp>().is_ok(),
        ("date-time" | "int32" | "int64", _) => true,
        (other, _) => panic!("{other} is no format that the validator knows"),
    }
}

#[test]
fn validator_finds_each_kind_of_fault() {
    use serde_json::json;
    let document = json!({ "defs": { "name": { "type": "string" } } });
    let schema = json!({
        "type": "object", "required": ["a"],
        "properties": {
            "a": { "type": ["integer", "null"], "maximum": 3 },
            "b": { "$ref": "#/defs/name" },
            "c": { "type": "array", "items": { "enum": ["x"] } },
            "d": { "oneOf": [{ "type": "null" }, { "$ref": "#/defs/name" }] },
            "e": { "type": "string", "format": "date-time" },
        },
    });
    for (value, expected) in [
        (json!({ "a": 1, "b": "x", "c": ["x"], "d": null, "e": "2024-02-29T12:00:00Z" }), 0),
        (json!({ "a": null }), 0),
        (json!({}), 1),
        (json!({ "a": 4 }), 1),
        (json!({ "a": "x" }), 1),
        (json!({ "a": 1, "b": 2 }), 1),
        (json!({ "a": 1, "c": ["x", "y"] }), 1),
        (json!({ "a": 1, "d": 2 }), 1),
        (json!({ "a": 1, "e": "noon" }), 1),
        (json!({ "a": 1, "f": 2 }), 1),
    ] {
        let found = faults(&document, &schema, &value);
        assert_eq!(found.len(), expected, "{value}: {found:?}");
    }
}
