//! The contract suite: with notifications, with polling alone, and behind PgBouncer.

use postgres_fixture::Server;
use reg_center::contract::Case;
use reg_center_postgres::Notify;

use crate::behind_proxies::{PostgresHarness, runtime, server};

mod with_notifications {
    use super::*;

    reg_center::contract_tests!(run);

    fn run(case: &Case) {
        super::run(case, Notify::On);
    }
}

mod polling_alone {
    use super::*;

    reg_center::contract_tests!(run);

    fn run(case: &Case) {
        super::run(case, Notify::Off);
    }
}

mod behind_pgbouncer {
    use super::*;

    reg_center::contract_tests!(run);

    fn run(case: &Case) {
        runtime().block_on(case.run(&PostgresHarness::behind_pooler()));
    }
}

fn run(case: &Case, notify: Notify) {
    let _: &Server = server();
    runtime().block_on(case.run(&PostgresHarness::new(notify)));
}
