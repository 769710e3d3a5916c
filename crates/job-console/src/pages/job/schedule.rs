//! Tab "Schedule": the expression in words, and the next fires.

use coordination::shortened;
use jiff::SignedDuration;
use maud::{Markup, html};
use operations::{JobSnapshot, schedule_of};

use crate::pages::cx::Cx;
use crate::pages::widgets::{Column, empty, live_table, translated};

/// Number of next fires.
const FIRES: usize = 50;

pub(super) fn tab(cx: &Cx<'_>, job: &JobSnapshot) -> Markup {
    let lang = cx.lang();
    let Some(config) = job.config() else {
        let fault = job.config_fault().unwrap_or_default();
        return cx.live("schedule", &html! { p.why.bad { (fault) } });
    };
    let Some(cron) = &config.cron else {
        return cx.live("schedule", &empty(&lang.on_request(), &lang.on_request_hint(), None));
    };
    let schedule = schedule_of(config).ok().flatten();
    let jitter = config.jitter_ms.map(|ms| SignedDuration::from_millis(ms.into()));
    let exclusion = schedule.as_ref().and_then(|schedule| schedule.exclusion_at(cx.now));
    let facts = html! {
        @if let Some(exclusion) = exclusion {
            p.warn {
                (lang.excluded()) (lang.colon()) (exclusion.reason)
                @if let Some(until) = exclusion.until {
                    " " (lang.until()) " " (cx.time(until, config.time_zone.as_deref()))
                }
            }
        }
        dl.facts {
            dt { (lang.cron()) } dd { code { (cron) } }
            @if let Some(schedule) = &schedule {
                @let words = schedule.description();
                dt { (lang.in_words()) }
                dd { (translated(cx, None, lang.description_of_schedule(&words), &words)) }
            }
            dt { (lang.zone()) } dd { (config.time_zone.as_deref().unwrap_or("UTC")) }
            @if let Some(days) = &config.excluded_days { dt { (lang.excluded_days()) } dd { code { (days) } } }
            @if let Some(times) = &config.excluded_times {
                dt { (lang.excluded_times()) } dd { pre { (shortened(times)) } }
            }
            @if let Some(first) = &config.not_before { dt { (lang.not_before()) } dd { code { (first) } } }
            @if let Some(last) = &config.not_after { dt { (lang.not_after()) } dd { code { (last) } } }
            @if let Some(hour) = &config.repeated_hour { dt { (lang.repeated_hour()) } dd { code { (hour) } } }
            @if let Some(jitter) = jitter { dt { (lang.jitter()) } dd { (cx.length(jitter)) } }
            dt { (lang.misfire()) } dd { (lang.misfire_policy(config)) }
        }
        @for caveat in schedule.iter().flat_map(|schedule| schedule.caveats()) {
            p.warn lang="en" { (caveat) }
        }
    };
    html! {
        div.cols {
            section.card aria-labelledby="upcoming-title" {
                h2 #upcoming-title { (lang.next_fires()) }
                (fires(cx, job, config))
            }
            aside.stack aria-label=(lang.schedule()) {
                section.card aria-labelledby="schedule-title" {
                    h2 #schedule-title { (lang.schedule()) }
                    (cx.live("schedule", &facts))
                }
            }
        }
    }
}

fn fires(cx: &Cx<'_>, job: &JobSnapshot, config: &coordination::JobConfig) -> Markup {
    let lang = cx.lang();
    let fires = job.next_fires(cx.now, FIRES).unwrap_or_default();
    let zone = config.time_zone.as_deref();
    let rows = fires.iter().map(|fire| {
        let id = format!("n-{}", fire.as_second());
        let row = html! {
            tr id=(id) data-until=(fire) {
                td.nowrap { (cx.time(*fire, zone)) }
                td.nowrap { time datetime=(fire) data-zone="UTC" { (fire) } }
                td.nowrap { (cx.relative(*fire)) }
            }
        };
        (id, row)
    });
    let columns = [
        Column::Text(lang.scheduled()),
        Column::Text("UTC".to_owned()),
        Column::Text(lang.distance()),
    ];
    live_table(cx, "upcoming", columns, rows.collect())
}
