//! Secrets are masked in texts that other programs return.

use secrecy::{ExposeSecret as _, SecretString};

/// Replaces the lines of secrets by `***`. Other forms of them, such as encoded ones, stay.
pub(crate) fn masked(text: &str, secrets: &[SecretString]) -> String {
    let lines = secrets.iter().flat_map(|secret| secret.expose_secret().lines().map(str::trim));
    lines
        .filter(|line| !line.is_empty())
        .fold(text.to_owned(), |text, line| text.replace(line, "***"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_secret_is_masked() {
        let secrets = ["s3cret".into(), "begin\n  key\nend\n".into(), "".into()];
        let rows = [
            ("token s3cret, s3cret2", "token ***, ***2"),
            ("a key of many", "a *** of many"),
            ("nothing", "nothing"),
        ];
        for (text, expected) in rows {
            assert_eq!(masked(text, &secrets), expected);
        }
    }
}
