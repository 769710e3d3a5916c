//! A hash that is the same on every machine and in every version.

/// Returns the 64-bit FNV-1a hash of the texts, each ended by a byte that UTF-8 does not have.
///
/// # Examples
///
/// ```
/// use sharding::stable_hash;
///
/// assert_ne!(stable_hash(["ab", "c"]), stable_hash(["a", "bc"]));
/// assert_eq!(stable_hash(["a"]), 0x089b_c907_b544_c769);
/// ```
#[must_use]
pub fn stable_hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = texts.into_iter().flat_map(|text| text.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
