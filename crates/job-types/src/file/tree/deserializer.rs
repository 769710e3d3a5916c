//! Deserialization of a tree with serde, and the position of the mistakes that it finds.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::{Entry, Node, Scalar, Step, Value};

/// Reason why a tree is no file of jobs, with its position.
#[derive(Debug)]
pub(in crate::file) struct Mistake {
    /// Steps from the inside outwards, in the order in which serde returns through the levels.
    /// [`Mistake::path`] reverses them.
    steps: Vec<Step>,
    pub(in crate::file) reason: Reason,
}

#[derive(Debug)]
pub(in crate::file) enum Reason {
    /// The value is of another type, or out of range.
    Unfit,
    /// The value is an invalid text.
    Unusable { found: String, valid: String },
    /// The table at the path lacks a key.
    Missing(&'static str),
    /// The table at the path has an unknown key.
    Unknown { key: String, known: &'static [&'static str] },
}

impl Mistake {
    /// Returns the path of the invalid value.
    pub(in crate::file) fn path(&self) -> Vec<Step> {
        self.steps.iter().rev().cloned().collect()
    }

    fn new(reason: Reason) -> Self {
        Self { steps: Vec::new(), reason }
    }

    fn under(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.reason, self.path())
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let found = message.to_string();
        Self::new(Reason::Unusable { found, valid: "a value of another kind".to_owned() })
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::new(Reason::Unfit)
    }

    fn invalid_value(found: Unexpected<'_>, valid: &dyn de::Expected) -> Self {
        let Unexpected::Other(found) = found else { return Self::new(Reason::Unfit) };
        Self::new(Reason::Unusable { found: found.to_owned(), valid: valid.to_string() })
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(Reason::Unknown { key: key.to_owned(), known })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(Reason::Missing(key))
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Plain { scalar, .. } => match scalar {
                Scalar::Nothing => visitor.visit_unit(),
                Scalar::Bool(flag) => visitor.visit_bool(*flag),
                Scalar::Unsigned(number) => visitor.visit_u64(*number),
                Scalar::Signed(number) => visitor.visit_i64(*number),
                Scalar::Other => Err(Mistake::new(Reason::Unfit)),
            },
            Value::List(nodes) => visitor.visit_seq(Elements { nodes, at: 0 }),
            Value::Table(entries) => visitor.visit_map(Entries { entries, at: 0 }),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.text() {
            Some(text) if !self.is_nothing() => visitor.visit_str(text),
            Some(_) | None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        if self.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct Elements<'a> {
    nodes: &'a [Node],
    at: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Mistake;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Mistake> {
        let Some(node) = self.nodes.get(self.at) else { return Ok(None) };
        let element = seed.deserialize(node).map_err(|error| error.under(Step::Index(self.at)));
        self.at += 1;
        element.map(Some)
    }
}

struct Entries<'a> {
    entries: &'a [Entry],
    /// Index of the next entry.
    at: usize,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Mistake;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Mistake> {
        let Some(entry) = self.entries.get(self.at) else { return Ok(None) };
        self.at += 1;
        seed.deserialize(StrDeserializer::new(&entry.key)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mistake> {
        let entry = self.at.checked_sub(1).and_then(|at| self.entries.get(at));
        let entry = entry.ok_or_else(|| Mistake::new(Reason::Unfit))?;
        seed.deserialize(&entry.node).map_err(|error| error.under(Step::Key(entry.key.clone())))
    }
}
