//! Secrets that are masked in texts.

use std::ops::Range;

use secrecy::{ExposeSecret as _, SecretString};

/// Text in place of a secret.
const MASK: &str = "***";

/// Secrets that are replaced by `***` wherever a text contains them. `Debug` does not show them.
///
/// Where secrets overlap, all of them are masked. Other forms of a secret, such as its Base64 form,
/// are not recognized.
///
/// # Examples
/// ```
/// let mut masks = lite::Masks::default();
/// masks.add("hunter2");
/// assert_eq!(masks.apply("anna:hunter2@db"), "anna:***@db");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Masks(Vec<SecretString>);

impl Masks {
    /// Adds a secret. Each of its lines is masked by itself, without the blanks around it.
    pub fn add(&mut self, secret: &str) {
        for line in secret.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if self.0.iter().all(|known| known.expose_secret() != line) {
                self.0.push(line.into());
            }
        }
    }

    /// Returns the length of the longest line of a secret, in bytes; 0 without a secret.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.0.iter().map(|secret| secret.expose_secret().len()).max().unwrap_or_default()
    }

    /// Masks the secrets of a text.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        self.masked(text, text.len())
    }

    /// Masks the secrets of a text, and returns its beginning, of at most `max_bytes`.
    ///
    /// A secret that begins before that limit and ends after it is masked, too. A caller that
    /// reads a text only in part must therefore pass [`longest`](Self::longest) more bytes than the
    /// limit.
    #[must_use]
    pub fn apply_to_beginning(&self, text: &str, max_bytes: usize) -> String {
        let text = &text[..text.floor_char_boundary(max_bytes.saturating_add(self.longest()))];
        let mut masked = self.masked(text, text.floor_char_boundary(max_bytes));
        masked.truncate(masked.floor_char_boundary(max_bytes));
        masked
    }

    /// Masks the secrets of a text that begin before the limit, and drops the text after it.
    fn masked(&self, text: &str, limit: usize) -> String {
        let (mut masked, mut at) = (String::with_capacity(limit), 0);
        for Range { start, end } in
            self.ranges(text).into_iter().filter(|range| range.start < limit)
        {
            masked.push_str(&text[at..start]);
            masked.push_str(MASK);
            at = end;
        }
        masked.push_str(text.get(at..limit).unwrap_or_default());
        masked
    }

    /// Returns the ranges of a text that belong to a secret, in order and apart from each other.
    fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let secrets = self.0.iter().map(|secret| secret.expose_secret());
        let mut all: Vec<_> = secrets.flat_map(|secret| occurrences(text, secret)).collect();
        all.sort_by_key(|range| range.start);
        let mut apart: Vec<Range<usize>> = Vec::new();
        for range in all {
            match apart.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        apart
    }
}

/// Returns all occurrences of a secret, including those that overlap.
fn occurrences<'a>(text: &'a str, secret: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let step = secret.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text.get(from..)?.find(secret)?;
        from = start + step;
        Some(start..start + secret.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(secrets: &[&str]) -> Masks {
        let mut masks = Masks::default();
        secrets.iter().for_each(|secret| masks.add(secret));
        masks
    }

    #[test]
    fn each_line_of_a_secret_is_masked() {
        let masks = masks(&["s3cret", "begin\n  key\nend\n", ""]);
        let rows = [
            ("token s3cret, s3cret2", "token ***, ***2"),
            ("a key of many", "a *** of many"),
            ("nothing", "nothing"),
        ];
        for (text, expected) in rows {
            assert_eq!(masks.apply(text), expected);
        }
        assert_eq!(masks.longest(), 6);
    }

    #[test]
    fn secrets_that_overlap_are_masked_as_a_whole() {
        let rows: [(&[&str], &str, &str); 6] = [
            (&["abc", "abcdef"], "1abcdef2abc3", "1***2***3"),
            (&["abcdef", "abc"], "1abcdef2abc3", "1***2***3"),
            (&["abcd", "cdef"], "1abcdef2", "1***2"),
            (&["aba"], "1ababa2", "1***2"),
            (&["éé"], "1ééé2", "1***2"),
            (&["ab", "cd"], "abcd", "******"),
        ];
        for (secrets, text, expected) in rows {
            assert_eq!(masks(secrets).apply(text), expected, "{secrets:?}");
        }
    }

    #[test]
    fn a_limit_cuts_no_secret() {
        let rows = [
            ("1234567s3cret", 10, "1234567***"),
            ("12345678s3cret9", 10, "12345678**"),
            ("1234567890s3cret", 10, "1234567890"),
            ("1s3cret", 10, "1***"),
            ("123456789é", 10, "123456789"),
            ("s3crets3cret1234567", 10, "******"),
        ];
        for (text, max_bytes, expected) in rows {
            assert_eq!(masks(&["s3cret"]).apply_to_beginning(text, max_bytes), expected, "{text}");
        }
    }

    #[test]
    fn debug_does_not_show_secrets() {
        assert!(!format!("{:?}", masks(&["hunter2"])).contains("hunter2"));
    }
}
