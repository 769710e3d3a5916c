//! Decides whether the stored configuration stays or the local one replaces it. Pure functions.

use std::fmt;

use bytes::Bytes;
use coordination::{ConfigError, Dialect, JavaFields, JobConfig, encode_config};
use reg_center::{Lifetime, Node, NodePath, Txn};

use super::java_class::other_class;
use crate::Result;

/// A field in which the local configuration differs from the stored one, which is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigDifference {
    /// Name of the field.
    pub field: &'static str,
    /// Value in force.
    pub stored: String,
    /// Value of this process, which is not used.
    pub local: String,
}

impl fmt::Display for ConfigDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is in force, {} is not", self.field, self.stored, self.local)
    }
}

/// Relation of the stored configuration to the local one after the registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The local configuration is stored.
    Local,
    /// The stored configuration differs in these fields.
    Stored(Vec<ConfigDifference>),
    /// The stored document cannot be read. It stays until an operator repairs it.
    Unreadable(String),
}

/// Decision about the stored configuration.
#[derive(Debug)]
pub(super) enum Decision {
    Keep(Settled),
    Write(Txn),
}

impl Settled {
    /// Adds a difference to the result.
    pub(super) fn with(self, difference: Option<ConfigDifference>) -> Self {
        match (self, difference) {
            (Self::Local, Some(difference)) => Self::Stored(vec![difference]),
            (Self::Stored(mut differences), difference) => {
                differences.extend(difference);
                Self::Stored(differences)
            }
            (settled, _) => settled,
        }
    }
}

pub(super) fn decide(
    path: &NodePath,
    stored: Option<(&Node, Result<JobConfig, ConfigError>)>,
    local: &JobConfig,
    overwrites: bool,
) -> Result<Decision> {
    let Some((node, stored)) = stored else {
        local.check_for_java()?;
        let create = Txn::new().create(path.clone(), document(local), Lifetime::Persistent);
        return Ok(Decision::Write(create));
    };
    let put = |config: &JobConfig| -> Result<Decision> {
        config.check_for_java()?;
        let put = Txn::new().put_if(path.clone(), node.stat.version, document(config));
        Ok(Decision::Write(put))
    };
    Ok(match stored {
        Err(_) if overwrites => put(local)?,
        Err(error) => Decision::Keep(Settled::Unreadable(error.to_string())),
        Ok(stored) if overwrites => {
            let wanted = keep_unmanaged_fields(local, &stored);
            // A 3.x document does not contain the Java class, so documents are compared instead of
            // configurations.
            let is_stored = document(&wanted) == node.data;
            if is_stored { Decision::Keep(Settled::Local) } else { put(&wanted)? }
        }
        Ok(stored) => Decision::Keep(match differences(&stored, local) {
            none if none.is_empty() => Settled::Local,
            some => Settled::Stored(some),
        }),
    })
}

fn document(config: &JobConfig) -> Bytes {
    Bytes::from(encode_config(config))
}

/// Returns the configuration to store when it is overwritten. Java's settings and unknown fields
/// keep their stored values unless the program sets them.
fn keep_unmanaged_fields(local: &JobConfig, stored: &JobConfig) -> JobConfig {
    let mut wanted = local.clone();
    if wanted.java.has_default_fields() {
        wanted.java.fields = stored.java.fields.clone();
    }
    if wanted.java.given_class().is_none() {
        wanted.java.job_class.clone_from(&stored.java.job_class);
    }
    if let (JavaFields::V2(wanted), JavaFields::V2(stored)) =
        (&mut wanted.java.fields, &stored.java.fields)
        && wanted.other_properties.is_empty()
    {
        wanted.other_properties.clone_from(&stored.other_properties);
    }
    if wanted.unknown.is_empty() {
        wanted.unknown = stored.unknown.clone();
    }
    wanted
}

fn differences(stored: &JobConfig, local: &JobConfig) -> Vec<ConfigDifference> {
    let pairs = stored.fields().into_iter().zip(local.fields());
    // `overwrite` of the stored configuration has no effect: only the local one is read.
    let differing = pairs
        .filter(|((field, stored), (_, local))| *field != "overwrite" && stored != local)
        .map(|((field, stored), (_, local))| ConfigDifference { field, stored, local });
    let mut differences: Vec<_> = differing.collect();
    if stored.java.dialect() == Dialect::V2
        && let Some(class) = local.java.given_class()
    {
        differences.extend(other_class(&stored.java.job_class, class));
    }
    differences
}
