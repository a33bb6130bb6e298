//! A thin strip of time: what ran side by side.

use maud::{Markup, html};

use super::figure;
use crate::timeline::WHOLE;

/// How high a lane is, and the gap below it.
const LANE: (usize, usize) = (7, 2);
/// Marks along the time.
const TICKS: i64 = 4;

/// A bar of a strip.
#[derive(Clone, Debug)]
pub(crate) struct StripBar {
    /// Which step.
    pub(crate) id: String,
    /// Where it leads.
    pub(crate) link: String,
    /// What it is.
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
        div.strip role="group" aria-label={ "Timeline: " (lanes) " at once at most, " (figure::duration(nanos)) } {
            svg viewBox={ "0 0 " (WHOLE) " " (height) } preserveAspectRatio="none" height=(height) {
                @for tick in 1..TICKS {
                    line.tick x1=(tick * i64::from(WHOLE) / TICKS) x2=(tick * i64::from(WHOLE) / TICKS) y1="0" y2=(height) {}
                }
                @for bar in bars {
                    a href=(bar.link) data-id=(bar.id) tabindex="-1" aria-label=(bar.title)
                      class=[bar.is_selected.then_some("on")] {
                        rect class=(bar.class) x=(bar.span.0) y=(bar.lane * (LANE.0 + LANE.1)) rx="1"
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
