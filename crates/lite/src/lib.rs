#![doc = include_str!("../README.md")]

mod address;
mod blocking;
mod cancel;
mod cancellation;
mod checkpoint;
mod clock_check;
mod commit;
mod config_check;
mod config_store;
mod context;
mod driver;
mod dump;
mod error;
mod error_handler;
mod executor;
mod groups;
mod handle;
mod identity;
mod inbox;
mod into_registry;
mod job;
mod job_builder;
mod job_listener;
mod job_record;
mod log;
mod masks;
mod once_listener;
mod output;
mod panic_text;
mod places;
mod progress;
mod reads;
mod registration;
mod requests;
mod retry;
mod run;
mod run_node;
mod runtime;
mod scheduler;
mod seams;
mod shutdown;
mod status;
mod timer;
mod wind_down;

pub use async_trait::async_trait;
pub use blocking::{BlockingFn, blocking_fn};
pub use checkpoint::{Checkpoint, CheckpointError};
pub use config_store::ConfigDifference;
pub use context::ShardingContext;
pub use coordination::{
    CatchUp, Dialect, DropReason, FencingToken, FireRange, FireTime, Following, GroupLimits,
    GroupName, InvalidConfig, InvalidName, InvalidParameter, InvalidProgress, JavaExecutor,
    JavaFields, JavaFields2, JavaFields3, JavaJobType, JavaSettings, JobConfig, JobEvent, JobName,
    Label, MAX_PROGRESS_MESSAGE_BYTES, MAX_REQUEST_BYTES, MAX_REQUEST_PARAMETER_BYTES, MaxTimeDiff,
    MissReason, Outage, Outcome, Overlap, Phase, Progress, RequestParameter, RunSource, ServerIp,
    ServerTtl, StartRate, TemplateName,
};
pub use dump::{DumpListener, DumpOptions};
pub use error::{Error, Result};
pub use error_handler::{
    ErrorHandler, ErrorHandlerType, ErrorHandlers, FailedIn, HandlerSettings, IgnoreErrors,
    LogErrors, Reaction, RunFailure, StopOnErrors,
};
pub use handle::JobHandle;
pub use into_registry::IntoRegistry;
pub use jiff::{SignedDuration, Timestamp};
pub use job::{Job, JobError, JobFn, job_fn};
pub use job_builder::JobBuilder;
pub use job_listener::{JobListener, RunEnd};
pub use job_record::{EventSubscriber, JobEvents, JobRecord, RunReport};
pub use masks::Masks;
pub use once_listener::{OnceContext, OnceListener};
pub use output::{OutputLine, OutputStream, RunLog};
pub use progress::ProgressError;
pub use reg_center::{MemoryRegistry, RegistryCenter, Version};
pub use registration::Registration;
pub use retry::RetryPolicy;
pub use runtime::{NewJob, RuntimeJob, RuntimeJobState, Template};
pub use scheduler::{Scheduler, SchedulerBuilder};
pub use seams::{
    Clock, Randomness, Spawn, SystemClock, SystemRandomness, Task, TokioClock, TokioSpawn,
};
pub use sharding::{
    Assignment, InstanceAttributes, InstanceId, InvalidPlacement, ShardingItem, ShardingStrategy,
    StrategyInput, StrategyRegistry,
};
pub use shutdown::{ItemEnding, ItemReport, ShutdownReport};
pub use status::JobStatus;
pub use tokio_util::sync::CancellationToken;
pub use trigger::Zone;
