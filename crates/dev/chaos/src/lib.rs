#![doc = include_str!("../README.md")]

mod error;
pub mod evidence;
mod history;
pub mod jobs;
mod journal;
pub mod judge;
mod operator;
pub mod plan;
pub mod report;
pub mod run;
mod workers;

pub use error::Error;
