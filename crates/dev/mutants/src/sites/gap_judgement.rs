//! Sites of `crates/coordination/src/gap/judgement.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        if !is_present {
"#,
        to: r#"        if !is_present && !mutant::is(Mutant::FormerFiresForgotten) {
"#,
    },
    Site {
        from: r#"    ) -> Vec<Gap> {
"#,
        to: r#"    ) -> Vec<Gap> {
        if mutant::is(Mutant::GapsHiddenByChanges) && by != Some(self.version) {
            return Vec::new();
        }
"#,
    },
    Site {
        from: r#"        for (place, period) in periods.iter().enumerate().skip(begin) {
"#,
        to: r#"        for (place, period) in periods.iter().enumerate().skip(begin) {
            if mutant::is(Mutant::SchedulesBetweenForgotten) && place > begin && place < last {
                continue;
            }
"#,
    },
    Site {
        from: r#"                gaps.close();
"#,
        to: r#"                gaps.close();
                if mutant::is(Mutant::GapsBeforeUnmonitoredHidden) {
                    gaps.found.clear();
                }
"#,
    },
];
