//! The types of error handlers in this process, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use coordination::{InvalidConfig, JobName};

use super::{ErrorHandler, IgnoreErrors, LogErrors, StopOnErrors};

/// Creates error handlers of one type, for jobs whose stored configuration names it.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use lite::{
///     ErrorHandler, ErrorHandlerType, ErrorHandlers, HandlerSettings, IgnoreErrors, InvalidConfig,
/// };
///
/// struct Quiet;
///
/// impl ErrorHandlerType for Quiet {
///     fn name(&self) -> &str {
///         "QUIET"
///     }
///
///     fn make(&self, _: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
///         Ok(Arc::new(IgnoreErrors))
///     }
/// }
///
/// let types = ErrorHandlers::default().with(Quiet);
/// assert_eq!(types.names().collect::<Vec<_>>(), ["IGNORE", "LOG", "QUIET", "THROW"]);
/// ```
pub trait ErrorHandlerType: Send + Sync + 'static {
    /// Returns the name by which configurations choose the type. It can be the class of an
    /// exception handler of ElasticJob 2.1.5.
    fn name(&self) -> &str;

    /// Returns true if handlers of this type use a property. By default they use all.
    ///
    /// Only these properties are in the [settings](HandlerSettings::properties). Only a change of
    /// one of them creates a new handler.
    fn reads(&self, property: &str) -> bool {
        let _ = property;
        true
    }

    /// Creates a handler for a job. It must be quick and have no effect outside of this process.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the invalid property and the valid values. It must not contain a
    /// secret.
    fn make(&self, settings: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig>;
}

/// Settings of an error handler. They are all stored in the registry, so its clients can read them,
/// and clients with write access can set them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HandlerSettings<'a> {
    /// The job.
    pub job: &'a JobName,
    /// The properties of the job's configuration that the type [reads](ErrorHandlerType::reads):
    /// from `props` in ElasticJob 3.x, empty in 2.1.5.
    pub properties: &'a BTreeMap<String, String>,
}

impl<'a> HandlerSettings<'a> {
    /// Returns the settings of a handler of a job.
    #[must_use]
    pub const fn new(job: &'a JobName, properties: &'a BTreeMap<String, String>) -> Self {
        Self { job, properties }
    }
}

/// The types of error handlers in a process.
///
/// | type | handler |
/// |---|---|
/// | `LOG` | [`LogErrors`] |
/// | `IGNORE` | [`IgnoreErrors`] |
/// | `THROW` | [`StopOnErrors`] |
/// | any other | the type that was [added](Self::with) |
///
/// The stored configuration of a job chooses by `jobErrorHandlerType` in ElasticJob 3.x, and by the
/// class of the exception handler in 2.1.5. Without a choice, and with the default class of 2.1.5,
/// the type is `LOG`.
///
/// A type of 3.x that this process does not have is an error at the registration of the job. If it
/// is chosen later, [`JobEvent::ConfigRejected`](crate::JobEvent::ConfigRejected) reports it and
/// the former handler stays. A handler that could not be created is retried after 1 s, 2 s and so
/// on up to 5 minutes.
///
/// If this process does not have a class of 2.1.5, it logs a warning and uses `LOG`, as Java does
/// with a class that it cannot find.
#[derive(Clone)]
pub struct ErrorHandlers {
    /// Shared, because each job of a process has a copy.
    types: Arc<BTreeMap<String, Arc<dyn ErrorHandlerType>>>,
}

impl ErrorHandlers {
    /// Adds a type, or replaces the type of the same name.
    #[must_use]
    pub fn with(mut self, handler_type: impl ErrorHandlerType) -> Self {
        let types = Arc::make_mut(&mut self.types);
        types.insert(handler_type.name().to_owned(), Arc::new(handler_type));
        self
    }

    /// Returns the names of all types, in ascending order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.types.contains_key(name)
    }

    /// Returns true if a type reads a property. If its `reads` panics, the property is passed too.
    pub(crate) fn reads(&self, name: &str, property: &str) -> bool {
        let handler_type = self.types.get(name);
        handler_type.is_some_and(|handler_type| {
            catch_unwind(AssertUnwindSafe(|| handler_type.reads(property))).unwrap_or(true)
        })
    }

    /// Creates a handler of a type.
    ///
    /// # Errors
    /// [`InvalidConfig`] if there is no such type, a setting cannot be used, or the type panics.
    pub fn make(
        &self,
        name: &str,
        settings: &HandlerSettings<'_>,
    ) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        let Some(handler_type) = self.types.get(name) else {
            let names: Vec<&str> = self.names().collect();
            let valid = format!("one of {}, or none", names.join(", "));
            return Err(InvalidConfig::new("error_handler", format!("{name:?}"), valid));
        };
        // The type is user code: its panic must not end the job's event loop.
        let made = catch_unwind(AssertUnwindSafe(|| handler_type.make(settings)));
        made.unwrap_or_else(|_| {
            let valid = "settings at which the type of this name does not panic";
            Err(InvalidConfig::new("error_handler", format!("{name:?}"), valid))
        })
    }
}

impl Default for ErrorHandlers {
    fn default() -> Self {
        let types = Self { types: Arc::default() };
        types
            .with(BuiltIn("LOG", || Arc::new(LogErrors)))
            .with(BuiltIn("IGNORE", || Arc::new(IgnoreErrors)))
            .with(BuiltIn("THROW", || Arc::new(StopOnErrors)))
    }
}

impl fmt::Debug for ErrorHandlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// A built-in type whose handlers have no settings.
struct BuiltIn(&'static str, fn() -> Arc<dyn ErrorHandler>);

impl ErrorHandlerType for BuiltIn {
    fn name(&self) -> &str {
        self.0
    }

    fn reads(&self, _: &str) -> bool {
        false
    }

    fn make(&self, _: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig> {
        Ok((self.1)())
    }
}
