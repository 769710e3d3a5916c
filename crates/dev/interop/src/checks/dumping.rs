//! The masked dump of a mixed namespace has the form that the Java client expects.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::CheckSetup;
use super::common::{assigned, next_fire};
use crate::protocol::JobPlan;
use crate::stage::{CheckEnv, Failure, Kind, Nodes, PATIENCE, Worker, WorkerOptions};
use crate::suite::{JavaVersion, Report};

const JOB: &str = "dumping";
const TOTAL: u32 = 3;
const PORT: u16 = 9888;

pub(super) async fn check(setup: &CheckSetup<'_>, report: &mut Report) -> Result<(), Failure> {
    let env = setup.begin().await?;
    let options = WorkerOptions { dump_port: PORT.into(), ..WorkerOptions::default() };
    let rust = env.start_with(Kind::Rust, "rust", 2, options)?;
    let java = env.start_with(Kind::Java, "java", 1, options)?;
    let [operator] = env.all([(Kind::Java, "operator", 4)]).await?;
    rust.ready().await?;
    java.ready().await?;
    let busy = JobPlan::new(JOB, TOTAL);
    let rust_id = rust.schedule(&busy).await?;
    let java_id = java.schedule(&busy).await?;
    assigned(&env, JOB, TOTAL, &[&java_id, &rust_id]).await?;
    next_fire(&env, JOB, TOTAL).await?;
    // The job stops firing, so that nodes do not change during the dump.
    operator.call("configure", &[("job", JOB), ("cron", "0 0 0 1 1 ? 2099")]).await?;
    let expected = "no item runs and no resharding is pending";
    env.tree
        .wait(PATIENCE, expected, |nodes| {
            let mut items = 0..TOTAL;
            let runs = items.any(|item| nodes.has(&format!("/{JOB}/sharding/{item}/running")));
            let idle =
                nodes.text(&format!("/{JOB}/config")).is_some_and(|text| text.contains("2099"));
            match idle && !runs && !nodes.has(&format!("/{JOB}/leader/sharding/necessary")) {
                true => Ok(()),
                false => Err(nodes.draw(&format!("/{JOB}"))),
            }
        })
        .await?;

    for (who, worker) in [("Java", &java), ("Rust", &rust)] {
        let what = format!("{who}'s dump of the mixed namespace");
        match stable_dump(&env, &operator, worker).await {
            Ok((expected, found)) => differences(&what, &expected, &found, report),
            Err(failure) => report.failed(&format!("{what}: {failure}")),
        }
    }
    java.leave().await?;
    rust.leave().await?;
    operator.leave().await?;
    env.tree.close().await
}

/// Requests a worker's dump until the nodes are stable and equal to the dump, for at most
/// [`PATIENCE`].
///
/// A run of an earlier fire can still change nodes, and Java's dump differs while its cache lags.
/// Returns the nodes and the last dump, both masked.
async fn stable_dump(
    env: &CheckEnv<'_>,
    operator: &Worker,
    worker: &Worker,
) -> Result<(String, String), Failure> {
    let begin = Instant::now();
    loop {
        let before = masked(&rendered(&env.nodes()));
        let found = masked(&dump(env.release(), operator, worker).await?);
        let is_stable = before == masked(&rendered(&env.nodes()));
        if (is_stable && before == found) || begin.elapsed() > PATIENCE {
            return Ok((before, found));
        }
    }
}

/// Requests a worker's dump like the Java client of the release. 2.1.5 has no client, so that the
/// suite connects itself.
async fn dump(java: JavaVersion, operator: &Worker, worker: &Worker) -> Result<String, Failure> {
    match java {
        JavaVersion::V2_1_5 => connected_dump(worker).await,
        JavaVersion::V3_0_4 => {
            let port = PORT.to_string();
            let arguments = [("job", JOB), ("server", &*worker.ip), ("port", &*port)];
            let text = operator.call("dump", &arguments).await?;
            text.as_str()
                .map(str::to_owned)
                .ok_or_else(|| Failure::unreadable("the answer to `dump` is not a text"))
        }
    }
}

async fn connected_dump(worker: &Worker) -> Result<String, Failure> {
    let address: SocketAddr =
        format!("{}:{PORT}", worker.ip).parse().map_err(Failure::unreadable)?;
    let answer = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"dump\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text)
    };
    let answer = tokio::time::timeout(Duration::from_secs(10), answer).await;
    let action = format!("dump {} at {address}", worker.name());
    answer
        .map_err(|_| std::io::ErrorKind::TimedOut.into())
        .flatten()
        .map_err(Failure::system(action))
}

/// Renders the nodes of the job in the form of a dump.
///
/// There is one line for each node below the root. A node precedes its children, which are in
/// descending order.
fn rendered(nodes: &Nodes) -> String {
    let mut lines = String::new();
    render(nodes, &format!("/{JOB}"), &mut lines);
    lines
}

fn render(nodes: &Nodes, path: &str, lines: &mut String) {
    for child in nodes.children(path).into_iter().rev() {
        let path = format!("{path}/{child}");
        lines.push_str(&format!("{path} | {}\n", nodes.text(&path).unwrap_or_default()));
        render(nodes, &path, lines);
    }
}

/// Replaces each IPv4 address by `ip1`, `ip2` and so on, in the order in which they appear.
fn masked(text: &str) -> String {
    let mut names = BTreeMap::new();
    let mut masked = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        masked.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let word = &rest[..end];
        match word.parse::<std::net::Ipv4Addr>() {
            Ok(ip) => {
                let n = names.len() + 1;
                masked.push_str(&format!("ip{}", names.entry(ip).or_insert(n)));
            }
            Err(_) => masked.push_str(word),
        }
        rest = &rest[end..];
    }
    masked + rest
}

/// Expects that two dumps are equal, and reports the lines that only one of them has.
fn differences(what: &str, expected: &str, found: &str, report: &mut Report) {
    let only = |of: &str, not_in: &str| {
        let lines: Vec<&str> =
            of.lines().filter(|line| !not_in.lines().any(|l| l == *line)).collect();
        format!("{} lines, only here:\n        {}", of.lines().count(), lines.join("\n        "))
    };
    let (wanted, seen) = (only(expected, found), only(found, expected));
    let n_lines = format!("{} lines", found.lines().count());
    let seen = if expected == found { n_lines } else { seen };
    report.holds(what, &wanted, &seen, expected == found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_one_name_in_the_whole_dump() {
        let rows = [
            ("none", "/job/sharding/0 | ", "/job/sharding/0 | "),
            ("one", "/job/servers/10.0.0.1 | ", "/job/servers/ip1 | "),
            ("again", "10.0.0.1@-@7 10.0.0.10 10.0.0.1", "ip1@-@7 ip2 ip1"),
            ("no address", "1.2.3 1.2.3.4.5 300.1.1.1", "1.2.3 1.2.3.4.5 300.1.1.1"),
        ];
        for (case, text, expected) in rows {
            assert_eq!(masked(text), expected, "{case}");
        }
    }
}
