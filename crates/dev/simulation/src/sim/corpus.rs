//! The corpus: every seed and script that ever found something, with what it found, repeated for ever.

use super::profile::PROFILE_VERSION;
use super::script::{Script, ScriptError};

/// One line of the corpus: `seed <seed> <version> <what it found>` or `script <file> <version> <what it found>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which run.
    pub source: Source,
    /// The version of the profile that it belongs to.
    pub version: u32,
    /// What it found.
    pub found: String,
}

/// Where a run of the corpus comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Drawn from a seed.
    Seed(u64),
    /// Read from a file beside the corpus.
    File(String),
}

/// A corpus that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A line is none of a corpus.
    #[error(
        "line {number} is {line:?}; valid is `seed <seed> <version> <what it found>` or `script <file> <version> <what it found>`"
    )]
    Line {
        /// Which, from 1.
        number: usize,
        /// What it is.
        line: String,
    },
    /// A seed belongs to another version, under which it was another run.
    #[error("seed {seed} is of version {version}; valid is {PROFILE_VERSION}, or a script")]
    Version {
        /// Which seed.
        seed: u64,
        /// Of which version.
        version: u32,
    },
    /// A file is no script.
    #[error("{file} cannot be used")]
    Script {
        /// Which.
        file: String,
        /// Why.
        #[source]
        source: ScriptError,
    },
}

/// Reads a corpus. Empty lines and those that begin with `#` say nothing.
///
/// # Errors
/// [`CorpusError::Line`] names the first line that cannot be read.
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
    /// Returns the run; `read` reads a file beside the corpus.
    ///
    /// # Errors
    /// [`CorpusError`] if the seed is of another version, or the file is no script.
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
    fn lines_are_read_and_others_are_refused_by_number() {
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
