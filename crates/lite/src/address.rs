//! Choice of the address by which operators know the server of this process.

use std::net::{IpAddr, Ipv4Addr};

use coordination::{InvalidConfig, ServerIp};

/// Fallback for a host without any other address.
const LOOPBACK: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Constraints on the choice of the address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preference {
    pub(crate) interface: Option<String>,
    pub(crate) network: Option<Network>,
}

/// A block of IPv4 addresses that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    first: Ipv4Addr,
    bits: u32,
}

impl Network {
    /// Reads `10.0.0.0/8`, or an address alone.
    pub(crate) fn parse(text: &str) -> Result<Self, InvalidConfig> {
        let invalid = || {
            let valid = "an IPv4 network such as 10.0.0.0/8, or an IPv4 address";
            InvalidConfig::new("network", format!("{text:?}"), valid)
        };
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        let first = address.parse().map_err(|_| invalid())?;
        let bits = bits.parse().ok().filter(|bits| *bits <= 32).ok_or_else(invalid)?;
        Ok(Self { first, bits })
    }

    fn has(self, address: Ipv4Addr) -> bool {
        // For `/0` the shift is by all 32 bits, which `>>` does not allow.
        let head = |address: Ipv4Addr| address.to_bits().checked_shr(32 - self.bits);
        head(address) == head(self.first)
    }
}

/// Returns the address by which operators know this host, unless the program sets another one.
///
/// Without a preference it is the numerically smallest IPv4 address of the host's interfaces that
/// is neither loopback nor link-local. If there is none, it is `127.0.0.1`. With a preference it is
/// the smallest IPv4 address that meets it, of any kind. The function resolves no name and sends
/// nothing.
pub(crate) fn server(preference: &Preference) -> Result<ServerIp, InvalidConfig> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let known: Vec<(String, IpAddr)> =
        interfaces.into_iter().map(|found| (found.name.clone(), found.ip())).collect();
    let address = choose(&known, preference)?;
    Ok(ServerIp::new(&address.to_string()).expect("a printed IPv4 address is a valid server IP"))
}

fn choose(known: &[(String, IpAddr)], preference: &Preference) -> Result<Ipv4Addr, InvalidConfig> {
    let Preference { interface, network } = preference;
    let is_free = interface.is_none() && network.is_none();
    let addresses = known.iter().filter_map(|(name, address)| match address {
        IpAddr::V4(address) => Some((name, *address)),
        IpAddr::V6(_) => None,
    });
    let wanted = addresses.clone().filter(|(name, address)| {
        let of_interface = interface.as_ref().is_none_or(|interface| interface == *name);
        let of_network = network.is_none_or(|network| network.has(*address));
        let is_usual = !address.is_loopback() && !address.is_link_local();
        of_interface && of_network && (is_usual || !is_free)
    });
    match wanted.map(|(_, address)| address).min() {
        Some(address) => Ok(address),
        None if is_free => Ok(LOOPBACK),
        None => {
            let available: Vec<String> =
                addresses.map(|(name, address)| format!("{name} {address}")).collect();
            let valid = format!("one that this host has: {}", available.join(", "));
            Err(match (interface, network) {
                (Some(name), None) => InvalidConfig::new("network_interface", name, valid),
                (_, network) => {
                    let network =
                        network.map_or_else(String::new, |n| format!("{}/{}", n.first, n.bits));
                    InvalidConfig::new("network", network, valid)
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preference(interface: &str, network: &str) -> Preference {
        Preference {
            interface: (!interface.is_empty()).then(|| interface.to_owned()),
            network: (!network.is_empty()).then(|| Network::parse(network).unwrap()),
        }
    }

    #[test]
    fn the_address_is_the_smallest_that_meets_the_preference() {
        let host = [
            ("lo", "127.0.0.1"),
            ("eth0", "10.0.0.12"),
            ("eth0", "10.0.0.7"),
            ("eth0", "fe80::1"),
            ("eth1", "192.168.3.4"),
            ("eth2", "169.254.1.1"),
            ("eth3", "2001:db8::1"),
        ];
        let known: Vec<(String, IpAddr)> =
            host.iter().map(|(name, ip)| ((*name).to_owned(), ip.parse().unwrap())).collect();
        let rows = [
            ("none", "", "", Ok("10.0.0.7")),
            ("interface", "eth1", "", Ok("192.168.3.4")),
            ("link-local on request", "eth2", "", Ok("169.254.1.1")),
            ("loopback on request", "", "127.0.0.0/8", Ok("127.0.0.1")),
            ("network", "", "192.168.0.0/16", Ok("192.168.3.4")),
            ("one address", "", "10.0.0.12", Ok("10.0.0.12")),
            ("both", "eth0", "10.0.0.8/29", Ok("10.0.0.12")),
            ("any network", "", "0.0.0.0/0", Ok("10.0.0.7")),
            ("no such interface", "eth9", "", Err("network_interface")),
            ("IPv6 alone", "eth3", "", Err("network_interface")),
            ("no such network", "", "172.16.0.0/12", Err("network")),
            ("another interface", "eth1", "10.0.0.0/8", Err("network")),
        ];
        for (case, interface, network, expected) in rows {
            let chosen = choose(&known, &preference(interface, network));
            let chosen = chosen.map(|address| address.to_string());
            assert_eq!(chosen.as_deref().map_err(|error| error.field), expected, "{case}");
        }
        let chosen = choose(&known, &preference("eth9", "")).unwrap_err().to_string();
        assert!(
            chosen.starts_with(
                "network_interface is eth9; valid is one that this host has: lo 127.0.0.1, eth0"
            ),
            "{chosen}"
        );
        assert_eq!(choose(&[], &Preference::default()).unwrap(), LOOPBACK);
    }

    #[test]
    fn a_network_has_the_addresses_with_its_first_bits() {
        let rows = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.70", false),
            ("10.0.0.0/31", "10.0.0.1", true),
            ("10.0.0.0/31", "10.0.0.2", false),
            ("1.2.3.4/0", "255.0.0.1", true),
        ];
        for (network, address, expected) in rows {
            let has = Network::parse(network).unwrap().has(address.parse().unwrap());
            assert_eq!(has, expected, "{address} in {network}");
        }
        for text in ["", "10.", "10.0.0.0/33", "10.0.0.0/", "eth0", "::1/8", "10.0.0.0/-1"] {
            assert_eq!(Network::parse(text).unwrap_err().field, "network", "{text}");
        }
    }

    #[test]
    fn the_default_server_is_the_same_each_time() {
        let free = Preference::default();
        assert_eq!(server(&free).unwrap(), server(&free).unwrap());
    }
}
