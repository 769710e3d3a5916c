//! Check of a row with the order of instances: `children` unsorted, `sorted_desc` as sorted by
//! Java.

use serde_json::Value;
use sharding::{InstanceId, sort_descending};

use super::{Verdict, field, same, texts};

pub(super) fn check_row(row: &Value) -> Verdict {
    check(row).into()
}

fn check(row: &Value) -> Result<(), String> {
    let mut children: Vec<_> =
        field(row, "children", texts)?.into_iter().map(InstanceId::from).collect();
    let sorted = field(row, "sorted_desc", texts)?;
    sort_descending(&mut children);
    same("order", children.iter().map(InstanceId::as_str).collect(), sorted)
}
