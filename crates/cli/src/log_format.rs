//! Formats of log lines: text for people, or JSON for programs.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

use crate::fault::Fault;
use crate::text::clean;

/// Format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl LogFormat {
    /// Parses the value of `EJOB_LOG_FORMAT`.
    pub(crate) fn parse(value: &str) -> Result<Self, Fault> {
        match value {
            "" | "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(Fault::usage(format!("EJOB_LOG_FORMAT is {value:?}; valid is text or json"))),
        }
    }
}

/// Formats fields as text on one line. The task id is omitted, because its span has the same parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFields;

impl<'w> FormatFields<'w> for TextFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = Line { writer, is_empty: true, written: Ok(()) };
        fields.record(&mut line);
        line.written
    }
}

struct Line<'w> {
    writer: Writer<'w>,
    is_empty: bool,
    written: fmt::Result,
}

impl Line<'_> {
    fn write(&mut self, name: &str, value: &str) {
        if name == "task_id" || name.starts_with("log.") {
            return;
        }
        let blank = if self.is_empty { "" } else { " " };
        let value = clean(value);
        self.is_empty = false;
        self.written = self.written.and_then(|()| match name {
            "message" => write!(self.writer, "{blank}{value}"),
            _ => write!(self.writer, "{blank}{name}={value}"),
        });
    }
}

impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.write("message", value),
            name => self.write(name, &format!("{value:?}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(field.name(), &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn line_of_a_run_has_the_instance_once() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .without_time()
            .with_target(false)
            .fmt_fields(TextFields)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let task_id = "count@-@0@-@READY@-@10.0.0.7@-@1-a";
            let instance = "10.0.0.7@-@1-a";
            let span = tracing::info_span!(
                "item",
                %instance,
                item = 0,
                %task_id,
                outcome = tracing::field::Empty
            );
            let _entered = span.enter();
            tracing::info!(line = "two\nlines", "the script has said");
            span.record("outcome", "failed");
            tracing::warn!("\u{1b}[2J");
        });
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        let expected = [
            " INFO item{instance=10.0.0.7@-@1-a item=0}: the script has said line=\"two\\nlines\"",
            " WARN item{instance=10.0.0.7@-@1-a item=0 outcome=\"failed\"}: \\u{1b}[2J",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn unknown_format_is_rejected() {
        assert_eq!(LogFormat::parse("json"), Ok(LogFormat::Json));
        assert_eq!(LogFormat::parse(""), Ok(LogFormat::Text));
        let error = LogFormat::parse("xml").unwrap_err().to_string();
        assert_eq!(error, "EJOB_LOG_FORMAT is \"xml\"; valid is text or json");
    }
}
