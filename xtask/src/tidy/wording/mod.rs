//! Rules for the wording of comments, names, texts and documents.

mod comments;

use super::Violation;
use super::files::Source;
use comments::Comment;

/// Refused words, one in each line. They are not in a Rust file, because that would be refused.
const WORDS: &str = include_str!("words.txt");

/// Serialized names that contain a refused word and cannot change, because other programs read
/// them.
///
/// Each line has the exact token and the files that may contain it.
const STABLE: &str = include_str!("stable.txt");

/// Widest line of a comment, in columns.
const MAX_COLUMNS: usize = 100;

/// Checks the wording of all sources.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    Rules::new(stable_names(STABLE)).check(sources)
}

/// Returns the stable names with each file that may contain them.
fn stable_names(table: &str) -> Vec<(&str, &str)> {
    let rows = table.lines().filter_map(|line| line.split_once(' '));
    rows.flat_map(|(token, files)| files.split(' ').map(move |file| (token, file))).collect()
}

struct Rules<'a> {
    words: Vec<&'static str>,
    /// Tokens with files.
    stable: Vec<(&'a str, &'a str)>,
}

impl<'a> Rules<'a> {
    fn new(stable: Vec<(&'a str, &'a str)>) -> Self {
        Self { words: WORDS.lines().collect(), stable }
    }

    fn check(&self, sources: &[Source]) -> Vec<Violation> {
        let mut found = Vec::new();
        for source in sources {
            found.extend(self.refused_words(source));
            if source.is_rust() {
                let comments = comments::of(&source.text);
                found.extend(comments.iter().filter_map(|comment| judge(source, comment)));
            } else {
                found.extend(headings(source));
            }
        }
        let unused = self.stable.iter().filter(|name| !is_used(name, sources));
        let rule = "stable name is not in the file";
        found.extend(unused.map(|(token, file)| Violation::new(file, 0, rule, token)));
        found
    }

    fn refused_words(&self, source: &Source) -> Vec<Violation> {
        let mut found = Vec::new();
        for (n, line) in source.text.lines().enumerate() {
            if self.refused_in(line).is_empty() {
                continue;
            }
            let names = self.stable.iter().filter(|(_, file)| *file == source.path);
            let rest = names.fold(line.to_owned(), |rest, (token, _)| without(&rest, token));
            found.extend(self.refused_in(&rest).into_iter().map(|word| {
                Violation::new(&source.path, n + 1, format!("refused word \"{word}\""), line)
            }));
        }
        found
    }

    /// Returns the refused words of a line, also those inside `snake_case` and `CamelCase` names.
    fn refused_in(&self, line: &str) -> Vec<&'static str> {
        let mut found = Vec::new();
        for run in line.as_bytes().split(|byte| !byte.is_ascii_alphabetic()) {
            let goes_on = |a: &u8, b: &u8| !(a.is_ascii_lowercase() && b.is_ascii_uppercase());
            for word in run.chunk_by(goes_on) {
                let is_same = |refused: &&&str| refused.as_bytes().eq_ignore_ascii_case(word);
                found.extend(self.words.iter().find(is_same));
            }
        }
        found
    }
}

fn is_used((token, file): &(&str, &str), sources: &[Source]) -> bool {
    let source = sources.iter().find(|source| source.path == *file);
    source.is_some_and(|source| without(&source.text, token) != source.text)
}

/// Returns a text without a token, where the token is not a part of a longer name.
fn without(text: &str, token: &str) -> String {
    let mut rest = String::new();
    let mut kept = 0;
    let continues = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    for (start, _) in text.match_indices(token) {
        let end = start + token.len();
        let is_whole = !text[..start].ends_with(continues) && !text[end..].starts_with(continues);
        if is_whole {
            rest.push_str(&text[kept..start]);
            kept = end;
        }
    }
    rest + &text[kept..]
}

/// Returns the rule that a line of a comment breaks.
fn judge(source: &Source, comment: &Comment<'_>) -> Option<Violation> {
    let rule = if comment.is_doc() && begins_with_what(comment.words()) {
        "doc comment begins with \"What\""
    } else if comment.starts_line && comment.columns > MAX_COLUMNS {
        "comment is wider than 100 columns"
    } else if cites_seed(comment.text) {
        "comment cites a simulation seed"
    } else {
        return None;
    };
    Some(Violation::new(&source.path, comment.line, rule, comment.text))
}

fn headings(source: &Source) -> Vec<Violation> {
    let lines = source.text.lines().enumerate();
    let headings = lines.filter_map(|(n, line)| Some((n, line, line.strip_prefix('#')?)));
    let refused = headings.filter(|(_, _, text)| begins_with_what(text.trim_start_matches('#')));
    let rule = "heading begins with \"What\"";
    refused.map(|(n, line, _)| Violation::new(&source.path, n + 1, rule, line)).collect()
}

fn begins_with_what(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix("What");
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// Returns whether a comment has the word "seed" or "seeds" before a number of at least two digits.
fn cites_seed(text: &str) -> bool {
    let is_number = |word: &str| word.bytes().take_while(u8::is_ascii_digit).count() > 1;
    let is_seed = |word: &str| {
        let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        word.eq_ignore_ascii_case("seed") || word.eq_ignore_ascii_case("seeds")
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).any(|pair| is_seed(pair[0]) && is_number(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> Vec<String> {
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        let found = Rules::new(Vec::new()).check(&[source]);
        found.iter().map(|violation| format!("{}: {}", violation.line, violation.rule)).collect()
    }

    fn capitalized(word: &str) -> String {
        word[..1].to_uppercase() + &word[1..]
    }

    #[test]
    fn words_are_refused_in_comments_names_texts_and_documents() {
        let words: Vec<&str> = WORDS.lines().collect();
        assert_eq!(words.len(), 12);
        for word in words {
            let (camel, upper) = (capitalized(word), word.to_uppercase());
            let rows = [
                ("a.rs", format!("// It is {word}.")),
                ("a.rs", format!("/// {camel}: it is.")),
                ("a.rs", format!("fn is_{word}_here() {{}}")),
                ("a.rs", format!("struct Is{camel}Here;")),
                ("a.rs", format!("struct {camel};")),
                ("a.rs", format!("const MAX_{upper}_BYTES: u8 = 0;")),
                ("a.rs", format!("let text = \"it is {word}\";")),
                ("a.rs", format!("let {word}2 = 0;")),
                ("docs/a.md", format!("It is {word}, here.")),
                ("docs/a.md", format!("{word}`, inside of code")),
            ];
            for (path, text) in rows {
                let rule = format!("1: refused word \"{word}\"");
                assert_eq!(check_text(path, &text), [rule], "{text}");
            }
        }
    }

    #[test]
    fn longer_words_that_contain_a_refused_word_are_accepted() {
        let none: [&str; 0] = [];
        for word in WORDS.lines() {
            let upper = word.to_uppercase();
            for text in [format!("x{word}"), format!("{word}x"), format!("A{upper}X")] {
                assert_eq!(check_text("a.rs", &format!("// {text}")), none, "{text}");
            }
        }
        assert_eq!(check_text("a.md", "Recommended hours, amended, untold, a course."), none);
    }

    #[test]
    fn stable_names_are_accepted_in_their_files_as_exact_tokens() {
        let word = WORDS.lines().next().unwrap();
        let token = format!("run-of-{word}");
        let count = |path: &str, text: String| {
            let sources = [Source { path: path.to_owned(), text }];
            Rules::new(vec![(&token, "a.rs")]).check(&sources).len()
        };
        assert_eq!(count("a.rs", format!("let code = \"{token}\";")), 0);
        assert_eq!(count("a.rs", format!("let both = \"{token}, {token}\";")), 0);
        assert_eq!(count("a.rs", format!("let code = \"{token}\"; // {word}")), 1);
        // The table has a row without use as well.
        assert_eq!(count("b.rs", format!("let code = \"{token}\";")), 2);
        assert_eq!(count("a.rs", format!("let code = \"re{token}\";")), 2);
        assert_eq!(count("a.rs", format!("let code = \"{token}-again\";")), 2);
        assert_eq!(count("a.rs", "let code = 1;".to_owned()), 1);
    }

    #[test]
    fn table_of_stable_names_has_a_row_for_each_file() {
        assert_eq!(
            stable_names("a-b x.rs y.rs\nc z.md\n"),
            [("a-b", "x.rs"), ("a-b", "y.rs"), ("c", "z.md")]
        );
    }

    #[test]
    fn doc_comments_and_headings_must_not_begin_with_what() {
        let rule = "1: doc comment begins with \"What\"";
        for text in ["/// What it is.", "    //! What: it.", "///What", "/** What it is. */"] {
            assert_eq!(check_text("a.rs", text), [rule], "{text}");
        }
        for text in ["# What it is", "### What", "#  What it is"] {
            let rule = "1: heading begins with \"What\"";
            assert_eq!(check_text("a.md", text), [rule], "{text}");
        }
        let none: [&str; 0] = [];
        for text in
            ["/// Whatever it is.", "/// Says what it is.", "// What for?", "let x = \"/// What\";"]
        {
            assert_eq!(check_text("a.rs", text), none, "{text}");
        }
        for text in ["What it is", "# Whatever", "# Decision latency: What"] {
            assert_eq!(check_text("a.md", text), none, "{text}");
        }
    }

    #[test]
    fn comment_lines_have_at_most_100_columns() {
        let rule = "1: comment is wider than 100 columns";
        let none: [&str; 0] = [];
        let at_limit = format!("    /// {}", "ä".repeat(92));
        assert_eq!(check_text("a.rs", &at_limit), none);
        assert_eq!(check_text("a.rs", &format!("{at_limit}x")), [rule]);
        assert_eq!(check_text("a.rs", &format!("// {}", "x".repeat(98))), [rule]);
        let text = format!("let text = \"// {}\"; // short", "x".repeat(98));
        assert_eq!(check_text("a.rs", &text), none);
        assert_eq!(check_text("a.md", &format!("// {}", "x".repeat(98))), none);
    }

    #[test]
    fn comments_must_not_cite_simulation_seeds() {
        let rule = "1: comment cites a simulation seed";
        for text in ["// (seed 1234)", "let x = 1; // Seeds 7225, 105247 show it."] {
            assert_eq!(check_text("a.rs", text), [rule], "{text}");
        }
        let none: [&str; 0] = [];
        let accepted =
            ["// 2000 seeds", "// seed 1", "// the seed, 1234", "let seed = \"seed 1234\";"];
        for text in accepted {
            assert_eq!(check_text("a.rs", text), none, "{text}");
        }
    }
}
