//! Two numbers of the same things, one against the other.

use maud::{Markup, html};

use super::figure;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 46.0;

/// Two numbers of the same things.
#[derive(Clone, Debug)]
pub struct Scatter<'a> {
    pub title: &'a str,
    /// What goes to the right.
    pub x: &'a str,
    pub y: &'a str,
    pub points: &'a [(f64, f64)],
    /// Lines across, such as a mean.
    pub levels: &'a [ReferenceLine],
}

/// A line across, with its name.
#[derive(Clone, Debug)]
pub struct ReferenceLine {
    pub at: f64,
    pub name: String,
}

/// From where to where an axis goes.
#[derive(Clone, Copy, Debug)]
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let from = values.clone().fold(f64::INFINITY, f64::min);
        let to = values.fold(f64::NEG_INFINITY, f64::max);
        if !(from.is_finite() && to.is_finite()) {
            return Self { from: 0.0, to: 1.0 };
        }
        // Shares and marks read best on their whole scale.
        if from >= 0.0 && to <= 1.0 {
            return Self { from: 0.0, to: 1.0 };
        }
        if from < to { Self { from, to } } else { Self { from: from - 0.5, to: to + 0.5 } }
    }

    /// As far down as up, to the next quarter where that is near.
    fn around_zero(values: impl Iterator<Item = f64>) -> Self {
        let most = values.map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max);
        let most = if most <= 1.0 { (most * 4.0).ceil().max(1.0) / 4.0 } else { most };
        Self { from: -most, to: most }
    }

    fn part(self, value: f64) -> f64 {
        // Halves, for the greatest numbers there are must not add up beyond them.
        let part = (value / 2.0 - self.from / 2.0) / (self.to / 2.0 - self.from / 2.0);
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.5 }
    }

    fn at(self, part: f64) -> f64 {
        self.from * (1.0 - part) + self.to * part
    }
}

/// Draws them. Where both axes are the same, a line shows where both would agree.
pub fn scatter(chart: &Scatter<'_>) -> Markup {
    let across = Axis::of(chart.points.iter().map(|point| point.0));
    let levels = chart.levels.iter().map(|level| level.at);
    let high = chart.points.iter().map(|point| point.1).chain(levels);
    // Differences read best around none.
    let up = if chart.levels.is_empty() { Axis::of(high) } else { Axis::around_zero(high) };
    let x = |part: f64| LEFT + part * (WIDTH - LEFT - RIGHT);
    let y = |part: f64| HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
    let is_same = (across.from - up.from).abs() < 1e-9 && (across.to - up.to).abs() < 1e-9;
    html! {
        figure.chart.scatter {
            figcaption { (chart.title) }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(chart.title) {
                @for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
                    line.grid x1=(x(0.0)) x2=(x(1.0)) y1=(y(part)) y2=(y(part)) {}
                    line.grid x1=(x(part)) x2=(x(part)) y1=(y(0.0)) y2=(y(1.0)) {}
                    text.axis.end x=(LEFT - 6.0) y=(y(part) + 4.0) { (figure::number(up.at(part))) }
                    text.axis.middle x=(x(part)) y=(HEIGHT - BOTTOM + 16.0) {
                        (figure::number(across.at(part)))
                    }
                }
                @for level in chart.levels {
                    @let high = y(up.part(level.at));
                    line.level x1=(x(0.0)) x2=(x(1.0)) y1=(high) y2=(high) {}
                    text.level-name.end x=(x(1.0) - 4.0) y=(high - 4.0) { (cut(&level.name)) }
                }
                @if is_same && chart.levels.is_empty() {
                    line.agree x1=(x(0.0)) x2=(x(1.0)) y1=(y(0.0)) y2=(y(1.0)) {}
                }
                g.points {
                    @for (left, right) in chart.points {
                        circle cx=(x(across.part(*left))) cy=(y(up.part(*right))) r="4" {
                            title { (figure::number(*left)) " and " (figure::number(*right)) }
                        }
                    }
                }
                text.direct.middle x=(x(0.5)) y=(HEIGHT - 8.0) { (cut(chart.x)) " →" }
                text.direct x=(LEFT + 6.0) y=(TOP + 10.0) { "↑ " (cut(chart.y)) }
            }
        }
    }
}

fn cut(name: &str) -> String {
    name.chars().take(48).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(points: &[(f64, f64)]) -> String {
        scatter(&Scatter { title: "t", x: "<x>", y: "y", points, levels: &[] }).into_string()
    }

    #[test]
    fn agreement_is_drawn_on_one_scale_only() {
        assert!(drawn(&[(0.1, 0.9), (0.5, 0.5)]).contains("agree"));
        assert!(!drawn(&[(0.1, 90.0), (0.5, 50.0)]).contains("agree"));
    }

    #[test]
    fn differences_are_drawn_around_none() {
        let levels = [ReferenceLine { at: -0.3, name: "<limit>".to_owned() }];
        let points = [(0.5, 0.1)];
        let chart = Scatter { title: "t", x: "x", y: "y", points: &points, levels: &levels };
        let drawn = scatter(&chart).into_string();
        assert!(drawn.contains(">-0.5<") && drawn.contains(">0.5<"), "{drawn}");
        assert!(drawn.contains("&lt;limit&gt;") && !drawn.contains("agree"), "{drawn}");
    }

    #[test]
    fn odd_numbers_stay_inside() {
        for points in [&[][..], &[(3.0, 3.0)], &[(f64::MAX, f64::MIN), (f64::MIN, 0.0)]] {
            let drawn = drawn(points);
            assert!(!drawn.contains("NaN") && !drawn.contains("inf") && !drawn.contains("<x>"));
        }
    }
}
