//! Items of a job, and the items that run now.

use std::sync::Arc;

use axum::extract::Query;
use axum::response::Response;
use operations::{Error, ItemBrief, item_brief};
use serde::Serialize;

use super::paging::{Page, Paging};
use super::place::Live;
use super::{PageQuery, scan};
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

/// Start of the run, job and item. A run without a recorded start comes last.
type RunKey = (i64, String, u32);

/// Lists the items of all jobs that run now, the longest run first.
#[utoipa::path(
    get,
    path = "/api/v1/namespaces/{namespace}/running",
    params(PageQuery),
    responses((status = 200, description = "A page of running items", body = Page<RunningItem>)),
)]
pub(super) async fn list_running(live: Live, Query(query): Query<PageQuery>) -> Answer<Response> {
    let paging = Paging::<RunKey>::new(query.limit, query.cursor.as_deref())?;
    let (fresh, namespace) = (live.fresh(), Arc::clone(&live.namespace));
    // The cursor can name any run, and the runs before it are visited.
    let page = scan(move || {
        let oldest_first = namespace.live.running(usize::MAX).into_iter();
        let rows = oldest_first.map(|run| {
            let since_ms = run.since_ms.unwrap_or(i64::MAX);
            ((since_ms, run.job.to_string(), run.item.item), run)
        });
        paging.select_sorted(rows)
    });
    Ok(fresh
        .answer(page.await?.map(|run| RunningItem { job: run.job.to_string(), item: run.item })))
}
