//! Errors of etcd.

use reg_center_etcd::ConnectError;

use super::of_option;
use crate::fault::{Exit, Fault};
use crate::target::ServerTarget;

#[expect(clippy::wildcard_enum_match_arm, reason = "the text of every other reason is enough")]
pub(super) fn fault(error: ConnectError, target: &ServerTarget) -> Fault {
    let named_by = target.named_by.servers();
    match error {
        ConnectError::Options(error) => of_option(&error.to_string(), named_by),
        ConnectError::Unreachable { .. } | ConnectError::Tls { .. } => Fault::new(
            Exit::Unreachable,
            format!("{error}; check {named_by} and that the servers run"),
        ),
        ConnectError::Credentials { .. } => Fault::new(
            Exit::NotAuthorized,
            format!("{error}; check the user in {named_by} and password_file (or ETCD_PASSWORD)"),
        ),
        ConnectError::Registry(error) => error.into(),
        error => Fault::refused(error),
    }
}
