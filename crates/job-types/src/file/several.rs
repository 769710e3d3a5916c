//! Several files that together declare the jobs and the groups of a namespace.

use std::collections::BTreeMap;

use lite::{GroupLimits, GroupName, JobConfig};

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

/// Two files declare a group with different limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "group {group} has {first_limits} in {first} and {second_limits} in {second}; valid are the \
     same limits in all files"
)]
#[non_exhaustive]
pub struct DifferentLimits {
    /// Group name.
    pub group: GroupName,
    /// Name of the file that declares it first.
    pub first: String,
    /// Limits in that file.
    pub first_limits: GroupLimits,
    /// Name of the other file.
    pub second: String,
    /// Limits in the other file.
    pub second_limits: GroupLimits,
}

/// Returns the groups that files declare, with their limits. Several files may declare a group with
/// the same limits.
///
/// # Errors
/// [`DifferentLimits`] if two files declare a group with different limits.
///
/// # Examples
/// ```
/// use job_types::{JobFile, declared_groups};
///
/// let file = |max: u32| {
///     let group = format!("[[groups]]\nname = 'db'\ncluster_concurrency = {max}\n");
///     let job = "[[jobs]]\nname = 'a'\nsharding_total_count = 1\nstored = true";
///     JobFile::from_toml(&(group + job))
/// };
/// let same = [("a.toml".to_owned(), file(2)?), ("b.toml".to_owned(), file(2)?)];
/// assert_eq!(declared_groups(&same)?.len(), 1);
/// let other = [("a.toml".to_owned(), file(2)?), ("b.toml".to_owned(), file(3)?)];
/// assert_eq!(
///     declared_groups(&other).unwrap_err().to_string(),
///     "group db has at most 2 runs at once in a.toml and at most 3 runs at once in b.toml; valid \
///      are the same limits in all files"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn declared_groups(
    files: &[(String, JobFile)],
) -> Result<BTreeMap<GroupName, GroupLimits>, DifferentLimits> {
    let mut groups = BTreeMap::new();
    for (file, declared) in files {
        for (group, limits) in declared.groups() {
            let (first, first_limits) = *groups.entry(group.clone()).or_insert((file, *limits));
            if first_limits != *limits {
                return Err(DifferentLimits {
                    group: group.clone(),
                    first: first.clone(),
                    first_limits,
                    second: file.clone(),
                    second_limits: *limits,
                });
            }
        }
    }
    Ok(groups.into_iter().map(|(group, (_, limits))| (group, limits)).collect())
}
