//! Who owns which sharding item: the strategies of ElasticJob and a minimal-movement one, as pure functions.
