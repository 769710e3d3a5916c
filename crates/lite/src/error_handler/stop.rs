//! Stopping a job on this server, as an error handler wants it: held back here at once, and in the registry for everybody to see.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    AuditRecord, Event, JobEvent, Layout, NodeKind, OperatorStep, ServerIp, ServerState,
};
use reg_center::{Node, NodePath, TxnOutcome};
use tokio::select;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::driver::Driver;
use crate::inbox::Answer;
use crate::seams::Seams;

/// How long to wait before asking a registry again that has not answered.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A job that an error handler has stopped here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Which handler, and what it was told.
    pub(crate) reason: String,
    /// The view shows that the server is paused: from now on that is what holds the job back.
    is_shown: bool,
}

impl Driver {
    /// Nothing starts here any more from now on.
    pub(crate) fn stop_job(&mut self, reason: String) {
        if self.state.stop.is_some() {
            return;
        }
        self.record(JobEvent::Stopped { reason: reason.clone() });
        self.state.stop = Some(Stop { reason: reason.clone(), is_shown: false });
        self.feed(Event::Paused);
        let instance = self.coordinator.instance();
        let stop = StopJob {
            seams: self.seams.clone(),
            layout: self.coordinator.view().layout().clone(),
            server: self.lives.server().clone(),
            who: instance.map_or_else(|| self.lives.server().to_string(), ToString::to_string),
            why: reason,
        };
        let task = stop.run(self.answers.clone());
        self.seams.spawn.spawn(Box::pin(task.instrument(self.state.span.clone())));
    }

    /// Lets go as soon as the registry holds the job back, so that who resumes it there resumes it.
    pub(crate) fn watch_stop(&mut self) {
        let Some(stop) = &mut self.state.stop else { return };
        let server = self.coordinator.view().server_state(self.lives.server());
        let is_held_back = matches!(server, Some(ServerState::Paused | ServerState::Disabled));
        match (stop.is_shown, is_held_back) {
            (false, true) => {
                stop.is_shown = true;
                if !self.state.paused_by_program {
                    self.feed(Event::Resumed);
                }
            }
            (true, false) => {
                tracing::info!("the job was resumed");
                self.state.stop = None;
            }
            (false, false) | (true, true) => {}
        }
    }
}

/// Pauses a server for a job, as an operator does.
struct StopJob {
    seams: Seams,
    layout: Layout,
    server: ServerIp,
    who: String,
    why: String,
}

/// The registry has not answered as it should.
struct Unanswered;

impl StopJob {
    /// Tries until the server is held back, or the job has ended here.
    async fn run(self, answers: mpsc::UnboundedSender<Answer>) {
        select! {
            biased;
            () = answers.closed() => {}
            () = self.until_it_is_held_back() => {}
        }
    }

    async fn until_it_is_held_back(&self) {
        loop {
            match self.attempt().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(Unanswered) => {
                    let pause = self.seams.clock.monotonic().saturating_add(RETRY_PAUSE);
                    self.seams.clock.sleep_until(pause).await;
                }
            }
        }
    }

    /// Returns whether the server is held back; if not, somebody else has changed something meanwhile.
    async fn attempt(&self) -> Result<bool, Unanswered> {
        let path = |kind: &NodeKind| self.layout.path(kind);
        // A server without a node will have one when this instance is registered again.
        let server = self.read(path(&NodeKind::Server(self.server.clone()))).await?;
        let server = server.ok_or(Unanswered)?;
        if self.layout.read_server(&server) != ServerState::Enabled {
            return Ok(true);
        }
        let audit = self.read(path(&NodeKind::Audit)).await?;
        let txn = self.layout.change(&self.steps(&server, audit.as_ref())).labelled("stop");
        let registry = Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match outcome.await {
            Ok(Ok(TxnOutcome::Committed(_))) => Ok(true),
            Ok(Ok(TxnOutcome::Conflict(_))) => Ok(false),
            // Whether it has happened shows when it is read again.
            Ok(Err(_)) | Err(_) => Err(Unanswered),
        }
    }

    async fn read(&self, path: NodePath) -> Result<Option<Node>, Unanswered> {
        self.seams.registry.read(&path).await.map_err(|_| Unanswered)
    }

    fn steps(&self, server: &Node, audit: Option<&Node>) -> [OperatorStep; 2] {
        let (ip, state, version) = (self.server.clone(), ServerState::Paused, server.stat.version);
        // One that cannot be read is begun anew, as operators do.
        let log = audit.and_then(|node| self.layout.read_audit(node).ok());
        let mut log = log.map(|log| log.value).unwrap_or_default();
        let now = self.seams.clock.wall();
        log.push(AuditRecord {
            id: format!("stop-{}-{:016x}", now.as_millisecond(), self.seams.randomness.next_u64()),
            at_ms: now.as_millisecond(),
            who: sayable(&self.who),
            why: sayable(&self.why),
            act: "pause".to_owned(),
            target: format!("server {}", self.server),
        });
        let expect = audit.map(|node| node.stat.version);
        [OperatorStep::SetServer { ip, state, version }, OperatorStep::SetAudit { log, expect }]
    }
}

/// Returns a text as a record of a change can hold it.
fn sayable(text: &str) -> String {
    let mut said = String::new();
    for character in text.chars().filter(|character| !character.is_control()) {
        if said.len() + character.len_utf8() > AuditRecord::MAX_TEXT_BYTES {
            break;
        }
        said.push(character);
    }
    said
}
