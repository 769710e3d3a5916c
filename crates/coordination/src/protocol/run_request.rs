//! A request through ElasticJob's own API that an instance runs now.

use reg_center::Version;

/// Request that an instance runs now, by ElasticJob's own API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Triggered {
    /// Version of the node of the request.
    pub version: Version,
    /// Number of the request, unique for the instance.
    pub number: u64,
}
