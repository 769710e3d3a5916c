//! Output of a world: records of the history, lines of the trace, and violations.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use checker::history::Fact;

use super::record::Writer;
use super::time::Planned;
use super::world::{Violation, World};

impl World {
    pub(crate) fn record(&mut self, index: usize, fact: Fact) {
        let writer = Writer::Node { index, inc: self.nodes[index].inc };
        self.recorder.write(writer, self.mono, self.wall(index), fact);
    }

    pub(crate) fn record_with(&mut self, index: usize, fact: impl FnOnce() -> Fact) {
        if self.recorder.keeps_history() {
            self.record(index, fact());
        }
    }

    pub(crate) fn record_outside(&mut self, writer: Writer, fact: Fact) {
        self.recorder.write(writer, self.mono, self.true_wall(), fact);
    }

    pub(crate) fn record_meta(&mut self) {
        let fact = Fact::RunMeta {
            v: checker::history::FORMAT,
            run: format!("sim-{}", self.script.seed),
            seed: Some(self.script.seed),
            backend: "embedded".to_owned(),
            session_timeout_ms: self.script.profile.session_ms.into(),
            require: BTreeMap::new(),
            params: BTreeMap::new(),
        };
        self.record_outside(Writer::Nemesis, fact);
        // Rules about writes of instances do not hold for those of operators.
        let opened = Fact::SessionOpened { sid: self.operator.0, owner: String::new() };
        self.record_outside(Writer::Registry, opened);
    }

    /// Records a violation. Only the first one counts.
    pub(crate) fn fail(&mut self, property: &str, text: impl Into<String>) {
        self.fail_with(property, text, Vec::new());
    }

    /// As [`fail`](Self::fail), with the records that show the violation.
    pub(crate) fn fail_with(
        &mut self,
        property: &str,
        text: impl Into<String>,
        window: Vec<String>,
    ) {
        if self.violation.is_none() {
            let text = text.into();
            self.recorder.trace_line(|| format!("!! {property}: {text}"));
            let property = property.to_owned();
            self.violation = Some(Violation { property, text, step: self.step, window });
        }
    }

    pub(crate) fn plan(&mut self, after: Duration, event: Planned) {
        self.agenda.plan(self.mono + after, event);
    }

    /// Returns the trace and the registry's state, for people.
    pub(crate) fn trace(&self) -> String {
        let mut text = String::new();
        for line in self.recorder.trace() {
            text.push_str(line);
            text.push('\n');
        }
        write!(text, "---- registry\n{}", self.observer.view())
            .expect("writing to a string cannot fail");
        text
    }
}
