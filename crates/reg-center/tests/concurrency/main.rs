//! Model checking of the concurrent modules with `shuttle`: the same source files, compiled with
//! shuttle's lock.
//!
//! A reader that is never woken is a deadlock, which fails the test. Small scenarios are tried in
//! all interleavings, larger ones in some thousand random ones. Two deliberately broken channels
//! show that the scenarios can fail.

mod broken;
mod changes;
#[path = "../../src/feed.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the module belongs to another crate, and the scenarios use only a part of it"
)]
mod feed;
mod scenarios;
#[path = "../../src/session.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the module belongs to another crate, and the scenarios use only a part of it"
)]
mod session;

// The two modules import these names from their crate.
use reg_center::{Node, NodePath, Revision, SessionId, Stat, Version};
use shuttle::scheduler::{DfsScheduler, PctScheduler};
use shuttle::{Config, Runner};

mod sync {
    /// Same interface as `parking_lot::Mutex`, with shuttle's lock inside.
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
            self.0.lock().expect("a panic of a lock holder has already ended the test")
        }
    }
}

/// Choice of the interleavings.
#[derive(Clone, Copy, Debug)]
enum Orders {
    /// All interleavings.
    All,
    /// Number of random interleavings. They are drawn such that rare context switches are found
    /// soon.
    Drawn(usize),
}

const DRAWN: Orders = Orders::Drawn(1_500);

/// Runs a scenario under the chosen interleavings and returns their number.
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
        ("one state and the end of the feed", Orders::All, scenarios::one_state_and_the_end),
        ("a reader gets all changes and then the end", DRAWN, scenarios::feed_is_read_to_its_end),
        ("a slow reader gets the newest states", DRAWN, scenarios::states_coalesce),
        ("no change of two writers is lost", DRAWN, scenarios::two_writers),
        ("a writer notices that its reader was dropped", Orders::All, scenarios::reader_goes),
        (
            "a subscriber gets all changes after its subscription",
            DRAWN,
            scenarios::hub_delivers_to_a_subscriber,
        ),
        ("all subscribers get the same changes", DRAWN, scenarios::hub_delivers_to_all),
    ];
    for (name, orders, scenario) in kept {
        let tried = try_orders(orders, scenario);
        eprintln!("concurrency: {name} ({orders:?}), {tried} orders");
        assert!(tried > 10, "{name}: too few interleavings");
    }
    let broken: [(&str, fn()); 2] = [
        ("a waker that is registered after the check", scenarios::late_waker),
        ("a subscriber that is added after the state was read", scenarios::late_subscriber),
    ];
    std::panic::set_hook(Box::new(|_| {}));
    for (name, scenario) in broken {
        eprintln!("concurrency: must be detected: {name}");
        let found =
            std::panic::catch_unwind(|| try_orders(Orders::Drawn(1_000), scenario)).is_err();
        if !found {
            eprintln!("no scenario has detected {name}");
            std::process::exit(1);
        }
    }
}
