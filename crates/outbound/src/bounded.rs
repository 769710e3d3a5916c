//! Reading of small files.

use std::io::{self, ErrorKind, Read};

/// Reads a text of at most `max_kib` KiB, such as a file that an operator writes.
///
/// The size of a pipe is known only at its end, so it is not asked beforehand.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`] if the text is longer, [`ErrorKind::InvalidData`] if it is not
/// UTF-8, and the errors of the source.
///
/// # Examples
/// ```
/// use std::io::ErrorKind;
///
/// assert_eq!(outbound::read_text(&[b'x'; 1024][..], 1)?.len(), 1024);
/// let error = outbound::read_text(&[b'x'; 1025][..], 1).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::FileTooLarge);
/// assert_eq!(error.to_string(), "it has more than 1 KiB");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(source: impl Read, max_kib: u64) -> io::Result<String> {
    let max_bytes = max_kib.saturating_mul(1024);
    let mut bytes = Vec::new();
    let n_bytes = source.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if n_bytes as u64 > max_bytes {
        let reason = format!("it has more than {max_kib} KiB");
        return Err(io::Error::new(ErrorKind::FileTooLarge, reason));
    }
    // An error that keeps the bytes would show a secret in its `Debug` form.
    String::from_utf8(bytes)
        .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_a_secret_that_is_not_utf8_does_not_show_it() {
        let error = read_text(&b"s3cret\xff"[..], 1).unwrap_err();
        let (debug, bytes) = (format!("{error:?}"), format!("{:?}", b"s3cret"));
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let shown = bytes.trim_matches(['[', ']']).to_owned();
        assert!(!debug.contains(&shown) && !debug.contains("s3cret"), "{debug}");
    }
}
