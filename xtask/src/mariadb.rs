//! `cargo xtask mariadb`: finds or installs a MariaDB server for the tests.

use mariadb_fixture::Installation;

use crate::Error;

/// Finds a MariaDB server, else installs Debian's.
pub(crate) fn ensure() -> Result<(), Error> {
    println!("found {}", Installation::ensure()?);
    Ok(())
}
