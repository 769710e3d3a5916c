//! Sites of `crates/operations/src/transfer/apply.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"            |job: &JobSnapshot| job.config().and_then(Owner::of).is_some_and(|of| of == owner.0);
"#,
        to: r#"            |job: &JobSnapshot| {
                let created_by = job.config().and_then(Owner::of);
                mutant::is(Mutant::PruneTakesOthersJobs)
                    || created_by.is_some_and(|of| of == owner.0)
            };
"#,
    },
    Site {
        from: r#"        self.remove_job(&job, &removal.confirmation, Removal::UnlessAlive, by).await
"#,
        to: r#"        let how = if mutant::is(Mutant::PruneTakesLiveJobs) {
            Removal::EvenIfAlive
        } else {
            Removal::UnlessAlive
        };
        self.remove_job(&job, &removal.confirmation, how, by).await
"#,
    },
    Site {
        from: r#"        if let Some(other) = stored.and_then(Owner::of).filter(|other| *other != owner.0) {
"#,
        to: r#"        let other = stored.and_then(Owner::of).filter(|other| *other != owner.0);
        if let Some(other) = other.filter(|_| !mutant::is(Mutant::OthersJobApplied)) {
"#,
    },
];
