//! The concurrent parts under every order of steps that a scheduler could choose: the same source files, compiled with a
//! lock at which `shuttle` takes over. A reader that is never woken is a deadlock, which ends the test.
//!
//! Small scenarios are tried in all orders, larger ones in some thousand that are drawn. That the scenarios can fail is
//! shown with two channels that are broken on purpose.

mod broken;
mod changes;
#[path = "../../src/feed.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "it is a part of another crate, and not all of it is tried here"
)]
mod feed;
mod scenarios;
#[path = "../../src/session.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "it is a part of another crate, and not all of it is tried here"
)]
mod session;

// What the two files name of their crate.
use reg_center::{Node, NodePath, Revision, SessionId, Stat, Version};
use shuttle::scheduler::{DfsScheduler, PctScheduler};
use shuttle::{Config, Runner};

mod sync {
    /// As `parking_lot::Mutex`, with shuttle's lock inside.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
            self.0.lock().expect("whoever panics with the lock ends the test")
        }
    }
}

/// How the orders of steps are chosen.
#[derive(Clone, Copy, Debug)]
enum Orders {
    /// All of them.
    All,
    /// So many, drawn so that few switches that matter are found soon.
    Drawn(usize),
}

const DRAWN: Orders = Orders::Drawn(1_500);

/// Returns how many orders were tried.
fn try_orders(orders: Orders, scenario: fn()) -> usize {
    match orders {
        Orders::All => Runner::new(DfsScheduler::new(None, false), Config::new()).run(scenario),
        Orders::Drawn(count) => {
            Runner::new(PctScheduler::new(3, count), Config::new()).run(scenario)
        }
    }
}

fn main() {
    let kept: [(&str, Orders, fn()); 7] = [
        ("one state and the end", Orders::All, scenarios::one_state_and_the_end),
        ("a reader gets everything and then the end", DRAWN, scenarios::feed_is_read_to_its_end),
        ("a slow reader gets the newest states", DRAWN, scenarios::states_coalesce),
        ("two writers lose nothing", DRAWN, scenarios::two_writers),
        ("a writer learns that its reader is gone", Orders::All, scenarios::reader_goes),
        ("a subscriber is told everything since then", DRAWN, scenarios::hub_tells_a_subscriber),
        ("all subscribers are told the same", DRAWN, scenarios::hub_tells_all),
    ];
    for (name, orders, scenario) in kept {
        let tried = try_orders(orders, scenario);
        eprintln!("concurrency: {name} ({orders:?}), {tried} orders");
        assert!(tried > 10, "{name}: there is nothing to choose");
    }
    let broken: [(&str, fn()); 2] = [
        ("a waker that is left after the look", scenarios::late_waker),
        ("a subscriber that is added after the look", scenarios::late_subscriber),
    ];
    std::panic::set_hook(Box::new(|_| {}));
    for (name, scenario) in broken {
        eprintln!("concurrency: must be found: {name}");
        let found =
            std::panic::catch_unwind(|| try_orders(Orders::Drawn(1_000), scenario)).is_err();
        if !found {
            eprintln!("nobody has noticed {name}");
            std::process::exit(1);
        }
    }
}
