//! What definitions from the registry may do on this worker: nothing, unless its own file says so.

use outbound::Permissions;

use crate::{HttpJob, Invalid, Script};

/// The commands and hosts that a definition from the registry may use on this worker.
///
/// Whoever can write the registry can change what a stored job runs. Without this list that would be every command on every
/// host. The default allows nothing.
///
/// # Examples
/// ```
/// use job_types::{Allow, Script};
///
/// let allow = Allow::nothing().command(["/opt/jobs/report.sh", "--daily"])?.host("https://api.example.com")?;
/// assert!(allow.permits_script(&Script::parse("/opt/jobs/report.sh --daily --verbose")?));
/// assert!(!allow.permits_script(&Script::parse("/opt/jobs/report.sh --weekly")?));
/// assert!(!allow.permits_script(&Script::shell("/opt/jobs/report.sh --daily")));
/// # Ok::<(), job_types::Invalid>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    commands: Vec<Vec<String>>,
    /// For jobs.
    requests: Permissions,
    /// For error handlers. Who may be told of failures need not be one whom jobs may talk to.
    alerts: Permissions,
}

impl Allow {
    /// Allows nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Allows a program, by its absolute path, with the arguments that are named; whatever arguments follow are free. Both are
    /// compared word by word with what would be run. Allow no interpreter without the name of its program, and no shell: their
    /// free arguments are commands.
    ///
    /// # Errors
    /// [`Invalid`] if there is no program, or its path is not absolute.
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

    /// Allows stored jobs requests to a host, with its scheme, and its port unless that is the usual one: `https://api.example.com`,
    /// `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// [`Invalid`] if it is anything else.
    pub fn host(mut self, origin: &str) -> Result<Self, Invalid> {
        self.requests = self.requests.host(origin)?;
        Ok(self)
    }

    /// Allows error handlers that stored configurations choose to talk to a host, with its scheme, and its port unless that is the
    /// usual one: `https://hooks.example.com`, `smtp://mail.example.com:465`.
    ///
    /// # Errors
    /// [`Invalid`] if it is anything else.
    ///
    /// # Examples
    /// ```
    /// let slack = "https://hooks.slack.com";
    /// let allow = job_types::Allow::nothing().alert_host(slack)?.secret("${env:SLACK_WEBHOOK} for https://hooks.slack.com")?;
    /// assert!(allow.outbound().permits_origin(slack));
    /// # Ok::<(), job_types::Invalid>(())
    /// ```
    pub fn alert_host(mut self, origin: &str) -> Result<Self, Invalid> {
        let named = |error: Invalid| Invalid::new("allow.alert_hosts", error.value, error.valid);
        self.alerts = self.alerts.host(origin).map_err(named)?;
        Ok(self)
    }

    /// Allows the use of a secret by error handlers that stored configurations choose, by its reference: `${env:NAME}` or
    /// `${file:/absolute/path}`, with ` for ` and an [`alert_host`](Self::alert_host) behind it if it is for that one alone. Stored jobs
    /// have no use of secrets.
    ///
    /// # Errors
    /// [`Invalid`] if it is anything but one reference, with a host or without.
    pub fn secret(mut self, reference: &str) -> Result<Self, Invalid> {
        self.alerts = self.alerts.secret(reference)?;
        Ok(self)
    }

    /// Returns the hosts and secrets that are allowed, for error handlers that stored configurations choose.
    #[must_use]
    pub fn outbound(&self) -> &Permissions {
        &self.alerts
    }

    /// Returns true if a script may run here that the registry has defined.
    #[must_use]
    pub fn permits_script(&self, script: &Script) -> bool {
        let words: Vec<&str> = script.argv().collect();
        self.commands.iter().any(|allowed| {
            allowed.len() <= words.len() && allowed.iter().zip(&words).all(|(a, word)| a == word)
        })
    }

    /// Returns true if a request may be made from here that the registry has defined.
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
    fn a_command_is_allowed_by_all_its_first_words() {
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
    fn a_host_is_allowed_with_its_scheme_and_port() {
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
    fn whom_jobs_may_talk_to_and_who_may_be_told_of_failures_are_two_lists() {
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
    fn entries_that_would_allow_something_else_are_refused() {
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
