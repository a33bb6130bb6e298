//! A thin strip of time: what ran side by side.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maud::{Markup, html};

use super::figure;
use crate::timeline::WHOLE;

/// How high a lane is, and the gap below it.
const LANE: (usize, usize) = (7, 2);
/// Bars that can be clicked; of more, only the drawing is sent.
const LINKED: usize = 600;
const TICKS: i64 = 4;

#[derive(Clone, Debug)]
pub(crate) struct StripBar {
    pub(crate) id: String,
    pub(crate) link: String,
    pub(crate) title: String,
    /// The class that colours it.
    pub(crate) class: &'static str,
    /// Which lane, from 0.
    pub(crate) lane: usize,
    /// From where to where, in thousandths.
    pub(crate) span: (u32, u32),
    /// Whether it is the one that is looked at.
    pub(crate) is_selected: bool,
}

/// Draws a strip for so many nanoseconds.
pub(crate) fn strip(bars: &[StripBar], nanos: i64) -> Markup {
    let lanes = bars.iter().map(|bar| bar.lane + 1).max().unwrap_or(1);
    let height = lanes * (LANE.0 + LANE.1);
    html! {
        div.strip role="group" aria-label={ "Timeline: " (lanes) " concurrent at most, " (figure::duration(nanos)) } {
            svg viewBox={ "0 0 " (WHOLE) " " (height) } preserveAspectRatio="none" height=(height) {
                @for tick in 1..TICKS {
                    line.tick x1=(tick * i64::from(WHOLE) / TICKS) x2=(tick * i64::from(WHOLE) / TICKS) y1="0" y2=(height) {}
                }
                @if bars.len() > LINKED { (crowd(bars)) }
                @for bar in bars.iter().filter(|bar| bars.len() <= LINKED || bar.is_selected) {
                    a href=(bar.link) data-id=(bar.id) tabindex="-1" aria-label=(bar.title)
                      class=[bar.is_selected.then_some("on")] {
                        rect class=(bar.class) x=(bar.span.0) y=(top(bar)) rx="1"
                             width=(bar.span.1 - bar.span.0) height=(LANE.0) { title { (bar.title) } }
                    }
                }
            }
            div.strip-axis aria-hidden="true" {
                @for tick in 0..=TICKS { span { (figure::duration(nanos / TICKS * tick)) } }
            }
        }
    }
}

fn top(bar: &StripBar) -> usize {
    bar.lane * (LANE.0 + LANE.1)
}

/// Thousands of bars, one path for each colour: links would weigh more than the rest of the page,
/// and a bar of one pixel cannot be clicked.
fn crowd(bars: &[StripBar]) -> Markup {
    let mut paths: BTreeMap<&str, String> = BTreeMap::new();
    for bar in bars {
        let (left, width, height) = (bar.span.0, bar.span.1 - bar.span.0, LANE.0);
        let path = paths.entry(bar.class).or_default();
        let _infallible = write!(path, "M{left} {}h{width}v{height}h-{width}z", top(bar));
    }
    html! { @for (class, path) in &paths { path class=(class) d=(path) {} } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_drawn_without_links_but_for_the_one_that_is_looked_at() {
        let bar = |nth: u32| StripBar {
            id: format!("s{nth}"),
            link: String::new(),
            title: String::new(),
            class: "code",
            lane: 0,
            span: (nth % 1_000, nth % 1_000 + 1),
            is_selected: nth == 7,
        };
        let many: Vec<StripBar> = (0..4_000).map(bar).collect();
        let drawn = strip(&many, 1_000).into_string();
        assert_eq!(drawn.matches("<a ").count(), 1);
        assert!(drawn.len() < 100_000, "{} bytes", drawn.len());
        let few = strip(&many[..10], 1_000).into_string();
        assert_eq!(few.matches("<a ").count(), 10);
    }
}
