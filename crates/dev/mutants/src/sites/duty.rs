//! Sites of `crates/coordination/src/duty/mod.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"pub(crate) fn items_per_plan(limits: Limits) -> usize {
"#,
        to: r#"pub(crate) fn items_per_plan(limits: Limits) -> usize {
    if mutant::is(Mutant::RoomIgnored) {
        return MAX_ITEMS_PER_PLAN;
    }
"#,
    },
    Site {
        from: r#"        self.view.followed().is_all()
"#,
        to: r#"        self.view.followed().is_all() || mutant::is(Mutant::DecidedByAPart)
"#,
    },
    Site {
        from: r#"    pub(crate) fn present_ms(&self) -> i64 {
"#,
        to: r#"    pub(crate) fn present_ms(&self) -> i64 {
        if mutant::is(Mutant::GapsByOwnClock) {
            return self.now.wall_ms;
        }
"#,
    },
    Site {
        from: r#"        let gaps = self.gaps(before, until);
"#,
        to: r#"        let noted = after.is_busy() && before.is_busy();
        let gaps = match noted && mutant::is(Mutant::NotedOverHoles) {
            true => Vec::new(),
            false => self.gaps(before, until),
        };
"#,
    },
    Site {
        from: r#"        if self.judgement.mixed {
"#,
        to: r#"        if self.judgement.mixed || mutant::is(Mutant::RetiredInSilence) {
"#,
    },
    Site {
        from: r#"    fn gaps(&mut self, before: &Ledger, until: FireTime) -> Vec<Gap> {
"#,
        to: r#"    fn gaps(&mut self, before: &Ledger, until: FireTime) -> Vec<Gap> {
        if mutant::is(Mutant::GapsUnrecorded) {
            return Vec::new();
        }
"#,
    },
    Site {
        from: r#"        self.ledger.is_idle() && !self.view.marks.shows_run() && !runs_here
"#,
        to: r#"        let runs_here = runs_here && !mutant::is(Mutant::LocalRunIgnored);
        let shown = self.view.marks.shows_run() && !mutant::is(Mutant::MarksIgnoredByClaims);
        self.ledger.is_idle() && !shown && !runs_here
"#,
    },
];
