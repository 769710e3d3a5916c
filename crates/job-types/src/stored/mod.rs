//! Jobs that are defined by their stored configuration, as Java instances or a console write it.

use async_trait::async_trait;
use lite::{JavaFields, JavaJobType, Job, JobConfig, JobError, ShardingContext};

#[cfg(feature = "http")]
mod request;

#[cfg(feature = "http")]
use crate::HttpJob;
use crate::{Allow, Invalid, Script, ScriptContext, ScriptLauncher};

/// A job that runs the definition of its stored configuration, if this worker [allows](Allow) it.
///
/// | stored by | definition |
/// |---|---|
/// | ElasticJob 2.1.5 | `scriptCommandLine` of a job of the type `SCRIPT` |
/// | ElasticJob 3.x | the property `script.command.line`, or those that begin with `http.` |
///
/// A command line is split by the rules of [`Script::parse`] and run without a shell. References
/// such as `${env:…}` and `${file:…}` are not resolved in it, so that a definition cannot reveal
/// secrets of this worker. Each run uses the configuration at its start and checks it against the
/// list, so a change takes effect with the next run. As in ElasticJob, the last argument of the
/// command is the context: [`ScriptContext::Argument`].
///
/// # Examples
/// ```
/// use job_types::{Allow, StoredJob};
///
/// let job = StoredJob::new(Allow::nothing().command(["/opt/jobs/report.sh"])?);
/// # let _: Box<dyn lite::Job> = Box::new(job);
/// # Ok::<(), job_types::Invalid>(())
/// ```
///
/// # Example: a template for jobs that operators define at run time
/// ```
/// use job_types::{Allow, StoredJob};
/// use lite::{NewJob, Template};
///
/// let stored = StoredJob::new(Allow::nothing().command(["/opt/jobs/report.sh"])?);
/// // An operator who creates a job from this template can run only what this worker allows.
/// let template = Template::new("stored", move |new: NewJob| Ok(new.run(stored.clone())))?;
/// assert_eq!(template.name().as_str(), "stored");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StoredJob {
    allow: Allow,
    launcher: Option<ScriptLauncher>,
}

/// Reason why a stored definition is not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoredJobError {
    /// The configuration defines neither a script nor a request, or both.
    #[error("the stored configuration defines {found}; valid is one script or one HTTP request")]
    Undefined {
        /// Description of the definition.
        found: &'static str,
    },
    /// The definition is invalid.
    #[error("the stored definition cannot be used: {0}")]
    Invalid(Invalid),
    /// The worker's own list does not allow it.
    #[error("{what} comes from the registry and is not among what this worker's own file allows")]
    NotAllowed {
        /// Program or origin.
        what: String,
    },
}

impl From<Invalid> for StoredJobError {
    fn from(error: Invalid) -> Self {
        Self::Invalid(error)
    }
}

enum Definition {
    Script(Script),
    #[cfg(feature = "http")]
    Http(HttpJob),
}

impl StoredJob {
    /// Returns a job that runs its stored definition, if `allow` permits it.
    #[must_use]
    pub fn new(allow: Allow) -> Self {
        Self { allow, launcher: None }
    }

    /// Sets the launcher of scripts, as [`Script::launcher`] does. Default none.
    #[must_use]
    pub fn launcher(self, launcher: ScriptLauncher) -> Self {
        Self { launcher: Some(launcher), ..self }
    }

    fn allowed_definition(&self, config: &JobConfig) -> Result<Definition, StoredJobError> {
        let definition = definition(config)?;
        let (permitted, what) = match &definition {
            Definition::Script(script) => {
                let program = script.argv().next().unwrap_or_default().to_owned();
                (self.allow.permits_script(script), program)
            }
            #[cfg(feature = "http")]
            Definition::Http(job) => (self.allow.permits_http(job), job.origin()),
        };
        if permitted { Ok(definition) } else { Err(StoredJobError::NotAllowed { what }) }
    }
}

#[async_trait]
impl Job for StoredJob {
    async fn execute(&self, context: ShardingContext) -> Result<(), JobError> {
        match self.allowed_definition(context.config())? {
            Definition::Script(script) => {
                let script = script.context(ScriptContext::Argument);
                let script = match self.launcher.clone() {
                    Some(launcher) => script.launcher(launcher),
                    None => script,
                };
                script.execute(context).await
            }
            #[cfg(feature = "http")]
            Definition::Http(job) => job.execute(context).await,
        }
    }
}

fn definition(config: &JobConfig) -> Result<Definition, StoredJobError> {
    let property = |name: &str| match &config.java.fields {
        JavaFields::V2(_) => None,
        JavaFields::V3(java) => java.props.get(name).map(String::as_str),
    };
    let line = match &config.java.fields {
        JavaFields::V2(java) => match &java.job_type {
            JavaJobType::Script { command_line } => command_line.as_deref(),
            JavaJobType::Simple | JavaJobType::Dataflow { .. } => None,
        },
        JavaFields::V3(_) => property("script.command.line"),
    };
    match (line, property("http.uri")) {
        (Some(line), None) => Ok(Definition::Script(Script::parse(line)?)),
        #[cfg(feature = "http")]
        (None, Some(uri)) => Ok(Definition::Http(request::request(uri, property)?)),
        #[cfg(not(feature = "http"))]
        (None, Some(_)) => Err(StoredJobError::Invalid(crate::no_http("http.uri"))),
        (None, None) => Err(StoredJobError::Undefined { found: "nothing to run" }),
        (Some(_), Some(_)) => Err(StoredJobError::Undefined { found: "a script and a request" }),
    }
}
