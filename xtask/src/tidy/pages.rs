//! Bounds on the paragraphs and tables of pages, which readers look through quickly.

use super::Violation;
use super::files::Source;
use super::links::text_lines;

/// Greatest number of lines of a paragraph, or of an item of a list.
const MAX_LINES: usize = 5;

/// Greatest length of a line outside of tables, in characters.
const MAX_LINE: usize = 128;

/// Greatest length of a table's cell, in characters that a reader sees.
const MAX_CELL: usize = 200;

/// Pages whose cells list tests, which a program reads.
const LISTS_OF_TESTS: [&str; 2] = ["docs/mutants.md", "docs/coverage/"];

/// Checks each page of the workspace.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let pages = sources.iter().filter(|source| !source.is_rust());
    let found =
        |page| [long_paragraphs(page), long_lines(page), long_cells(page)].into_iter().flatten();
    pages.flat_map(found).collect()
}

/// The text of an image, which readers of the page do not see, may be long.
fn long_lines(page: &Source) -> Vec<Violation> {
    let lines = text_lines(&page.text)
        .filter(|(_, line)| !is_row(line.trim()) && !line.trim().starts_with("!["));
    let rule = format!("line has more than {MAX_LINE} characters");
    lines
        .filter(|(_, line)| line.chars().count() > MAX_LINE)
        .map(|(number, line)| Violation::new(&page.path, number, rule.clone(), line))
        .collect()
}

fn long_paragraphs(page: &Source) -> Vec<Violation> {
    let (mut found, mut length, mut last) = (Vec::new(), 0, 0);
    for (number, line) in text_lines(&page.text) {
        let text = line.trim();
        // A block of code, whose lines are left out, ends a paragraph like an empty line.
        let is_next = number == last + 1;
        length = match text {
            _ if is_block(text) => 0,
            _ if is_list_item(text) || !is_next => 1,
            _ => length + 1,
        };
        last = number;
        if length == MAX_LINES + 1 {
            let rule = format!("paragraph has more than {MAX_LINES} lines");
            found.push(Violation::new(&page.path, number, rule, text));
        }
    }
    found
}

/// Returns true for a line that belongs to no paragraph.
fn is_block(line: &str) -> bool {
    line.is_empty() || line.starts_with('#') || is_row(line)
}

fn is_row(line: &str) -> bool {
    line.starts_with('|')
}

fn is_list_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || number.len() < line.len() && number.starts_with(". ")
}

fn long_cells(page: &Source) -> Vec<Violation> {
    if LISTS_OF_TESTS.iter().any(|list| page.path.starts_with(list)) {
        return Vec::new();
    }
    let rows = text_lines(&page.text).filter(|(_, line)| is_row(line.trim()));
    let all = rows.flat_map(|(number, line)| cells(line).map(move |cell| (number, cell)));
    let seen = all.map(|(number, cell)| (number, visible(cell)));
    let rule = format!("cell has more than {MAX_CELL} characters");
    seen.filter(|(_, cell)| cell.chars().count() > MAX_CELL)
        .map(|(number, cell)| Violation::new(&page.path, number, rule.clone(), &cell))
        .collect()
}

/// Returns the cells of a row. `\|` in a cell is no boundary.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    let mut is_escape = false;
    row.split(move |c: char| {
        let is_boundary = c == '|' && !is_escape;
        is_escape = c == '\\' && !is_escape;
        is_boundary
    })
    .map(str::trim)
}

/// Returns a text with the texts of its links in their place.
fn visible(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts
        .fold(first, |visible, part| visible + part.split_once(')').map_or(part, |(_, rest)| rest));
    text.replace('[', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let page = Source { path: "docs/a.md".to_owned(), text: text.to_owned() };
        check(&[page]).into_iter().map(|found| found.line).collect()
    }

    #[test]
    fn paragraphs_have_at_most_five_lines() {
        let five = "a\n".repeat(MAX_LINES);
        let rows = [
            (five.clone(), vec![]),
            (format!("{five}a\na\n"), vec![6]),
            (format!("{five}\n{five}"), vec![]),
            (format!("{five}# Heading\n{five}"), vec![]),
            (format!("{five}```sh\nb\n```\n{five}"), vec![]),
            (format!("{five}| cell |\n{five}"), vec![]),
            (format!("```text\n{five}{five}```\n"), vec![]),
            ("- a\n".repeat(9), vec![]),
            (format!("10. a\n{five}"), vec![6]),
            (format!("a\n- b\n{five}"), vec![7]),
        ];
        for (text, expected) in rows {
            assert_eq!(found(&text), expected, "{text}");
        }
    }

    #[test]
    fn lines_of_text_have_at_most_128_characters() {
        let most = "字".repeat(MAX_LINE);
        let rows = [
            (format!("{most}\n"), vec![]),
            (format!("a\n{most}a\n"), vec![2]),
            (format!("| {most}a |\n"), vec![]),
            (format!("![{most}](a.png)\n"), vec![]),
            (format!("```text\n{most}a\n```\n"), vec![]),
        ];
        for (text, expected) in rows {
            assert_eq!(found(&text), expected, "{text}");
        }
    }

    #[test]
    fn cells_have_at_most_two_hundred_characters() {
        let most = "字".repeat(MAX_CELL - 1);
        let rows = [
            (format!("| a | {most}b |\n"), vec![]),
            (format!("| a | {most}bc |\n"), vec![1]),
            (format!("| a | {most}[b](https://example.com) |\n"), vec![]),
            (format!("| a | {most}[bc](https://example.com) |\n"), vec![1]),
            (format!("| {most} | {most} |\n"), vec![]),
            (format!("| {most}\\|b |\n"), vec![1]),
            (format!("```text\n| {most}bc |\n```\n"), vec![]),
        ];
        for (text, expected) in rows {
            assert_eq!(found(&text), expected, "{text}");
        }
        assert_eq!(visible("[a](b) c [d](e#f)."), "a c d.");
    }

    #[test]
    fn lists_of_tests_may_have_long_cells() {
        let text = format!("| {} |\n", "a".repeat(MAX_CELL + 1));
        for (path, n) in [("docs/mutants.md", 0), ("docs/coverage/x.md", 0), ("docs/x.md", 1)] {
            let page = Source { path: path.to_owned(), text: text.clone() };
            assert_eq!(check(&[page]).len(), n, "{path}");
        }
    }
}
