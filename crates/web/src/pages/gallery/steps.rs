//! The parts of a trace's page, with a made-up run.

use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_core::record::observation::ObservationKind;

use crate::call_graph::{CallGraph, GraphEdge, GraphNode};
use crate::components::badge::{self, Decider};
use crate::components::code::code;
use crate::components::graph::graph;
use crate::components::message::{ContentLinks, MessageStyle};
use crate::components::stack::{Share, stack};
use crate::components::strip::{StripBar, strip};
use crate::components::tree::{self, Failure, TreeLine};
use crate::trace_tree::Mark;
use ratchet_core::record::message_formats::{Reading, read};

/// Kind, name, depth, lines below, from, to, failure.
type Sample = (ObservationKind, &'static str, usize, usize, u32, u32, Failure);

const STEPS: [Sample; 5] = [
    (ObservationKind::Agent, "support-desk", 0, 4, 0, 1_000, Failure::Below),
    (ObservationKind::Generation, "plan", 1, 0, 10, 320, Failure::None),
    (ObservationKind::Tool, "find_order", 1, 0, 330, 600, Failure::None),
    (ObservationKind::Tool, "refund", 1, 0, 400, 560, Failure::Itself),
    (ObservationKind::Generation, "answer", 1, 0, 620, 990, Failure::None),
];

const CONVERSATION: &str = r#"[
    {"role": "user", "content": "Where is my **refund** for order 1042?"},
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "The order comes first."},
        {"type": "tool_use", "id": "call_1", "name": "find_order", "input": {"order": 1042}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": "{\"state\": \"refunded\", \"days\": 3}"}]},
    {"role": "assistant", "content": "It left us **3 days ago**:\n\n1. banks take up to 5 days\n2. `1042` is closed"}]"#;

/// Draws them, each with its name.
pub(super) fn parts() -> [(&'static str, Markup); 6] {
    [
        ("Tree", outline()),
        ("Timeline", timeline()),
        ("Messages", messages()),
        (
            "Code",
            code(
                "python",
                "def refund(order: int) -> bool:\n    # twice is once\n    return order in {1042, \"1043\"}",
            ),
        ),
        ("Call graph", calls()),
        (
            "Stacked bar",
            stack(
                "Tokens by type",
                &[share("input", 812, 0), share("input cached", 4_096, 1), share("output", 311, 2)],
            ),
        ),
    ]
}

fn outline() -> Markup {
    let lines: Vec<TreeLine> = STEPS
        .iter()
        .enumerate()
        .map(|(number, (kind, name, depth, below, from, to, failure))| TreeLine {
            number,
            id: Some(number.to_string()),
            link: "#".to_owned(),
            glyph: badge::glyph(*kind),
            name: (*name).to_owned(),
            detail: None,
            merged: 0,
            depth: *depth,
            below: *below,
            among: if number == 0 { (1, 1) } else { (number, STEPS.len() - 1) },
            mark: (number == 2).then_some(Mark::Orphan),
            failure: *failure,
            time: (*from, *to, colour(*kind, *failure)),
            duration: Some(i64::from(to - from) * 4_000_000),
            cost: Money::from_dollars(0.002),
            approximate_cost: Money::default(),
            scores: Markup::default(),
            is_selected: number == 1,
        })
        .collect();
    html! { div.tree role="tree" aria-label="Sample observations" { (tree::lines(&lines)) } }
}

fn colour(kind: ObservationKind, failure: Failure) -> &'static str {
    match failure {
        Failure::Itself => "bad",
        Failure::None | Failure::Below => Decider::of_kind(kind).class(),
    }
}

fn timeline() -> Markup {
    let leaves = STEPS.iter().enumerate().skip(1);
    let bars: Vec<StripBar> = leaves
        .map(|(number, (kind, name, _, _, from, to, failure))| StripBar {
            id: number.to_string(),
            link: "#".to_owned(),
            title: (*name).to_owned(),
            class: colour(*kind, *failure),
            lane: usize::from(number == 3),
            span: (*from, *to),
            is_selected: number == 1,
        })
        .collect();
    strip(&bars, 4_000_000_000)
}

fn messages() -> Markup {
    let at = ContentLinks::default();
    match read(CONVERSATION) {
        Reading::Messages(messages) => MessageStyle::new(&at).conversation(&messages),
        Reading::Text(_) | Reading::Data(_) => Markup::default(),
    }
}

fn calls() -> Markup {
    let node = |kind, name: &str, layer, at| GraphNode {
        kind,
        name: name.to_owned(),
        calls: 2,
        errors: 0,
        first: None,
        layer,
        at,
    };
    let edge = |from, to, calls| GraphEdge { from, to, calls, is_back: false };
    let nodes = vec![
        node(None, "support", 0, (8.0, 8.0)),
        node(Some(ObservationKind::Agent), "support-desk", 1, (204.0, 8.0)),
        node(Some(ObservationKind::Generation), "claude-sonnet-5", 2, (400.0, 8.0)),
        node(Some(ObservationKind::Tool), "find_order", 2, (400.0, 66.0)),
    ];
    let edges = vec![edge(0, 1, 1), edge(1, 2, 2), edge(1, 3, 2)];
    let drawn = CallGraph { nodes, edges, size: (560.0, 118.0), is_cut: false };
    graph(&drawn, |_| "#".to_owned())
}

fn share(name: &str, units: u32, hue: usize) -> Share {
    Share { name: name.to_owned(), amount: f64::from(units), text: units.to_string(), hue }
}
