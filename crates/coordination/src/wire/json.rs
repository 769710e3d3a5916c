//! JSON objects that keep the text of each value until a reader takes it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::config_error::ConfigError;

/// The fields of an object that no reader has taken yet, in their order in the document. If a field
/// occurs twice, its last value counts, as in Java.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// Reads an object, and nothing after it.
    pub(super) fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a text; empty if there is none. A number counts as its digits.
    pub(super) fn string(&mut self, field: &'static str) -> Result<String, ConfigError> {
        let Some(raw) = self.remove(field) else { return Ok(String::new()) };
        match value(&raw) {
            Some(Value::String(text)) => Ok(text),
            Some(Value::Number(_)) => Ok(raw.get().to_owned()),
            _ => Err(wrong(field, &raw, "a string")),
        }
    }

    pub(super) fn boolean(
        &mut self,
        field: &'static str,
        default: bool,
    ) -> Result<bool, ConfigError> {
        let Some(raw) = self.remove(field) else { return Ok(default) };
        let read = value(&raw).and_then(|value| value.as_bool());
        read.ok_or_else(|| wrong(field, &raw, "true or false"))
    }

    /// Takes a number, which may be quoted.
    pub(super) fn integer(
        &mut self,
        field: &'static str,
        default: i64,
    ) -> Result<i64, ConfigError> {
        let Some(raw) = self.remove(field) else { return Ok(default) };
        let quoted = |value: &Value| value.as_str()?.trim().parse().ok();
        let number = value(&raw).and_then(|value| value.as_i64().or_else(|| quoted(&value)));
        number.ok_or_else(|| wrong(field, &raw, "a whole number"))
    }

    /// Takes an object; empty if there is none.
    pub(super) fn object(&mut self, field: &'static str) -> Result<Self, ConfigError> {
        let Some(raw) = self.remove(field) else { return Ok(Self::default()) };
        Self::read(raw.get().as_bytes()).map_err(|_| wrong(field, &raw, "an object"))
    }

    /// Returns the names of the remaining fields with the text of their values.
    pub(super) fn rest(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(name, value)| (name, value.get().to_owned())).collect()
    }

    fn remove(&mut self, name: &str) -> Option<Box<RawValue>> {
        let place = self.0.iter().position(|(field, _)| field == name)?;
        Some(self.0.remove(place).1)
    }
}

fn value(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

fn wrong(field: &'static str, found: &RawValue, valid: &'static str) -> ConfigError {
    ConfigError::Field { field, found: found.get().to_owned(), valid }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields: Vec<(String, Box<RawValue>)> = Vec::new();
        while let Some((name, value)) = map.next_entry()? {
            match fields.iter_mut().find(|(field, _)| *field == name) {
                Some(before) => before.1 = value,
                None => fields.push((name, value)),
            }
        }
        Ok(Fields(fields))
    }
}
