//! Development only: real ZooKeeper servers and a fault proxy for tests.
