//! Create a job at run time, from a template that processes offer.

use coordination::{
    AuditLog, AuditRecord, JobConfig, JobName, Layout, OperatorStep, TemplateRecord,
};
use reg_center::{Op, Txn, TxnOutcome};

use crate::change::Planned;
use crate::operations::{ATTEMPTS, trace_and_report, unique_id};
use crate::{By, Entry, Error, JobSnapshot, Operations, Report, Result, validate};

const ACT: &str = "create job";

impl Operations {
    /// Creates a job from a template: stores the configuration and the name of the template.
    ///
    /// Every process that offers the template and accepts the label joins the job, now or when it
    /// starts; see `lite::Scheduler::offer`. The registry stores the name of the template, never
    /// code.
    ///
    /// The dialect of the job is that of [`JobConfig::java`]. A configuration of 3.x needs a Java
    /// class only if Java instances are to take part. Without a strategy, the job gets that of
    /// [`JobConfig::with_default_strategy`].
    ///
    /// # Errors
    /// [`Error::JobExists`] if there is a job of this name, or nodes of a removed one;
    /// [`Error::Invalid`] with the field, its value and the valid values; [`Error::Unknown`], or a
    /// registry error. Unless the error is `Unknown`, nothing was created.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    ///
    /// use coordination::{JobConfig, JobName, TemplateName, TemplateRecord};
    /// use operations::{By, Operations};
    /// use reg_center::MemoryRegistry;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let operations = Operations::new(Arc::new(MemoryRegistry::new().connect()));
    /// let template = TemplateRecord { template: TemplateName::new("report")?, label: None };
    /// let mut config = JobConfig::new(JobName::new("report-eu")?, 4);
    /// config.cron = Some("0 0 3 * * ?".to_owned());
    /// let by = By::new("anna", "a new region")?;
    /// let report = operations.create_job(&template, &config, &by).await?;
    /// assert_eq!(report.to_string(), "done: report-eu, job: created from the template report\n");
    /// assert!(operations.create_job(&template, &config, &by).await.is_err(), "the job exists");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create_job(
        &self,
        template: &TemplateRecord,
        config: &JobConfig,
        by: &By,
    ) -> Result<Report> {
        self.create_stored(template, &config.clone().with_default_strategy(None), by).await
    }

    /// Returns the configuration that [`create_job`](Self::create_job) would store now.
    ///
    /// # Errors
    /// Those of [`create_job`](Self::create_job), except those of the write.
    pub async fn preview_creation(&self, config: &JobConfig) -> Result<JobConfig> {
        let config = config.clone().with_default_strategy(None);
        validate(&config, None, &self.strategies, self.now())?;
        match self.job_if_any(&config.job_name).await? {
            Some(found) => Err(exists(&found)),
            None => Ok(config),
        }
    }

    /// Returns the report that [`create_job`](Self::create_job) would have now.
    ///
    /// # Errors
    /// As [`preview_creation`](Self::preview_creation).
    pub async fn preview_create_job(
        &self,
        template: &TemplateRecord,
        config: &JobConfig,
    ) -> Result<Report> {
        let config = self.preview_creation(config).await?;
        let entry = Entry::new(config.job_name.as_str(), "job", created(template));
        Ok(Report { done: vec![entry], ..Report::default() })
    }

    /// Creates a job from a template with a stored configuration, which keeps its meaning.
    pub(crate) async fn create_stored(
        &self,
        template: &TemplateRecord,
        config: &JobConfig,
        by: &By,
    ) -> Result<Report> {
        validate(config, None, &self.strategies, self.now())?;
        let record = self.record_of_creation(template, config, by);
        let mut in_doubt = None;
        for _ in 0..ATTEMPTS {
            let or_unknown =
                |error: Error| error.or_unknown(in_doubt.is_some(), ACT, &config.job_name);
            if let Some(found) = self.job_if_any(&config.job_name).await.map_err(or_unknown)? {
                let is_own_record = found.audit().any(|found| found.id == record.id);
                return match in_doubt {
                    Some(_) if is_own_record => Ok(self.made(template, config, record)),
                    Some(cause) if !self.stores_audit() => Err(self.unknown(config, cause)),
                    _ => Err(exists(&found)),
                };
            }
            let txn = self.creation(template, config, &record).await.map_err(or_unknown)?;
            match self.commit(txn).await {
                Ok(TxnOutcome::Committed(_)) => return Ok(self.made(template, config, record)),
                Ok(TxnOutcome::Conflict(_)) => {}
                // The next read shows whether the job exists, and its audit record shows who
                // created it.
                Err(error) if error.is_unknown() => in_doubt = Some(error.to_string()),
                Err(error) => {
                    let act = format!("creating job {}", config.job_name);
                    return Err(or_unknown(Error::registry(act)(error)));
                }
            }
        }
        match in_doubt {
            Some(cause) => Err(self.unknown(config, cause)),
            None => Err(Error::Contended { job: config.job_name.clone(), attempts: ATTEMPTS }),
        }
    }

    /// Reads a job; returns `None` if the registry has no node of it.
    pub(crate) async fn job_if_any(&self, job: &JobName) -> Result<Option<JobSnapshot>> {
        match self.job(job).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::NoSuchJob { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn creation(
        &self,
        template: &TemplateRecord,
        config: &JobConfig,
        record: &AuditRecord,
    ) -> Result<Txn> {
        let layout = Layout::new(&config.job_name).speaking(config.java.dialect());
        let entry = self.reader.read(&layout.index_path()).await?;
        let listed = entry.map(|entry| entry.stat.version);
        let mut ops: Vec<Op> = layout.creation(config, template, listed);
        if self.stores_audit() {
            let mut log = AuditLog::default();
            log.push(record.clone());
            let audit = layout.change(&[OperatorStep::SetAudit { log, expect: None }]);
            ops.extend(audit.ops().iter().cloned());
        }
        Ok(ops.into_iter().fold(Txn::new().labelled("operator"), Txn::op))
    }

    fn record_of_creation(
        &self,
        template: &TemplateRecord,
        config: &JobConfig,
        by: &By,
    ) -> AuditRecord {
        AuditRecord {
            id: unique_id(self.now()),
            at_ms: self.now().as_millisecond(),
            who: by.who().to_owned(),
            why: by.why().to_owned(),
            act: ACT.to_owned(),
            target: config.job_name.to_string(),
            what: created(template),
        }
    }

    fn made(&self, template: &TemplateRecord, config: &JobConfig, record: AuditRecord) -> Report {
        let mut planned = Planned::default();
        planned.change("job", created(template), []);
        trace_and_report(&config.job_name, planned, record)
    }

    fn unknown(&self, config: &JobConfig, cause: String) -> Error {
        Error::Unknown { act: ACT, job: config.job_name.clone(), cause }
    }
}

fn created(template: &TemplateRecord) -> String {
    format!("created from {}", named(template))
}

/// Returns the template for a sentence, with its label if it has one.
pub(crate) fn named(record: &TemplateRecord) -> String {
    match &record.label {
        None => format!("the template {}", record.template),
        Some(label) => format!("the template {}, label {label}", record.template),
    }
}

fn exists(found: &JobSnapshot) -> Error {
    let what = match (found.has_config(), found.template()) {
        (false, _) => {
            "nodes without a configuration, which another client may still be removing".to_owned()
        }
        (true, None) => "registered by the code of its instances".to_owned(),
        (true, Some(Ok(record))) => format!("created from the template {}", record.template),
        (true, Some(Err(fault))) => format!("created from a template that cannot be read: {fault}"),
    };
    Error::JobExists { job: found.job().clone(), found: what }
}
