//! What a distributed scheduler demands of a registry: contract, deterministic model, in-memory registry, contract suite.
