//! The contract suite, with notifications and with polling alone.

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

fn run(case: &Case, notify: Notify) {
    let _: &Server = server();
    runtime().block_on(case.run(&PostgresHarness::new(notify)));
}
