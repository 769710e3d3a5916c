//! Settlement of the configuration at registration: the stored or the local one comes into force.

mod decision;
mod dialect;
mod former;
mod java_class;
mod requests;

use std::time::Duration;

use coordination::{Dialect, JobConfig, Layout, ServerIp, decode_config, decode_template};
use reg_center::{Op, Txn};
use trigger::Zone;

use crate::config_check::check_new_schedule;
use crate::registration::CodeSource;
use crate::seams::Seams;
use crate::{Error, Result};
use decision::{Decision, decide};

pub use decision::ConfigDifference;
pub(crate) use decision::Settled;

/// Result of settling the configuration.
#[derive(Debug)]
pub(crate) struct Settlement {
    pub(crate) settled: Settled,
    /// The local configuration in the dialect of the job's nodes.
    pub(crate) local: JobConfig,
    /// The stored configuration that is in force, if it can be read.
    pub(crate) in_force: Option<JobConfig>,
    /// This process has just replaced another stored configuration.
    pub(crate) has_replaced: bool,
}

/// The stored configuration of a job, as one registration reads and writes it.
#[derive(Debug)]
pub(crate) struct ConfigStore<'a> {
    pub(crate) seams: &'a Seams,
    pub(crate) local: &'a JobConfig,
    /// Server of this process, the author of what it replaces.
    pub(crate) server: &'a ServerIp,
    /// Source of the job's code.
    pub(crate) code_source: &'a CodeSource,
    /// Dialect that the job must have; `None` accepts the stored one.
    pub(crate) dialect: Option<Dialect>,
    /// The local configuration replaces the stored one.
    pub(crate) overwrites: bool,
    /// Time zone of configurations that name none.
    pub(crate) default_zone: &'a Zone,
    pub(crate) started: Duration,
    pub(crate) deadline: Duration,
}

impl ConfigStore<'_> {
    /// Reads, decides and writes until the stored configuration needs no further write.
    pub(crate) async fn settle(&self) -> Result<Settlement> {
        let layout = Layout::new(&self.local.job_name);
        let path = layout.config_path();
        let mut has_replaced = false;
        loop {
            let node = self.read(&path).await?;
            self.check_code_source(node.is_some()).await?;
            let stored = node.as_ref().map(|node| decode_config(&node.data));
            let in_force = match &stored {
                Some(Ok(config)) => Some(config.clone()),
                Some(Err(_)) | None => None,
            };
            let found = self.found_dialect(stored.as_ref()).await?;
            let in_dialect = self.in_dialect(found, node.as_ref())?;
            let root = self.root_of_3(&in_dialect).await?;
            // The dialect of the stored nodes can exclude settings of the local configuration.
            in_dialect.check()?;
            in_dialect.check_for_java()?;
            let class_write = root.as_ref().and_then(|root| root.write(self.overwrites));
            let local = match &root {
                Some(root) => root.with_stored_class(in_dialect),
                None => in_dialect,
            };
            let local = local.with_default_strategy(in_force.as_ref());
            let decision = decide(&path, node.as_ref().zip(stored), &local, self.overwrites)?;
            // Every outcome of a write is read in the next iteration, an unknown one too.
            match (decision, class_write) {
                (Decision::Write(txn), class) => {
                    let now = self.seams.clock.wall();
                    check_new_schedule(&local, in_force.as_ref(), self.default_zone, now)?;
                    has_replaced |= node.is_some();
                    let former = match &node {
                        Some(replaced) => self.keep_former(&layout, replaced).await?,
                        None => Txn::new(),
                    };
                    self.write(joined(class, [txn, former])).await?;
                }
                (Decision::Keep(_), Some(class)) if self.overwrites => {
                    self.write(Txn::new().op(class)).await?;
                }
                (Decision::Keep(settled), _) => {
                    let settled = settled.with(root.and_then(|root| root.difference()));
                    return Ok(Settlement { settled, local, in_force, has_replaced });
                }
            }
        }
    }

    /// Checks that the source of the code may register this job.
    ///
    /// Code of the program creates the job if there is none, and joins a job that other code has
    /// created. A runtime job takes its code from its template, and registration never creates it.
    async fn check_code_source(&self, is_stored: bool) -> Result<()> {
        let job = || self.local.job_name.clone();
        match (self.code_source, is_stored) {
            (CodeSource::Code, false) | (CodeSource::Template(_), true) => Ok(()),
            (CodeSource::Template(_), false) => Err(Error::NoSuchJob { job: job() }),
            (CodeSource::Code, true) => {
                let path = Layout::new(&self.local.job_name).template_path();
                let Some(node) = self.read(&path).await? else { return Ok(()) };
                let template = match decode_template(&node.data) {
                    Ok(record) => record.template.to_string(),
                    Err(fault) => format!("that cannot be read ({fault})"),
                };
                Err(Error::RuntimeJob { job: job(), template })
            }
        }
    }
}

/// Joins transactions into one, after an operation.
fn joined(first: Option<Op>, rest: [Txn; 2]) -> Txn {
    let rest = rest.iter().flat_map(|txn| txn.ops().iter().cloned());
    first.into_iter().chain(rest).fold(Txn::new(), Txn::op)
}
