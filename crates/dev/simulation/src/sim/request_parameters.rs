//! Checks of request parameters, from the creation of a request to the start of its run.

use coordination::{FencingToken, Ledger, RequestParameter, RunSource, StartItem};
use sharding::ShardingItem;

use super::world::World;

impl World {
    /// Checks that a record carries the parameter of its request, and a run that of its record,
    /// also after a takeover.
    pub(crate) fn check_parameter(&mut self, item: ShardingItem, old: &Ledger, new: &Ledger) {
        let asked = new.request.as_ref().filter(|_| new.request != old.request);
        if let Some(asked) = asked.filter(|asked| asked.past_fire.is_none())
            && let Some(left) = self.tracked.requests.get(&*asked.id)
            && left.as_deref() != asked.parameter.as_ref().map(RequestParameter::as_str)
        {
            let text = format!("item {item} has another parameter than its request {}", asked.id);
            self.fail("S3", text);
        }
        let Some(run) = new.running().filter(|_| new.token > old.token) else { return };
        let expected = match run.source {
            RunSource::Manual => old.request.as_ref().and_then(|asked| asked.parameter.as_ref()),
            RunSource::Failover => old.run().and_then(|left| left.parameter.as_ref()),
            RunSource::Normal | RunSource::Misfire | RunSource::Backfill => None,
        };
        if run.parameter.as_ref() != expected {
            let text = format!(
                "the run of item {item} has the parameter {:?}, not {expected:?}",
                run.parameter
            );
            self.fail("S3", text);
        }
    }

    /// Checks that a starting run gets the parameter of its record. An unclaimed run has no record
    /// and no parameter.
    pub(crate) fn check_parameter_at_start(&mut self, start: &StartItem) {
        let parameter = start.request_parameter.clone();
        if parameter.is_some() {
            self.coverage.count("run_with_parameter");
        }
        let view = self.observer.view().item(start.slot().key());
        let record = view.ledger.as_ref().map(|ledger| &ledger.value);
        let record = record.filter(|ledger| ledger.token == start.token);
        let expected = record.and_then(Ledger::run).map(|run| run.parameter.clone());
        let unclaimed = start.token == FencingToken::UNFENCED;
        let expected = if unclaimed { Some(None) } else { expected };
        if expected.is_some_and(|expected| expected != parameter) {
            let text = format!(
                "item {} starts with the parameter {parameter:?} instead of that of its record",
                start.item
            );
            self.fail("S3", text);
        }
    }
}
