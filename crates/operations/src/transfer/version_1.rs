//! A job of ElasticJob 1.x, one node for each field, as a configuration of a later release. Pure.

use std::collections::BTreeMap;
use std::str::FromStr;

use coordination::{
    Dialect, JavaFields, JavaFields2, JavaJobType, JavaSettings, JobConfig, MaxTimeDiff,
};
use sharding::{ShardingStrategy, StrategyRegistry};

use crate::JobSnapshot;

/// The package in which 2.1.5 has its strategies.
const STRATEGIES_2: &str = "com.dangdang.ddframe.job.lite.api.strategy.impl.";
/// The class that 2.1.5 gives all script jobs.
const SCRIPT_CLASS_2: &str = "com.dangdang.ddframe.job.api.script.ScriptJob";
/// What stands in the root of a script job of 3.x.
const SCRIPT_TYPE_3: &str = "SCRIPT";
/// Fields that no later release has, with their defaults.
const GONE: [(&str, &str); 3] = [
    ("processCountIntervalSeconds", "300"),
    ("concurrentDataProcessThreadCount", "1"),
    ("fetchDataCount", "1"),
];

/// A configuration that was made of a job of 1.x.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted {
    /// The configuration.
    pub config: JobConfig,
    /// What could not be taken over, a sentence each.
    pub notes: Vec<String>,
}

/// Makes a configuration of a job of ElasticJob 1.x; `None` if the nodes are not those of such a job.
///
/// Taken over is what `config/*` holds. Strategies get the name that they have in the dialect. What has no counterpart, and what
/// operators have left at servers and items, is in the notes.
///
/// # Errors
/// What is wrong with a node, with its value and what would be valid.
#[must_use]
pub fn convert_version_1(job: &JobSnapshot, dialect: Dialect) -> Option<Result<Converted, String>> {
    let fields = Fields::of(job)?;
    Some(Conversion { fields, dialect, notes: Vec::new() }.convert(job))
}

/// The fields of a job, by the names of their nodes.
struct Fields(BTreeMap<String, String>);

impl Fields {
    /// Later releases have nothing below `config`.
    fn of(job: &JobSnapshot) -> Option<Self> {
        let below = format!("/{}/config/", job.job());
        let fields = job.nodes().filter_map(|node| {
            let name = node.path.as_str().strip_prefix(&below)?;
            Some((name.to_owned(), String::from_utf8_lossy(&node.data).into_owned()))
        });
        let fields: BTreeMap<_, _> = fields.collect();
        (fields.contains_key("shardingTotalCount") || fields.contains_key("jobClass"))
            .then_some(Self(fields))
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).filter(|text| !text.is_empty())
    }

    fn value<T: FromStr>(&mut self, name: &str, valid: &str) -> Result<Option<T>, String> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let read = text.trim().parse();
        read.map(Some).map_err(|_| format!("config/{name} is {text:?}; valid is {valid}"))
    }

    fn boolean(&mut self, name: &str, default: bool) -> Result<bool, String> {
        Ok(self.value(name, "true or false")?.unwrap_or(default))
    }
}

struct Conversion {
    fields: Fields,
    dialect: Dialect,
    notes: Vec<String>,
}

impl Conversion {
    fn convert(mut self, job: &JobSnapshot) -> Result<Converted, String> {
        let total = self.fields.value("shardingTotalCount", "1 to 100000")?;
        let total = total.ok_or("config/shardingTotalCount is missing; valid is 1 to 100000")?;
        let mut config = JobConfig::new(job.job().clone(), total);
        let fields = &mut self.fields;
        config.cron = fields.text("cron");
        let is_on_request = config.cron.is_none();
        config.sharding_item_parameters = fields.text("shardingItemParameters").unwrap_or_default();
        config.job_parameter = fields.text("jobParameter").unwrap_or_default();
        config.description = fields.text("description").unwrap_or_default();
        config.monitor_execution = fields.boolean("monitorExecution", true)?;
        config.failover = fields.boolean("failover", false)?;
        config.misfire = fields.boolean("misfire", true)?;
        let seconds = fields.value::<i64>("maxTimeDiffSeconds", "a whole number of seconds")?;
        config.max_time_diff = MaxTimeDiff::of_java(seconds.unwrap_or(-1), false);
        if is_on_request {
            self.note("config/cron is missing: the job will run on request only");
        }
        if config.failover && !config.monitor_execution {
            // 1.x ignores the one without the other, and later releases refuse it.
            config.failover = false;
            self.note(
                "failover was without effect, because executions are not monitored; it is off",
            );
        }
        config.strategy = self.strategy();
        config.java = self.java()?;
        self.note_what_is_gone();
        self.note_what_operators_left(job);
        Ok(Converted { config, notes: self.notes })
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Returns the name that the dialect has for the strategy.
    fn strategy(&mut self) -> String {
        let Some(class) = self.fields.text("jobShardingStrategyClass") else {
            return String::new();
        };
        let Ok(strategy) = StrategyRegistry::default().get(&class) else {
            self.note(format!(
                "the strategy {class} is not known here: items are averaged until it is named again"
            ));
            return String::new();
        };
        let strategy: &dyn ShardingStrategy = &*strategy;
        let class_2 = strategy.aliases().iter().find(|alias| alias.starts_with(STRATEGIES_2));
        match (self.dialect, class_2) {
            (Dialect::V2, Some(class)) => (*class).to_owned(),
            (Dialect::V2 | Dialect::V3, _) => strategy.name().to_owned(),
        }
    }

    fn java(&mut self) -> Result<JavaSettings, String> {
        let class = self.fields.text("jobClass");
        let command = self.fields.text("scriptCommandLine");
        let streaming = self.fields.boolean("streamingProcess", false)?;
        let kind = self.fields.text("jobType");
        let is_untold = kind.is_none();
        let kind = kind.unwrap_or_default().to_ascii_uppercase();
        let port = self.fields.value::<i32>("monitorPort", "a port, or -1")?.unwrap_or(-1);
        let is_script = kind.starts_with("SCRIPT") || command.is_some();
        let is_dataflow = kind.starts_with("DATA");
        if is_untold && !is_script {
            self.note(
                "config/jobType is missing, as before 1.1.0: it is taken for a simple job; if its class is a dataflow, say so in the configuration",
            );
        }
        if let Some(class) = class.as_ref().filter(|_| !is_script) {
            self.note(format!(
                "the class {class} implements the interfaces of 1.x: it has to be written anew"
            ));
        }
        let mut java = JavaSettings::of(self.dialect);
        if let Some(class) = class {
            java.job_class = class;
        }
        match &mut java.fields {
            JavaFields::V2(fields) => {
                fields.job_type = match (is_script, is_dataflow) {
                    (true, _) => JavaJobType::Script { command_line: command },
                    (false, true) => JavaJobType::Dataflow { streaming },
                    (false, false) => JavaJobType::Simple,
                };
                *fields = JavaFields2 { monitor_port: port, ..fields.clone() };
                if is_script {
                    SCRIPT_CLASS_2.clone_into(&mut java.job_class);
                }
            }
            JavaFields::V3(fields) => {
                if is_script {
                    fields.props.extend(command.map(|line| ("script.command.line".into(), line)));
                    SCRIPT_TYPE_3.clone_into(&mut java.job_class);
                }
                if is_dataflow {
                    fields.props.insert("streaming.process".into(), streaming.to_string());
                }
                if port != -1 {
                    self.note(format!(
                        "monitorPort {port} is no field of 3.x: name it where the process is started"
                    ));
                }
            }
        }
        Ok(java)
    }

    fn note_what_is_gone(&mut self) {
        for (name, default) in GONE {
            if let Some(value) = self.fields.text(name).filter(|value| value != default) {
                self.note(format!("{name} is {value}; no later release has it"));
            }
        }
        let unknown: Vec<String> = std::mem::take(&mut self.fields.0).into_keys().collect();
        for name in unknown {
            self.note(format!("config/{name} is not known here, and left out"));
        }
    }

    /// Later releases have other nodes for these, which live with the job and not with its configuration.
    fn note_what_operators_left(&mut self, job: &JobSnapshot) {
        let marks = [
            ("disabled", "is disabled"),
            ("stoped", "is paused"),
            ("paused", "is paused"),
            ("shutdown", "is shut down"),
        ];
        let root = format!("/{}/", job.job());
        let mut offsets = 0;
        for node in job.nodes() {
            let Some(below) = node.path.as_str().strip_prefix(&root) else { continue };
            let names: Vec<&str> = below.split('/').collect();
            match names.as_slice() {
                ["servers", ip, mark] => {
                    let found = marks.iter().find(|(name, _)| name == mark);
                    if let Some((_, is)) = found {
                        self.note(format!("server {ip} {is} there, and will not be here"));
                    }
                }
                ["offset", _] if !node.data.is_empty() => offsets += 1,
                _ => {}
            }
        }
        if offsets > 0 {
            self.note(format!("the offsets of {offsets} items stay there"));
        }
    }
}
