//! The observations of a trace as a tree: each once, under its parent, ordered by start time.
//!
//! Pure and iterative: a chain of ten thousand observations needs no more stack than one of two.

/// Wrapper spans.
mod merge;

use std::collections::HashMap;

use ratchet_core::id::ObservationId;
use ratchet_core::money::Money;
use ratchet_core::record::observation::{Level, Observation};

/// An observation in the tree. Rows are in pre-order: an observation, then its descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeRow {
    pub(crate) step: usize,
    pub(crate) depth: usize,
    /// Number of descendants.
    pub(crate) below: usize,
    /// Position among its siblings, from 1.
    pub(crate) position: usize,
    /// Number of siblings, including itself.
    pub(crate) siblings: usize,
    /// Number of wrapper spans that are shown as this row.
    pub(crate) merged: usize,
    /// Anomaly of its position.
    pub(crate) mark: Option<Mark>,
    /// Known cost of the subtree.
    pub(crate) cost: Option<Money>,
    /// Approximate part of the cost.
    pub(crate) approximate_cost: Money,
    /// Errors in the subtree.
    pub(crate) errors: usize,
}

/// Why an observation is not under its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The parent was not recorded.
    Orphan,
    /// The parents form a cycle.
    Loop,
}

/// Builds the tree. Observations without a recorded parent become marked roots; a cycle of parents
/// is cut above its first observation; wrapper spans are merged with what they wrap.
pub(crate) fn assemble(steps: &[Observation]) -> Vec<TreeRow> {
    let Links { mut tops, mut children, mut parents, marks, order } = Links::of(steps);
    let kept = merge::merge(steps, &order, &mut children, &mut parents);
    for list in children.iter_mut().chain([&mut tops]) {
        list.iter_mut().for_each(|step| *step = kept.of(*step));
    }
    let mut rows = walk(&tops, &children);
    let merged = kept.counts();
    for row in &mut rows {
        row.mark = marks[row.step];
        row.merged = merged[row.step];
    }
    sum(&mut rows, &parents, steps);
    rows
}

/// The row that shows an observation.
pub(crate) fn row_of(steps: &[Observation], rows: &[TreeRow], step: usize) -> Option<usize> {
    let position = |step: usize| rows.iter().position(|row| row.step == step);
    position(step).or_else(|| {
        let Links { mut children, mut parents, order, .. } = Links::of(steps);
        position(merge::merge(steps, &order, &mut children, &mut parents).of(step))
    })
}

/// Which observation is below which.
struct Links {
    /// Observations by start.
    order: Vec<usize>,
    tops: Vec<usize>,
    children: Vec<Vec<usize>>,
    parents: Vec<Option<usize>>,
    marks: Vec<Option<Mark>>,
}

impl Links {
    fn of(steps: &[Observation]) -> Self {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|step| (steps[*step].start, &steps[*step].id));
        let (parents, marks) = parents(steps, &order);
        let mut tops = Vec::new();
        let mut children = vec![Vec::new(); steps.len()];
        for step in &order {
            match parents[*step] {
                Some(parent) => children[parent].push(*step),
                None => tops.push(*step),
            }
        }
        Self { order, tops, children, parents, marks }
    }
}

/// Parent index and anomaly of each observation.
fn parents(steps: &[Observation], order: &[usize]) -> (Vec<Option<usize>>, Vec<Option<Mark>>) {
    let places: HashMap<&ObservationId, usize> =
        steps.iter().enumerate().map(|(position, step)| (&step.id, position)).collect();
    let mut parents = Vec::with_capacity(steps.len());
    let mut marks = Vec::with_capacity(steps.len());
    for step in steps {
        let parent = step.parent.as_ref().map(|parent| places.get(parent).copied());
        let is_orphan = parent == Some(None) && !step.app_root;
        marks.push(is_orphan.then_some(Mark::Orphan));
        parents.push(parent.flatten());
    }
    cut_loops(&mut parents, &mut marks, order);
    (parents, marks)
}

/// Detects cycles by following parents from every observation; a cycle is cut above its first
/// observation.
fn cut_loops(parents: &mut [Option<usize>], marks: &mut [Option<Mark>], order: &[usize]) {
    let mut seen_in = vec![None; parents.len()];
    let mut rank = vec![0; parents.len()];
    for (position, step) in order.iter().enumerate() {
        rank[*step] = position;
    }
    for start in order {
        let mut at = *start;
        loop {
            if seen_in[at].is_some() {
                break;
            }
            seen_in[at] = Some(*start);
            match parents[at] {
                Some(parent) => at = parent,
                None => break,
            }
        }
        let is_circle = parents[at].is_some() && seen_in[at] == Some(*start);
        if is_circle {
            let first = first_of_circle(parents, &rank, at);
            parents[first] = None;
            marks[first] = Some(Mark::Loop);
        }
    }
}

fn first_of_circle(parents: &[Option<usize>], rank: &[usize], from: usize) -> usize {
    let (mut first, mut at) = (from, from);
    while let Some(parent) = parents[at].filter(|parent| *parent != from) {
        at = parent;
        if rank[at] < rank[first] {
            first = at;
        }
    }
    first
}

/// Rows in pre-order, without subtree totals.
fn walk(tops: &[usize], children: &[Vec<usize>]) -> Vec<TreeRow> {
    let mut rows = Vec::with_capacity(children.len());
    let mut waiting = Vec::new();
    let put = |waiting: &mut Vec<TreeRow>, steps: &[usize], depth| {
        let siblings = steps.len();
        let rows = steps.iter().enumerate().map(|(position, step)| TreeRow {
            step: *step,
            depth,
            below: 0,
            position: position + 1,
            siblings,
            merged: 0,
            mark: None,
            cost: None,
            approximate_cost: Money::default(),
            errors: 0,
        });
        waiting.extend(rows.rev());
    };
    put(&mut waiting, tops, 0);
    while let Some(row) = waiting.pop() {
        rows.push(row);
        put(&mut waiting, &children[row.step], row.depth + 1);
    }
    rows
}

/// Computes subtree totals, from the last row up.
fn sum(rows: &mut [TreeRow], parents: &[Option<usize>], steps: &[Observation]) {
    let mut row_of = vec![0; steps.len()];
    for (position, row) in rows.iter_mut().enumerate() {
        let step = &steps[row.step];
        row_of[row.step] = position;
        row.cost = step.cost.as_ref().map(ratchet_core::record::usage::Cost::total);
        row.approximate_cost = step.approximate_cost();
        row.errors = usize::from(step.level == Level::Error);
    }
    for position in (0..rows.len()).rev() {
        let row = rows[position];
        let Some(parent) = parents[row.step] else { continue };
        let above = &mut rows[row_of[parent]];
        above.below += row.below + 1;
        above.errors += row.errors;
        above.approximate_cost = above.approximate_cost + row.approximate_cost;
        above.cost = above.cost.into_iter().chain(row.cost).reduce(|sum, cost| sum + cost);
    }
}

#[cfg(test)]
pub(crate) mod tests;
