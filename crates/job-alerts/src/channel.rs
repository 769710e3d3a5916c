//! By what way alerts go.

use async_trait::async_trait;

use crate::AlertError;
use crate::alert::Alert;

/// A way to somebody.
#[async_trait]
pub(crate) trait Channel: Send + Sync + 'static {
    /// Returns the type of error handler that this is, as configurations name it.
    fn name(&self) -> &'static str;

    /// Sends an alert. It ends by itself.
    async fn send(&self, alert: &Alert) -> Result<(), AlertError>;
}
