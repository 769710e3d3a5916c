//! Parser of YAML documents.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{Entry, Node, Scalar, Value};

/// Parses a YAML document.
pub(in crate::file) fn from_yaml(text: &str) -> Result<Node, String> {
    // The snippet would show lines that may hold a credential.
    let options = serde_saphyr::options! { with_snippet: false };
    let value: Spanned<YamlValue> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
    Ok(yaml_node(value, text))
}

enum YamlValue {
    Text(String),
    Plain(Scalar),
    List(Vec<Spanned<YamlValue>>),
    Table(Vec<(Spanned<String>, Spanned<YamlValue>)>),
}

fn yaml_node(found: Spanned<YamlValue>, text: &str) -> Node {
    let line = usize::try_from(found.referenced.line()).unwrap_or(usize::MAX);
    let raw = || {
        let span = found.defined.span();
        let bytes = span.byte_offset().zip(span.byte_len());
        let bytes = bytes.and_then(|(start, len)| {
            let start = usize::try_from(start).ok()?;
            text.get(start..start.checked_add(usize::try_from(len).ok()?)?)
        });
        bytes.unwrap_or_default().trim().to_owned()
    };
    let value = match found.value {
        YamlValue::Text(text) => Value::Text(text),
        YamlValue::Plain(scalar) => Value::Plain { raw: raw(), scalar, is_text: true },
        YamlValue::List(nodes) => {
            Value::List(nodes.into_iter().map(|node| yaml_node(node, text)).collect())
        }
        YamlValue::Table(entries) => {
            let entry = |(key, node): (Spanned<String>, _)| Entry {
                line: usize::try_from(key.referenced.line()).unwrap_or(usize::MAX),
                key: key.value,
                node: yaml_node(node, text),
            };
            Value::Table(entries.into_iter().map(entry).collect())
        }
    };
    Node { line, value }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Nothing))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Bool(flag)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Unsigned(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<YamlValue, E> {
        let unsigned = u64::try_from(number).map(Scalar::Unsigned);
        Ok(YamlValue::Plain(unsigned.unwrap_or(Scalar::Signed(number))))
    }

    fn visit_f64<E>(self, _: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Plain(Scalar::Other))
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<YamlValue, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element()? {
            nodes.push(node);
        }
        Ok(YamlValue::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(YamlValue::Table(entries))
    }
}
