//! The dump of a mixed namespace, with its addresses masked, is what the Java client expects.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Setting;
use super::common::{assigned, next_fire};
use crate::protocol::JobPlan;
use crate::stage::{Cast, Failure, Habits, Kind, Nodes, PATIENCE, Worker};
use crate::suite::{JavaVersion, Report};

const JOB: &str = "dumping";
const TOTAL: u32 = 3;
const PORT: u16 = 9888;

pub(super) async fn play(setting: &Setting<'_>, report: &mut Report) -> Result<(), Failure> {
    let cast = setting.cast().await?;
    let habits = Habits { dump_port: PORT.into(), ..Habits::default() };
    let rust = cast.start_with(Kind::Rust, "rust", 2, habits)?;
    let java = cast.start_with(Kind::Java, "java", 1, habits)?;
    let [operator] = cast.all([(Kind::Java, "operator", 4)]).await?;
    rust.ready().await?;
    java.ready().await?;
    let busy = JobPlan::new(JOB, TOTAL);
    let rust_id = rust.schedule(&busy).await?;
    let java_id = java.schedule(&busy).await?;
    assigned(&cast, JOB, TOTAL, &[&java_id, &rust_id]).await?;
    next_fire(&cast, JOB, TOTAL).await?;
    // Nothing moves while it is dumped.
    operator.call("configure", &[("job", JOB), ("cron", "0 0 0 1 1 ? 2099")]).await?;
    let expected = "nothing runs and nothing is to be resharded";
    cast.tree
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
        match at_rest(&cast, &operator, worker).await {
            Ok((expected, found)) => differences(&what, &expected, &found, report),
            Err(failure) => report.failed(&format!("{what}: {failure}")),
        }
    }
    java.leave().await?;
    rust.leave().await?;
    operator.leave().await?;
    cast.tree.close().await
}

/// Asks a worker for its dump until nothing has moved meanwhile and the dump is what the nodes are, or for a while: a fire
/// that was due already may still run, and Java shows nodes differently as long as its own copy of them lags. Returns the
/// nodes and the last dump, both masked.
async fn at_rest(
    cast: &Cast<'_>,
    operator: &Worker,
    worker: &Worker,
) -> Result<(String, String), Failure> {
    let begin = Instant::now();
    loop {
        let before = masked(&rendered(&cast.nodes()));
        let found = masked(&dump(cast.release(), operator, worker).await?);
        let is_at_rest = before == masked(&rendered(&cast.nodes()));
        if (is_at_rest && before == found) || begin.elapsed() > PATIENCE {
            return Ok((before, found));
        }
    }
}

/// Asks a worker for its dump as the Java client of the release does: 3.x has one, with 2.1.5 it is whoever connects.
async fn dump(java: JavaVersion, operator: &Worker, worker: &Worker) -> Result<String, Failure> {
    match java {
        JavaVersion::V2_1_5 => connected_dump(worker).await,
        JavaVersion::V3_0_4 => {
            let port = PORT.to_string();
            let arguments = [("job", JOB), ("server", &*worker.ip), ("port", &*port)];
            let text = operator.call("dump", &arguments).await?;
            text.as_str().map(str::to_owned).ok_or_else(|| Failure::unreadable("a dump is a text"))
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
    let act = format!("dump {} at {address}", worker.name());
    answer.map_err(|_| std::io::ErrorKind::TimedOut.into()).flatten().map_err(Failure::system(act))
}

/// Renders the job as a dump does: one line per node below the root, each before its children, these in descending
/// order.
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

/// Expects that two dumps are equal, and shows the lines that only one of them has.
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
    fn each_address_has_one_name_wherever_it_appears() {
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
