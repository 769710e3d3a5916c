//! Output of a script: logged line by line within bounds, kept by a history, with its end in the
//! error.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use lite::{Masks, OutputStream, ShardingContext};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::progress;

/// Maximum length of a line, in bytes; the rest is dropped.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// Maximum number of last lines, and of their bytes, that are kept for the error.
const MAX_TAIL_LINES: usize = 20;
const MAX_TAIL_BYTES: usize = 4 * 1024;

/// Output of one run, from both streams.
#[derive(Debug)]
pub(super) struct Output<'a> {
    max_logged: u64,
    /// Receiver of the progress that the script reports; `None` in tests.
    context: Option<&'a ShardingContext>,
    /// Secrets of the environment.
    masks: Masks,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    n_lines: u64,
    warned_of_progress: bool,
    tail: VecDeque<String>,
    tail_bytes: usize,
}

impl<'a> Output<'a> {
    pub(super) fn new(max_logged: u64, context: Option<&'a ShardingContext>, masks: Masks) -> Self {
        Self { max_logged, context, masks, state: Mutex::default() }
    }

    /// Reads a stream to its end. A read error ends it, without an effect on the run.
    pub(super) async fn copy(&self, stream: OutputStream, mut from: impl AsyncRead + Unpin) {
        // A secret at the end of a line is masked before the line is cut.
        let max_bytes = MAX_LINE_BYTES + self.masks.longest();
        let (mut buffer, mut line) = (vec![0; 4 * 1024], Vec::new());
        while let Ok(n @ 1..) = from.read(&mut buffer).await {
            let mut rest = &buffer[..n];
            while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                append_bounded(&mut line, &rest[..at], max_bytes);
                self.add_line(stream, &line);
                line.clear();
                rest = &rest[at + 1..];
            }
            append_bounded(&mut line, rest, max_bytes);
        }
        if !line.is_empty() {
            self.add_line(stream, &line);
        }
    }

    fn add_line(&self, stream: OutputStream, line: &[u8]) {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        let text = self.masks.apply_to_beginning(&text, MAX_LINE_BYTES);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if stream == OutputStream::Stdout
            && let Some(reported) = progress::read(&text)
        {
            match reported.and_then(|reported| reported.send(self.context)) {
                Ok(()) => return,
                // It stays a line of the output. One warning is enough if the script repeats it.
                Err(reason) if !state.warned_of_progress => {
                    state.warned_of_progress = true;
                    tracing::warn!(line = %text, reason, "the script's progress is not stored");
                }
                Err(_) => {}
            }
        }
        if let Some(context) = self.context {
            context.log().of_stream(stream).line(&text);
        }
        state.n_lines += 1;
        if state.n_lines <= self.max_logged {
            tracing::info!(stream = stream.as_str(), line = %text, "script output");
        } else if state.n_lines == self.max_logged + 1 {
            tracing::warn!(max_lines = self.max_logged, "more script output is not logged");
        }
        state.push_tail(&text);
    }

    /// Returns the last lines, in order; empty without output.
    pub(super) fn tail(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Vec::from_iter(state.tail.iter().map(String::as_str)).join("\n")
    }
}

impl State {
    fn push_tail(&mut self, line: &str) {
        let line = &line[..line.floor_char_boundary(MAX_TAIL_BYTES / 2)];
        self.tail_bytes += line.len();
        self.tail.push_back(line.to_owned());
        while self.tail.len() > MAX_TAIL_LINES || self.tail_bytes > MAX_TAIL_BYTES {
            let dropped = self.tail.pop_front();
            self.tail_bytes -= dropped.map_or(0, |dropped| dropped.len());
        }
    }
}

/// Appends bytes to a line, up to its maximum length.
fn append_bounded(line: &mut Vec<u8>, more: &[u8], max_bytes: usize) {
    let room = max_bytes - line.len();
    line.extend_from_slice(&more[..more.len().min(room)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn tail_of(text: &[u8]) -> String {
        let output = Output::new(0, None, Masks::default());
        output.copy(OutputStream::Stdout, text).await;
        output.tail()
    }

    #[tokio::test]
    async fn lines_are_split_independently_of_reads() {
        let long = "x".repeat(5_000);
        let rows = [
            ("nothing", String::new(), String::new()),
            ("no end", "a\nb".to_owned(), "a\nb".to_owned()),
            ("empty lines", "a\n\nb\n".to_owned(), "a\n\nb".to_owned()),
            ("carriage returns", "a\r\nb\r\n".to_owned(), "a\nb".to_owned()),
            ("longer than a read", format!("{long}\nb\n"), format!("{}\nb", &long[..2_048])),
        ];
        for (case, text, expected) in rows {
            assert_eq!(tail_of(text.as_bytes()).await, expected, "{case}");
        }
    }

    #[tokio::test]
    async fn invalid_utf8_is_replaced() {
        assert_eq!(tail_of(b"a\xffb\n").await, "a\u{fffd}b");
    }

    #[tokio::test]
    async fn tail_has_the_last_lines_within_its_bounds() {
        let many: String = (0..1_000).map(|n| format!("line {n}\n")).collect();
        let tail = tail_of(many.as_bytes()).await;
        assert_eq!(tail.lines().count(), MAX_TAIL_LINES);
        assert!(tail.ends_with("line 998\nline 999"), "{tail}");

        let huge = "é".repeat(1_000_000);
        let tail = tail_of(format!("{huge}\n{huge}\n{huge}").as_bytes()).await;
        assert!((1_000..=MAX_TAIL_BYTES + 2).contains(&tail.len()), "{}", tail.len());
    }
}
