//! One event of an iCalendar text.

use std::sync::Arc;

use ical::component::IcalComponent;
use ical::param::IcalParam;
use ical::prop::{IcalProp, IcalPropKind, IcalPropName};
use ical::recur::set::IcalRecurSet;
use ical::recur::{IcalRecurDateTime, IcalRecurFreq, IcalRecurRule};
use ical::value::IcalValue;
use jiff::Timestamp;

use crate::calendar::Wall;
use crate::zone::Zone;

use super::error::{ExcludedTimesError, ExcludedTimesErrorReason as Reason, reason_of};
use super::spans::Span;

/// Valid years of a date. Calendars of holidays begin their rules long before 1970.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=2126;

/// Maximum length of a recurrence rule, in bytes: its lists are searched for each day.
const MAX_RULE_BYTES: usize = 200;

/// Maximum interval of a recurrence rule.
const MAX_INTERVAL: u32 = 1_000;

/// A date or a time of an event, on the wall clock of its zone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Moment {
    /// None is the zone of the schedule.
    zone: Option<Zone>,
    reading: IcalRecurDateTime,
    is_date: bool,
}

/// An event, before its recurrences are known.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) reason: Arc<str>,
    pub(super) is_cancelled: bool,
    uid: String,
    start: Moment,
    /// In seconds of the wall clock, from 1.
    length: i64,
    rule: Option<Rule>,
    dates: Vec<Moment>,
    exdates: Vec<Moment>,
    /// Instance of another event with the same UID that this event replaces.
    replaces: Option<Moment>,
}

#[derive(Debug)]
struct Rule {
    parts: IcalRecurRule,
    /// True if the rule ends at a time in UTC.
    ends_in_utc: bool,
}

impl Event {
    pub(super) fn read(component: &IcalComponent<'_>) -> Result<Event, ExcludedTimesError> {
        let summary = text_of(component, IcalPropKind::Summary).unwrap_or_default();
        let summary = if summary.trim().is_empty() { "event without a SUMMARY" } else { summary };
        let reason = reason_of(summary.trim());
        let event = Event::of(component, Arc::clone(&reason));
        event.map_err(|what| ExcludedTimesError::new(&reason, Reason::Property(what)))
    }

    fn of(component: &IcalComponent<'_>, reason: Arc<str>) -> Result<Event, String> {
        let one = |kind| property(component, kind).map(Moment::read).transpose();
        let start = one(IcalPropKind::DtStart)?;
        let start = start.ok_or("no DTSTART; valid is a date or a time".to_owned())?;
        if property(component, IcalPropKind::ExRule).is_some() {
            return Err("an EXRULE; valid are EXDATE and the parts of RRULE".to_owned());
        }
        let mut rules = properties(component, IcalPropKind::RRule);
        let rule = rules.next().map(Rule::read).transpose()?;
        if rules.next().is_some() {
            return Err("more than one RRULE; valid is one".to_owned());
        }
        let replaced = property(component, IcalPropKind::RecurrenceId);
        let is_later = |param: &IcalParam<'_>| matches!(param, IcalParam::Range(_));
        if replaced.is_some_and(|id| id.params.iter().any(is_later)) {
            return Err("a RECURRENCE-ID with a RANGE; valid is one without".to_owned());
        }
        let status = text_of(component, IcalPropKind::Status).unwrap_or_default();
        Ok(Event {
            reason,
            is_cancelled: status.trim().eq_ignore_ascii_case("CANCELLED"),
            uid: text_of(component, IcalPropKind::Uid).unwrap_or_default().to_owned(),
            length: length(component, &start)?,
            rule,
            dates: moments(component, IcalPropKind::RDate)?,
            exdates: moments(component, IcalPropKind::ExDate)?,
            replaces: replaced.map(Moment::read).transpose()?,
            start,
        })
    }

    pub(super) fn recurs(&self) -> bool {
        self.rule.is_some()
    }

    pub(super) fn zone(&self) -> Option<&Zone> {
        self.start.zone.as_ref()
    }

    /// Returns the span of the occurrence that begins at a time.
    pub(super) fn span(&self, start: IcalRecurDateTime) -> Result<Span, Reason> {
        let start = start.seconds();
        Span::new(Wall(start), Wall(start + self.length), Arc::clone(&self.reason))
    }

    /// Returns the recurrences, on the wall clock of the start, without the instances that other
    /// events replace.
    pub(super) fn recurrences(&self, events: &[Event]) -> Result<IcalRecurSet, Reason> {
        let on_clock = |moments: &[Moment]| -> Result<Vec<IcalRecurDateTime>, Reason> {
            let all = moments.iter().map(|moment| moment.on_clock_of(&self.start));
            let mut all: Vec<_> = all.collect::<Result<_, _>>()?;
            all.sort_unstable();
            Ok(all)
        };
        let is_series = self.replaces.is_none() && !self.uid.is_empty();
        let others = events.iter().filter(|other| is_series && other.uid == self.uid);
        let replaced = others.filter_map(|other| other.replaces.clone());
        let removed: Vec<Moment> = self.exdates.iter().cloned().chain(replaced).collect();
        Ok(IcalRecurSet {
            start: Some(self.start.reading),
            rules: self.rule.iter().map(|rule| rule.on_clock_of(&self.start)).collect(),
            dates: on_clock(&self.dates)?,
            exdates: on_clock(&removed)?,
            ..IcalRecurSet::default()
        })
    }
}

impl Moment {
    fn read(prop: &IcalProp<'_>) -> Result<Moment, String> {
        let name = &*prop.name;
        let text = if let IcalValue::Date(date) = &prop.value {
            &*date.0
        } else if let IcalValue::DateTime(time) = &prop.value {
            &*time.0
        } else {
            return Err(format!("an invalid {name}; valid is one date or one time"));
        };
        Moment::parse(prop, text)
    }

    fn parse(prop: &IcalProp<'_>, text: &str) -> Result<Moment, String> {
        let name = &*prop.name;
        let is_utc = text.ends_with('Z');
        let digits = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'T' | b'Z'));
        let reading = IcalRecurDateTime::parse(text).ok().filter(|_| digits);
        let reading = reading.filter(|reading| YEARS.contains(&reading.year));
        let reading = reading.ok_or_else(|| {
            format!(
                "{name} {text:?}; valid is a date or time from 1900 to 2126, such as 20261224 or \
                 20261224T180000Z"
            )
        })?;
        let id = prop.params.iter().filter(|_| !is_utc).find_map(|param| {
            let IcalParam::TzId(id) = param else { return None };
            Some(&**id)
        });
        let zone = id.map(Zone::parse).transpose();
        let zone = zone.map_err(|error| {
            format!("{name} with the TZID {:?}; valid is {}", error.name, error.valid())
        })?;
        let zone = if is_utc { Some(Zone::utc()) } else { zone };
        Ok(Moment { zone, reading, is_date: text.len() == 8 })
    }

    /// Returns the reading on the wall clock of another moment.
    fn on_clock_of(&self, other: &Moment) -> Result<IcalRecurDateTime, Reason> {
        let (Some(zone), Some(to)) = (&self.zone, &other.zone) else { return Ok(self.reading) };
        if zone == to {
            return Ok(self.reading);
        }
        let instant = zone.instant_of(Wall(self.reading.seconds())).ok_or_else(|| {
            Reason::Property(format!("a time that clocks skip in {zone}; valid is one in UTC"))
        })?;
        Ok(IcalRecurDateTime::from_seconds(to.reading(instant).0))
    }
}

impl Rule {
    fn read(prop: &IcalProp<'_>) -> Result<Rule, String> {
        let IcalValue::Recur(text) = &prop.value else {
            return Err("an invalid RRULE; valid is text such as FREQ=YEARLY".to_owned());
        };
        let text = &*text.0;
        let invalid = |what: &str| format!("RRULE {text:?}, {what}");
        if text.len() > MAX_RULE_BYTES || !text.is_ascii() {
            return Err(format!(
                "a RRULE of {} bytes; valid are {MAX_RULE_BYTES} bytes of ASCII",
                text.len()
            ));
        }
        let parts = IcalRecurRule::parse(text)
            .map_err(|error| invalid(&format!("which is invalid: {error}")))?;
        if let Some(problem) = parts.problems().first() {
            return Err(invalid(&format!("which is invalid: {problem}")));
        }
        let is_daily = matches!(
            parts.freq,
            IcalRecurFreq::Daily
                | IcalRecurFreq::Weekly
                | IcalRecurFreq::Monthly
                | IcalRecurFreq::Yearly
        );
        let times = [&parts.by_hour, &parts.by_minute, &parts.by_second];
        if !is_daily || times.iter().any(|part| !part.is_empty()) {
            return Err(invalid(
                "which recurs within a day; valid are DAILY, WEEKLY, MONTHLY and YEARLY without \
                 BYHOUR, BYMINUTE and BYSECOND",
            ));
        }
        if parts.scale.as_deref().is_some_and(|scale| scale != "GREGORIAN") {
            return Err(invalid("with another calendar; valid is GREGORIAN"));
        }
        // The parser takes it, and no day has it.
        if parts.by_day.iter().any(|day| day.ordinal == Some(0)) {
            return Err(invalid(
                "with a BYDAY of ordinal 0; valid is 1MO to 53MO or -1MO to -53MO",
            ));
        }
        if parts.interval > MAX_INTERVAL {
            return Err(invalid("with too great an INTERVAL; valid is 1 to 1000"));
        }
        let until = text.split(';').filter_map(|part| part.split_once('='));
        let mut until = until.filter(|(name, _)| name.trim().eq_ignore_ascii_case("UNTIL"));
        let ends_in_utc = until.any(|(_, time)| time.trim().ends_with(['Z', 'z']));
        Ok(Rule { parts, ends_in_utc })
    }

    /// Returns the rule with its end on the wall clock of the start, not after 2126.
    fn on_clock_of(&self, start: &Moment) -> IcalRecurRule {
        let last = IcalRecurDateTime::from_seconds(Wall::END.0);
        let until = self.parts.until.map_or(last, |until| {
            let zone = start.zone.as_ref().filter(|_| self.ends_in_utc);
            let instant = Timestamp::from_second(until.seconds()).ok();
            match zone.zip(instant) {
                Some((zone, at)) => IcalRecurDateTime::from_seconds(zone.reading(at).0),
                None => until,
            }
        });
        IcalRecurRule { until: Some(until.min(last)), ..self.parts.clone() }
    }
}

/// Returns the length of an event in seconds of the wall clock: a day for a date without an end.
fn length(component: &IcalComponent<'_>, start: &Moment) -> Result<i64, String> {
    const VALID: &str = "valid is a DTEND after DTSTART, or a DURATION such as PT2H";
    let end = property(component, IcalPropKind::DtEnd).map(Moment::read).transpose()?;
    let duration = property(component, IcalPropKind::Duration).map(|prop| {
        let IcalValue::Duration(duration) = &prop.value else { return None };
        duration.seconds()
    });
    let length = match (end, duration) {
        (Some(end), _) => {
            let end = end.on_clock_of(start).map_err(|reason| reason.to_string())?;
            Some(end.seconds() - start.reading.seconds())
        }
        (None, Some(duration)) => duration,
        (None, None) if start.is_date => Some(86_400),
        (None, None) => None,
    };
    let length = length.filter(|seconds| (1..=MAX_LENGTH).contains(seconds));
    length.ok_or_else(|| format!("no length of 1 s to 366 days; {VALID}"))
}

/// Maximum length of an event, in seconds.
const MAX_LENGTH: i64 = 366 * 86_400;

/// Returns all moments of a property, which may have several and occur several times.
fn moments(component: &IcalComponent<'_>, kind: IcalPropKind) -> Result<Vec<Moment>, String> {
    let mut all = Vec::new();
    for prop in properties(component, kind) {
        if let IcalValue::DateTimeList(texts) = &prop.value {
            for text in &texts.0 {
                all.push(Moment::parse(prop, text)?);
            }
        } else {
            all.push(Moment::read(prop)?);
        }
    }
    Ok(all)
}

fn properties<'c, 'a>(
    component: &'c IcalComponent<'a>,
    kind: IcalPropKind,
) -> impl Iterator<Item = &'c IcalProp<'a>> {
    let is_of = move |prop: &&IcalProp<'a>| matches!(&prop.name, IcalPropName::Kind(other) if *other == kind);
    component.props.iter().filter(is_of)
}

fn property<'c, 'a>(
    component: &'c IcalComponent<'a>,
    kind: IcalPropKind,
) -> Option<&'c IcalProp<'a>> {
    properties(component, kind).next()
}

fn text_of<'c>(component: &'c IcalComponent<'_>, kind: IcalPropKind) -> Option<&'c str> {
    let IcalValue::Text(text) = &property(component, kind)?.value else { return None };
    Some(&text.0)
}
