//! Channels that carry alerts.

use async_trait::async_trait;
use serde_json::Value;

use crate::AlertError;

/// Content of an alert, in the forms that the channels need.
pub(crate) trait Content: Sync {
    /// Returns a summary in one line, without control characters.
    fn subject(&self) -> String;

    /// Returns a text of at most `max` bytes for human readers.
    fn text(&self, max: usize) -> String;

    /// Returns the body of the request to a webhook.
    fn body(&self) -> Value;
}

/// A service that alerts are sent to.
#[async_trait]
pub(crate) trait Channel: Send + Sync + 'static {
    /// Returns the type of the error handler, as stored configurations name it.
    fn name(&self) -> &'static str;

    /// Sends an alert. The implementation limits its own duration.
    async fn send(&self, alert: &dyn Content) -> Result<(), AlertError>;
}
