//! What the released classes of ElasticJob write and read, as they printed it: `testdata/README.md` says how.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod json;
mod nodes;
mod trees;
mod yaml;

use coordination::{Dialect, JobConfig, decode_config, encode_config};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A document, and what Java makes of it: what it writes after reading it, or `throws` and the exception.
#[derive(Deserialize)]
struct Reading {
    case: String,
    document: String,
    java: String,
}

/// What this crate makes of a document.
#[derive(Clone, Copy)]
enum Ours {
    /// The same as Java.
    AsJava,
    /// The same as Java, which drops this part, wherever it stands in what is written here.
    AsJavaWith(&'static str),
    /// Something, although Java throws; this is part of what is written then.
    Although(&'static str),
    /// A configuration of the other dialect.
    OfTheOther,
    /// An error that begins so.
    Refused(&'static str),
}

/// Reads a file of one JSON value per line.
fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    file.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

/// Compares what Java made of each document with what this crate does.
fn compare(dialect: Dialect, file: &str, expected: &[(&str, Ours)]) {
    let rows: Vec<Reading> = rows(file);
    let cases: Vec<_> = rows.iter().map(|row| row.case.as_str()).collect();
    let known: Vec<_> = expected.iter().map(|(case, _)| *case).collect();
    assert_eq!(cases, known, "each document has its row, in the order of the file");
    for (Reading { case, document, java }, (_, ours)) in rows.iter().zip(expected) {
        let read = decode_config(document.as_bytes());
        let written = read.as_ref().map(encode_config).map_err(ToString::to_string);
        let java_throws = java.starts_with("throws ") || java == "null";
        match (*ours, written) {
            (Ours::AsJava, written) => assert_eq!(written.as_ref(), Ok(java), "{case}"),
            (Ours::AsJavaWith(part), Ok(written)) => {
                assert_eq!(written.replacen(part, "", 1), *java, "{case}: {written}");
                assert!(written.contains(part), "{case}: {written}");
            }
            (Ours::Although(part), Ok(written)) => {
                assert!(java_throws, "{case}: Java reads it: {java}");
                assert!(written.contains(part), "{case}: {written}");
                read_again(case, &read.unwrap(), &written);
            }
            (Ours::OfTheOther, Ok(_)) => {
                assert!(java_throws, "{case}: Java reads it: {java}");
                assert_ne!(read.unwrap().java.dialect(), dialect, "{case}");
            }
            (Ours::Refused(beginning), Err(error)) => {
                assert!(error.starts_with(beginning), "{case}: {error}");
            }
            (_, written) => panic!("{case}: {written:?}, and Java: {java}"),
        }
    }
}

fn read_again(case: &str, config: &JobConfig, written: &str) {
    let again = decode_config(written.as_bytes());
    assert_eq!(again.as_ref(), Ok(config), "{case}: {written}");
}
