//! Sites of `crates/coordination/src/java/facts.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[
    Site {
        from: r#"        let fault = if is_triggered {
"#,
        to: r#"        let fault = if is_triggered && !mutant::is(Mutant::AskedTakenForRust) {
"#,
    },
    Site {
        from: r#"            if self.has_java_leader() { !self.is_java_assigning() } else { self.fits_config() };
"#,
        to: r#"            if self.has_java_leader() {
                !self.is_java_assigning() || mutant::is(Mutant::JavaFlagsIgnored)
            } else {
                self.fits_config() || mutant::is(Mutant::TotalIgnored)
            };
"#,
    },
    Site {
        from: r#"        if !fits || self.names_next_server() {
"#,
        to: r#"        if !fits || (self.names_next_server() && !mutant::is(Mutant::NextServerIgnored)) {
"#,
    },
    Site {
        from: r#"        let left_behind =
            view.marks.lasting_holder().is_some_and(|holder| !self.is_registered(holder));
"#,
        to: r#"        let left_behind =
            view.marks.lasting_holder().is_some_and(|holder| !self.is_registered(holder));
        let left_behind = left_behind && !mutant::is(Mutant::LastingMarksTrusted);
"#,
    },
    Site {
        from: r#"        let begun = view.marks.shows_run() || view.queued;
"#,
        to: r#"        let begun = (view.marks.shows_run() || view.queued) && !mutant::is(Mutant::TakersSeenEverywhere);
"#,
    },
    Site {
        from: r#"        self.is_mixed() || comes
"#,
        to: r#"        self.is_mixed() || (comes && !mutant::is(Mutant::ComersIgnored))
"#,
    },
    Site {
        from: r#"        let greatest = numbers.max();
"#,
        to: r#"        let greatest = numbers.max().filter(|_| !mutant::is(Mutant::PlacesUncounted));
"#,
    },
    Site {
        from: r#"        let is_announced = own && self.is_resharding_unfinished(config);
"#,
        to: r#"        let is_announced = own
            && self.is_resharding_unfinished(config)
            && !mutant::is(Mutant::AnnouncementTakenForRequest);
"#,
    },
    Site {
        from: r#"        !needs_record || !self.is_mixed()
"#,
        to: r#"        !needs_record || !self.is_mixed() || mutant::is(Mutant::UntoldQueued)
"#,
    },
];
