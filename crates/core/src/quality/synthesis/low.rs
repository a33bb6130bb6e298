use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{BELOW_TARGET, IssueShare, OVERALL, SessionMarks, issue};

/// Sessions of a dimension that are named.
const MAX_NAMED: usize = 10;

/// The sessions with a low score in a dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LowSessions {
    pub count: usize,
    /// The traces of these sessions that show it, at least.
    pub traces: usize,
    /// The lowest ones, lowest first.
    pub sessions: Vec<String>,
    /// Their agents and environments, the largest share first.
    pub agents: Vec<IssueShare>,
}

impl LowSessions {
    pub(super) fn of(dimension: &str, sessions: &[&SessionMarks]) -> Self {
        let value = |session: &SessionMarks| match dimension {
            OVERALL => Some(session.overall),
            name => session.marks.get(name).map(|mark| mark.value),
        };
        let is_low = |session: &&SessionMarks| value(session).is_some_and(|it| it < BELOW_TARGET);
        let mut low: Vec<&SessionMarks> = sessions.iter().copied().filter(is_low).collect();
        low.sort_by(|one, other| {
            let by_value = value(one).unwrap_or(1.0).total_cmp(&value(other).unwrap_or(1.0));
            by_value.then_with(|| one.session.cmp(&other.session))
        });
        let mut counts: BTreeMap<(Option<&str>, &str), usize> = BTreeMap::new();
        for session in &low {
            *counts.entry(issue::agent_of(session)).or_default() += 1;
        }
        Self {
            count: low.len(),
            traces: low.iter().map(|session| traces(dimension, session)).sum(),
            sessions: low.iter().take(MAX_NAMED).map(|one| one.session.to_string()).collect(),
            agents: issue::shares_of(counts.into_iter(), sessions),
        }
    }
}

/// The number of traces of a session that show its score in a dimension, at least one.
pub(crate) fn traces(dimension: &str, session: &SessionMarks) -> usize {
    let cited = session.marks.get(dimension).map(|mark| mark.evidence.iter().collect());
    cited.map_or(1, |cited: BTreeSet<&u32>| cited.len().max(1))
}
