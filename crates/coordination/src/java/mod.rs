//! Coexistence with Java instances of ElasticJob in one namespace: the only modules that know how they behave.

pub(crate) mod facts;
pub(crate) mod foreign;
pub(crate) mod latch;
