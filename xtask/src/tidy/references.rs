//! Reference pages: each lists all names that the sources define.

use super::Violation;
use super::files::Source;

/// Names of one kind, with the page that lists them.
struct Reference {
    /// File that defines the names.
    source: &'static str,
    names: fn(&str) -> Vec<(usize, String)>,
    page: &'static str,
    is_listed: fn(&str, &str) -> bool,
    rule: &'static str,
}

const REFERENCES: [Reference; 2] = [
    Reference {
        source: "crates/coordination/src/protocol/job_event/mod.rs",
        names: events,
        page: "docs/events.md",
        is_listed: |page, name| page.contains(&format!("| `{name}` |")),
        rule: "event has no row in docs/events.md",
    },
    Reference {
        source: "crates/cli/src/arguments.rs",
        names: commands,
        page: "docs/ejob.md",
        is_listed: has_example,
        rule: "command has no example in docs/ejob.md",
    },
];

/// Checks the reference pages.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    REFERENCES.iter().flat_map(|reference| check_one(reference, sources)).collect()
}

/// Returns the names that a page does not list. A reference without names checks nothing, so that
/// is a violation, too.
fn check_one(reference: &Reference, sources: &[Source]) -> Vec<Violation> {
    let Reference { source, names, page, is_listed, rule } = *reference;
    let text_of = |path: &str| {
        let found = sources.iter().find(|source| source.path == path);
        found.map(|source| source.text.as_str()).unwrap_or_default()
    };
    let (names, page) = (names(text_of(source)), text_of(page));
    if names.is_empty() {
        return vec![Violation::new(source, 0, "source defines no name for a reference page", "")];
    }
    let missing = names.iter().filter(|(_, name)| !is_listed(page, name));
    missing.map(|(line, name)| Violation::new(source, *line, rule, name)).collect()
}

/// Returns the words of the events: those that their variants are matched to.
fn events(source: &str) -> Vec<(usize, String)> {
    let words = source.lines().zip(1..).filter_map(|(line, number)| {
        let (_, word) = line.trim().strip_prefix("Self::")?.split_once("=> \"")?;
        Some((number, word.trim_end_matches("\",").to_owned()))
    });
    words.collect()
}

/// Returns the commands: the variants of `Command`, as clap writes them.
fn commands(source: &str) -> Vec<(usize, String)> {
    let lines = source.lines().zip(1..).skip_while(|(line, _)| !line.contains("enum Command {"));
    let variants = lines.skip(1).take_while(|(line, _)| *line != "}");
    // The fields of a variant are indented further, and comments and attributes are no letters.
    let names = variants.filter_map(|(line, number)| {
        let rest = line.strip_prefix("    ")?;
        let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        name.starts_with(|c: char| c.is_ascii_uppercase()).then(|| (number, kebab_case(&name)))
    });
    names.collect()
}

fn kebab_case(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Returns whether a line of the page begins with the command.
fn has_example(page: &str, command: &str) -> bool {
    let calls = page.lines().filter_map(|line| line.strip_prefix("ejob "));
    calls.into_iter().any(|call| call.split_whitespace().next() == Some(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMANDS: &str = "/// Commands.\npub(crate) enum Command {\n    /// Lists.\n    \
                            #[command(visible_alias = \"list\")]\n    Jobs(Arguments),\n    Top,\n    \
                            RemoveServer(Arguments),\n    Completions {\n        /// Name.\n        \
                            shell: Shell,\n    },\n}\nenum Other {\n    Else,\n}\n";

    fn names(found: &[(usize, String)]) -> Vec<&str> {
        found.iter().map(|(_, name)| name.as_str()).collect()
    }

    #[test]
    fn commands_are_the_variants_of_their_enum() {
        let found = commands(COMMANDS);
        assert_eq!(names(&found), ["jobs", "top", "remove-server", "completions"]);
        assert_eq!(found[0].0, 5);
    }

    #[test]
    fn events_are_the_words_of_their_variants() {
        let source = "Self::Left { .. } => \"left\",\n    Self::Gap => \"gap\",\n_ => \"other\",\n";
        assert_eq!(names(&events(source)), ["left", "gap"]);
    }

    #[test]
    fn name_that_a_page_does_not_list_is_found() {
        let source =
            |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let found = |commands: &str, page: &str| -> Vec<String> {
            let [events, of_commands] = &REFERENCES;
            let sources = [
                source(events.source, "    Self::Gap { .. } => \"gap\",\n"),
                source(events.page, "| `gap` | `Gap` |\n"),
                source(of_commands.source, commands),
                source(of_commands.page, page),
            ];
            check(&sources).iter().map(|found| format!("{}:{}", found.line, found.text)).collect()
        };
        let page =
            "ejob jobs --watch\nejob top   # live\nejob remove-server\nejob completions zsh\n";
        assert_eq!(found(COMMANDS, page), Vec::<String>::new());
        assert_eq!(found(COMMANDS, &page.replace("ejob top", "- ejob top")), ["6:top"]);
        assert_eq!(found(COMMANDS, &page.replace("remove-server", "remove")), ["7:remove-server"]);
        assert_eq!(found("", page), ["0:"]);
    }
}
