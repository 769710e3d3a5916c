//! Converts a job of ElasticJob 1.x, which has one node for each field. Pure functions.

use std::collections::BTreeMap;
use std::str::FromStr;

use coordination::{
    Dialect, JavaFields, JavaFields2, JavaJobType, JavaSettings, JobConfig, MaxTimeDiff,
};
use sharding::{ShardingItem, ShardingStrategy, StrategyRegistry};

use crate::JobSnapshot;

/// Package of the strategies of 2.1.5.
const STRATEGIES_2: &str = "com.dangdang.ddframe.job.lite.api.strategy.impl.";
/// Class of all script jobs of 2.1.5.
const SCRIPT_CLASS_2: &str = "com.dangdang.ddframe.job.api.script.ScriptJob";
/// Data of the root of a script job of 3.x.
const SCRIPT_TYPE_3: &str = "SCRIPT";
/// Fields that later releases do not have, with their defaults.
const GONE: [(&str, &str); 3] = [
    ("processCountIntervalSeconds", "300"),
    ("concurrentDataProcessThreadCount", "1"),
    ("fetchDataCount", "1"),
];

/// A configuration converted from a job of 1.x.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Converted {
    /// The configuration.
    pub config: JobConfig,
    /// The offsets that the code of items had stored, as their checkpoints.
    pub checkpoints: BTreeMap<ShardingItem, Vec<u8>>,
    /// One sentence for each setting that could not be converted.
    pub notes: Vec<String>,
}

/// Converts a job of ElasticJob 1.x; returns `None` if the nodes are not those of such a job.
///
/// The fields of `config/*` are converted, and the offsets of items become checkpoints. Strategies
/// get their name in the dialect. Fields without a counterpart, and settings of operators at
/// servers and items, are listed in the notes.
///
/// # Errors
/// A text that names a node, its value, and the valid values.
#[must_use]
pub fn convert_version_1(job: &JobSnapshot, dialect: Dialect) -> Option<Result<Converted, String>> {
    let fields = Fields::of(job)?;
    Some(Conversion { fields, dialect, notes: Vec::new() }.convert(job))
}

/// The fields of a job, by the names of their nodes.
struct Fields(BTreeMap<String, String>);

impl Fields {
    /// Reads the nodes below `config`, which later releases do not have.
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
            // 1.x ignores failover without monitoring; later releases reject the combination.
            config.failover = false;
            self.note("failover had no effect, because executions are not monitored; it is off");
        }
        config.strategy = self.strategy();
        config.java = self.java()?;
        self.note_dropped_fields();
        self.note_operator_settings(job);
        let checkpoints = self.checkpoints(job, &config);
        Ok(Converted { config, checkpoints, notes: self.notes })
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Returns the name of the strategy in the dialect.
    fn strategy(&mut self) -> String {
        let Some(class) = self.fields.text("jobShardingStrategyClass") else {
            return String::new();
        };
        let Ok(strategy) = StrategyRegistry::default().get(&class) else {
            self.note(format!(
                "the strategy {class} is unknown: items are allocated evenly until another strategy is set"
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
        let has_no_type = kind.is_none();
        let kind = kind.unwrap_or_default().to_ascii_uppercase();
        let port = self.fields.value::<i32>("monitorPort", "a port, or -1")?.unwrap_or(-1);
        let is_script = kind.starts_with("SCRIPT") || command.is_some();
        let is_dataflow = kind.starts_with("DATA");
        if has_no_type && !is_script {
            self.note(
                "config/jobType is missing, as before 1.1.0: it is imported as a simple job; if its class is a dataflow, set the type in the configuration",
            );
        }
        if let Some(class) = &class
            && !is_script
        {
            self.note(format!(
                "the class {class} implements the interfaces of 1.x: it has to be ported"
            ));
        }
        let mut java = JavaSettings::of(self.dialect);
        if let Some(class) = class {
            java.job_class = class;
        }
        match &mut java.fields {
            JavaFields::V2(fields) => {
                fields.job_type = if is_script {
                    JavaJobType::Script { command_line: command }
                } else if is_dataflow {
                    JavaJobType::Dataflow { streaming }
                } else {
                    JavaJobType::Simple
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
                        "3.x has no field monitorPort: pass {port} where the process is started"
                    ));
                }
            }
        }
        Ok(java)
    }

    fn note_dropped_fields(&mut self) {
        for (name, default) in GONE {
            if let Some(value) = self.fields.text(name).filter(|value| value != default) {
                self.note(format!("{name} is {value}; later releases do not have this field"));
            }
        }
        let unknown: Vec<String> = std::mem::take(&mut self.fields.0).into_keys().collect();
        for name in unknown {
            self.note(format!("config/{name} is unknown and was left out"));
        }
    }

    /// Notes settings of operators, which later releases store in other nodes than the
    /// configuration.
    fn note_operator_settings(&mut self, job: &JobSnapshot) {
        let marks = [
            ("disabled", "is disabled"),
            ("stoped", "is paused"),
            ("paused", "is paused"),
            ("shutdown", "is shut down"),
        ];
        let root = format!("/{}/", job.job());
        for node in job.nodes() {
            let Some(below) = node.path.as_str().strip_prefix(&root) else { continue };
            let names: Vec<&str> = below.split('/').collect();
            let ["servers", ip, mark] = names.as_slice() else { continue };
            if let Some((_, is)) = marks.iter().find(|(name, _)| name == mark) {
                self.note(format!("server {ip} {is} in 1.x; this setting is not imported"));
            }
        }
    }

    /// Returns the offsets of the items, which have to be within the configured number.
    fn checkpoints(
        &mut self,
        job: &JobSnapshot,
        config: &JobConfig,
    ) -> BTreeMap<ShardingItem, Vec<u8>> {
        let root = format!("/{}/offset/", job.job());
        let mut checkpoints = BTreeMap::new();
        for node in job.nodes().filter(|node| !node.data.is_empty()) {
            let Some(name) = node.path.as_str().strip_prefix(&root) else { continue };
            match name.parse::<u32>() {
                Ok(item) if item < config.sharding_total_count => {
                    checkpoints.insert(ShardingItem::new(item), node.data.to_vec());
                }
                _ => self.note(format!(
                    "the offset of item {name} is not imported; the items are 0 to {}",
                    config.sharding_total_count.saturating_sub(1)
                )),
            }
        }
        checkpoints
    }
}
