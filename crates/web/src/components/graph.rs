//! Call graph from top to bottom: callees are below and indented.

use maud::{Markup, html};

use super::badge::{Decider, kind_name};
use super::figure;
use crate::call_graph::{CallGraph, GraphEdge, GraphNode, NODE};

/// Characters of a name that fit into a node.
const MAX_NAME: usize = 23;
/// How far in from the left a node's calls leave it, and how wide they turn.
const TRUNK: f64 = 16.0;
const BEND: f64 = 8.0;

/// Renders a graph; `link` returns the URL of a node's first observation.
pub(crate) fn graph(graph: &CallGraph, link: impl Fn(usize) -> String) -> Markup {
    html! {
        div.call-graph tabindex="0" role="region" aria-label="Call graph" {
            svg viewBox={ "0 0 " (graph.size.0) " " (graph.size.1) } width=(graph.size.0) height=(graph.size.1) {
                defs {
                    marker #arrow viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                        path d="M0 0 8 4 0 8z" {}
                    }
                }
                @for one in &graph.edges { (edge(graph, one)) }
                @for one in &graph.nodes {
                    @match one.first {
                        Some(step) => { a href=(link(step)) { (node(one)) } },
                        None => { (node(one)) },
                    }
                }
            }
        }
        @if graph.is_cut { p.muted { "Not all agents, tools and models of this trace are shown." } }
    }
}

fn node(node: &GraphNode) -> Markup {
    let class = node.kind.map_or("trace", |kind| Decider::of_kind(kind).class());
    let short: String = node.name.chars().take(MAX_NAME).collect();
    let is_cut = short.len() < node.name.len();
    html! {
        g class={ "graph-node " (class) @if node.errors > 0 { " failed" } } {
            title { (node.name) }
            rect x=(node.at.0) y=(node.at.1) width=(NODE.0) height=(NODE.1) rx="6" {}
            text.name x=(node.at.0 + 10.0) y=(node.at.1 + 18.0) { (short) @if is_cut { "…" } }
            text.count x=(node.at.0 + 10.0) y=(node.at.1 + 34.0) {
                @match node.kind {
                    Some(kind) => { (kind_name(kind)) ", " (times(node.calls)) },
                    None => { "trace" },
                }
                @if node.errors > 0 { ", " (figure::counted(node.errors as u64, "error")) }
            }
        }
    }
}

fn times(n: usize) -> String {
    figure::counted(n as u64, "call")
}

fn edge(graph: &CallGraph, edge: &GraphEdge) -> Markup {
    let (from, to) = (graph.nodes[edge.from].at, graph.nodes[edge.to].at);
    let end = (to.0, to.1 + NODE.1 / 2.0);
    let (path, count) = if end.1 > from.1 + NODE.1 {
        let x = from.0 + TRUNK;
        let path = format!(
            "M{x:.1} {:.1}V{:.1}Q{x:.1} {:.1} {:.1} {:.1}H{:.1}",
            from.1 + NODE.1,
            end.1 - BEND,
            end.1,
            x + BEND,
            end.1,
            end.0
        );
        (path, (f64::midpoint(x, end.0) + 2.0, end.1 - 5.0))
    } else {
        let (start, end) = (from.1 + NODE.1 / 2.0 + 6.0, end.1 - 6.0);
        let (left, right) = (from.0 + NODE.0, to.0 + NODE.0);
        let far = left.max(right) + 36.0;
        let path = format!(
            "M{left:.1} {start:.1}C{far:.1} {start:.1} {far:.1} {end:.1} {right:.1} {end:.1}"
        );
        (path, (far - 6.0, f64::midpoint(start, end)))
    };
    html! {
        path class={ "graph-edge" @if edge.is_back { " back" } } d=(path) marker-end="url(#arrow)" {}
        @if edge.calls > 1 { text.edge-count x=(count.0) y=(count.1) { (edge.calls) } }
    }
}
