//! Stopping a job on this server, as an error handler wants it: held back here at once, and in the registry for everybody to see.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    AuditRecord, Event, JobEvent, Layout, NodeKind, OperatorStep, ServerIp, ServerState,
};
use reg_center::{Error, Node, NodePath, Revision, TxnOutcome};
use tokio::select;
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::driver::Driver;
use crate::inbox::{Answer, Answers};
use crate::seams::Seams;

/// How long to wait before asking a registry again that has not answered.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A job that an error handler has stopped here.
#[derive(Debug)]
pub(crate) struct Stop {
    /// Which handler, and what it was told.
    pub(crate) reason: String,
    /// Up to which revision the view must have come to show that the server was paused, once that is known.
    held_back: Option<Revision>,
    /// The view has come so far: from now on the server's state in the registry is what holds the job back, or does not.
    is_shown: bool,
    /// Resolves when the registry holds the job back, or nobody tries any more.
    written: Option<oneshot::Receiver<()>>,
}

impl Driver {
    /// Nothing starts here any more from now on.
    pub(crate) fn stop_job(&mut self, reason: String) {
        if self.state.stop.is_some() {
            return;
        }
        self.record(JobEvent::Stopped { reason: reason.clone() });
        let (done, written) = oneshot::channel();
        self.state.stop = Some(Stop {
            reason: reason.clone(),
            held_back: None,
            is_shown: false,
            written: Some(written),
        });
        self.feed(Event::Paused);
        let task = self.pause_of_server(reason).run(self.answers.clone(), done);
        self.seams.spawn.spawn(Box::pin(task.instrument(self.state.span.clone())));
    }

    fn pause_of_server(&self, reason: String) -> StopJob {
        let instance = self.coordinator.instance();
        let who = instance.map_or_else(|| self.lives.server().to_string(), ToString::to_string);
        let at_ms = self.seams.clock.wall().as_millisecond();
        let record = AuditRecord {
            id: format!("stop-{at_ms}-{:016x}", self.seams.randomness.next_u64()),
            at_ms,
            who: sayable(&who),
            why: sayable(&reason),
            act: "pause".to_owned(),
            target: format!("server {}", self.lives.server()),
        };
        StopJob {
            seams: self.seams.clone(),
            layout: self.coordinator.view().layout().clone(),
            server: self.lives.server().clone(),
            record,
        }
    }

    /// The registry holds the job back, or has until somebody resumed it.
    pub(crate) fn held_back(&mut self, revision: Revision) {
        if let Some(stop) = &mut self.state.stop {
            stop.held_back = Some(revision);
        }
    }

    /// Returns true while an error handler's stop is not yet what the registry shows.
    pub(crate) fn is_held_here(&self) -> bool {
        self.state.stop.as_ref().is_some_and(|stop| !stop.is_shown)
    }

    /// Lets go as soon as the view is as new as the pause in the registry, so that who resumes the server there resumes the job:
    /// also if the view has never shown the pause itself.
    pub(crate) fn watch_stop(&mut self) {
        let Some(stop) = &mut self.state.stop else { return };
        let view = self.coordinator.view();
        let server = view.server_state(self.lives.server());
        let is_held_back = matches!(server, Some(ServerState::Paused | ServerState::Disabled));
        let was_shown = stop.is_shown;
        stop.is_shown |= stop.held_back.is_some_and(|revision| view.revision() >= revision);
        let lets_go = stop.is_shown && !was_shown && !self.state.paused_by_program;
        if stop.is_shown && !is_held_back {
            tracing::info!("the job was resumed");
            self.state.stop = None;
        }
        if lets_go {
            self.feed(Event::Resumed);
        }
    }

    /// Waits until the registry holds the job back that an error handler has stopped, at the latest until a time of the monotonic
    /// clock.
    pub(crate) async fn finish_stop(&mut self, until: Duration) {
        let written = self.state.stop.as_mut().and_then(|stop| stop.written.take());
        let Some(written) = written else { return };
        if self.seams.until(until, written).await.is_err() {
            tracing::warn!("the job ends before its server is paused in the registry");
        }
    }
}

/// Pauses a server for a job, as an operator does.
struct StopJob {
    seams: Seams,
    layout: Layout,
    server: ServerIp,
    /// What is written about it. By its id this pause is known again when the answer is lost: it is not written twice.
    record: AuditRecord,
}

/// What has come of one attempt.
enum Attempt {
    /// The server is held back, or was by this pause: at this revision.
    HeldBack(Revision),
    /// Somebody else has changed something meanwhile, or what has become of it is to be read.
    Again,
    /// The registry has not answered as it should.
    Unanswered(String),
    /// Nobody can ask any more.
    Closed,
}

impl StopJob {
    /// Tries until the server is held back, or the job has ended here.
    async fn run(self, answers: Answers, done: oneshot::Sender<()>) {
        let revision = select! {
            biased;
            () = answers.closed() => None,
            revision = self.until_it_is_held_back() => revision,
        };
        if let Some(revision) = revision {
            // The driver is gone if the job has ended.
            answers.send(Answer::HeldBack { revision });
        }
        // Nobody waits for it unless the job leaves.
        let _ = done.send(());
    }

    async fn until_it_is_held_back(&self) -> Option<Revision> {
        let mut was_answered = true;
        loop {
            let error = match self.attempt().await {
                Attempt::HeldBack(revision) => return Some(revision),
                Attempt::Closed => return None,
                Attempt::Again => continue,
                Attempt::Unanswered(error) => error,
            };
            if std::mem::take(&mut was_answered) {
                tracing::warn!(
                    error,
                    "the server could not be paused in the registry, asking again"
                );
            }
            let pause = self.seams.clock.monotonic().saturating_add(RETRY_PAUSE);
            self.seams.clock.sleep_until(pause).await;
        }
    }

    async fn attempt(&self) -> Attempt {
        let path = |kind: &NodeKind| self.layout.path(kind);
        let server = match self.read(path(&NodeKind::Server(self.server.clone()))).await {
            Ok(Some(server)) => server,
            Ok(None) => {
                // There will be one when this instance is registered again.
                return Attempt::Unanswered("the server has no node".to_owned());
            }
            Err(failed) => return failed,
        };
        if self.layout.read_server(&server) != ServerState::Enabled {
            return Attempt::HeldBack(server.stat.modified);
        }
        let audit = match self.read(path(&NodeKind::Audit)).await {
            Ok(audit) => audit,
            Err(failed) => return failed,
        };
        // One that cannot be read is begun anew, as operators do.
        let log = audit.as_ref().and_then(|node| self.layout.read_audit(node).ok());
        let mut log = log.map(|log| log.value).unwrap_or_default();
        if let Some(audit) = audit.as_ref().filter(|_| log.has(&self.record.id)) {
            // The answer was lost, and somebody has resumed the server since.
            return Attempt::HeldBack(audit.stat.modified);
        }
        log.push(self.record.clone());
        let expect = audit.map(|node| node.stat.version);
        let (ip, version) = (self.server.clone(), server.stat.version);
        self.commit([
            OperatorStep::SetServer { ip, state: ServerState::Paused, version },
            OperatorStep::SetAudit { log, expect },
        ])
        .await
    }

    async fn commit(&self, steps: [OperatorStep; 2]) -> Attempt {
        let txn = self.layout.change(&steps).labelled("stop");
        let registry = Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match outcome.await {
            Ok(Ok(TxnOutcome::Committed(committed))) => {
                // Where it is not told, it is when the server is read again.
                committed.revision.map_or(Attempt::Again, Attempt::HeldBack)
            }
            Ok(Ok(TxnOutcome::Conflict(_))) => Attempt::Again,
            // Whether it has happened shows when it is read again.
            Ok(Err(error)) => Attempt::failed(&error),
            Err(_) => Attempt::Unanswered("the task is gone".to_owned()),
        }
    }

    async fn read(&self, path: NodePath) -> Result<Option<Node>, Attempt> {
        self.seams.registry.read(&path).await.map_err(|error| Attempt::failed(&error))
    }
}

impl Attempt {
    fn failed(error: &Error) -> Self {
        match matches!(error, Error::Closed) {
            true => Self::Closed,
            false => Self::Unanswered(error.to_string()),
        }
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
