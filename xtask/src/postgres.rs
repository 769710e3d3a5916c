//! `cargo xtask postgres`: finds or installs a PostgreSQL server for the tests.

use postgres_fixture::Installation;

use crate::Error;

/// Finds a PostgreSQL server, else installs Debian's.
pub(crate) fn ensure() -> Result<(), Error> {
    println!("found {}", Installation::ensure()?);
    Ok(())
}
