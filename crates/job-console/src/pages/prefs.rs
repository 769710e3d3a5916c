//! Preferences of a reader: language, theme, and the zone of times.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_LANGUAGE, COOKIE};

use super::locale::Lang;
use super::query::Address;

/// Theme of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the system.
    System,
    Light,
    Dark,
}

/// Zone in which times are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    /// The zone of the job.
    Job,
    /// The zone of the browser; without a script, UTC.
    Browser,
    Utc,
}

impl Theme {
    pub(crate) const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl ZoneMode {
    pub(crate) const ALL: [Self; 3] = [Self::Job, Self::Browser, Self::Utc];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Browser => "browser",
            Self::Utc => "utc",
        }
    }
}

/// Preferences of a reader, from the address, the cookies, or the headers, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefs {
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
    pub(crate) zone: ZoneMode,
}

/// Names of the preferences, in addresses, forms and (after `ejob_`) cookies.
pub(super) const NAMES: [&str; 3] = ["lang", "theme", "tz"];

impl Prefs {
    pub(crate) fn of(address: &Address, headers: &HeaderMap) -> Self {
        let wanted = |name| address.value(name).or_else(|| cookie(headers, name));
        let accepted = || headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let lang = wanted("lang").and_then(Lang::of_word);
        let theme = wanted("theme").and_then(|word| find(Theme::ALL, Theme::word, word));
        let zone = wanted("tz").and_then(|word| find(ZoneMode::ALL, ZoneMode::word, word));
        Self {
            lang: lang.or_else(|| accepted().and_then(Lang::accepted)).unwrap_or(Lang::English),
            theme: theme.unwrap_or(Theme::System),
            zone: zone.unwrap_or(ZoneMode::Job),
        }
    }

    /// Returns true if a preference may have this value.
    pub(super) fn knows(name: &str, word: &str) -> bool {
        match name {
            "lang" => Lang::of_word(word).is_some(),
            "theme" => find(Theme::ALL, Theme::word, word).is_some(),
            "tz" => find(ZoneMode::ALL, ZoneMode::word, word).is_some(),
            _ => false,
        }
    }
}

fn find<T: Copy, const N: usize>(
    all: [T; N],
    word: fn(T) -> &'static str,
    text: &str,
) -> Option<T> {
    all.into_iter().find(|one| word(*one) == text)
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|text| text.split(';')).filter_map(|one| one.split_once('='));
    let found = pairs.find(|(key, _)| key.trim().strip_prefix("ejob_") == Some(name));
    found.map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn address_wins_over_cookie_and_cookie_over_header() {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("zh-CN"));
        let of = |uri: &str, headers: &HeaderMap| {
            Prefs::of(&Address::of(&uri.parse().unwrap()), headers)
        };
        assert_eq!(of("/", &headers).lang, Lang::Chinese);
        headers.insert(COOKIE, HeaderValue::from_static("a=b; ejob_lang=en; ejob_theme=dark"));
        assert_eq!(of("/", &headers).lang, Lang::English);
        assert_eq!(of("/", &headers).theme, Theme::Dark);
        assert_eq!(of("/?lang=zh&theme=light", &headers).lang, Lang::Chinese);
        assert_eq!(of("/?theme=purple", &headers).theme, Theme::System);
    }
}
