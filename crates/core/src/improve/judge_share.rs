use std::collections::BTreeMap;

use super::observed::{ObservedTrace, Standing};
use crate::stats::float;
use crate::stats::interval::share;

/// Errors of a judge that are usual: fewer need no change.
const USUAL: f64 = 0.1;
/// Errors that are taken as usual where nothing else was judged.
const UNKNOWN: f64 = 0.25;
/// Judged traces of others that a comparison needs.
const MIN_OTHERS: u64 = 10;

type Kind<'a> = (Option<&'a str>, Option<&'a str>);

/// How often the judge disagrees with people, by agent and tool, in the week.
#[derive(Clone, Debug, Default)]
pub(super) struct JudgeShares<'a> {
    /// Good answers: those scored low, and all.
    good: BTreeMap<Kind<'a>, (u64, u64)>,
    /// Bad answers: those scored high, and all.
    bad: BTreeMap<Kind<'a>, (u64, u64)>,
}

impl<'a> JudgeShares<'a> {
    /// Counts the traces about which both a person and the judge said something.
    pub(super) fn of(traces: &'a [ObservedTrace]) -> Self {
        let mut shares = Self::default();
        for trace in traces.iter().filter(|trace| trace.weeks_ago == 0) {
            let Some(judged_good) = trace.judged_good() else { continue };
            let has_verdict = trace.signals.correct.or(trace.signals.thumb).is_some();
            let (counts, is_wrong) = match trace.standing() {
                Standing::Failed => (&mut shares.bad, judged_good),
                Standing::Misjudged => (&mut shares.good, true),
                Standing::Fine if has_verdict => (&mut shares.good, false),
                Standing::Fine | Standing::ToolFailed => continue,
            };
            let kind = (trace.sub_agent(), trace.main_tool());
            let (wrong, all) = counts.entry(kind).or_default();
            *wrong += u64::from(is_wrong);
            *all += 1;
        }
        shares
    }

    /// Returns whether the judge scores good answers of a kind low more often than others.
    pub(super) fn is_strict(&self, sub_agent: Option<&str>, tool: Option<&str>) -> bool {
        is_higher(&self.good, (sub_agent, tool))
    }

    /// Returns whether the judge scores bad answers of a kind high more often than others.
    pub(super) fn is_lenient(&self, sub_agent: Option<&str>, tool: Option<&str>) -> bool {
        is_higher(&self.bad, (sub_agent, tool))
    }
}

/// Whether the lower bound of a kind's share is above the share of all others.
fn is_higher(counts: &BTreeMap<Kind<'_>, (u64, u64)>, kind: Kind<'_>) -> bool {
    let Some((wrong, all)) = counts.get(&kind).copied() else { return false };
    let others = counts.iter().filter(|(other, _)| **other != kind);
    let (other_wrong, other_all) =
        others.fold((0, 0), |sum, (_, count)| (sum.0 + count.0, sum.1 + count.1));
    let usual = if other_all < MIN_OTHERS {
        UNKNOWN
    } else {
        (count(other_wrong) / count(other_all)).max(USUAL)
    };
    let lower = share(wrong, all).and_then(|share| share.interval).map(|bounds| bounds.lower);
    lower.is_some_and(|lower| lower > usual)
}

fn count(number: u64) -> f64 {
    float(usize::try_from(number).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::improve::signals::Signals;

    fn trace(agent: &str, correct: bool, quality: f64) -> ObservedTrace {
        ObservedTrace {
            agents: vec![agent.to_owned()],
            signals: Signals {
                correct: Some(correct),
                quality: Some(quality),
                ..Signals::default()
            },
            ..ObservedTrace::default()
        }
    }

    #[test]
    fn a_judge_is_strict_or_lenient_where_it_errs_more_often_than_elsewhere() {
        let mut traces = vec![trace("greeter", true, 0.0); 8];
        traces.extend(vec![trace("other", true, 1.0); 19]);
        traces.push(trace("other", true, 0.0));
        traces.extend(vec![trace("seller", false, 1.0); 8]);
        traces.extend(vec![trace("other", false, 0.0); 20]);
        let shares = JudgeShares::of(&traces);
        assert!(shares.is_strict(Some("greeter"), None) && !shares.is_strict(Some("other"), None));
        assert!(shares.is_lenient(Some("seller"), None));
        assert!(!shares.is_lenient(Some("other"), None) && !shares.is_lenient(None, None));
    }

    #[test]
    fn a_judge_that_errs_everywhere_alike_is_not_changed_for_one_kind() {
        let both = |agent: &str| {
            [vec![trace(agent, true, 0.0); 5], vec![trace(agent, true, 1.0); 5]].concat()
        };
        let traces = [both("one"), both("other")].concat();
        assert!(!JudgeShares::of(&traces).is_strict(Some("one"), None));
    }
}
