//! Addresses: their parts, and how links are written.

use axum::extract::Query as UriQuery;
use axum::http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::prefs::NAMES;
use crate::problem::{Answer, Problem};

/// Characters that a path segment and a query value keep.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Encodes a text for a path segment or a query value.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}

/// Address of a page below the prefix of the console: path segments and query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) segments: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
}

impl Address {
    pub(crate) fn of(uri: &Uri) -> Self {
        let decoded = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
        let segments = uri.path().split('/').filter(|segment| !segment.is_empty());
        let query = UriQuery::<Vec<(String, String)>>::try_from_uri(uri);
        Self {
            segments: segments.map(decoded).collect(),
            query: query.map(|UriQuery(query)| query).unwrap_or_default(),
        }
    }

    /// Returns the first value of a parameter that is not blank, without surrounding blanks.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns true if the query has the key, even without a value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.query.iter().any(|(key, _)| key == name)
    }

    /// Returns a number in the query, if it is one.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.value(name)?.parse().ok()
    }

    /// Checks that a parameter is absent or one of some words.
    pub(crate) fn one_of(
        &self,
        name: &str,
        words: impl IntoIterator<Item = &'static str>,
    ) -> Answer<()> {
        let Some(found) = self.value(name) else { return Ok(()) };
        let words: Vec<_> = words.into_iter().collect();
        if words.contains(&found) {
            return Ok(());
        }
        let valid = words.join(", ");
        Err(Problem::invalid(format!("{name} is {found:?}; valid is one of {valid}")))
    }

    /// Checks that a parameter is absent or a number that is not smaller than `least`.
    pub(crate) fn at_least(&self, name: &str, least: usize) -> Answer<()> {
        match (self.value(name), self.number(name)) {
            (Some(found), number) if number.is_none_or(|number| number < least) => {
                let detail = format!("{name} is {found:?}; valid is a number from {least} on");
                Err(Problem::invalid(detail))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// Returns the path and the query, without a leading slash.
    pub(crate) fn text(&self) -> String {
        self.written(|_| true, &[])
    }

    /// Returns the address with other values of some parameters; a blank value removes one.
    /// Preferences stay behind: the cookies have them.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> String {
        let is_changed = |key: &str| changes.iter().any(|(changed, _)| *changed == key);
        self.written(|key| !is_changed(key) && !NAMES.contains(&key), changes)
    }

    fn written(&self, keeps: impl Fn(&str) -> bool, further: &[(&str, &str)]) -> String {
        let kept = self.query.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let kept = kept.filter(|(key, _)| keeps(key));
        let pairs = kept.chain(further.iter().copied()).filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> =
            pairs.map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
        let path: Vec<String> = self.segments.iter().map(|segment| encoded(segment)).collect();
        let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        format!("{}{query}", path.join("/"))
    }
}

/// Returns the way from a page to the root of the console, such as `../../`.
///
/// Links are relative to it, so that the console works at any path prefix without its
/// configuration, also behind a proxy that removes the prefix.
pub(crate) fn root_of(uri: &Uri) -> String {
    match uri.path().matches('/').count() {
        0 | 1 => "./".to_owned(),
        slashes => "../".repeat(slashes - 1),
    }
}

/// Returns a local address from a form, if it stays within the console.
pub(crate) fn local(back: &str) -> Option<&str> {
    let is_relative = !back.starts_with(['/', '\\']) && !back.contains("..");
    let path = back.split(['?', '#']).next().unwrap_or_default();
    let is_plain = !path.contains([':', '\\']) && !back.contains(char::is_control);
    (is_relative && is_plain && back.is_ascii()).then_some(back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_read_as_it_was_written() {
        let uri: Uri = "/n/a/jobs/%E4%BD%9C%E4%B8%9A%20%3F?q=a%26b&page=2".parse().unwrap();
        let address = Address::of(&uri);
        assert_eq!(address.segments(), ["n", "a", "jobs", "作业 ?"]);
        assert_eq!(address.value("q"), Some("a&b"));
        assert_eq!(address.number("page"), Some(2));
        assert_eq!(format!("/{}", address.text()), uri.to_string());
        let address = Address { query: vec![("lang".into(), "zh".into())], ..address };
        assert_eq!(address.with(&[("q", ""), ("page", "")]), "n/a/jobs/%E4%BD%9C%E4%B8%9A%20%3F");
    }

    #[test]
    fn root_is_relative_to_the_page() {
        for (path, root) in
            [("/", "./"), ("/about", "./"), ("/n/a", "../"), ("/n/a/jobs/", "../../../")]
        {
            assert_eq!(root_of(&path.parse().unwrap()), root, "{path}");
        }
    }

    #[test]
    fn foreign_addresses_are_not_local() {
        for (back, is_local) in [
            ("n/orders/jobs?q=a%3Ab", true),
            ("", true),
            ("//evil.example/", false),
            ("/\\evil.example", false),
            ("https://evil.example/", false),
            ("javascript:alert(1)", false),
            ("../../other", false),
        ] {
            assert_eq!(local(back).is_some(), is_local, "{back}");
        }
    }
}
