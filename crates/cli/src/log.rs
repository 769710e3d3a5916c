//! The log on the standard error: one line of bounded length for each event.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

use crate::text::clean;

/// Maximum length of a line, in bytes; longer lines end with their length.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Writes events to the standard error, escaped and bounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log;

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for Log {
    /// Writes one event; the formatter passes each event in one call.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(log_line(&String::from_utf8_lossy(event)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Returns the line for an event.
pub(crate) fn log_line(event: &str) -> String {
    let event = event.strip_suffix('\n').unwrap_or(event);
    let kept = &event[..event.floor_char_boundary(MAX_LINE_BYTES)];
    let mut line = clean(kept);
    if kept.len() < event.len() {
        line.push_str(&format!("… ({} bytes)", event.len()));
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_line_is_cut_and_ends_with_its_length() {
        let event = format!("WARN {}\n", "报".repeat(1_000_000));
        let line = log_line(&event);
        assert!(line.len() < MAX_LINE_BYTES + 100, "{}", line.len());
        assert!(line.ends_with("… (3000005 bytes)\n"), "{}", &line[line.len() - 40..]);
        assert_eq!(log_line("INFO ready\n"), "INFO ready\n");
    }
}
