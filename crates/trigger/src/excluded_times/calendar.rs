//! iCalendar texts among the entries, and the occurrences of their events.

use ical::component::{IcalComponent, IcalComponentKind, IcalComponentName};
use ical::tree::cst::IcalCst;

use crate::calendar::Wall;
use crate::zone::Zone;

use super::ExcludedTimes;
use super::error::{ExcludedTimesError, ExcludedTimesErrorReason as Reason};
use super::event::Event;
use super::spans::{Span, Spans};

const BEGIN: &str = "BEGIN:VCALENDAR";
const END: &str = "END:VCALENDAR";

/// Maximum depth of components: a calendar, an event, an alarm, and one more.
const MAX_DEPTH: usize = 4;

/// Maximum number of zones of events besides that of the schedule: each is checked for each fire.
const MAX_ZONES: usize = 20;

/// Returns true if a text begins with an iCalendar text.
pub(super) fn begins(text: &str) -> bool {
    text.get(..BEGIN.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN))
}

/// Returns the number of bytes of the iCalendar text that a text begins with. A calendar without
/// its end is as long as the text.
pub(super) fn length(text: &str) -> usize {
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        length += line.len();
        if line.trim_end().eq_ignore_ascii_case(END) {
            return length;
        }
    }
    length
}

/// Occurrences of the events of all iCalendar texts.
#[derive(Default)]
pub(super) struct Calendars {
    events: usize,
    rules: usize,
    /// With the zone of the wall clock; none is the zone of the schedule.
    occurrences: Vec<(Option<Zone>, Span)>,
}

impl Calendars {
    /// Adds the events of one iCalendar text.
    pub(super) fn add(&mut self, text: &str) -> Result<(), ExcludedTimesError> {
        let syntax = |reason: String| ExcludedTimesError::new(BEGIN, Reason::Syntax(reason));
        let lines = unfolded(text);
        check_lines(&lines).map_err(syntax)?;
        let tree = IcalCst::parse(&lines).map_err(|error| syntax(error.to_string()))?;
        let calendar = tree.decode();
        let is_event = |component: &&IcalComponent<'_>| {
            matches!(component.name, IcalComponentName::Kind(IcalComponentKind::VEvent))
        };
        let events = calendar.components.iter().filter(is_event);
        let events: Vec<Event> = events.map(Event::read).collect::<Result<_, _>>()?;
        self.events += events.len();
        self.rules += events.iter().filter(|event| event.recurs()).count();
        let too_many = |count: usize, what: &str, reason| {
            Err(ExcludedTimesError::new(&format!("{count} {what}"), reason))
        };
        if self.events > ExcludedTimes::MAX_EVENTS {
            return too_many(self.events, "events", Reason::TooManyEvents);
        }
        if self.rules > ExcludedTimes::MAX_RULES {
            return too_many(self.rules, "events with a RRULE", Reason::TooManyRules);
        }
        for event in events.iter().filter(|event| !event.is_cancelled) {
            self.add_occurrences(event, &events)?;
        }
        Ok(())
    }

    fn add_occurrences(
        &mut self,
        event: &Event,
        events: &[Event],
    ) -> Result<(), ExcludedTimesError> {
        let invalid = |reason| ExcludedTimesError::new(&event.reason, reason);
        let set = event.recurrences(events).map_err(invalid)?;
        for occurrence in set.expand() {
            if occurrence.start.seconds() >= Wall::END.0 {
                break;
            }
            let span = event.span(occurrence.start).map_err(invalid)?;
            if span.end.0 <= 0 {
                continue;
            }
            if self.occurrences.len() >= ExcludedTimes::MAX_OCCURRENCES {
                let all = format!("occurrences up to those of {}", event.reason);
                return Err(ExcludedTimesError::new(&all, Reason::TooManyOccurrences));
            }
            self.occurrences.push((event.zone().cloned(), span));
        }
        Ok(())
    }

    /// Returns the spans on the wall clock of the schedule, with those of other entries, and the
    /// spans of each other zone.
    pub(super) fn finish(
        self,
        mut local: Vec<Span>,
    ) -> Result<(Spans, Vec<(Zone, Spans)>), ExcludedTimesError> {
        let mut zoned: Vec<(Zone, Vec<Span>)> = Vec::new();
        for (zone, span) in self.occurrences {
            match zone {
                None => local.push(span),
                Some(zone) => match zoned.iter_mut().find(|(other, _)| *other == zone) {
                    Some((_, spans)) => spans.push(span),
                    None => zoned.push((zone, vec![span])),
                },
            }
        }
        if zoned.len() > MAX_ZONES {
            let zones = format!("{} zones of events", zoned.len());
            return Err(ExcludedTimesError::new(&zones, Reason::TooManyZones));
        }
        let zoned = zoned.into_iter().map(|(zone, spans)| (zone, Spans::new(spans)));
        Ok((Spans::new(local), zoned.collect()))
    }
}

/// Joins the lines that are folded, by section 3.1 of RFC 5545.
fn unfolded(text: &str) -> String {
    text.replace("\r\n", "\n").replace("\n ", "").replace("\n\t", "")
}

/// Checks what the parser takes for granted: it calls itself for each nested component.
fn check_lines(lines: &str) -> Result<(), String> {
    if lines.contains('\r') {
        return Err("a line has a carriage return within it".to_owned());
    }
    let mut depth = 0_usize;
    for line in lines.lines() {
        let name = line.split([':', ';']).next().unwrap_or_default().trim();
        if name.eq_ignore_ascii_case("BEGIN") {
            depth += 1;
        } else if name.eq_ignore_ascii_case("END") {
            depth = depth.saturating_sub(1);
        }
        if depth > MAX_DEPTH {
            return Err(format!("components are nested deeper than {MAX_DEPTH}"));
        }
    }
    Ok(())
}
