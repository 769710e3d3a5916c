//! Nodes with their versions and sessions, to find contradictions in the log.

use std::collections::BTreeMap;

use crate::history::RegOp;
use crate::names::Names;
use crate::tree::{self, Kind};

/// Index of a job, in the order in which jobs first occurred.
pub(crate) type JobIndex = usize;

#[derive(Clone, Copy, Debug)]
struct Node {
    version: i32,
    session: Option<i64>,
    place: Option<(JobIndex, Kind)>,
}

/// Existing nodes, and all jobs that occurred.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    nodes: BTreeMap<String, Node>,
    jobs: Vec<String>,
}

/// Effect of an operation on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action<'a> {
    /// The node has this data and version.
    Put(&'a str, i32),
    Gone,
    /// The node existed, at this version if one was checked.
    Checked(Option<i32>),
}

/// An operation on a node of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step<'a> {
    pub(crate) job: JobIndex,
    pub(crate) kind: Kind,
    pub(crate) action: Action<'a>,
}

impl Nodes {
    pub(crate) fn job_name(&self, job: JobIndex) -> &str {
        self.jobs.get(job).map_or("", String::as_str)
    }

    pub(crate) fn job_of(&self, name: &str) -> Option<JobIndex> {
        self.jobs.iter().position(|job| job == name)
    }

    /// Applies an operation. Returns `Ok(None)` if the node is not judged.
    ///
    /// # Errors
    /// Returns the reason why the operation contradicts the nodes before it.
    pub(crate) fn apply<'a>(
        &mut self,
        op: &'a RegOp,
        sid: i64,
        names: &mut Names,
    ) -> Result<Option<Step<'a>>, String> {
        match op {
            RegOp::Create { path, data, ephemeral } => {
                let place = self.place(path, names);
                let node = Node { version: 0, session: ephemeral.then_some(sid), place };
                match self.nodes.insert(path.clone(), node) {
                    Some(_) => Err(format!("{path} was created although it existed")),
                    None => Ok(step(place, Action::Put(data, 0))),
                }
            }
            RegOp::Set { path, ver, data } => {
                let Some(node) = self.nodes.get_mut(path) else {
                    return Err(format!("{path} was written although it did not exist"));
                };
                let expected = node.version.wrapping_add(1);
                node.version = *ver;
                if *ver != expected {
                    return Err(format!("{path} got version {ver}; valid is {expected}"));
                }
                Ok(step(node.place, Action::Put(data, *ver)))
            }
            RegOp::Delete { path } => match self.nodes.remove(path) {
                Some(node) => Ok(step(node.place, Action::Gone)),
                None => Err(format!("{path} was deleted although it did not exist")),
            },
            RegOp::Check { path, ver } => match self.nodes.get(path) {
                None => Err(format!("{path} was checked although it did not exist")),
                Some(node) if ver.is_some_and(|ver| ver != node.version) => Err(format!(
                    "{path} was checked for version {ver:?}; its version was {}",
                    node.version
                )),
                Some(node) => Ok(step(node.place, Action::Checked(*ver))),
            },
        }
    }

    /// Removes an ephemeral node of an ended session.
    ///
    /// # Errors
    /// Returns the reason why the node cannot have been one of that session.
    pub(crate) fn end(&mut self, path: &str, sid: i64) -> Result<Option<Step<'static>>, String> {
        match self.nodes.remove(path) {
            Some(node) if node.session == Some(sid) => Ok(step(node.place, Action::Gone)),
            Some(_) => {
                Err(format!("{path} was removed with session {sid}, which had not created it"))
            }
            None => Err(format!("{path} was removed with session {sid} although it did not exist")),
        }
    }

    /// Returns the ephemeral nodes of a session.
    pub(crate) fn of_session(&self, sid: i64) -> impl Iterator<Item = &str> {
        let of_session = self.nodes.iter().filter(move |(_, node)| node.session == Some(sid));
        of_session.map(|(path, _)| path.as_str())
    }

    fn place(&mut self, path: &str, names: &mut Names) -> Option<(JobIndex, Kind)> {
        let (job, kind) = tree::parse(path, names)?;
        if kind == Kind::Other {
            return None;
        }
        let known = self.jobs.iter().position(|name| name == job);
        let index = known.unwrap_or_else(|| {
            self.jobs.push(job.to_owned());
            self.jobs.len() - 1
        });
        Some((index, kind))
    }
}

fn step(place: Option<(JobIndex, Kind)>, action: Action<'_>) -> Option<Step<'_>> {
    place.map(|(job, kind)| Step { job, kind, action })
}
