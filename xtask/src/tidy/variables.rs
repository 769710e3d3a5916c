//! Environment variables of the programs: the reference page lists each of them, and no other.

use super::Violation;
use super::files::Source;

/// Page with the tables of all variables.
const PAGE: &str = "docs/ejob.md";

/// Section of [`PAGE`] with the tables. It ends at the next heading of its level.
const SECTION: &str = "## Variables";

const PREFIX: &str = "EJOB_";

/// Compares the names in the sources of all crates with the tables of the page.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let used: Vec<(&Source, usize, &str)> = sources.iter().flat_map(used_in).collect();
    let page = sources.iter().find(|source| source.path == PAGE);
    let listed = page.map(|page| listed_in(&page.text)).unwrap_or_default();
    let missing = used.iter().filter(|(_, _, name)| !listed.iter().any(|(_, row)| row == name));
    let unused = listed.iter().filter(|(_, name)| !used.iter().any(|(_, _, other)| other == name));
    let missing = missing.map(|(source, line, name)| {
        let rule = format!("variable is in no table of {PAGE} {SECTION}");
        Violation::new(&source.path, *line, rule, name)
    });
    let unused = unused
        .map(|(line, name)| Violation::new(PAGE, *line, "no program reads the variable", name));
    missing.chain(unused).collect()
}

/// Returns the names in a source below a folder `src`, with their lines. A name there is a text of
/// its own. The names in the folder `tests` belong to the tests alone.
fn used_in(source: &Source) -> Vec<(&Source, usize, &str)> {
    let is_module = source.is_rust() && source.path.split('/').any(|part| part == "src");
    let lines = source.text.lines().zip(1..).filter(|_| is_module);
    let names = lines.flat_map(|(line, number)| {
        let texts = line.split('"').filter(|text| is_name(text));
        texts.map(move |name| (source, number, name))
    });
    names.collect()
}

/// Returns the names in the first cells of the page's tables, with their lines.
fn listed_in(page: &str) -> Vec<(usize, &str)> {
    let lines = page.lines().zip(1..).skip_while(|(line, _)| *line != SECTION).skip(1);
    let section = lines.take_while(|(line, _)| !line.starts_with("## "));
    let rows = section.filter(|(line, _)| line.starts_with('|'));
    let cells = rows.filter_map(|(line, number)| Some((line.split('|').nth(1)?, number)));
    cells
        .flat_map(|(cell, number)| {
            let names = cell.split('`').filter(|text| is_name(text));
            names.map(move |name| (number, name))
        })
        .collect()
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    text.strip_prefix(PREFIX).is_some_and(|rest| !rest.is_empty() && rest.chars().all(is_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: String) -> Source {
        Source { path: path.to_owned(), text }
    }

    /// A name that is in no table, or is in the one that the test makes.
    fn name(rest: &str) -> String {
        format!("{PREFIX}{rest}")
    }

    fn found(path: &str, code: String, row: &str) -> Vec<String> {
        let text = format!("# Page\n\n{SECTION}\n\n{row}\n\n## Next\n| `{}` |\n", name("C"));
        let found = check(&[source(path, code), source(PAGE, text)]);
        found.iter().map(|found| format!("{}:{} {}", found.file, found.line, found.text)).collect()
    }

    #[test]
    fn each_variable_of_the_sources_is_in_a_table() {
        let (a, b, c) = (name("A_1"), name("B"), name("C"));
        let read = |name: &str| format!("fn f() {{}}\nenv::var(\"{name}\");");
        let file = "crates/x/src/lib.rs";
        let in_file = |name: &str| vec![format!("{file}:2 {name}")];
        let none = Vec::new();
        let rows = [
            ("listed", file, read(&a), format!("| `{a}` | a path |"), none.clone()),
            ("listed with another", file, read(&a), format!("| `{a}`, `{a}` |"), none.clone()),
            ("not listed", file, read(&b), String::new(), in_file(&b)),
            ("named in another cell", file, read(&b), format!("| x | `{b}` |"), in_file(&b)),
            ("named outside of a table", file, read(&b), format!("`{b}`"), in_file(&b)),
            ("listed in the next section", file, read(&c), String::new(), in_file(&c)),
            ("only a part of a text", file, read(&format!("no {b}")), String::new(), none.clone()),
            ("a prefix", file, read(PREFIX), String::new(), none.clone()),
            ("of a test", "crates/x/tests/a.rs", read(&b), String::new(), none),
        ];
        for (case, path, code, row, expected) in rows {
            assert_eq!(found(path, code, &row), expected, "{case}");
        }
    }

    #[test]
    fn variable_that_no_program_reads_is_not_in_a_table() {
        let a = name("A");
        let expected = [format!("{PAGE}:5 {a}")];
        assert_eq!(found("crates/x/src/a.rs", String::new(), &format!("| `{a}` |")), expected);
    }
}
