//! Start delay (jitter) of a fire: a second implementation of the function that the product
//! documents.

/// Returns the 64-bit FNV-1a hash.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(14_695_981_039_346_656_037, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    })
}

/// Returns the start delay of a fire, in milliseconds.
///
/// `fire_ms` is the scheduled fire time in milliseconds since 1970 UTC. The delay is less than
/// `room` milliseconds.
/// `room` is the configured bound, or the time until the next fire if that is shorter.
///
/// # Examples
/// ```
/// assert_eq!(checker::delay_ms("report", 1_767_225_600_000, 60_000), 32_143);
/// assert_eq!(checker::delay_ms("report", 1_767_225_600_000, 0), 0);
/// ```
#[must_use]
pub fn delay_ms(job: &str, fire_ms: i64, room: u64) -> u64 {
    let x = hash(job.bytes().chain(fire_ms.to_be_bytes()));
    let x = (x ^ (x >> 30)).wrapping_mul(13_787_848_793_156_543_929);
    let x = (x ^ (x >> 27)).wrapping_mul(10_723_151_780_598_845_931);
    let x = x ^ (x >> 31);
    let delay = u128::from(x) * u128::from(room) / (1_u128 << 64);
    u64::try_from(delay).unwrap_or(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of the product have the same rows, computed by a third program.
    #[test]
    fn delays_equal_the_documented_ones() {
        let new_year = 1_767_225_600_000;
        let rows = [
            ("report", new_year, 60_000, 32_143),
            ("cleanup", new_year, 60_000, 38_275),
            ("report", new_year + 10_000, 60_000, 3_930),
            ("report", new_year, 1, 0),
            ("report", new_year, 86_400_000, 46_286_842),
            ("月报", new_year, 60_000, 28_727),
            ("a", -1_000, 60_000, 35_265),
            ("a", 0, 0, 0),
        ];
        for (job, fire, room, expected) in rows {
            assert_eq!(delay_ms(job, fire, room), expected, "{job} {fire} {room}");
        }
    }
}
