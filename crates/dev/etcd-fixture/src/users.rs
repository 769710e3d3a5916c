//! Users of a server, and the requests that create them.

use std::fmt::Write as _;

/// Permission of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// All permissions, as those of the user `root`.
    Everything,
    /// Reads and writes of all keys with this prefix.
    Prefix(String),
}

/// A user with a password and one permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name, without quotation marks.
    pub name: String,
    /// The password, without quotation marks.
    pub password: String,
    /// The permission.
    pub grant: Grant,
}

/// Returns path and document of the requests that create the users and switch authentication on.
pub(crate) fn requests(users: &[User]) -> Vec<(&'static str, String)> {
    let root = User { name: "root".into(), password: "root".into(), grant: Grant::Everything };
    let mut requests = vec![("role/add", r#"{"name":"root"}"#.to_owned())];
    for User { name, password, grant } in std::iter::once(&root).chain(users) {
        requests.push(("user/add", format!(r#"{{"name":"{name}","password":"{password}"}}"#)));
        let role = match grant {
            Grant::Everything => "root",
            Grant::Prefix(prefix) => {
                requests.push(("role/add", format!(r#"{{"name":"{name}"}}"#)));
                let (key, end) = (base64(prefix.as_bytes()), base64(&after_prefix(prefix)));
                let range = format!(r#""permType":"READWRITE","key":"{key}","range_end":"{end}""#);
                requests.push(("role/grant", format!(r#"{{"name":"{name}","perm":{{{range}}}}}"#)));
                name
            }
        };
        requests.push(("user/grant", format!(r#"{{"user":"{name}","role":"{role}"}}"#)));
    }
    requests.push(("enable", "{}".to_owned()));
    requests
}

/// Returns the first key after all keys with the prefix, which does not end with the byte 0xFF.
fn after_prefix(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let number = group.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - group.len()));
        for place in 0..4 {
            if place > group.len() {
                text.push('=');
            } else {
                let digit = (number >> (18 - 6 * place)) & 63;
                let _ = write!(text, "{}", char::from(DIGITS[digit as usize]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_agrees_with_the_examples_of_rfc_4648() {
        let rows = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in rows {
            assert_eq!(base64(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn prefix_ends_before_the_next_key() {
        assert_eq!(after_prefix("/jobs"), b"/jobt");
    }
}
