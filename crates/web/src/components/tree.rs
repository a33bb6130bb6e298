//! A tree of steps: one line for each, with its share of the time.

use maud::{Markup, html};
use ratchet_core::money::Money;

use super::figure;
use super::icon::{Icon, icon};
use crate::timeline::WHOLE;
use crate::trace_tree::Mark;

/// Maximum indentation; deeper levels are not indented further.
const MAX_INDENT: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct TreeLine {
    /// Its number among all lines, from 0.
    pub(crate) number: usize,
    /// Which step; none for the trace itself.
    pub(crate) id: Option<String>,
    pub(crate) link: String,
    /// The drawing of its kind.
    pub(crate) glyph: Markup,
    pub(crate) name: String,
    /// Model or argument, after the name.
    pub(crate) detail: Option<String>,
    /// Wrapper spans that the line stands for.
    pub(crate) merged: usize,
    /// Depth, from 0.
    pub(crate) depth: usize,
    /// How many lines after it belong below it.
    pub(crate) below: usize,
    /// Its place among its siblings, and how many these are.
    pub(crate) among: (usize, usize),
    /// What is odd about its place.
    pub(crate) mark: Option<Mark>,
    /// Whether it failed, or something below it.
    pub(crate) failure: Failure,
    /// From where to where it lasts, in thousandths, and the class that colours it.
    pub(crate) time: (u32, u32, &'static str),
    /// How long it took, in nanoseconds.
    pub(crate) duration: Option<i64>,
    /// What it cost, with all below it.
    pub(crate) cost: Option<Money>,
    /// How much of that is approximate.
    pub(crate) approximate_cost: Money,
    pub(crate) scores: Markup,
    /// Whether it is the one that is looked at.
    pub(crate) is_selected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    None,
    Below,
    Itself,
}

/// Draws lines. Each is a link, so that the tree works without a script.
pub(crate) fn lines(lines: &[TreeLine]) -> Markup {
    html! { @for one in lines { (line(one)) } }
}

fn line(line: &TreeLine) -> Markup {
    let (from, to, class) = line.time;
    let failed = match line.failure {
        Failure::None => "",
        Failure::Below => " failed-below",
        Failure::Itself => " failed",
    };
    html! {
        a class={ "node d" (line.depth.min(MAX_INDENT)) (failed) } role="treeitem" href=(line.link)
          data-row=(line.number) data-id=[&line.id] data-below=[(line.below > 0).then_some(line.below)]
          aria-level=(line.depth + 1) aria-posinset=(line.among.0) aria-setsize=(line.among.1)
          aria-expanded=[(line.below > 0).then_some("true")]
          aria-selected=(line.is_selected) title=(title(line)) {
            span.twist { @if line.below > 0 { (icon(Icon::Down)) } }
            (line.glyph)
            span.node-name { bdi { (line.name) }
                @if let Some(detail) = &line.detail { span.muted { " · " bdi { (detail) } } } }
            @if line.failure == Failure::Itself { span.sr { "Error" } }
            @if let Some(mark) = line.mark { (marked(mark)) }
            (line.scores)
            svg.node-bar viewBox={ "0 0 " (WHOLE) " 8" } preserveAspectRatio="none" aria-hidden="true" {
                rect class=(class) x=(from.min(WHOLE - 8)) y="1" height="6" rx="2"
                     width=(to.saturating_sub(from).max(8)) {}
            }
            span.node-time { @if let Some(nanos) = line.duration { (figure::duration(nanos)) } }
            span.node-cost { @if let Some(cost) = line.cost { (figure::money_in_part(cost, line.approximate_cost)) } }
        }
    }
}

fn title(line: &TreeLine) -> String {
    let mut title = line.name.clone();
    if let Some(detail) = &line.detail {
        title = format!("{title} · {detail}");
    }
    match line.merged {
        0 => title,
        1 => format!("{title} (with a wrapper span that says the same)"),
        n => format!("{title} (with {n} wrapper spans that say the same)"),
    }
}

fn marked(mark: Mark) -> Markup {
    let (word, why) = match mark {
        Mark::Orphan => ("orphan", "parent observation was not recorded"),
        Mark::Loop => ("loop", "parent refers to this observation itself; the cycle is cut here"),
    };
    html! { span.badge.warn title=(why) { (word) } }
}
