//! Text form of a sequence: `client> action`, one step per line.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::{CLIENTS, Sequence, Step};
use crate::{Expect, Lifetime, NodePath, Op, Version};

const VALID: &str = "0> or 1>, then expire, close, flap, look PATH, watch PATH, or operations with ; between them: \
    create PATH DATA, ephemeral PATH DATA, put PATH DATA, put-if PATH VERSION DATA, delete PATH, \
    delete-if PATH VERSION, check PATH, check-if PATH VERSION, absent PATH, nothing; DATA is - if it is empty";

/// A line that is not a valid step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is not a valid step: {text:?}; valid is {VALID}")]
#[non_exhaustive]
pub struct SequenceError {
    /// The line number, counted from 1.
    pub line: usize,
    /// The content of the line.
    pub text: String,
}

/// Text form of data.
struct Word<'a>(&'a Bytes);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("-")
        } else {
            f.write_str(&String::from_utf8_lossy(self.0))
        }
    }
}

/// Text form of an operation.
struct Words<'a>(&'a Op);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Op::Create { path, data, lifetime: Lifetime::Persistent } => {
                write!(f, "create {path} {}", Word(data))
            }
            Op::Create { path, data, lifetime: Lifetime::Ephemeral } => {
                write!(f, "ephemeral {path} {}", Word(data))
            }
            Op::Put { path, data, expect: Expect::Exists } => {
                write!(f, "put {path} {}", Word(data))
            }
            Op::Put { path, data, expect: Expect::Version(Version(version)) } => {
                write!(f, "put-if {path} {version} {}", Word(data))
            }
            Op::Delete { path, expect: Expect::Exists } => write!(f, "delete {path}"),
            Op::Delete { path, expect: Expect::Version(Version(version)) } => {
                write!(f, "delete-if {path} {version}")
            }
            Op::Check { path, expect: Expect::Exists } => write!(f, "check {path}"),
            Op::Check { path, expect: Expect::Version(Version(version)) } => {
                write!(f, "check-if {path} {version}")
            }
            Op::CheckAbsent { path } => write!(f, "absent {path}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}> ", self.client())?;
        match self {
            Self::Commit { ops, .. } if ops.is_empty() => f.write_str("nothing"),
            Self::Commit { ops, .. } => ops.iter().enumerate().try_for_each(|(n, op)| {
                write!(f, "{}{}", if n == 0 { "" } else { "; " }, Words(op))
            }),
            Self::Look { path, .. } => write!(f, "look {path}"),
            Self::Watch { root, .. } => write!(f, "watch {root}"),
            Self::Flap { .. } => f.write_str("flap"),
            Self::Expire { .. } => f.write_str("expire"),
            Self::Close { .. } => f.write_str("close"),
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps().iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl FromStr for Sequence {
    type Err = SequenceError;

    fn from_str(text: &str) -> Result<Self, SequenceError> {
        let lines = text.lines().enumerate();
        let steps = lines.filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty());
        let read = |(n, line)| {
            step(line).ok_or_else(|| SequenceError { line: n + 1, text: String::from(line) })
        };
        steps.map(read).collect()
    }
}

fn step(line: &str) -> Option<Step> {
    let (client, action) = line.split_once("> ")?;
    let client = client.parse().ok().filter(|client| *client < CLIENTS)?;
    let words: Vec<_> = action.split(' ').collect();
    Some(match words[..] {
        ["flap"] => Step::Flap { client },
        ["expire"] => Step::Expire { client },
        ["close"] => Step::Close { client },
        ["nothing"] => Step::Commit { client, ops: Vec::new() },
        ["look", path] => Step::Look { client, path: NodePath::parse(path).ok()? },
        ["watch", root] => Step::Watch { client, root: NodePath::parse(root).ok()? },
        _ => Step::Commit { client, ops: action.split("; ").map(op).collect::<Option<_>>()? },
    })
}

fn op(text: &str) -> Option<Op> {
    let words: Vec<_> = text.split(' ').collect();
    let [name, path, rest @ ..] = &words[..] else { return None };
    let path = NodePath::parse(path).ok()?;
    let version = |text: &str| text.parse().ok().map(Version);
    Some(match (*name, rest) {
        ("create", [word]) => Op::Create { path, data: data(word), lifetime: Lifetime::Persistent },
        ("ephemeral", [word]) => {
            Op::Create { path, data: data(word), lifetime: Lifetime::Ephemeral }
        }
        ("put", [word]) => Op::Put { path, data: data(word), expect: Expect::Exists },
        ("put-if", [number, word]) => {
            Op::Put { path, data: data(word), expect: Expect::Version(version(number)?) }
        }
        ("delete", []) => Op::Delete { path, expect: Expect::Exists },
        ("delete-if", [number]) => Op::Delete { path, expect: Expect::Version(version(number)?) },
        ("check", []) => Op::Check { path, expect: Expect::Exists },
        ("check-if", [number]) => Op::Check { path, expect: Expect::Version(version(number)?) },
        ("absent", []) => Op::CheckAbsent { path },
        _ => return None,
    })
}

fn data(word: &str) -> Bytes {
    match word {
        "-" => Bytes::new(),
        _ => Bytes::copy_from_slice(word.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_step_survives_a_round_trip() {
        let text = "0> create /a 1; ephemeral /b -; put /a 2; put-if /a 1 -\n\
                    1> delete /b; delete-if /a 3; check /; check-if /a/b 0; absent /x\n\
                    0> nothing\n1> look /a\n0> watch /\n1> flap\n0> expire\n1> close\n";
        let sequence: Sequence = text.parse().unwrap();
        assert_eq!((sequence.to_string().as_str(), sequence.steps().len()), (text, 8));
        let with_comment = format!("# Where it comes from.\n\n{text}");
        assert_eq!(with_comment.parse(), Ok(sequence));
    }

    #[test]
    fn an_invalid_line_is_reported_with_its_number() {
        let rows = [
            ("no client", "expire"),
            ("no such client", "2> expire"),
            ("no such operation", "0> append /a 1"),
            ("no path", "0> delete a"),
            ("version missing", "0> delete-if /a"),
            ("too many words", "0> delete /a 1"),
            ("no version", "0> check-if /a x"),
            ("nothing after the semicolon", "0> delete /a; "),
        ];
        for (case, line) in rows {
            let error = format!("0> flap\n{line}").parse::<Sequence>().unwrap_err();
            assert_eq!((error.line, error.text.as_str()), (2, line), "{case}");
            assert!(error.to_string().contains("valid is 0> or 1>"), "{case}: {error}");
        }
    }
}
