//! The types of error handlers that a worker has, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use coordination::{InvalidConfig, JobName};

use super::{ErrorHandler, IgnoreErrors, LogErrors, StopOnErrors};

/// Makes error handlers of one type, for jobs whose stored configuration names it.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use lite::{ErrorHandler, ErrorHandlerType, ErrorHandlers, HandlerSettings, IgnoreErrors, InvalidConfig};
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
    /// Returns the name that configurations choose it by. The class of an exception handler of ElasticJob 2.1.5 can be one.
    fn name(&self) -> &str;

    /// Returns true if handlers of this type are made of the property of this name. Only those are among the
    /// [settings](HandlerSettings::properties), and only when one of them changes is a handler made anew. All of them, unless it is
    /// implemented.
    fn reads(&self, property: &str) -> bool {
        let _ = property;
        true
    }

    /// Makes a handler for a job. It must be quick and do nothing outside of this process.
    ///
    /// # Errors
    /// [`InvalidConfig`] names the property that cannot be used, and what would be valid. It never shows a secret.
    fn make(&self, settings: &HandlerSettings<'_>) -> Result<Arc<dyn ErrorHandler>, InvalidConfig>;
}

/// What an error handler is made of. All of it stands in the registry: whoever can write there has written it, and whoever can
/// read there has read it.
#[derive(Clone, Copy, Debug)]
pub struct HandlerSettings<'a> {
    /// For which job.
    pub job: &'a JobName,
    /// The properties of its configuration that the type [reads](ErrorHandlerType::reads), of `props` in ElasticJob 3.x; none in
    /// 2.1.5.
    pub properties: &'a BTreeMap<String, String>,
}

/// The types of error handlers that a worker has.
///
/// | type | handler |
/// |---|---|
/// | `LOG` | [`LogErrors`] |
/// | `IGNORE` | [`IgnoreErrors`] |
/// | `THROW` | [`StopOnErrors`] |
/// | any other | those that were [added](Self::with) |
///
/// The stored configuration of a job chooses by `jobErrorHandlerType` in ElasticJob 3.x, and by the class of the exception handler in
/// 2.1.5. Without it, and with the default class of 2.1.5, that is `LOG`. A type of 3.x that this worker does not have is
/// an error when the job is registered; if it comes up later, [`JobEvent::ConfigRejected`](crate::JobEvent::ConfigRejected) says so and the
/// handler that was there stays; a handler that could not be made is tried again after 1 s, 2 s and so on up to 5 minutes. A class of 2.1.5 that this worker does not have is logged as a warning, and `LOG` is used, as Java
/// does with a class that it cannot find.
#[derive(Clone)]
pub struct ErrorHandlers {
    /// Shared by all copies, of which each job of a process has one.
    types: Arc<BTreeMap<String, Arc<dyn ErrorHandlerType>>>,
}

impl ErrorHandlers {
    /// Adds a type, or replaces that of the same name.
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

    /// Returns true if a type reads a property. A bug in it does not keep the handler from being made.
    pub(crate) fn reads(&self, name: &str, property: &str) -> bool {
        let handler_type = self.types.get(name);
        handler_type.is_some_and(|handler_type| {
            catch_unwind(AssertUnwindSafe(|| handler_type.reads(property))).unwrap_or(true)
        })
    }

    /// Makes a handler of a type.
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
        // It is the user's code, and would take the job's decisions with it.
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

/// A type whose handlers have no settings.
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
