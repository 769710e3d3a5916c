//! Bearer tokens, from a file.

use std::collections::BTreeSet;

use jiff::Timestamp;
use outbound::parse_toml;
use serde::Deserialize;
use subtle::ConstantTimeEq as _;

use super::file::{all_jobs, check_jobs, check_name};
use super::secret::{digest, hex};
use super::{Caller, Role};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    tokens: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    sha256: String,
    role: Role,
    #[serde(default = "all_jobs")]
    jobs: String,
    expires: String,
}

/// A bearer token.
#[derive(Debug)]
struct Token {
    caller: Caller,
    /// Lower-case hexadecimal digits.
    sha256: String,
    expires: Timestamp,
}

/// All tokens of a file.
#[derive(Debug)]
pub(super) struct Tokens(Vec<Token>);

/// Why a token is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenRefused {
    #[error("the bearer token is not known; `ejob console token` makes one for the tokens file")]
    Unknown,
    #[error("the bearer token {name:?} expired at {expired}")]
    Expired { name: String, expired: Timestamp },
}

impl Tokens {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let document: Document = parse_toml(text).map_err(|fault| fault.to_string())?;
        let mut names = BTreeSet::new();
        let mut tokens = Vec::new();
        for (n, entry) in document.tokens.into_iter().enumerate() {
            check_name(&entry.name).map_err(|reason| format!("token {}: {reason}", n + 1))?;
            let token = token(&entry).map_err(|why| format!("token {:?}: {why}", entry.name))?;
            if !names.insert(entry.name.clone()) {
                let name = entry.name;
                return Err(format!("token {name:?} is given twice; give each token its own name"));
            }
            tokens.push(token);
        }
        Ok(Self(tokens))
    }

    /// Returns the caller of a token.
    pub(super) fn caller(&self, token: &str, now: Timestamp) -> Result<Caller, TokenRefused> {
        let sha256 = hex(&digest(token));
        let mut found = None;
        // All tokens are compared, so that the time does not show which one is similar.
        for token in &self.0 {
            if bool::from(token.sha256.as_bytes().ct_eq(sha256.as_bytes())) {
                found = Some(token);
            }
        }
        let token = found.ok_or(TokenRefused::Unknown)?;
        if now >= token.expires {
            let name = token.caller.name.clone();
            return Err(TokenRefused::Expired { name, expired: token.expires });
        }
        Ok(token.caller.clone())
    }
}

fn token(entry: &Entry) -> Result<Token, String> {
    check_jobs(&entry.jobs)?;
    let sha256 = entry.sha256.to_ascii_lowercase();
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        // The text is not shown: it may be the token itself.
        return Err(format!(
            "sha256 has {} characters; valid are 64 hexadecimal digits, which `ejob console token` \
             prints beside the token",
            sha256.chars().count()
        ));
    }
    let expires = entry.expires.parse().map_err(|_| {
        let given = &entry.expires;
        format!("expires is {given:?}; valid is a time such as \"2027-06-30T00:00:00Z\"")
    })?;
    let Entry { name, role, jobs, .. } = entry;
    let caller = Caller { name: name.clone(), role: *role, jobs: jobs.clone() };
    Ok(Token { caller, sha256, expires })
}

#[cfg(test)]
mod tests {
    use super::super::new_token;
    use super::*;

    fn entry(name: &str, sha256: &str, expires: &str) -> String {
        format!(
            "[[tokens]]\nname = {name:?}\nsha256 = {sha256:?}\nrole = \"operator\"\njobs = \
             \"report-*\"\nexpires = {expires:?}\n"
        )
    }

    #[test]
    fn token_is_valid_until_it_expires() {
        let (token, sha256) = new_token();
        let (other, other_sha256) = new_token();
        let text = entry("ci", &sha256.to_uppercase(), "2027-01-01T00:00:00Z")
            + &entry("deploy", &other_sha256, "2028-01-01T08:00:00+08:00");
        let tokens = Tokens::parse(&text).unwrap();
        let expires: Timestamp = "2027-01-01T00:00:00Z".parse().unwrap();
        let before = expires - jiff::Span::new().nanoseconds(1);
        let expected =
            Caller { name: "ci".to_owned(), role: Role::Operator, jobs: "report-*".to_owned() };
        assert_eq!(tokens.caller(&token, before), Ok(expected));
        let expired = TokenRefused::Expired { name: "ci".to_owned(), expired: expires };
        assert_eq!(tokens.caller(&token, expires), Err(expired));
        assert_eq!(tokens.caller(&other, expires).unwrap().name, "deploy");
        for unknown in ["", "ejob_", &sha256, &new_token().0] {
            assert_eq!(tokens.caller(unknown, before), Err(TokenRefused::Unknown));
        }
    }

    #[test]
    fn errors_name_token_and_field_and_not_the_token() {
        let (token, sha256) = new_token();
        let valid = entry("ci", &sha256, "2027-01-01T00:00:00Z");
        for (text, expected) in [
            (entry("ci", &token, "2027-01-01T00:00:00Z"), "token \"ci\": sha256 has 69 characters"),
            (entry("ci", &sha256, "soon"), "token \"ci\": expires is \"soon\""),
            (entry("", &sha256, "2027-01-01T00:00:00Z"), "token 1: name is \"\""),
            (format!("{valid}{valid}"), "token \"ci\" is given twice"),
            ("[[tokens]]\nname = \"ci\"".to_owned(), "sha256 is missing"),
        ] {
            let refused = Tokens::parse(&text).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            assert!(!refused.contains(&token), "{refused}");
        }
    }
}
