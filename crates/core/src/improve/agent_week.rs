use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::observed::ObservedTrace;

/// Failures of an agent's week by group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentWeek {
    pub agent: String,
    /// Traces of the week, also those that were not read.
    pub traffic: usize,
    /// Traces of the week that people answered or users rated. Without any, no group can be counted.
    pub reviewed: usize,
    pub groups: Vec<GroupCount>,
}

/// Failures of a group in a week.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupCount {
    /// That of the group's proposal: the same in every week.
    pub id: String,
    pub failures: usize,
    /// Failures in all traffic that they stand for.
    pub weighted: f64,
    /// Sum of the squared weights: the variance of `weighted`.
    pub squares: f64,
}

impl AgentWeek {
    pub(super) fn new(agent: &str, traffic: usize, traces: &[ObservedTrace]) -> Self {
        let of_week = traces.iter().filter(|trace| trace.weeks_ago == 0);
        let is_known =
            |trace: &&ObservedTrace| trace.signals.is_reviewed() || trace.signals.thumb.is_some();
        let reviewed = of_week.filter(is_known).count();
        Self { agent: agent.to_owned(), traffic, reviewed, groups: Vec::new() }
    }

    /// Counts the members of a group; groups of one id are one.
    pub(super) fn count(&mut self, id: String, members: &[usize], traces: &[ObservedTrace]) {
        let mut groups: BTreeMap<String, GroupCount> =
            self.groups.drain(..).map(|group| (group.id.clone(), group)).collect();
        let group = groups.entry(id.clone()).or_insert(GroupCount { id, ..GroupCount::default() });
        for trace in members.iter().filter_map(|at| traces.get(*at)) {
            if trace.weeks_ago == 0 {
                group.failures += 1;
                group.weighted += trace.weight;
                group.squares += trace.weight * trace.weight;
            }
        }
        self.groups = groups.into_values().collect();
    }
}
