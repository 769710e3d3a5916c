//! Marks of the runs of this process.

use reg_center::SessionId;
use sharding::{InstanceId, ShardingItem};

use crate::RunSource;
use crate::plan::Step;
use crate::view::marks::MarksView;
use crate::wire::NodeKind;

/// A node that shows a run to Java instances and operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Running,
    Alive,
    Failover,
    Failovering,
}

impl Mark {
    /// All marks, in the order in which a release removes them.
    const ALL: [Self; 4] = [Self::Running, Self::Alive, Self::Failover, Self::Failovering];

    /// Returns the mark that a node is, with its item.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most nodes are no marks")]
    pub(crate) fn of_node(node: &NodeKind) -> Option<(Self, ShardingItem)> {
        match node {
            NodeKind::Running(item) => Some((Self::Running, *item)),
            NodeKind::Alive(item) => Some((Self::Alive, *item)),
            NodeKind::Failover(item) => Some((Self::Failover, *item)),
            NodeKind::Failovering(item) => Some((Self::Failovering, *item)),
            _ => None,
        }
    }

    fn removal(self, item: ShardingItem) -> Step {
        match self {
            Self::Running => Step::unmark_running(item),
            Self::Alive => Step::unmark_alive(item),
            Self::Failover => Step::unmark_failover(item),
            Self::Failovering => Step::unmark_failovering(item),
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of marks of one item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct MarkSet(u8);

impl MarkSet {
    const EMPTY: Self = Self(0);

    fn of(marks: impl IntoIterator<Item = Mark>) -> Self {
        Self(marks.into_iter().fold(0, |bits, mark| bits | mark.bit()))
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    fn iter(self) -> impl Iterator<Item = Mark> {
        Mark::ALL.into_iter().filter(move |mark| self.0 & mark.bit() != 0)
    }

    fn without(self, mark: Mark) -> Self {
        Self(self.0 & !mark.bit())
    }

    /// Returns the steps that remove these marks.
    pub(crate) fn removal(self, item: ShardingItem) -> impl Iterator<Item = Step> {
        self.iter().map(move |mark| mark.removal(item))
    }
}

/// The marks of a run of this process that may exist.
///
/// A claim creates them together. They get fewer if the session ends, or if a release finds a mark
/// absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RunMarks {
    /// `running`, and `failover` after a takeover. Both end with the session.
    Ephemeral(MarkSet),
    /// Marks of 3.x if failover is on. `running` outlasts the session, and so does `failovering`
    /// after a takeover; both name the holder. `alive`, and `failover` after a takeover, end with
    /// the session.
    Lasting(MarkSet),
}

impl RunMarks {
    /// No marks: the job is not monitored.
    pub(crate) const NONE: Self = Self::Ephemeral(MarkSet::EMPTY);

    /// Returns the marks that a claim creates. `lasting` is true if `running` outlasts the session.
    pub(crate) fn of_claim(source: RunSource, lasting: bool) -> Self {
        let takes_over = source == RunSource::Failover;
        if lasting && takes_over {
            Self::Lasting(MarkSet::of(Mark::ALL))
        } else if lasting {
            Self::Lasting(MarkSet::of([Mark::Running, Mark::Alive]))
        } else if takes_over {
            Self::Ephemeral(MarkSet::of([Mark::Running, Mark::Failover]))
        } else {
            Self::Ephemeral(MarkSet::of([Mark::Running]))
        }
    }

    /// Returns the marks that may exist.
    pub(crate) fn left(self) -> MarkSet {
        match self {
            Self::Ephemeral(left) | Self::Lasting(left) => left,
        }
    }

    /// Records that a mark is absent.
    pub(crate) fn note_absent(&mut self, mark: Mark) {
        let (Self::Ephemeral(left) | Self::Lasting(left)) = self;
        *left = left.without(mark);
    }

    /// Records the end of the session and of all marks that it owned.
    pub(crate) fn lose_session(&mut self) {
        match self {
            Self::Ephemeral(left) => *left = MarkSet::EMPTY,
            Self::Lasting(left) => *left = left.without(Mark::Alive).without(Mark::Failover),
        }
    }

    /// Returns those of the marks that the view shows.
    ///
    /// Another instance may have marked the item since the run was fenced. So a mark counts only if
    /// it names the run's holder or belongs to this `session`. The view can show a combination that
    /// no claim creates, so each mark is judged by itself.
    pub(crate) fn shown_in(
        self,
        view: &MarksView,
        holder: &InstanceId,
        session: Option<SessionId>,
    ) -> MarkSet {
        let by_holder = |name: Option<&InstanceId>| name == Some(holder);
        let in_session = |owner: Option<SessionId>| owner.is_some() && owner == session;
        let running = match self {
            Self::Ephemeral(_) => in_session(view.session()),
            Self::Lasting(_) => by_holder(view.lasting_holder()),
        };
        let is_shown = |mark: &Mark| match mark {
            Mark::Running => running,
            Mark::Alive => in_session(view.alive_session),
            Mark::Failover => by_holder(view.failover.as_ref()),
            Mark::Failovering => by_holder(view.failovering.as_ref()),
        };
        MarkSet::of(self.left().iter().filter(is_shown))
    }
}

#[cfg(test)]
mod tests {
    use reg_center::Revision;

    use super::*;
    use crate::view::marks::{MarkHolder, RunningMark};

    fn removed(marks: MarkSet) -> Vec<String> {
        marks.removal(ShardingItem::new(0)).map(|step| step.node.to_string()).collect()
    }

    const RUNNING: &str = "sharding/0/running";
    const ALIVE: &str = "coordination/runs/0";
    const FAILOVER: &str = "sharding/0/failover";
    const FAILOVERING: &str = "sharding/0/failovering";

    #[test]
    fn only_lasting_marks_outlive_the_session() {
        let rows: [(_, _, &[&str], &[&str]); 4] = [
            (RunSource::Normal, false, &[RUNNING], &[]),
            (RunSource::Failover, false, &[RUNNING, FAILOVER], &[]),
            (RunSource::Normal, true, &[RUNNING, ALIVE], &[RUNNING]),
            (
                RunSource::Failover,
                true,
                &[RUNNING, ALIVE, FAILOVER, FAILOVERING],
                &[RUNNING, FAILOVERING],
            ),
        ];
        for (source, lasting, created, left) in rows {
            let mut marks = RunMarks::of_claim(source, lasting);
            assert_eq!(removed(marks.left()), created, "{source}, lasting: {lasting}");
            marks.lose_session();
            assert_eq!(removed(marks.left()), left, "{source}, lasting: {lasting}");
        }
    }

    #[test]
    fn absent_mark_is_not_removed_again() {
        let mut marks = RunMarks::of_claim(RunSource::Failover, true);
        marks.note_absent(Mark::Alive);
        marks.note_absent(Mark::Running);
        assert_eq!(removed(marks.left()), [FAILOVER, FAILOVERING]);
    }

    #[test]
    fn marks_of_other_instances_are_not_removed() {
        let (holder, other) = (InstanceId::new("a"), InstanceId::new("b"));
        let session = SessionId(1);
        let view_of = |running, name: &InstanceId| MarksView {
            running: Some(RunningMark { created: Revision(1), holder: running }),
            alive: true,
            alive_session: Some(if name == &holder { session } else { SessionId(2) }),
            failover: Some(name.clone()),
            failovering: Some(name.clone()),
        };
        let named = |name: &InstanceId| view_of(MarkHolder::Instance(name.clone()), name);
        let of_session = |n, name: &InstanceId| view_of(MarkHolder::Session(SessionId(n)), name);
        let rows: [(_, _, &[&str]); 6] = [
            (false, of_session(1, &holder), &[RUNNING, FAILOVER]),
            (false, of_session(2, &other), &[]),
            (false, named(&holder), &[FAILOVER]),
            (true, named(&holder), &[RUNNING, ALIVE, FAILOVER, FAILOVERING]),
            (true, named(&other), &[]),
            (true, of_session(1, &holder), &[ALIVE, FAILOVER, FAILOVERING]),
        ];
        for (lasting, view, shown) in rows {
            let marks = RunMarks::of_claim(RunSource::Failover, lasting);
            let found = removed(marks.shown_in(&view, &holder, Some(session)));
            assert_eq!(found, shown, "lasting: {lasting}, {view:?}");
        }
        let marks = RunMarks::of_claim(RunSource::Failover, false);
        let without_session = marks.shown_in(&of_session(1, &other), &holder, None);
        assert!(without_session.is_empty());
    }
}
