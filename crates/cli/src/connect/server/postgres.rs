//! Errors of PostgreSQL databases.

use reg_center_postgres::OpenError;

use super::of_option;
use crate::connect::Place;
use crate::fault::{Exit, Fault};
use crate::target::ServerTarget;

#[expect(clippy::wildcard_enum_match_arm, reason = "the text of every other reason is enough")]
pub(super) fn fault(error: OpenError, target: &ServerTarget, place: &Place) -> Fault {
    let named_by = target.named_by.servers();
    match error {
        OpenError::Options(error) => of_option(&error.to_string(), named_by),
        OpenError::NoSchema { .. } => place.absent(),
        OpenError::Unreachable { .. } | OpenError::NoDatabase { .. } | OpenError::Tls { .. } => {
            Fault::new(
                Exit::Unreachable,
                format!("{error}; check {named_by} and that the server runs"),
            )
        }
        OpenError::Refused { .. } => Fault::new(
            Exit::NotAuthorized,
            format!("{error}; check the user in {named_by} and password_file (or PGPASSWORD)"),
        ),
        error => Fault::refused(error),
    }
}
