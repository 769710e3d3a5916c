//! Translation of closed sentences by patterns: `{}` in the English one stands for any text, and
//! `{0}` in the Chinese one for the first of these texts.

/// Returns a Chinese pattern with the texts of the English one, if that matches. A text at a place
/// with a star is itself translated by `parts`.
pub(super) fn filled(
    english: &str,
    chinese: &str,
    text: &str,
    parts: &[(&str, &str)],
) -> Option<String> {
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

/// Returns a closed text in Chinese, or as it is if it is unknown.
fn part(text: &str, parts: &[(&str, &str)]) -> String {
    let found = parts.iter().find_map(|(english, chinese)| filled(english, chinese, text, parts));
    found.unwrap_or_else(|| text.to_owned())
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
