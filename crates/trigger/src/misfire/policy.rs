//! Misfire policies.

use std::time::Duration;

/// Policy of a job for fires that met a running item or were late, for example because the process
/// was down.
///
/// A fire that is late by less than the [threshold](crate::Situation::threshold) is not a misfire:
/// it runs. In the timelines the schedule fires every 10 seconds; `23-26` is a run from second 23
/// to second 26.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MisfirePolicy {
    /// All misfires together run once, as soon as possible (`misfire=true` of ElasticJob,
    /// `FIRE_ONCE_NOW` of Quartz). The run has the fire time of the newest one and stands for all
    /// of them.
    ///
    /// ```text
    /// item busy:  0   10   20   30   40      process down:  0   10   20   30   40
    /// fires       |    |    |    |    |      fires          |    |    |    |    |
    /// runs        [0------23]                up             [0-3]    (down)  [..
    ///                        [23-26] [30..   runs                            [33-36][40..
    ///             the run at 23 stands for   the run at 33 stands for
    ///             the fires of 10 and 20     the fires of 10, 20 and 30
    /// ```
    #[default]
    RunOnceAfterwards,
    /// Misfires never run (`misfire=false` of ElasticJob, `DO_NOTHING` of Quartz).
    ///
    /// ```text
    /// item busy:  0   10   20   30   40      process down:  0   10   20   30   40
    /// fires       |    |    |    |    |      fires          |    |    |    |    |
    /// runs        [0------23]    [30-33]     up             [0-3]    (down)  [..
    ///             10 and 20 are skipped      runs                             [40-43]
    ///                                        10, 20 and, if the threshold is up to 3 s, 30
    ///                                        are skipped
    /// ```
    Skip,
    /// Each misfire runs, oldest first. Misfires older than `window` are skipped, and so are the
    /// oldest ones beyond `max`.
    ///
    /// ```text
    /// window 25 s, max 2; up again at 43, threshold 5 s:
    /// fires       0   10   20   30   40   50
    ///             |    |    |    |    |    |
    /// up          [0-3]    (down)      [..
    /// runs                             [43-44][44-45][45-46][50-51]
    ///                                   20     30     40     50
    /// 10 is skipped: it is older than 25 s. 20 and 30 catch up, 40 is late, not a misfire.
    /// ```
    CatchUp {
        /// Maximum age of a fire, at the time of the decision, to be run.
        window: Duration,
        /// Maximum number of misfires that run at once, limited by
        /// [`FireRange::COUNT_LIMIT`](crate::FireRange::COUNT_LIMIT).
        max: u32,
    },
}
