//! Items of a job, and the items that run now.

use axum::extract::Query;
use axum::response::Response;
use operations::{Error, ItemBrief, item_brief};
use serde::Serialize;
use sharding::ShardingItem;

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
    let (fresh, jobs) = (live.fresh(), live.jobs());
    let page = scan(move || {
        let rows = jobs.flat_map(|job| {
            let running: Vec<ShardingItem> =
                job.items().into_iter().filter(|item| job.is_running(*item)).collect();
            running.into_iter().map(move |item| {
                let record = job.view().item(item).ledger.as_ref();
                let record = record.filter(|record| record.value.running().is_some());
                let began_ms = record.and_then(|record| record.value.began_ms);
                let key = (began_ms.unwrap_or(i64::MAX), job.job().to_string(), item.index());
                (key, (job.clone(), item))
            })
        });
        paging.select(rows).map(|(job, item)| RunningItem {
            job: job.job().to_string(),
            item: item_brief(&job, item),
        })
    })
    .await?;
    Ok(fresh.answer(page))
}
