//! Sites of `crates/coordination/src/duty/resharding/retire.rs`.

use super::Site;

pub(super) const SITES: &[Site] = &[Site {
    from: r#"    if view.is_busy() || cx.view.further_slots_of(item).any(|(_, slot)| slot.is_busy()) {
"#,
    to: r#"    let further_run = cx.view.further_slots_of(item).any(|(_, slot)| slot.is_busy());
    if (view.is_busy() && !mutant::is(Mutant::BusyRetired))
        || (further_run && !mutant::is(Mutant::FurtherRunRetired))
    {
"#,
}];
