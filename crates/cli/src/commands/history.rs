//! `history`: what has become of fires, and what else happened, from a store that `job-history` keeps.

use std::path::{Path, PathBuf};

use clap::Args;
use coordination::JobName;
use jiff::Timestamp;
use job_history::{
    EventQuery, EventRecord, FireOutcome, FireQuery, FireRecord, History, HistoryOptions,
};
use serde_json::{Value, json};
use sharding::ShardingItem;

use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Page, table};
use crate::text::{job_name, or_dash, timestamp};

/// The variable that holds where a history is kept, perhaps with a password.
const HISTORY: &str = "EJOB_HISTORY";
/// The variable that holds the password of a history's store.
const PASSWORD: &str = "EJOB_HISTORY_PASSWORD";

/// Where a history is kept.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    /// Where the history is: sqlite:PATH, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE
    #[arg(long, env = HISTORY, hide_env_values = true, value_name = "URL")]
    pub(crate) history: Option<String>,
    /// A file with the password of its user; or set EJOB_HISTORY_PASSWORD to that
    #[arg(long, value_name = "FILE")]
    pub(crate) history_password_file: Option<PathBuf>,
}

impl StoreArguments {
    /// Returns the options of the store; `None` if none is named.
    pub(crate) fn options(&self) -> Result<Option<HistoryOptions>, Fault> {
        let Some(url) = self.history.as_deref().filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let is_set = std::env::var(HISTORY).is_ok_and(|set| set == url);
        if has_password(url) && !is_set {
            return Err(Fault::usage(format!(
                "--history has a password in it, which everybody on this host can see; give it by --history-password-file, or set {PASSWORD} or {HISTORY}"
            )));
        }
        let named = |error: job_history::Error| Fault::usage(format!("--history: {error}"));
        let options = HistoryOptions::url(url).map_err(named)?;
        Ok(Some(match self.password()? {
            Some(password) => options.password(password),
            None => options,
        }))
    }

    fn password(&self) -> Result<Option<String>, Fault> {
        let Some(path) = &self.history_password_file else {
            return Ok(std::env::var(PASSWORD).ok().filter(|password| !password.is_empty()));
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            Fault::usage(format!("--history-password-file {path} cannot be read: {error}"))
        })?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// A file that is only looked at is not made.
    fn check_there(&self) -> Result<(), Fault> {
        let path = self.history.as_deref().and_then(|url| url.strip_prefix("sqlite:"));
        let path = path.map(|path| Path::new(path.strip_prefix("//").unwrap_or(path)));
        match path.filter(|path| !path.exists()) {
            Some(path) => Err(Fault::not_found(format!(
                "there is no history at {}; check --history",
                path.display()
            ))),
            None => Ok(()),
        }
    }
}

/// Returns true if a URL has a password, before its host or among its parameters.
fn has_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let in_parameters = parameters.split('&').any(|parameter| parameter.starts_with("password="));
    user.is_some_and(|user| user.contains(':')) || in_parameters
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// Only this job
    #[arg(value_parser = job_name)]
    job: Option<JobName>,
    #[command(flatten)]
    store: StoreArguments,
    /// Only this item
    #[arg(long, conflicts_with = "events", value_parser = crate::text::item)]
    item: Option<u32>,
    /// Only fires with this outcome, such as failed, missed, gap
    #[arg(long, value_name = "WORD", conflicts_with = "events")]
    outcome: Option<String>,
    /// Only from this time on
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    from: Option<Timestamp>,
    /// Only before this time
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    until: Option<Timestamp>,
    /// At most so many, the latest first
    #[arg(long, value_name = "COUNT", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// How many fires ended in which way, in place of each
    #[arg(long, conflicts_with = "events")]
    counts: bool,
    /// What else happened, in place of fires
    #[arg(long)]
    events: bool,
}

impl HistoryArguments {
    pub(crate) async fn run(self, _: &Context<'_>) -> Result<Page, Fault> {
        let options = self.store.options()?.ok_or_else(|| {
            Fault::usage("--history is missing; give it, such as --history sqlite:history.db, or set EJOB_HISTORY")
        })?;
        self.store.check_there()?;
        let history = History::open(options).await?;
        let page = self.page(&history).await;
        // Nothing was written that could be lost.
        let _ = history.close(std::time::Duration::from_secs(1)).await;
        page
    }

    async fn page(&self, history: &History) -> Result<Page, Fault> {
        if self.events {
            let page = history.events(&self.event_query(), self.limit, None).await?;
            let rows = page.events.iter().map(event_row);
            let text = shown(&["WHEN", "JOB", "WHAT", "TEXT"], rows, page.next.is_some());
            let events: Vec<Value> = page.events.iter().map(event_document).collect();
            return Ok(Page::new(text, &json!({ "events": events, "more": page.next.is_some() })));
        }
        if self.counts {
            let counts = history.counts(&self.fire_query()).await?;
            let rows = counts.iter().map(|count| {
                vec![count.job.clone(), count.outcome.to_string(), count.fires.to_string()]
            });
            let text = shown(&["JOB", "OUTCOME", "FIRES"], rows, false);
            let counts = counts.iter().map(|count| {
                json!({ "job": count.job, "outcome": count.outcome.as_str(), "fires": count.fires })
            });
            return Ok(Page::new(text, &json!({ "counts": counts.collect::<Vec<_>>() })));
        }
        let page = history.fires(&self.fire_query(), self.limit, None).await?;
        let headings = ["FIRE", "JOB", "ITEM", "OUTCOME", "SOURCE", "INSTANCE", "ENDED", "REASON"];
        let text = shown(&headings, page.fires.iter().map(fire_row), page.next.is_some());
        let fires: Vec<Value> = page.fires.iter().map(fire_document).collect();
        Ok(Page::new(text, &json!({ "fires": fires, "more": page.next.is_some() })))
    }

    fn fire_query(&self) -> FireQuery {
        let mut query = FireQuery::default();
        if let Some(job) = &self.job {
            query = query.job(job.as_str());
        }
        if let Some(item) = self.item {
            query = query.item(ShardingItem::new(item));
        }
        if let Some(outcome) = &self.outcome {
            query = query.outcome(FireOutcome::new(outcome.as_str()));
        }
        if let Some(from) = self.from {
            query = query.from(from);
        }
        if let Some(until) = self.until {
            query = query.until(until);
        }
        query
    }

    fn event_query(&self) -> EventQuery {
        let mut query = EventQuery::default();
        if let Some(job) = &self.job {
            query = query.job(job.as_str());
        }
        if let Some(from) = self.from {
            query = query.from(from);
        }
        if let Some(until) = self.until {
            query = query.until(until);
        }
        query
    }
}

fn shown(headings: &[&str], rows: impl Iterator<Item = Vec<String>>, more: bool) -> String {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return "nothing\n".to_owned();
    }
    let more = if more { "there is more: raise --limit, or lower --until\n" } else { "" };
    table(headings, rows) + more
}

fn fire_row(fire: &FireRecord) -> Vec<String> {
    vec![
        fire.fire.to_string(),
        fire.job.clone(),
        fire.item.to_string(),
        fire.outcome.to_string(),
        or_dash(fire.source),
        or_dash(fire.instance.as_ref()),
        or_dash(fire.ended),
        why(fire),
    ]
}

/// The reason, and for a gap its end and how many fires it has.
fn why(fire: &FireRecord) -> String {
    let reason = fire.reason.clone().unwrap_or_default();
    let is_gap = fire.outcome.as_str() == FireOutcome::gap().as_str();
    let Some(until) = fire.gap_until.filter(|_| is_gap) else { return reason };
    match fire.gap_count {
        Some(1) => format!("1 fire was not run: {reason}"),
        Some(count) => format!("{count} fires up to before {until} were not run: {reason}"),
        None => format!("the fires up to before {until} were not run: {reason}"),
    }
}

fn fire_document(fire: &FireRecord) -> Value {
    json!({
        "job": fire.job,
        "item": fire.item.index(),
        "fire": fire.fire.to_string(),
        "outcome": fire.outcome.as_str(),
        "reason": fire.reason,
        "source": fire.source.map(|source| source.to_string()),
        "token": fire.token.map(|token| token.0),
        "instance": fire.instance.as_ref().map(ToString::to_string),
        "began": time(fire.began),
        "ended": time(fire.ended),
        "left_by": fire.left_by.as_ref().map(ToString::to_string),
        "gap_until": time(fire.gap_until),
        "gap_count": fire.gap_count,
    })
}

fn event_row(event: &EventRecord) -> Vec<String> {
    vec![event.at.to_string(), event.job.clone(), event.kind.clone(), event.text.clone()]
}

fn event_document(event: &EventRecord) -> Value {
    json!({
        "at": event.at.to_string(),
        "job": event.job,
        "instance": event.instance.as_ref().map(ToString::to_string),
        "kind": event.kind,
        "item": event.item.map(|item| item.index()),
        "fire": time(event.fire),
        "text": event.text,
    })
}

fn time(time: Option<Timestamp>) -> Option<String> {
    time.map(|time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_noticed_wherever_it_stands() {
        let rows = [
            ("sqlite:history.db", false),
            ("sqlite:/a:b@c/d", false),
            ("postgres://user@host/database", false),
            ("postgres://host:5432/database", false),
            ("postgres://user@host/a:b@c", false),
            ("postgres://user:secret@host/database", true),
            ("mysql://user:p@ss@host:3306/database", true),
            ("postgres://user@host/database?password=secret", true),
            ("postgres://user@host/database?sslmode=require&password=secret", true),
        ];
        for (url, expected) in rows {
            assert_eq!(has_password(url), expected, "{url}");
        }
    }
}
