//! Checks that Java instances can read a configuration.

use crate::{Dialect, InvalidConfig, JobConfig, Overlap, shortened};

impl JobConfig {
    /// Checks that Java instances can read the configuration, if it has the class of a Java job.
    ///
    /// Java instances of 2.1.5 fail without a cron expression, those of 3.x at a time zone that
    /// does not begin with `GMT`, and both at rules other than one Quartz expression. They fail at
    /// each reading until the configuration is repaired. Excluded times, a period and repeated
    /// hours are rejected because Java instances would fire at other times than Rust instances,
    /// limits of runs and overlaps because Java instances do not keep them, and placement because a
    /// Java leader would assign the items without it.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the field, its value and the valid values.
    ///
    /// # Examples
    /// ```
    /// use coordination::{JobConfig, JobName};
    ///
    /// let mut config = JobConfig::new(JobName::new("report")?, 3);
    /// assert!(config.check_for_java().is_ok(), "no Java instance reads it");
    /// config.java.job_class = "com.acme.Report".to_owned();
    /// assert_eq!(config.check_for_java().unwrap_err().field, "cron");
    /// # Ok::<(), coordination::InvalidName>(())
    /// ```
    pub fn check_for_java(&self) -> Result<(), InvalidConfig> {
        let Some(class) = self.java.given_class() else { return Ok(()) };
        if let Some(cron) = self.cron.as_deref().filter(|cron| cron.contains(['@', ';'])) {
            let valid = format!(
                "one Quartz expression: Java instances ({class}) know neither `@every` nor `@at` \
                 nor `@after` nor several rules"
            );
            return Err(InvalidConfig::new("cron", format!("{cron:?}"), valid));
        }
        let of_schedule = [
            ("excluded_times", &self.excluded_times),
            ("not_before", &self.not_before),
            ("not_after", &self.not_after),
            ("repeated_hour", &self.repeated_hour),
        ];
        for (field, value) in of_schedule {
            if let Some(value) = value {
                let valid = format!(
                    "none: Java instances ({class}) do not read it, and fire by \
                                     the cron expression alone"
                );
                let value = format!("{:?}", shortened(value));
                return Err(InvalidConfig::new(field, value, valid));
            }
        }
        if let Some(max) = self.cluster_concurrency {
            let valid = format!("none: Java instances ({class}) start runs without a permit");
            return Err(InvalidConfig::new("cluster_concurrency", max, valid));
        }
        if let Some(rate) = self.start_rate {
            let valid = format!("none: Java instances ({class}) start runs without counting them");
            return Err(InvalidConfig::new("start_rate", rate, valid));
        }
        if let Some(group) = &self.group {
            let valid =
                format!("none: Java instances ({class}) start runs without a permit of the group");
            return Err(InvalidConfig::new("group", format!("{group:?}"), valid));
        }
        if let Some(overlap) = self.overlap {
            let ignored = match overlap {
                Overlap::Cancel => "do not see requests to cancel",
                Overlap::Queue(_) => "run the fires that met a run as one",
                Overlap::Parallel(_) => "run an item once at a time",
            };
            let valid = format!("none: Java instances ({class}) {ignored}");
            return Err(InvalidConfig::new("overlap", overlap, valid));
        }
        if !self.placement.is_empty() {
            let valid = format!(
                "none: Java instances ({class}) have no labels, and their leader does not read it"
            );
            let value = format!("{:?}", shortened(self.placement.as_str()));
            return Err(InvalidConfig::new("placement", value, valid));
        }
        match (self.java.dialect(), &self.cron, &self.time_zone) {
            (Dialect::V2, None, _) => {
                let valid = format!(
                    "an expression: Java instances of 2.1.5 ({class}) cannot read a job without one"
                );
                Err(InvalidConfig::new("cron", "missing", valid))
            }
            (Dialect::V3, _, Some(zone)) if !is_zone_of_java_3(zone) => {
                let valid = format!(
                    "GMT, or an offset such as GMT+08:00: Java instances of 3.x ({class}) can read \
                     nothing else"
                );
                Err(InvalidConfig::new("time_zone", format!("{zone:?}"), valid))
            }
            (Dialect::V2 | Dialect::V3, _, _) => Ok(()),
        }
    }

    /// Checks that the nodes of the job's dialect can show the runs of an item beside each other.
    pub(crate) fn check_slots_in_dialect(&self) -> Result<(), InvalidConfig> {
        match self.overlap.filter(|_| self.slots() > 1) {
            Some(overlap) if self.java.dialect() == Dialect::V3 => {
                let valid = "none, or a job in the dialect of 2.1.5: the nodes of 3.x show one run of an \
                     item";
                Err(InvalidConfig::new("overlap", overlap, valid))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns true if Java instances can share the job, whose leader knows no other default.
    ///
    /// No Java instance can join a job that has neither a Java class nor its settings.
    pub(crate) fn keeps_average_allocation(&self, stored: Option<&Self>) -> bool {
        [Some(self), stored].into_iter().flatten().any(|it| it.java.is_given())
    }

    /// Returns a warning for the author if Java instances handle the configuration in another way.
    #[must_use]
    pub fn java_caveat(&self) -> Option<&'static str> {
        let zone = self.time_zone.as_deref()?;
        match self.java.dialect() {
            Dialect::V2 if self.java.given_class().is_some() => Some(
                "Java instances of 2.1.5 do not read time_zone and fire in the zone of their \
                 virtual machine",
            ),
            Dialect::V3 if !is_zone_of_java_3(zone) => Some(
                "Java instances of 3.x fail at a time_zone that does not begin with GMT; without \
                 java_class none is expected",
            ),
            Dialect::V2 | Dialect::V3 => None,
        }
    }
}

/// Returns true if Java 3.x accepts the time zone.
///
/// Java takes an unknown name with this prefix for GMT. It knows all of those that the `trigger`
/// crate accepts.
fn is_zone_of_java_3(zone: &str) -> bool {
    zone.starts_with("GMT")
}
