//! Output of commands if the registry becomes unreachable during changes, or the output is closed.

use crate::support;

use std::io;

use cli::Exit;
use coordination::{JobConfig, JobName, encode_config};
use support::World;
use support::accident::Then;

const WHY: [&str; 4] = ["--by", "anna", "--why", "release 12"];
const NOT_TRIED: &str = "not tried, as the registry did not answer";

/// Creates jobs with a mark of a lost instance, which the doctor can remove.
async fn damaged(jobs: &[&str]) -> World {
    let world = World::new();
    for name in jobs {
        let mut config = JobConfig::new(JobName::new(name).unwrap(), 2);
        config.java = coordination::JavaSettings::of(coordination::Dialect::V3);
        let nodes = [
            (format!("/{name}"), "com.acme.Old".to_owned()),
            (format!("/{name}/config"), encode_config(&config)),
            (format!("/{name}/servers/10.0.0.9"), "ENABLED".to_owned()),
            (format!("/{name}/sharding/0/running"), "10.0.0.9@-@9".to_owned()),
        ];
        for (path, data) in &nodes {
            world.write(&[(path, data)]).await;
        }
    }
    world
}

#[tokio::test]
async fn applied_fixes_are_listed_when_the_registry_becomes_unreachable() {
    let fix = [&["doctor", "--least", "error", "--fix", "--apply"][..], &WHY].concat();
    let rows = [
        (Then::Away, 1, Exit::Unreachable, ["done: a, ", "failed: b, ", "left alone: c, "]),
        (Then::ReplyLostAndAway, 2, Exit::Unknown, ["done: a, ", "failed: b, ", "left alone: c, "]),
    ];
    for (then, at, exit, lines) in rows {
        let world = damaged(&["a", "b", "c"]).await;
        let output = world.ejob_with(then.clone(), at, &fix).await;
        assert_eq!(output.exit, exit, "{then:?}: {output:?}");
        for start in lines {
            let is_listed = output.out.lines().any(|line| line.starts_with(start));
            assert!(is_listed, "{then:?}, {start}: {}", output.out);
        }
        assert!(output.out.contains(NOT_TRIED), "{then:?}: {}", output.out);
        assert_eq!(world.stored("/a/sharding/0/running"), None, "{then:?}");
        assert!(world.stored("/c/sharding/0/running").is_some(), "{then:?}");
    }
}

#[tokio::test]
async fn import_stops_at_an_unreachable_registry_and_lists_the_rest() {
    let world = damaged(&["a", "b", "c", "d"]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.yaml");
    let file = file.to_str().unwrap();
    world.ejob(&["export", "-f", file]).await.done();
    let import = ["import", file, "--apply"];
    let rows = [
        (Then::Away, Exit::Unreachable, 1),
        (Then::ReplyLostAndAway, Exit::Unknown, 0),
        (Then::RequestLostAndAway, Exit::Unknown, 0),
    ];
    for (then, exit, done) in rows {
        let world = World::new();
        let output = world.ejob_with(then.clone(), 1, &import).await;
        assert_eq!(output.exit, exit, "{then:?}: {output:?}");
        let n = |start: &str| output.out.lines().filter(|line| line.starts_with(start)).count();
        let found = (n("done: "), n("failed: "), n("left alone: "));
        assert_eq!(found, (done, 1, 3 - done), "{then:?}: {}", output.out);
        assert!(output.out.contains(NOT_TRIED), "{then:?}: {}", output.out);
    }
}

#[tokio::test]
async fn change_in_doubt_has_its_own_exit_code() {
    let pause = [&["pause", "a", "--server", "10.0.0.9"][..], &WHY].concat();
    let remove = [&["remove", "a", "--confirm", "a"][..], &WHY].concat();
    for line in [&pause, &remove] {
        let world = damaged(&["a"]).await;
        let output = world.ejob_with(Then::ReplyLostAndAway, 1, line).await;
        assert_eq!(output.exit, Exit::Unknown, "{line:?}: {output:?}");
        assert!(output.err.starts_with("error: the outcome of "), "{line:?}: {output:?}");
    }
    let world = damaged(&["a"]).await;
    let output = world.ejob_with(Then::Away, 1, &remove).await;
    assert_eq!(output.exit, Exit::Partly, "{output:?}");
    assert!(output.err.contains("is removed, but some of its nodes are left"), "{output:?}");
}

#[tokio::test]
async fn unreadable_job_is_not_taken_for_absent() {
    let world = damaged(&["a", "b"]).await;
    let away = || Then::Unreadable("/b");
    let audit = world.ejob_with(away(), 1, &["audit"]).await;
    assert_eq!(audit.exit, Exit::Partly, "{audit:?}");
    assert!(audit.out.contains("not read: b: "), "{audit:?}");
    let one = world.ejob_with(away(), 1, &["export", "b"]).await;
    assert_eq!(one.exit, Exit::Partly, "{one:?}");
    assert!(one.out.contains("# left out: b: "), "{one:?}");
    let json = world.ejob_with(away(), 1, &["export", "--form", "json"]).await;
    assert_eq!(json.exit, Exit::Partly, "{json:?}");
    assert_eq!(json.json()["jobs"][0]["job"], "a", "{json:?}");
    assert!(json.err.starts_with("left out: b: "), "{json:?}");
    let document = world.ejob_with(away(), 1, &["export", "--json"]).await;
    assert_eq!(document.json()["left_out"][0]["job"], "b", "{document:?}");
    assert_eq!(document.err, "", "{document:?}");
    let other = world.ejob_with(away(), 1, &["export", "a"]).await;
    assert_eq!(other.exit, Exit::Done, "{other:?}");
}

/// An output that fails with this error.
struct FailingOutput(io::ErrorKind);

impl io::Write for FailingOutput {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn answer_that_cannot_be_written_is_a_failure() {
    let world = damaged(&["a"]).await;
    let full = "error: the answer could not be written: no storage space\n";
    let rows = [
        (&["export"][..], io::ErrorKind::StorageFull, full),
        (&["jobs", "--json"], io::ErrorKind::StorageFull, full),
        (&["--help"], io::ErrorKind::StorageFull, full),
        // A closed pipe is not reported, as usual for programs.
        (&["export"], io::ErrorKind::BrokenPipe, ""),
    ];
    for (line, kind, output) in rows {
        let (exit, err) = world.ejob_to(&mut FailingOutput(kind), "/jobs", line).await;
        assert_eq!((exit, &*err), (Exit::Partly, output), "{line:?}, {kind:?}");
    }
}

/// A worker that continued would never run the job that it could not register.
#[tokio::test(start_paused = true)]
async fn worker_ends_if_the_registry_is_lost_during_registration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.toml");
    let job = |name| {
        format!(
            "[[jobs]]\nname = '{name}'\nsharding_total_count = 1\nscript = {{ argv = ['true'] }}\n"
        )
    };
    std::fs::write(&file, job("a") + &job("b")).unwrap();
    let world = World::new();
    // The registration of this job writes nothing.
    let stored = encode_config(&JobConfig::new(JobName::new("a").unwrap(), 1));
    world.write(&[("/a", ""), ("/a/config", &stored)]).await;
    let line = ["worker", file.to_str().unwrap(), "--server-ip", "10.0.0.1", "--drain", "1s"];
    let output = world.ejob_with(Then::RequestLostAndAway, 1, &line).await;
    assert_eq!(output.exit, Exit::Unreachable, "{output:?}");
    assert!(
        output.err.contains("job b: timed out after ") && !output.out.contains("ready: "),
        "{output:?}"
    );
    assert_eq!(world.stored("/b/config"), None, "{output:?}");
}
