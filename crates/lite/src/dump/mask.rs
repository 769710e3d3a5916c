//! Masking of addresses in dumps: each IPv4 address is replaced by a short name.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// Names of the addresses, `ip1`, `ip2` and so on, in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct Mask(BTreeMap<Ipv4Addr, usize>);

impl Mask {
    /// Replaces every IPv4 address in a text by its name.
    ///
    /// Differs: Java 2.1.5 reads `192.168.0.12` as `192.168.0.1` and a `2`. Both Java releases also
    /// replace the beginning of a longer address in a line that contains the shorter one, so that a
    /// part of it stays legible.
    pub(super) fn apply(&mut self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let (mut rest, mut after_digit) = (text, false);
        while let Some(first) = rest.chars().next() {
            let address = (!after_digit).then(|| address_at(rest)).flatten();
            if let Some((address, len)) = address {
                let next = self.0.len() + 1;
                masked.push_str(&format!("ip{}", self.0.entry(address).or_insert(next)));
                (rest, after_digit) = (&rest[len..], true);
            } else {
                masked.push(first);
                (rest, after_digit) = (&rest[first.len_utf8()..], first.is_ascii_digit());
            }
        }
        masked
    }
}

/// Returns the address at the beginning of a text, and its length in bytes.
fn address_at(text: &str) -> Option<(Ipv4Addr, usize)> {
    let mut dots = 0;
    let end = text.find(|c: char| {
        dots += usize::from(c == '.');
        dots == 4 || !(c.is_ascii_digit() || c == '.')
    });
    let word = &text[..end.unwrap_or(text.len())];
    let word = word.strip_suffix('.').unwrap_or(word);
    Some((word.parse().ok()?, word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected texts are the answers of the Java classes, except where Java has a defect.
    #[test]
    fn each_address_has_one_name_as_with_java() {
        let rows = [
            ("none", "/job/sharding/0 | ", "/job/sharding/0 | "),
            ("one", "/job/servers/10.0.0.1 | ENABLED", "/job/servers/ip1 | ENABLED"),
            ("at the end of a sentence", "It is 10.0.0.1.", "It is ip1."),
            ("more numbers", "1.2.3.4.5", "ip1.5"),
            ("too few", "1.2.3", "1.2.3"),
            ("two in a row", "10.0.0.1,10.0.0.2", "ip1,ip2"),
        ];
        for (case, text, expected) in rows {
            assert_eq!(Mask::default().apply(text), expected, "{case}");
        }
    }

    #[test]
    fn no_part_of_an_address_stays_legible() {
        let rows = [
            // Both releases: `ip1@-@7 ip10 ip1`.
            ("again", "10.0.0.1@-@7 10.0.0.10 10.0.0.1", "ip1@-@7 ip2 ip1"),
            // 2.1.5: `ip12@-@1`.
            ("two digits at the end", "192.168.0.12@-@1", "ip1@-@1"),
            // 2.1.5: `30ip1 ip256`, 3.0.4: `30ip1 ip26`.
            ("no addresses", "300.1.1.1 1.1.1.256", "300.1.1.1 1.1.1.256"),
            ("beside letters", "报告10.0.0.1号", "报告ip1号"),
        ];
        for (case, text, expected) in rows {
            assert_eq!(Mask::default().apply(text), expected, "{case}");
        }
    }

    #[test]
    fn names_are_kept_from_line_to_line() {
        let mut mask = Mask::default();
        let masked: Vec<_> =
            ["10.0.0.2", "10.0.0.1", "10.0.0.2"].iter().map(|line| mask.apply(line)).collect();
        assert_eq!(masked, ["ip1", "ip2", "ip1"]);
    }
}
