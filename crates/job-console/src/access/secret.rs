//! Passwords, tokens and other random secrets, and their hashes.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher as _, PasswordVerifier as _};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Params, Version};
use sha2::{Digest as _, Sha256};

/// Fewest characters of a password.
const MIN_CHARACTERS: usize = 12;

/// Most bytes of a password.
const MAX_BYTES: usize = 1024;

/// Parameters of new hashes, as the OWASP password storage cheat sheet recommends them.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// Weakest parameters of OWASP's list: its least memory, and the least memory times passes.
const MIN_MEMORY_KIB: u32 = 7_168;
const MIN_WORK: u32 = 35_840;

/// Strongest parameters, so that one sign-in cannot use up the memory or a core.
const MAX_MEMORY_KIB: u32 = 262_144;
const MAX_WORK: u32 = 4 * MAX_MEMORY_KIB;
const MAX_LANES: u32 = 16;

/// Why a password cannot be hashed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// The password is too short.
    #[error("password has {characters} characters; valid are {MIN_CHARACTERS} or more")]
    TooShort {
        /// Number of characters.
        characters: usize,
    },
    /// The password is too long.
    #[error("password has {bytes} bytes; valid are at most {MAX_BYTES}")]
    TooLong {
        /// Number of bytes.
        bytes: usize,
    },
    /// The hash function failed, such as for lack of memory.
    #[error("hash password: {0}")]
    Hash(String),
}

/// Hashes a password for a users file, by argon2id as a PHC string.
///
/// # Errors
/// [`PasswordError`] if the password has fewer than 12 characters or more than 1,024 bytes.
///
/// # Examples
/// ```
/// let hash = job_console::hash_password("correct horse battery staple")?;
/// assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
/// assert!(job_console::hash_password("short").is_err());
/// # Ok::<(), job_console::PasswordError>(())
/// ```
pub fn hash_password(password: &str) -> Result<String, PasswordError> {
    let characters = password.chars().count();
    if characters < MIN_CHARACTERS {
        return Err(PasswordError::TooShort { characters });
    }
    if password.len() > MAX_BYTES {
        return Err(PasswordError::TooLong { bytes: password.len() });
    }
    let parameters = Params::new(MEMORY_KIB, PASSES, LANES, None);
    let parameters = parameters.map_err(|error| PasswordError::Hash(error.to_string()))?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    let hash: password_hash::Result<PasswordHash> = argon2.hash_password(password.as_bytes());
    Ok(hash.map_err(|error| PasswordError::Hash(error.to_string()))?.to_string())
}

/// Returns true if a password has the hash. Takes the time that the parameters of the hash demand.
pub(super) fn verify_password(password: &str, hash: &str) -> bool {
    Argon2::default().verify_password(password.as_bytes(), hash).is_ok()
}

/// Checks the hash of a password, and returns its work: memory in KiB times passes.
pub(super) fn check_hash(hash: &str) -> Result<u32, String> {
    // The text is a secret, therefore the errors do not show it.
    let shape = || "is no argon2id hash; `ejob console hash` makes one".to_owned();
    let hash = PasswordHash::new(hash).map_err(|_| shape())?;
    let parameters = Params::try_from(&hash).map_err(|_| shape())?;
    if hash.algorithm != ARGON2ID_IDENT || hash.salt.is_none() || hash.hash.is_none() {
        return Err(shape());
    }
    let (memory, passes, lanes) = (parameters.m_cost(), parameters.t_cost(), parameters.p_cost());
    let work = memory.saturating_mul(passes);
    let is_valid = (MIN_MEMORY_KIB..=MAX_MEMORY_KIB).contains(&memory)
        && (MIN_WORK..=MAX_WORK).contains(&work)
        && lanes <= MAX_LANES;
    if !is_valid {
        return Err(format!(
            "has the parameters m={memory},t={passes},p={lanes}; valid are m from \
             {MIN_MEMORY_KIB} to {MAX_MEMORY_KIB}, m times t from {MIN_WORK} to {MAX_WORK}, and p \
             up to {MAX_LANES}"
        ));
    }
    Ok(work)
}

/// Creates a bearer token, and returns it with its hash, which belongs into a tokens file.
///
/// # Panics
/// If the operating system has no random numbers.
///
/// # Examples
/// ```
/// let (token, hash) = job_console::new_token();
/// assert!(token.starts_with("ejob_"));
/// assert_eq!(hash.len(), 64);
/// ```
#[must_use]
pub fn new_token() -> (String, String) {
    // The prefix makes a leaked token easy to find in files and logs.
    let token = format!("ejob_{}", random_id());
    let hash = hex(&digest(&token));
    (token, hash)
}

/// Returns 256 random bits as hexadecimal digits.
pub(super) fn random_id() -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("operating system has random numbers");
    hex(&bytes)
}

/// Returns true if a text has the form of [`random_id`].
#[cfg(feature = "oidc")]
pub(super) fn is_random_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the SHA-256 of a text. A slow hash is needed for passwords only: a random secret of 256
/// bits cannot be guessed.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_has_its_own_hash_only() {
        let hash = hash_password("correct horse battery").unwrap();
        assert!(verify_password("correct horse battery", &hash));
        assert!(!verify_password("correct horse batterz", &hash));
        assert_ne!(hash, hash_password("correct horse battery").unwrap());
        assert_eq!(check_hash(&hash), Ok(MEMORY_KIB * PASSES));
    }

    #[test]
    fn password_length_is_bounded() {
        for (password, expected) in [
            ("elf letters".to_owned(), PasswordError::TooShort { characters: 11 }),
            ("é".repeat(11), PasswordError::TooShort { characters: 11 }),
            ("x".repeat(1025), PasswordError::TooLong { bytes: 1025 }),
        ] {
            assert_eq!(hash_password(&password), Err(expected));
        }
    }

    #[test]
    fn hash_without_the_strength_of_owasp_is_refused() {
        let rest = "$c29tZXNhbHRzb21lc2FsdA$MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE";
        let hash = |kind: &str, m: u32, t: u32, p: u32| {
            check_hash(&format!("${kind}$v=19$m={m},t={t},p={p}{rest}"))
        };
        for (m, t, p) in [(47_104, 1, 1), (19_456, 2, 1), (7_168, 5, 1), (65_536, 3, 4)] {
            assert_eq!(hash("argon2id", m, t, p), Ok(m * t));
        }
        for (m, t, p) in [(19_456, 1, 1), (4_096, 20, 1), (524_288, 1, 1), (19_456, 100, 1)] {
            let refused = hash("argon2id", m, t, p).unwrap_err();
            assert!(refused.starts_with(&format!("has the parameters m={m},t={t}")), "{refused}");
        }
        assert!(hash("argon2i", 19_456, 2, 1).is_err());
        let refused = check_hash("a secret password").unwrap_err();
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[test]
    fn token_differs_each_time_and_has_the_returned_hash() {
        let (token, hash) = new_token();
        assert_eq!(token.len(), "ejob_".len() + 64);
        assert_eq!(hex(&digest(&token)), hash);
        assert_ne!(new_token().0, token);
        // Test vector of FIPS 180-2.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&digest("abc")), abc);
    }
}
