use std::collections::{HashMap, HashSet};

use crate::id::ObservationId;
use crate::judge::evidence::NumberedTrace;
use crate::record::observation::{Observation, ObservationKind};

/// Returns generations that only wrap another one.
pub(super) fn outer_generations(trace: &NumberedTrace) -> HashSet<&ObservationId> {
    let generations = trace.steps.iter().filter(|step| step.kind == ObservationKind::Generation);
    generations.filter_map(|step| step.parent.as_ref()).collect()
}

/// Maps observations to the sub-agent they belong to: an agent within another one, or a tool that
/// calls a model.
pub(super) fn sub_agents(trace: &NumberedTrace) -> HashMap<&ObservationId, ObservationId> {
    let steps: HashMap<&ObservationId, &Observation> =
        trace.steps.iter().map(|step| (&step.id, step)).collect();
    let mut known: HashMap<&ObservationId, Ancestors<'_>> = HashMap::new();
    for step in &trace.steps {
        let mut path = Vec::new();
        let mut next = Some(step);
        // Guards against cycles: an observation is recorded before its parents are visited.
        while let Some(step) = next.filter(|step| !known.contains_key(&step.id)) {
            known.insert(&step.id, Ancestors::default());
            path.push(step);
            next = step.parent.as_ref().and_then(|parent| steps.get(parent).copied());
        }
        let mut ancestors = next.and_then(|step| known.get(&step.id)).copied().unwrap_or_default();
        for step in path.into_iter().rev() {
            let is_agent = step.kind == ObservationKind::Agent;
            let is_tool = step.kind == ObservationKind::Tool;
            if is_tool || (is_agent && ancestors.is_working) {
                ancestors.sub_agent = Some(&step.id);
            }
            ancestors.is_working |= is_agent || is_tool;
            known.insert(&step.id, ancestors);
        }
    }
    known
        .into_iter()
        .filter_map(|(id, ancestors)| Some((id, ancestors.sub_agent?.clone())))
        .collect()
}

/// The ancestors of an observation.
#[derive(Clone, Copy, Debug, Default)]
struct Ancestors<'a> {
    /// Whether an ancestor is an agent or a tool.
    is_working: bool,
    sub_agent: Option<&'a ObservationId>,
}
