//! The request line of the dump port.

use std::time::Duration;

use coordination::{InvalidName, JobName};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Maximum length of a request in bytes: `dump@` and the longest job name, with room to spare.
const MAX_LINE: u64 = 1_024;

/// A request that cannot be answered. The text is sent to the client.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("the request is {0:?}; valid is `dump@` and the name of a job")]
    Unknown(String),
    #[error(
        "the request is `dump`, and no job was chosen for it in this process; valid is `dump@` and the name of a job"
    )]
    NoJob,
    #[error("{0:?} is not a valid job name: {1}")]
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

/// Reads one line, with or without its line end.
pub(super) async fn read_line(stream: impl AsyncRead + Unpin) -> std::io::Result<String> {
    let mut line = Vec::new();
    BufReader::new(stream.take(MAX_LINE)).read_until(b'\n', &mut line).await?;
    let text = String::from_utf8_lossy(&line);
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// Returns the job that a line requests: `dump@{job}` as with Java 3.x, or `dump` as with 2.1.5,
/// which means `chosen`.
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
    fn request_names_a_job_or_is_rejected_with_the_reason() {
        let chosen = JobName::new("chosen").unwrap();
        let rows = [
            ("3.x", "dump@report", Ok("report")),
            ("a name that Java cannot ask for", "dump@a@b", Ok("a@b")),
            ("2.1.5", "dump", Ok("chosen")),
            ("2.1.5, in capitals", "DUMP", Ok("chosen")),
            ("3.x accepts lower case only", "DUMP@report", Err("the request is \"DUMP@report\"")),
            ("nothing", "", Err("the request is \"\"; valid is `dump@`")),
            ("another word", "ruok", Err("the request is \"ruok\"")),
            ("no name", "dump@", Err("\"\" is not a valid job name")),
            ("a path", "dump@a/b", Err("\"a/b\" is not a valid job name")),
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
    async fn request_ends_at_its_line_end_or_at_the_end_of_input_or_at_the_limit() {
        let long = "x".repeat(5_000);
        let rows = [
            ("a line", "dump@a\nmore", "dump@a".to_owned()),
            ("a line of Windows", "dump@a\r\n", "dump@a".to_owned()),
            ("without a line end", "dump@a", "dump@a".to_owned()),
            ("nothing", "", String::new()),
            ("too long", &long, "x".repeat(1_024)),
        ];
        for (case, input, expected) in rows {
            assert_eq!(read_line(input.as_bytes()).await.unwrap(), expected, "{case}");
        }
    }
}
