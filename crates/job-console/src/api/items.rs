//! Items of a job, and the items that run now.

use axum::response::Response;
use operations::{Error, ItemBrief, item_brief, slots_shown};
use serde::Serialize;

use super::PageQuery;
use super::input::Query;
use super::paging::{Page, Paging};
use super::place::Live;
use crate::problem::Answer;

/// Lists the items of a job in ascending order.
///
/// With `overlap = parallel n` an item has several slots. A row of each further slot that has a run
/// follows the row of the item, with the field `slot`.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/jobs/{job}/items",
    params(PageQuery),
    responses((status = 200, description = "A page of items", body = Page<ItemBrief>)),
)]
pub(super) async fn list_items(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let paging = Paging::<SlotKey>::new(query.limit, query.cursor.as_deref())?;
    let (fresh, job) = (live.fresh(), live.snapshot()?);
    let slots = job.items().into_iter().flat_map(|item| slots_shown(&job, item));
    let rows = slots.map(|slot| ((slot.item.index(), slot.number), slot));
    Ok(fresh.answer(paging.select_sorted(rows).map(|slot| item_brief(&job, slot.key()))))
}

/// Returns one item of a job, with the run of its first slot.
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

/// Item and slot.
type SlotKey = (u32, u32);

/// A run in progress.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct RunningItem {
    /// Job name.
    job: String,
    /// The item, with the slot of the run.
    item: ItemBrief,
}

/// Start of the run, job and key of the slot. A run whose start is unknown comes last.
type RunKey = (i64, String, u32);

/// Start of a run whose start is unknown.
const UNKNOWN_START: i64 = i64::MAX;

/// Lists the runs of all jobs that are in progress, the longest run first. An item with several
/// runs has a row for each.
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
        ((since_ms, run.job.to_string(), run.item.key().index()), run)
    });
    let page = paging.select_sorted(runs);
    Ok(fresh.answer(page.map(|run| RunningItem { job: run.job.to_string(), item: run.item })))
}
