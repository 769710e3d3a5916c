//! Pure simulation: coordinators on the registry's model, one seed, virtual time, no async.
