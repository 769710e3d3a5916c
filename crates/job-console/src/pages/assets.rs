//! Files of the pages, embedded in the program. The address of each has the hash of its content, so
//! that browsers may keep it for ever.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::problem::{Answer, Problem};
use crate::routes::Routes;

/// An embedded file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asset {
    stem: &'static str,
    extension: &'static str,
    kind: &'static str,
    content: &'static str,
}

pub(crate) const STYLE: Asset = Asset {
    stem: "console",
    extension: "css",
    kind: "text/css; charset=utf-8",
    content: include_str!("../../assets/console.css"),
};

pub(crate) const SCRIPT: Asset = Asset {
    stem: "console",
    extension: "js",
    kind: "text/javascript; charset=utf-8",
    content: concat!(include_str!("../../assets/live.js"), include_str!("../../assets/console.js")),
};

/// Idiomorph 0.8.0 (0BSD; its licence is beside it), which changes elements in place.
pub(crate) const MORPH: Asset = Asset {
    stem: "idiomorph",
    extension: "js",
    kind: "text/javascript; charset=utf-8",
    content: include_str!("../../assets/idiomorph-0.8.0.min.js"),
};

pub(crate) const ICON: Asset = Asset {
    stem: "icon",
    extension: "svg",
    kind: "image/svg+xml",
    content: include_str!("../../assets/icon.svg"),
};

const ALL: [Asset; 4] = [STYLE, SCRIPT, MORPH, ICON];

impl Asset {
    /// Returns the path below the root of the console.
    pub(crate) fn path(&self) -> String {
        format!("assets/{}", self.file())
    }

    fn file(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.content.hash(&mut hasher);
        format!("{}-{:016x}.{}", self.stem, hasher.finish(), self.extension)
    }
}

/// Adds the route of the files, which needs no permission: they have no data, and the sign-in page
/// needs them.
pub(super) fn add(routes: Routes) -> Routes {
    routes.public("/assets/{file}", get(file)).public("/favicon.ico", get(icon))
}

/// Returns the icon at the address that a browser tries for a document without links, such as that
/// of the API.
async fn icon() -> Response {
    ([(CONTENT_TYPE, ICON.kind), (CACHE_CONTROL, "public, max-age=86400")], ICON.content)
        .into_response()
}

async fn file(Path(name): Path<String>) -> Answer<Response> {
    let asset = ALL.iter().find(|asset| asset.file() == name);
    let asset = asset.ok_or_else(|| {
        let detail = format!("the console has no file {name:?}; load the page again");
        Problem::not_found("no-such-file", detail)
    })?;
    let headers =
        [(CONTENT_TYPE, asset.kind), (CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, asset.content).into_response())
}
