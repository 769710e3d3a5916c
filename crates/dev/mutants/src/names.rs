//! The mutants and the descriptions of what each leaves out.

/// Defines the mutants and their list. The doc comment of a mutant is also its description.
macro_rules! mutants {
    ($($(#[doc = $text:literal])+ $name:ident,)+) => {
        /// A guard or rule that can be left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutant {
            $($(#[doc = $text])+ $name,)+
        }

        impl Mutant {
            /// All mutants: those of guards first, then those of rules.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the description of the mutant: the behaviour without its guard or rule.
            #[must_use]
            pub fn leaves_out(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($($text),+).trim_start(),)+
                }
            }
        }
    };
}

mutants! {
    /// Plans do not check that their instance is registered.
    InstanceUnchecked,
    /// A claim does not check that its server is still enabled.
    ServerUnchecked,
    /// A claim does not check the version of the configuration.
    ClaimConfigUnchecked,
    /// A claim does not check the version of the assignment.
    AssignmentUnchecked,
    /// A claim does not check the version of its item's owner.
    OwnerUnchecked,
    /// A claim checks neither the owner of its item nor the assignment.
    OwnershipUnchecked,
    /// Leaders do not check their term.
    TermUnchecked,
    /// An assignment does not check the version of the configuration.
    ReshardingConfigUnchecked,
    /// An assignment does not check for new requests for resharding.
    RequestUnchecked,
    /// An assignment does not check the records of the items that it moves.
    MovedLedgerUnchecked,
    /// A record is disabled or enabled without a check of the operator's node.
    ItemDisabledUnchecked,
    /// A claim does not check that its instance is registered.
    InstanceUncheckedByRuns,
    /// Leaders do not check that they are registered.
    InstanceUncheckedByLeaders,
    /// An election does not check that the instance is registered.
    InstanceUncheckedAtElection,
    /// Drain marks and server nodes are written without a check of the instance's registration.
    InstanceUncheckedByMembers,
    /// A callback does not check that its instance is registered.
    InstanceUncheckedByCallbacks,
    /// An assignment does not check the term.
    TermUncheckedAtResharding,
    /// A sweep does not check the term.
    TermUncheckedBySweeps,
    /// Disabling an item does not check the term.
    TermUncheckedByNotes,
    /// Passing a request on does not check the term.
    TermUncheckedByRequests,
    /// Cleanup does not check the term.
    TermUncheckedByCleanup,
    /// An abdication does not check the term.
    TermUncheckedAtAbdication,
    /// A leader that leaves does not check the term.
    TermUncheckedByLeavers,
    /// A sweep does not check the version of the configuration.
    SweepConfigUnchecked,
    /// Passing a request on does not check the version of the configuration.
    RequestConfigUnchecked,
    /// A callback does not check the version of the configuration.
    CallbackConfigUnchecked,
    /// A callback does not check that its server is still enabled.
    CallbackServerUnchecked,
    /// A callback does not check the version of the assignment.
    CallbackAssignmentUnchecked,
    /// The acceptance of a request does not check the version of the assignment.
    AcceptanceAssignmentUnchecked,
    /// The removal of a misfire mark does not check the record of the item.
    CleanupLedgerUnchecked,
    /// Retiring an item does not check the version of its owner.
    OwnerClearedBlindly,
    /// Passing a request on does not check the version of the request.
    RequestPassedBlindly,
    /// The removal of a request does not check its version.
    RequestClearedBlindly,
    /// The acceptance of a request does not check the version of the instance's node.
    RequestAcceptedBlindly,
    /// The write of a trigger does not check the version of the instance's node.
    InstanceAskedBlindly,
    /// A claim does not check for servers that were added.
    ServersUnchecked,
    /// A callback does not check for servers that were added.
    CallbackServersUnchecked,
    /// A claim checks neither its server nor the counter of added servers.
    ServerAndServersUnchecked,
    /// A claim does not check the version of the record.
    ClaimOverwrites,
    /// Noting a misfire does not check the version of the record.
    MisfireOverwrites,
    /// A release does not check the version of the record.
    ReleaseOverwrites,
    /// A sweep does not check the version of the record.
    SweepOverwrites,
    /// A takeover does not check the version of the record.
    TakeoverOverwrites,
    /// Retiring or reviving an item does not check the version of the record.
    ReshardingOverwrites,
    /// Disabling an item does not check the version of the record.
    DisablingOverwrites,
    /// Passing a request on does not check the versions of the records.
    TriggerOverwrites,
    /// An assignment does not check the versions of the owners.
    OwnerOverwritten,
    /// An assignment does not check the version of the one before it.
    AssignmentOverwritten,
    /// An election does not check the version of the term.
    TermOverwritten,
    /// A callback does not check the version of the callback record.
    OnceOverwritten,
    /// A sweep beside Java instances does not confirm the absence of the holder's instance.
    InstanceUnconfirmed,
    /// A sweep does not confirm the absence of the holder's mark, unless it creates a new one.
    MarkUnconfirmed,
    /// A sweep confirms neither the holder's absence nor that of its mark, unless it creates one.
    Unconfirmed,
    /// A sweep relies on a persistent mark although its run began under another configuration.
    FormerMarksTrusted,
    /// Leaders do not check the version of the leader's node.
    LeaderUnchecked,
    /// A claim does not check the absence of a Java leader's resharding flags.
    JavaFlagsUnchecked,
    /// A claim does not check that no Java instance has named the server that runs next.
    NextServerUnchecked,
    /// Removing the owner of a surplus item does not check that the item has no record.
    NewRecordUnchecked,
    /// Releasing or taking over an orphan at once does not check the absence of a queue entry.
    QueueUnchecked,
    /// Joining the election latch does not check that no leader exists.
    JoinUnchecked,
    /// An abdicating leader does not check that its request for the Java leader still exists.
    WordUnchecked,
    /// An assignment does not check that Java instances have not begun the items that it moves.
    JavaRunUnchecked,
    /// Queueing an interrupted Java run does not check that the run was not taken over.
    JavaTakeoverUnchecked,
    /// The removal of a leftover mark does not check the record of its item.
    RepairedRecordUnchecked,
    /// The removal of Java leftovers does not check the version of the configuration.
    CleanupConfigUnchecked,
    /// The expiry of a server does not check that no instance has registered since.
    ExpiryRequestUnchecked,
    /// The expiry of a server does not check the version of the server.
    ServerRemovedBlindly,
    /// The expiry of a server overwrites entries of the audit.
    AuditOverwritten,
    /// Writes of operators do not check the version of their node.
    OperatorWriteUnguarded,
    /// Removals by operators do not check the version of their node.
    OperatorRemovalUnguarded,
    /// Sealing the leader's node does not check its version.
    LeaderSealedBlindly,
    /// Sealing a leftover instance node does not check its version.
    GhostSealedBlindly,
    /// The removal of a leftover instance node does not check its version.
    GhostRemovedBlindly,
    /// A commit of a former session is executed in the next session of the process.
    SessionUnchecked,
    /// A sweep takes runs from deregistered instances with a live session.
    SweepIgnoresMarks,
    /// An owner claims a pending item.
    PendingClaimable,
    /// An item is claimed by an assignment for another number of items.
    TotalIgnored,
    /// An item moves during its run.
    BusyMoved,
    /// An item is retired during its run.
    BusyRetired,
    /// A revived item keeps an owner that may be lost.
    OwnersKeptUnchecked,
    /// A leader takes a partly visible assignment of its own for a complete one.
    TornAssignmentTrusted,
    /// Only the last of several unknown claims of an item is remembered.
    EarlierClaimForgotten,
    /// A job with catch-up runs a fire without knowing the missed fires before it.
    CaughtUpUntold,
    /// A claim that waits for another run of its item is forgotten.
    WaitingClaimForgotten,
    /// Pending items never move.
    NeverFollow,
    /// A claim does not increase the fencing token.
    TokenKept,
    /// A fire is claimed again although the record shows a claim for it.
    FireClaimedAgain,
    /// A settled fire is claimed or noted again.
    SettledIgnored,
    /// The record does not store the last fire.
    LastFireKept,
    /// A revived item starts with a new record.
    RetiredForgotten,
    /// Disabled records can be claimed.
    DisabledClaimable,
    /// An item is claimed while the code of its former run continues in the same process.
    LocalRunIgnored,
    /// A run that is not held any more is released.
    ForeignRelease,
    /// A release keeps the marks of its run.
    MarksStay,
    /// A release does not notice that its mark is already absent.
    AbsentMarksUnnoticed,
    /// An orphan that needs no takeover any more is not released.
    OrphansStay,
    /// A takeover ignores the mark of the former run.
    MarksIgnoredAtTakeover,
    /// An item is taken over while an earlier incarnation's code runs it in the same process.
    TakeoverBesideOwnRun,
    /// Busy instances take orphans over as fast as idle ones.
    BusyTakeOver,
    /// Misfires are not noted.
    MisfireUnnoted,
    /// Gaps are not detected.
    GapsUnrecorded,
    /// No gap is detected if the configuration has changed since the last fire.
    GapsHiddenByChanges,
    /// A configuration counts from the time at which an instance sees it, not from its registry
    /// time.
    ChangesDatedWhenSeen,
    /// No gap is detected before a period without monitoring.
    GapsBeforeUnmonitoredHidden,
    /// Schedules between the last fire and the current schedule are ignored.
    SchedulesBetweenForgotten,
    /// A caught-up fire of a former schedule is followed by fires of the current schedule.
    FormerFiresForgotten,
    /// No gap is detected between two noted misfires.
    NotedOverHoles,
    /// An instance does not report gaps that a lost instance has recorded.
    OthersGapsUnreported,
    /// A gap counts as reported if a later one was, even after an operator has settled the record
    /// back.
    GapsReportedByEnd,
    /// A record that is settled back keeps gaps that end in the future.
    FutureGapsKept,
    /// A new record does not store the first fire that its item owes.
    BornOwingNothing,
    /// Retiring an item does not report its missed fires.
    RetiredInSilence,
    /// Noted misfires are not replayed.
    MisfireUnplayed,
    /// Disabled and paused servers expire, too.
    HeldBackExpires,
    /// Servers expire although the job has a Java class.
    JavaServerExpires,
    /// An instance that came and went between two looks does not restart the time to live.
    ReturnUnseen,
    /// Stale queue entries and marks are not removed.
    NoCleanup,
    /// Unavailable instances contend for leadership.
    UnavailableStand,
    /// Unavailable leaders do not abdicate.
    NoAbdication,
    /// An instance leaves during its runs.
    LeaveBusy,
    /// An instance leaves while its claims are in flight.
    LeaveClaiming,
    /// An instance leaves while its claims are in doubt.
    LeaveInDoubt,
    /// A leaving instance does not settle its claims in doubt.
    DoubtsUnsettled,
    /// A draining instance does not write its drain mark.
    DrainUnmarked,
    /// A claim with a lost reply counts as failed.
    DoubtsForgotten,
    /// A run is started again although the view has shown its start.
    StartedAgain,
    /// A run is started after the lease has expired.
    StartedWithoutLease,
    /// A run is started while the deregistration is in flight.
    StartedLeaving,
    /// A run uses the current configuration instead of that of its claim.
    ConfigUnpinned,
    /// An instance whose node was removed registers again.
    RegisteredAgain,
    /// The sessions of a process share an instance id.
    IdsReused,
    /// The completed callback does not wait for the started one.
    CompletedFirst,
    /// A callback does not wait for the slowest item.
    CalledEarly,
    /// Requests are accepted and passed on by an assignment for another number of items.
    AcceptanceTotalIgnored,
    /// Callbacks run by an assignment for another number of items.
    CallbackTotalIgnored,
    /// A run starts on a paused server.
    PausedServerIgnored,
    /// A run starts on a paused instance.
    PauseIgnored,
    /// A run starts on an unavailable instance.
    UnavailableClaim,
    /// A run starts on a draining instance.
    DrainingClaim,
    /// An item is claimed after the lease has expired.
    ClaimedWithoutLease,
    /// A missed fire is caught up while noted misfires wait.
    CaughtUpBesideMisfires,
    /// Catch-up starts with the latest missed fire.
    CaughtUpBackwards,
    /// Missed fires are not caught up.
    NotCaughtUp,
    /// A misfire is replayed although the due fire stands for it.
    ReplayBesideDue,
    /// A claim ignores the operator's node of a disabled item until its record is disabled.
    DisabledUnnoticed,
    /// A sweep takes runs of registered instances whose mark is absent.
    SweepIgnoresInstances,
    /// Orphans beyond the number of items are taken over.
    RetiredTakenOver,
    /// Beside Java instances, an instance takes over further items during a takeover.
    TakeoversPileUp,
    /// A sweep takes orphans over at once although Java instances take turns.
    TakenAtOnceBesideJava,
    /// A sweep takes orphans over at once although they are queued or marked as taken over.
    TakenAtOnceBesideMarks,
    /// A leader takes no orphan over in its sweep.
    NothingTakenAtOnce,
    /// An instance takes over all orphans instead of its share.
    OrphansUnshared,
    /// After its first late takeover, a busy instance takes over the remaining orphans at once.
    PatienceKept,
    /// An instance registers without a valid configuration.
    RegisteredUnconfigured,
    /// A removed server node is not recreated.
    ServerForgotten,
    /// Items are not reassigned when the available instances change.
    AssignedForFewer,
    /// Items are not reassigned when their number changes.
    AssignedForOtherTotal,
    /// Items are not reassigned when the strategy changes.
    AssignedByOtherStrategy,
    /// Items are not reassigned when the placement rules or the attributes change.
    AssignedByOtherPlacement,
    /// Instances that do not meet a required condition are available.
    UnmetConditionIgnored,
    /// Items are not reassigned on request.
    AssignedUnasked,
    /// Leaders decide by a narrow view.
    DecidedByAPart,
    /// Leaders use a narrow watch.
    LedByAPart,
    /// An instance keeps its narrow watch although its number of items differs from the assignment.
    CountsIgnored,
    /// An instance keeps its narrow watch although orphans are queued.
    QueueUnfollowed,
    /// An instance keeps its narrow watch beside Java instances.
    JavaUnfollowed,
    /// An instance keeps its narrow watch although an item is pending for it.
    ComingUnfollowed,
    /// A request covers only the items of a narrow view.
    NamedByAPart,
    /// Missed fires are determined by a narrow view.
    MissedByAPart,
    /// Instances use a narrow watch in jobs without monitoring.
    UnmonitoredNarrow,
    /// Items are not reassigned when the item counts of instances differ from the assignment.
    MiscountsKept,
    /// A watch becomes narrow without a quiet period.
    NarrowedAtOnce,
    /// Items stay with owners that no assignment has chosen.
    StraysLeft,
    /// Pending items move to their next owner although it is not available.
    FollowersStray,
    /// Leaders act by an older configuration than the last good one while the stored one is
    /// unreadable.
    LedByOlderConfig,
    /// An instance takes part although another session has registered its id.
    NamesakeIgnored,
    /// A run is started that this incarnation has not claimed.
    ForeignRunStarted,
    /// A new owner does not run the fire that was due when it got its items.
    NewcomerWaits,
    /// An item with an unreadable record moves.
    UnreadableMoved,
    /// A new item runs fires from before its creation.
    BornBefore,
    /// A new record starts after a fire in the future.
    BornInFuture,
    /// The leader computes the first and last owed fires of an item by its own clock.
    GapsByOwnClock,
    /// An instance fires although its clock differs from the registry's by more than the bound.
    WrongClockFires,
    /// A future fire stays due when the registry's time becomes known.
    FutureFireKept,
    /// An instance accepts a fire that is later than its own clock.
    EarlyFiresTaken,
    /// An instance claims before the reply to its registration has brought the registry's time.
    TimeUnawaited,
    /// A new owner inherits a due fire in the future.
    FutureDueTaken,
    /// A callback runs although its holder is alive.
    CallbackBesideHolder,
    /// A callback is repeated for the same fire.
    CalledAgain,
    /// A request replaces an earlier one that waits.
    RequestReplaced,
    /// An item is retired by a replaced configuration while the stored one is unusable.
    RetiredByOlderConfig,
    /// The request of a disabled item is dropped before its record is disabled.
    RequestDroppedEarly,
    /// The next incarnation of a sender sends its request again.
    RequestSentAgain,
    /// A repeated fire is due again.
    FiredTwice,
    /// A run begins during another run of the same item in the process.
    BegunBesideRun,
    /// A run is dropped as soon as its code has ended.
    RunForgottenEarly,
    /// Duties decide before the first snapshot is complete.
    DecidedUnsynced,
    /// A commit that conflicted is retried at once.
    RefusalRepeated,
    /// Duties decide before the view shows their own commits.
    CommitForgotten,
    /// The id of a request can equal the time of a fire, in milliseconds.
    EvenRequests,
    /// A leaving instance ignores that its registration may be in doubt.
    RegistrationInDoubtForgotten,
    /// Leaders beside Java instances do not raise the version of their node.
    LeadershipUnsealed,
    /// Runs with a persistent mark have no ephemeral mark.
    AliveUnmarked,
    /// Persistent marks stay when the run of a lost holder is released.
    LastingMarksStay,
    /// Items are claimed during a resharding by a Java leader.
    JavaFlagsIgnored,
    /// Items are claimed while a node names the server that runs next.
    NextServerIgnored,
    /// Queue entries are removed although Java instances have added them.
    JavaQueueCleaned,
    /// A misfire mark is removed although a Java instance, or the next owner, has to replay the
    /// misfire.
    JavaMisfiresCleaned,
    /// An orphan waits for a takeover although a Java instance owns its item.
    JavaItemsTakenOver,
    /// An orphan that a Java instance has taken from the queue and ended still waits for a
    /// takeover.
    JavaTakeoversForgotten,
    /// The Java instance that has taken an item over is not remembered.
    TakersForgotten,
    /// A Java takeover counts as ended as soon as its marks are absent.
    TakeoversDecidedEarly,
    /// No wake-up is set for the time at which the end of a Java takeover is certain.
    TakeoversUnwatched,
    /// Runs that Java instances have taken from the queue are taken over again.
    TakenOutOfQueue,
    /// The next owner repeats the fires of a Java owner.
    JavaFiresRunAgain,
    /// The next owner does not replay the misfires of a Java owner.
    JavaMisfiresForgotten,
    /// Interrupted runs of Java instances are not taken over.
    JavaRunsForgotten,
    /// New owners inherit the due fire although a Java instance may have run it.
    DueBesideJava,
    /// A new record counts an interrupted Java run as ended.
    BornBesideInterrupted,
    /// A new record counts a fire that Java instances postpone as ended.
    BornHeldBack,
    /// Instances contend and take over outside the latches of Java instances.
    TurnsIgnored,
    /// A contender acts before its turn.
    OutOfTurn,
    /// A contender waits for ever for a Java instance to leave a latch.
    WaitsForEver,
    /// An instance that has waited long enough takes over without its turn.
    TakenOutOfTurn,
    /// A contender does not re-enter the latch when earlier Java contenders wait for it.
    OutOfOrder,
    /// The number of a contender is not above the existing ones.
    PlacesUncounted,
    /// The end of a turn does not remove the contender from the latch.
    TurnKept,
    /// A contender that needs no turn any more stays in the latch.
    LineNotLeft,
    /// Java contenders are ignored until they are registered.
    ComersIgnored,
    /// The wait for one turn counts for the next turn.
    TurnWaitKept,
    /// No wake-up is set for the end of the wait for Java instances.
    PatienceUnwatched,
    /// An abdicating leader leaves no request for the Java leader.
    WordForgotten,
    /// A leader that is about to abdicate still assigns items beside Java instances.
    AssignedBeforeGoing,
    /// Items move without an announcement to Java instances.
    MovesUnannounced,
    /// A fire counts as run by Java instances although the announcement came right after it.
    LateInstancesAccounted,
    /// A fire right before an announcement does not count even for Java instances that have shown a
    /// mark.
    BegunFiresDoubted,
    /// Such a fire does not count for Java instances whose mark was seen before the fire.
    EarlyMarksDoubted,
    /// Such a fire does not count for Java instances whose runs begin and end between two
    /// observations.
    ShortRunsUnseen,
    /// An item that a Rust instance has run for a postponed fire moves to a Java instance.
    HeldBackRunTwice,
    /// Such an item moves before Java instances have begun the postponed fire.
    HeldBackFollowedAtOnce,
    /// Items move near a fire, for which a Java instance may use a stale cache.
    MovedAtFires,
    /// No wake-up is set for the end of the period around a fire.
    NearFiresUnwatched,
    /// Pending items leave Java instances without an announcement.
    FollowedUnannounced,
    /// An announcement ends before its assignment is complete.
    AnnouncementEndsEarly,
    /// A leader takes its own announcement for a request for resharding.
    AnnouncementTakenForRequest,
    /// Items are assigned at once although Java instances run some of the items that move.
    JavaRunsUnawaited,
    /// The wait for Java runs of items that move has no bound.
    JavaRunsAwaitedForEver,
    /// The wait after one announcement counts for the next announcement.
    AnnouncementWaitKept,
    /// An announcement is not removed.
    AnnouncementStays,
    /// Items move although a Java instance marks them as running.
    JavaRunMoved,
    /// Under a Java leader no instance sweeps.
    SweptByLeadersOnly,
    /// Under a Java leader each Rust instance sweeps all items.
    SweptByAnyInstance,
    /// Under a Java leader no instance removes leftover nodes.
    KeptByLeadersOnly,
    /// Under a Java leader each Rust instance removes leftover nodes.
    KeptByAnyInstance,
    /// Leftover Java marks stay if their items need no takeover.
    JavaMarksStay,
    /// Leftover Java marks are removed before the fire of their run is known.
    MarksRemovedEarly,
    /// Leftover Java marks wait for a first fire although the job has no schedule.
    MarksAwaitNoFire,
    /// Queue entries stay although Java instances would run items that need no takeover.
    JavaQueueStays,
    /// Queue entries are removed although Java instances may take them.
    JavaQueueTaken,
    /// Queue entries of orphaned Rust runs are removed.
    BusyDequeued,
    /// Leftover instance nodes stay.
    GhostsStay,
    /// Leftover instance nodes are removed although they cannot be distinguished from new ones.
    GhostsUnsealed,
    /// A Java run counts as ended when its mark vanishes shortly before its instance.
    GraceForgotten,
    /// A Java run counts as interrupted although its mark vanished long before its instance.
    GraceEndless,
    /// A Java run counts as interrupted although a record shows its outcome.
    SettledRunsInterrupted,
    /// A Java run counts as interrupted although it was taken over.
    JavaTakeoversIgnored,
    /// Interrupted runs with a persistent mark are remembered after the mark is removed.
    LastingRunsLost,
    /// Interrupted Java runs are remembered although they were taken over.
    LostRunsKept,
    /// The mark of a Rust run counts as a Java mark if a Java instance owns the item.
    RustRunsTakenForJava,
    /// A fire during an announced resharding counts for the present owners.
    HeldBackAccounted,
    /// A fire during a requested resharding counts for no owner.
    HeldBackForgotten,
    /// Items that Java instances mark as running do not count as run by them.
    JavaMarksUnaccounted,
    /// Leftover marks are removed although the records of their items show runs.
    MarksRemovedBesideRuns,
    /// The mark of a taker is removed although another instance has taken its item over.
    TakeoversRemoved,
    /// The takeover of a lost instance counts as interrupted although another instance has taken it
    /// over.
    TakersSeenEverywhere,
    /// The holder of a persistent mark counts as alive.
    LastingMarksTrusted,
    /// Under a Java leader the pending items of the last Rust assignment are not claimed.
    PendingUnderJava,
    /// A Java instance with a trigger in its node counts as a Rust instance.
    AskedTakenForRust,
    /// Under a Java leader items without a record are not claimed.
    RecordsLeftToJava,
    /// An unmonitored run starts during a resharding by a Java leader.
    UnclaimedBesideFlags,
    /// New owners inherit the due fire although Java instances take part.
    DueTakenBesideJava,
    /// Under a Java leader Rust instances pass no requests on.
    RequestsLeftToJava,
    /// Beside Java instances the nodes of retired items stay.
    EmptyItemsStay,
    /// A release removes the mark of a Java instance that has also begun the item.
    JavaMarksReleased,
    /// In 3.x servers with an unknown state count as enabled.
    UnknownServersEnabled,
    /// Requests wait in the records of items that Java instances own.
    JavaNotAsked,
    /// A request is handed on to a Java instance during its runs.
    AskedBesideRun,
    /// Handing a request on does not check that the Java instance has not begun a run.
    AskedRunUnchecked,
    /// A request is handed on to a Java instance during a resharding.
    AskedBesideFlags,
    /// Handing a request on does not check the absence of an announcement.
    AskedFlagUnchecked,
    /// A trigger is written without a check that its receiver and its writer are registered.
    AskedUnchecked,
    /// Under a Java leader each Rust instance passes each request on.
    RequestPassedByAnyInstance,
    /// Under a Java leader passed-on requests of lost senders stay.
    RequestsStayUnderJava,
    /// Under a Java leader a trigger in an instance node becomes a request of its own.
    AcceptedForJavaLeader,
    /// The result of a strategy is not validated.
    StrategyTrusted,
    /// Plans exceed the registry's limits.
    RoomIgnored,
    /// An instance leaves during its callbacks.
    LeaveCalling,
    /// An instance counts as left although it has nodes in the registry.
    LeftBehind,
    /// Duties decide while the session is suspended.
    DecidedDisconnected,
    /// Runs are not cancelled when the lease expires.
    RunsGoOn,
    /// A request is sent again although it exists.
    RequestLeftAgain,
    /// A snapshot is visible before it is complete.
    SnapshotsShownInPart,
    /// Items are claimed although they are marked as running.
    MarksIgnoredByClaims,
    /// Surplus items are claimed as long as they have an owner.
    SurplusClaimed,
    /// A fire counts as completed during a run that stands for it.
    CompletedBesideRun,
    /// A fire counts as completed although its noted misfire has not run.
    CompletedBesideMisfires,
    /// An instance writes its stable name again although it exists.
    NamedAgain,
    /// An assignment is written although no pending item can move.
    FollowedForNothing,
    /// Static items move when instances join.
    StaticMoved,
    /// Any instance removes a passed-on request.
    RequestClearedByAnyInstance,
    /// The id of a request is its time only.
    RequestsAlike,
    /// The end of a former run is taken for that of the current run.
    FormerEndTaken,
    /// An unmonitored run starts although its item is disabled.
    UnclaimedDisabled,
    /// An unmonitored run starts while the code of a former run continues.
    UnclaimedBesideRun,
    /// An unmonitored run starts on an instance that must not start runs.
    UnclaimedUnavailable,
    /// A run is started while the session is suspended.
    StartedDisconnected,
    /// A takeover drops the parameter of the request.
    ParameterLost,
    /// A request with a parameter is passed on to instances that cannot receive it.
    UntoldAsked,
    /// A request with a parameter is handed on to a Java instance.
    UntoldHandedOn,
    /// An orphan with a parameter is queued beside Java instances.
    UntoldQueued,
    /// The size of a plan ignores the length of parameters.
    ParametersWeighNothing,
    /// The total size of a request's parameters has no bound.
    ParametersWithoutBound,
    /// A dropped request is not reported.
    DropsUntold,
    /// A request that was handed on to a Java instance is reported as missed.
    HandedOnReportedAsMissed,
    /// A fire that is missed during an outage does not name the outage.
    OutageUnnamed,
    /// A fenced run keeps its marks.
    FencedMarksStay,
    /// A fenced run removes the marks of another instance.
    OthersMarksRemoved,
    /// A fenced run removes marks beside a later run in progress.
    LaterRunsMarksRemoved,
    /// A commit that may have removed the marks of a run is not remembered.
    RemovedMarksForgotten,
    /// The schedule in force has the version of an invalid configuration.
    InvalidVersionInForce,
    /// The fencing token of a restored record is not raised.
    TokensGoBack,
    /// A run that only a restored record shows is not swept.
    PutBackRunStays,
    /// The absent mark of an ended run counts for the run that has begun since.
    LaterRunUnmarked,
    /// A request to cancel a run counts for later runs of the item.
    CancelTokenIgnored,
    /// A run whose cancellation is requested is handed over and taken over.
    CancelledRunContinued,
    /// A run that was cut short without a request ends as cancelled.
    CancelledUnasked,
    /// A run starts although its cancellation was requested before.
    CancelledRunStarted,
    /// Each change of the record cancels its run again.
    CancelledAgain,
    /// The last fire of a schedule that has ended is not made due.
    LastFireForgotten,
    /// The last fire of a schedule is made due although its jitter still delays it.
    LastFireBeforeItsDelay,
    /// The last fire of a schedule is made due however old it is.
    LastFireBeyondWindow,
    /// A run writes its progress although the record does not show it.
    RunWritesUnheld,
    /// A write of a run does not check that the record is unchanged.
    RunWritesUnguarded,
    /// The end of a run is not counted.
    EndUncounted,
    /// The end of a run is counted twice.
    EndCountedTwice,
    /// A claim of a limited job does not take its permit.
    PermitNotTaken,
    /// Runs begin although no permit is free.
    PermitsUncounted,
    /// The end of a run keeps its permit.
    PermitKept,
    /// Under a limit, items with low numbers always come first.
    LimitedItemsUnsorted,
    /// A takeover needs no permit of its own.
    TakeoverWithoutPermit,
    /// The end of a fire with a fixed delay is recorded while items still run.
    EndedBesideRun,
    /// A changed delay replaces the fire of a job with a fixed delay that items have begun.
    BegunFireReplaced,
    /// An item with a fixed delay begins another fire before the end of its last one is recorded.
    EndNotAwaited,
    /// The end of a fire is recorded without a check of the record that it replaces.
    EndOverwritten,
    /// The recorded end of a fire can be before the fire.
    EndBeforeFire,
    /// A fire with a fixed delay that meets a busy item is noted as a misfire.
    DelayedFireNoted,
    /// A write of the leader about a backfill does not check that it was not cancelled.
    BackfillCancelIgnored,
    /// The log of backfills is replaced whatever its version is.
    BackfillLogOverwritten,
    /// An item does not note the fire of a backfill that it got.
    BackfillNotNoted,
    /// The number of fires of a backfill that may be in progress has no bound.
    BackfillUnlimited,
    /// A fire of a backfill counts as ended while its run goes on.
    BackfillCountedEarly,
    /// The requests of a cancelled backfill are not dropped.
    BackfillNotWithdrawn,
    /// A request for a past fire is claimed before a noted misfire.
    BackfillBeforeMisfire,
    /// A claim of a job with a start rate does not record its starts.
    StartsUnrecorded,
    /// Runs begin although the start rate is reached.
    StartsUncounted,
    /// Starts of a wrong clock in the future count.
    FutureStartsCounted,
    /// A claim drops the starts that lie far ahead by the clock of its instance.
    FutureStartsDropped,
    /// The record of the starts is replaced whatever its version is.
    StartsOverwritten,
    /// The record of the starts that a later version wrote is replaced.
    NewerStartsReplaced,
    /// An instance that waits for the start rate does not wake when a start expires.
    StartsNotAwaited,
    /// The leader takes over runs of a job with a start rate at once.
    RatedTakenAtOnce,
    /// A missed change is reported and not repaired.
    MissedChangeKept,
    /// A change on its way counts as missed.
    OneReadSuffices,
    /// A fire in a job that cancels overlaps is noted without a request to cancel the run.
    OverlapNotCancelled,
    /// A fire cancels a run that stands for noted fires.
    MergedRunCancelled,
    /// A fire cancels a run that an operator requested.
    ManualRunCancelled,
    /// A fire replaces the request by which an operator cancelled the run.
    CancelRequestReplaced,
    /// A fire joins a queue that is full.
    QueueUnbounded,
    /// One run stands for all queued fires.
    QueueMerged,
    /// A due fire is claimed before the queued ones.
    QueueOvertaken,
    /// Fires that wait in the queue run by themselves in a job that has no queue any more.
    QueueOutlivesPolicy,
    /// No fire joins the queue of an idle item.
    IdleQueueClosed,
    /// A disabled item queues a fire instead of skipping it.
    DisabledFireQueued,
    /// A fire that met a full queue is reported without that reason.
    FullQueueUnnamed,
    /// A fire for which a limit left no room is reported without that reason.
    ReachedLimitUnnamed,
    /// An instance that has missed a fire does not report the items that come to it afterwards.
    LaterItemsUnreported,
    /// An item that has never run catches up with nothing.
    FirstFiresNotCaughtUp,
    /// A fire that a Java instance has run is reported as missed by the next owner of the item.
    JavaRunReportedAsMissed,
    /// The end of a run keeps its permit of the group.
    GroupPermitKept,
    /// Runs begin although the group has no room.
    GroupRunsUncounted,
    /// A claim does not check the version of the group's limits.
    GroupLimitsUnchecked,
    /// A claim of a job in a group with a rate does not record its starts.
    GroupStartsUnrecorded,
    /// The record of a group's starts is replaced whatever its version is.
    GroupStartsOverwritten,
    /// The record of a group's starts that a later version wrote is replaced.
    NewerGroupStartsReplaced,
    /// An instance that waits for the rate of a group does not wake when a start expires.
    GroupStartsNotAwaited,
    /// The leader takes over runs of a job in a group at once.
    GroupedTakenAtOnce,
    /// Runs of a job begin while the view does not show its group.
    UnknownGroupUnlimited,
    /// A job takes every free permit, although other jobs wait.
    LineIgnored,
    /// A job stays in the line although no run of it waits.
    LineKept,
    /// A job goes to the end of the line whatever the version of its place is.
    PlaceInLineOverwritten,
    /// A job leaves the line whatever the version of its place is.
    PlaceInLineRemovedBlindly,
    /// A claim in a further slot does not settle its fire in the record of the item.
    SlotFireUnsettled,
    /// A run in a further slot keeps the noted fires that it stands for.
    SlotMisfireKept,
    /// An item moves although a further slot has a run.
    FurtherRunMoved,
    /// A move does not check the records of the further slots.
    FurtherRecordsUnchecked,
    /// An item is retired although a further slot has a run.
    FurtherRunRetired,
    /// A run begins in a free slot although the item has all runs that the job allows.
    RunsBesideUncounted,
    /// A fire that meets runs in further slots alone is not noted.
    RestingItemForgotten,
    /// A manual request runs in a further slot.
    RequestInFurtherSlot,
    /// A fire counts as completed although a further slot has a run.
    CompletedBesideFurtherRun,
    /// Instances of a job with parallel runs may have a narrow watch.
    ParallelNarrow,
    /// The record of an item with further slots is written as version 1.
    SlotsWrittenAsFormer,
    /// A pending item counts as free if one of its slots is.
    PendingSlotFree,
    /// A fire that runs in a further slot is claimed again after a restored record of its item.
    UnknownRunRepeated,
    /// The further slots of an item are those that its record names alone.
    RestoredSlotsForgotten,
    /// A run that the record of its slot does not show is not counted.
    UnrecordedRunUncounted,
    /// A slot with the mark of a run gets the next run.
    MarkedSlotChosen,
    /// `ejob apply --prune` removes jobs of other owners.
    PruneTakesOthersJobs,
    /// `ejob apply --prune` removes jobs with live instances.
    PruneTakesLiveJobs,
    /// `ejob apply` changes jobs of other owners.
    OthersJobApplied,
    /// A configuration replaces one that has changed since it was read.
    StaleConfigReplaced,
    /// A job with live instances is removed without force.
    LiveJobRemoved,
    /// A job gets a second backfill while one is in progress.
    SecondBackfillAccepted,
    /// A job keeps its turn until none of its runs waits for a place of the process.
    PlacesOutOfTurn,
    /// A run that waits no more takes a turn of its job.
    GoneWaitTakesTurn,
    /// Each report of progress is written.
    ProgressUnbounded,
    /// No line of output is left out.
    OutputUnbounded,
    /// Lines that come after the end of a run are kept.
    LateLineKept,
    /// Secrets that a program has named stay in its output.
    SecretUnmasked,
    /// `ejob verify` takes two completed runs for one.
    RunTwiceUnnoticed,
    /// `ejob verify` lets the run of another queued fire stand for one.
    QueuedFireExplainedByNextRun,
    /// `ejob verify` lets the miss of any instance explain a fire.
    MissOfAnyInstanceCounts,
    /// `ejob verify` judges fires whose records may be on their way.
    YoungFireUnexplained,
    /// `ejob verify` ignores limits for which a fire waits.
    LimitUnexplained,
}
