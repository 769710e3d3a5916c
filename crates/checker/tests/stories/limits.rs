//! S17 and S20: valid and invalid runs of a job that limits its runs at the same time, or those
//! that begin in a period.

use checker::Property::{L0, L4, L7, S17, S20};
use checker::history::{Fact, MAX_CONCURRENCY};
use serde_json::json;

use crate::story::verdict::{assert_bad, assert_good};
use crate::story::{Story, fire};

fn limited(s: &mut Story, max: u32) -> &mut Story {
    s.configure(|config| config["clusterConcurrency"] = json!(max)).assign(&["a", "b"])
}

#[test]
fn s17_no_run_begins_beyond_the_limit() {
    assert_bad(
        S17,
        &[L4, L7],
        &[
            ("a run begins without a permit", |s| {
                limited(s, 1).at(10.01).permit(0).claim("a", 0, 1).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("a permit is not below the limit", |s| {
                limited(s, 1).at(10.01).permit(0).claim("a", 0, 1).permit(1).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("two runs have the same permit", |s| {
                limited(s, 2).at(10.01).permit(0).claim("a", 0, 1);
                s.tamper(|l| l["permit"] = json!(0)).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("the record names a permit that the claim did not take", |s| {
                limited(s, 2).at(10.01).tamper(|l| l["permit"] = json!(1)).claim("a", 0, 1);
                s.permit(0).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
            ("a takeover needs no permit", |s| {
                limited(s, 1).at(10.01).permit(0).claim("a", 0, 1).at(10.5).done("a", 0);
                s.permit(0).claim("b", 1, 1).crash("b").at(15.0);
                s.expire("b").orphan("a", 1).tamper(|l| l["permit"] = json!(null));
                s.take_over("a", 1).assign(&["a"]).at(16.0).done("a", 1);
            }),
        ],
    );
    assert_good(
        S17,
        &[
            ("runs come one after the other", |s| {
                limited(s, 1).at(10.01).permit(0).claim("a", 0, 1).at(10.5).done("a", 0);
                s.permit(0).claim("b", 1, 1).at(11.0).done("b", 1);
            }),
            ("the session of the holder ends, and its permit is free", |s| {
                limited(s, 1).at(10.01).permit(0).claim("a", 0, 1).at(10.5).done("a", 0);
                s.permit(0).claim("b", 1, 1).crash("b").at(15.0);
                s.expire("b").orphan("a", 1).permit(0).take_over("a", 1).assign(&["a"]);
                s.at(16.0).done("a", 1).assign(&["a"]);
            }),
            ("the limit is lowered during two runs", |s| {
                limited(s, 2).at(10.01).permit(0).claim("a", 0, 1).permit(1).claim("b", 1, 1);
                limited(s, 1).at(11.0).done("a", 0).done("b", 1);
            }),
        ],
    );
}

/// A job whose items all belong to `a`, which runs at most `max` of them at the same time.
fn limited_process(s: &mut Story, max: u32) -> &mut Story {
    if let Fact::RunMeta { params, .. } = &mut s.records[0].fact {
        params.insert(MAX_CONCURRENCY.to_owned(), json!(max));
    }
    s.at(3.0).drain("b").leave("b").assign(&["a"])
}

#[test]
fn s17_process_runs_no_more_items_than_its_limit() {
    assert_bad(
        S17,
        &[],
        &[
            ("two runs where one is allowed", |s| {
                limited_process(s, 1).at(10.01).claim("a", 0, 1).claim("a", 1, 1);
                s.at(11.0).done("a", 0).done("a", 1);
            }),
            ("a run begins before the one before it ends", |s| {
                limited_process(s, 1).at(10.01).claim("a", 0, 1);
                s.only_claim("a", 1, "NORMAL", fire(1)).at(11.0).start("a", 1);
                s.done("a", 0).at(12.0).done("a", 1);
            }),
            ("one run more than two", |s| {
                limited_process(s, 2).configure(|config| config["shardingTotalCount"] = json!(3));
                s.assign(&["a"]).at(10.01).claim("a", 0, 1).claim("a", 1, 1).claim("a", 2, 1);
                s.at(11.0).done("a", 0).done("a", 1).done("a", 2);
            }),
        ],
    );
    assert_good(
        S17,
        &[
            ("a run waits for the one before it", |s| {
                limited_process(s, 1).at(10.01).claim("a", 0, 1);
                s.only_claim("a", 1, "NORMAL", fire(1)).at(14.0).done("a", 0);
                s.start("a", 1).at(15.0).done("a", 1);
            }),
            ("two runs where two are allowed", |s| {
                limited_process(s, 2).at(10.01).claim("a", 0, 1).claim("a", 1, 1);
                s.at(11.0).done("a", 0).done("a", 1);
            }),
            ("a run waits until the end", |s| {
                limited_process(s, 1).at(10.01).claim("a", 0, 1);
                s.only_claim("a", 1, "NORMAL", fire(1)).at(19.0);
            }),
        ],
    );
}

#[test]
fn l0_run_begins_once_its_process_has_a_free_place() {
    assert_bad(
        L0,
        &[],
        &[
            ("a place is free, and the run that waits does not begin", |s| {
                limited_process(s, 1).at(10.01).claim("a", 0, 1);
                s.only_claim("a", 1, "NORMAL", fire(1)).at(11.0).done("a", 0).at(19.0);
            }),
            ("the run that waits begins late", |s| {
                limited_process(s, 1).at(10.01).claim("a", 0, 1);
                s.only_claim("a", 1, "NORMAL", fire(1)).at(11.0).done("a", 0);
                s.at(15.0).start("a", 1).at(16.0).done("a", 1);
            }),
            ("the second place is never used", |s| {
                limited_process(s, 2).at(10.01).claim("a", 0, 1);
                s.only_claim("a", 1, "NORMAL", fire(1)).at(14.0).done("a", 0);
                s.start("a", 1).at(15.0).done("a", 1);
            }),
        ],
    );
}

fn rated<'a>(s: &'a mut Story, rate: &str) -> &'a mut Story {
    let rate = rate.to_owned();
    s.configure(move |config| config["startRate"] = json!(rate)).assign(&["a", "b"])
}

#[test]
fn s20_no_more_runs_begin_than_the_rate() {
    assert_bad(
        S20,
        &[],
        &[
            ("a start is not recorded", |s| {
                rated(s, "2 in 1m").at(10.01).claim("a", 0, 1).starts(&[(10, 1)]).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("one run more begins in the period", |s| {
                rated(s, "1 in 1m").at(10.01).starts(&[(10, 1)]).claim("a", 0, 1);
                s.starts(&[(10, 1), (20, 1)]).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("an earlier start is left out", |s| {
                rated(s, "2 in 1m").at(10.01).starts(&[(10, 1)]).claim("a", 0, 1);
                s.starts(&[(20, 1)]).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("a start that lies far ahead is left out", |s| {
                rated(s, "1 in 1s").at(10.01).starts(&[(900_000, 1)]).claim("a", 0, 1);
                s.starts(&[(10, 1)]).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
            ("a start by a clock that is slightly faster does not count", |s| {
                rated(s, "1 in 1s").at(10.01).starts(&[(60_010, 1)]).claim("a", 0, 1);
                s.starts(&[(10, 1), (60_010, 1)]).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("two starts are recorded for one run", |s| {
                rated(s, "3 in 1m").at(10.01).starts(&[(10, 2)]).claim("a", 0, 1);
                s.starts(&[(10, 3)]).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
        ],
    );
    assert_good(
        S20,
        &[
            ("two runs begin in the period", |s| {
                rated(s, "2 in 1m").at(10.01).starts(&[(10, 1)]).claim("a", 0, 1);
                s.starts(&[(10, 2)]).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
            ("the earlier start is as old as the period", |s| {
                rated(s, "1 in 1s").at(10.01).starts(&[(10, 1)]).claim("a", 0, 1);
                s.starts(&[(1_010, 1)]).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
            ("an earlier start comes from a wrong clock", |s| {
                rated(s, "1 in 1s").at(10.01).starts(&[(900_000, 1)]).claim("a", 0, 1);
                s.starts(&[(10, 1), (900_000, 1)]).claim("b", 1, 1);
                s.at(11.0).done("a", 0).done("b", 1);
            }),
            ("a start is counted at the time of a faster clock", |s| {
                rated(s, "2 in 1s").at(10.01).starts(&[(40_000, 1)]).claim("a", 0, 1);
                s.starts(&[(40_000, 2)]).claim("b", 1, 1).at(11.0).done("a", 0).done("b", 1);
            }),
        ],
    );
}
