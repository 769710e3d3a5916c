//! `history`: outcomes of fires, and other events, from a store that `job-history` writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use coordination::JobName;
use jiff::Timestamp;
use job_history::{
    DropRecord, EventQuery, FireOutcome, FireQuery, History, HistoryOptions, OutcomeCount,
};
use serde_json::{Value, json};
use sharding::ShardingItem;

use super::history_rows::{
    COUNT_COLUMNS, EVENT_COLUMNS, FIRE_COLUMNS, event_document, event_row, fire_document, fire_row,
    lost_document,
};
use crate::connect::secret_file;
use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Column, Page, Table, Text, counted};
use crate::text::{job_name, time_or_age};

/// Variable with the URL of a history, perhaps with a password.
const HISTORY: &str = "EJOB_HISTORY";
/// Variable with the password of a history's store.
const PASSWORD: &str = "EJOB_HISTORY_PASSWORD";

/// Location of a history.
#[derive(Debug, Args)]
pub(crate) struct StoreArguments {
    /// URL of the history: sqlite:PATH, postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE
    #[arg(long, env = HISTORY, hide_env_values = true, value_name = "URL")]
    pub(crate) history: Option<String>,
    /// File with the password of the history's user; or set EJOB_HISTORY_PASSWORD to the password
    #[arg(long, value_name = "FILE")]
    pub(crate) history_password_file: Option<PathBuf>,
}

impl StoreArguments {
    /// Returns the options of the store; `None` if no URL is given.
    pub(crate) fn options(&self) -> Result<Option<HistoryOptions>, Fault> {
        let Some(url) = self.history.as_deref().filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let is_set = std::env::var(HISTORY).is_ok_and(|set| set == url);
        if has_password(url) && !is_set {
            return Err(Fault::usage(format!(
                "--history contains a password, which every user of this host can see; pass it with --history-password-file, or set {PASSWORD} or {HISTORY}"
            )));
        }
        let options = store_options("--history", url)?;
        Ok(Some(match self.password()? {
            Some(password) => options.password(password),
            None => options,
        }))
    }

    /// Returns true if the URL is an argument, not the value of the variable.
    pub(super) fn is_argument(&self) -> bool {
        self.history.is_some() && std::env::var(HISTORY).ok() != self.history
    }

    fn password(&self) -> Result<Option<String>, Fault> {
        let Some(path) = &self.history_password_file else {
            return Ok(std::env::var(PASSWORD).ok().filter(|password| !password.is_empty()));
        };
        let password = secret_file(path).map_err(|error| {
            let path = path.display();
            Fault::usage(format!("--history-password-file {path} cannot be read: {error}"))
        })?;
        Ok(Some(password))
    }

    /// Rejects a missing file, which opening the history would create.
    pub(super) fn check_exists(&self) -> Result<(), Fault> {
        self.history.as_deref().map_or(Ok(()), |url| check_exists("--history", url))
    }

    /// Returns the options of a store that exists: opening a missing file would create it.
    pub(crate) fn required_options(&self) -> Result<HistoryOptions, Fault> {
        let options = self.options()?.ok_or_else(|| {
            Fault::usage("--history is missing; give it, such as --history sqlite:history.db, or set EJOB_HISTORY")
        })?;
        self.check_exists()?;
        Ok(options)
    }
}

/// Opens a history, reads from it, and closes it.
pub(super) async fn reading<T>(
    options: HistoryOptions,
    read: impl AsyncFnOnce(&History) -> T,
) -> Result<T, Fault> {
    let history = History::open(options).await?;
    let answer = read(&history).await;
    // Nothing was written, so closing cannot lose records.
    let _ = history.close(Duration::from_secs(1)).await;
    Ok(answer)
}

/// Rejects a missing file, which opening the history would create. `option` names the URL.
pub(super) fn check_exists(option: &str, url: &str) -> Result<(), Fault> {
    let path = url.strip_prefix("sqlite:");
    let path = path.map(|path| Path::new(path.strip_prefix("//").unwrap_or(path)));
    match path.filter(|path| !path.exists()) {
        Some(path) => Err(Fault::not_found(format!(
            "there is no history at {}; check {option}",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Returns the options of a store without its password. `option` names the URL.
pub(super) fn store_options(option: &str, url: &str) -> Result<HistoryOptions, Fault> {
    let named = |error: job_history::Error| {
        // Any other text may have a password.
        let is_path = url.ends_with(".db") && !url.contains([':', '@']);
        let question = is_path.then(|| format!("did you mean sqlite:{url}?"));
        Fault::usage(format!("{option}: {error}")).with_question(question)
    };
    let options = HistoryOptions::url(url).map_err(named)?;
    check_built(option, url)?;
    Ok(options)
}

/// Rejects stores that this program was built without.
fn check_built(option: &str, url: &str) -> Result<(), Fault> {
    let (servers, feature, is_built) = match url.split(':').next() {
        Some("postgres" | "postgresql") => ("PostgreSQL", "postgres", cfg!(feature = "postgres")),
        Some("mysql" | "mariadb") => ("MySQL and MariaDB", "mysql", cfg!(feature = "mysql")),
        _ => return Ok(()),
    };
    if is_built {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "{option}: this ejob was built without {servers}; install one with \
         `cargo install --locked --path crates/cli --features {feature}`, or name a file, such as sqlite:history.db"
    )))
}

/// Returns true if a URL has a password, before its host or in its parameters.
pub(super) fn has_password(url: &str) -> bool {
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
    #[arg(long, value_name = "WORD", conflicts_with = "events",
        value_parser = PossibleValuesParser::new(FireOutcome::words()))]
    outcome: Option<String>,
    /// Only from this time on: 2024-02-29T12:00:00Z, 2024-02-29 in UTC, or 5m for five minutes ago
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    from: Option<Timestamp>,
    /// Only before this time, written as for --from
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    until: Option<Timestamp>,
    /// At most this many records, the latest first
    #[arg(long, value_name = "COUNT", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Show the number of fires for each outcome, instead of each fire
    #[arg(long, conflicts_with = "events")]
    counts: bool,
    /// Show other events, instead of fires
    #[arg(long)]
    events: bool,
}

impl HistoryArguments {
    pub(crate) async fn run(self, _: &Context<'_>) -> Result<Page, Fault> {
        reading(self.store.required_options()?, async |history| self.page(history).await).await?
    }

    async fn page(&self, history: &History) -> Result<Page, Fault> {
        let (columns, rows, more, mut document) = self.answer(history).await?;
        let lost = history.drops(self.from, self.until).await?;
        let mut text = if rows.is_empty() {
            Text::from(self.nothing(history).await?)
        } else {
            Table::new(columns, rows).into()
        };
        if more {
            text.push_str("more records exist: raise --limit, or lower --until\n");
        }
        text.push_str(&lost_lines(&lost));
        document["lost"] = lost.iter().map(lost_document).collect();
        Ok(Page::new(text, &document))
    }

    /// Returns columns, rows, whether more rows exist, and the document.
    async fn answer(&self, history: &History) -> Result<Answer, Fault> {
        if self.events {
            let page = history.events(&self.event_query(), self.limit, None).await?;
            let more = page.next.is_some();
            let events: Vec<Value> = page.events.iter().map(event_document).collect();
            let document = json!({ "events": events, "more": more });
            return Ok((
                &EVENT_COLUMNS,
                page.events.iter().map(event_row).collect(),
                more,
                document,
            ));
        }
        if self.counts {
            let counts = history.counts(&self.fire_query()).await?;
            let row = |count: &OutcomeCount| {
                vec![count.job.clone(), count.outcome.to_string(), count.fires.to_string()]
            };
            let rows = counts.iter().map(row).collect();
            let counts = counts.iter().map(|count| {
                json!({ "job": count.job, "outcome": count.outcome.as_str(), "fires": count.fires })
            });
            let document = json!({ "counts": counts.collect::<Vec<_>>() });
            return Ok((&COUNT_COLUMNS, rows, false, document));
        }
        let page = history.fires(&self.fire_query(), self.limit, None).await?;
        let more = page.next.is_some();
        let fires: Vec<Value> = page.fires.iter().map(fire_document).collect();
        let document = json!({ "fires": fires, "more": more });
        Ok((&FIRE_COLUMNS, page.fires.iter().map(fire_row).collect(), more, document))
    }

    /// Returns the text of an empty answer, which repeats the conditions.
    ///
    /// A job without any record is reported as not found.
    async fn nothing(&self, history: &History) -> Result<String, Fault> {
        let store = history.store();
        if let Some(job) = &self.job {
            let fires = history.fires(&FireQuery::default().job(job.as_str()), 1, None).await?;
            let events = history.events(&EventQuery::default().job(job.as_str()), 1, None).await?;
            if fires.fires.is_empty() && events.events.is_empty() {
                let hint = "without a name `ejob history` shows all jobs";
                return Err(Fault::not_found(format!(
                    "{store} has no records of a job {job}; {hint}"
                )));
            }
        }
        let conditions = [
            self.job.as_ref().map(|job| format!("of job {job}")),
            self.item.map(|item| format!("of item {item}")),
            self.outcome.as_ref().map(|outcome| format!("with outcome {outcome}")),
            self.from.map(|from| format!("from {}", in_seconds(from))),
            self.until.map(|until| format!("before {}", in_seconds(until))),
        ];
        let conditions: String =
            conditions.iter().flatten().map(|text| format!(" {text}")).collect();
        let what = if self.events { "events" } else { "fires" };
        Ok(format!("no {what}{conditions} in {store}\n"))
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

/// Describes the records that the store has lost, one line for each time.
pub(super) fn lost_lines(lost: &[DropRecord]) -> String {
    let lines = lost.iter().map(|DropRecord { first, last, dropped, .. }| {
        let records = counted(usize::try_from(*dropped).unwrap_or(usize::MAX), "record");
        format!("lost: {records} from {first} to {last}: the store could not write them\n")
    });
    lines.collect()
}

/// Formats a time without its fraction: an age gives nanoseconds that no user has written.
pub(super) fn in_seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Columns, rows, whether more rows exist, and the document.
type Answer = (&'static [Column], Vec<Vec<String>>, bool, Value);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_in_a_url_is_detected() {
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
