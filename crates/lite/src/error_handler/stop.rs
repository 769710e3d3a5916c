//! Stop of a job on this server by an error handler: at once in this process, then as a pause in
//! the registry.

use std::sync::Arc;
use std::time::Duration;

use coordination::{
    AuditRecord, Event, JobEvent, Layout, NodeKind, OperatorStep, RecordError, ServerIp,
    ServerState,
};
use reg_center::{Error, Node, NodePath, Revision, TxnOutcome};
use tokio::select;
use tokio::sync::oneshot;
use tracing::Instrument;

use crate::driver::Driver;
use crate::inbox::{Answer, Answers};
use crate::seams::Seams;

/// Pause before the next request after the registry did not answer.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// State of a job that an error handler has stopped on this server.
#[derive(Debug)]
pub(crate) struct Stop {
    /// The handler and the failure.
    pub(crate) reason: String,
    /// Revision at which the registry shows the server as paused, once the write is known to have
    /// happened.
    held_back: Option<Revision>,
    /// The view has reached that revision. From then on the server's state in the registry decides
    /// whether the job is held back.
    is_shown: bool,
    /// Resolves when the registry shows the pause, or when the attempts have ended.
    written: Option<oneshot::Receiver<()>>,
}

impl Driver {
    /// Stops the job in this process: from now on no item starts.
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
        let who =
            instance.map_or_else(|| self.incarnations.server().to_string(), ToString::to_string);
        let at_ms = self.seams.clock.wall().as_millisecond();
        let record = AuditRecord {
            id: format!("stop-{at_ms}-{:016x}", self.seams.randomness.next_u64()),
            at_ms,
            who: AuditRecord::text(&who),
            why: AuditRecord::text(&reason),
            act: "pause".to_owned(),
            target: format!("server {}", self.incarnations.server()),
            what: "paused".to_owned(),
        };
        StopJob {
            seams: self.seams.clone(),
            layout: self.coordinator.view().layout().clone(),
            server: self.incarnations.server().clone(),
            record,
        }
    }

    /// Stores the revision at which the registry showed the pause, even if an operator has resumed
    /// the server since.
    pub(crate) fn held_back(&mut self, revision: Revision) {
        if let Some(stop) = &mut self.state.stop {
            stop.held_back = Some(revision);
        }
    }

    /// Returns true while an error handler's stop is not visible in the view.
    pub(crate) fn is_held_here(&self) -> bool {
        self.state.stop.as_ref().is_some_and(|stop| !stop.is_shown)
    }

    /// Removes the local stop as soon as the view is as new as the pause in the registry. Then an
    /// operator who resumes the server resumes the job, even if the view has never shown the pause
    /// itself.
    pub(crate) fn watch_stop(&mut self) {
        let Some(stop) = &mut self.state.stop else { return };
        let view = self.coordinator.view();
        let server = view.server_state(self.incarnations.server());
        let is_held_back = matches!(server, Some(ServerState::Paused | ServerState::Disabled));
        let was_shown = stop.is_shown;
        stop.is_shown |= stop.held_back.is_some_and(|revision| view.revision() >= revision);
        let lets_go = stop.is_shown && !was_shown && !self.state.paused_by_program;
        if stop.is_shown && !is_held_back {
            tracing::info!("the job was resumed on this server");
            self.state.stop = None;
        }
        if lets_go {
            self.feed(Event::Resumed);
        }
    }

    /// Waits until the registry shows the pause of a stopped job, at most until `until` of the
    /// monotonic clock.
    pub(crate) async fn finish_stop(&mut self, until: Duration) {
        let written = self.state.stop.as_mut().and_then(|stop| stop.written.take());
        let Some(written) = written else { return };
        if self.seams.until(until, written).await.is_err() {
            tracing::warn!("the job ends before its server is paused in the registry");
        }
    }
}

/// Write that pauses a server for a job, as an operator's pause does.
struct StopJob {
    seams: Seams,
    layout: Layout,
    server: ServerIp,
    /// The audited change. Its id identifies this pause if the reply is lost, so that it is not
    /// written twice.
    record: AuditRecord,
}

/// Result of one attempt.
enum Attempt {
    /// At this revision the server is paused or disabled, or was paused by this write.
    HeldBack(Revision),
    /// Another client changed a node meanwhile, or the revision of the write must be read.
    Again,
    /// The registry did not answer, or returned an error that can pass.
    Unanswered(String),
    /// The registry centre was closed.
    Closed,
}

impl StopJob {
    /// Retries until the server is held back, or the job has ended in this process.
    async fn run(self, answers: Answers, done: oneshot::Sender<()>) {
        let revision = select! {
            biased;
            () = answers.closed() => None,
            revision = self.until_it_is_held_back() => revision,
        };
        if let Some(revision) = revision {
            // If the driver is gone, the job has ended.
            answers.send(Answer::HeldBack { revision });
        }
        // The receiver waits only while the job leaves.
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
                    "the server could not be paused in the registry, retrying each second"
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
                // The next registration of this instance creates it.
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
        let (ip, version) = (self.server.clone(), server.stat.version);
        let pause = OperatorStep::SetServer { ip, state: ServerState::Paused, version };
        let log = audit.as_ref().map(|node| self.layout.read_audit(node)).transpose();
        if log.as_ref().is_err_and(RecordError::is_newer) {
            // The pause matters more than its entry, and a later version's log is not overwritten.
            return self.commit(&[pause]).await;
        }
        // A damaged audit log is replaced, as operator actions do.
        let mut log = log.ok().flatten().map(|log| log.value).unwrap_or_default();
        if let Some(audit) = &audit
            && log.has(&self.record.id)
        {
            // The reply was lost, and an operator has resumed the server since.
            return Attempt::HeldBack(audit.stat.modified);
        }
        log.push(self.record.clone());
        let expect = audit.map(|node| node.stat.version);
        self.commit(&[pause, OperatorStep::SetAudit { log, expect }]).await
    }

    async fn commit(&self, steps: &[OperatorStep]) -> Attempt {
        let txn = self.layout.change(steps).labelled("stop");
        let registry = Arc::clone(&self.seams.registry);
        let outcome = self.seams.detach(async move { registry.commit(txn).await });
        match outcome.await {
            Ok(Ok(TxnOutcome::Committed(committed))) => {
                // Without a revision in the reply, the next attempt reads the server again.
                committed.revision.map_or(Attempt::Again, Attempt::HeldBack)
            }
            Ok(Ok(TxnOutcome::Conflict(_))) => Attempt::Again,
            // The outcome is unknown; the next attempt reads it.
            Ok(Err(error)) => Attempt::failed(&error),
            Err(_) => Attempt::Unanswered("the write task was dropped".to_owned()),
        }
    }

    async fn read(&self, path: NodePath) -> Result<Option<Node>, Attempt> {
        self.seams.registry.read(&path).await.map_err(|error| Attempt::failed(&error))
    }
}

impl Attempt {
    fn failed(error: &Error) -> Self {
        if matches!(error, Error::Closed) {
            Self::Closed
        } else {
            Self::Unanswered(error.to_string())
        }
    }
}
