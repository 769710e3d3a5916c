//! Everything that can be left out.

/// Defines the mutants, their list, and what each leaves out, in the words of its documentation.
macro_rules! mutants {
    ($($(#[doc = $text:literal])+ $name:ident,)+) => {
        /// Something that is left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutant {
            $($(#[doc = $text])+ $name,)+
        }

        impl Mutant {
            /// Every mutant: what is left out of single guards first, then what is left out of decisions.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns what is left out, in words.
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
    /// Runs start on servers that were disabled since.
    ServerUnchecked,
    /// Runs start under a configuration that was replaced since.
    ClaimConfigUnchecked,
    /// Items are claimed although an assignment was made since.
    AssignmentUnchecked,
    /// Items are claimed although their owner changed since.
    OwnerUnchecked,
    /// Items are claimed with neither their owner nor the assignment checked.
    OwnershipUnchecked,
    /// Leaders write although somebody else was elected since.
    TermUnchecked,
    /// Items are assigned for a configuration that was replaced since.
    ReshardingConfigUnchecked,
    /// Items are assigned although resharding was requested since.
    RequestUnchecked,
    /// Items are moved although they were claimed since.
    MovedLedgerUnchecked,
    /// Items are noted as disabled or enabled although operators changed their mind since.
    ItemDisabledUnchecked,
    /// Runs are claimed without checking that the instance is registered.
    InstanceUncheckedByRuns,
    /// Leaders write without checking that they are registered.
    InstanceUncheckedByLeaders,
    /// Instances are elected without checking that they are registered.
    InstanceUncheckedAtElection,
    /// Instances drain, and put their server back, without checking that they are registered.
    InstanceUncheckedByMembers,
    /// Callbacks are called without checking that the instance is registered.
    InstanceUncheckedByCallbacks,
    /// Items are assigned although somebody else was elected since.
    TermUncheckedAtResharding,
    /// Runs are swept although somebody else was elected since.
    TermUncheckedBySweeps,
    /// Operators' wishes are noted although somebody else was elected since.
    TermUncheckedByNotes,
    /// Requests to run are passed on although somebody else was elected since.
    TermUncheckedByRequests,
    /// Stale entries are taken away although somebody else was elected since.
    TermUncheckedByCleanup,
    /// Leaders abdicate although somebody else was elected since.
    TermUncheckedAtAbdication,
    /// Leaders leave although somebody else was elected since.
    TermUncheckedByLeavers,
    /// Runs are swept under a configuration that was replaced since.
    SweepConfigUnchecked,
    /// Requests to run are passed on under a configuration that was replaced since.
    RequestConfigUnchecked,
    /// Callbacks are called under a configuration that was replaced since.
    CallbackConfigUnchecked,
    /// Callbacks are called on servers that were disabled since.
    CallbackServerUnchecked,
    /// Callbacks are called although an assignment was made since.
    CallbackAssignmentUnchecked,
    /// Requests to an instance are accepted for its items although an assignment was made since.
    AcceptanceAssignmentUnchecked,
    /// Marks of misfires are taken away although the record of the item changed since.
    CleanupLedgerUnchecked,
    /// Retired items lose an owner that was set since.
    OwnerClearedBlindly,
    /// Requests to run are passed on although somebody has done that since.
    RequestPassedBlindly,
    /// Requests to run are taken away although they changed since.
    RequestClearedBlindly,
    /// Requests to an instance are accepted although they changed since.
    RequestAcceptedBlindly,
    /// Instances are asked to run although their node changed since.
    InstanceAskedBlindly,
    /// Items are claimed although a server was added since.
    ServersUnchecked,
    /// Callbacks are called although a server was added since.
    CallbackServersUnchecked,
    /// Items are claimed although both their server and the counter of servers changed since.
    ServerAndServersUnchecked,
    /// Claims overwrite the record of their item.
    ClaimOverwrites,
    /// Misfires overwrite the record of their item.
    MisfireOverwrites,
    /// The end of a run overwrites the record of its item.
    ReleaseOverwrites,
    /// Sweeps overwrite the record of an item.
    SweepOverwrites,
    /// Takeovers overwrite the record of their item.
    TakeoverOverwrites,
    /// Retiring and reviving overwrite the record of an item.
    ReshardingOverwrites,
    /// Notes of operators' wishes overwrite the record of an item.
    DisablingOverwrites,
    /// Requests to run overwrite the record of an item.
    TriggerOverwrites,
    /// Assignments overwrite the owner of an item.
    OwnerOverwritten,
    /// Assignments overwrite assignments that were made since.
    AssignmentOverwritten,
    /// Elections overwrite terms that began since.
    TermOverwritten,
    /// Records of callbacks overwrite each other.
    OnceOverwritten,
    /// Sweeps beside Java instances do not confirm that the instance of a holder is gone.
    InstanceUnconfirmed,
    /// Sweeps do not check that the mark of a holder is gone, unless they make a new one.
    MarkUnconfirmed,
    /// Sweeps check neither instance nor mark of a holder, unless they make a new mark.
    Unconfirmed,
    /// A write tells by marks which last that a holder is gone, although its run began with another configuration.
    FormerMarksTrusted,
    /// Leaders write although a Java instance has put its own node in the place of theirs.
    LeaderUnchecked,
    /// Items are claimed although a Java leader has announced since that it will assign them anew.
    JavaFlagsUnchecked,
    /// Items beyond their number lose their owner although they got a record since.
    NewRecordUnchecked,
    /// What is not shown in the queue is given up, or taken over at once, although it is in it.
    QueueUnchecked,
    /// Instances stand in line for an election although somebody leads since.
    JoinUnchecked,
    /// Leaders that go leave no word for Java instances if it was there before, although it was taken away since.
    WordUnchecked,
    /// Items move although a Java instance has begun them since.
    JavaRunUnchecked,
    /// Runs that Java instances have left unfinished are queued although somebody has taken them over since.
    JavaTakeoverUnchecked,
    /// Marks that were left behind are taken away although the record of their item changed since.
    MendedRecordUnchecked,
    /// What Java instances have left behind is taken away under a configuration that was replaced since.
    CleanupConfigUnchecked,
    /// Leaders seal their node although it changed since.
    LeaderSealedBlindly,
    /// Nodes that instances have left behind are sealed although they changed since.
    GhostSealedBlindly,
    /// Nodes that instances have left behind are taken away although others are in their place since.
    GhostRemovedBlindly,
    /// What was asked for in a session that is over happens in the next one of the process.
    SessionUnchecked,
    /// Sweeps take runs from instances that an operator took out, while their code runs.
    SweepIgnoresMarks,
    /// Items that are to move are still claimed by their owner.
    PendingClaimable,
    /// Items are claimed although they were assigned for another number of items.
    TotalIgnored,
    /// Items move under their runs.
    BusyMoved,
    /// Items leave the job under their runs.
    BusyRetired,
    /// Items that come back into the job keep an owner that may be gone.
    OwnersKeptUnchecked,
    /// A leader that sees a part of an assignment that it has written takes it for the whole.
    TornAssignmentTrusted,
    /// Of several claims of an item whose outcome is not known only the last one is.
    EarlierClaimForgotten,
    /// Jobs that catch up run a fire though nobody has said what came before it.
    CaughtUpUntold,
    /// A claim that has to wait for another run of its item is forgotten.
    WaitingClaimForgotten,
    /// Items that could not move at once never do.
    NeverFollow,
    /// The token does not rise with a claim.
    TokenKept,
    /// A fire is claimed again although the record says that it was.
    FireClaimedAgain,
    /// A fire is claimed or noted again although it was settled.
    SettledIgnored,
    /// The last fire of an item is not noted.
    LastFireKept,
    /// Retired items begin anew when they come back.
    RetiredForgotten,
    /// Records of disabled items can be claimed.
    DisabledClaimable,
    /// Items are claimed while code of a former run goes on here.
    LocalRunIgnored,
    /// Runs end that are not held.
    ForeignRelease,
    /// Ended runs leave their marks.
    MarksStay,
    /// That a mark is gone already is not noticed.
    AbsentMarksUnnoticed,
    /// Orphans that nobody has to take over any more stay.
    OrphansStay,
    /// Items are taken over while the former run is still shown.
    MarksIgnoredAtTakeover,
    /// Items are taken over while code of a former life runs them here.
    TakeoverBesideOwnRun,
    /// Busy instances take over like idle ones.
    BusyTakeOver,
    /// Fires that meet a run are not noted.
    MisfireUnnoted,
    /// Gaps are not found.
    GapsUnrecorded,
    /// No gap is found where the configuration has changed since the fire before it.
    GapsHiddenByChanges,
    /// A configuration counts from the moment at which an instance sees it, not from its date in the registry.
    ChangesDatedWhenSeen,
    /// No gap is found before a time in which the job was not monitored.
    GapsBeforeUnmonitoredHidden,
    /// Schedules that came and went since the fire before are forgotten.
    SchedulesBetweenForgotten,
    /// A fire of a former schedule counts as followed by those of the present one.
    FormerFiresForgotten,
    /// No gap is found between two fires that meet a run.
    NotedOverHoles,
    /// Instances report the gaps that they have found, and not those that a lost one has.
    OthersGapsUnreported,
    /// A gap counts as reported if a later one was, although an operator has set the record back since.
    GapsReportedByEnd,
    /// A record that an operator sets back keeps the gaps that end in the future.
    FutureGapsKept,
    /// Nothing is known of the first fire of a new item.
    BornOwingNothing,
    /// An item is retired without a word about the fires before that.
    RetiredInSilence,
    /// Noted fires are not run.
    MisfireUnplayed,
    /// Stale entries stay.
    NoCleanup,
    /// Instances that are not available stand for election.
    UnavailableStand,
    /// Leaders that are not available stay.
    NoAbdication,
    /// Instances leave while something runs on them.
    LeaveBusy,
    /// Instances leave while their claims are under way.
    LeaveClaiming,
    /// Instances leave while claims are in doubt.
    LeaveInDoubt,
    /// Claims in doubt are not settled by those who leave.
    DoubtsUnsettled,
    /// Instances do not say that they are leaving.
    DrainUnmarked,
    /// Claims whose reply was lost are taken for failed.
    DoubtsForgotten,
    /// Runs are started although the view has shown them as started before.
    StartedAgain,
    /// Runs are started although the session cannot be relied upon.
    StartedWithoutLease,
    /// Runs are started while the registration is on its way out.
    StartedLeaving,
    /// Runs start with the configuration in force rather than that of their claim.
    ConfigUnpinned,
    /// Instances that an operator took out register again.
    RegisteredAgain,
    /// Lives of a process share their id.
    IdsReused,
    /// The second callback does not wait for the first.
    CompletedFirst,
    /// Callbacks do not wait for the slowest item.
    CalledEarly,
    /// Requests are accepted and passed on while the assignment is for another number of items.
    AcceptanceTotalIgnored,
    /// Callbacks are called while the assignment is for another number of items.
    CallbackTotalIgnored,
    /// Runs start on servers that an operator has paused.
    PausedServerIgnored,
    /// Runs start on instances that are paused.
    PauseIgnored,
    /// Runs start on instances that are not available.
    UnavailableClaim,
    /// Runs start on instances that are leaving.
    DrainingClaim,
    /// Items are claimed although the session cannot be relied upon.
    ClaimedWithoutLease,
    /// Fires are caught up with although noted ones wait.
    CaughtUpBesideMisfires,
    /// The last missed fire is caught up with first.
    CaughtUpBackwards,
    /// Missed fires are not caught up with.
    NotCaughtUp,
    /// Noted fires are run although a fire is due that stands for them.
    ReplayBesideDue,
    /// Items are claimed although operators have disabled them, as long as their record does not say so.
    DisabledUnnoticed,
    /// Sweeps take runs whose instance is registered, if their mark is gone.
    SweepIgnoresInstances,
    /// Orphans beyond the number of items are taken over.
    RetiredTakenOver,
    /// Beside Java instances, busy instances that took an item over take over another one meanwhile.
    TakeoversPileUp,
    /// A leader takes over what it finds although Java instances take turns at it.
    TakenAtOnceBesideJava,
    /// A leader takes over what it finds although it is shown as waiting, or taken over.
    TakenAtOnceBesideMarks,
    /// A leader leaves everything that it finds to wait.
    NothingTakenAtOnce,
    /// Whoever takes orphans over takes all of them.
    OrphansUnshared,
    /// Instances that have taken orphans over after a while go on with what is left at once.
    PatienceKept,
    /// Instances register without a configuration in force.
    RegisteredUnconfigured,
    /// Servers that were removed are not put back.
    ServerForgotten,
    /// Items are not assigned anew when the available instances change.
    AssignedForFewer,
    /// Items are not assigned anew when their number changes.
    AssignedForOtherTotal,
    /// Items are not assigned anew when the strategy changes.
    AssignedByOtherStrategy,
    /// Items are not assigned anew when that is asked for.
    AssignedUnasked,
    /// Leaders decide by a view that shows a part of the items.
    DecidedByAPart,
    /// Leaders follow a part of the items.
    LedByAPart,
    /// Instances follow what they followed although they should have more items, or fewer.
    CountsIgnored,
    /// Instances follow a part of the items although something waits to be taken over.
    QueueUnfollowed,
    /// Instances follow a part of the items although Java instances take part.
    JavaUnfollowed,
    /// Instances follow a part of the items although another one is about to be theirs.
    ComingUnfollowed,
    /// Requests become those for the items that are shown.
    NamedByAPart,
    /// What was missed is what the items that are shown have missed.
    MissedByAPart,
    /// Instances follow a part of the items of jobs that are not monitored.
    UnmonitoredNarrow,
    /// Instances keep items that nobody has given them, or lack some that were.
    MiscountsKept,
    /// Instances follow a part of the items as soon as they can.
    NarrowedAtOnce,
    /// Items stay with owners that nobody has given them to.
    StraysLeft,
    /// Items follow to whoever they were to wait for, available or not.
    FollowersStray,
    /// Leaders assign and sweep by an older configuration than the last good one while the stored one is unreadable.
    LedByOlderConfig,
    /// Instances take part although another session has registered their id.
    NamesakeIgnored,
    /// Runs are started that this life has not claimed.
    ForeignRunStarted,
    /// Newcomers do not run the fire that was due when they were given their items.
    NewcomerWaits,
    /// Items move although their record cannot be read.
    UnreadableMoved,
    /// New items have to do with fires from before they were there.
    BornBefore,
    /// New items begin after a fire that lies in the future.
    BornInFuture,
    /// The first and the last fire that an item owes are found by the leader's own clock.
    GapsByOwnClock,
    /// Instances fire although their clock differs from the registry's by more than the bound.
    WrongClockFires,
    /// A fire that lies in the future stays due once the registry's clock is known.
    FutureFireKept,
    /// Instances take a fire that is later than their own clock, which was set back since the fire came.
    EarlyFiresTaken,
    /// Instances claim before the reply to their registration has carried the registry's time.
    TimeUnawaited,
    /// Newcomers take a due fire over that lies in the future.
    FutureDueTaken,
    /// Callbacks are called although their holder lives.
    CallbackBesideHolder,
    /// Callbacks are called again for the same fire.
    CalledAgain,
    /// Requests to run replace an earlier one that waits.
    RequestReplaced,
    /// Items are retired by a configuration that was replaced, while the stored one cannot be used.
    RetiredByOlderConfig,
    /// Requests to run an item are dropped before its record says that it is disabled.
    RequestDroppedEarly,
    /// Requests to run are sent again by the next life of whoever left them.
    RequestSentAgain,
    /// A fire that comes again is due again.
    FiredTwice,
    /// Runs begin although code of another one goes on here.
    BegunBesideRun,
    /// Runs are forgotten as soon as their code has ended.
    RunForgottenEarly,
    /// Decisions are made before the whole view was seen.
    DecidedUnsynced,
    /// What was refused is sent again at once.
    RefusalRepeated,
    /// Decisions are made before the view shows what was committed.
    CommitForgotten,
    /// Requests are identified by milliseconds that can be those of a fire.
    EvenRequests,
    /// Whoever leaves forgets that it may be registered.
    RegistrationInDoubtForgotten,
    /// Leaders among Java instances do not make their node one that can be told from a new one.
    LeadershipUnsealed,
    /// Runs whose mark outlives the session have no mark that goes with it.
    AliveUnmarked,
    /// Marks that outlive the session stay when the run of a lost holder is given up.
    LastingMarksStay,
    /// Items are claimed while a Java leader is about to assign them anew.
    JavaFlagsIgnored,
    /// Entries of the queue are taken out although Java instances put them in.
    JavaQueueCleaned,
    /// Marks of misfires are taken away although a Java instance, or its heir, has to make up for them.
    JavaMisfiresCleaned,
    /// Runs wait to be taken over although their items were given to Java instances.
    JavaItemsTakenOver,
    /// Orphans that a Java instance took out of the queue and has ended still wait to be taken over.
    JavaTakeoversForgotten,
    /// Nobody remembers which Java instance has taken an item over.
    TakersForgotten,
    /// What a Java instance has taken over counts as ended as soon as its marks are gone.
    TakeoversDecidedEarly,
    /// Nobody wakes when it is certain that a Java instance has ended what it has taken over.
    TakeoversUnwatched,
    /// What Java instances have taken out of the queue is taken over all the same.
    TakenOutOfQueue,
    /// Fires that came while a Java instance had the item are run again by its heir.
    JavaFiresRunAgain,
    /// Misfires that a Java instance has marked are not made up for by its heir.
    JavaMisfiresForgotten,
    /// Runs that Java instances leave unfinished are not taken over.
    JavaRunsForgotten,
    /// Newcomers are told what was due although a Java instance may have run it.
    DueBesideJava,
    /// New records count what a Java instance has left unfinished as done.
    BornBesideInterrupted,
    /// New records count what Java instances hold back as done.
    BornHeldBack,
    /// Instances stand for election, and take over, without standing in line where Java instances do.
    TurnsIgnored,
    /// Whoever stands in line acts as if its turn had come.
    OutOfTurn,
    /// Whoever waits for a Java instance to leave a latch waits for ever.
    WaitsForEver,
    /// Whoever has waited long enough takes over out of its turn.
    TakenOutOfTurn,
    /// Nobody goes to the end of the line when Java instances that came before wait for it.
    OutOfOrder,
    /// Places in line are not numbered after those that are taken.
    PlacesUncounted,
    /// Turns do not end with what they were for.
    TurnKept,
    /// Whoever wants no turn any more still stands in line.
    LineNotLeft,
    /// Java instances that stand in line are not waited for before they are registered.
    ComersIgnored,
    /// Who has waited long enough for one turn does not wait for the next one.
    TurnWaitKept,
    /// Nobody wakes when it has waited long enough for Java instances.
    PatienceUnwatched,
    /// Leaders that go leave no word for Java instances.
    WordForgotten,
    /// Leaders that are about to go still assign items among Java instances.
    AssignedBeforeGoing,
    /// Items move although Java instances were not told.
    MovesUnannounced,
    /// A fire counts as run by Java instances that were told right after it that items move.
    LateInstancesAccounted,
    /// It does not count as run by those either that have shown that they began it.
    BegunFiresDoubted,
    /// What ours have run for a fire that Java instances hold back moves to one of them.
    HeldBackRunTwice,
    /// It follows before they have begun that fire.
    HeldBackFollowedAtOnce,
    /// Items move at a fire that Java instances might run by what they saw before.
    MovedAtFires,
    /// Nobody looks again when a fire is over.
    NearFiresUnwatched,
    /// Items follow from Java instances although those were not told.
    FollowedUnannounced,
    /// Java instances go on although a part of what was announced is still to be written.
    AnnouncementEndsEarly,
    /// What a leader has announced itself is taken for a request to assign items anew.
    AnnouncementTakenForRequest,
    /// Items are assigned at once, although Java instances still run what is to move.
    JavaRunsUnawaited,
    /// Runs of Java instances that are to move are waited for, however long they take.
    JavaRunsAwaitedForEver,
    /// Who has waited long enough after one announcement does not wait after the next one.
    AnnouncementWaitKept,
    /// What was announced to Java instances stays announced.
    AnnouncementStays,
    /// Items move although a Java instance shows them as running.
    JavaRunMoved,
    /// Under a Java leader nobody sweeps.
    SweptByLeadersOnly,
    /// Under a Java leader everybody sweeps the items of everybody.
    SweptByAnybody,
    /// Under a Java leader nobody mends what was left behind.
    KeptByLeadersOnly,
    /// Under a Java leader all of ours mend what was left behind.
    KeptByAnybody,
    /// Marks that Java instances have left behind stay if nobody has to take their items over.
    JavaMarksStay,
    /// Marks that Java instances have left behind are taken away before anybody knows which fire they are of.
    MarksMendedEarly,
    /// Marks that Java instances have left behind wait for a first fire although the job has no schedule.
    MarksAwaitNoFire,
    /// Entries of the queue stay although Java instances that take them run what nobody is to run.
    JavaQueueStays,
    /// Entries of the queue are taken out although Java instances may take them.
    JavaQueueTaken,
    /// Entries of the queue are taken out although orphans of ours are behind them.
    BusyDequeued,
    /// Nodes that instances have left behind stay.
    GhostsStay,
    /// Nodes that instances have left behind are taken away although nothing tells them from new ones.
    GhostsUnsealed,
    /// Java instances count as having ended whatever they no longer show when they are gone.
    GraceForgotten,
    /// Java instances count as having left unfinished what they had ended long before.
    GraceEndless,
    /// Runs count as left unfinished by Java instances although records tell what has come of them.
    SettledRunsInterrupted,
    /// Runs count as left unfinished by Java instances although somebody has taken them over.
    JavaTakeoversIgnored,
    /// Runs whose marks tell by themselves what is left unfinished are remembered beyond the marks.
    LastingRunsLost,
    /// Runs that Java instances have left unfinished are remembered although somebody has taken them over.
    LostRunsKept,
    /// Marks of runs of ours are taken for those of the Java instances that were given the items.
    OursTakenForJava,
    /// Fires count for whoever has the items while they are about to be assigned anew.
    HeldBackAccounted,
    /// Fires that came while items were about to be assigned anew count for nobody.
    HeldBackForgotten,
    /// What Java instances show as running does not count as run by them.
    JavaMarksUnaccounted,
    /// Marks that were left behind are mended although the records of their items say that they run.
    MarksMendedBesideRuns,
    /// Marks of those who had taken items over are mended although others have taken them over again.
    TakeoversMended,
    /// Takers that are gone count as having left their runs unfinished although others have taken those over.
    TakersSeenEverywhere,
    /// Marks that outlive their instance count as if it lived.
    LastingMarksTrusted,
    /// Under a Java leader items that were to move by the assignment before are not claimed.
    PendingUnderJava,
    /// Java instances that an operator asks to run are taken for ours.
    AskedTakenForOurs,
    /// Under a Java leader items are not claimed before somebody has made their records.
    RecordsLeftToJava,
    /// Runs that need no claim start although a Java leader is about to assign items anew.
    UnclaimedBesideFlags,
    /// Newcomers run what was due although Java instances take part.
    DueTakenBesideJava,
    /// Requests to run are left to Java leaders.
    RequestsLeftToJava,
    /// Among Java instances the nodes of items stay that the job has no more.
    EmptyItemsStay,
    /// Whoever ends a run takes the mark of a Java instance away that has begun the item as well.
    JavaMarksReleased,
    /// In 3.x servers whose state nobody knows count as enabled.
    UnknownServersEnabled,
    /// Requests to run wait in the records of items that Java instances have.
    JavaNotAsked,
    /// Java instances are asked to run while they run.
    AskedBesideRun,
    /// Java instances are asked to run although they have begun to since.
    AskedRunUnchecked,
    /// Java instances are asked to run while items are assigned anew.
    AskedBesideFlags,
    /// Java instances are asked to run although they were told since that items will be assigned anew.
    AskedFlagUnchecked,
    /// Instances are asked to run although they are gone, or whoever asks is.
    AskedUnchecked,
    /// Under a Java leader anybody passes any request to run on.
    RequestPassedByAnybody,
    /// Under a Java leader requests to run of those who are gone stay when they were passed on.
    RequestsStayUnderJava,
    /// Under a Java leader requests to an instance become requests of their own.
    AcceptedForJavaLeader,
    /// What a strategy answers is taken as it is.
    StrategyTrusted,
    /// Plans are larger than the registry takes.
    RoomIgnored,
    /// Instances leave while callbacks run on them.
    LeaveCalling,
    /// Instances have left although something of them is still there.
    LeftBehind,
    /// Decisions are made while the connection is gone.
    DecidedDisconnected,
    /// Runs go on although the session cannot be relied upon any more.
    RunsGoOn,
    /// Requests to run are left again although they are there.
    RequestLeftAgain,
    /// Snapshots are shown before they are whole.
    SnapshotsShownInPart,
    /// Items are claimed although they are shown as running.
    MarksIgnoredByClaims,
    /// Items beyond their number are claimed as long as they have their owner.
    SurplusClaimed,
    /// Fires count as ended although a run that stands for them goes on.
    CompletedBesideRun,
    /// Fires count as ended although a run that was noted for them has yet to begin.
    CompletedBesideMisfires,
    /// Names are taken again although they are there.
    NamedAgain,
    /// Assignments are written again although nothing follows from them.
    FollowedForNothing,
    /// Static items move when instances come.
    StaticMoved,
    /// Requests to run are taken away by anybody.
    RequestClearedByAnybody,
    /// Requests are named by the clock alone.
    RequestsAlike,
    /// The end of a former run is taken for that of the present one.
    FormerEndTaken,
    /// Runs that need no claim start although their items are disabled.
    UnclaimedDisabled,
    /// Runs that need no claim start beside code of a former one.
    UnclaimedBesideRun,
    /// Runs that need no claim start on instances that may start none.
    UnclaimedUnavailable,
    /// Runs are started while the connection is gone.
    StartedDisconnected,
    /// Runs that are taken over are not told what their requests say.
    ParameterLost,
    /// Requests that tell their runs something are passed on to instances that cannot be told.
    UntoldAsked,
    /// Requests that tell their runs something are handed on to Java instances.
    UntoldHandedOn,
    /// Runs that were told something are queued where Java instances take them over.
    UntoldQueued,
    /// Plans take no account of how long parameters are.
    ParametersWeighNothing,
    /// Requests tell so many runs so much that the records of one fill the registry.
    ToldWithoutBound,
    /// That a request is dropped is not told.
    DropsUntold,
    /// Requests that were handed on to Java instances are told as missed.
    HandedOnToldAsMissed,
    /// Fires that are missed while the registry cannot be reached do not name the outage.
    OutageUnnamed,
    /// A fenced run leaves its marks.
    FencedMarksStay,
    /// A fenced run removes the marks of the run that took its place.
    OthersMarksRemoved,
    /// The token of a record that was put back from outside stays as it is.
    TokensGoBack,
    /// A run that only a record put back from outside shows is left alone.
    PutBackRunStays,
    /// That a mark of an ended run is gone is taken for news of the run that has begun since.
    LaterRunUnmarked,
}
