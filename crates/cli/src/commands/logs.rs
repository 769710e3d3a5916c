//! `logs`: the output of the runs of one fire, from a store that `job-history` writes.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use coordination::JobName;
use jiff::Timestamp;
use job_history::{
    FireQuery, FireRecord, History, OutputCursor, OutputPage, OutputQuery, OutputRecord,
};
use lite::OutputStream;
use serde_json::{Value, json};
use sharding::ShardingItem;

use super::history::{StoreArguments, reading};
use super::signals::Signals;
use crate::context::Context;
use crate::fault::Fault;
use crate::output::{Page, counted, line};
use crate::text::{did_you_mean, job_name, timestamp};

/// Number of lines that one query reads.
const PAGE: u32 = 1_000;
/// Time between two queries while a run is followed.
const POLL: Duration = Duration::from_millis(500);
/// Number of neighbours that are named before and after a time without a fire.
const NEIGHBOURS: u32 = 3;

#[derive(Debug, Args)]
pub(crate) struct LogsArguments {
    /// Name of the job
    #[arg(value_parser = job_name)]
    job: JobName,
    #[command(flatten)]
    store: StoreArguments,
    /// Scheduled time of the fire, as `ejob history` shows it [default: the last fire with a run]
    #[arg(long, value_name = "TIME", value_parser = timestamp)]
    fire: Option<Timestamp>,
    /// Only this item
    #[arg(long, value_parser = crate::text::item)]
    item: Option<u32>,
    /// Only lines of this source
    #[arg(long, value_name = "WORD",
        value_parser = PossibleValuesParser::new(OutputStream::ALL.map(OutputStream::as_str)))]
    stream: Option<String>,
    /// Show at most this many lines, the last ones
    #[arg(long, value_name = "COUNT", default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Show further lines as they are written, until the run ends or ctrl-c
    #[arg(long)]
    follow: bool,
}

/// The chosen fire.
struct Chosen {
    fire: Timestamp,
    items: BTreeSet<u32>,
}

impl LogsArguments {
    pub(crate) async fn run(self, cx: &Context<'_>) -> Result<Page, Fault> {
        if self.follow && !cx.look().is_text() {
            let job = &self.job;
            return Err(Fault::usage(format!(
                "--follow is for people; for programs, repeat `ejob logs {job} --json` without it"
            )));
        }
        let options = self.store.required_options()?;
        let answer = async |history: &History| {
            let chosen = self.choose(history).await?;
            if self.follow {
                self.follow(cx, history, &chosen).await
            } else {
                self.page(history, &chosen).await
            }
        };
        Box::pin(reading(options, answer)).await?
    }

    /// Chooses the fire, and finds its items.
    async fn choose(&self, history: &History) -> Result<Chosen, Fault> {
        let fire = match self.fire {
            Some(fire) => fire,
            None => {
                let last = history.fires(&self.fires().with_run(), 1, None).await?.fires;
                match last.first() {
                    Some(last) => last.fire,
                    None => return Err(self.without_runs(history).await?),
                }
            }
        };
        let fires = history.fires(&self.at(fire), PAGE, None).await?.fires;
        let items: BTreeSet<u32> = fires.iter().map(|fire| fire.item.index()).collect();
        if items.is_empty() {
            return Err(self.without_fire(history, fire).await?);
        }
        Ok(Chosen { fire, items })
    }

    /// Selects the fires of the job, and of the item if one is given.
    fn fires(&self) -> FireQuery {
        let query = FireQuery::default().job(self.job.as_str());
        match self.item {
            Some(item) => query.item(ShardingItem::new(item)),
            None => query,
        }
    }

    fn at(&self, fire: Timestamp) -> FireQuery {
        let after = fire.checked_add(Duration::from_millis(1)).unwrap_or(Timestamp::MAX);
        self.fires().from(fire).until(after)
    }

    fn subject(&self) -> String {
        let item = self.item.map(|item| format!("item {item} of ")).unwrap_or_default();
        format!("{item}job {}", self.job)
    }

    /// Returns the error of a job or item without runs.
    async fn without_runs(&self, history: &History) -> Result<Fault, Fault> {
        let (subject, store) = (self.subject(), history.store());
        let counts = history.counts(&FireQuery::default()).await?;
        let known: BTreeSet<&str> = counts.iter().map(|count| count.job.as_str()).collect();
        let hint = match known.contains(self.job.as_str()) {
            true => format!("`ejob history {}` shows its fires", self.job),
            false => did_you_mean(self.job.as_str(), known)
                .unwrap_or_else(|| "without a name `ejob history` shows all jobs".to_owned()),
        };
        Ok(Fault::not_found(format!("{store} has no runs of {subject}; {hint}")))
    }

    /// Returns the error of a time without a fire, with the nearest fires.
    async fn without_fire(&self, history: &History, fire: Timestamp) -> Result<Fault, Fault> {
        let nearest = history.nearest_fires(&self.fires(), fire, NEIGHBOURS).await?;
        if nearest.is_empty() {
            return self.without_runs(history).await;
        }
        let nearest: Vec<_> = nearest.iter().map(ToString::to_string).collect();
        let (subject, store) = (self.subject(), history.store());
        Ok(Fault::not_found(format!(
            "{store} has no fire of {subject} for {fire}; the nearest with a run are {}",
            nearest.join(", ")
        )))
    }

    fn output(&self, fire: Timestamp) -> OutputQuery {
        let mut query = OutputQuery::of_fire(self.job.as_str(), fire);
        if let Some(item) = self.item {
            query = query.item(ShardingItem::new(item));
        }
        match self.stream.as_deref().and_then(OutputStream::of_word) {
            Some(stream) => query.stream(stream),
            None => query,
        }
    }

    /// Reads the last lines. Returns them with whether earlier ones exist, and the end.
    async fn last_lines(&self, history: &History, query: &OutputQuery) -> Result<Lines, Fault> {
        let mut lines: Vec<OutputRecord> = Vec::new();
        let mut before = None;
        loop {
            let read = u32::try_from(lines.len()).unwrap_or(u32::MAX);
            let wanted = (self.limit - read).min(PAGE);
            let OutputPage { lines: mut page, end, has_more, .. } =
                history.last_output(query, wanted, before.as_ref()).await?;
            page.append(&mut lines);
            lines = page;
            before = end;
            let is_full = u32::try_from(lines.len()).is_ok_and(|n| n >= self.limit);
            if !has_more || is_full || before.is_none() {
                return Ok(Lines { lines, has_earlier: has_more });
            }
        }
    }

    async fn page(&self, history: &History, chosen: &Chosen) -> Result<Page, Fault> {
        let Lines { lines, has_earlier } =
            self.last_lines(history, &self.output(chosen.fire)).await?;
        let mut text = String::new();
        if has_earlier {
            text.push_str("earlier lines exist: raise --limit\n");
        }
        let mut printer = self.printer(has_earlier);
        lines.iter().for_each(|line| text.push_str(&printer.draw(line)));
        if lines.is_empty() {
            text.push_str(&self.nothing(history, chosen));
        }
        let document = json!({
            "job": self.job.as_str(),
            "fire": chosen.fire.to_string(),
            "lines": lines.iter().map(document).collect::<Vec<_>>(),
            "earlier": has_earlier,
        });
        Ok(Page::new(text, &document))
    }

    /// Returns the text of an empty answer, with the possible reasons.
    fn nothing(&self, history: &History, chosen: &Chosen) -> String {
        let (subject, store, fire) = (self.subject(), history.store(), chosen.fire);
        let of_stream = self.stream.as_ref().map(|word| format!(" from {word}"));
        format!(
            "{store} has no output{} of {subject} for the fire of {fire}: the run wrote none, or \
             its worker keeps none (`output = \"none\"`, a version before 0.2)\n",
            of_stream.unwrap_or_default()
        )
    }

    fn printer(&self, has_earlier: bool) -> Printer {
        Printer { last: None, has_earlier, is_filtered: self.stream.is_some() }
    }

    /// Shows further lines of one item until its run ends, or a signal comes.
    async fn follow(
        &self,
        cx: &Context<'_>,
        history: &History,
        chosen: &Chosen,
    ) -> Result<Page, Fault> {
        let (Some(item), None) = (chosen.items.first(), chosen.items.iter().nth(1)) else {
            let items: Vec<_> = chosen.items.iter().map(u32::to_string).collect();
            let (fire, items) = (chosen.fire, items.join(", "));
            return Err(Fault::usage(format!(
                "--follow needs --item: the fire of {fire} has the items {items}"
            )));
        };
        let query = self.output(chosen.fire).item(ShardingItem::new(*item));
        let Lines { lines, has_earlier } = self.last_lines(history, &query).await?;
        let mut printer = self.printer(has_earlier);
        let mut end = lines.last().map(OutputRecord::cursor);
        let shown: String = lines.iter().map(|line| printer.draw(line)).collect();
        let mut signals = Signals::listen()?;
        let done = Page::new("", &json!(null));
        // A closed output, such as that of `head`, ends the command like ctrl-c.
        if cx.write(&shown).is_err() {
            return Ok(done);
        }
        loop {
            // Asked before the lines: those of a run are stored before its end.
            let outcome = self.outcome(history, chosen.fire, *item).await?;
            while let Some(page) = next_page(history, &query, &mut end).await? {
                let text: String = page.iter().map(|line| printer.draw(line)).collect();
                if cx.write(&text).is_err() {
                    return Ok(done);
                }
            }
            if let Some(outcome) = outcome {
                return Ok(Page::new(format!("-- item {item} ended: {outcome}\n"), &json!(null)));
            }
            tokio::select! {
                biased;
                () = signals.next() => return Ok(done),
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Returns the outcome of a fire of an item; `None` while it runs or waits for a takeover.
    async fn outcome(
        &self,
        history: &History,
        fire: Timestamp,
        item: u32,
    ) -> Result<Option<String>, Fault> {
        let query = self.at(fire).item(ShardingItem::new(item));
        let found = history.fires(&query, 1, None).await?.fires;
        let is_open = |fire: &&FireRecord| matches!(fire.outcome.as_str(), "running" | "orphaned");
        let open = found.first().filter(is_open);
        let outcome = found.first().map(|fire| fire.outcome.to_string());
        Ok(outcome.filter(|_| open.is_none()))
    }
}

/// The last lines of a fire.
struct Lines {
    lines: Vec<OutputRecord>,
    has_earlier: bool,
}

/// Reads the lines after an end, and moves it; `None` without further lines.
async fn next_page(
    history: &History,
    query: &OutputQuery,
    end: &mut Option<OutputCursor>,
) -> Result<Option<Vec<OutputRecord>>, Fault> {
    let page = history.output(query, PAGE, end.as_ref()).await?;
    if page.lines.is_empty() {
        return Ok(None);
    }
    *end = page.end;
    Ok(Some(page.lines))
}

/// Draws lines with a heading for each run, and with the numbers of lines that are left out.
struct Printer {
    last: Option<OutputRecord>,
    /// The first line follows others that are not shown.
    has_earlier: bool,
    /// Lines of other sources are not shown, so that numbers are missing.
    is_filtered: bool,
}

impl Printer {
    fn draw(&mut self, line_of_run: &OutputRecord) -> String {
        let is_same = |last: &OutputRecord| {
            (last.item, last.token, &last.instance, last.attempt)
                == (line_of_run.item, line_of_run.token, &line_of_run.instance, line_of_run.attempt)
        };
        let mut text = String::new();
        let missing = line_of_run.missing_since(self.last.as_ref());
        if !self.last.as_ref().is_some_and(is_same) {
            let OutputRecord { item, token, instance, attempt, .. } = line_of_run;
            let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
            text.push_str(&line(&format!("-- item {item}, token {token}, {instance}{attempt}")));
        }
        let hides_lines = self.is_filtered || (self.has_earlier && self.last.is_none());
        if missing > 0 && !hides_lines {
            let lines = counted(usize::try_from(missing).unwrap_or(usize::MAX), "line");
            text.push_str(&format!("-- {lines} left out\n"));
        }
        let OutputRecord { at, stream, text: line_text, .. } = line_of_run;
        text.push_str(&line(&format!("{at} {stream:<6} {line_text}")));
        self.last = Some(line_of_run.clone());
        text
    }
}

fn document(line: &OutputRecord) -> Value {
    json!({
        "item": line.item.index(),
        "token": line.token.0,
        "instance": line.instance.as_str(),
        "attempt": line.attempt,
        "seq": line.seq,
        "at": line.at.to_string(),
        "stream": line.stream,
        "text": line.text,
    })
}
