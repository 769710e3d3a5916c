//! What requests tell, from the moment at which one is left to that at which its run begins.

use coordination::{FencingToken, Ledger, RequestParameter, RunSource, StartItem};
use sharding::ShardingItem;

use super::world::World;

impl World {
    /// Each request tells an item what was left, each run what its request tells, and whoever takes it over the same.
    pub(crate) fn check_told(&mut self, item: ShardingItem, old: &Ledger, new: &Ledger) {
        let asked = new.request.as_ref().filter(|_| new.request != old.request);
        if let Some(asked) = asked
            && let Some(left) = self.truth.requests.get(&*asked.id)
            && left.as_deref() != asked.parameter.as_ref().map(RequestParameter::as_str)
        {
            let text = format!("request {} tells item {item} something else", asked.id);
            self.fail("S3", text);
        }
        let Some(run) = new.running().filter(|_| new.token > old.token) else { return };
        let says = match run.source {
            RunSource::Manual => old.request.as_ref().and_then(|asked| asked.parameter.as_ref()),
            RunSource::Failover => old.run().and_then(|left| left.parameter.as_ref()),
            RunSource::Normal | RunSource::Misfire => None,
        };
        if run.parameter.as_ref() != says {
            let text = format!("the run of item {item} is told {:?}, not {says:?}", run.parameter);
            self.fail("S3", text);
        }
    }

    /// What begins is told what its record says. A run that is not claimed has none, and is told nothing.
    pub(crate) fn check_told_at_start(&mut self, start: &StartItem) {
        let told = start.request_parameter.clone();
        if told.is_some() {
            self.coverage.count("told_run");
        }
        let view = self.observer.view().item(start.item);
        let record = view.ledger.as_ref().map(|ledger| &ledger.value);
        let record = record.filter(|ledger| ledger.token == start.token);
        let says = record.and_then(Ledger::run).map(|run| run.parameter.clone());
        let unclaimed = start.token == FencingToken(0);
        let says = if unclaimed { Some(None) } else { says };
        if says.is_some_and(|says| says != told) {
            let text = format!("item {} begins and is told {told:?}", start.item);
            self.fail("S3", text);
        }
    }
}
