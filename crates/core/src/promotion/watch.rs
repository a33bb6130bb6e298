use serde::{Deserialize, Serialize};

use crate::stats::float;
use crate::stats::sequential::SequentialTest;

/// Chance of an alarm on an unchanged agent, over all marks and however often one looks.
pub const ALPHA: f64 = 0.05;
/// Sessions before the promotion that a mark needs.
const LEAST_BEFORE: usize = 20;
/// Sessions after the promotion that the comparison is planned for.
const PLANNED: usize = 300;
/// Most sessions before the promotion that one after it is compared with.
const MAX_BLOCK: usize = 3;

/// What is compared, per session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Mean of the online evaluator's scores.
    Quality,
    /// Share of thumbs up.
    Thumbs,
    /// Sessions without an error.
    Errors,
    /// In seconds.
    Latency,
    /// In USD.
    Cost,
}

impl Mark {
    pub const ALL: [Self; 5] =
        [Self::Quality, Self::Thumbs, Self::Errors, Self::Latency, Self::Cost];

    /// Returns the title on pages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Quality => "Online score",
            Self::Thumbs => "Thumbs up",
            Self::Errors => "Sessions without errors",
            Self::Latency => "Latency",
            Self::Cost => "Cost",
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quality => "quality",
            Self::Thumbs => "thumbs",
            Self::Errors => "errors",
            Self::Latency => "latency",
            Self::Cost => "cost",
        }
    }

    /// Parses the name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mark| mark.as_str() == name)
    }

    /// Returns its part of the error rate against that of the others. The online score has most of it:
    /// it is what a promotion is about, and needs the fewest sessions for a drop of 15 points so.
    const fn weight(self) -> f64 {
        match self {
            Self::Quality => 16.0,
            Self::Thumbs | Self::Errors | Self::Latency | Self::Cost => 1.0,
        }
    }

    /// Whether values have no upper end, so that they are compared by rank.
    pub(super) const fn is_ranked(self) -> bool {
        matches!(self, Self::Latency | Self::Cost)
    }
}

/// The marks of a session, in the order of [`Mark::ALL`].
pub type SessionMarks = [Option<f64>; 5];

/// What became of one mark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarkResult {
    pub mark: Mark,
    pub before: Option<f64>,
    pub before_sessions: u32,
    pub after: Option<f64>,
    pub after_sessions: u32,
    /// Evidence that it became worse: 1 is none, `needed` is significant.
    pub evidence: f64,
    /// Evidence at which the mark counts as worse; `None` if it is not tested.
    pub needed: Option<f64>,
    pub is_worse: bool,
}

/// Production before and after a promotion.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchResult {
    pub marks: Vec<MarkResult>,
    pub sessions_before: u32,
    pub sessions_after: u32,
    /// Version of the evaluator whose scores were compared.
    #[serde(default)]
    pub evaluator: Option<String>,
}

impl WatchResult {
    /// Compares sessions before the promotion, newest first, with those after it, oldest first.
    ///
    /// Each session after it is compared with one to three sessions before it that were not used
    /// yet. Whether a mark is tested depends on the sessions before alone, so that the number of
    /// tests does not follow from their results.
    pub fn compare(before: &[SessionMarks], after: &[SessionMarks]) -> Self {
        let values = |sessions: &[SessionMarks], index: usize| -> Vec<f64> {
            sessions.iter().filter_map(|marks| marks[index]).filter(|v| v.is_finite()).collect()
        };
        let sides: Vec<(Mark, Vec<f64>, Vec<f64>)> = Mark::ALL
            .into_iter()
            .enumerate()
            .map(|(index, mark)| (mark, values(before, index), values(after, index)))
            .collect();
        let tested = sides.iter().filter(|(_, before, _)| before.len() >= LEAST_BEFORE);
        let all: f64 = tested.map(|(mark, _, _)| mark.weight()).sum();
        let level = |mark: Mark| ALPHA * mark.weight() / all.max(1.0);
        let marks = sides
            .into_iter()
            .map(|(mark, before, after)| compare_mark(mark, (&before, &after), level(mark)))
            .collect();
        Self {
            marks,
            sessions_before: count(before.len()),
            sessions_after: count(after.len()),
            evaluator: None,
        }
    }

    /// Returns whether a mark is significantly worse.
    pub fn is_worse(&self) -> bool {
        self.marks.iter().any(|mark| mark.is_worse)
    }

    /// Returns one sentence. It says "after", never "because": nothing was randomised.
    pub fn sentence(&self) -> String {
        let after = self.sessions_after;
        let worse: Vec<&str> =
            self.marks.iter().filter(|mark| mark.is_worse).map(|mark| mark.mark.title()).collect();
        if !worse.is_empty() {
            return format!(
                "significantly worse after the promotion: {}, over {after} sessions",
                worse.join(", ").to_lowercase()
            );
        }
        if self.marks.iter().all(|mark| mark.needed.is_none()) {
            return "there were too few sessions before the promotion to compare with".to_owned();
        }
        if after == 0 {
            return "no session after the promotion yet".to_owned();
        }
        format!("not significantly worse after the promotion, over {after} sessions")
    }
}

fn compare_mark(mark: Mark, (before, after): (&[f64], &[f64]), level: f64) -> MarkResult {
    let is_tested = before.len() >= LEAST_BEFORE;
    let mut test = SequentialTest::new();
    if is_tested {
        let block = (before.len() / PLANNED).clamp(1, MAX_BLOCK);
        for (now, then) in after.iter().zip(before.chunks_exact(block)) {
            test.add(worse_by(mark, *now, then));
        }
    }
    MarkResult {
        mark,
        before: mean(before),
        before_sessions: count(before.len()),
        after: mean(after),
        after_sessions: count(after.len()),
        evidence: test.highest(),
        needed: is_tested.then(|| 1.0 / level),
        is_worse: is_tested && test.is_rejected(level, 1),
    }
}

/// How much worse a session is than some before it, from -1 to 1.
fn worse_by(mark: Mark, now: f64, before: &[f64]) -> f64 {
    let one = |then: &f64| match mark.is_ranked() {
        true if now > *then => 1.0,
        true if now < *then => -1.0,
        true => 0.0,
        false => then.clamp(0.0, 1.0) - now.clamp(0.0, 1.0),
    };
    before.iter().map(one).sum::<f64>() / float(before.len().max(1))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / float(values.len()))
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(n: usize, quality: f64, latency: f64) -> Vec<SessionMarks> {
        vec![[Some(quality), None, Some(1.0), Some(latency), None]; n]
    }

    #[test]
    fn a_drop_is_found_and_named_and_an_unchanged_agent_is_not() {
        let before = sessions(300, 0.9, 1.0);
        let same = WatchResult::compare(&before, &sessions(300, 0.9, 1.0));
        assert!(!same.is_worse());
        assert_eq!(
            same.sentence(),
            "not significantly worse after the promotion, over 300 sessions"
        );
        let worse = WatchResult::compare(&before, &sessions(100, 0.4, 1.0));
        assert_eq!(
            worse.sentence(),
            "significantly worse after the promotion: online score, over 100 sessions"
        );
        // Three of five marks have sessions before: they share the error rate, 16 to 1 to 1.
        assert_eq!(worse.marks[0].needed.map(f64::round), Some(23.0));
        assert_eq!(worse.marks[2].needed.map(f64::round), Some(360.0));
        let slow = WatchResult::compare(&before, &sessions(100, 0.9, 1.5));
        assert!(slow.sentence().contains("latency"));
    }

    #[test]
    fn a_mark_without_sessions_before_is_not_tested() {
        let found = WatchResult::compare(&sessions(19, 0.9, 1.0), &sessions(300, 0.0, 9.0));
        assert!(!found.is_worse());
        assert!(found.sentence().starts_with("there were too few sessions"));
    }
}
