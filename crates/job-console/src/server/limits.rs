//! Limits of a server.

use std::time::Duration;

use axum::http::Method;
use inbound::Bounds;

use crate::api::MAX_WAIT;

/// Maximum size of a request's body, in bytes. An import of 10 000 jobs is the largest.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of a request line with its headers, and of the buffers of a connection, in bytes.
pub(super) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Limits on connections and time. The body of a request has 16 MiB at most, and its line with its
/// headers 64 KiB. A time of more than 365 days counts as 365 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Connections that are open at a time. Default 512.
    ///
    /// If all places are taken, the connection that has been idle for longest is closed for the
    /// next one.
    pub max_connections: usize,
    /// Time in which the headers of a request arrive, then its body, and for which an idle
    /// connection is kept open. The body has 1 s more for each 64 KiB that have arrived. Default
    /// 30 s.
    pub idle: Duration,
    /// Time from the headers of a request to those of its answer. Default 60 s.
    pub answer: Duration,
    /// The same for a request whose method is unsafe, such as `POST`. Default 660 s: a change may
    /// wait for 600 s (`wait_seconds`) between its work before and after.
    pub change: Duration,
    /// Time in which an answer is written, once it has begun. Default 60 s.
    pub write: Duration,
    /// Age at which a stream of events ends; the client opens it again. Default 1 h.
    pub stream: Duration,
    /// Time in which requests are completed when the server ends. Default 30 s.
    pub drain: Duration,
}

/// Default of [`Limits::answer`].
const ANSWER: Duration = Duration::from_secs(60);

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 512,
            idle: Duration::from_secs(30),
            answer: ANSWER,
            change: MAX_WAIT.saturating_add(ANSWER),
            write: Duration::from_secs(60),
            stream: Duration::from_secs(60 * 60),
            drain: Duration::from_secs(30),
        }
    }
}

/// Longest time of a limit. The clock of the operating system has an end, which a sum of limits
/// must not pass.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Limits {
    /// Returns the limits with a change of the fields.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Returns the limits with times that can be added.
    pub(super) fn clamped(mut self) -> Self {
        let Self { max_connections: _, idle, answer, change, write, stream, drain } = &mut self;
        for limit in [idle, answer, change, write, stream, drain] {
            *limit = LONGEST.min(*limit);
        }
        self
    }

    /// Returns the bounds of the listener. They are the last resort: the limits on requests, which
    /// are reported to the client, are reached first.
    pub(super) fn bounds(&self) -> Bounds {
        Bounds {
            max_connections: self.max_connections,
            request_deadline: self.idle * 2,
            exchange_deadline: self.idle + self.answer + self.write,
        }
    }

    /// Returns the time from the headers of a request to those of its answer.
    pub(super) fn answer_to(&self, method: &Method) -> Duration {
        if method.is_safe() { self.answer } else { self.change }
    }

    /// Returns the time from the end of the former answer to the end of the answer to a change.
    pub(super) fn change_deadline(&self) -> Duration {
        self.idle + self.change + self.write
    }

    /// Returns the time from the end of the former answer to the end of a stream of events.
    pub(super) fn stream_deadline(&self) -> Duration {
        self.idle + self.answer + self.stream + self.write
    }
}
