#![doc = include_str!("../README.md")]
#![expect(
    clippy::missing_panics_doc,
    reason = "every target panics if its property is broken; that is its purpose"
)]

pub mod cron;
pub mod excluded_times;
pub mod feed;
pub mod history;
pub mod item_parameters;
pub mod job_config;
mod job_tree;
pub mod limits;
pub mod names;
pub mod records;
pub mod time_zone;

/// A property of any bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name of the target, of its folder of seeds and of its libFuzzer program.
    pub name: &'static str,
    /// Panics if the property is broken.
    pub run: fn(&[u8]),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All targets.
pub const TARGETS: [Target; 10] = [
    Target { name: "job_config", run: job_config::run },
    Target { name: "item_parameters", run: item_parameters::run },
    Target { name: "cron", run: cron::run },
    Target { name: "excluded_times", run: excluded_times::run },
    Target { name: "time_zone", run: time_zone::run },
    Target { name: "names", run: names::run },
    Target { name: "records", run: records::run },
    Target { name: "feed", run: feed::run },
    Target { name: "limits", run: limits::run },
    Target { name: "history", run: history::run },
];

/// Returns the target with a name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}
