//! A router below a path, as behind a reverse proxy that serves other programs too.

use std::fmt;
use std::str::FromStr;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Redirect;
use axum::routing::get;

use crate::problem::Problem;

/// The path below which a router is served, such as `/ejob`; empty for `/`.
///
/// # Examples
/// ```
/// use job_console::Prefix;
///
/// let prefix: Prefix = "/tools/ejob".parse()?;
/// let router = prefix.mount(axum::Router::new());
/// assert!("ejob/".parse::<Prefix>().is_err());
/// # drop(router);
/// # Ok::<(), job_console::InvalidPrefix>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix(String);

/// A text is no path below which a router can be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "prefix is {text:?}; valid is a path such as \"/ejob\", of letters, digits, '-', '_' and '.', without a '/' at its end"
)]
#[non_exhaustive]
pub struct InvalidPrefix {
    /// The text.
    pub text: String,
}

impl FromStr for Prefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, InvalidPrefix> {
        let is_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        // A browser removes the segments `.` and `..` from an address.
        let is_segment =
            |segment: &str| !matches!(segment, "" | "." | "..") && segment.chars().all(is_char);
        let is_valid = text.is_empty()
            || text.strip_prefix('/').is_some_and(|segments| segments.split('/').all(is_segment));
        match is_valid {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidPrefix { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Prefix {
    /// Returns the prefix as a text without a `/` at its end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a router that serves another one below the prefix, and redirects `/` there.
    pub fn mount(&self, router: Router) -> Router {
        if self.0.is_empty() {
            return router;
        }
        let root = format!("{}/", self.0);
        let detail = format!("this console is at {root}");
        let elsewhere =
            async move || Problem::new(StatusCode::NOT_FOUND, "no-such-address", detail.clone());
        Router::new()
            .route("/", get(async move || Redirect::temporary(&root)))
            .nest_service(&self.0, router)
            .fallback(elsewhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_is_a_path_without_slash_at_the_end() {
        for (text, is_valid) in [
            ("", true),
            ("/ejob", true),
            ("/tools/ejob-2", true),
            ("/", false),
            ("ejob", false),
            ("/ejob/", false),
            ("//ejob", false),
            ("/../ejob", false),
            ("/e job", false),
        ] {
            assert_eq!(text.parse::<Prefix>().is_ok(), is_valid, "{text:?}");
        }
    }
}
