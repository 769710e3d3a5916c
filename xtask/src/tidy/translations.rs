//! Chinese pages: each names its English original, and the text of it that was translated.

use std::path::Path;

use super::Violation;
use super::files::Source;
use super::links::{is_external, links, links_with_rest, target};
use crate::download::sha256;

/// Folder of the Chinese pages.
const FOLDER: &str = "docs/zh/";

/// Number of digits of the hash that a page names.
const DIGITS: usize = 12;

const NO_ORIGIN: &str =
    "Chinese page does not begin with `<!-- Translation of PAGE.md, SHA-256 DIGITS -->`";

/// Label behind a link to an English page: in brackets of its own, or the last word in the brackets
/// of the link. In a list of links, the label of the last one counts for all.
const LABELS: [&str; 3] = ["（英文）", "，英文）", "、["];

/// Checks that the original of each Chinese page exists, has not changed since, and has the same
/// blocks of code, with Chinese comments. Chinese pages lead to Chinese pages where there are any,
/// and label the others.
pub(super) fn check(sources: &[Source]) -> Vec<Violation> {
    let is_page = |source: &&Source| !source.is_rust() && source.path.starts_with(FOLDER);
    let pages: Vec<&Source> = sources.iter().filter(is_page).collect();
    let mut found: Vec<Violation> =
        pages.iter().filter_map(|page| outdated(page, sources)).collect();
    found.extend(pages.iter().flat_map(|page| english_comments(page)));
    found.extend(pages.iter().flat_map(|page| english_links(page, &pages)));
    found.extend(pages.iter().flat_map(|page| unlabelled_links(page)));
    found
}

/// Returns the links to English pages that no label follows. The link to its own original names the
/// language.
fn unlabelled_links(page: &Source) -> Vec<Violation> {
    let of_page = page.text.lines().next().and_then(origin).map(|(path, _)| path.to_owned());
    let is_english = |link: &str| {
        let target = target(&page.path, link);
        let is_page = Path::new(&target).extension().is_some_and(|extension| extension == "md");
        let is_own = of_page.as_ref() == Some(&target);
        is_page && !is_external(link) && !is_own && !target.starts_with(FOLDER)
    };
    let is_labelled = |rest: &str| LABELS.iter().any(|label| rest.starts_with(label));
    let english = links_with_rest(&page.text).into_iter().filter(|(_, link, _)| is_english(link));
    let rule = "link to an English page is not followed by `（英文）`";
    english
        .filter(|(_, _, rest)| !is_labelled(rest))
        .map(|(line, link, _)| Violation::new(&page.path, line, rule, link))
        .collect()
}

/// Returns the comments in blocks of code that have no Chinese character.
fn english_comments(page: &Source) -> Vec<Violation> {
    let lines = blocks(&page.text).into_iter().flat_map(|(first, lines)| {
        let fence = lines[0];
        (first..).zip(lines).map(move |(line, text)| (line, text, code_of(fence, text).len()))
    });
    let rule = "comment in a block of code is not translated";
    lines
        .filter(|(_, text, code)| code < &text.len() && text[*code..].is_ascii())
        .map(|(line, text, _)| Violation::new(&page.path, line, rule, text))
        .collect()
}

/// Returns a line of a block of code up to the mark of its comment, which is translated: a comment
/// is a line of its own, or two spaces are before it.
fn code_of<'a>(fence: &str, line: &'a str) -> &'a str {
    let mark = match fence.trim_start_matches('`') {
        "sh" | "toml" => "  # ",
        language if language.starts_with("rust") => "  // ",
        _ => return line,
    };
    let own = mark.trim_start();
    let comment =
        if line.starts_with(own) { Some(0) } else { line.find(mark).map(|start| start + 2) };
    comment.map_or(line, |start| &line[..start + own.len()])
}

/// Returns the links to English pages that are translated. The link to its own original is none of
/// them.
fn english_links(page: &Source, pages: &[&Source]) -> Vec<Violation> {
    let original_of = |page: &Source| {
        let first = page.text.lines().next().unwrap_or_default();
        origin(first).map(|(path, _)| path.to_owned())
    };
    let of_page = original_of(page);
    let translated = |link: &str| {
        let target = target(&page.path, link);
        let is_translation = |page: &&&Source| original_of(page).as_ref() == Some(&target);
        let found = pages.iter().find(is_translation).filter(|_| of_page.as_ref() != Some(&target));
        found.map(|page| page.path.clone())
    };
    let found = links(&page.text).into_iter().filter_map(|(line, link)| {
        let rule =
            format!("link leads to an English page that is translated as {}", translated(link)?);
        Some(Violation::new(&page.path, line, rule, link))
    });
    found.collect()
}

fn outdated(page: &Source, sources: &[Source]) -> Option<Violation> {
    let first = page.text.lines().next().unwrap_or_default();
    let violation = |rule: String| Some(Violation::new(&page.path, 1, rule, first));
    let Some((path, digits)) = origin(first) else {
        return violation(NO_ORIGIN.to_owned());
    };
    let Some(original) = sources.iter().find(|source| source.path == path) else {
        return violation(format!("translated page {path} does not exist"));
    };
    let present = digest(&original.text);
    if digits != present {
        return violation(format!(
            "translation of {path} is older than it: translate the changes and set the hash to \
             {present}"
        ));
    }
    let (of_page, of_original) = (blocks(&page.text), blocks(&original.text));
    if of_page.len() != of_original.len() {
        let (n, of) = (of_page.len(), of_original.len());
        return violation(format!("page has {n} blocks of code, and {path} has {of}"));
    }
    // Commands and output are the same in every language. Only comments are translated.
    let code = |block: &[&'_ str]| -> Vec<String> {
        block.iter().map(|line| code_of(block[0], line).to_owned()).collect()
    };
    let mut pairs = of_page.iter().zip(&of_original);
    let (line, _) = pairs
        .find(|((_, block), (_, original))| code(block) != code(original))
        .map(|pair| pair.0)?;
    let rule = format!("block of code differs from that of {path}");
    Some(Violation::new(&page.path, *line, rule, ""))
}

/// Returns the lines of each block of code without their indentation, with the number of the line
/// before them.
fn blocks(page: &str) -> Vec<(usize, Vec<&str>)> {
    let (mut found, mut open) = (Vec::new(), None);
    for (line, number) in page.lines().map(str::trim).zip(1..) {
        let is_fence = line.starts_with("```");
        match &mut open {
            None if is_fence => open = Some((number, vec![line])),
            None => {}
            Some((_, lines)) if !is_fence => lines.push(line),
            Some(_) => found.extend(open.take()),
        }
    }
    found
}

/// Returns the path of the original and the digits of its digest, from a page's first line.
pub(crate) fn origin(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("<!-- Translation of ")?.strip_suffix(" -->")?.split_once(", SHA-256 ")
}

/// Returns the first digits of a text's SHA-256.
fn digest(text: &str) -> String {
    sha256(text).chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digest of "abc", a test vector of FIPS 180-2.
    const ABC: &str = "ba7816bf8f01";

    fn rules(original: &str, translation: &str) -> Vec<String> {
        let page = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let sources = [
            page("docs/a.md", original),
            page("docs/zh/a.md", translation),
            page("docs/zh/code.rs", "// no page"),
        ];
        let found = check(&sources);
        found.iter().map(|found| format!("{}:{} {}", found.file, found.line, found.rule)).collect()
    }

    #[test]
    fn translation_of_the_present_text_is_accepted() {
        let page = format!("<!-- Translation of docs/a.md, SHA-256 {ABC} -->\n# 标题\n");
        assert_eq!(rules("abc", &page), Vec::<String>::new());
    }

    #[test]
    fn translation_of_an_earlier_text_is_reported_with_the_present_hash() {
        let page = "<!-- Translation of docs/a.md, SHA-256 000000000000 -->\n";
        let expected = "docs/zh/a.md:1 translation of docs/a.md is older than it: translate the \
                        changes and set the hash to ba7816bf8f01";
        assert_eq!(rules("abc", page), [expected]);
    }

    #[test]
    fn blocks_of_code_are_those_of_the_original() {
        let original = "# Title\n```sh\nejob jobs\n```\nText.\n```text\na\n```\n";
        let first = format!("<!-- Translation of docs/a.md, SHA-256 {} -->\n", digest(original));
        let same = "- 列表\n  ```sh\n  ejob jobs\n  ```\n```text\na\n```\n";
        let differs = "docs/zh/a.md:6 block of code differs from that of docs/a.md";
        let missing = "docs/zh/a.md:1 page has 1 blocks of code, and docs/a.md has 2";
        let rows = [
            (same.to_owned(), None),
            (same.replace("\na\n", "\nb\n"), Some(differs)),
            ("```sh\nejob jobs\n```\n".to_owned(), Some(missing)),
        ];
        for (text, expected) in rows {
            let found = rules(original, &format!("{first}{text}"));
            assert_eq!(found, Vec::from_iter(expected), "{text}");
        }
    }

    #[test]
    fn comments_in_code_are_translated() {
        let original = "```sh\nejob jobs  # all\n# one\necho '# a'\n```\n```text\n# b\n```\n";
        let first = format!("<!-- Translation of docs/a.md, SHA-256 {} -->\n", digest(original));
        let translated = original.replace("# all", "# 全部").replace("# one", "# 一个");
        let english =
            |line| format!("docs/zh/a.md:{line} comment in a block of code is not translated");
        let differs = || "docs/zh/a.md:2 block of code differs from that of docs/a.md".to_owned();
        let rows = [
            (translated.clone(), vec![]),
            (original.to_owned(), vec![english(3), english(4)]),
            (translated.replace("  # 全部", ""), vec![differs()]),
            (translated.replace("ejob", "list"), vec![differs()]),
        ];
        for (text, expected) in rows {
            assert_eq!(rules(original, &format!("{first}{text}")), expected, "{text}");
        }
        assert_eq!(code_of("```rust,no_run", "// a"), "// ");
        assert_eq!(code_of("```rust", "# Ok::<(), ()>(())"), "# Ok::<(), ()>(())");
    }

    #[test]
    fn links_to_english_pages_are_labelled() {
        let found = |text: &str| -> Vec<String> {
            let first = format!("<!-- Translation of docs/a.md, SHA-256 {ABC} -->");
            let page = Source { path: "docs/zh/a.md".to_owned(), text: format!("{first}\n{text}") };
            let found = unlabelled_links(&page);
            found.iter().map(|found| format!("{}: {}", found.line, found.text)).collect()
        };
        let accepted = [
            "[English](../a.md) [b](b.md#x) [c](../../crates/c) [d](https://example.com/d.md)",
            "[b](../b.md#x)（英文）",
            "（见 [b](../b.md)，英文）",
            "[b](../b.md)、[c](../c.md)（英文）",
        ];
        for text in accepted {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
        for text in
            ["[b](../b.md)", "[b](../b.md)（见英文）", "[c](../c.md)（英文） [b](../b.md)。"]
        {
            assert_eq!(found(text), ["2: ../b.md"], "{text}");
        }
        assert_eq!(found("[b](../b.md)、[c](../c.md)"), ["2: ../c.md"]);
    }

    #[test]
    fn chinese_page_leads_to_chinese_pages() {
        let page = |path: &str, original: &str, text: &str| Source {
            path: path.to_owned(),
            text: format!("<!-- Translation of {original}, SHA-256 {ABC} -->\n{text}"),
        };
        let b = page("docs/zh/b.md", "docs/b.md", "");
        let found = |text: &str| -> Vec<String> {
            let pages = [&page("docs/zh/a.md", "docs/a.md", text), &b];
            let found = english_links(pages[0], &pages);
            found.iter().map(|found| format!("{}: {}", found.line, found.text)).collect()
        };
        let accepted = "[English](../a.md) [b](b.md#x) [c](../c.md) [d](https://b.md)";
        assert_eq!(found(accepted), Vec::<String>::new());
        assert_eq!(found("a\n[b](../b.md#x)"), ["3: ../b.md#x"]);
    }

    #[test]
    fn shortened_hash_is_not_accepted() {
        let page = "<!-- Translation of docs/a.md, SHA-256 ba7816 -->\n";
        assert_eq!(rules("abc", page).len(), 1);
    }

    #[test]
    fn page_without_an_existing_original_is_reported() {
        let no_origin = format!("docs/zh/a.md:1 {NO_ORIGIN}");
        let missing = "docs/zh/a.md:1 translated page docs/gone.md does not exist".to_owned();
        let gone = format!("<!-- Translation of docs/gone.md, SHA-256 {ABC} -->");
        let late = format!("# 标题\n<!-- Translation of docs/a.md, SHA-256 {ABC} -->\n");
        let rows = [
            ("", &no_origin),
            ("# 标题\n", &no_origin),
            (late.as_str(), &no_origin),
            ("<!-- Translation of docs/a.md -->", &no_origin),
            (gone.as_str(), &missing),
        ];
        for (text, expected) in rows {
            assert_eq!(rules("abc", text), [expected.as_str()], "{text}");
        }
    }
}
