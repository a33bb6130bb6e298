use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::group::FailureGroup;
use super::observed::ObservedTrace;
use crate::stats::interval::share;

/// Traces before a release that a comparison needs.
const MIN_BEFORE: u64 = 10;

/// For whom something fails, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffectedUsers {
    /// Users of the week's failures; 0 where traces name no user.
    pub users: usize,
    pub sessions: usize,
    /// The first release with clearly more failures than before it.
    pub since_release: Option<String>,
}

impl AffectedUsers {
    pub(super) fn of(group: &FailureGroup, traces: &[ObservedTrace]) -> Self {
        let of_week = group.members.iter().map(|at| &traces[*at]).filter(|it| it.weeks_ago == 0);
        let users: BTreeSet<&str> = of_week.clone().filter_map(|it| it.user.as_deref()).collect();
        let sessions: BTreeSet<&str> =
            of_week.map(|it| it.session.as_deref().unwrap_or(&it.id)).collect();
        Self {
            users: users.len(),
            sessions: sessions.len(),
            since_release: since_release(group, traces),
        }
    }
}

/// The first release from which on the share of failures is higher than before it, with intervals that
/// do not overlap.
fn since_release(group: &FailureGroup, traces: &[ObservedTrace]) -> Option<String> {
    let failed: BTreeSet<usize> = group.members.iter().copied().collect();
    let tool = group.cause.tool();
    let is_alike = |trace: &ObservedTrace| {
        let sub_agent = trace.sub_agent();
        let has_tool = tool.is_none_or(|tool| trace.main_tool() == Some(tool));
        has_tool && (group.sub_agent.is_none() || sub_agent == group.sub_agent.as_deref())
    };
    // By release: the week of its first trace, failures, all.
    let mut releases: BTreeMap<&str, (usize, u64, u64)> = BTreeMap::new();
    for (at, trace) in traces.iter().enumerate() {
        let Some(release) = trace.release.as_deref() else { continue };
        let has_failed = failed.contains(&at);
        if has_failed || is_alike(trace) {
            let (first, failures, all) = releases.entry(release).or_insert((trace.weeks_ago, 0, 0));
            *first = (*first).max(trace.weeks_ago);
            *failures += u64::from(has_failed);
            *all += 1;
        }
    }
    let mut ordered: Vec<(&str, (usize, u64, u64))> = releases.into_iter().collect();
    ordered.sort_by(|one, other| other.1.0.cmp(&one.1.0).then(one.0.cmp(other.0)));
    let sum = |part: &[(&str, (usize, u64, u64))]| {
        part.iter().fold((0, 0), |sum, (_, (_, failures, all))| (sum.0 + failures, sum.1 + all))
    };
    let bounds = |(failures, all)| share(failures, all).and_then(|share| share.interval);
    let is_since = |at: &usize| {
        let (before, own) = (sum(&ordered[..*at]), sum(&ordered[*at..=*at]));
        let (Some(earlier), Some(later)) = (bounds(before), bounds(own)) else { return false };
        before.1 >= MIN_BEFORE && later.lower > earlier.upper
    };
    (1..ordered.len()).find(is_since).map(|at| ordered[at].0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::improve::diagnosis::Cause;

    fn group_of(failed: &dyn Fn(usize) -> bool) -> (FailureGroup, Vec<ObservedTrace>) {
        let trace = |n: usize| ObservedTrace {
            id: n.to_string(),
            user: Some(format!("user-{}", n % 7)),
            weeks_ago: 2 - n / 30,
            release: Some(["1.0", "1.1", "1.2"][n / 30].to_owned()),
            ..ObservedTrace::default()
        };
        let group = FailureGroup {
            cause: Cause::Unanswered,
            sub_agent: None,
            members: (0..90).filter(|n| failed(*n)).collect(),
            terms: Vec::new(),
            topic: None,
            features: Vec::new(),
        };
        (group, (0..90).map(trace).collect())
    }

    #[test]
    fn a_release_with_clearly_more_failures_is_named() {
        let (group, traces) = group_of(&|n| n >= 30 && n % 2 == 0);
        let affected = AffectedUsers::of(&group, &traces);
        assert_eq!(affected.since_release.as_deref(), Some("1.1"));
        assert_eq!((affected.users, affected.sessions), (7, 15));
        let (group, traces) = group_of(&|n| n % 2 == 0);
        assert_eq!(AffectedUsers::of(&group, &traces).since_release, None);
    }
}
