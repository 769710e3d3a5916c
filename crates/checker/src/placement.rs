//! Placement rules of jobs, and attributes of instances. It shares no code with the product.

use std::collections::BTreeMap;

/// Weight, zone, labels, server and name of an instance, by their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes(BTreeMap<String, String>);

impl Attributes {
    /// Reads the data of an instance's node of ElasticJob 2.1.5; `None` for a manual request, which
    /// overwrites the data.
    pub(crate) fn read(instance: &str, data: &str) -> Option<Self> {
        if data == "TRIGGER" {
            return None;
        }
        let rest = data.strip_prefix("RUST").unwrap_or_default();
        let pairs = rest.split_whitespace().filter_map(|pair| pair.split_once('='));
        let mut values: BTreeMap<_, _> =
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        if let Some((server, _)) = instance.split_once("@-@") {
            values.insert("server".to_owned(), server.to_owned());
        }
        Some(Self(values))
    }

    pub(crate) fn weight(&self) -> u64 {
        self.0.get("weight").and_then(|text| text.parse().ok()).unwrap_or(1)
    }

    pub(crate) fn zone(&self) -> &str {
        self.0.get("zone").map_or("", String::as_str)
    }
}

/// A condition, such as `disk=ssd|nvme` or `spot!=yes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) text: String,
    key: String,
    values: Vec<String>,
    is_met_by_listed: bool,
}

impl Condition {
    fn read(text: &str) -> Option<Self> {
        let (key, values) = text.split_once('=')?;
        let is_negated = key.ends_with('!');
        Some(Self {
            text: text.to_owned(),
            key: key.trim_end_matches('!').to_owned(),
            values: values.split('|').map(str::to_owned).collect(),
            is_met_by_listed: !is_negated,
        })
    }

    pub(crate) fn is_met(&self, attributes: &Attributes) -> bool {
        let value = attributes.0.get(&self.key);
        value.is_some_and(|value| self.values.contains(value)) == self.is_met_by_listed
    }
}

/// The rules of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) required: Vec<Condition>,
    /// In the order of the text; those to avoid are negated.
    pub(crate) preferred: Vec<Condition>,
    pub(crate) even_zones: bool,
    /// First and last item with the condition.
    pub(crate) pins: Vec<(u32, u32, Condition)>,
}

impl Rules {
    /// Reads the text of a configuration.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut rules = Self::default();
        let without_remarks = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        for rule in without_remarks.flat_map(|line| line.split(';')) {
            let words: Vec<_> = rule.split_whitespace().collect();
            if !words.is_empty() && rules.add(&words).is_none() {
                return Err(format!("the placement rule {rule:?} is not known"));
            }
        }
        Ok(rules)
    }

    fn add(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["require", condition] => self.required.push(Condition::read(condition)?),
            ["prefer", condition] => self.preferred.push(Condition::read(condition)?),
            ["avoid", condition] => {
                let condition = Condition::read(condition)?;
                let is_met_by_listed = !condition.is_met_by_listed;
                self.preferred.push(Condition { is_met_by_listed, ..condition });
            }
            ["zones", kind] => self.even_zones = *kind == "even",
            ["pin", items, condition] => {
                let (first, last) = items.split_once("..").unwrap_or((items, items));
                let items = (first.parse().ok()?, last.parse().ok()?);
                self.pins.push((items.0, items.1, Condition::read(condition)?));
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the first required condition that an instance does not meet.
    pub(crate) fn unmet(&self, attributes: &Attributes) -> Option<&Condition> {
        self.required.iter().find(|condition| !condition.is_met(attributes))
    }

    pub(crate) fn pin(&self, item: u32) -> Option<&Condition> {
        let of_item = |(first, last, _): &&(u32, u32, Condition)| (*first..=*last).contains(&item);
        self.pins.iter().find(of_item).map(|(.., condition)| condition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_attributes_are_read() {
        let rules =
            Rules::read("require a=1|2 # x\nprefer b!=3; avoid c=4\nzones even; pin 2..3 zone=z");
        let rules = rules.unwrap();
        let of = |data: &str| Attributes::read("10.0.0.7@-@1", data).unwrap();
        assert!(rules.unmet(&of("RUST a=2")).is_none());
        assert_eq!(rules.unmet(&of("RUST")).map(|it| it.text.as_str()), Some("a=1|2"));
        let met = |data: &str| rules.preferred.iter().map(|it| it.is_met(&of(data))).collect();
        let (first, second): (Vec<_>, Vec<_>) = (met("RUST b=3 c=4"), met("RUST"));
        assert_eq!((first, second), (vec![false, false], vec![true, true]));
        assert!(rules.even_zones && rules.pin(3).is_some() && rules.pin(4).is_none());
        assert_eq!((of("RUST weight=7 zone=z").weight(), of("").weight()), (7, 1));
        assert!(Condition::read("server=10.0.0.7").unwrap().is_met(&of("")));
        assert!(Attributes::read("x", "TRIGGER").is_none());
        assert!(Rules::read("pin a b").is_err());
    }
}
