//! Call graph of a trace: agents, tools and models as nodes, calls as edges, in layers.
//!
//! Pure: maps observations to coordinates.

use std::collections::HashMap;

use ratchet_core::record::agent_runs::AgentRun;
use ratchet_core::record::observation::{Level, Observation, ObservationKind};

use crate::trace_tree::TreeRow;

/// Maximum number of nodes; later ones are left out.
const MAX_NODES: usize = 60;
/// Size of nodes and gaps.
pub(crate) const NODE: (f64, f64) = (200.0, 44.0);
const GAP: f64 = 14.0;
/// Indentation of callees.
const INDENT: f64 = 44.0;
const MARGIN: f64 = 8.0;
/// Margin for back edges.
const BACK: f64 = 44.0;

/// A laid-out call graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallGraph {
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<GraphEdge>,
    /// Width and height.
    pub(crate) size: (f64, f64),
    /// Whether nodes were left out.
    pub(crate) is_cut: bool,
}

/// An agent, a tool, a model, or the trace itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GraphNode {
    /// Observation type; `None` for the trace itself.
    pub(crate) kind: Option<ObservationKind>,
    pub(crate) name: String,
    /// Number of calls.
    pub(crate) calls: usize,
    /// Number of errors.
    pub(crate) errors: usize,
    /// Its first observation.
    pub(crate) first: Option<usize>,
    /// Longest distance from the trace.
    pub(crate) layer: usize,
    /// Upper left corner.
    pub(crate) at: (f64, f64),
}

/// Calls from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GraphEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) calls: usize,
    /// Whether it is a back edge.
    pub(crate) is_back: bool,
}

pub(crate) fn draw(title: &str, steps: &[Observation], rows: &[TreeRow]) -> CallGraph {
    let (graph, edges) = gather(title, steps, rows);
    finished(graph, edges)
}

/// The graph of agents that call agents and tools: one node for each agent and each tool by name.
/// `first` is the number of an agent's first run, and of the first run that called a tool.
pub(crate) fn of_runs(title: &str, runs: &[AgentRun]) -> CallGraph {
    let mut graph = CallGraph::default();
    graph.nodes.push(node(None, title.to_owned()));
    let mut known: HashMap<(ObservationKind, String), usize> = HashMap::new();
    let mut add = |graph: &mut CallGraph, kind, name: &str, first| {
        let key = (kind, name.to_owned());
        if let Some(at) = known.get(&key) {
            return Some(*at);
        }
        if graph.nodes.len() >= MAX_NODES {
            graph.is_cut = true;
            return None;
        }
        let made = node(Some(kind), key.1.clone());
        graph.nodes.push(GraphNode { first: Some(first), ..made });
        known.insert(key, graph.nodes.len() - 1);
        Some(graph.nodes.len() - 1)
    };
    let agents: Vec<Option<usize>> = runs
        .iter()
        .enumerate()
        .map(|(at, run)| add(&mut graph, ObservationKind::Agent, &run.agent, at))
        .collect();
    let mut edges: HashMap<(usize, usize), usize> = HashMap::new();
    for (at, run) in runs.iter().enumerate() {
        let Some(agent) = agents[at] else { continue };
        graph.nodes[agent].calls += 1;
        graph.nodes[agent].errors += usize::from(run.failed);
        let caller = run.caller.map_or(Some(0), |(by, _)| agents[by]);
        if let Some(caller) = caller {
            *edges.entry((caller, agent)).or_default() += 1;
        }
        for (name, (calls, failed)) in &run.tools {
            let Some(tool) = add(&mut graph, ObservationKind::Tool, name, at) else { continue };
            graph.nodes[tool].calls += *calls as usize;
            graph.nodes[tool].errors += *failed as usize;
            *edges.entry((agent, tool)).or_default() += *calls as usize;
        }
    }
    finished(graph, edges)
}

/// Adds edges and coordinates.
fn finished(mut graph: CallGraph, edges: HashMap<(usize, usize), usize>) -> CallGraph {
    let edge = |((from, to), calls)| GraphEdge { from, to, calls, is_back: from == to };
    graph.edges = edges.into_iter().map(edge).collect();
    graph.edges.sort_by_key(|edge| (edge.from, edge.to));
    mark_back_edges(&mut graph);
    layer(&mut graph);
    layout(&mut graph);
    graph
}

/// Whether an observation is a node.
fn takes_part(kind: ObservationKind) -> bool {
    !matches!(kind, ObservationKind::Span | ObservationKind::Event | ObservationKind::Chain)
}

fn name_of(step: &Observation) -> String {
    let model = step
        .model
        .as_ref()
        .filter(|_| matches!(step.kind, ObservationKind::Generation | ObservationKind::Embedding));
    let name = model.or(step.name.as_ref());
    name.cloned().unwrap_or_else(|| step.kind.as_str().to_lowercase())
}

/// Nodes and edges without coordinates. Other observations are transparent for calls.
fn gather(
    title: &str,
    steps: &[Observation],
    rows: &[TreeRow],
) -> (CallGraph, HashMap<(usize, usize), usize>) {
    let mut graph = CallGraph::default();
    graph.nodes.push(node(None, title.to_owned()));
    let mut known: HashMap<(ObservationKind, String), usize> = HashMap::new();
    let mut edges: HashMap<(usize, usize), usize> = HashMap::new();
    let mut above: Vec<usize> = Vec::new();
    for row in rows {
        above.truncate(row.depth);
        let caller = above.last().copied().unwrap_or(0);
        let step = &steps[row.step];
        if !takes_part(step.kind) {
            above.push(caller);
            continue;
        }
        let key = (step.kind, name_of(step));
        let is_full = graph.nodes.len() >= MAX_NODES && !known.contains_key(&key);
        if is_full {
            graph.is_cut = true;
            above.push(caller);
            continue;
        }
        let index = *known.entry(key).or_insert_with_key(|(kind, name)| {
            graph
                .nodes
                .push(GraphNode { first: Some(row.step), ..node(Some(*kind), name.clone()) });
            graph.nodes.len() - 1
        });
        graph.nodes[index].calls += 1;
        graph.nodes[index].errors += usize::from(step.level == Level::Error);
        *edges.entry((caller, index)).or_default() += 1;
        above.push(index);
    }
    (graph, edges)
}

fn node(kind: Option<ObservationKind>, name: String) -> GraphNode {
    GraphNode { kind, name, calls: 0, errors: 0, first: None, layer: 0, at: (0.0, 0.0) }
}

/// Finds back edges by a depth-first walk in order of appearance.
fn mark_back_edges(graph: &mut CallGraph) {
    let mut is_open = vec![false; graph.nodes.len()];
    let mut is_done = vec![false; graph.nodes.len()];
    let mut path: Vec<(usize, usize)> = vec![(0, 0)];
    is_open[0] = true;
    while let Some((node, next)) = path.last_mut() {
        let (from, start) = (*node, *next);
        let found = (start..graph.edges.len()).find(|at| graph.edges[*at].from == from);
        let Some(at) = found else {
            is_open[from] = false;
            is_done[from] = true;
            path.pop();
            continue;
        };
        *next = at + 1;
        let to = graph.edges[at].to;
        if is_open[to] {
            graph.edges[at].is_back = true;
        } else if !is_done[to] {
            is_open[to] = true;
            path.push((to, 0));
        }
    }
}

/// Assigns each node to the layer after its last caller.
fn layer(graph: &mut CallGraph) {
    for _ in 0..graph.nodes.len() {
        for edge in graph.edges.iter().filter(|edge| !edge.is_back) {
            let after = graph.nodes[edge.from].layer + 1;
            let node = &mut graph.nodes[edge.to];
            node.layer = node.layer.max(after);
        }
    }
}

/// Assigns coordinates: callees below and to the right of their first caller, so that the graph
/// fits the width of the page.
fn layout(graph: &mut CallGraph) {
    let mut is_placed = vec![false; graph.nodes.len()];
    let mut waiting = vec![0];
    let mut row = 0usize;
    while let Some(node) = waiting.pop() {
        if std::mem::replace(&mut is_placed[node], true) {
            continue;
        }
        let layer = graph.nodes[node].layer;
        graph.nodes[node].at = (MARGIN + real(layer) * INDENT, MARGIN + real(row) * (NODE.1 + GAP));
        row += 1;
        let calls = graph.edges.iter().filter(|edge| edge.from == node && !edge.is_back);
        waiting.extend(calls.rev().map(|edge| edge.to));
    }
    let layers = graph.nodes.iter().map(|node| node.layer).max().unwrap_or_default();
    graph.size = (
        2.0 * MARGIN + real(layers) * INDENT + NODE.0 + BACK,
        2.0 * MARGIN + real(row) * (NODE.1 + GAP) - GAP,
    );
}

#[expect(clippy::cast_precision_loss, reason = "positions in a drawing")]
fn real(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace_tree::assemble;
    use crate::trace_tree::tests::step;

    fn drawn(shape: &[(ObservationKind, &str, Option<usize>)]) -> CallGraph {
        let steps: Vec<Observation> = shape
            .iter()
            .enumerate()
            .map(|(id, (kind, name, parent))| Observation {
                kind: *kind,
                name: Some((*name).to_owned()),
                ..step(id, id as i64, *parent)
            })
            .collect();
        draw("trace", &steps, &assemble(&steps))
    }

    #[test]
    fn calls_are_counted_and_spans_pass_them_on() {
        use ObservationKind::{Agent, Span, Tool};
        let graph = drawn(&[
            (Agent, "desk", None),
            (Span, "step", Some(0)),
            (Tool, "search", Some(1)),
            (Tool, "search", Some(0)),
        ]);
        let nodes: Vec<_> =
            graph.nodes.iter().map(|node| (&*node.name, node.calls, node.layer)).collect();
        assert_eq!(nodes, [("trace", 0, 0), ("desk", 1, 1), ("search", 2, 2)]);
        let edges: Vec<_> =
            graph.edges.iter().map(|edge| (edge.from, edge.to, edge.calls)).collect();
        assert_eq!(edges, [(0, 1, 1), (1, 2, 2)]);
    }

    #[test]
    fn whoever_calls_back_is_marked_and_breaks_nothing() {
        use ObservationKind::Agent;
        let graph = drawn(&[
            (Agent, "a", None),
            (Agent, "b", Some(0)),
            (Agent, "a", Some(1)),
            (Agent, "a", Some(2)),
        ]);
        let back: Vec<_> = graph
            .edges
            .iter()
            .filter(|edge| edge.is_back)
            .map(|edge| (edge.from, edge.to))
            .collect();
        assert_eq!(back, [(1, 1), (2, 1)]);
    }

    #[test]
    fn too_many_nodes_are_cut() {
        let names: Vec<String> = (0..200).map(|n| format!("tool {n}")).collect();
        let shape: Vec<_> =
            names.iter().map(|name| (ObservationKind::Tool, name.as_str(), None)).collect();
        let graph = drawn(&shape);
        assert!(graph.is_cut && graph.nodes.len() == MAX_NODES);
    }

    proptest! {
        #[test]
        fn nodes_never_overlap_and_calls_lead_onwards(
            shape in proptest::collection::vec((0..4usize, proptest::option::of(0..30usize)), 0..30),
        ) {
            let names = ["a", "b", "c", "d"];
            let shape: Vec<_> =
                shape.into_iter().map(|(name, parent)| (ObservationKind::Agent, names[name], parent)).collect();
            let graph = drawn(&shape);
            for (index, one) in graph.nodes.iter().enumerate() {
                for other in &graph.nodes[index + 1..] {
                    let apart = (one.at.0 - other.at.0).abs() >= NODE.0 || (one.at.1 - other.at.1).abs() >= NODE.1;
                    prop_assert!(apart);
                }
                prop_assert!(one.at.0 + NODE.0 <= graph.size.0 && one.at.1 + NODE.1 <= graph.size.1);
            }
            for edge in graph.edges.iter().filter(|edge| !edge.is_back) {
                prop_assert!(graph.nodes[edge.from].layer < graph.nodes[edge.to].layer);
            }
            let calls: usize = graph.nodes.iter().map(|node| node.calls).sum();
            prop_assert_eq!(calls, shape.len());
        }
    }
}
