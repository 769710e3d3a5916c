//! Error handlers of declared jobs, checked when the file is read.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use lite::{ErrorHandler, IgnoreErrors, JobError, LogErrors, Reaction, RunFailure, StopOnErrors};

use super::model::HandlerDoc;
use crate::Invalid;

/// A handler that all clones of a declared job share.
#[derive(Clone)]
pub(super) struct SharedHandler(Arc<dyn ErrorHandler>);

#[async_trait]
impl ErrorHandler for SharedHandler {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn handle_now(&self, failure: &RunFailure) -> Option<Reaction> {
        self.0.handle_now(failure)
    }

    async fn handle(&self, failure: &RunFailure) -> Result<Reaction, JobError> {
        self.0.handle(failure).await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

impl fmt::Debug for SharedHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// Creates the handlers of a job in their order. Errors count them from 0.
pub(super) fn handlers(docs: Vec<HandlerDoc>) -> Result<Vec<SharedHandler>, Invalid> {
    let handlers = docs.into_iter().enumerate().map(|(n, doc)| {
        handler(doc).map_err(|error| {
            let field = format!("error_handlers[{n}].{}", error.field);
            Invalid::new(field, error.value, error.valid)
        })
    });
    handlers.collect()
}

fn handler(doc: HandlerDoc) -> Result<SharedHandler, Invalid> {
    let handler: Arc<dyn ErrorHandler> = match doc.kind.as_str() {
        "log" => without_settings(&doc).map(|()| Arc::new(LogErrors))?,
        "ignore" => without_settings(&doc).map(|()| Arc::new(IgnoreErrors))?,
        "throw" => without_settings(&doc).map(|()| Arc::new(StopOnErrors))?,
        _ => messages::handler(doc)?,
    };
    Ok(SharedHandler(handler))
}

/// Rejects all settings, for kinds that have none.
fn without_settings(doc: &HandlerDoc) -> Result<(), Invalid> {
    doc.allow_only(&[])
}

impl HandlerDoc {
    /// Rejects settings that this kind does not have: they would have no effect.
    pub(super) fn allow_only(&self, known: &[&str]) -> Result<(), Invalid> {
        let unknown = self.settings().into_iter().find(|name| !known.contains(name));
        unknown.map_or(Ok(()), |name| {
            let valid = match known {
                [] => format!("nothing: {} has no settings", self.kind),
                _ => format!("nothing: {} has {}", self.kind, known.join(", ")),
            };
            Err(Invalid::new(name, "set", valid))
        })
    }

    /// Returns the names of all settings that the file has.
    fn settings(&self) -> Vec<&'static str> {
        let all = [
            ("url", self.url.is_some()),
            ("secret", self.secret.is_some()),
            ("authorization", self.authorization.is_some()),
            ("keyword", self.keyword.is_some()),
            ("connect_timeout", self.connect_timeout.is_some()),
            ("read_timeout", self.read_timeout.is_some()),
            ("host", self.host.is_some()),
            ("port", self.port.is_some()),
            ("username", self.username.is_some()),
            ("password", self.password.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("cc", self.cc.is_some()),
            ("bcc", self.bcc.is_some()),
            ("subject", self.subject.is_some()),
            ("tls", self.tls.is_some()),
            ("timeout", self.timeout.is_some()),
            ("merge_window", self.merge_window.is_some()),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect()
    }
}

/// Without the feature `alerts` no handler can send messages.
#[cfg(not(feature = "alerts"))]
mod messages {
    use super::{Arc, ErrorHandler, HandlerDoc, Invalid};

    pub(super) fn handler(doc: HandlerDoc) -> Result<Arc<dyn ErrorHandler>, Invalid> {
        let valid = "log, ignore or throw: this program is built without the feature `alerts`";
        Err(Invalid::new("kind", format!("{:?}", doc.kind), valid))
    }
}

#[cfg(feature = "alerts")]
use super::messages;
