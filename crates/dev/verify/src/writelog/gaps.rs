//! Ends of sessions in a gap of the log's feed.

use std::fmt::Debug;
use std::time::Instant;

use async_trait::async_trait;
use reg_center::{NodePath, Revision};

use super::error::ReadError;
use super::reader::{ARRIVAL_LIMIT, LOOK_AGAIN};
use super::seen::OpenSession;

/// Failure of a lookup, which is tried again.
pub type LookupError = Box<dyn std::error::Error + Send + Sync>;

/// Finds deletions that a feed has not shown, because they happened in a gap of it.
#[async_trait]
pub trait Deletions: Debug + Send + Sync {
    /// Returns the revision at which a node was deleted that was created at the revision `created`
    /// and never again; `None` if the registry does not have it.
    ///
    /// # Errors
    /// [`LookupError`] if the registry cannot be reached.
    async fn deletion(
        &self,
        path: &NodePath,
        created: Revision,
    ) -> Result<Option<Revision>, LookupError>;
}

/// Finds out at which revision a session ended.
pub(super) async fn look_up(
    OpenSession { path, session, created }: &OpenSession,
    deletions: Option<&dyn Deletions>,
) -> Result<Revision, ReadError> {
    let (unknown, deadline) =
        (ReadError::End { session: *session }, Instant::now() + ARRIVAL_LIMIT);
    let Some(deletions) = deletions else { return Err(unknown) };
    loop {
        match deletions.deletion(path, *created).await {
            Ok(found) => return found.ok_or(unknown),
            Err(error) if Instant::now() >= deadline => {
                return Err(ReadError::Lookup { session: *session, reason: error.to_string() });
            }
            // The registry may be down again.
            Err(_) => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}
