//! Output of the runs of one fire.

use std::time::Duration;

use axum::Json;
use jiff::Timestamp;
use job_history::{FireQuery, History, OutputQuery, OutputRecord, OutputStream};
use serde::{Deserialize, Serialize};
use sharding::ShardingItem;

use super::history::history;
use super::input::Query;
use super::paging::{from_cursor, limit, to_cursor};
use super::place::{Place, checked_item};
use crate::problem::{Answer, Problem};

/// Number of neighbours that are named before and after a time without a fire.
const NEIGHBOURS: u32 = 3;

/// Conditions and page of lines.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OutputParameters {
    /// Name of the job.
    job: String,
    /// Scheduled fire time.
    #[param(value_type = String, format = DateTime)]
    fire: Timestamp,
    /// Item number.
    #[param(maximum = 99_999)]
    item: Option<u32>,
    /// Source: `stdout`, `stderr`, `log` or `http`.
    #[param(example = "stderr")]
    stream: Option<String>,
    /// Maximum number of lines.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// Value of `end` in the page before.
    cursor: Option<String>,
}

/// A line of output of a run.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct OutputLine {
    /// Item number.
    item: u32,
    /// Fencing token of the run; 0 without monitoring.
    token: u64,
    /// Instance that ran the item.
    instance: String,
    /// Number of the attempt within the run.
    attempt: u32,
    /// Number of the line within the run. Missing numbers are of lines that were left out.
    seq: u64,
    /// Time, by the clock of the instance.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Source: `stdout`, `stderr`, `log` or `http`.
    stream: String,
    /// The text, without its end of line.
    text: String,
}

impl From<OutputRecord> for OutputLine {
    fn from(line: OutputRecord) -> Self {
        Self {
            item: line.item.index(),
            token: line.token.0,
            instance: line.instance.to_string(),
            attempt: line.attempt,
            seq: line.seq,
            at: line.at,
            stream: line.stream,
            text: line.text,
        }
    }
}

/// Lines of output, in the order of items, runs and lines.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct OutputLines {
    /// The lines.
    rows: Vec<OutputLine>,
    /// Cursor of the last line, or of the page before; later lines follow it.
    end: Option<String>,
    /// True if more lines exist already.
    more: bool,
}

/// Lists the output of the runs of a fire. To follow a run, ask again with `end` as the cursor.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/history/output",
    params(OutputParameters),
    responses((status = 200, description = "A page of lines", body = OutputLines)),
)]
pub(super) async fn list_output(
    place: Place,
    Query(query): Query<OutputParameters>,
) -> Answer<Json<OutputLines>> {
    let history = history(&place.namespace)?;
    let mut selected = OutputQuery::of_fire(&query.job, query.fire);
    if let Some(item) = query.item {
        selected = selected.item(checked_item(Some(item), item)?);
    }
    if let Some(word) = &query.stream {
        selected = selected.stream(OutputStream::of_word(word).ok_or_else(|| {
            let valid = OutputStream::ALL.map(OutputStream::as_str).join(", ");
            Problem::invalid(format!("stream is {word:?}; valid is one of {valid}"))
        })?);
    }
    let limit = limit(query.limit)?;
    let after = query.cursor.as_deref();
    let after = after.map(|text| Ok::<_, Problem>(from_cursor::<String>(text)?.parse()?));
    let page = history.output(&selected, limit, after.transpose()?.as_ref()).await?;
    if page.lines.is_empty() && query.cursor.is_none() {
        check_fire(history, &query).await?;
    }
    let end = page.end.map(|end| to_cursor(&end.to_string())).or(query.cursor);
    let rows = page.lines.into_iter().map(OutputLine::from).collect();
    Ok(Json(OutputLines { rows, end, more: page.has_more }))
}

/// Rejects a time without a fire of the job, and names the nearest ones.
async fn check_fire(history: &History, query: &OutputParameters) -> Answer<()> {
    let mut fires = FireQuery::default().job(&query.job);
    if let Some(item) = query.item {
        fires = fires.item(ShardingItem::new(item));
    }
    let after = query.fire.checked_add(Duration::from_millis(1)).unwrap_or(Timestamp::MAX);
    let at = fires.clone().from(query.fire).until(after);
    if !history.fires(&at, 1, None).await?.fires.is_empty() {
        return Ok(());
    }
    let nearest = history.nearest_fires(&fires, query.fire, NEIGHBOURS).await?;
    let nearest: Vec<_> = nearest.iter().map(ToString::to_string).collect();
    let known = match nearest.is_empty() {
        true => "it has no runs".to_owned(),
        false => format!("the nearest with a run are {}", nearest.join(", ")),
    };
    let item = query.item.map(|item| format!("item {item} of ")).unwrap_or_default();
    let detail =
        format!("the history has no fire of {item}job {} for {}; {known}", query.job, query.fire);
    Err(Problem::not_found("no-fire", detail))
}
