#![doc = include_str!("../README.md")]

#[cfg(test)]
mod exhaustive;
