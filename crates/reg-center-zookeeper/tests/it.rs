//! All tests on real servers, as one program.

mod behind_proxies;
mod contract;
mod prop_zookeeper;
mod secure;
mod zookeeper;
