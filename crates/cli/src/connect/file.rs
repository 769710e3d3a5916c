//! Registry files.

use std::sync::Arc;

use reg_center::RegistryCenter;
use reg_center_sqlite::SqliteCenter;

use super::Place;
use crate::fault::{Exit, Fault};
use crate::target::RegistryFile;

/// Opens the file.
pub(super) async fn open(
    file: &RegistryFile,
    place: &Place,
) -> Result<Arc<dyn RegistryCenter>, Fault> {
    if !place.may_create && !file.exists()? {
        return Err(place.absent());
    }
    let mut options = file.options.clone();
    if let Some(timeout) = place.session_timeout {
        options = options.session_timeout(timeout);
    }
    let opened =
        tokio::time::timeout(place.connect.connect_timeout, SqliteCenter::connect(options));
    match opened.await {
        Ok(Ok(center)) => Ok(center),
        Ok(Err(reg_center_sqlite::OpenError::Options(error))) => {
            let text = error.to_string();
            Err(Fault::usage(format!("--{}", text.replacen('_', "-", 1))))
        }
        Ok(Err(error @ reg_center_sqlite::OpenError::Damaged { .. })) => {
            Err(Fault::refused(format!("{error}; valid is a file that `ejob worker` has created")))
        }
        Ok(Err(error)) => Err(Fault::refused(error)),
        Err(_) => Err(Fault::new(
            Exit::Unreachable,
            format!(
                "{} could not be opened within {:?}; check that no other program has locked it",
                file.path().display(),
                place.connect.connect_timeout
            ),
        )),
    }
}
