//! The ways to sign in: options, and the section `access` of the file.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use job_console::{Access, AccessError, Proxy, Role};
use serde::Deserialize;

use super::oidc::OidcSection;
use crate::fault::Fault;

/// The ways to sign in, as options.
#[derive(Debug, Args)]
pub(super) struct AccessArguments {
    /// File of users who sign in with a password: TOML, readable by its owner alone
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// File of bearer tokens of programs: TOML, readable by its owner alone
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
}

/// The ways to sign in, as a section of the file. Paths are relative to the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AccessSection {
    users: Option<PathBuf>,
    tokens: Option<PathBuf>,
    hosts: Vec<String>,
    reverse_proxies: Vec<IpAddr>,
    proxy: Option<ProxySection>,
    oidc: Option<OidcSection>,
}

/// A proxy that signs users in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProxySection {
    user_header: String,
    peers: Vec<IpAddr>,
    groups_header: Option<String>,
    #[serde(default)]
    groups: BTreeMap<String, Grant>,
    everyone: Option<Grant>,
}

/// Role and job pattern of a group.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grant {
    pub(super) role: Role,
    #[serde(default = "all_jobs")]
    pub(super) jobs: String,
}

fn all_jobs() -> String {
    "*".to_owned()
}

impl AccessArguments {
    /// Returns the ways to sign in. Options win over the file; with neither, the console is open to
    /// this host.
    pub(super) fn access(&self, section: Option<(&AccessSection, &Path)>) -> Result<Access, Fault> {
        let none = AccessSection::default();
        let (section, folder) = section.unwrap_or((&none, Path::new("")));
        let in_folder = |path: &PathBuf| folder.join(path);
        let users = self.users.clone().or(section.users.as_ref().map(in_folder));
        let tokens = self.tokens.clone().or(section.tokens.as_ref().map(in_folder));
        section.apply(users.as_deref(), tokens.as_deref())
    }
}

impl AccessSection {
    fn apply(&self, users: Option<&Path>, tokens: Option<&Path>) -> Result<Access, Fault> {
        let has_sign_in =
            users.is_some() || tokens.is_some() || self.proxy.is_some() || self.oidc.is_some();
        let mut access = match has_sign_in {
            true => Access::sign_in(),
            false => Access::open(&operator())?,
        };
        if let Some(path) = users {
            access = access.users(path)?;
        }
        if let Some(path) = tokens {
            access = access.tokens(path)?;
        }
        if let Some(proxy) = &self.proxy {
            access = access.proxy(proxy.build()?);
        }
        if let Some(oidc) = &self.oidc {
            access = oidc.apply(access)?;
        }
        for host in &self.hosts {
            access = access.host(host)?;
        }
        let proxies = self.reverse_proxies.iter();
        Ok(proxies.fold(access, |access, address| access.reverse_proxy(*address)))
    }
}

impl From<AccessError> for Fault {
    fn from(error: AccessError) -> Self {
        Self::usage(error)
    }
}

impl ProxySection {
    fn build(&self) -> Result<Proxy, AccessError> {
        let mut proxy = Proxy::new(&self.user_header, self.peers.iter().copied())?;
        if let Some(header) = &self.groups_header {
            proxy = proxy.groups_header(header)?;
        }
        for (name, Grant { role, jobs }) in &self.groups {
            proxy = proxy.group(name, *role, jobs)?;
        }
        match &self.everyone {
            Some(Grant { role, jobs }) => proxy.everyone(*role, jobs),
            None => Ok(proxy),
        }
    }
}

/// Returns the name that audit records of an open console show: the user of the process.
fn operator() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let is_name = |name: &String| Access::open(name).is_ok();
    named.filter(is_name).unwrap_or_else(|| "console".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> AccessSection {
        toml::from_str(text).unwrap()
    }

    fn described(text: &str) -> Result<String, String> {
        let access = section(text).apply(None, None);
        access.map(|access| access.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn section_sets_the_ways_to_sign_in() {
        assert!(described("").unwrap().starts_with("none; "));
        let proxy = "[proxy]\nuser_header = \"x-user\"\npeers = [\"10.0.0.7\"]\n";
        let groups = "groups_header = \"x-groups\"\ngroups.ops = { role = \"operator\" }\n";
        let described_proxy = described(&format!("{proxy}{groups}")).unwrap();
        assert_eq!(described_proxy, "users that 10.0.0.7 names in x-user");
        let fault = described("hosts = [\"jobs.example:80\"]").unwrap_err();
        assert!(fault.starts_with("host is \"jobs.example:80\""), "{fault}");
        let provider = "[oidc]\nissuer = \"http://localhost:1\"\nclient_id = \"ejob\"\n\
                        address = \"http://localhost:8080\"\n";
        let oidc = format!("{provider}everyone = {{ role = \"viewer\" }}\nsession = \"1h\"\n");
        let without = "access.oidc is given, and this program was built without the feature oidc";
        let expected = match cfg!(feature = "oidc") {
            true => Ok("users of http://localhost:1".to_owned()),
            false => Err(without.to_owned()),
        };
        assert_eq!(described(&oidc), expected);
        let unknown = toml::from_str::<AccessSection>("user = \"a\"").unwrap_err().to_string();
        assert!(unknown.contains("unknown field `user`"), "{unknown}");
    }

    #[cfg(feature = "oidc")]
    #[test]
    fn documented_identity_provider_is_valid() {
        let document = include_str!("../../../../../docs/console-access.md");
        let block = document.split_once("[access.oidc]\n").unwrap().1;
        let block = block.split_once("```").unwrap().0.replace("access.oidc.", "oidc.");
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "s3cret").unwrap();
        let block = block.replace("/run/secrets/oidc", &secret.path().display().to_string());
        let described = described(&format!("[oidc]\n{block}")).unwrap();
        assert_eq!(described, "users of https://login.example.com/realms/acme");
    }

    #[test]
    fn files_are_relative_to_the_file_that_names_them() {
        let none = AccessArguments { users: None, tokens: None };
        let section = section("users = \"users.toml\"");
        let fault = none.access(Some((&section, Path::new("/no/such/folder")))).unwrap_err();
        assert!(fault.to_string().contains("/no/such/folder/users.toml"), "{fault}");
    }
}
