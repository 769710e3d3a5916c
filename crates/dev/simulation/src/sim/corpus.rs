//! The corpus: every seed and script that ever found a fault, with a description, for repetition in
//! every test run.

use super::profile::PROFILE_VERSION;
use super::script::{Script, ScriptError};

/// A line of the corpus: `seed <seed> <version> <description>` or `script <file> <version>
/// <description>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Seed or file of the run.
    pub source: Source,
    /// Version of the profile that the run belongs to.
    pub version: u32,
    /// Description of the fault that the run found.
    pub found: String,
}

/// Source of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Drawn from a seed.
    Seed(u64),
    /// Read from a file beside the corpus.
    File(String),
}

/// Error of a corpus.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// The line cannot be parsed.
    #[error(
        "line {number} is {line:?}; valid is `seed <seed> <version> <description>` or `script <file> <version> <description>`"
    )]
    Line {
        /// Number of the line, from 1.
        number: usize,
        /// Text of the line.
        line: String,
    },
    /// The seed belongs to another version, under which it gave another run.
    #[error("seed {seed} is of version {version}; valid is {PROFILE_VERSION}, or a script")]
    Version {
        /// The seed.
        seed: u64,
        /// Its version.
        version: u32,
    },
    /// The file cannot be read as a script.
    #[error("{file} cannot be read as a script")]
    Script {
        /// Name of the file.
        file: String,
        /// Cause.
        #[source]
        source: ScriptError,
    },
}

/// Parses a corpus. Empty lines and lines that begin with `#` are ignored.
///
/// # Errors
/// [`CorpusError::Line`] with the first line that cannot be parsed.
pub fn parse_corpus(text: &str) -> Result<Vec<Entry>, CorpusError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            parse_line(line).ok_or_else(|| CorpusError::Line { number, line: line.to_owned() })
        })
        .collect()
}

fn parse_line(line: &str) -> Option<Entry> {
    let mut words = line.splitn(4, ' ');
    let (kind, which) = (words.next()?, words.next()?);
    let source = match kind {
        "seed" => Source::Seed(which.parse().ok()?),
        "script" => Source::File(which.to_owned()),
        _ => return None,
    };
    let version = words.next()?.parse().ok()?;
    Some(Entry { source, version, found: words.next()?.to_owned() })
}

impl Entry {
    /// Returns the script of the run; `read` reads a file beside the corpus.
    ///
    /// # Errors
    /// [`CorpusError`] if the seed is of another version, or the file cannot be read as a script.
    pub fn script(&self, read: impl FnOnce(&str) -> String) -> Result<Script, CorpusError> {
        match &self.source {
            Source::Seed(seed) if self.version != PROFILE_VERSION => {
                Err(CorpusError::Version { seed: *seed, version: self.version })
            }
            Source::Seed(seed) => Ok(Script::draw(*seed)),
            Source::File(file) => Script::from_json(&read(file))
                .map_err(|source| CorpusError::Script { file: file.clone(), source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_line_is_rejected_with_its_number() {
        let text = "# comment\n\nseed 26 1 noted fires\nscript a.json 1 a claim in doubt\n";
        let corpus = parse_corpus(text).unwrap();
        assert_eq!(corpus[0].source, Source::Seed(26));
        assert_eq!(corpus[1].found, "a claim in doubt");
        for line in ["seed x 1 y", "seed 1", "seed 1 1", "what 1 1 y"] {
            let error = parse_corpus(&format!("\n{line}")).unwrap_err();
            assert!(matches!(error, CorpusError::Line { number: 2, .. }), "{line}");
        }
    }
}
