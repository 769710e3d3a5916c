//! Progress that a script reports by a line on its standard output.

use lite::ShardingContext;

/// First word of a line that reports progress.
const WORD: &str = "ejob:progress";

/// Progress of a script: `ejob:progress 30/120 copied table users`, or without a total
/// `ejob:progress 30`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reported<'a> {
    done: u64,
    total: Option<u64>,
    message: &'a str,
}

/// Reads a line of output. `None` for a line that reports no progress.
pub(super) fn read(line: &str) -> Option<Result<Reported<'_>, String>> {
    let rest = line.strip_prefix(WORD)?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim();
    let (numbers, message) = rest.split_once(' ').unwrap_or((rest, ""));
    let (done, total) = match numbers.split_once('/') {
        Some((done, total)) => (done.parse(), Some(total.parse())),
        None => (numbers.parse(), None),
    };
    Some(match (done, total.transpose()) {
        (Ok(done), Ok(total)) => Ok(Reported { done, total, message: message.trim() }),
        _ => Err(format!(
            "after {WORD} comes {numbers:?}; valid is DONE/TOTAL or DONE, whole numbers, and then a message"
        )),
    })
}

impl Reported<'_> {
    pub(super) fn send(self, context: Option<&ShardingContext>) -> Result<(), String> {
        let Some(context) = context else { return Ok(()) };
        let Self { done, total, message } = self;
        context.progress(done, total, message).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_the_word_report_progress() {
        let rows = [
            ("ejob:progress 30/120 copied users", Ok((30, Some(120), "copied users"))),
            ("ejob:progress 30", Ok((30, None, ""))),
            ("ejob:progress  0/0  ", Ok((0, Some(0), ""))),
            ("ejob:progress", Err("comes \"\"")),
            ("ejob:progress half", Err("comes \"half\"")),
            ("ejob:progress 1/", Err("comes \"1/\"")),
            ("ejob:progress -1/3", Err("comes \"-1/3\"")),
        ];
        for (line, expected) in rows {
            let read = read(line).unwrap_or_else(|| panic!("{line}"));
            match (read, expected) {
                (Ok(Reported { done, total, message }), Ok(expected)) => {
                    assert_eq!((done, total, message), expected, "{line}");
                }
                (Err(error), Err(part)) => assert!(error.contains(part), "{line}: {error}"),
                (read, _) => panic!("{line}: {read:?}"),
            }
        }
        for line in ["", "30/120", " ejob:progress 1", "ejob:progressed 1", "EJOB:PROGRESS 1"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
