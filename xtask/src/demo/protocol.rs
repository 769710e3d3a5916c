//! Events on a worker's standard output: one line each, `name key=value key=value`.

use std::collections::BTreeMap;

/// An event of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The worker has begun an item, and will write its result under this token.
    ItemStarted {
        /// The item, from 0.
        item: u64,
        /// The fencing token of the run.
        token: u64,
    },
    /// The worker has written the item's result.
    ItemDone {
        /// The item, from 0.
        item: u64,
        /// The fencing token of the run.
        token: u64,
    },
    /// An event that the demonstration does not use.
    Other,
}

impl Event {
    /// Parses one line. The error names the missing or invalid field.
    pub(super) fn parse(line: &str) -> Result<Event, String> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let fields = Fields(words.filter_map(|word| word.split_once('=')).collect());
        match name {
            "item-started" => Ok(Event::ItemStarted {
                item: fields.number("item")?,
                token: fields.number("token")?,
            }),
            "item-done" => {
                Ok(Event::ItemDone { item: fields.number("item")?, token: fields.number("token")? })
            }
            _ => Ok(Event::Other),
        }
    }
}

struct Fields<'a>(BTreeMap<&'a str, &'a str>);

impl Fields<'_> {
    fn text(&self, key: &str) -> Result<&str, String> {
        self.0.get(key).copied().ok_or_else(|| format!("there is no `{key}=`"))
    }

    fn number(&self, key: &str) -> Result<u64, String> {
        let text = self.text(key)?;
        text.parse().map_err(|_| format!("`{key}={text}` is not a number from 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_parsed() {
        let started = |item, token| Ok(Event::ItemStarted { item, token });
        let rows = [
            ("item-started item=3 token=7 source=NORMAL", started(3, 7)),
            ("item-started source=FAILOVER token=8 item=0", started(0, 8)),
            (
                "item-done item=3 token=7 files=12 lines=345",
                Ok(Event::ItemDone { item: 3, token: 7 }),
            ),
            ("file-counted path=a.rs lines=3", Ok(Event::Other)),
            ("", Ok(Event::Other)),
            ("item-started item=3 source=NORMAL", Err("there is no `token=`".to_owned())),
            ("item-done item=x token=7", Err("`item=x` is not a number from 0".to_owned())),
        ];
        for (line, expected) in rows {
            assert_eq!(Event::parse(line), expected, "{line:?}");
        }
    }
}
