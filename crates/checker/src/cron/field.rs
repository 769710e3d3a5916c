//! Parses the fields of a cron expression into sets of numbers.

/// Valid values of one field.
#[derive(Debug)]
pub(super) struct Field {
    name: &'static str,
    min: i64,
    max: i64,
    /// Names of the values from `min` on.
    names: &'static [&'static str],
    /// Largest step after `*`, `/` or a single value.
    max_step: i64,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

pub(super) const SECOND: Field =
    Field { name: "second", min: 0, max: 59, names: &[], max_step: 59 };
pub(super) const MINUTE: Field =
    Field { name: "minute", min: 0, max: 59, names: &[], max_step: 59 };
pub(super) const HOUR: Field = Field { name: "hour", min: 0, max: 23, names: &[], max_step: 23 };
pub(super) const DAY: Field =
    Field { name: "day of month", min: 1, max: 31, names: &[], max_step: 31 };
pub(super) const MONTH: Field =
    Field { name: "month", min: 1, max: 12, names: &MONTHS, max_step: 12 };
pub(super) const WEEKDAY: Field =
    Field { name: "day of week", min: 1, max: 7, names: &WEEKDAYS, max_step: 7 };
/// Last year with fires. Quartz looks a hundred years ahead of its start, and no test runs longer.
pub(super) const LAST_YEAR: i16 = 2126;

/// A set of numbers below 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set(u64);

impl Set {
    pub(super) fn has(self, value: i64) -> bool {
        (0..64).contains(&value) && self.0 & (1 << value) != 0
    }

    fn add(&mut self, value: i64) {
        if (0..64).contains(&value) {
            self.0 |= 1 << value;
        }
    }
}

/// Parses a field that is a comma-separated list.
pub(super) fn parse(text: &str, field: &Field) -> Result<Set, String> {
    let mut set = Set::default();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        for value in values(item, field).ok_or_else(|| field_error(text, field))? {
            set.add(value);
        }
    }
    if set == Set::default() {
        return Err(field_error(text, field));
    }
    Ok(set)
}

/// Returns the values of `*`, `*/n`, `/n`, `v`, `v/n`, `a-b` or `a-b/n`. Ranges wrap around the end
/// of the field.
fn values(item: &str, field: &Field) -> Option<Vec<i64>> {
    let (span, step) = match item.split_once('/') {
        Some((span, step)) => (span, Some(number(step)?)),
        None => (item, None),
    };
    let limited = |step: i64| (step <= field.max_step).then_some(step.max(1));
    let (first, last, step) = match span.split_once('-') {
        None if span == "*" || (span.is_empty() && step.is_some()) => {
            (field.min, field.max, limited(step.unwrap_or(1))?)
        }
        None => {
            let value = value(span, field)?;
            match step {
                // A name takes no step, and step 0 counts as no step.
                None | Some(0) => (value, value, 1),
                Some(_) if number(span).is_none() => return None,
                Some(step) => (value, field.max, limited(step)?),
            }
        }
        Some((first, last)) => {
            let mixed = number(first).is_some() != number(last).is_some();
            let stepped_names = number(first).is_none() && step.is_some();
            if mixed || stepped_names {
                return None;
            }
            let (first, last) = (value(first, field)?, value(last, field)?);
            // Step 0 leaves only the first value, like any step longer than the range.
            (first, last, step.map_or(1, |step| if step == 0 { 1_000 } else { step }))
        }
    };
    let length = field.max - field.min + 1;
    let last = if last < first { last + length } else { last };
    let step = usize::try_from(step).ok()?;
    let wrapped = |value: i64| if value > field.max { value - length } else { value };
    Some((first..=last).step_by(step).map(wrapped).collect())
}

/// Parses one value, as a number or a name.
pub(super) fn value(text: &str, field: &Field) -> Option<i64> {
    let named = field.names.iter().position(|name| *name == text);
    let named = named.and_then(|place| Some(field.min + i64::try_from(place).ok()?));
    named.or_else(|| number(text)).filter(|value| (field.min..=field.max).contains(value))
}

/// Parses a number without a sign; leading zeros are valid.
pub(super) fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// Parses the year field; `None` means all years.
pub(super) fn years(text: &str) -> Result<Option<Vec<i16>>, String> {
    let field =
        Field { name: "year", min: 1970, max: LAST_YEAR.into(), names: &[], max_step: i64::MAX };
    if text == "*" {
        return Ok(None);
    }
    let mut years = Vec::new();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        // Years after the last valid one are allowed, and years do not wrap around.
        let (span, step) = item.split_once('/').unwrap_or((item, "1"));
        let Some(step) = number(step) else { return Err(field_error(text, &field)) };
        // Step 0 counts as no step.
        let item = if step == 0 { span } else { item };
        let step = step.max(1);
        let (first, last) = match span.split_once('-') {
            Some((first, last)) => (number(first), number(last)),
            None if span.is_empty() || span == "*" => (Some(field.min), Some(field.max)),
            None if item.contains('/') => (number(span), Some(field.max)),
            None => (number(span), number(span)),
        };
        let (Some(first), Some(last)) = (first, last) else {
            return Err(field_error(text, &field));
        };
        // Years outside the valid range are accepted as long as they fit 32 bits.
        if i32::try_from(first).is_err() || i32::try_from(last).is_err() {
            return Err(field_error(text, &field));
        }
        if first > last && span.contains('-') {
            return Err(field_error(text, &field));
        }
        let last = last.min(field.max);
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        years.extend((first..=last).step_by(step).filter_map(|year| i16::try_from(year).ok()));
    }
    Ok(Some(years))
}

pub(super) fn field_error(text: &str, field: &Field) -> String {
    let Field { name, min, max, .. } = field;
    format!("{name} is {text:?}; valid are lists, ranges and steps of {min} to {max}")
}
