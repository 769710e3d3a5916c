//! Reports of changes: done, left alone, failed.

use operations::{Entry, Error, Report};

use crate::fault::Exit;
use crate::output::Page;
use crate::text::one_line;

/// Returns the page for a report.
pub(crate) fn page(report: &Report) -> Page {
    Page::new(text(report), report).ending(exit(report))
}

/// Returns the page for the report that a change would have.
pub(crate) fn preview_page(report: &Report) -> Page {
    let text = lines(report, "would do") + "nothing was changed\n";
    Page::new(text, report).ending(exit(report))
}

/// Returns one line for each target that was changed, left alone or failed.
pub(crate) fn text(report: &Report) -> String {
    lines(report, "done")
}

fn lines(report: &Report, done: &str) -> String {
    let rows = [(done, &report.done), ("left alone", &report.left), ("failed", &report.failed)];
    let mut text = String::new();
    for (word, entries) in rows {
        for Entry { job, target, what, .. } in entries {
            text.push_str(&one_line(&format!("{word}: {job}, {target}: {what}")));
            text.push('\n');
        }
    }
    if text.is_empty() {
        text.push_str("nothing to do\n");
    }
    text
}

/// Returns the exit code of a report. A target left alone counts as done only if it is as wanted.
pub(crate) fn exit(report: &Report) -> Exit {
    let as_wanted = report.left.iter().all(|entry| entry.as_wanted);
    if report.causes.iter().any(Error::is_unknown) {
        Exit::Unknown
    } else if report.is_unanswered() {
        Exit::Unreachable
    } else if report.failed.is_empty() && as_wanted {
        Exit::Done
    } else {
        Exit::Partly
    }
}
