//! Finds the comments of a Rust source.

/// A line of a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment<'a> {
    /// From 1.
    pub(super) line: usize,
    /// From the comment's sign to the end of the line or of the comment.
    pub(super) text: &'a str,
    /// No code is before it in its line.
    pub(super) starts_line: bool,
    /// Width of its line, with the code.
    pub(super) columns: usize,
}

impl<'a> Comment<'a> {
    pub(super) fn is_doc(&self) -> bool {
        ["///", "//!", "/**", "/*!"].iter().any(|sign| self.text.starts_with(sign))
    }

    /// Returns the text without the comment's sign.
    pub(super) fn words(&self) -> &'a str {
        self.text.trim_start_matches(['/', '!', '*'])
    }
}

/// Returns all lines of comments of a source, in order.
pub(super) fn of(source: &str) -> Vec<Comment<'_>> {
    let mut lines = Lines { source, comments: Vec::new(), line: 1, start: 0, scanned: 0 };
    let bytes = source.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let is_in_name = at > 0 && is_name(bytes[at - 1]);
        at += match byte {
            b'/' if rest.starts_with(b"//") => lines.add(at, line_length(rest)),
            b'/' if rest.starts_with(b"/*") => lines.add(at, block_length(rest)),
            b'"' => string_length(rest),
            b'r' if !is_in_name || is_prefixed(bytes, at) => raw_string_length(rest).unwrap_or(1),
            b'\'' => char_length(rest),
            _ => 1,
        };
    }
    lines.comments
}

/// Comments found so far, and the line that is being scanned.
struct Lines<'a> {
    source: &'a str,
    comments: Vec<Comment<'a>>,
    line: usize,
    /// Start of the line.
    start: usize,
    /// Newlines before this offset are counted.
    scanned: usize,
}

impl Lines<'_> {
    /// Adds the lines of a comment, and returns its length.
    fn add(&mut self, at: usize, length: usize) -> usize {
        let mut start = at;
        for part in self.source[at..at + length].split_inclusive('\n') {
            self.go_to(start);
            let end = self.source[start..].find('\n').map_or(self.source.len(), |n| start + n);
            let columns = self.source[self.start..end].chars().count();
            let starts_line = self.source[self.start..start].trim().is_empty();
            let text = self.source[start..start + part.len()].trim_end();
            self.comments.push(Comment { line: self.line, text, starts_line, columns });
            start += part.len();
        }
        length
    }

    fn go_to(&mut self, offset: usize) {
        let passed = &self.source.as_bytes()[self.scanned..offset];
        for (n, _) in passed.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            self.line += 1;
            self.start = self.scanned + n + 1;
        }
        self.scanned = offset;
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Returns whether the `r` here follows only the `b` or `c` of a literal.
fn is_prefixed(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(2).map(|n| bytes[n]);
    matches!(bytes[at - 1], b'b' | b'c') && !before.is_some_and(is_name)
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

fn block_length(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Returns the length of a raw string, or `None` if the `r` begins none.
fn raw_string_length(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    let content = 1 + hashes;
    if rest.get(content) != Some(&b'"') {
        return None;
    }
    let end = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let text = &rest[content + 1..];
    let length = text.windows(end.len()).position(|window| window == end).unwrap_or(text.len());
    Some((content + 1 + length + end.len()).min(rest.len()))
}

/// Returns the length of a character literal, or 1 for the quote of a lifetime.
fn char_length(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        let end = rest.iter().skip(3).position(|byte| *byte == b'\'');
        return end.map_or(rest.len(), |n| n + 4);
    }
    // A character has at most four bytes.
    let end = rest.iter().skip(2).take(4).position(|byte| *byte == b'\'');
    match end {
        Some(n) if n == 0 || !rest[1].is_ascii() => n + 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_distinguished_from_texts_and_lifetimes() {
        let rows: [(&str, &[(usize, &str)]); 14] = [
            ("let x = 1; // one\n// two", &[(1, "// one"), (2, "// two")]),
            ("let x = \"// no\"; // yes", &[(1, "// yes")]),
            ("let x = \"a\\\"// no\"; // yes", &[(1, "// yes")]),
            ("let x = r\"\\\"; // yes", &[(1, "// yes")]),
            ("let x = r#\"\"// no\"#; // yes", &[(1, "// yes")]),
            ("let x = br##\"\"# // no\"##; // yes", &[(1, "// yes")]),
            ("let x = bar\"// no\"; // yes", &[(1, "// yes")]),
            ("let x = '\"'; // yes", &[(1, "// yes")]),
            ("let x = '\\''; // yes \"", &[(1, "// yes \"")]),
            ("let x = '\\\\'; // yes", &[(1, "// yes")]),
            ("let x = 'ä'; fn f<'a>(x: &'a str) {} // yes", &[(1, "// yes")]),
            ("f(&'a \"//\", 'b') // yes", &[(1, "// yes")]),
            ("/* a /* b */\n c */ x /* d", &[(1, "/* a /* b */"), (2, " c */"), (2, "/* d")]),
            ("let text = \"a\n// b\n\";\n/// c", &[(4, "/// c")]),
        ];
        for (source, expected) in rows {
            let found: Vec<(usize, &str)> =
                of(source).iter().map(|comment| (comment.line, comment.text)).collect();
            assert_eq!(found, expected, "{source}");
        }
    }

    #[test]
    fn comments_know_their_place_in_the_line() {
        let found = of("    // ä\nlet x = 1; // yes\n");
        let found: Vec<_> = found.iter().map(|c| (c.starts_line, c.columns)).collect();
        assert_eq!(found, [(true, 8), (false, 17)]);
    }
}
