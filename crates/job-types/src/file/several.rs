//! Several files that together declare the jobs of a namespace.

use std::collections::BTreeMap;

use lite::JobConfig;

use super::JobFile;

/// Two files declare the same job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("job {job} is declared in {first} and in {second}; valid is one file for each job")]
#[non_exhaustive]
pub struct DuplicateJob {
    /// Job name.
    pub job: String,
    /// Name of the file that declares it first.
    pub first: String,
    /// Name of the other file.
    pub second: String,
}

/// Returns the configurations of the jobs that files declare, in the order of the files.
///
/// # Errors
/// [`DuplicateJob`] if two files declare the same job.
///
/// # Examples
/// ```
/// use job_types::{JobFile, declared_configs};
///
/// let file = |job: &str| {
///     let text = format!("[[jobs]]\nname = '{job}'\nsharding_total_count = 1\nstored = true");
///     JobFile::from_toml(&text)
/// };
/// let files = [("a.toml".to_owned(), file("a")?), ("b.toml".to_owned(), file("a")?)];
/// assert_eq!(declared_configs(&files[..1])?.len(), 1);
/// assert_eq!(
///     declared_configs(&files).unwrap_err().to_string(),
///     "job a is declared in a.toml and in b.toml; valid is one file for each job"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn declared_configs(files: &[(String, JobFile)]) -> Result<Vec<JobConfig>, DuplicateJob> {
    let mut first_of = BTreeMap::new();
    let mut configs = Vec::new();
    for (file, jobs) in files {
        for job in jobs.jobs() {
            let config = job.config();
            if let Some(first) = first_of.insert(&config.job_name, file) {
                let (first, second) = (first.clone(), file.clone());
                return Err(DuplicateJob { job: config.job_name.to_string(), first, second });
            }
            configs.push(config.clone());
        }
    }
    Ok(configs)
}
