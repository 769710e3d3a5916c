//! Rules of a job for the placement of its items.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use super::{InstanceAttributes, InvalidPlacement, Selector};
use crate::ShardingItem;

/// Maximum size of the text of rules, in bytes.
pub const MAX_PLACEMENT_BYTES: usize = 16_384;

/// Maximum number of rules of a job.
pub const MAX_PLACEMENT_ENTRIES: usize = 1_000;

/// Valid rules, for messages.
const RULES: &str = "`require CONDITION`, `prefer CONDITION`, `avoid CONDITION`, \
                     `zones weighted|even` or `pin ITEMS CONDITION`";

/// Rules of a job: which instances own its items.
///
/// The text has one rule a line, or rules separated by semicolons. Text after `#` is a remark.
///
/// | rule | meaning |
/// |---|---|
/// | `require disk=ssd` | only instances with the label own items, whatever the strategy |
/// | `prefer region=eu` | other instances own items only if no instance has the label |
/// | `avoid spot=yes` | instances with the label own items only if there is no other one |
/// | `zones even` | each zone gets the same number of items, not a share by weight |
/// | `pin 0 server=10.0.0.7` | the item is on such an instance while there is one |
/// | `pin 4..7 zone=a\|b` | the same for items 4 to 7 |
///
/// Preferences are applied in the order of the text. One that no remaining instance meets has no
/// effect.
///
/// # Examples
///
/// ```
/// use sharding::{PlacementRules, ShardingItem};
///
/// let rules = PlacementRules::parse("require disk=ssd; pin 0 server=10.0.0.7")?;
/// assert!(rules.pin(ShardingItem::new(0)).is_some());
/// assert_eq!(rules.as_str(), "require disk=ssd; pin 0 server=10.0.0.7");
///
/// let error = PlacementRules::parse("require disk").unwrap_err();
/// assert_eq!(error.part, "rule 1, condition");
/// # Ok::<(), sharding::InvalidPlacement>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PlacementRules {
    required: Vec<Selector>,
    preferred: Vec<Selector>,
    even_zones: bool,
    /// The last item and the condition, by the first item. The ranges do not overlap.
    pins: BTreeMap<u32, (u32, Selector)>,
    /// The text with its remarks.
    text: String,
}

impl PlacementRules {
    /// Rules without effect, as a constant.
    pub(crate) const NONE: Self = Self {
        required: Vec::new(),
        preferred: Vec::new(),
        even_zones: false,
        pins: BTreeMap::new(),
        text: String::new(),
    };

    /// Parses the text of a job configuration.
    ///
    /// # Errors
    /// Names the rule by its number, the invalid part, its text and the valid texts.
    pub fn parse(text: &str) -> Result<Self, InvalidPlacement> {
        if text.len() > MAX_PLACEMENT_BYTES {
            let valid = format!("at most {MAX_PLACEMENT_BYTES} bytes");
            return Err(InvalidPlacement::new("length of the rules", text.len(), valid));
        }
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        let entries = lines.flat_map(|line| line.split(';')).map(str::trim);
        let mut rules = Self { text: text.to_owned(), ..Self::NONE };
        for (index, entry) in entries.filter(|entry| !entry.is_empty()).enumerate() {
            if index == MAX_PLACEMENT_ENTRIES {
                let valid = format!("at most {MAX_PLACEMENT_ENTRIES}");
                return Err(InvalidPlacement::new("number of rules", index + 1, valid));
            }
            rules.add(entry).map_err(|error| InvalidPlacement {
                part: format!("rule {}, {}", index + 1, error.part),
                ..error
            })?;
        }
        Ok(rules)
    }

    fn add(&mut self, entry: &str) -> Result<(), InvalidPlacement> {
        let words: Vec<_> = entry.split_whitespace().collect();
        match words[..] {
            ["require", condition] => self.required.push(condition.parse()?),
            ["prefer", condition] => self.preferred.push(condition.parse()?),
            ["avoid", condition] => self.preferred.push(condition.parse::<Selector>()?.negated()),
            ["zones", "even"] => self.even_zones = true,
            ["zones", "weighted"] => self.even_zones = false,
            ["zones", other] => {
                return Err(InvalidPlacement::new("zones", other, "`weighted` or `even`"));
            }
            ["pin", items, condition] => self.add_pin(items, condition.parse()?)?,
            _ => return Err(InvalidPlacement::new("text", entry, RULES)),
        }
        Ok(())
    }

    fn add_pin(&mut self, items: &str, selector: Selector) -> Result<(), InvalidPlacement> {
        let invalid = |valid| InvalidPlacement::new("items of the pin", items, valid);
        let (first, last) = items.split_once("..").unwrap_or((items, items));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(invalid("an item such as `3`, or items such as `4..7`"));
        };
        if first > last {
            return Err(invalid("a first item that is not above the last one"));
        }
        // The only range that can overlap is the last one that begins at or before `last`.
        let before = self.pins.range(..=last).next_back();
        if before.is_some_and(|(_, (end, _))| *end >= first) {
            return Err(invalid("items without another pin"));
        }
        self.pins.insert(first, (last, selector));
        Ok(())
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns true if there is a rule that only strategies apply: a preference, a pin or shares of
    /// zones. The engine applies required conditions by itself.
    #[must_use]
    pub fn needs_strategy(&self) -> bool {
        !self.preferred.is_empty() || !self.pins.is_empty() || self.even_zones
    }

    /// Returns the first required condition that an instance with these attributes does not meet;
    /// `None` if it may own items.
    #[must_use]
    pub fn unmet(&self, attributes: &InstanceAttributes) -> Option<&Selector> {
        self.required.iter().find(|required| !required.matches(attributes))
    }

    /// Returns the required conditions, in the order of the text.
    #[must_use]
    pub fn required(&self) -> &[Selector] {
        &self.required
    }

    /// Returns true if there is a required condition.
    #[must_use]
    pub fn has_required(&self) -> bool {
        !self.required.is_empty()
    }

    /// Returns the preferred conditions in their order. A label to avoid is a negated condition.
    #[must_use]
    pub fn preferred(&self) -> &[Selector] {
        &self.preferred
    }

    /// Returns true if each zone gets the same number of items.
    #[must_use]
    pub fn has_even_zones(&self) -> bool {
        self.even_zones
    }

    /// Returns the condition of the pin of an item.
    #[must_use]
    pub fn pin(&self, item: ShardingItem) -> Option<&Selector> {
        let (_, (last, selector)) = self.pins.range(..=item.index()).next_back()?;
        (item.index() <= *last).then_some(selector)
    }

    /// Returns the first and the last item of each pin with its condition, in ascending order.
    pub fn pins(&self) -> impl Iterator<Item = (u32, u32, &Selector)> {
        self.pins.iter().map(|(first, (last, selector))| (*first, *last, selector))
    }
}

impl fmt::Display for PlacementRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for PlacementRules {
    type Err = InvalidPlacement;

    fn from_str(text: &str) -> Result<Self, InvalidPlacement> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_in_lines_and_between_semicolons() {
        let text = "require disk=ssd # fast\n\n prefer region=eu ; avoid spot=yes\nzones even\n\
                    pin 0 server=10.0.0.7; pin 4..7 zone=a|b";
        let rules = PlacementRules::parse(text).unwrap();
        assert_eq!(rules.as_str(), text);
        let preferred: Vec<_> = rules.preferred().iter().map(ToString::to_string).collect();
        assert_eq!(preferred, ["region=eu", "spot!=yes"]);
        assert!(rules.has_even_zones() && rules.has_required() && rules.needs_strategy());
        let pinned: Vec<_> =
            (0..10).filter(|item| rules.pin(ShardingItem::new(*item)).is_some()).collect();
        assert_eq!(pinned, [0, 4, 5, 6, 7]);
        let remark = PlacementRules::parse(" # nothing\n;").unwrap();
        assert!(!remark.is_empty() && !remark.has_required() && !remark.needs_strategy());
    }

    #[test]
    fn invalid_rules_are_named_by_number_part_and_value() {
        let rows = [
            ("disk=ssd", r#"rule 1, text is "disk=ssd"; valid is `require CONDITION`"#),
            ("require", r#"rule 1, text is "require";"#),
            ("zones even; require disk", r#"rule 2, condition is "disk"; valid is `key=value`"#),
            ("require =ssd", r#"rule 1, key of the condition is "";"#),
            ("require disk=ssd|", r#"rule 1, value of disk is "";"#),
            ("require weight=2", r#"rule 1, key of the condition is "weight"; valid is a label"#),
            ("zones odd", r#"rule 1, zones is "odd"; valid is `weighted` or `even`"#),
            ("pin x a=b", r#"rule 1, items of the pin is "x"; valid is an item"#),
            ("pin -1 a=b", r#"rule 1, items of the pin is "-1";"#),
            ("pin 3..1 a=b", r#"rule 1, items of the pin is "3..1"; valid is a first item"#),
            ("pin 1 a=b;pin 0..2 a=b", r#"rule 2, items of the pin is "0..2"; valid is items"#),
            ("pin 0..2 a=b;pin 2 a=b", r#"rule 2, items of the pin is "2"; valid is items"#),
        ];
        for (text, message) in rows {
            let error = PlacementRules::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
        let many = "require a=b\n".repeat(MAX_PLACEMENT_ENTRIES + 1);
        assert_eq!(PlacementRules::parse(&many).unwrap_err().part, "number of rules");
        let long = "#".repeat(MAX_PLACEMENT_BYTES + 1);
        assert_eq!(PlacementRules::parse(&long).unwrap_err().part, "length of the rules");
    }
}
