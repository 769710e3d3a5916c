//! Results of a mutant, compared with the table.

use coordination::{Row, Watcher};

use crate::hunt::Finding;
use crate::name_of;

/// Results of the tests of a mutant. Each is `None` if the test did not run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Number of simulated seeds, with the finding.
    pub(crate) simulated: Option<(u64, Option<Finding>)>,
    /// Finding of its script of the corpus.
    pub(crate) scripted: Option<Option<Finding>>,
    /// Finding of the model.
    pub(crate) modelled: Option<Option<Finding>>,
    /// True if its story failed.
    pub(crate) story_failed: Option<bool>,
    /// Finding of the simulation with the mutant of its spare active as well.
    pub(crate) without_spare: Option<Option<Finding>>,
}

impl Outcome {
    /// Returns the difference from the table, if any.
    pub(crate) fn fault(&self, row: &Row) -> Option<String> {
        let name = name_of(row);
        let missed = |found: &Option<Finding>| match found {
            Some(found) if row.properties.contains(&found.property.as_str()) => None,
            Some(found) => Some(format!("{name} breaks {} at {}", found.property, found.place)),
            None => Some(format!("{name} is not found by {:?}", row.watcher)),
        };
        if let (Some((story, _)), Some(false)) = (row.watcher.story(), self.story_failed) {
            return Some(format!("{name} is not noticed by {story}"));
        }
        match row.watcher {
            Watcher::Simulation(_) => self.simulated.as_ref().and_then(|(_, found)| missed(found)),
            Watcher::Script(_) => self.scripted.as_ref().and_then(missed),
            Watcher::Model => self.modelled.as_ref().and_then(missed),
            Watcher::ByStory(_) => None,
            Watcher::Spare(..)
            | Watcher::SpareStory(..)
            | Watcher::Extra(..)
            | Watcher::Unnoticed(_) => {
                let unexpected = self.by_simulation().or_else(|| self.by_model());
                let noticed = |found: &Finding| {
                    format!("{name} is not redundant: {} at {}", found.property, found.place)
                };
                unexpected.map(noticed).or_else(|| self.without_spare.as_ref().and_then(missed))
            }
        }
    }

    fn by_simulation(&self) -> Option<&Finding> {
        self.simulated.as_ref().and_then(|(_, found)| found.as_ref())
    }

    fn by_model(&self) -> Option<&Finding> {
        self.modelled.as_ref().and_then(Option::as_ref)
    }

    /// Describes the results for the table.
    pub(crate) fn found_by(&self, row: &Row) -> String {
        let at = |found: &Finding| format!("{} at {}", found.property, found.place);
        let simulation = self.simulated.as_ref().map(|(seeds, found)| match found {
            Some(found) => format!("simulation: {}", at(found)),
            None => format!("not by the simulation in {seeds} seeds"),
        });
        let script = self.scripted.as_ref().map(|found| {
            found.as_ref().map_or("by no script".to_owned(), |f| format!("simulation: {}", at(f)))
        });
        let model = self.modelled.as_ref().map(|found| {
            found.as_ref().map_or("not by the model".to_owned(), |found| {
                format!("model: {} in {}", found.property, found.place)
            })
        });
        let parts = simulation.into_iter().chain(script).chain(model);
        parts.chain(self.story(row)).chain(self.reason(row)).collect::<Vec<_>>().join("; ")
    }

    fn story(&self, row: &Row) -> Option<String> {
        let (story, spare) = row.watcher.story()?;
        let without = spare.map_or(String::new(), |spare| format!(" without {spare:?} as well"));
        Some(match self.story_failed {
            Some(true) => format!("scenario test: {story} fails{without}"),
            Some(false) => format!("scenario test: {story} passes{without}"),
            None => format!("scenario test: {story}{without}"),
        })
    }

    fn reason(&self, row: &Row) -> Option<String> {
        let why = row.watcher.reason()?;
        let Watcher::Spare(spare, ..) = row.watcher else {
            return Some(format!("redundant: {why}"));
        };
        let found = self.without_spare.as_ref().and_then(Option::as_ref);
        let place =
            found.map_or("nowhere".to_owned(), |f| format!("{} at {}", f.property, f.place));
        Some(format!("redundant: {why}; with {spare:?} as well, simulation: {place}"))
    }
}
