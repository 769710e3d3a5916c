//! Sites of `crates/coordination/src/coordinator/unmonitored.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        match self.deciding_context(now).and_then(|cx| unmonitored::fire(&cx)) {
"#,
    to: r#"        // The mutant also ignores that the session is suspended.
        let me = self.me.as_ref().filter(|_| mutant::is(Mutant::UnclaimedUnavailable));
        let cx = me.map(|me| self.context(now, me)).or_else(|| self.deciding_context(now));
        match cx.and_then(|cx| unmonitored::fire(&cx)) {
"#,
}];
