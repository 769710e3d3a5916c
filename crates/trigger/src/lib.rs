//! When a job is due: Quartz cron, intervals, misfire decisions and one timer queue, as functions of time.
