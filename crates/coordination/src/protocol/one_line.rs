//! Texts of people and programs as one bounded line.

use std::fmt::Write as _;

/// Last character of a text that was cut.
const CUT: char = '…';

/// Returns the text as one line of at most `max` bytes of UTF-8. `None` if it is blank.
///
/// White space becomes single spaces. Control characters and marks that change the writing
/// direction become escapes. A longer text is cut and ends with `…`.
pub(super) fn one_line(text: &str, max: usize) -> Option<String> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        word.chars().for_each(|c| push_escaped(&mut line, c));
        // The text of an error can be megabytes long: the rest would be cut.
        if line.len() > max {
            break;
        }
    }
    if line.len() > max {
        line.truncate(line.floor_char_boundary(max - CUT.len_utf8()));
        line.push(CUT);
    }
    (!line.is_empty()).then_some(line)
}

fn push_escaped(line: &mut String, c: char) {
    // Such a mark could show the rest of a log line backwards.
    let changes_direction = matches!(
        c,
        '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    if c.is_control() || changes_direction {
        write!(line, "{}", c.escape_unicode()).expect("writing to a string cannot fail");
    } else {
        line.push(c);
    }
}
