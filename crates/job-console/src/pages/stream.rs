//! The stream of a page: the fragments that have changed, as server-sent events.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::{FutureExt as _, Stream, stream};
use jiff::Timestamp;
use operations::{LiveNamespace, Updates};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep};

use super::Asked;
use super::cx::Fragment;
use super::history::Past;
use super::prefs::Prefs;
use super::query::{Address, root_of};
use super::request::PageRequest;
use super::shell::register_frame;
use super::view::View;
use crate::access::Caller;
use crate::api::scan;
use crate::findings::Findings;
use crate::namespaces::Namespaces;
use crate::problem::{Answer, Problem};

/// Maximum number of streams at the same time. Each is a visible tab of a browser.
const MAX_STREAMS: usize = 512;
/// Minimum distance of two updates of a page.
const INTERVAL: Duration = Duration::from_millis(100);
/// Minimum distance of two updates of the numbers beside the sections, which depend on all jobs. A
/// shorter one would render and draw each page of a job at the changes of all others.
const FRAME_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which the server sends a beat if nothing has changed. The browser takes a stream for
/// cut that is silent for two seconds.
const BEAT: Duration = Duration::from_millis(500);
/// Time after which the history is asked again. The page is rendered with each answer, also because
/// a fire may be late by then.
const REFRESH: Duration = Duration::from_secs(5);

/// Time after which a stream ends. The page opens the next one soon, and the console checks
/// again who it is.
const LIFETIME: Duration = Duration::from_secs(300);

/// Bound of the number of streams.
#[derive(Clone, Debug)]
pub(crate) struct Streams(Arc<Semaphore>);

impl Default for Streams {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_STREAMS)))
    }
}

/// One open stream.
struct Follower {
    request: PageRequest,
    view: View,
    /// Changes of what the page is about: of its job, or of all jobs.
    updates: Updates,
    /// Changes of all jobs, for the frame of the page.
    frame: Updates,
    /// Changes of the stored state of watchers.
    watched: watch::Receiver<u64>,
    /// Last answer of the history. Nothing is sent before the first one.
    past: Option<Arc<Past>>,
    question: Option<BoxFuture<'static, Past>>,
    asked_at: Option<Instant>,
    sent: Sent,
    ends: Instant,
    _permit: OwnedSemaphorePermit,
}

pub(super) async fn stream(
    State(namespaces): State<Arc<Namespaces>>,
    State(streams): State<Streams>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
) -> Answer<Response> {
    let wanted = Address::of(&uri);
    let page = wanted.value("page").unwrap_or_default();
    let page = format!("/{page}").parse::<Uri>().map_err(|error| {
        Problem::invalid(format!("page is {page:?}; valid is the address of a page ({error})"))
    })?;
    let address = Address::of(&page);
    let name = wanted.segments.get(1).map(String::as_str).unwrap_or_default();
    if address.segments.get(1).map(String::as_str) != Some(name) {
        let detail = format!("page is {page:?}; valid is a page of namespace {name:?}");
        return Err(Problem::invalid(detail));
    }
    let namespace = Arc::clone(namespaces.get(name)?);
    let view = View::at(&address)?;
    let permit = Arc::clone(&streams.0).try_acquire_owned().map_err(|_| {
        let detail = format!("{MAX_STREAMS} pages are open already; close one of them");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-streams", detail)
    })?;
    let prefs = Prefs::of(&address, &headers);
    let (root, now) = (root_of(&page), Timestamp::now());
    // The menu with the sign-out is no part of the stream.
    let asked = Asked { is_stream: true, address, root, prefs, caller, can_sign_out: false, now };
    let follower = Follower {
        updates: updates_of(&view, &namespace.live),
        frame: namespace.live.updates(FRAME_INTERVAL),
        watched: namespace.alerts.stored.changes(),
        request: PageRequest { asked, namespace, namespaces },
        view,
        past: None,
        question: None,
        asked_at: None,
        sent: Sent::default(),
        ends: Instant::now() + LIFETIME,
        _permit: permit,
    };
    let headers = [("x-accel-buffering", "no")];
    Ok((headers, Sse::new(follower.events())).into_response())
}

fn updates_of(view: &View, live: &LiveNamespace) -> Updates {
    match view.job() {
        Some(job) => live.job_updates(job, INTERVAL),
        None => live.updates(INTERVAL),
    }
}

impl Follower {
    fn events(self) -> impl Stream<Item = Result<Event, Infallible>> {
        stream::unfold(Some(self), async |follower| {
            let mut follower = follower?;
            let (event, is_over) = follower.next().await;
            let goes_on = !is_over && Instant::now() < follower.ends;
            Some((Ok(event), goes_on.then_some(follower)))
        })
    }

    /// Waits for the next event. The last one says that the page is gone or the registry closed.
    ///
    /// A history that does not answer delays neither changes of jobs nor beats.
    async fn next(&mut self) -> (Event, bool) {
        if self.asked_at.is_none_or(|last| last.elapsed() >= REFRESH) {
            self.asked_at = Some(Instant::now());
            self.question = Some(self.ask());
        }
        let answer = OptionFuture::from(self.question.as_mut());
        tokio::select! {
            Some(past) = answer => {
                self.question = None;
                self.past = Some(Arc::new(past));
            }
            update = self.updates.next(), if self.past.is_some() => {
                if update.is_none() {
                    return (Event::default().event("end").data("closed"), true);
                }
            }
            Some(_) = self.frame.next(), if self.past.is_some() => {}
            // The number of violations is in the frame of each page.
            Ok(()) = self.watched.changed(), if self.past.is_some() => {
                sleep(INTERVAL).await;
                self.watched.mark_unchanged();
            }
            () = sleep(BEAT) => return (beat(), false),
        }
        match self.render().await {
            // After a restart of the console, the page waits until its jobs are known again.
            Err(problem) if problem.code == Problem::LOADING => (beat(), false),
            // A page of a removed job is loaded again, and shows the problem.
            Err(problem) => (Event::default().event("end").data(problem.code), true),
            Ok(changed) if changed.is_empty() => (beat(), false),
            // A carriage return would end the line of an event.
            Ok(changed) => (Event::default().data(changed.replace('\r', "&#13;")), false),
        }
    }

    /// Asks the history for what the page shows.
    fn ask(&self) -> BoxFuture<'static, Past> {
        let (namespace, view) = (Arc::clone(&self.request.namespace), self.view.clone());
        let (address, now) = (self.request.asked.address.clone(), Timestamp::now());
        if !view.follows_history() {
            return async { Past::Unasked }.boxed();
        }
        async move { Past::of(&namespace, &view, &address, now, REFRESH).await }.boxed()
    }

    async fn render(&mut self) -> Answer<String> {
        self.request.asked.now = Timestamp::now();
        Findings::refresh(&self.request.namespace).await;
        let (request, view, past) = (self.request.clone(), self.view.clone(), self.past.clone());
        // The same work as that of the page itself, which can take long.
        let rendered = scan(move || {
            request.with_cx(|cx| {
                let jobs = view.snapshots(&request.namespace)?;
                let body = view.body(cx, &jobs, past.as_deref().unwrap_or(&Past::Unasked))?;
                register_frame(cx, body.section);
                let content = format!("<div id=\"content\">{}</div>", body.main.0);
                Ok::<_, Problem>((cx.fragments.take(), content))
            })
        });
        let (fragments, content) = rendered.await??;
        Ok(self.sent.changes(fragments, &content))
    }
}

fn beat() -> Event {
    // A browser drops events without data.
    Event::default().event("beat").data("beat")
}

/// Returns markup in a template of its own: a parser reads rows of a table only in one that begins
/// with a row.
fn packed(html: &str) -> String {
    format!("<template>{html}</template>")
}

/// Hashes of the fragments that a stream has sent.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Ids of the fragments, each with true if it has no rows: a text can become a table.
    ids: Vec<(String, bool)>,
    hashes: HashMap<String, u64>,
}

impl Sent {
    /// Returns the markup of everything that has changed since the last call.
    ///
    /// If the page has other fragments than before, its whole content is returned.
    pub(super) fn changes(&mut self, fragments: Vec<Fragment>, content: &str) -> String {
        let ids: Vec<_> =
            fragments.iter().map(|one| (one.id.clone(), one.rows.is_empty())).collect();
        let is_known = self.ids == ids;
        // Rows that are gone must not stay here for ever.
        let former = std::mem::take(&mut self.hashes);
        let frame = ["fresh", "banner", "nav"];
        let mut changed = String::new();
        for fragment in fragments {
            let html = self.change(&fragment, &former);
            if !html.is_empty() && (is_known || frame.contains(&fragment.id.as_str())) {
                changed.push_str(&packed(&html));
            }
        }
        if !is_known {
            changed.push_str(&packed(content));
            self.ids = ids;
        }
        changed
    }

    /// Returns the whole fragment, its changed rows, or nothing.
    fn change(&mut self, fragment: &Fragment, former: &HashMap<String, u64>) -> String {
        if fragment.rows.is_empty() {
            let is_new = self.is_new(former, &fragment.id, &fragment.html);
            return if is_new { fragment.html.clone() } else { String::new() };
        }
        let order: Vec<&str> = fragment.rows.iter().map(|(id, _)| id.as_str()).collect();
        let is_reordered = self.is_new(former, &fragment.id, &order);
        let rows = fragment.rows.iter();
        let changed: Vec<&str> = rows
            .filter(|(id, html)| self.is_new(former, id, html))
            .map(|(_, html)| html.as_str())
            .collect();
        if is_reordered { fragment.html.clone() } else { changed.concat() }
    }

    /// Stores the hash of a content, and returns true if it is another one than before.
    fn is_new(
        &mut self,
        former: &HashMap<String, u64>,
        id: &str,
        content: &(impl Hash + ?Sized),
    ) -> bool {
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        let hash = hasher.finish();
        self.hashes.insert(id.to_owned(), hash);
        former.get(id) != Some(&hash)
    }
}

#[cfg(test)]
mod tests {
    use reg_center::MemoryRegistry;

    use super::*;
    use crate::access::Role;
    use crate::namespaces::Namespace;

    #[tokio::test(start_paused = true)]
    async fn history_without_an_answer_delays_neither_beats_nor_changes() {
        let registry = Arc::new(MemoryRegistry::new().connect());
        let namespace = Arc::new(Namespace::follow("orders".to_owned(), registry, None));
        let uri: Uri = "/n/orders/jobs".parse().unwrap();
        let caller = Caller { name: "anna".to_owned(), role: Role::Viewer, jobs: "*".to_owned() };
        let asked = Asked::new(&uri, &HeaderMap::new(), caller);
        let asked = Asked { is_stream: true, ..asked };
        let mut follower = Follower {
            view: View::at(&asked.address).unwrap(),
            updates: namespace.live.updates(INTERVAL),
            frame: namespace.live.updates(FRAME_INTERVAL),
            watched: namespace.alerts.stored.changes(),
            request: PageRequest { asked, namespace, namespaces: Arc::default() },
            past: None,
            question: Some(futures_util::future::pending().boxed()),
            asked_at: Some(Instant::now()),
            sent: Sent::default(),
            ends: Instant::now() + LIFETIME,
            _permit: Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap(),
        };
        let begun = Instant::now();
        drop(follower.next().await);
        assert!(begun.elapsed() <= BEAT, "{:?}", begun.elapsed());
        assert!(follower.sent.ids.is_empty(), "the page is sent with the first answer");
        follower.past = Some(Arc::new(Past::None));
        while follower.sent.ids.is_empty() {
            drop(follower.next().await);
            assert!(begun.elapsed() < 4 * BEAT, "the change of the first snapshot is not sent");
        }
    }
}
