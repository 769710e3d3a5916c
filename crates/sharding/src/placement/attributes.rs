//! Attributes by which strategies place items on instances.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::selector::{NAME, SERVER, WEIGHT, ZONE};
use super::{InvalidPlacement, WORD, is_word};

/// Maximum weight of an instance.
pub const MAX_WEIGHT: u32 = 100;

/// Maximum number of labels of an instance.
pub const MAX_LABELS: usize = 32;

/// Weight, zone and labels of an instance.
///
/// The default has weight 1, no zone and no labels. `Display` writes the form that [`FromStr`]
/// reads: `weight=2 zone=a disk=ssd`. It omits the server and the stable name, which other nodes
/// of the registry have.
///
/// # Examples
///
/// ```
/// use sharding::InstanceAttributes;
///
/// let attributes = InstanceAttributes::default()
///     .with_weight(2)?
///     .with_zone("a")?
///     .with_label("disk", "ssd")?;
/// assert_eq!(attributes.get("disk"), Some("ssd"));
/// assert_eq!(attributes.to_string(), "weight=2 zone=a disk=ssd");
/// assert_eq!("weight=2 zone=a disk=ssd".parse(), Ok(attributes));
/// # Ok::<(), sharding::InvalidPlacement>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceAttributes {
    weight: u32,
    zone: Option<String>,
    labels: BTreeMap<String, String>,
    server: Option<String>,
    name: Option<String>,
}

impl InstanceAttributes {
    /// The default, as a constant.
    pub(crate) const DEFAULT: Self =
        Self { weight: 1, zone: None, labels: BTreeMap::new(), server: None, name: None };

    /// Sets the weight: an instance of weight 2 gets twice the items of one of weight 1.
    ///
    /// # Errors
    /// The weight is 0, or above [`MAX_WEIGHT`].
    pub fn with_weight(mut self, weight: u32) -> Result<Self, InvalidPlacement> {
        if !(1..=MAX_WEIGHT).contains(&weight) {
            return Err(InvalidPlacement::new(WEIGHT, weight, format!("1 to {MAX_WEIGHT}")));
        }
        self.weight = weight;
        Ok(self)
    }

    /// Sets the zone: instances of a zone can fail together.
    ///
    /// # Errors
    /// The zone is empty, too long, or has a character that is not valid.
    pub fn with_zone(mut self, zone: impl Into<String>) -> Result<Self, InvalidPlacement> {
        let zone = zone.into();
        if !is_word(&zone) {
            return Err(InvalidPlacement::new(ZONE, zone, WORD));
        }
        self.zone = Some(zone);
        Ok(self)
    }

    /// Adds a label, or replaces its value.
    ///
    /// # Errors
    /// The key or the value is not valid, the key is reserved, or there are more than
    /// [`MAX_LABELS`] labels.
    pub fn with_label(
        mut self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, InvalidPlacement> {
        let (key, value) = (key.into(), value.into());
        if [WEIGHT, ZONE, SERVER, NAME].contains(&key.as_str()) {
            let valid = "another key: weight, zone, server and name have their own settings";
            return Err(InvalidPlacement::new("key of a label", key, valid));
        }
        if !is_word(&key) {
            return Err(InvalidPlacement::new("key of a label", key, WORD));
        }
        if !is_word(&value) {
            return Err(InvalidPlacement::new(format!("label {key}"), value, WORD));
        }
        self.labels.insert(key, value);
        if self.labels.len() > MAX_LABELS {
            let valid = format!("at most {MAX_LABELS}");
            return Err(InvalidPlacement::new("number of labels", self.labels.len(), valid));
        }
        Ok(self)
    }

    /// Sets the server and the stable name, which selectors know as `server` and `name`.
    #[must_use]
    pub fn identified_by(mut self, server: Option<&str>, name: Option<&str>) -> Self {
        self.server = server.map(str::to_owned);
        self.name = name.map(str::to_owned);
        self
    }

    /// Returns the weight, 1 to [`MAX_WEIGHT`].
    #[must_use]
    pub fn weight(&self) -> u32 {
        self.weight
    }

    /// Returns the zone.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// Returns the labels with their values, in ascending order of the keys.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the value of a label, or of one of the keys `zone`, `server` and `name`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        match key {
            ZONE => self.zone.as_deref(),
            SERVER => self.server.as_deref(),
            NAME => self.name.as_deref(),
            label => self.labels.get(label).map(String::as_str),
        }
    }

    /// Returns true if weight, zone and labels have their defaults.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.weight == 1 && self.zone.is_none() && self.labels.is_empty()
    }
}

impl Default for InstanceAttributes {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for InstanceAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = (self.weight != 1).then(|| format!("{WEIGHT}={}", self.weight));
        let zone = self.zone.iter().map(|zone| format!("{ZONE}={zone}"));
        let labels = self.labels.iter().map(|(key, value)| format!("{key}={value}"));
        let pairs: Vec<_> = weight.into_iter().chain(zone).chain(labels).collect();
        f.write_str(&pairs.join(" "))
    }
}

impl FromStr for InstanceAttributes {
    type Err = InvalidPlacement;

    fn from_str(text: &str) -> Result<Self, InvalidPlacement> {
        text.split_whitespace().try_fold(Self::default(), |attributes, pair| {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(InvalidPlacement::new("attribute", pair, "`key=value`"));
            };
            match key {
                WEIGHT => match value.parse() {
                    Ok(weight) => attributes.with_weight(weight),
                    Err(_) => {
                        Err(InvalidPlacement::new(WEIGHT, value, format!("1 to {MAX_WEIGHT}")))
                    }
                },
                ZONE => attributes.with_zone(value),
                key => attributes.with_label(key, value),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_written_as_they_are_read() {
        let texts =
            ["", "weight=100", "zone=eu-1", "a=1 b=2", "weight=2 zone=a disk=ssd net/v6=2001:db8"];
        for text in texts {
            let attributes: InstanceAttributes = text.parse().unwrap();
            assert_eq!(attributes.to_string(), text);
            assert_eq!(attributes.is_default(), text.is_empty());
            let identified = attributes.clone().identified_by(Some("10.0.0.7"), Some("eu-1"));
            assert_eq!(identified.to_string(), text, "the identity is not written");
        }
    }

    #[test]
    fn invalid_attributes_are_named_with_their_value() {
        let rows = [
            ("weight=0", r#"weight is "0"; valid is 1 to 100"#),
            ("weight=101", r#"weight is "101"; valid is 1 to 100"#),
            ("weight=x", r#"weight is "x"; valid is 1 to 100"#),
            ("zone=", r#"zone is "";"#),
            ("disk", r#"attribute is "disk"; valid is `key=value`"#),
            ("disk=a=b", r#"label disk is "a=b";"#),
            ("di;sk=a", r#"key of a label is "di;sk";"#),
            ("server=10.0.0.7", r#"key of a label is "server"; valid is another key"#),
        ];
        for (text, message) in rows {
            let error = text.parse::<InstanceAttributes>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
        let many: Vec<_> = (0..=MAX_LABELS).map(|n| format!("k{n}=v")).collect();
        let error = many.join(" ").parse::<InstanceAttributes>().unwrap_err().to_string();
        assert_eq!(error, r#"number of labels is "33"; valid is at most 32"#);
        let long = "x".repeat(64);
        assert!(InstanceAttributes::default().with_zone(long).is_err());
    }
}
