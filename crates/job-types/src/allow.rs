//! Permissions of definitions from the registry on this worker. By default nothing is allowed: the
//! worker's own file lists the permissions.

use outbound::Permissions;

#[cfg(feature = "http")]
use crate::HttpJob;
use crate::{Invalid, Script};

/// The commands and hosts that a definition from the registry may use on this worker.
///
/// Every user with write access to the registry can change the definition of a stored job. Without
/// this list, a definition could run any command on any worker. The default allows nothing.
///
/// # Examples
/// ```
/// use job_types::{Allow, Script};
///
/// let allow = Allow::nothing()
///     .command(["/opt/jobs/report.sh", "--daily"])?
///     .host("https://api.example.com")?;
/// assert!(allow.permits_script(&Script::parse("/opt/jobs/report.sh --daily --verbose")?));
/// assert!(!allow.permits_script(&Script::parse("/opt/jobs/report.sh --weekly")?));
/// assert!(!allow.permits_script(&Script::shell("/opt/jobs/report.sh --daily")));
/// # Ok::<(), job_types::Invalid>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    commands: Vec<Vec<String>>,
    /// Hosts for stored jobs.
    requests: Permissions,
    /// Hosts and secrets for error handlers, separate from those for jobs.
    alerts: Permissions,
}

impl Allow {
    /// Returns the list that allows nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Allows a program, by its absolute path, with the given first arguments. Further arguments
    /// are not restricted.
    ///
    /// A command is compared word by word. Do not allow a shell, or an interpreter without its
    /// program: their further arguments are commands.
    ///
    /// # Errors
    /// [`Invalid`] if `words` is empty, or the path of the program is not absolute.
    pub fn command(
        mut self,
        words: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, Invalid> {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        if !words.first().is_some_and(|program| program.starts_with('/')) {
            let valid = "the absolute path of a program, and the first of its arguments";
            return Err(Invalid::new("allow.commands", format!("{words:?}"), valid));
        }
        self.commands.push(words);
        Ok(self)
    }

    /// Allows stored jobs to send requests to a host, given as an origin:
    /// `https://api.example.com`, `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// [`Invalid`] if `origin` is not an origin.
    pub fn host(mut self, origin: &str) -> Result<Self, Invalid> {
        self.requests = self.requests.host(origin)?;
        Ok(self)
    }

    /// Allows error handlers of stored configurations to send messages to a host, given as an
    /// origin: `https://hooks.example.com`, `smtp://mail.example.com:465`.
    ///
    /// # Errors
    /// [`Invalid`] if `origin` is not an origin.
    ///
    /// # Examples
    /// ```
    /// let slack = "https://hooks.slack.com";
    /// let allow = job_types::Allow::nothing()
    ///     .alert_host(slack)?
    ///     .secret("${env:SLACK_WEBHOOK} for https://hooks.slack.com")?;
    /// assert!(allow.outbound().permits_origin(slack));
    /// # Ok::<(), job_types::Invalid>(())
    /// ```
    pub fn alert_host(mut self, origin: &str) -> Result<Self, Invalid> {
        let renamed = |error: Invalid| Invalid::new("allow.alert_hosts", error.value, error.valid);
        self.alerts = self.alerts.host(origin).map_err(renamed)?;
        Ok(self)
    }

    /// Allows error handlers of stored configurations to use a secret, given by its reference:
    /// `${env:NAME}` or `${file:/absolute/path}`.
    ///
    /// If ` for ` and an [`alert_host`](Self::alert_host) follow, the secret is allowed for that
    /// host alone. Stored jobs cannot use secrets.
    ///
    /// # Errors
    /// [`Invalid`] if `reference` is not a single reference, with or without a host.
    pub fn secret(mut self, reference: &str) -> Result<Self, Invalid> {
        self.alerts = self.alerts.secret(reference)?;
        Ok(self)
    }

    /// Returns the hosts and secrets that error handlers of stored configurations may use.
    #[must_use]
    pub fn outbound(&self) -> &Permissions {
        &self.alerts
    }

    /// Returns true if this worker may run a script that the registry defines.
    #[must_use]
    pub fn permits_script(&self, script: &Script) -> bool {
        let words: Vec<&str> = script.argv().collect();
        self.commands.iter().any(|allowed| {
            allowed.len() <= words.len() && allowed.iter().zip(&words).all(|(a, word)| a == word)
        })
    }

    /// Returns true if this worker may send a request that the registry defines.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn permits_http(&self, job: &HttpJob) -> bool {
        self.requests.permits_origin(&job.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Http;

    #[test]
    fn command_is_allowed_by_its_first_words() {
        let allow = Allow::nothing().command(["/a", "x y"]).unwrap().command(["/b"]).unwrap();
        let rows = [
            ("/a 'x y'", true),
            ("/a 'x y' z", true),
            ("/a x y", false),
            ("/a", false),
            ("/a 'x yz'", false),
            ("/b", true),
            ("/b; /c", false),
            ("/b && /c", true),
            ("b", false),
            ("/bin/../b", false),
            ("sh -c '/b'", false),
        ];
        for (line, expected) in rows {
            let script = Script::parse(line).unwrap();
            assert_eq!(allow.permits_script(&script), expected, "{line}");
            assert!(!Allow::nothing().permits_script(&script), "{line}");
        }
    }

    #[test]
    fn host_is_allowed_with_its_scheme_and_port() {
        let allow = Allow::nothing().host("https://API.example.com").unwrap();
        let allow = allow.host("http://127.0.0.1:8080/").unwrap();
        let rows = [
            ("https://api.example.com/a?b", true),
            ("https://api.example.com:443/", true),
            ("https://user:word@api.example.com/", true),
            ("http://api.example.com/", false),
            ("https://api.example.com:444/", false),
            ("https://api.example.com.evil.org/", false),
            ("https://api.example.com@evil.org/", false),
            ("https://evil.org/https://api.example.com", false),
            ("http://127.0.0.1:8080/x", true),
            ("http://127.0.0.1/x", false),
            ("http://localhost:8080/x", false),
        ];
        for (url, expected) in rows {
            let job = Http::new("GET", url).build().unwrap();
            assert_eq!(allow.permits_http(&job), expected, "{url}");
            assert!(!Allow::nothing().permits_http(&job), "{url}");
        }
    }

    #[test]
    fn hosts_of_jobs_and_of_error_handlers_are_separate_lists() {
        let (api, hooks) = ("https://api.example.com", "https://hooks.example.com");
        let allow = Allow::nothing().host(api).unwrap().alert_host(hooks).unwrap();
        for (host, of_jobs) in [(api, true), (hooks, false)] {
            let job = Http::new("GET", format!("{host}/x").as_str()).build().unwrap();
            assert_eq!(allow.permits_http(&job), of_jobs, "{host}");
            assert_eq!(allow.outbound().permits_origin(host), !of_jobs, "{host}");
        }
        let error = Allow::nothing().alert_host("smtp://mail").unwrap_err();
        assert_eq!(error.field, "allow.alert_hosts");
    }

    #[test]
    fn ambiguous_entries_are_rejected() {
        for words in [vec![], vec!["report.sh"], vec!["./report.sh"], vec![""]] {
            let error = Allow::nothing().command(words.clone()).unwrap_err();
            assert_eq!(error.field, "allow.commands", "{words:?}");
        }
        for host in
            ["api.example.com", "https://h/path", "https://h?q", "ftp://h", "*", "https://u:p@h"]
        {
            let error = Allow::nothing().host(host).unwrap_err();
            assert_eq!(error.field, "allow.hosts", "{host}");
            assert!(!error.value.contains("u:p"), "{error}");
        }
    }
}
