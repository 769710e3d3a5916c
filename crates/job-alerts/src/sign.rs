//! The signature that DingTalk asks of a robot with a secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Signs a time, in milliseconds since 1970 UTC: HMAC-SHA256 of the time, a line break and the secret, under the secret, in Base64.
pub(crate) fn ding_talk(secret: &str, at_ms: i64) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
    let mut mac = mac.expect("a key of any length will do");
    mac.update(format!("{at_ms}\n{secret}").as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `printf '1700000000000\nSECxyz' | openssl dgst -sha256 -hmac SECxyz -binary | base64`, and so on.
    #[test]
    fn signatures_are_those_of_openssl() {
        let rows = [
            ("SECxyz", 1_700_000_000_000, "0PUR1j8g85Xg3vlFV/UrEcxXfF5HpCAGzcjrNfyJoyg="),
            ("this is secret", 1_577_262_236_757, "hmPWwU+7lVdm3ZZz0r9tSfx0L4Q26jWOZr9+Gs6EZQM="),
        ];
        for (secret, at_ms, expected) in rows {
            assert_eq!(ding_talk(secret, at_ms), expected, "{secret}");
        }
    }
}
