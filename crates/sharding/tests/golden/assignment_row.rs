//! Check of a row with an assignment.
//!
//! If Java threw an exception, the row passes if this crate gives its documented result. The test
//! computes that result in another way than the crate.

use std::collections::BTreeMap;

use serde_json::Value;
use sharding::{Assignment, InstanceId, StrategyInput, StrategyRegistry, java_string_hash};

use super::{Verdict, field, same, texts};

/// The items of each instance.
type Lists<'a> = BTreeMap<&'a str, Vec<u32>>;

struct Row<'a> {
    strategy: &'a str,
    job_name: &'a str,
    hash: i64,
    instances: Vec<&'a str>,
    total: u32,
    now_ms: i64,
    outcome: Outcome<'a>,
}

enum Outcome<'a> {
    Result(Lists<'a>),
    Exception(&'a str),
}

pub(super) fn check_row(row: &Value) -> Verdict {
    let row = match Row::read(row) {
        Ok(row) => row,
        Err(why) => return Verdict::Failed(why),
    };
    match StrategyRegistry::default().get(row.strategy) {
        Err(unknown) => Verdict::Skipped(unknown.to_string()),
        Ok(strategy) => {
            let instances: Vec<_> = row.instances.iter().copied().map(InstanceId::from).collect();
            let input = StrategyInput::new(row.job_name, &instances, row.total);
            row.check(&strategy.assign(&input.with_now_ms(row.now_ms))).into()
        }
    }
}

impl<'a> Row<'a> {
    fn read(row: &'a Value) -> Result<Self, String> {
        let outcome = match row.get("error") {
            Some(_) => Outcome::Exception(field(row, "error", Value::as_str)?),
            None => Outcome::Result(field(row, "result", lists)?),
        };
        let now_ms = match row.get("now_ms") {
            Some(_) => field(row, "now_ms", Value::as_i64)?,
            None => 0,
        };
        Ok(Self {
            strategy: field(row, "strategy", Value::as_str)?,
            job_name: field(row, "job_name", Value::as_str)?,
            hash: field(row, "hash", Value::as_i64)?,
            instances: field(row, "instances", texts)?,
            total: field(row, "total", item)?,
            now_ms,
            outcome,
        })
    }

    fn check(&self, assignment: &Assignment) -> Result<(), String> {
        same("hash", i64::from(java_string_hash(self.job_name)), self.hash)?;
        let golden = match &self.outcome {
            Outcome::Result(lists) => lists.clone(),
            Outcome::Exception(class) => self.documented(class)?,
        };
        let expected = self.owners(&golden)?;
        let owners: Vec<_> =
            assignment.iter().map(|(_, owner)| owner.map(InstanceId::as_str)).collect();
        same("owners", owners, expected)?;
        for (instance, items) in golden {
            let assigned = assignment.items_of(&instance.into());
            let assigned = assigned.into_iter().map(|item| item.index()).collect();
            same(&format!("items of {instance}"), assigned, items)?;
        }
        Ok(())
    }

    /// Returns the owner of each item according to the lists. Every instance must have a list and
    /// every item an owner, unless there are no instances.
    fn owners<'b>(&self, lists: &Lists<'b>) -> Result<Vec<Option<&'b str>>, String> {
        let mut instances = self.instances.clone();
        instances.sort_unstable();
        same("instances with a list", lists.keys().copied().collect(), instances)?;
        let mut owners = vec![None; self.total as usize];
        for (&instance, items) in lists {
            for &item in items {
                let owner = owners
                    .get_mut(item as usize)
                    .ok_or_else(|| format!("item {item} is beyond the total"))?;
                if owner.replace(instance).is_some() {
                    return Err(format!("item {item} is in two lists"));
                }
            }
        }
        let assigned = owners.iter().flatten().count();
        let expected = if self.instances.is_empty() { 0 } else { owners.len() };
        same("items in lists", assigned, expected)?;
        Ok(owners)
    }

    /// Returns the documented result for an exception of Java.
    fn documented(&self, exception: &str) -> Result<Lists<'a>, String> {
        let count = self.instances.len();
        match exception {
            "java.lang.ArithmeticException" if count == 0 => Ok(Lists::new()),
            "java.lang.IndexOutOfBoundsException"
                if self.seed_is_smallest() && !count.is_power_of_two() =>
            {
                Ok(self.allocated_from((1_usize << 31) % count))
            }
            other => Err(format!(
                "no result is documented for the exception {other} of Java in this row"
            )),
        }
    }

    /// Returns true if the rotation has no absolute value in 32 bits. The time is 0 for the
    /// strategies that do not read it.
    fn seed_is_smallest(&self) -> bool {
        self.hash.wrapping_add(self.now_ms).rem_euclid(1 << 32) == 1 << 31
    }

    /// Returns equal blocks and then the remaining items one by one, starting with the instance at
    /// `first`.
    fn allocated_from(&self, first: usize) -> Lists<'a> {
        let count = u32::try_from(self.instances.len()).unwrap_or(u32::MAX);
        let (share, rest) = (self.total / count, self.total % count);
        let (before, from_first) = self.instances.split_at(first);
        let items =
            |k: u32| (k * share..(k + 1) * share).chain((k < rest).then_some(count * share + k));
        from_first.iter().chain(before).copied().zip((0..).map(|k| items(k).collect())).collect()
    }
}

fn lists(value: &Value) -> Option<Lists<'_>> {
    let list = |items: &Value| items.as_array()?.iter().map(item).collect::<Option<Vec<_>>>();
    value.as_object()?.iter().map(|(id, items)| Some((id.as_str(), list(items)?))).collect()
}

fn item(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}
