//! Items of a job, and the items that run now.

use axum::extract::Query;
use axum::response::Response;
use operations::{Error, ItemBrief, item_brief};
use serde::Serialize;

use super::PageQuery;
use super::paging::{Page, Paging};
use super::place::Live;
use crate::problem::Answer;

/// Lists the items of a job in ascending order.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/items",
    params(PageQuery),
    responses((status = 200, description = "A page of items", body = Page<ItemBrief>)),
)]
pub(super) async fn list_items(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let paging = Paging::<u32>::new(query.limit, query.cursor.as_deref())?;
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let rows = job.items().into_iter().map(|item| (item.index(), item));
    Ok(fresh.answer(paging.select_sorted(rows).map(|item| item_brief(&job, item))))
}

/// Returns one item of a job.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/items/{item}",
    responses((status = 200, description = "The item", body = ItemBrief)),
)]
pub(super) async fn get_item(live: Live) -> Answer<Response> {
    let (fresh, job, item) = (live.fresh(), live.snapshot()?, live.item()?);
    let items = job.items();
    if !items.contains(&item) {
        let known = format!("{} items, counted from 0", items.len());
        let (job, name) = (job.job().clone(), item.to_string());
        return Err(Error::NoSuch { job, what: "item", name, known }.into());
    }
    Ok(fresh.answer(item_brief(&job, item)))
}

/// An item that runs now.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct RunningItem {
    /// Job name.
    job: String,
    /// The item.
    item: ItemBrief,
}

/// Start of the run, job and item. A run whose start is unknown comes last.
type RunKey = (i64, String, u32);

/// Start of a run whose start is unknown.
const UNKNOWN_START: i64 = i64::MAX;

/// Lists the items of all jobs that run now, the longest run first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/running",
    params(PageQuery),
    responses((status = 200, description = "A page of running items", body = Page<RunningItem>)),
)]
pub(super) async fn list_running(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let paging = Paging::<RunKey>::new(query.limit, query.cursor.as_deref())?;
    let (fresh, namespace) = (live.fresh(), &live.namespace.live);
    let known = |since_ms: i64| (since_ms != UNKNOWN_START).then_some(since_ms);
    let last = paging.after.as_ref().map(|(since, job, item)| (known(*since), &**job, *item));
    // One more row shows whether there is a further page.
    let runs = namespace.running_after(last, paging.limit + 1).into_iter().map(|run| {
        let since_ms = run.since_ms.unwrap_or(UNKNOWN_START);
        ((since_ms, run.job.to_string(), run.item.item), run)
    });
    let page = paging.select_sorted(runs);
    Ok(fresh.answer(page.map(|run| RunningItem { job: run.job.to_string(), item: run.item })))
}
