//! Sites of `crates/coordination/src/plan/encode.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"        let txn = Txn::new().in_session(session);
        plan.steps.iter().fold(txn, |txn, step| txn.op(self.encode_step(step)))
"#,
    to: r#"        let txn = match mutant::is(Mutant::SessionUnchecked) {
            true => Txn::new(),
            false => Txn::new().in_session(session),
        };
        plan.steps
            .iter()
            .fold(txn, |txn, step| txn.op(mutant::without_guard(plan.duty, step, self.encode_step(step))))
"#,
}];
