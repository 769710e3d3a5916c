//! Bars on a logarithmic scale as SVG.
//!
//! The texts are written here, because rectangles and labels need no library of plots.

use std::fmt::Write as _;

use super::{MAX_SERIES, Plot};

/// Colors of the series: orange, blue and gray, which color-blind readers distinguish.
const COLORS: [&str; MAX_SERIES] = ["#d55e00", "#0072b2", "#8c8c8c"];

/// Width of a picture, in pixels, as all lengths here.
const WIDTH: f64 = 760.0;
/// Left end of the bars, behind the names of the groups.
const LEFT: f64 = 110.0;
/// Right end of the scale, before the value of the longest bar.
const RIGHT: f64 = WIDTH - 70.0;
/// Upper end of the bars, below the title and the names of the series.
const TOP: f64 = 78.0;
const BAR: f64 = 16.0;
/// Distance between two groups.
const GAP: f64 = 14.0;
/// Space for the numbers of the scale.
const BOTTOM: f64 = 30.0;

/// Scale of whole decades.
struct Scale {
    first: i32,
    last: i32,
}

impl Scale {
    fn of(plot: &Plot) -> Self {
        let values = || plot.series.iter().flat_map(|series| series.values.iter().copied());
        let least = values().fold(f64::INFINITY, f64::min);
        let greatest = values().fold(0.0, f64::max);
        let first = decade(least.log10().floor());
        Self { first, last: decade(greatest.log10().ceil()).max(first + 1) }
    }

    fn x(&self, value: f64) -> f64 {
        let decades = f64::from(self.last - self.first);
        LEFT + (RIGHT - LEFT) * (value.log10() - f64::from(self.first)) / decades
    }
}

#[expect(clippy::cast_possible_truncation, reason = "decades of a finite number above 0 are few")]
fn decade(exponent: f64) -> i32 {
    exponent as i32
}

/// Draws a plot that [`check`](super::check) accepts.
pub(super) fn draw(plot: &Plot) -> String {
    let scale = Scale::of(plot);
    let bars_end = TOP + group_height(plot) * count(plot.groups.len()) - GAP;
    let height = bars_end + BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"12\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n\
         <text x=\"12\" y=\"44\" fill=\"#555555\">{unit}</text>\n",
        title = escaped(&plot.title),
        unit = escaped(&plot.unit),
    );
    svg.push_str(&legend(plot));
    svg.push_str(&lines(&scale, bars_end));
    svg.push_str(&bars(plot, &scale));
    svg + "</svg>\n"
}

/// Returns the colors of the series with their names.
fn legend(plot: &Plot) -> String {
    let mut svg = String::new();
    let columns = plot.series.iter().zip(COLORS).zip(0..);
    for ((series, color), n) in columns {
        let x = LEFT + 170.0 * f64::from(n);
        line(
            &mut svg,
            format_args!(
                "<rect x=\"{x}\" y=\"56\" width=\"12\" height=\"12\" fill=\"{color}\"/>\
             <text x=\"{}\" y=\"67\">{}</text>",
                x + 18.0,
                escaped(&series.name),
            ),
        );
    }
    svg
}

/// Returns a vertical line and a number for each power of ten.
fn lines(scale: &Scale, bottom: f64) -> String {
    let mut svg = String::new();
    for exponent in scale.first..=scale.last {
        let value = 10f64.powi(exponent);
        let x = scale.x(value);
        line(
            &mut svg,
            format_args!(
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#dddddd\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#555555\">{}</text>",
                bottom + 18.0,
                number(value),
            ),
        );
    }
    svg
}

fn bars(plot: &Plot, scale: &Scale) -> String {
    let mut svg = String::new();
    for (n, group) in plot.groups.iter().enumerate() {
        let top = TOP + group_height(plot) * count(n);
        let middle = top + BAR * count(plot.series.len()) / 2.0 + 4.0;
        line(
            &mut svg,
            format_args!(
                "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text>",
                LEFT - 10.0,
                escaped(group),
            ),
        );
        for (k, (series, color)) in plot.series.iter().zip(COLORS).enumerate() {
            let (y, value) = (top + BAR * count(k), series.values[n]);
            let end = scale.x(value);
            line(
                &mut svg,
                format_args!(
                    "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{color}\"/>\
                 <text x=\"{:.1}\" y=\"{}\" font-size=\"12\">{}</text>",
                    end - LEFT,
                    BAR - 2.0,
                    end + 5.0,
                    y + 11.0,
                    number(value),
                ),
            );
        }
    }
    svg
}

fn line(svg: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(svg, "{text}").expect("a text takes any text");
}

fn group_height(plot: &Plot) -> f64 {
    BAR * count(plot.series.len()) + GAP
}

#[expect(clippy::cast_precision_loss, reason = "a plot has few groups and series")]
fn count(n: usize) -> f64 {
    n as f64
}

/// Returns a number with at most three digits after rounding, or as a whole number.
fn number(value: f64) -> String {
    let decimals = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::Series;
    use super::*;

    fn plot(values: [f64; 2]) -> Plot {
        Plot {
            name: "p".to_owned(),
            title: "a < b & c".to_owned(),
            unit: "ms".to_owned(),
            groups: vec!["one".to_owned(), "two".to_owned()],
            series: vec![Series { name: "s".to_owned(), values: values.to_vec() }],
        }
    }

    #[test]
    fn scale_has_whole_decades() {
        let rows = [
            ([5.0, 3953.0], (0, 4)),
            ([0.31, 0.45], (-1, 0)),
            ([10.0, 10.0], (1, 2)),
            ([1.0, 1000.0], (0, 3)),
        ];
        for (values, expected) in rows {
            let scale = Scale::of(&plot(values));
            assert_eq!((scale.first, scale.last), expected, "{values:?}");
        }
    }

    #[test]
    fn ten_times_the_value_is_one_decade_longer() {
        let scale = Scale { first: 0, last: 4 };
        let lengths = [1.0, 10.0, 10_000.0].map(|value| scale.x(value) - LEFT);
        let decade = (RIGHT - LEFT) / 4.0;
        for (length, expected) in lengths.into_iter().zip([0.0, decade, 4.0 * decade]) {
            assert!((length - expected).abs() < 1e-9, "{lengths:?}");
        }
    }

    #[test]
    fn picture_has_each_name_and_value_as_escaped_text() {
        let svg = draw(&plot([5.25, 1512.0]));
        for part in ["a &lt; b &amp; c", ">one<", ">two<", ">s<", ">5.25<", ">1512<", ">ms<"] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
    }

    #[test]
    fn numbers_have_three_digits_or_are_whole() {
        let rows = [
            (0.1, "0.1"),
            (5.0, "5"),
            (3.554, "3.55"),
            (33.58, "33.6"),
            (100.0, "100"),
            (15018.6, "15019"),
        ];
        for (value, expected) in rows {
            assert_eq!(number(value), expected);
        }
    }
}
