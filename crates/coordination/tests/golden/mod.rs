//! Comparison with documents and nodes that the released classes of ElasticJob wrote.
//!
//! `testdata/README.md` has their origin.

mod json;
mod nodes;
mod trees;
mod yaml;

use coordination::{Dialect, JobConfig, decode_config, encode_config};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A document, with the document that Java writes after reading it, or `throws` and the exception.
#[derive(Deserialize)]
struct Reading {
    case: String,
    document: String,
    java: String,
}

/// The expected result of this crate for a document.
#[derive(Clone, Copy)]
enum Expected {
    /// The document that Java writes.
    SameAsJava,
    /// The document that Java writes, plus this part, which Java drops.
    SameWithExtra(&'static str),
    /// A document with this part, although Java throws.
    Accepted(&'static str),
    /// A configuration of the other dialect, although Java throws.
    OtherDialect,
    /// An error that begins with this text.
    Rejected(&'static str),
}

/// Reads a file of one JSON value per line.
fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    file.lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

/// Compares the results of Java and of this crate for each document.
fn compare(dialect: Dialect, file: &str, expected: &[(&str, Expected)]) {
    let rows: Vec<Reading> = rows(file);
    let cases: Vec<_> = rows.iter().map(|row| row.case.as_str()).collect();
    let known: Vec<_> = expected.iter().map(|(case, _)| *case).collect();
    assert_eq!(cases, known, "the table has one row for each document, in the order of the file");
    for (Reading { case, document, java }, (_, expected)) in rows.iter().zip(expected) {
        let read = decode_config(document.as_bytes());
        let written = read.as_ref().map(encode_config).map_err(ToString::to_string);
        let java_throws = java.starts_with("throws ") || java == "null";
        match (*expected, written) {
            (Expected::SameAsJava, written) => assert_eq!(written.as_ref(), Ok(java), "{case}"),
            (Expected::SameWithExtra(part), Ok(written)) => {
                assert_eq!(written.replacen(part, "", 1), *java, "{case}: {written}");
                assert!(written.contains(part), "{case}: {written}");
            }
            (Expected::Accepted(part), Ok(written)) => {
                assert!(java_throws, "{case}: Java reads it: {java}");
                assert!(written.contains(part), "{case}: {written}");
                assert_round_trip(case, &read.unwrap(), &written);
            }
            (Expected::OtherDialect, Ok(_)) => {
                assert!(java_throws, "{case}: Java reads it: {java}");
                assert_ne!(read.unwrap().java.dialect(), dialect, "{case}");
            }
            (Expected::Rejected(beginning), Err(error)) => {
                assert!(error.starts_with(beginning), "{case}: {error}");
            }
            (_, written) => panic!("{case}: this crate: {written:?}, Java: {java}"),
        }
    }
}

fn assert_round_trip(case: &str, config: &JobConfig, written: &str) {
    let again = decode_config(written.as_bytes());
    assert_eq!(again.as_ref(), Ok(config), "{case}: {written}");
}
