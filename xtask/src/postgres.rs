//! `cargo xtask postgres`: finds or installs a PostgreSQL server and PgBouncer for the tests.

use postgres_fixture::{Installation, Pooler};

use crate::Error;
use crate::steps::run;
use crate::zookeeper::{apt_get, install, privileged};

/// Keeps the package from creating a database cluster, which it would start as a service.
const NO_CLUSTER: &str = "mkdir -p /etc/postgresql-common && \
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then \
    echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf; fi";

/// Keeps the package from starting a service: the first line for init scripts, the second for
/// systemd.
const NO_SERVICE: &str = "\
    if [ ! -e /etc/default/pgbouncer ]; then echo 'START=0' > /etc/default/pgbouncer; fi && \
    unit=/etc/systemd/system/pgbouncer.service && mkdir -p /etc/systemd/system && \
    if [ ! -e $unit ]; then ln -s /dev/null $unit; fi";

/// Finds a PostgreSQL server and PgBouncer, else installs Debian's.
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
    let pooler = match Pooler::locate() {
        Err(postgres_fixture::Error::NoPooler { .. })
            if std::env::var_os("PGBOUNCER").is_none() =>
        {
            run(apt_get().arg("update"))?;
            run(privileged().args(["sh", "-c", NO_SERVICE]))?;
            run(install().args(["-o", "Dpkg::Options::=--force-confold", "pgbouncer"]))?;
            Pooler::locate()?
        }
        located => located?,
    };
    println!("PgBouncer: {}", pooler.display());
    Ok(())
}
