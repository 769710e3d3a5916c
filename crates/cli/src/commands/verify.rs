//! `verify`: judges each fire of a job by its history and the registry.

use clap::Args;
use clap::builder::PossibleValuesParser;
use coordination::JobName;
use jiff::Timestamp;
use job_history::{Error, JudgedFire, UnjudgedPeriod, Verdict, Verification, VerifyQuery};
use serde_json::{Value, json};

use super::history::{StoreArguments, in_seconds, lost_lines, reading};
use super::history_rows::{fire_document, lost_document};
use crate::context::Context;
use crate::fault::{Exit, Fault};
use crate::output::{Column, Page, Table, Text, counted, line};
use crate::text::{job_name, one_line, or_dash, time_or_age};
use crate::waiting;

const COLUMNS: [Column; 7] = [
    Column::fire("FIRE"),
    Column::plain("ITEM"),
    Column::state("VERDICT"),
    Column::state("OUTCOME"),
    Column::plain("SOURCE").extra(),
    Column::plain("INSTANCE").extra(),
    Column::text("REASON"),
];

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    #[command(flatten)]
    store: StoreArguments,
    /// From this time on: 2024-02-29T12:00:00Z, 2024-02-29 in UTC, or 2h for two hours ago
    #[arg(long, value_name = "TIME", value_parser = time_or_age)]
    from: Timestamp,
    /// Before this time, written as for --from [default: now]
    #[arg(long, value_name = "TIME", visible_alias = "until", value_parser = time_or_age)]
    to: Option<Timestamp>,
    /// List only fires with this verdict; can be repeated. All fires are counted
    #[arg(long, value_name = "WORD",
        value_parser = PossibleValuesParser::new(Verdict::ALL.map(Verdict::as_str)))]
    verdict: Vec<String>,
    /// List at most this many fires, the earliest first
    #[arg(long, value_name = "COUNT", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

impl VerifyArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        let options = self.store.required_options()?;
        let to = self.to.unwrap_or_else(Timestamp::now);
        let query = self.query(to);
        query.check(Timestamp::now()).map_err(on_the_line)?;
        let operations = cx.operations().await?;
        let job = operations.job(&self.job).await?;
        let group = operations.group_of(&job).await?;
        let now = operations.present();
        let verified = reading(options, async |history| {
            history.verify_in(&job, group.as_ref(), now, &query).await
        });
        let verified = Box::pin(verified);
        let verified = waiting::shown(&format!("verifying {}", self.job), verified).await?;
        let found = verified.map_err(on_the_line)?;
        let exit = if found.is_explained() { Exit::Done } else { Exit::Findings };
        let document = document(&found, self.from, to.min(now));
        Ok(Page::new(self.text(&found, to.min(now)), &document).ending(exit))
    }

    fn query(&self, to: Timestamp) -> VerifyQuery {
        let query = VerifyQuery::new(self.from, to).limit(self.limit);
        let verdicts: Vec<_> =
            self.verdict.iter().filter_map(|word| Verdict::of_word(word)).collect();
        if verdicts.is_empty() { query } else { query.verdicts(verdicts) }
    }

    /// Returns the first recorded fire, if unexplained fires precede it and all fires are listed.
    fn first_record(&self, found: &Verification) -> Option<Timestamp> {
        let mut fires = found.fires.iter().skip_while(|fire| fire.record.is_none());
        let first = fires.next().filter(|_| self.verdict.is_empty())?.fire;
        let is_earlier =
            |fire: &&JudgedFire| fire.fire < first && fire.verdict == Verdict::Unexplained;
        found.fires.iter().find(is_earlier).map(|_| first)
    }

    fn text(&self, found: &Verification, to: Timestamp) -> Text {
        let mut text = Text::default();
        if !found.fires.is_empty() {
            text.push(Table::new(&COLUMNS, found.fires.iter().map(row)));
        }
        if found.has_more {
            text.push_str("more fires have these verdicts: raise --limit, or choose --verdict\n");
        }
        if let Some(first) = self.first_record(found) {
            let first = in_seconds(first);
            text.push_str(&format!(
                "the store has no earlier record than that of {first}: if the job is new, or its \
                 history, `--from {first}` leaves the fires before it out\n"
            ));
        }
        for UnjudgedPeriod { from, until, reason, .. } in &found.unjudged {
            let (from, until) = (in_seconds(*from), in_seconds(*until));
            let unjudged = format!("not judged: the fires from {from} to {until}: {reason}");
            text.push_str(&line(&one_line(&unjudged)));
        }
        text.push_str(&lost_lines(&found.drops));
        let numbers = Verdict::ALL.map(|verdict| {
            format!("{} {}", found.counts.of(verdict), verdict.as_str().replace('_', " "))
        });
        let total = counted(usize::try_from(found.counts.total()).unwrap_or(usize::MAX), "fire");
        let (from, to) = (in_seconds(self.from), in_seconds(to));
        text.push_str(&format!(
            "{total} of items of {} from {from} to {to}: {}\n",
            self.job,
            numbers.join(", ")
        ));
        text
    }
}

/// Names the wrong option as the command line does.
fn on_the_line(error: Error) -> Fault {
    let Error::InvalidOption { option, value, expected } = &error else { return error.into() };
    let option = if *option == "until" { "to" } else { *option };
    Fault::usage(format!("--{option} is {value}; valid is {expected}"))
}

fn row(fire: &JudgedFire) -> Vec<String> {
    let record = fire.record.as_ref();
    vec![
        fire.fire.to_string(),
        fire.item.to_string(),
        fire.verdict.to_string(),
        or_dash(record.map(|record| &record.outcome)),
        or_dash(record.and_then(|record| record.source)),
        or_dash(record.and_then(|record| record.instance.as_ref())),
        fire.reason.clone().unwrap_or_default(),
    ]
}

fn document(found: &Verification, from: Timestamp, to: Timestamp) -> Value {
    let counts: serde_json::Map<_, _> = Verdict::ALL
        .into_iter()
        .map(|verdict| (verdict.as_str().to_owned(), found.counts.of(verdict).into()))
        .collect();
    json!({
        "from": from.to_string(),
        "to": to.to_string(),
        "explained": found.is_explained(),
        "counts": counts,
        "fires": found.fires.iter().map(fire).collect::<Vec<_>>(),
        "more": found.has_more,
        "not_judged": found.unjudged.iter().map(unjudged).collect::<Vec<_>>(),
        "lost": found.drops.iter().map(lost_document).collect::<Vec<_>>(),
    })
}

fn fire(fire: &JudgedFire) -> Value {
    json!({
        "fire": fire.fire.to_string(),
        "item": fire.item.index(),
        "verdict": fire.verdict.as_str(),
        "reason": fire.reason,
        "record": fire.record.as_ref().map(fire_document),
    })
}

fn unjudged(period: &UnjudgedPeriod) -> Value {
    json!({
        "from": period.from.to_string(),
        "until": period.until.to_string(),
        "reason": period.reason,
    })
}
