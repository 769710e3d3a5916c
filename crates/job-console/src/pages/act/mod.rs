//! Operations: a page that shows exactly what will change and asks for the reason, and the request
//! that performs it.

mod form;
mod perform;
mod target;

use axum::http::Method;
use axum::routing::{get, post};

use crate::access::Permission;
use crate::pages::locale::Lang;
use crate::routes::Routes;
pub(super) use form::{entries, is_done, result};
use target::{Operation, Subject};

/// Adds the operations, each with its own route and permission.
pub(super) fn add(mut routes: Routes) -> Routes {
    for subject in [Subject::Job, Subject::Server] {
        for operation in Operation::ALL.into_iter().filter(|one| one.is_for(subject)) {
            let path = format!("{}/act/{}", subject.path(), operation.word());
            let permission = operation.permission();
            routes = routes.page(permission, &Method::GET, &path, get(form::show)).page(
                permission,
                &Method::POST,
                &path,
                post(perform::perform),
            );
        }
    }
    routes
}

/// Returns the title of the operation that a word names.
pub(super) fn act_title(lang: Lang, word: &str) -> Option<String> {
    let known = Operation::ALL.into_iter().find(|one| one.word() == word);
    known.map(|operation| lang.act_title(operation.word()))
}

impl Operation {
    /// Returns the permission that the operation needs.
    pub(super) fn permission(self) -> Permission {
        match self {
            Self::Run | Self::Rerun => Permission::Run,
            Self::Cancel => Permission::Cancel,
            Self::Pause | Self::Resume => Permission::Pause,
            Self::Disable | Self::Enable => Permission::Disable,
            Self::Drain => Permission::Drain,
            Self::ShutDown => Permission::ShutDown,
            Self::Remove => Permission::Remove,
        }
    }
}
