//! Channels that carry alerts.

use async_trait::async_trait;

use crate::AlertError;
use crate::alert::Alert;

/// A service that alerts are sent to.
#[async_trait]
pub(crate) trait Channel: Send + Sync + 'static {
    /// Returns the type of the error handler, as stored configurations name it.
    fn name(&self) -> &'static str;

    /// Sends an alert. The implementation limits its own duration.
    async fn send(&self, alert: &Alert) -> Result<(), AlertError>;
}
