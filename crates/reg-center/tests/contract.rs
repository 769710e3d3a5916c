//! The contract suite on the in-memory registry.

use crate::memory;

use memory::on_an_empty_registry;
use reg_center::contract::Case;

reg_center::contract_tests!(run);

fn run(case: &Case) {
    on_an_empty_registry(async |harness| case.run(harness).await);
}

/// A delegate that changes nothing keeps every guarantee.
mod behind_a_delegate {
    use std::sync::Arc;
    use std::time::Duration;

    use async_trait::async_trait;
    use futures_util::future::BoxFuture;
    use reg_center::contract::{Case, Client, Harness};
    use reg_center::{Delegate, RegistryCenter};

    use super::memory::{MemoryHarness, on_an_empty_registry};

    reg_center::contract_tests!(run);

    fn run(case: &Case) {
        on_an_empty_registry(async |harness| case.run(&Wrapping(harness)).await);
    }

    struct Wrapping<'a>(&'a MemoryHarness);

    #[async_trait]
    impl Harness for Wrapping<'_> {
        async fn connect(&self) -> Client {
            let Client { center, faults } = self.0.connect().await;
            Client { center: Arc::new(Unchanged(center)), faults }
        }

        fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
            self.0.sleep(duration)
        }

        fn now(&self) -> Duration {
            self.0.now()
        }

        fn patience(&self) -> Duration {
            self.0.patience()
        }
    }

    #[derive(Debug)]
    struct Unchanged(Arc<dyn RegistryCenter>);

    impl Delegate for Unchanged {
        fn inner(&self) -> &dyn RegistryCenter {
            &*self.0
        }
    }
}

#[test]
fn every_guarantee_of_the_front_page_has_a_case() {
    let readme = include_str!("../README.md");
    let guarantees = readme.split("## Guarantees").nth(1).unwrap().split("\n## ").next().unwrap();
    let numbered = |line: &str| line.split_once(". **").and_then(|(n, _)| n.parse::<u8>().ok());
    let promised: std::collections::BTreeSet<u8> =
        guarantees.lines().filter_map(numbered).collect();
    let tested = reg_center::contract::cases().iter().map(|case| case.guarantee).collect();
    assert_eq!(promised, tested);
    assert!(promised.len() >= 11);
}
