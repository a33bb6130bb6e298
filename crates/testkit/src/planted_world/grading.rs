use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::improve::proposal::Proposal;

use super::{ExpectedFinding, PlantedDefect, PlantedWorld};

/// How well proposals match the defects of a world.
#[derive(Clone, Debug, Default)]
pub struct FindingGrades {
    /// Defects with the right component and the right file.
    pub right: BTreeSet<PlantedDefect>,
    /// What is wrong about each other proposal.
    pub false_proposals: Vec<String>,
    /// Topics that proposals are about.
    pub topics: BTreeSet<String>,
}

/// Compares proposals with what a report on the world's last week should name. A proposal is about
/// the topic, and the defect, of most of its evidence.
pub fn grade(world: &PlantedWorld, proposals: &[Proposal]) -> FindingGrades {
    let traces = world.traces();
    let truth: BTreeMap<&str, (&str, Option<PlantedDefect>)> =
        traces.iter().map(|it| (it.id.as_str(), (it.topic.as_str(), it.defect))).collect();
    let expected = world.expected();
    let mut grades = FindingGrades::default();
    for proposal in proposals {
        let evidence: Vec<_> = proposal.evidence.iter().map(|id| truth[id.as_str()]).collect();
        let topic = most(evidence.iter().map(|(topic, _)| *topic));
        let defect = most(evidence.iter().map(|(_, defect)| *defect)).flatten();
        grades.topics.extend(topic.map(str::to_owned));
        let finding = expected.iter().find(|it| Some(it.defect) == defect);
        match finding.filter(|finding| is_right(finding, proposal)) {
            Some(finding) => {
                grades.right.insert(finding.defect);
            }
            None => grades.false_proposals.push(format!(
                "{} ({:?}, {:?}) for {defect:?} in {topic:?}",
                proposal.title, proposal.component, proposal.files
            )),
        }
    }
    grades
}

fn is_right(finding: &ExpectedFinding, proposal: &Proposal) -> bool {
    let component = proposal.component.title().to_lowercase();
    let has_component = finding.components.iter().any(|it| it.as_str() == component);
    let paths = proposal.files.iter().filter_map(|line| line.rsplit_once(':'));
    has_component && paths.into_iter().any(|(path, _)| finding.files.contains(&path))
}

fn most<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}
