//! Validation of addresses and durations.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::OptionsError;

/// The port of an address without a port.
const DEFAULT_PORT: u16 = 2181;

/// Returns the host and the port; an IPv6 address is returned without its brackets.
pub(crate) fn host_and_port(address: &str) -> Result<(&str, u16), OptionsError> {
    const VALID: &str = "host or host:port, comma separated, IPv6 in brackets";
    let (host, port) = match address.rsplit_once(':') {
        // The colons of an IPv6 address are inside its brackets.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().unwrap_or(0)),
        Some(_) | None => (address, DEFAULT_PORT),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = |host: &str| {
        !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || "-._%".contains(c))
    };
    let is_ipv6 = |host: &str| host.parse::<std::net::Ipv6Addr>().is_ok();
    let is_valid = bare.map_or_else(|| is_host(host), is_ipv6);
    if !is_valid || port == 0 {
        return Err(OptionsError::new("address", address, VALID));
    }
    Ok((bare.unwrap_or(host), port))
}

pub(super) fn check_duration(
    option: &'static str,
    value: Duration,
    range: &RangeInclusive<Duration>,
    valid: &'static str,
) -> Result<(), OptionsError> {
    if !range.contains(&value) {
        return Err(OptionsError::new(option, &format!("{value:?}"), valid));
    }
    Ok(())
}
