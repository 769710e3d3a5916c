//! Pages of lists. A cursor holds the key of the last row, so it is valid while rows come and go.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::{Answer, Problem};

/// Maximum number of rows of a page.
pub(super) const MAX_LIMIT: u32 = 1_000;
const DEFAULT_LIMIT: u32 = 100;

/// One page of a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Page<T> {
    /// The rows.
    pub(super) rows: Vec<T>,
    /// Cursor of the next page; null if this is the last one.
    pub(super) next: Option<String>,
}

impl<T> Page<T> {
    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { rows: self.rows.into_iter().map(change).collect(), next: self.next }
    }
}

/// Returns the number of rows of a page.
pub(super) fn limit(given: Option<u32>) -> Answer<u32> {
    let limit = given.unwrap_or(DEFAULT_LIMIT);
    if (1..=MAX_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    Err(Problem::invalid(format!("limit is {limit}; valid is 1 to {MAX_LIMIT}")))
}

/// Returns the text of a cursor, which clients must not take apart.
pub(super) fn to_cursor(key: &impl Serialize) -> String {
    // Keys are tuples of numbers and texts, which are always serializable.
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(key).unwrap_or_default())
}

/// Returns the key of a cursor.
pub(super) fn from_cursor<K: DeserializeOwned>(cursor: &str) -> Answer<K> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok();
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or_else(|| {
        let valid = "valid is the value of next in an earlier page of the same list";
        Problem::invalid(format!("cursor is {cursor:?}; {valid}"))
    })
}

/// The wanted page of a list whose rows have unique keys, in ascending order of the keys.
pub(super) struct Paging<K> {
    pub(super) limit: usize,
    pub(super) after: Option<K>,
}

impl<K: Ord + Serialize + DeserializeOwned> Paging<K> {
    pub(super) fn new(given: Option<u32>, cursor: Option<&str>) -> Answer<Self> {
        let after = cursor.map(from_cursor).transpose()?;
        Ok(Self { limit: limit(given)? as usize, after })
    }

    fn is_wanted(&self, key: &K) -> bool {
        self.after.as_ref().is_none_or(|after| key > after)
    }

    /// Selects the page from rows in any order.
    pub(super) fn select<T>(&self, rows: impl Iterator<Item = (K, T)>) -> Page<T> {
        let mut kept = BTreeMap::new();
        for (key, row) in rows.filter(|(key, _)| self.is_wanted(key)) {
            kept.insert(key, row);
            if kept.len() > self.limit + 1 {
                kept.pop_last();
            }
        }
        self.select_sorted(kept.into_iter())
    }

    /// Selects the page from rows in ascending order, and reads no row after it.
    pub(super) fn select_sorted<T>(&self, rows: impl Iterator<Item = (K, T)>) -> Page<T> {
        let mut wanted = rows.filter(|(key, _)| self.is_wanted(key));
        let (mut page, mut last) = (Vec::new(), None);
        for (key, row) in wanted.by_ref().take(self.limit) {
            page.push(row);
            last = Some(key);
        }
        let next = last.filter(|_| wanted.next().is_some()).map(|key| to_cursor(&key));
        Page { rows: page, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(rows: &[u32], of: u32) -> Vec<Vec<u32>> {
        let (mut pages, mut cursor) = (Vec::new(), None);
        loop {
            let paging = Paging::<u32>::new(Some(of), cursor.as_deref()).unwrap();
            let page = paging.select(rows.iter().map(|row| (*row, *row)));
            pages.push(page.rows);
            match page.next {
                Some(next) => cursor = Some(next),
                None => return pages,
            }
        }
    }

    #[test]
    fn pages_cover_all_rows_in_order() {
        assert_eq!(pages(&[3, 1, 2, 5, 4], 2), [vec![1, 2], vec![3, 4], vec![5]]);
        assert_eq!(pages(&[2, 1], 2), [vec![1, 2]]);
        assert_eq!(pages(&[], 2), [Vec::<u32>::new()]);
    }

    #[test]
    fn cursor_stays_valid_when_its_row_is_gone() {
        let first = Paging::<u32>::new(Some(2), None).unwrap();
        let page = first.select([1, 2, 3].into_iter().map(|row| (row, row)));
        let second = Paging::<u32>::new(Some(2), page.next.as_deref()).unwrap();
        let page = second.select([0, 1, 3, 4].into_iter().map(|row| (row, row)));
        assert_eq!(page.rows, [3, 4]);
    }

    #[test]
    fn invalid_limit_and_cursor_are_refused_by_name() {
        let error = limit(Some(0)).unwrap_err().detail;
        assert_eq!(error, "limit is 0; valid is 1 to 1000");
        let error = Paging::<u32>::new(None, Some("!")).map(|_| ()).unwrap_err().detail;
        assert!(error.starts_with("cursor is \"!\""), "{error}");
    }
}
