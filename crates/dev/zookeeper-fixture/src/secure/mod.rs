//! Authentication of clients: certificates and keys for tests, and users with passwords.

mod sasl;
mod tls;

pub use sasl::SaslUsers;
pub(crate) use tls::SECURE_PORT;
pub use tls::TlsServer;
