#![doc = include_str!("../README.md")]

pub mod clock;
pub mod cluster;
pub mod journal;
mod protocol;
pub mod resource;
pub mod run;
pub mod smoke;
pub mod txnlog;
pub mod worker;
pub mod writelog;
