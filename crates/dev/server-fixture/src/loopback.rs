//! Exclusive loopback addresses, so that parallel test suites need no fixed ports and do not race.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::Shutdown;

use crate::Error;

/// Port of the reservation: the process that listens on it owns the loopback address.
const RESERVATION_PORT: u16 = 2180;
/// The port of clients of a proxy and of a ZooKeeper server, the same on every address.
pub const CLIENT_PORT: u16 = 2181;
const MAX_ATTEMPTS: usize = 4096;

/// An address in 127.0.0.0/8 that belongs to this value alone, across all processes.
///
/// The reservation is a listening socket, so the kernel arbitrates between processes and ends the
/// reservation with the process, however that ends. All ports but 2180 are free for the owner.
#[derive(Debug)]
pub struct LoopbackAddress {
    ip: Ipv4Addr,
    reservation: TcpListener,
}

impl LoopbackAddress {
    /// Reserves the next free address.
    ///
    /// # Errors
    /// [`Error::NoAddress`] after 4096 attempts.
    pub fn reserve() -> Result<LoopbackAddress, Error> {
        let mut last = io::Error::other("no address was tried");
        for candidate in candidates().take(MAX_ATTEMPTS) {
            match LoopbackAddress::try_reserve(candidate) {
                Ok(address) => return Ok(address),
                Err(error) => last = error,
            }
        }
        Err(Error::NoAddress { tried: MAX_ATTEMPTS, source: last })
    }

    /// Reserves this address, unless another process has reserved it.
    ///
    /// # Errors
    /// The operating system's error, for an address that is in use.
    pub fn try_reserve(ip: Ipv4Addr) -> io::Result<LoopbackAddress> {
        let reservation = TcpListener::bind((ip, RESERVATION_PORT))?;
        // A program without knowledge of reservations may listen on the client port.
        stop_listening(&TcpListener::bind((ip, CLIENT_PORT))?);
        Ok(LoopbackAddress { ip, reservation })
    }

    /// Returns the address without a port.
    #[must_use]
    pub fn ip(&self) -> Ipv4Addr {
        self.ip
    }

    /// Returns the address for clients.
    #[must_use]
    pub fn client_address(&self) -> SocketAddr {
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
/// Closing the socket is not enough: a child process that another thread is starting has a copy of
/// the socket until it runs its program.
pub(crate) fn stop_listening(listener: &impl AsFd) {
    // Fails only for a socket that does not listen, whose port is already free.
    let _ = rustix::net::shutdown(listener, Shutdown::Both);
}

/// Returns addresses from 127.1.0.0 to 127.255.255.255, starting at a point that differs by
/// process.
fn candidates() -> impl Iterator<Item = Ipv4Addr> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(256);
    std::iter::repeat_with(move || start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)))
        .map(|n| {
            let [_, a, b, c] = n.to_be_bytes();
            Ipv4Addr::new(127, a, b, c)
        })
        // Other programs use 127.0.0.0/16. Final 0 and 255 look like networks and broadcasts.
        .filter(|ip| !matches!(ip.octets(), [_, 0, _, _] | [_, _, _, 0 | 255]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_can_be_reserved_again_only_after_it_is_dropped() {
        let address = LoopbackAddress::reserve().unwrap();
        let ip = address.ip();
        let refusal = LoopbackAddress::try_reserve(ip).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::AddrInUse);
        // A child process has such a copy while it starts.
        let _copy = address.reservation.try_clone().unwrap();
        drop(address);
        assert_eq!(LoopbackAddress::try_reserve(ip).unwrap().ip(), ip);
    }

    #[test]
    fn address_with_a_used_client_port_is_not_reserved() {
        let ip = LoopbackAddress::reserve().unwrap().ip();
        let _other_program = TcpListener::bind((ip, CLIENT_PORT)).unwrap();
        assert_eq!(LoopbackAddress::try_reserve(ip).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn addresses_are_distinct_and_outside_of_127_0() {
        let addresses: Vec<_> = (0..300).map(|_| LoopbackAddress::reserve().unwrap()).collect();
        let mut ips: Vec<_> = addresses.iter().map(LoopbackAddress::ip).collect();
        ips.sort();
        ips.dedup();
        assert_eq!(ips.len(), addresses.len(), "every address is different");
        assert!(ips.iter().all(|ip| ip.is_loopback() && ip.octets()[1] != 0), "{ips:?}");
    }
}
