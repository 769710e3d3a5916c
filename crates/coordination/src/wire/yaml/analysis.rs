//! Finds the valid styles of a scalar by the rules of SnakeYAML 2.x.

use regex_lite::Regex;
use std::sync::LazyLock;

/// Returns true for the line breaks of YAML 1.1 except for the carriage return.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_space(c: char) -> bool {
    matches!(c, '\0' | ' ' | '\t')
}

/// Returns true for characters that need no escape in a YAML document.
pub(super) fn is_printable(c: char) -> bool {
    matches!(
        c,
        '\u{20}'..='\u{7e}' | '\n' | '\r' | '\t' | '\u{85}' | '\u{a0}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}'
    )
}

/// The properties of a scalar that decide its style in block context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
}

impl Analysis {
    /// Analyzes a text that is not empty.
    pub(super) fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let found = Found::in_text(text, &chars);
        let edges = found.starts_or_ends_with_blank(&chars);
        let inside = found.break_then_space;
        let nothing = found.space_then_break || found.special;
        Self {
            multiline: found.breaks,
            plain: !(edges || inside || nothing || found.indicators),
            single_quoted: !(inside || nothing),
            block: !(chars.last() == Some(&' ') || nothing),
        }
    }
}

/// The kinds of characters in a text.
#[derive(Default)]
struct Found {
    indicators: bool,
    breaks: bool,
    special: bool,
    break_then_space: bool,
    space_then_break: bool,
}

impl Found {
    fn in_text(text: &str, chars: &[char]) -> Self {
        let mut found = Self {
            indicators: text.starts_with("---") || text.starts_with("..."),
            ..Self::default()
        };
        let mut blank_before = true;
        let mut blank_after = chars.get(1).is_none_or(|c| is_space(*c) || is_break(*c));
        for (index, &c) in chars.iter().enumerate() {
            found.indicators |= is_indicator(c, index == 0, blank_before, blank_after);
            found.breaks |= is_break(c);
            let plain = c == '\n' || matches!(c, '\u{20}'..='\u{7e}');
            let unicode = is_printable(c) && !c.is_ascii();
            found.special |= !(plain || unicode);
            let before = index.checked_sub(1).map(|before| chars[before]);
            found.break_then_space |= c == ' ' && before.is_some_and(is_break);
            found.space_then_break |= is_break(c) && before == Some(' ');
            blank_before = is_space(c) || is_break(c);
            // SnakeYAML tests `c` here, where `next` would be right. The bytes must match.
            blank_after = chars.get(index + 2).is_none_or(|next| is_space(*next) || is_break(c));
        }
        found
    }

    fn starts_or_ends_with_blank(&self, chars: &[char]) -> bool {
        let blank = |c: Option<&char>| c.is_some_and(|c| *c == ' ' || is_break(*c));
        blank(chars.first()) || blank(chars.last())
    }
}

/// Returns true if a character at this place has a meaning for a parser in block context.
fn is_indicator(c: char, first: bool, blank_before: bool, blank_after: bool) -> bool {
    match c {
        ':' => blank_after,
        '?' | '-' if first => blank_after,
        '#' => first || blank_before,
        ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
        | '`' => first,
        _ => false,
    }
}

/// Returns true if a parser would read a plain scalar of this text as another type than a string.
pub(super) fn is_ambiguous(text: &str) -> bool {
    static OTHER_TYPES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = [
            "^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$",
            r"^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?(?:[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
            "^(?:[-+]?0b_*[0-1][0-1_]*|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x_*[0-9a-fA-F][0-9a-fA-F_]*|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$",
            "^(?:<<)$",
            "^(?:~|null|Null|NULL| )?$",
            r"^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9]{2})?))?)$",
        ];
        let compile = |pattern: &str| Regex::new(pattern).expect("the patterns are fixed");
        patterns.into_iter().map(compile).collect()
    });
    OTHER_TYPES.iter().any(|pattern| pattern.is_match(text))
}
