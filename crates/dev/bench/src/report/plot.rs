//! Plot of the ratios: one bar for each ratio of a row.

use plotters::prelude::*;

use super::{Cell, Table};
use crate::Outcome;

const WIDTH: u32 = 900;
const LINE: u32 = 26;
const MARGIN: u32 = 70;

/// Draws the columns whose names begin with `ratio`: median, minimum and maximum. Returns SVG.
///
/// Tables without such a column are omitted.
pub(crate) fn plot(tables: &[Table]) -> Outcome<String> {
    let bars: Vec<Bar> = tables.iter().flat_map(bars_of).collect();
    let height = MARGIN + LINE * u32::try_from(bars.len())?;
    let longest = bars.iter().map(|bar| bar.max).fold(1.0, f64::max);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        let left = i32::try_from(WIDTH / 2)?;
        let scale = f64::from(WIDTH / 2 - 90) / longest;
        let style = ("sans-serif", 13).into_font();
        let title = "multiples of the raw registry time: median, from minimum to maximum";
        root.draw(&Text::new(title, (10, 12), ("sans-serif", 15).into_font()))?;
        for (index, bar) in bars.iter().enumerate() {
            let top = 40 + i32::try_from(LINE)? * i32::try_from(index)?;
            let to = |value: f64| left + (value * scale) as i32;
            root.draw(&Text::new(bar.label.clone(), (10, top), style.clone()))?;
            root.draw(&Rectangle::new(
                [(left, top), (to(bar.median), top + 14)],
                BLUE.mix(0.6).filled(),
            ))?;
            root.draw(&PathElement::new([(to(bar.min), top + 7), (to(bar.max), top + 7)], BLACK))?;
            let value = format!("{:.2}", bar.median);
            root.draw(&Text::new(value, (to(bar.max) + 6, top), style.clone()))?;
        }
        root.present()?;
    }
    Ok(svg)
}

struct Bar {
    label: String,
    min: f64,
    median: f64,
    max: f64,
}

fn bars_of(table: &Table) -> impl Iterator<Item = Bar> + '_ {
    let ratios = table.columns.iter().enumerate().filter(|(_, name)| name.starts_with("ratio"));
    ratios.flat_map(move |(column, name)| {
        table.rows.iter().filter_map(move |row| {
            let Cell::Spread(spread) = row.get(column)? else { return None };
            let setting = row.iter().zip(&table.columns).take(table.settings);
            let setting: Vec<_> = setting.map(|(cell, name)| format!("{name} {cell}")).collect();
            let ratio = name.trim_start_matches("ratio").trim();
            Some(Bar {
                label: format!("{} {ratio}, {}", table.name, setting.join(", ")),
                min: spread.min,
                median: spread.median,
                max: spread.max,
            })
        })
    })
}
