//! All tests on real servers, as one program.

mod behind_proxies;
mod contract;
mod failover;
mod load;
mod lost_data;
mod queries;
mod refusals;
mod rights;
mod sequences;
mod server_faults;
mod setup;
