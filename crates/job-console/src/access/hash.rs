//! Hashes of passwords and tokens.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher as _};
use argon2::{Algorithm, Argon2, Params, Version};
use sha2::{Digest as _, Sha256};

const MIN_CHARACTERS: usize = 12;
const MAX_BYTES: usize = 1024;

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

/// Hashes a password by argon2id, as a PHC string.
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
    let fault = |error: &dyn std::fmt::Display| PasswordError::Hash(error.to_string());
    let parameters = Params::new(19_456, 2, 1, None).map_err(|error| fault(&error))?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    let hash: password_hash::Result<PasswordHash> = argon2.hash_password(password.as_bytes());
    Ok(hash.map_err(|error| fault(&error))?.to_string())
}

/// Creates a bearer token, and returns it with its SHA-256, which belongs into a tokens file.
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
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("operating system has random numbers");
    let token = format!("ejob_{}", hex(&bytes));
    let hash = hex(&Sha256::digest(token.as_bytes()));
    (token, hash)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
