//! The registry contract on a real ZooKeeper.
