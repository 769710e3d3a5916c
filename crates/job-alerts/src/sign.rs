//! Signature that DingTalk requires from a robot with a signing secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Returns the signature of a time in milliseconds since 1970 UTC.
///
/// It is the HMAC-SHA256 of the time, a line break and the secret, with the secret as key, in
/// Base64.
pub(crate) fn ding_talk(secret: &str, at_ms: i64) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
    let mut mac = mac.expect("HMAC accepts a key of any length");
    mac.update(format!("{at_ms}\n{secret}").as_bytes());
    STANDARD.encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first expected value is the output of
    /// `printf '1700000000000\nSECxyz' | openssl dgst -sha256 -hmac SECxyz -binary | base64`.
    #[test]
    fn signatures_match_openssl() {
        let rows = [
            ("SECxyz", 1_700_000_000_000, "0PUR1j8g85Xg3vlFV/UrEcxXfF5HpCAGzcjrNfyJoyg="),
            ("this is secret", 1_577_262_236_757, "hmPWwU+7lVdm3ZZz0r9tSfx0L4Q26jWOZr9+Gs6EZQM="),
        ];
        for (secret, at_ms, expected) in rows {
            assert_eq!(ding_talk(secret, at_ms), expected, "{secret}");
        }
    }
}
