//! Selection of the error handler by the stored configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use coordination::{InvalidConfig, JavaFields, JavaFields2, JobConfig};

use super::{ErrorHandler, ErrorHandlers, HandlerSettings};

/// Handler type of jobs whose configuration chooses none.
const DEFAULT: &str = "LOG";

/// The handler that a configuration chooses, with the properties that its type reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) name: String,
    properties: BTreeMap<String, String>,
    /// An exception handler class of ElasticJob 2.1.5 that this process does not have.
    pub(crate) unknown_class: Option<String>,
}

impl Selection {
    pub(crate) fn of(config: &JobConfig, types: &ErrorHandlers) -> Self {
        let default = || DEFAULT.to_owned();
        match &config.java.fields {
            JavaFields::V3(java) => {
                let chosen = java.error_handler.clone().filter(|name| !name.trim().is_empty());
                let name = chosen.unwrap_or_else(default);
                let properties = java.props.iter().filter(|(key, _)| types.reads(&name, key));
                let properties = properties.map(|(key, value)| (key.clone(), value.clone()));
                Self { properties: properties.collect(), name, unknown_class: None }
            }
            JavaFields::V2(java) => {
                let class = java.exception_handler.as_str();
                let (known, properties) = (types.has(class), BTreeMap::new());
                let is_default =
                    class.trim().is_empty() || class == JavaFields2::default().exception_handler;
                let name = if known { class.to_owned() } else { default() };
                let unknown_class = (!known && !is_default).then(|| class.to_owned());
                Self { name, properties, unknown_class }
            }
        }
    }

    /// Creates the chosen handler.
    pub(crate) fn make(
        &self,
        config: &JobConfig,
        types: &ErrorHandlers,
    ) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        let settings = HandlerSettings { job: &config.job_name, properties: &self.properties };
        types.make(&self.name, &settings)
    }

    /// Logs a warning if this process does not have the chosen class of 2.1.5.
    pub(crate) fn warn(&self) {
        if let Some(class) = &self.unknown_class {
            let used = self.name.as_str();
            tracing::warn!(class, used, "this process has no error handler of this class");
        }
    }
}
