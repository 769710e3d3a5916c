//! Waits until a job reaches a state.

use std::time::Duration;

use coordination::{JobView, Layout};

use crate::{Error, Operations, Result, validate};

impl Operations {
    /// Follows a job until `wanted` holds; returns false if the deadline passes first.
    pub(crate) async fn watch_until(
        &self,
        layout: Layout,
        deadline: Duration,
        mut wanted: impl FnMut(&JobView) -> bool,
    ) -> Result<bool> {
        let mut feed = self.registry().watch(&layout.root());
        let root = layout.root();
        let mut view = JobView::new(layout).checked_by(validate::readable_schedule);
        let follow = async {
            loop {
                let Some(change) = feed.next().await else {
                    return Err(Error::registry(format!("following {root}"))(
                        reg_center::Error::Closed,
                    ));
                };
                // A node that cannot be read counts as absent, and the wait continues.
                let _ = view.apply(change);
                while let Some(change) = feed.try_next() {
                    let _ = view.apply(change);
                }
                if view.is_synced() && wanted(&view) {
                    return Ok(());
                }
            }
        };
        match tokio::time::timeout(deadline, follow).await {
            Ok(followed) => followed.map(|()| true),
            Err(_) => Ok(false),
        }
    }
}
