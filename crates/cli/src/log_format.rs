//! Formats of log lines: text for people, or JSON for programs.

use std::fmt;

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::fmt::{FormatFields, SubscriberBuilder};

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

/// Maximum length of the fields of a span, in characters. With time, level and the words before it,
/// at most 160 characters precede the text of a script.
const MAX_SPAN: usize = 86;
/// Minimum length of a job's name in a span, in characters.
const MIN_NAME: usize = 8;
/// Fields of spans that a text omits: the instance is that of the process, and the task id has the
/// same parts as its span. JSON has all fields.
const OMITTED: [&str; 3] = ["instance", "source", "task_id"];

/// Time of a log line in UTC, with milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Millis;

impl FormatTime for Millis {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", Timestamp::now())
    }
}

/// Formats fields as text on one line. Spans are short: a long name of a job is cut in its middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFields;

impl<'w> FormatFields<'w> for TextFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = Line::default();
        fields.record(&mut line);
        if !line.is_event() {
            line.shorten();
        }
        for (n, (name, value)) in line.fields.iter().enumerate() {
            let blank = if n == 0 { "" } else { " " };
            match *name {
                "message" => write!(writer, "{blank}{value}")?,
                _ => write!(writer, "{blank}{name}={value}")?,
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Line {
    fields: Vec<(&'static str, String)>,
}

impl Line {
    fn write(&mut self, field: &Field, value: &str) {
        if !field.name().starts_with("log.") {
            self.fields.push((field.name(), clean(value)));
        }
    }

    /// Returns true for an event, false for a span: only events have a message.
    fn is_event(&self) -> bool {
        self.fields.iter().any(|(name, _)| *name == "message")
    }

    fn shorten(&mut self) {
        self.fields.retain(|(name, _)| !OMITTED.contains(name));
        let width = |(name, value): &(&str, String)| name.len() + value.chars().count() + 2;
        let others: usize = self.fields.iter().filter(|field| field.0 != "job").map(width).sum();
        let room = MAX_SPAN.saturating_sub(others + "job=".len()).max(MIN_NAME);
        for (_, value) in self.fields.iter_mut().filter(|field| field.0 == "job") {
            *value = cut_in_the_middle(value, room);
        }
    }
}

/// Cuts a text in its middle: similar names differ in their ends.
fn cut_in_the_middle(text: &str, room: usize) -> String {
    let n = text.chars().count();
    if n <= room {
        return text.to_owned();
    }
    let (start, end) = ((room - 1) / 2, n - room / 2);
    text.chars().take(start).chain(['…']).chain(text.chars().skip(end)).collect()
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.write(field, value),
            _ => self.write(field, &format!("{value:?}")),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(field, &format!("{value:?}"));
    }
}

/// Returns the log in lines of text.
pub(crate) fn text_log() -> SubscriberBuilder<TextFields, Format<Full, Millis>> {
    let log = tracing_subscriber::fmt().with_ansi(false).with_target(false);
    log.with_timer(Millis).fmt_fields(TextFields)
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

    /// Runs the code with the log of a worker, and returns its lines.
    fn logged(run: impl FnOnce()) -> Vec<String> {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = text_log().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, run);
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn span_of_a_run(job: &str, item: u32, token: u64) -> tracing::Span {
        tracing::info_span!(
            "item",
            %job,
            instance = %"255.255.255.255@-@4194304-k3f9a",
            item,
            fire_time = %"2024-02-29T12:00:10.123Z",
            source = %"FAILOVER",
            token,
            task_id = %"count@-@0@-@READY@-@10.0.0.7@-@1-a",
            outcome = tracing::field::Empty
        )
    }

    #[test]
    fn line_of_a_run_has_its_parts_once() {
        let lines = logged(|| {
            let span = span_of_a_run("count", 0, 7);
            let _entered = span.enter();
            tracing::info!(line = "two\nlines", "the script has said");
            span.record("outcome", "failed");
            tracing::warn!(instance = %"10.0.0.7@-@1-a", "\u{1b}[2J");
        });
        let run = "item{job=count item=0 fire_time=2024-02-29T12:00:10.123Z token=7";
        let expected = [
            format!(" INFO {run}}}: the script has said line=\"two\\nlines\""),
            format!(" WARN {run} outcome=\"failed\"}}: \\u{{1b}}[2J instance=10.0.0.7@-@1-a"),
        ];
        for (line, expected) in lines.iter().zip(&expected) {
            let (time, rest) = line.split_at("2024-02-29T12:00:10.123Z ".len());
            assert!(time.trim_end().parse::<Timestamp>().is_ok(), "{line}");
            assert_eq!(rest, expected);
        }
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
    }

    #[test]
    fn at_most_160_characters_precede_the_text_of_a_script() {
        let longest = format!("begin{}end", "x".repeat(120));
        let names = ["a", "import-of-customers-from-the-old-system", &longest];
        let lines = logged(|| {
            for job in names {
                let _entered = span_of_a_run(job, 99_999, 9_999_999_999).entered();
                // As `job_types` logs a line of a script.
                tracing::info!(stream = "stderr", line = %"said", "script output");
            }
        });
        for line in &lines {
            let (before, _) = line.split_once("said").unwrap();
            assert!(before.chars().count() <= 160, "{}: {line}", before.chars().count());
        }
        assert_eq!(lines.len(), names.len(), "{lines:?}");
        assert!(lines[2].contains("job=begin") && lines[2].contains("end item="), "{}", lines[2]);
    }

    #[test]
    fn unknown_format_is_rejected() {
        assert_eq!(LogFormat::parse("json"), Ok(LogFormat::Json));
        assert_eq!(LogFormat::parse(""), Ok(LogFormat::Text));
        let error = LogFormat::parse("xml").unwrap_err().to_string();
        assert_eq!(error, "EJOB_LOG_FORMAT is \"xml\"; valid is text or json");
    }
}
