//! A loopback address of one's own: no fixed ports, no races between parallel suites.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::Shutdown;

use crate::Error;

/// Whoever listens on this port of a loopback address owns the address.
const RESERVATION_PORT: u16 = 2180;
/// The port of ZooKeeper's clients, the same on every address.
const CLIENT_PORT: u16 = 2181;
const MAX_ATTEMPTS: usize = 4096;

/// An address in 127.0.0.0/8 that belongs to this value alone, across all processes.
///
/// The reservation is a listening socket, so the kernel arbitrates between processes and ends the
/// reservation with the process, however that ends. All ports but 2180 are free for the owner.
#[derive(Debug)]
pub(crate) struct LoopbackAddress {
    ip: Ipv4Addr,
    reservation: TcpListener,
}

impl LoopbackAddress {
    /// Reserves the next free address.
    pub(crate) fn reserve() -> Result<LoopbackAddress, Error> {
        let mut last = io::Error::other("nothing was tried");
        for candidate in candidates().take(MAX_ATTEMPTS) {
            match LoopbackAddress::try_reserve(candidate) {
                Ok(address) => return Ok(address),
                Err(refusal) => last = refusal,
            }
        }
        Err(Error::NoAddress { tried: MAX_ATTEMPTS, source: last })
    }

    /// Reserves this address, unless somebody has it.
    pub(crate) fn try_reserve(ip: Ipv4Addr) -> io::Result<LoopbackAddress> {
        let reservation = TcpListener::bind((ip, RESERVATION_PORT))?;
        // Somebody who does not know about reservations may use the port we are going to use.
        stop_listening(&TcpListener::bind((ip, CLIENT_PORT))?);
        Ok(LoopbackAddress { ip, reservation })
    }

    pub(crate) fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// Returns the place where clients connect.
    pub(crate) fn client_address(&self) -> SocketAddr {
        (self.ip, CLIENT_PORT).into()
    }
}

impl Drop for LoopbackAddress {
    fn drop(&mut self) {
        stop_listening(&self.reservation);
    }
}

/// Frees a listening port at once.
///
/// Closing the socket does not do that: a child process that is just being started by another thread
/// has a copy until it runs its program.
pub(crate) fn stop_listening(listener: &impl AsFd) {
    // Fails only for a socket that does not listen, which is what is wanted.
    let _ = rustix::net::shutdown(listener, Shutdown::Both);
}

/// Walks through 127.1.0.0 to 127.255.255.255, from a place that differs by process.
fn candidates() -> impl Iterator<Item = Ipv4Addr> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(256);
    std::iter::repeat_with(move || start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)))
        .map(|n| {
            let [_, a, b, c] = n.to_be_bytes();
            Ipv4Addr::new(127, a, b, c)
        })
        // 127.0.0.0/16 is where everybody else is; 0 and 255 look like networks and broadcasts.
        .filter(|ip| !matches!(ip.octets(), [_, 0, _, _] | [_, _, _, 0 | 255]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_address_cannot_be_reserved_again_until_it_is_dropped() {
        let address = LoopbackAddress::reserve().unwrap();
        let ip = address.ip();
        let refusal = LoopbackAddress::try_reserve(ip).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::AddrInUse);
        // As a child process has one for a moment.
        let _copy = address.reservation.try_clone().unwrap();
        drop(address);
        assert_eq!(LoopbackAddress::try_reserve(ip).unwrap().ip(), ip);
    }

    #[test]
    fn an_address_whose_client_port_is_taken_is_not_reserved() {
        let ip = LoopbackAddress::reserve().unwrap().ip();
        let _stranger = TcpListener::bind((ip, CLIENT_PORT)).unwrap();
        assert_eq!(LoopbackAddress::try_reserve(ip).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn addresses_are_distinct_loopback_addresses_outside_the_common_network() {
        let addresses: Vec<_> = (0..300).map(|_| LoopbackAddress::reserve().unwrap()).collect();
        let mut ips: Vec<_> = addresses.iter().map(LoopbackAddress::ip).collect();
        ips.sort();
        ips.dedup();
        assert_eq!(ips.len(), addresses.len(), "every address is different");
        assert!(ips.iter().all(|ip| ip.is_loopback() && ip.octets()[1] != 0), "{ips:?}");
    }
}
