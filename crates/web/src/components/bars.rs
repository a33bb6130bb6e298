//! How values lie: bars standing for ranges of a number, bars lying for labels.

use maud::{Markup, html};
use ratchet_core::stats::distribution::HistogramBin;

use super::chart::caption;
use super::figure;
use super::plot::{self, Plot, PlotHeight, plot};
use crate::request_context::Link;

/// Maximum number of separate bars; the rest is summed up in the last one.
const MAX_LABELS: usize = 24;

#[derive(Clone, Debug)]
pub struct Spread<'a> {
    pub title: &'a str,
    /// Sample size and time range.
    pub note: &'a str,
    /// How many values lie where.
    pub bins: &'a [HistogramBin],
    /// Where the values of each bin are listed.
    pub links: Vec<Option<Link>>,
    /// The class that colours it: who decided, or one of the hues.
    pub colour: &'a str,
    /// Formats a value with its unit.
    pub read: fn(f64) -> String,
    pub tall: PlotHeight,
}

/// Renders a histogram, with its numbers as a table.
pub fn histogram(chart: &Spread<'_>) -> Markup {
    let most = chart.bins.iter().map(|bin| bin.count).max().unwrap_or_default();
    let all: u64 = chart.bins.iter().map(|bin| bin.count).sum();
    let drawing = html! {
        g class=(chart.colour) {
            @for (index, bin) in chart.bins.iter().enumerate() {
                (standing(chart, index, bin, (most, all)))
            }
        }
    };
    let framed = Plot {
        title: chart.title,
        scale: vec![(0.0, "0".to_owned()), (1.0, figure::count(most))],
        below: edges(chart),
        ends: Vec::new(),
        drawing,
        tall: chart.tall,
    };
    html! {
        figure.chart {
            (caption(chart.title, chart.note))
            (plot(&framed))
            (numbers(chart, all))
        }
    }
}

fn standing(
    chart: &Spread<'_>,
    index: usize,
    bin: &HistogramBin,
    (most, all): (u64, u64),
) -> Markup {
    let step = plot::WIDTH / float(chart.bins.len() as u64).max(1.0);
    let y = plot::y_of(float(bin.count) / float(most).max(1.0));
    let x = step * float(index as u64);
    let name = range(chart, bin);
    html! {
        @if bin.count > 0 {
            rect x=(x + step * 0.06) width=(step * 0.88) y=(y) height=(plot::HEIGHT - y) {}
        }
        rect.reading x=(x) width=(step) y="0" height=(plot::HEIGHT) data-href=[link(chart, index)] {
            title { (name) ": " (figure::grouped(bin.count)) " (" (share(bin.count, all)) ")" }
        }
    }
}

fn link<'a>(chart: &'a Spread<'_>, index: usize) -> Option<&'a Link> {
    chart.links.get(index).and_then(Option::as_ref)
}

/// The edges that fit below the axis.
fn edges(chart: &Spread<'_>) -> Vec<(f64, String)> {
    let bins = chart.bins;
    let every = bins.len().div_ceil(8).max(1);
    let first = bins.iter().map(|bin| bin.lower);
    let all = first.chain(bins.last().map(|bin| bin.upper)).enumerate().step_by(every);
    let parts = float(bins.len() as u64).max(1.0);
    all.map(|(index, edge)| (float(index as u64) / parts, (chart.read)(edge))).collect()
}

fn numbers(chart: &Spread<'_>, all: u64) -> Markup {
    html! {
        details.numbers {
            summary { "Show as table" }
            div.table-wrap tabindex="0" role="region" aria-label={ (chart.title) ", values" } {
                table {
                    thead { tr {
                        th scope="col" { "Value" }
                        th.num scope="col" { "Count" }
                        th.num scope="col" { "Share" }
                    } }
                    tbody {
                        @for (index, bin) in chart.bins.iter().enumerate() {
                            tr {
                                th scope="row" { (key(&range(chart, bin), link(chart, index))) }
                                td.num { (figure::grouped(bin.count)) }
                                td.num { (share(bin.count, all)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn range(chart: &Spread<'_>, bin: &HistogramBin) -> String {
    let (lower, upper) = ((chart.read)(bin.lower), (chart.read)(bin.upper));
    if lower == upper { lower } else { format!("{lower} to {upper}") }
}

fn share(part: u64, all: u64) -> String {
    if all == 0 { "–".to_owned() } else { figure::percent(float(part) / float(all)) }
}

/// Small histogram without axes, for table rows.
pub fn mini(counts: &[u64], colour: &str, label: &str) -> Markup {
    let most = float(counts.iter().copied().max().unwrap_or_default()).max(1.0);
    let step = 96.0 / float(counts.len() as u64).max(1.0);
    html! {
        svg class={ "mini " (colour) } viewBox="0 0 96 24" role="img" aria-label=(label)
            preserveAspectRatio="none" {
            title { (label) }
            @for (index, count) in counts.iter().enumerate() {
                @let height = if *count == 0 { 0.0 } else { (22.0 * float(*count) / most).max(1.0) };
                rect x=(step * float(index as u64)) width=(step * 0.86) y=(23.0 - height)
                     height=(height) {}
            }
            line x1="0" x2="96" y1="23.5" y2="23.5" {}
        }
    }
}

/// How often each label comes: lying bars, which are their own table of numbers.
pub fn labels(title: &str, counts: &[(&str, u64)], colour: &str) -> Markup {
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    let most = float(counts.iter().map(|(_, count)| *count).max().unwrap_or_default()).max(1.0);
    let rest: u64 = counts.iter().skip(MAX_LABELS).map(|(_, count)| count).sum();
    let line = |label: Markup, count: u64| {
        html! {
            tr {
                th scope="row" { (label) }
                td.bar-cell {
                    svg class={ "lying " (colour) } viewBox="0 0 100 10" preserveAspectRatio="none"
                        aria-hidden="true" {
                        rect x="0" y="0" height="10" width=(100.0 * (float(count) / most).min(1.0)) {}
                    }
                }
                td.num { (figure::grouped(count)) }
                td.num { (share(count, all)) }
            }
        }
    };
    html! {
        figure.chart {
            figcaption { (title) }
            table.lying-bars {
                caption.sr { (title) }
                thead.sr { tr {
                    th scope="col" { "Label" } th.bar-cell scope="col" { "Bar" }
                    th scope="col" { "Count" } th scope="col" { "Share" }
                } }
                tbody {
                    @for (label, count) in counts.iter().take(MAX_LABELS) {
                        (line(html! { bdi { (ratchet_core::record::limit::elide(label, 120)) } }, *count))
                    }
                    @if rest > 0 {
                        (line(html! { (counts.len() - MAX_LABELS) " more labels" }, rest))
                    }
                }
            }
        }
    }
}

/// Values by name, the greatest first.
#[derive(Clone, Debug)]
pub struct HorizontalBars<'a> {
    pub title: &'a str,
    /// Of how many, from where.
    pub note: String,
    /// Each name and its value.
    pub values: &'a [(String, f64)],
    /// Where the records of each are listed.
    pub links: Vec<Option<Link>>,
    /// Whether each is shown as a share of all.
    pub is_share: bool,
    /// How a value reads, with its unit.
    pub read: fn(f64) -> String,
    /// Formats a value with all digits.
    pub exact: fn(f64) -> String,
}

/// Draws values as lying bars, which are their own table of numbers.
pub fn horizontal(chart: &HorizontalBars<'_>) -> Markup {
    let most = chart.values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let all: f64 = chart.values.iter().map(|(_, value)| value).sum();
    let part = |value: f64, of: f64| if of > 0.0 { (value / of).clamp(0.0, 1.0) } else { 0.0 };
    html! {
        figure.chart {
            (caption(chart.title, &chart.note))
            table.lying-bars {
                caption.sr { (chart.title) }
                thead.sr { tr {
                    th scope="col" { "Key" } th.bar-cell scope="col" { "Bar" } th scope="col" { "Value" }
                    @if chart.is_share { th scope="col" { "Share" } }
                } }
                tbody {
                    @for (index, (name, value)) in chart.values.iter().enumerate() {
                        @let link = chart.links.get(index).and_then(Option::as_ref);
                        tr data-href=[link] {
                            th scope="row" { (key(name, link)) }
                            td.bar-cell {
                                svg.lying.hue-0 viewBox="0 0 100 10" preserveAspectRatio="none"
                                    aria-hidden="true" {
                                    rect x="0" y="0" height="10" width=(100.0 * part(*value, most)) {}
                                }
                            }
                            td.num title=((chart.exact)(*value)) { ((chart.read)(*value)) }
                            @if chart.is_share {
                                td.num { (figure::percent(part(*value, all))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn key(name: &str, link: Option<&Link>) -> Markup {
    let name = html! { bdi { (ratchet_core::record::limit::elide(name, 120)) } };
    html! { @match link { Some(link) => { a href=(link) { (name) } }, None => { (name) } } }
}

#[expect(clippy::cast_precision_loss, reason = "positions in a drawing")]
fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_text_and_the_many_stand_together() {
        let names: Vec<String> = (0..30).map(|n| format!("<b>{n}")).collect();
        let counts: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 2)).collect();
        let shown = labels("Distribution", &counts, "code").into_string();
        assert!(shown.contains("&lt;b&gt;0") && !shown.contains("<b>"), "{shown}");
        assert!(shown.contains("6 more labels") && shown.contains("12"), "{shown}");
    }

    #[test]
    fn nothing_can_be_drawn_too() {
        let nothing = Spread {
            title: "None",
            note: "",
            bins: &[],
            links: Vec::new(),
            colour: "code",
            read: figure::number,
            tall: PlotHeight::Usual,
        };
        assert!(histogram(&nothing).into_string().contains("<svg"));
        assert!(mini(&[], "code", "none").into_string().contains("<svg"));
    }
}
