//! Bounded texts: values from the registry and from users, for messages.

/// Maximum length of a text that [`shortened`] returns, in bytes.
pub const MAX_SHOWN_BYTES: usize = 1_024;
/// Length of the beginning. Together with the length and the end it fits `MAX_SHOWN_BYTES`.
const HEAD_BYTES: usize = 640;
/// Length of the end.
const TAIL_BYTES: usize = 320;

/// Bounds a text for a log line, an event or an error.
///
/// A longer text is replaced by its beginning, its length and its end.
///
/// # Examples
/// ```
/// use coordination::shortened;
///
/// assert_eq!(shortened("report"), "report");
/// let long = shortened(&"x".repeat(100_000));
/// assert!(long.contains("x… (100000 bytes) …x"));
/// ```
#[must_use]
pub fn shortened(text: &str) -> String {
    if text.len() <= MAX_SHOWN_BYTES {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(HEAD_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len() - TAIL_BYTES)..];
    format!("{head}… ({} bytes) …{tail}", text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_its_end_and_its_length() {
        let rows = [
            ("ASCII", "x".repeat(1_000_000)),
            ("Chinese", "报".repeat(100_000)),
            ("four bytes", format!("a{}", "🚀".repeat(100_000))),
            ("one too long", "x".repeat(MAX_SHOWN_BYTES + 1)),
        ];
        for (case, middle) in rows {
            let text = format!("<{middle}>");
            let shown = shortened(&text);
            assert!(shown.len() <= MAX_SHOWN_BYTES, "{case}: {}", shown.len());
            assert!(shown.starts_with('<') && shown.ends_with('>'), "{case}: {shown}");
            assert!(shown.contains(&format!("… ({} bytes) …", text.len())), "{case}: {shown}");
        }
        let fits = "x".repeat(MAX_SHOWN_BYTES);
        assert_eq!(shortened(&fits), fits);
    }
}
