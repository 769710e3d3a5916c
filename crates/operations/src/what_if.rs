//! Hypothetical changes of a job: their parts, as values and as texts, and the checks of both.

use std::collections::BTreeSet;
use std::fmt;

use coordination::{
    InvalidConfig, InvalidName, JobName, MAX_SHARDING_TOTAL_COUNT, ServerIp, instance_id,
    server_of, shortened,
};
use sharding::{InstanceAttributes, InstanceId, InvalidPlacement, PlacementRules};

use crate::JobSnapshot;
use crate::act::listed;

/// Maximum number of entries in each list of a hypothetical change.
pub const MAX_WHAT_IF_ENTRIES: usize = 1_000;

/// Part of a hypothetical change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WhatIfPart {
    /// [`WhatIf::join`].
    Join,
    /// [`WhatIf::joining`].
    Joining,
    /// [`WhatIf::leave`].
    Leave,
    /// [`WhatIf::disable`].
    Disable,
    /// [`WhatIf::enable`].
    Enable,
    /// [`WhatIf::total_count`].
    TotalCount,
    /// [`WhatIf::strategy`].
    Strategy,
    /// [`WhatIf::placement`].
    Placement,
}

impl WhatIfPart {
    /// All parts.
    pub const ALL: [Self; 8] = [
        Self::Join,
        Self::Joining,
        Self::Leave,
        Self::Disable,
        Self::Enable,
        Self::TotalCount,
        Self::Strategy,
        Self::Placement,
    ];

    /// Returns the name: that of the configuration's field if there is one.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Joining => "joining",
            Self::Leave => "leave",
            Self::Disable => "disable",
            Self::Enable => "enable",
            Self::TotalCount => "sharding_total_count",
            Self::Strategy => "strategy",
            Self::Placement => "placement",
        }
    }
}

impl fmt::Display for WhatIfPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reason why no moves can be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A part of the hypothetical change is not valid.
    #[error("{part} is {value}; valid is {valid}")]
    Invalid {
        /// The part.
        part: WhatIfPart,
        /// Its value, [`shortened`].
        value: String,
        /// Description of valid values.
        valid: String,
    },
    /// The job has no such server or instance.
    #[error("{part}: job {job} has no {what} {name}; it has {known}")]
    NoSuch {
        /// The part that names it.
        part: WhatIfPart,
        /// Job name.
        job: JobName,
        /// `server` or `instance`.
        what: &'static str,
        /// The name, [`shortened`].
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The changed configuration would not be valid.
    #[error(transparent)]
    Config(#[from] InvalidConfig),
    /// The job has no configuration that can be used.
    #[error("the configuration of job {job} cannot be used: {reason}")]
    Unreadable {
        /// Job name.
        job: JobName,
        /// The fault of the configuration.
        reason: String,
    },
    /// The strategy does not exist here, or its result is not valid.
    #[error("{0}")]
    Strategy(String),
}

impl PlanError {
    /// Returns the part of the hypothetical change that is at fault; `None` if the stored
    /// configuration is.
    #[must_use]
    pub fn part(&self) -> Option<WhatIfPart> {
        match self {
            Self::Invalid { part, .. } | Self::NoSuch { part, .. } => Some(*part),
            Self::Config(error) => {
                WhatIfPart::ALL.into_iter().find(|part| part.as_str() == error.field)
            }
            Self::Unreadable { .. } | Self::Strategy(_) => None,
        }
    }

    fn invalid(part: WhatIfPart, value: &str, valid: impl Into<String>) -> Self {
        Self::Invalid { part, value: shortened(value), valid: valid.into() }
    }
}

/// Hypothetical change of a job.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WhatIf {
    /// Instances that would join. Their servers count as enabled.
    pub join: Vec<InstanceId>,
    /// Instances that would leave.
    pub leave: Vec<InstanceId>,
    /// Servers that would be disabled.
    pub disable: Vec<ServerIp>,
    /// Servers that would be enabled.
    pub enable: Vec<ServerIp>,
    /// New number of items.
    pub total_count: Option<u32>,
    /// New strategy.
    pub strategy: Option<String>,
    /// New placement rules.
    pub placement: Option<PlacementRules>,
    /// Weight, zone and labels of the instances that would join.
    pub joining: InstanceAttributes,
}

impl WhatIf {
    /// Returns the hypothetical change with a change of the fields.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Adds an instance on each of the servers. Its id ends with `new-` and its number.
    ///
    /// # Errors
    /// [`InvalidName`] if the id of an instance is not valid.
    ///
    /// # Examples
    /// ```
    /// use coordination::ServerIp;
    /// use operations::WhatIf;
    ///
    /// let mut what_if = WhatIf::default();
    /// what_if.join_on([ServerIp::new("10.0.0.8")?, ServerIp::new("10.0.0.9")?])?;
    /// assert_eq!(what_if.join[1].to_string(), "10.0.0.9@-@new-2");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn join_on(
        &mut self,
        servers: impl IntoIterator<Item = ServerIp>,
    ) -> Result<(), InvalidName> {
        for ip in servers {
            let number = self.join.len() + 1;
            self.join.push(instance_id(&ip, &format!("new-{number}"))?);
        }
        Ok(())
    }

    /// Sets a part from its text. Lists are separated by commas. An empty text of the strategy or
    /// the placement rules is that value, and not the stored one.
    ///
    /// # Errors
    /// [`PlanError::Invalid`] names the part, the value and the valid values.
    ///
    /// # Examples
    /// ```
    /// use operations::{WhatIf, WhatIfPart};
    ///
    /// let mut what_if = WhatIf::default();
    /// what_if.set(WhatIfPart::Join, "10.0.0.8, 10.0.0.9")?;
    /// what_if.set(WhatIfPart::Joining, "weight=2 zone=a disk=ssd")?;
    /// assert_eq!((what_if.join.len(), what_if.joining.weight()), (2, 2));
    ///
    /// let error = what_if.set(WhatIfPart::Disable, "web-1").unwrap_err();
    /// let text = "disable is \"web-1\"; valid is an IP address such as 10.0.0.7";
    /// assert_eq!(error.to_string(), text);
    /// # Ok::<(), operations::PlanError>(())
    /// ```
    pub fn set(&mut self, part: WhatIfPart, text: &str) -> Result<(), PlanError> {
        let quoted = format!("{text:?}");
        match part {
            WhatIfPart::Join => {
                self.join = Vec::new();
                self.join_on(servers(part, text)?)
                    .map_err(|error| PlanError::invalid(part, &quoted, error.to_string()))?;
            }
            WhatIfPart::Joining => {
                self.joining = text.parse().map_err(|error| in_part(part, &error))?;
            }
            WhatIfPart::Leave => self.leave = instances(part, text)?,
            WhatIfPart::Disable => self.disable = servers(part, text)?,
            WhatIfPart::Enable => self.enable = servers(part, text)?,
            WhatIfPart::TotalCount => {
                let count = text.trim().parse().map_err(|_| {
                    let valid = format!("1 to {MAX_SHARDING_TOTAL_COUNT}");
                    PlanError::invalid(part, &quoted, valid)
                })?;
                self.total_count = Some(count);
            }
            WhatIfPart::Strategy => self.strategy = Some(text.trim().to_owned()),
            WhatIfPart::Placement => {
                let rules = PlacementRules::parse(text).map_err(|error| in_part(part, &error))?;
                self.placement = Some(rules);
            }
        }
        Ok(())
    }

    /// Checks the lists against each other and against the job.
    pub(crate) fn check(&self, job: &JobSnapshot) -> Result<(), PlanError> {
        let lengths = [
            (WhatIfPart::Join, self.join.len()),
            (WhatIfPart::Leave, self.leave.len()),
            (WhatIfPart::Disable, self.disable.len()),
            (WhatIfPart::Enable, self.enable.len()),
        ];
        if let Some((part, n)) = lengths.into_iter().find(|(_, n)| *n > MAX_WHAT_IF_ENTRIES) {
            let (value, valid) = (format!("{n} entries"), format!("at most {MAX_WHAT_IF_ENTRIES}"));
            return Err(PlanError::invalid(part, &value, valid));
        }
        if self.join.is_empty() && !self.joining.is_default() {
            let value = format!("{:?}", self.joining.to_string());
            let valid = "empty, unless join names a server";
            return Err(PlanError::invalid(WhatIfPart::Joining, &value, valid));
        }
        let disable: BTreeSet<&ServerIp> = self.disable.iter().collect();
        if let Some(ip) = self.enable.iter().find(|ip| disable.contains(ip)) {
            let value = format!("{:?}", ip.as_str());
            let valid = "a server that disable does not name";
            return Err(PlanError::invalid(WhatIfPart::Enable, &value, valid));
        }
        self.check_names(job)
    }

    fn check_names(&self, job: &JobSnapshot) -> Result<(), PlanError> {
        let view = job.view();
        let no_such = |part, what, name: &str, known| {
            let (job, name) = (job.job().clone(), shortened(name));
            Err(PlanError::NoSuch { part, job, what, name, known })
        };
        if let Some(id) = self.leave.iter().find(|id| !view.is_registered(id)) {
            let known = listed(job.instances());
            return no_such(WhatIfPart::Leave, "instance", id.as_str(), known);
        }
        let servers = job.known_servers();
        let joined: BTreeSet<ServerIp> = self.join.iter().filter_map(server_of).collect();
        let is_unknown = |ip: &&ServerIp| !servers.contains(*ip) && !joined.contains(*ip);
        for (part, named) in
            [(WhatIfPart::Disable, &self.disable), (WhatIfPart::Enable, &self.enable)]
        {
            if let Some(ip) = named.iter().find(is_unknown) {
                return no_such(part, "server", ip.as_str(), listed(&servers));
            }
        }
        Ok(())
    }
}

/// Returns the error of attributes or rules, which names the part of them that is at fault.
fn in_part(part: WhatIfPart, error: &InvalidPlacement) -> PlanError {
    let value = format!("{:?} in {}", shortened(&error.value), error.part);
    PlanError::invalid(part, &value, error.valid.as_str())
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

fn servers(part: WhatIfPart, text: &str) -> Result<Vec<ServerIp>, PlanError> {
    let server = |ip: &str| {
        let valid = "an IP address such as 10.0.0.7";
        ServerIp::new(ip).map_err(|_| PlanError::invalid(part, &format!("{ip:?}"), valid))
    };
    entries(text).map(server).collect()
}

fn instances(part: WhatIfPart, text: &str) -> Result<Vec<InstanceId>, PlanError> {
    let instance = |id: &str| {
        let valid = "the id of an instance such as 10.0.0.7@-@4123";
        let found = InstanceId::new(id);
        let is_id = server_of(&found).is_some();
        is_id.then_some(found).ok_or_else(|| PlanError::invalid(part, &format!("{id:?}"), valid))
    };
    entries(text).map(instance).collect()
}
