//! `cargo xtask postgres`: finds or installs a PostgreSQL server and PgBouncer for the tests.

use postgres_fixture::{Installation, Pooler};

use crate::Error;

/// Finds a PostgreSQL server and PgBouncer, else installs Debian's.
pub(crate) fn ensure() -> Result<(), Error> {
    println!("found {}", Installation::ensure()?);
    println!("found PgBouncer in {}", Pooler::ensure()?.display());
    Ok(())
}
