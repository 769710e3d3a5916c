//! Java's `String.hashCode` and `String.compareTo`, which work on UTF-16 code units.

use std::cmp::Ordering;

/// Returns the result of Java's `String.hashCode` for this text.
///
/// Every UTF-16 code unit `u` turns the hash `h` into `31 * h + u`, wrapping in 32 bits. The result
/// can be any `i32`, including [`i32::MIN`], whose absolute value is not an `i32`.
///
/// # Examples
///
/// ```
/// use sharding::java_string_hash;
///
/// assert_eq!(java_string_hash(""), 0);
/// assert_eq!(java_string_hash("a"), 97);
/// assert_eq!(java_string_hash("polygenelubricants"), i32::MIN);
/// ```
#[must_use]
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Compares two texts as Java's `String.compareTo` does: by UTF-16 code units.
///
/// # Examples
///
/// ```
/// use std::cmp::Ordering;
///
/// use sharding::java_string_cmp;
///
/// assert_eq!(java_string_cmp("10", "9"), Ordering::Less);
/// // U+1F680 is a surrogate pair in UTF-16, and surrogates come before U+E000.
/// assert_eq!(java_string_cmp("\u{1F680}", "\u{E000}"), Ordering::Less);
/// assert_eq!("\u{1F680}".cmp("\u{E000}"), Ordering::Greater);
/// ```
#[must_use]
pub fn java_string_cmp(left: &str, right: &str) -> Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_equals_java() {
        let cases = [
            ("empty", "", 0),
            ("odd hash", "a", 97),
            ("even hash", "b", 98),
            ("wraps below zero", "test_job", -1_146_456_432),
            ("negative and odd", "simpleJob", -2_124_399_445),
            ("han", "作业测试", 625_351_336),
            ("surrogate pair", "🚀job", 1_280_745_210),
            ("smallest hash", "HZcxf_", i32::MIN),
        ];
        for (case, text, expected) in cases {
            assert_eq!(java_string_hash(text), expected, "{case}: {text:?}");
        }
    }
}
