//! Conditions on the attributes of an instance.

use std::fmt;
use std::str::FromStr;

use super::{InstanceAttributes, InvalidPlacement, WORD, is_word};

pub(super) const WEIGHT: &str = "weight";
pub(super) const ZONE: &str = "zone";
pub(super) const SERVER: &str = "server";
pub(super) const NAME: &str = "name";

/// A condition on the attributes of an instance: `disk=ssd`, `zone=a|b`, or `spot!=yes`.
///
/// The keys are labels, and `zone`, `server` (the IP of the instance) and `name` (its stable name).
/// `=` needs one of the values, and `!=` none of them, so that an instance without the label
/// matches `!=`.
///
/// # Examples
///
/// ```
/// use sharding::{InstanceAttributes, Selector};
///
/// let selector: Selector = "disk=ssd|nvme".parse()?;
/// let fast = InstanceAttributes::default().with_label("disk", "nvme")?;
/// assert!(selector.matches(&fast));
/// assert!(!selector.matches(&InstanceAttributes::default()));
/// # Ok::<(), sharding::InvalidPlacement>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector {
    key: String,
    values: Vec<String>,
    negated: bool,
}

impl Selector {
    /// Returns true if an instance with these attributes meets the condition.
    #[must_use]
    pub fn matches(&self, attributes: &InstanceAttributes) -> bool {
        let value = attributes.get(&self.key);
        let listed = value.is_some_and(|value| self.values.iter().any(|listed| listed == value));
        listed != self.negated
    }

    /// Returns the opposite condition.
    pub(crate) fn negated(self) -> Self {
        Self { negated: !self.negated, ..self }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.negated { "!=" } else { "=" };
        write!(f, "{}{operator}{}", self.key, self.values.join("|"))
    }
}

impl FromStr for Selector {
    type Err = InvalidPlacement;

    fn from_str(text: &str) -> Result<Self, InvalidPlacement> {
        let Some((key, values)) = text.split_once('=') else {
            let valid = "`key=value`, `key=value|value` or `key!=value`";
            return Err(InvalidPlacement::new("condition", text, valid));
        };
        let (key, negated) = key.strip_suffix('!').map_or((key, false), |key| (key, true));
        if !is_word(key) {
            return Err(InvalidPlacement::new("key of the condition", key, WORD));
        }
        if key == WEIGHT {
            let valid = "a label, zone, server or name: the weight already sets the share";
            return Err(InvalidPlacement::new("key of the condition", key, valid));
        }
        let values: Vec<_> = values.split('|').map(str::to_owned).collect();
        if let Some(value) = values.iter().find(|value| !is_word(value)) {
            return Err(InvalidPlacement::new(format!("value of {key}"), value, WORD));
        }
        Ok(Self { key: key.to_owned(), values, negated })
    }
}
