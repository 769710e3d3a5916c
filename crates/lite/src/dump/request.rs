//! What is asked for: one line.

use std::time::Duration;

use coordination::{InvalidName, JobName};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// The longest request: `dump@` and the longest name of a job, with room to spare.
const MAX_LINE: u64 = 1_024;

/// A request that cannot be answered. What it says goes to whoever has asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("the request is {0:?}; valid is `dump@` and the name of a job")]
    Unknown(String),
    #[error(
        "the request is `dump`, and no job was chosen for it here; valid is `dump@` and the name of a job"
    )]
    NoJob,
    #[error("{0:?} is no name of a job: {1}")]
    Name(String, InvalidName),
    #[error("the registry has no job {0}")]
    Absent(JobName),
    #[error("the dump of job {job} has more than {max} bytes")]
    TooLong { job: JobName, max: usize },
    #[error("the registry did not deliver job {job} within {limit:?}")]
    TooSlow { job: JobName, limit: Duration },
    #[error("the registry has closed its feed of job {0}")]
    NoFeed(JobName),
}

/// Reads one line, with or without its end.
pub(super) async fn read_line(stream: impl AsyncRead + Unpin) -> std::io::Result<String> {
    let mut line = Vec::new();
    BufReader::new(stream.take(MAX_LINE)).read_until(b'\n', &mut line).await?;
    let text = String::from_utf8_lossy(&line);
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Tells which job a line asks for: `dump@{job}` as with Java 3.x, or `dump` as with 2.1.5, which means `chosen`.
pub(super) fn job_of(line: &str, chosen: Option<&JobName>) -> Result<JobName, Refused> {
    if line.eq_ignore_ascii_case("dump") {
        return chosen.cloned().ok_or(Refused::NoJob);
    }
    let name = line.strip_prefix("dump@").ok_or_else(|| Refused::Unknown(line.to_owned()))?;
    JobName::new(name).map_err(|error| Refused::Name(name.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_job_or_says_what_is_wrong_with_it() {
        let chosen = JobName::new("chosen").unwrap();
        let rows = [
            ("3.x", "dump@report", Ok("report")),
            ("a name that Java cannot ask for", "dump@a@b", Ok("a@b")),
            ("2.1.5", "dump", Ok("chosen")),
            ("2.1.5, in capitals", "DUMP", Ok("chosen")),
            ("3.x is strict about it", "DUMP@report", Err("the request is \"DUMP@report\"")),
            ("nothing", "", Err("the request is \"\"; valid is `dump@`")),
            ("another word", "ruok", Err("the request is \"ruok\"")),
            ("no name", "dump@", Err("\"\" is no name of a job")),
            ("a path", "dump@a/b", Err("\"a/b\" is no name of a job")),
        ];
        for (case, line, expected) in rows {
            match (job_of(line, Some(&chosen)), expected) {
                (Ok(job), Ok(name)) => assert_eq!(job.as_str(), name, "{case}"),
                (Err(error), Err(text)) => {
                    assert!(error.to_string().starts_with(text), "{case}: {error}");
                }
                (found, _) => panic!("{case}: {found:?}"),
            }
        }
        let error = job_of("dump", None).unwrap_err().to_string();
        assert!(error.contains("no job was chosen"), "{error}");
    }

    #[tokio::test]
    async fn a_request_ends_with_its_line_or_with_the_input_or_where_it_is_too_long() {
        let long = "x".repeat(5_000);
        let rows = [
            ("a line", "dump@a\nmore", "dump@a".to_owned()),
            ("of another system", "dump@a\r\n", "dump@a".to_owned()),
            ("without its end", "dump@a", "dump@a".to_owned()),
            ("nothing", "", String::new()),
            ("too long", &long, "x".repeat(1_024)),
        ];
        for (case, input, expected) in rows {
            assert_eq!(read_line(input.as_bytes()).await.unwrap(), expected, "{case}");
        }
    }
}
