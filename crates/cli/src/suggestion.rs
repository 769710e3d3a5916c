//! Suggestions for misspelled names: jobs, servers and strategies.

use std::time::Duration;

use operations::{Operations, ReadBounds};
use sharding::StrategyRegistry;

use crate::context::Context;
use crate::fault::{Fault, Missing};
use crate::text::did_you_mean;

/// Maximum time for reading the names of a registry, after a command has failed.
const DEADLINE: Duration = Duration::from_secs(2);

/// Adds the most similar existing name to the fault of a job or a server that does not exist.
///
/// A registry that does not answer in time leaves the fault as it is.
pub(crate) async fn with_suggestion(fault: Fault, cx: &Context<'_>) -> Fault {
    let (Some(missing), Some(registry)) = (fault.missing(), cx.opened()) else { return fault };
    let bounds = ReadBounds::default().with(|it| it.deadline = DEADLINE);
    let operations = Operations::new(registry).bounds(bounds);
    let names = tokio::time::timeout(DEADLINE, names(missing, &operations)).await;
    match names.ok().and_then(|names| did_you_mean(missing.name(), names?.iter().map(|n| &**n))) {
        Some(question) => fault.asking(&question),
        None => fault,
    }
}

async fn names(missing: &Missing, operations: &Operations) -> Option<Vec<String>> {
    let servers = |namespace: operations::Namespace| {
        let briefs = operations::server_briefs(&namespace.jobs).into_iter();
        briefs.map(|server| server.server_ip).collect()
    };
    match missing {
        Missing::Job(_) => operations.job_names().await.ok(),
        Missing::Server(_) => operations.namespace().await.ok().map(servers),
    }
}

/// Returns the question for the value of a field that is the name of a sharding strategy. `value`
/// may have quotes, as in errors.
pub(crate) fn of_value(field: &str, value: &str) -> Option<String> {
    let value = value.trim_matches('"');
    match field {
        "strategy" => {
            let known = StrategyRegistry::default().get(value).err()?.known;
            did_you_mean(value, known.iter().map(|name| &**name))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_strategies_are_suggested() {
        let rows = [
            ("strategy", "\"ODEVTY\"", Some("did you mean ODEVITY?")),
            ("strategy", "\"RANDOM\"", None),
            ("cron", "\"ODEVTY\"", None),
        ];
        for (field, value, expected) in rows {
            assert_eq!(of_value(field, value).as_deref(), expected, "{field} = {value}");
        }
    }
}
