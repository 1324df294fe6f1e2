//! Line charts as SVG: small, without a library, and readable in any browser.
//!
//! Charts stand below each other on one page. The y axis of each begins at 0, so that heights compare; the x axis has a
//! label for each value at even distances.
//!
//! Values of a model have ranges: they are hatched, and their line is broken.
//!
//! **Invariants.** All text is escaped. A series has a value, or none, for each label.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
/// Around the area of a chart: left, top, right, bottom.
const LEFT: f64 = 90.0;
const TOP: f64 = 40.0;
const RIGHT: f64 = 150.0;
const BOTTOM: f64 = 40.0;

/// Lines across the area of a chart.
const GRID_LINES: u32 = 4;

const COLOURS: [&str; 6] = ["#1b6ca8", "#d1495b", "#3a7d44", "#8d5a97", "#e09f3e", "#5c6b73"];

/// Values by label.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// `None`: not measured.
    pub(crate) values: Vec<Option<f64>>,
    /// Of a model: the lowest and the highest value for each label. Empty: all is measured.
    pub(crate) ranges: Vec<Option<(f64, f64)>>,
}

/// One chart.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) unit: String,
    pub(crate) labels: Vec<String>,
    pub(crate) series: Vec<Series>,
}

/// The charts below each other.
#[must_use]
pub(crate) fn page(charts: &[Chart]) -> String {
    let height = HEIGHT * f64::from(u32::try_from(charts.len()).unwrap_or(u32::MAX));
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (number, chart) in (0..).zip(charts) {
        chart.draw(&mut text, HEIGHT * f64::from(number));
    }
    text.push_str("</svg>\n");
    text
}

impl Chart {
    /// Writing into a String can't fail, here and below.
    fn draw(&self, text: &mut String, top: f64) {
        let most =
            self.series.iter().flat_map(|series| &series.values).flatten().copied().fold(0.0, f64::max);
        let highest = self.series.iter().flat_map(|series| &series.ranges).flatten().map(|range| range.1);
        let most = round_up(highest.fold(most, f64::max));
        let (left, right) = (LEFT, WIDTH - RIGHT);
        let (high, low) = (top + TOP, top + HEIGHT - BOTTOM);
        let y_of = |value: f64| low - (low - high) * value / most;
        let _ = writeln!(
            text,
            "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{}, {}</text>",
            top + 24.0,
            escaped(&self.title),
            escaped(&self.unit)
        );
        for line in 0..=GRID_LINES {
            let value = most * f64::from(line) / f64::from(GRID_LINES);
            let y = y_of(value);
            let _ = writeln!(text, "<path d=\"M{left} {y}H{right}\" stroke=\"#ddd\"/>");
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{value}</text>",
                left - 8.0,
                y + 4.0
            );
        }
        let x_of = |index: usize| self.x_of(index, left, right);
        for (index, label) in self.labels.iter().enumerate() {
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                x_of(index),
                low + 18.0,
                escaped(label)
            );
        }
        for (number, series) in self.series.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let points: Vec<(f64, f64)> = (0..)
                .zip(&series.values)
                .filter_map(|(index, value)| Some((x_of(index), y_of((*value)?))))
                .collect();
            let dashes = if series.ranges.is_empty() { "" } else { " stroke-dasharray=\"6 4\"" };
            hatch(text, &series.ranges, (number, colour), (&x_of, &y_of));
            let _ = writeln!(
                text,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
                joined(&points)
            );
            for (x, y) in points {
                let _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
            }
            let y = high + 16.0 * f64::from(u32::try_from(number).unwrap_or(0));
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{y}\" fill=\"{colour}\">{}</text>",
                right + 12.0,
                escaped(&series.name)
            );
        }
    }

    /// Labels stand in the middle of columns of one width.
    fn x_of(&self, index: usize, left: f64, right: f64) -> f64 {
        let count = f64::from(u32::try_from(self.labels.len().max(1)).unwrap_or(u32::MAX));
        let column = (right - left) / count;
        left + column * (f64::from(u32::try_from(index).unwrap_or(0)) + 0.5)
    }
}

/// The area between the lowest and the highest values, hatched in the colour of the series.
fn hatch(
    text: &mut String,
    ranges: &[Option<(f64, f64)>],
    (number, colour): (usize, &str),
    (x_of, y_of): (&dyn Fn(usize) -> f64, &dyn Fn(f64) -> f64),
) {
    let known = || ranges.iter().enumerate().filter_map(|(index, range)| Some((x_of(index), (*range)?)));
    let mut edge: Vec<(f64, f64)> = known().map(|(x, (low, _))| (x, y_of(low))).collect();
    edge.extend(known().map(|(x, (_, high))| (x, y_of(high))).collect::<Vec<_>>().into_iter().rev());
    if edge.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "<pattern id=\"hatch{number}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><path d=\"M0 0V6\" stroke=\"{colour}\"/></pattern>\n\
         <polygon points=\"{}\" fill=\"url(#hatch{number})\" opacity=\"0.5\"/>",
        joined(&edge)
    );
}

fn joined(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

/// The next of 1, 2, 4, 6, 8 and 10 times a power of ten, so that the grid has round numbers.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 4.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(10.0 * power)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
