//! Translation of closed sentences by patterns: `{}` in the English one stands for any text, and
//! `{0}` in the Chinese one for the first of these texts.

/// Returns a Chinese pattern with the texts of the English one, if that matches. A text at a place
/// with a star is itself translated by `parts`.
pub(super) fn filled(english: &str, chinese: &str, text: &str, parts: &Patterns) -> Option<String> {
    let texts = matched(english, text)?;
    // A text that itself has the sign of a place must not be replaced again.
    let mut shown = String::new();
    let mut rest = chinese;
    while let Some((before, after)) = rest.split_once('{') {
        let (place, after) = after.split_once('}')?;
        let closed = place.strip_suffix('*');
        let found = texts.get(closed.unwrap_or(place).parse::<usize>().ok()?)?;
        shown.push_str(before);
        match closed {
            Some(_) => shown.push_str(&part(found, parts)),
            None => shown.push_str(found),
        }
        rest = after;
    }
    Some(shown + rest)
}

/// English patterns with their Chinese ones. The first that matches counts.
pub(super) type Patterns = [(&'static str, &'static str)];

/// Maximum number of `; ` within one sentence of a list.
const MAX_WITHIN: usize = 3;

/// Returns the Chinese text of a sentence, or of sentences that are joined by `; `. Returns `None`
/// if a part of it is unknown.
pub(super) fn sentences(text: &str, patterns: &Patterns, parts: &Patterns) -> Option<String> {
    const JOINT: &str = "; ";
    // A sentence can itself have the joint, so the shortest ones that lead to the end are taken.
    let pieces: Vec<&str> = text.split(JOINT).collect();
    let mut known: Vec<Option<String>> = vec![None; pieces.len()];
    known.push(Some(String::new()));
    for from in (0..pieces.len()).rev() {
        let ends = from + 1..=pieces.len().min(from + 1 + MAX_WITHIN);
        known[from] = ends.into_iter().find_map(|end| {
            let rest = known[end].clone()?;
            let one = sentence(&pieces[from..end].join(JOINT), patterns, parts)?;
            Some(if rest.is_empty() { one } else { format!("{one}；{rest}") })
        });
    }
    let found = known.into_iter().next().flatten();
    found.or_else(|| sentence(text, patterns, parts))
}

fn sentence(text: &str, patterns: &Patterns, parts: &Patterns) -> Option<String> {
    patterns.iter().find_map(|(english, chinese)| filled(english, chinese, text, parts))
}

/// Returns a closed text in Chinese, or as it is if it is unknown.
fn part(text: &str, parts: &Patterns) -> String {
    sentences(text, parts, parts).unwrap_or_else(|| text.to_owned())
}

/// Returns the texts in the places of a pattern. Each ends at the first match of what follows.
fn matched<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = pattern.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let (mut found, parts) = (Vec::new(), parts.collect::<Vec<_>>());
    let last = parts.len().checked_sub(1);
    for (n, part) in parts.into_iter().enumerate() {
        // The last part is at the end.
        let at =
            if Some(n) == last { rest.len().checked_sub(part.len())? } else { rest.find(part)? };
        found.push(rest.get(..at)?);
        rest = rest.get(at..)?.strip_prefix(part)?;
    }
    let is_complete = rest.is_empty() && found.iter().all(|one| !one.is_empty());
    is_complete.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_sentences_are_translated_together_or_not_at_all() {
        let patterns: &Patterns =
            &[("on; it was off", "开；之前为关"), ("on", "开"), ("off: {}", "关：{0}")];
        for (text, expected) in [
            ("on", Some("开")),
            ("on; it was off", Some("开；之前为关")),
            ("on; it was off; on", Some("开；之前为关；开")),
            ("off: a; on", Some("关：a；开")),
            ("off: a; b; c; d; e", Some("关：a; b; c; d; e")),
            ("on; unknown", None),
            ("it was off", None),
        ] {
            assert_eq!(sentences(text, patterns, &[]).as_deref(), expected, "{text}");
        }
    }
}
