//! Every node with its version and session, to find out whether the log can be true.

use std::collections::BTreeMap;

use crate::history::RegOp;
use crate::names::Names;
use crate::tree::{self, Kind};

/// Which job, by its place in the order in which jobs were first seen.
pub(crate) type JobIndex = usize;

#[derive(Clone, Copy, Debug)]
struct Node {
    version: i32,
    session: Option<i64>,
    place: Option<(JobIndex, Kind)>,
}

/// The nodes that exist, and the jobs that were seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    nodes: BTreeMap<String, Node>,
    jobs: Vec<String>,
}

/// What an operation does to a node that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act<'a> {
    /// It now holds this, at this version.
    Put(&'a str, i32),
    Gone,
    /// It was there, perhaps at a checked version.
    Checked(Option<i32>),
}

/// An operation on a node of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step<'a> {
    pub(crate) job: JobIndex,
    pub(crate) kind: Kind,
    pub(crate) act: Act<'a>,
}

impl Nodes {
    pub(crate) fn job_name(&self, job: JobIndex) -> &str {
        self.jobs.get(job).map_or("", String::as_str)
    }

    pub(crate) fn job_of(&self, name: &str) -> Option<JobIndex> {
        self.jobs.iter().position(|job| job == name)
    }

    /// Does what an operation says. `Ok(None)` if the node does not matter.
    ///
    /// # Errors
    /// Says why the operation cannot have been committed on the nodes that there were.
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
                    Some(_) => Err(format!("{path} was created although it was there")),
                    None => Ok(step(place, Act::Put(data, 0))),
                }
            }
            RegOp::Set { path, ver, data } => {
                let Some(node) = self.nodes.get_mut(path) else {
                    return Err(format!("{path} was written although it was not there"));
                };
                let expected = node.version.wrapping_add(1);
                node.version = *ver;
                if *ver != expected {
                    return Err(format!("{path} got version {ver}; valid is {expected}"));
                }
                Ok(step(node.place, Act::Put(data, *ver)))
            }
            RegOp::Delete { path } => match self.nodes.remove(path) {
                Some(node) => Ok(step(node.place, Act::Gone)),
                None => Err(format!("{path} was deleted although it was not there")),
            },
            RegOp::Check { path, ver } => match self.nodes.get(path) {
                None => Err(format!("{path} was checked although it was not there")),
                Some(node) if ver.is_some_and(|ver| ver != node.version) => {
                    Err(format!("{path} was checked to be {ver:?} and was {}", node.version))
                }
                Some(node) => Ok(step(node.place, Act::Checked(*ver))),
            },
        }
    }

    /// Takes away an ephemeral node of a session that ended.
    ///
    /// # Errors
    /// Says why it cannot have been one.
    pub(crate) fn end(&mut self, path: &str, sid: i64) -> Result<Option<Step<'static>>, String> {
        match self.nodes.remove(path) {
            Some(node) if node.session == Some(sid) => Ok(step(node.place, Act::Gone)),
            Some(_) => Err(format!("{path} went with session {sid}, which had not made it")),
            None => Err(format!("{path} went with session {sid} although it was not there")),
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

fn step(place: Option<(JobIndex, Kind)>, act: Act<'_>) -> Option<Step<'_>> {
    place.map(|(job, kind)| Step { job, kind, act })
}
