//! Sites of `crates/job-history/src/verify/evidence.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        owners.into_iter().flatten().find_map(|owner| reports.get(owner)).map(String::as_str)
"#,
    to: r#"        let any = mutant::is(Mutant::MissOfAnyInstanceCounts).then(|| reports.values().next());
        let of_owner = owners.into_iter().flatten().find_map(|owner| reports.get(owner));
        of_owner.or(any.flatten()).map(String::as_str)
"#,
}];
