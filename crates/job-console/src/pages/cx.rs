//! Context of a page: the reader, the address, the time, and the fragments that the stream sends.

use std::cell::RefCell;
use std::sync::Arc;

use coordination::{GroupName, JobName};
use jiff::Timestamp;
use maud::{Markup, PreEscaped, html};
use operations::{Freshness, GroupSnapshot, JobLine, JobSnapshot};
use tokio::time::Instant;

use super::locale::Lang;
use super::prefs::Prefs;
use super::query::{Address, encoded};
use super::summary::{Summary, moment};
use crate::access::{Caller, Permission};
use crate::namespaces::Namespace;

/// Age of what a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    Loading,
    Current,
    /// Later changes are unknown since this time.
    Stale(Timestamp),
}

impl Age {
    pub(crate) fn of(freshness: Freshness, now: Timestamp) -> Self {
        match freshness {
            Freshness::Loading => Self::Loading,
            Freshness::Current => Self::Current,
            Freshness::Stale { since } => {
                let age = Instant::now().saturating_duration_since(since);
                Self::Stale(now.checked_sub(age).unwrap_or(now))
            }
        }
    }
}

/// A part of a page that the stream sends when it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) id: String,
    pub(crate) html: String,
    /// Parts that can be sent alone: id and markup. The whole is sent if their ids have changed.
    pub(crate) rows: Vec<(String, String)>,
}

/// Context of a page.
#[derive(Debug)]
pub(crate) struct Cx<'a> {
    pub(crate) prefs: Prefs,
    /// The way from the page to the root of the console.
    pub(crate) root: &'a str,
    pub(crate) address: &'a Address,
    pub(crate) namespaces: &'a [&'a str],
    pub(crate) caller: &'a Caller,
    pub(crate) can_sign_out: bool,
    pub(crate) summary: &'a Summary,
    /// The namespace, if the page is about one.
    pub(crate) source: Option<&'a Namespace>,
    pub(crate) age: Age,
    pub(crate) now: Timestamp,
    /// True if the stream renders the page: relative times are left to the browser, so that a
    /// fragment does not change by time alone.
    pub(crate) is_stream: bool,
    pub(crate) fragments: RefCell<Vec<Fragment>>,
}

impl Cx<'_> {
    pub(crate) fn lang(&self) -> Lang {
        self.prefs.lang
    }

    /// Returns a job as the read model shows it.
    pub(crate) fn snapshot(&self, job: &str) -> Option<Arc<JobSnapshot>> {
        self.source?.live.job(&JobName::new(job).ok()?)
    }

    /// Returns the group of a job as the read model shows it.
    pub(crate) fn group_of(&self, job: &JobSnapshot) -> Option<Arc<GroupSnapshot>> {
        self.source?.live.group_of(job)
    }

    /// Returns the next fire of a job, if an instance will start it.
    pub(crate) fn next_fire(&self, job: &JobLine) -> Option<Timestamp> {
        if job.status.fire_need().is_some() {
            return None;
        }
        let name = JobName::new(&job.job_name).ok()?;
        moment(self.source?.live.next_fire(&name, self.now.as_millisecond()))
    }

    /// Returns the address of a page below the root of the console.
    pub(crate) fn href(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    /// Returns the name of the namespace, if the page is about one.
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.source.map(|namespace| namespace.name.as_str())
    }

    /// Returns the address of a page of this namespace; without one, that of the start.
    pub(crate) fn here(&self, path: &str) -> String {
        let Some(namespace) = self.namespace().map(encoded) else { return self.href("") };
        let separator = if path.is_empty() || path.starts_with('?') { "" } else { "/" };
        self.href(&format!("n/{namespace}{separator}{path}"))
    }

    pub(crate) fn job(&self, job: &str) -> String {
        self.here(&format!("jobs/{}", encoded(job)))
    }

    pub(crate) fn server(&self, ip: &str) -> String {
        self.here(&format!("servers/{}", encoded(ip)))
    }

    pub(crate) fn group(&self, name: &GroupName) -> String {
        self.here(&format!("groups/{}", encoded(name.as_str())))
    }

    /// Returns this page with other values of some parameters.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> String {
        self.href(&self.address.with(changes))
    }

    /// Returns true if the caller may use an operation on a job, or on all jobs.
    pub(crate) fn may(&self, permission: Permission, job: Option<&str>) -> bool {
        self.caller.check(permission, job).is_ok()
    }

    /// Returns a duration in words.
    pub(crate) fn length(&self, length: jiff::SignedDuration) -> String {
        super::time::precise(self.lang(), length)
    }

    /// Returns an element that the stream sends when its content has changed.
    pub(crate) fn live(&self, id: &str, content: &Markup) -> Markup {
        let element = html! { div id=(id) { (content) } };
        self.register(id, &element, Vec::new());
        element
    }

    /// Returns a part of a line that the stream sends when its content has changed.
    pub(crate) fn live_inline(&self, id: &str, content: &Markup) -> Markup {
        let element = html! { span id=(id) { (content) } };
        self.register(id, &element, Vec::new());
        element
    }

    /// Returns the body of a table whose rows the stream sends one by one. Each row has the id that
    /// is given with it.
    pub(crate) fn live_rows(&self, id: &str, rows: Vec<(String, Markup)>) -> Markup {
        let element = html! { tbody id=(id) data-rows { @for (_, row) in &rows { (row) } } };
        self.register(id, &element, rows);
        element
    }

    /// Returns cells that the stream sends one by one.
    pub(crate) fn live_cells(&self, id: &str, rows: Vec<(String, Markup)>) -> Markup {
        let element = html! { div.cells id=(id) data-rows { @for (_, row) in &rows { (row) } } };
        self.register(id, &element, rows);
        element
    }

    /// Keeps a fragment for the stream. A page that is loaded is sent as a whole.
    pub(crate) fn register(&self, id: &str, element: &Markup, rows: Vec<(String, Markup)>) {
        if !self.is_stream {
            return;
        }
        let rows = rows.into_iter().map(|(id, PreEscaped(html))| (id, html)).collect();
        let fragment = Fragment { id: id.to_owned(), html: element.0.clone(), rows };
        self.fragments.borrow_mut().push(fragment);
    }
}
