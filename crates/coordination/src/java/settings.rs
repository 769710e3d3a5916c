//! Settings of a configuration that only Java instances read, and the dialects of the original.

use std::collections::BTreeMap;
use std::fmt;

/// Form of a job's nodes and of its stored configuration.
///
/// ElasticJob 2.x and 3.x have different forms, and neither reads the other one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// ElasticJob-Lite 2.1.5: JSON.
    #[default]
    V2,
    /// ElasticJob 3.x: YAML.
    V3,
}

impl Dialect {
    /// Returns the ElasticJob release with this form: `2.1.5` or `3.x`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "2.1.5",
            Self::V3 => "3.x",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Settings of a stored configuration that only Java instances use. Rust instances keep them
/// unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JavaSettings {
    /// Class of the Java job. A Java instance with another class refuses to start.
    ///
    /// In 3.x it is stored in the job's root node and not in the document.
    pub job_class: String,
    /// Fields of one dialect. They also determine the dialect of the document.
    pub fields: JavaFields,
}

/// The fields of a stored configuration that only one dialect has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JavaFields {
    /// Fields of ElasticJob 2.1.5.
    V2(JavaFields2),
    /// Fields of ElasticJob 3.x.
    V3(JavaFields3),
}

/// The fields that only documents of ElasticJob 2.1.5 have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct JavaFields2 {
    /// Type of the job.
    pub job_type: JavaJobType,
    /// Class of the exception handler.
    pub exception_handler: String,
    /// Class of the thread pool provider.
    pub executor_handler: String,
    /// Port for dumps. −1 is none.
    pub monitor_port: i32,
    /// Keys of `jobProperties` that this version does not know, unchanged: name and JSON text. Java
    /// instances fail at them.
    pub other_properties: Vec<(String, String)>,
}

/// The fields that only documents of ElasticJob 3.x have.
///
/// `Debug` omits the values of properties and extra configurations, because Java users store
/// passwords there.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct JavaFields3 {
    /// Type of the error handler, for example `LOG`.
    pub error_handler: Option<String>,
    /// Provider of the job's threads.
    pub executor: Option<JavaExecutor>,
    /// Types of the job listeners.
    pub listeners: Vec<String>,
    /// Label that instances must have to get items.
    pub label: Option<String>,
    /// Free properties, without those of this project.
    pub props: BTreeMap<String, String>,
    /// The lines of `jobExtraConfigurations`, unchanged, with their key and the last line break.
    /// Empty if there are none.
    pub extra_configurations: String,
}

impl fmt::Debug for JavaFields3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error_handler, executor, listeners, label, props, extra_configurations } = self;
        f.debug_struct("JavaFields3")
            .field("error_handler", error_handler)
            .field("executor", executor)
            .field("listeners", listeners)
            .field("label", label)
            .field("props", &props.keys())
            .field("extra_configurations", &format_args!("{} bytes", extra_configurations.len()))
            .finish()
    }
}

/// Provider of the threads of a 3.x job.
///
/// The key changed in 3.0.5, and each release rejects the other one's key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JavaExecutor {
    /// `jobExecutorServiceHandlerType`, up to 3.0.4.
    ServiceHandler(String),
    /// `jobExecutorThreadPoolSizeProviderType`, from 3.0.5 on.
    ThreadPoolSizeProvider(String),
}

/// The job types of ElasticJob 2.1.5, with their own fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JavaJobType {
    /// Code that is called once per item.
    Simple,
    /// Code that fetches and processes data in turn.
    Dataflow {
        /// True if a run continues while there is data.
        streaming: bool,
    },
    /// A command line.
    Script {
        /// Command line, if there is one.
        command_line: Option<String>,
    },
}

impl Default for JavaSettings {
    fn default() -> Self {
        Self::of(Dialect::default())
    }
}

impl JavaSettings {
    /// Returns the defaults of a dialect.
    #[must_use]
    pub fn of(dialect: Dialect) -> Self {
        let fields = match dialect {
            Dialect::V2 => JavaFields::V2(JavaFields2::default()),
            Dialect::V3 => JavaFields::V3(JavaFields3::default()),
        };
        Self { job_class: Self::NO_CLASS.to_owned(), fields }
    }

    /// Placeholder class of a job without a Java class.
    pub const NO_CLASS: &'static str = "ejob.RustJob";

    /// Returns the class of the Java job, unless it is the placeholder.
    #[must_use]
    pub fn given_class(&self) -> Option<&str> {
        Some(self.job_class.as_str()).filter(|class| *class != Self::NO_CLASS)
    }

    /// Returns true if all fields but the class have their defaults.
    #[must_use]
    pub fn has_default_fields(&self) -> bool {
        self.fields == Self::of(self.dialect()).fields
    }

    /// Returns true if Java instances can share the job: it has a Java class, a setting for them,
    /// or the dialect 3.x, which is never the default.
    #[must_use]
    pub fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// Returns the dialect of the fields.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.fields {
            JavaFields::V2(_) => Dialect::V2,
            JavaFields::V3(_) => Dialect::V3,
        }
    }
}

impl Default for JavaFields2 {
    fn default() -> Self {
        let handler = |name: &str| format!("com.dangdang.ddframe.job.executor.handler.impl.{name}");
        Self {
            job_type: JavaJobType::Simple,
            exception_handler: handler("DefaultJobExceptionHandler"),
            executor_handler: handler("DefaultExecutorServiceHandler"),
            monitor_port: -1,
            other_properties: Vec::new(),
        }
    }
}
