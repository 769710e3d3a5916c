//! `cargo xtask postgres`: finds or installs a PostgreSQL server for the tests.

use postgres_fixture::Installation;

use crate::Error;
use crate::steps::run;
use crate::zookeeper::{apt_get, install, privileged};

/// Keeps the package from creating a database cluster, which it would start as a service.
const NO_CLUSTER: &str = "mkdir -p /etc/postgresql-common && \
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then \
    echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf; fi";

/// Finds a PostgreSQL server, else installs Debian's.
pub(crate) fn ensure() -> Result<(), Error> {
    let installation = match Installation::locate() {
        Err(postgres_fixture::Error::NotInstalled { .. })
            if std::env::var_os("POSTGRES_BIN").is_none() =>
        {
            run(apt_get().arg("update"))?;
            run(privileged().args(["sh", "-c", NO_CLUSTER]))?;
            // The file of the step before stays, if the package has another one.
            run(install().args(["-o", "Dpkg::Options::=--force-confold", "postgresql"]))?;
            Installation::locate()?
        }
        located => located?,
    };
    println!("PostgreSQL: {installation}");
    Ok(())
}
