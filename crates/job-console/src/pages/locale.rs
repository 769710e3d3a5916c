//! Languages, and the macro of the message catalogue.

/// Language of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lang {
    #[default]
    English,
    Chinese,
}

impl Lang {
    pub(crate) const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Returns the tag of the language (BCP 47).
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    /// Returns the word in the address and in the cookie.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// Returns the name of the language in the language itself.
    pub(crate) fn own_name(self) -> &'static str {
        match self {
            Self::English => "English",
            Self::Chinese => "中文",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lang| lang.word() == word)
    }

    /// Returns the preferred language of an `Accept-Language` header.
    pub(crate) fn accepted(header: &str) -> Option<Self> {
        let weighted = header.split(',').filter_map(|range| {
            let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
            let primary = tag.trim().split('-').next()?.to_ascii_lowercase();
            let quality = parameters.trim().strip_prefix("q=").and_then(|q| q.parse().ok());
            Some((Self::of_word(&primary)?, quality.unwrap_or(1.0_f32)))
        });
        // The first of equal weights is preferred, so a later one has to be greater.
        let best = weighted.fold(None, |best: Option<(Self, f32)>, next| match best {
            Some(best) if best.1 >= next.1 => Some(best),
            _ => Some(next),
        });
        best.filter(|(_, quality)| *quality > 0.0).map(|(lang, _)| lang)
    }
}

/// Declares messages, each in all languages: a message without a translation does not compile.
macro_rules! messages {
    ($($name:ident($($argument:ident: $kind:ty),*) $english:literal | $chinese:literal;)*) => {
        impl $crate::pages::locale::Lang {
            $(
                pub(crate) fn $name(self $(, $argument: $kind)*) -> String {
                    match self {
                        Self::English => format!($english),
                        Self::Chinese => format!($chinese),
                    }
                }
            )*
        }
    };
}
pub(crate) use messages;

/// Declares messages about a number: the English singular and plural, and the Chinese text.
macro_rules! counts {
    ($($name:ident($n:ident) $one:literal, $many:literal | $chinese:literal;)*) => {
        impl $crate::pages::locale::Lang {
            $(
                pub(crate) fn $name(self, $n: usize) -> String {
                    match (self, $n) {
                        (Self::English, 1) => format!($one),
                        (Self::English, _) => format!($many),
                        (Self::Chinese, _) => format!($chinese),
                    }
                }
            )*
        }
    };
}
pub(crate) use counts;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferred_language_is_known_and_has_the_greatest_weight() {
        for (header, expected) in [
            ("", None),
            ("de", None),
            ("zh-CN,zh;q=0.9,en;q=0.8", Some(Lang::Chinese)),
            ("de, en;q=0.5, zh;q=0.7", Some(Lang::Chinese)),
            ("en-GB, zh", Some(Lang::English)),
            ("zh;q=0", None),
        ] {
            assert_eq!(Lang::accepted(header), expected, "{header:?}");
        }
    }
}
