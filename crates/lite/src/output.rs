//! Output of runs: lines that the code of a run writes, for the subscribers that keep them.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use coordination::{FencingToken, FireTime, JobName, StartItem};
use jiff::Timestamp;
use parking_lot::Mutex;
use sharding::{InstanceId, ShardingItem};

use crate::Masks;
use crate::job_record::Subscribers;
use crate::seams::Clock;

/// Maximum length of a line, in bytes; the rest is cut.
const MAX_LINE_BYTES: usize = 4_000;
/// Bytes that each line counts for beside its text.
const LINE_OVERHEAD: usize = 32;
/// Default limit of the kept output of a run, in bytes.
pub(crate) const DEFAULT_OUTPUT_BYTES: usize = 256 * 1024;
/// Range of the limit, in bytes.
pub(crate) const OUTPUT_BYTES: std::ops::RangeInclusive<usize> = 1_024..=16 * 1024 * 1024;

/// Source of a line of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum OutputStream {
    /// The standard output of a script.
    Stdout,
    /// The standard error of a script.
    Stderr,
    /// The log of a program: [`ShardingContext::log`](crate::ShardingContext::log).
    Log,
    /// The answer to an HTTP job.
    Http,
}

impl OutputStream {
    /// All streams.
    pub const ALL: [Self; 4] = [Self::Stdout, Self::Stderr, Self::Log, Self::Http];

    /// Returns the word: `stdout`, `stderr`, `log` or `http`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Log => "log",
            Self::Http => "http",
        }
    }

    /// Returns the stream of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stream| stream.as_str() == word)
    }
}

impl fmt::Display for OutputStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A line that a run has written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputLine {
    /// The job.
    pub job: JobName,
    /// The instance that runs the item.
    pub instance: InstanceId,
    /// The item.
    pub item: ShardingItem,
    /// The fire.
    pub fire: FireTime,
    /// The fencing token; 0 if the job is not monitored.
    pub token: FencingToken,
    /// Number of the attempt within the run, from 1.
    pub attempt: u32,
    /// Number of the line within the run, from 0 and without gaps.
    pub seq: u64,
    /// Time of the line, by this process's wall clock.
    pub at: Timestamp,
    /// Source of the line.
    pub stream: OutputStream,
    /// The text, without its end of line, of at most 4 000 bytes.
    pub text: String,
    /// Numbers of earlier lines that exceed the limit of the run by now: a subscriber that keeps
    /// lines removes them.
    pub left_out: Option<Range<u64>>,
}

impl OutputLine {
    /// Returns the first line, without a text, of a run of a job that is not monitored. Set the
    /// fields that differ, for example in a test of a subscriber.
    #[must_use]
    pub fn new(job: JobName, instance: InstanceId, item: ShardingItem, fire: FireTime) -> Self {
        Self {
            job,
            instance,
            item,
            fire,
            token: FencingToken(0),
            attempt: 1,
            seq: 0,
            at: crate::context::timestamp(fire),
            stream: OutputStream::Log,
            text: String::new(),
            left_out: None,
        }
    }
}

/// Log of one run. Clones write to the same log.
///
/// Lines are passed to the subscribers that keep output, such as a history. Without one, and for a
/// job that keeps none, a call does nothing. It never waits.
#[derive(Clone)]
pub struct RunLog {
    run: Arc<LoggedRun>,
    attempt: u32,
    stream: OutputStream,
}

/// Facts of a run that each of its lines has, and the window of kept lines.
pub(crate) struct LoggedRun {
    start: StartItem,
    subscribers: Arc<Subscribers>,
    clock: Arc<dyn Clock>,
    /// Secrets that the code of the run has named.
    masks: Mutex<Masks>,
    /// `None` if no lines are kept.
    window: Option<Mutex<Window>>,
}

/// The kept lines of a run: the first ones, and the last ones once a half of the limit is used.
#[derive(Debug)]
struct Window {
    next: u64,
    /// Bytes that the first lines may still use.
    room: usize,
    /// Number of the first line that is not among the first ones.
    last_from: Option<u64>,
    /// Numbers and sizes of the last lines.
    last: VecDeque<(u64, usize)>,
    last_bytes: usize,
    last_limit: usize,
    is_over: bool,
}

impl Window {
    fn new(limit: usize) -> Self {
        let last_limit = limit / 2;
        Self {
            next: 0,
            room: limit - last_limit,
            last_from: None,
            last: VecDeque::new(),
            last_bytes: 0,
            last_limit,
            is_over: false,
        }
    }

    /// Adds a line, and returns its number and those of the lines that it displaces.
    fn add(&mut self, size: usize) -> (u64, Option<Range<u64>>) {
        let seq = self.next;
        self.next += 1;
        if self.last_from.is_none() && size <= self.room {
            self.room -= size;
            return (seq, None);
        }
        let from = *self.last_from.get_or_insert(seq);
        self.last.push_back((seq, size));
        self.last_bytes += size;
        while self.last_bytes > self.last_limit && self.last.len() > 1 {
            let displaced = self.last.pop_front();
            self.last_bytes -= displaced.map_or(0, |(_, size)| size);
        }
        let first_kept = self.last.front().map_or(seq, |(first, _)| *first);
        (seq, Some(from..first_kept).filter(|range| !range.is_empty()))
    }
}

impl LoggedRun {
    /// Returns the log of a run, which keeps lines of `limit` bytes together; 0 for none.
    pub(crate) fn new(
        start: &StartItem,
        subscribers: &Arc<Subscribers>,
        clock: &Arc<dyn Clock>,
        limit: usize,
    ) -> Arc<Self> {
        let is_kept = limit > 0 && subscribers.keep_output();
        Arc::new(Self {
            start: start.clone(),
            subscribers: Arc::clone(subscribers),
            clock: Arc::clone(clock),
            masks: Mutex::default(),
            window: is_kept.then(|| Mutex::new(Window::new(limit))),
        })
    }

    /// Ends the log: lines that come later are dropped, because the run is over.
    pub(crate) fn close(&self) {
        if let Some(window) = &self.window {
            window.lock().is_over = true;
        }
    }

    pub(crate) fn log(self: &Arc<Self>, attempt: u32) -> RunLog {
        RunLog { run: Arc::clone(self), attempt, stream: OutputStream::Log }
    }

    fn write(&self, attempt: u32, stream: OutputStream, text: &str) {
        let Some(window) = &self.window else { return };
        let text = text.strip_suffix('\r').unwrap_or(text);
        let text = self.masks.lock().apply_to_beginning(text, MAX_LINE_BYTES);
        let at = self.clock.wall();
        // The lock is held while the line is passed on, so that subscribers get all in order.
        let mut window = window.lock();
        if window.is_over {
            return;
        }
        let (seq, left_out) = window.add(text.len() + LINE_OVERHEAD);
        let StartItem { item, holder, fire, token, config, .. } = &self.start;
        self.subscribers.publish_output(&OutputLine {
            job: config.job_name.clone(),
            instance: holder.clone(),
            item: *item,
            fire: *fire,
            token: *token,
            attempt,
            seq,
            at,
            stream,
            text,
            left_out,
        });
    }
}

impl RunLog {
    /// Writes a text. Each of its lines is a line of the log.
    ///
    /// Secrets that [`mask`](Self::mask) got before are replaced by `***`. The rest of the text is
    /// kept as it is.
    pub fn line(&self, text: impl AsRef<str>) {
        let text = text.as_ref();
        let text = text.strip_suffix('\n').unwrap_or(text);
        for line in text.split('\n') {
            self.run.write(self.attempt, self.stream, line);
        }
    }

    /// Masks a secret in all later lines of the run, from any clone of its log and in all attempts.
    ///
    /// The secret is replaced by `***`, and so is each line of a secret with several ones. Other
    /// forms of it, such as its Base64 form, stay. The text of an error of the run is not masked.
    ///
    /// # Examples
    /// ```
    /// # use lite::{JobError, ShardingContext};
    /// async fn copy(context: ShardingContext, url: &str, password: &str) -> Result<(), JobError> {
    ///     let log = context.log();
    ///     log.mask(password);
    ///     log.line(format!("connecting to {url}"));
    ///     Ok(())
    /// }
    /// ```
    pub fn mask(&self, secret: impl AsRef<str>) {
        if self.is_kept() {
            self.run.masks.lock().add(secret.as_ref());
        }
    }

    /// Returns true if a subscriber keeps the lines.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.run.window.is_some()
    }

    /// Returns the log with lines of another source.
    #[must_use]
    pub fn of_stream(&self, stream: OutputStream) -> Self {
        Self { stream, ..self.clone() }
    }
}

impl fmt::Debug for RunLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempt, stream, .. } = self;
        f.debug_struct("RunLog")
            .field("attempt", attempt)
            .field("stream", stream)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for LoggedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggedRun").field("item", &self.start.item).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_keeps_the_first_and_the_last_lines() {
        let mut window = Window::new(100);
        let added: Vec<_> = (0..9).map(|_| window.add(20)).collect();
        // Two lines are the first half, and the last half has room for two.
        assert_eq!(added[..4], [(0, None), (1, None), (2, None), (3, None)]);
        assert_eq!(added[4], (4, Some(2..3)));
        assert_eq!(added[8], (8, Some(2..7)));
    }

    #[test]
    fn a_line_that_fits_neither_half_is_kept_alone() {
        let mut window = Window::new(100);
        assert_eq!(window.add(500), (0, None));
        assert_eq!(window.add(10), (1, Some(0..1)));
        assert_eq!(window.add(500), (2, Some(0..2)));
    }
}
