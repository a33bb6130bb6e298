//! Calibration: agreement between a judge's scores and human labels.
//!
//! The judge's first score of a session counts. A later one, given after people had disagreed,
//! would measure its adaptation instead.

/// Drafts of improved criteria.
pub mod draft;
/// Comparison of a judge before and after a change.
pub mod change;
/// Drift of a judge over time.
pub mod drift;
/// The fixed panel of sessions that is judged every week.
pub mod panel;
/// Weighted agreement: estimates for all sessions from a sample.
pub mod weighted;
/// What a calibration means, in a sentence.
pub mod advice;

use std::collections::BTreeMap;

pub use crate::judge::rubric::OVERALL;

use crate::id::SessionId;
use crate::judge::rubric::{Dimension, MARKS, Rubric, Scale};
use crate::quality::label::LabelOrigin;
use crate::stats::agreement::{self, RatingPair};
use crate::stats::alpha::{Distance, alpha};
use crate::stats::categories::{Confusion, Weighting};
use crate::stats::interval::{Estimate, mean};
use crate::stats::undefined::Undefined;
use weighted::WeightedAgreement;

/// The target correlation of judge and human labels.
pub const TARGET: f64 = 0.8;
/// Labelled sessions needed to measure a judge's agreement with people: with fewer, a
/// correlation says more about chance than about the judge.
pub const MIN_LABELS: usize = 30;
/// The maximum acceptable difference of scores.
pub const THRESHOLD: f64 = 0.2;
/// Scores below are problems that a judge has to find; same threshold as the weekly suggestions.
pub const PROBLEM: f64 = 0.7;

/// An estimate with its interval, or why it is undefined.
pub type Statistic = Result<Estimate, Undefined>;

/// Scores of a session by dimension, each from 0 to 1.
pub type Marks = BTreeMap<String, f64>;

/// The judge's score and the human labels of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledSession {
    pub session: SessionId,
    /// The judge's first scores, with [`OVERALL`] where it was given.
    pub judge: Marks,
    pub people: Vec<Marks>,
    /// The sampling design; `None` where a person chose the session.
    pub drawn: Option<LabelOrigin>,
}

/// A calibration report.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Sessions with both a judge's score and a label.
    pub sessions: u64,
    pub overall: Agreement,
    /// Weighted by sampling probability; `None` where no session was sampled.
    pub weighted: Option<WeightedAgreement>,
    /// In the rubric's order.
    pub dimensions: Vec<Agreement>,
    /// Whether the correlation reaches [`TARGET`].
    pub target: ThresholdResult,
    /// The maximum acceptable difference of scores.
    pub threshold: f64,
    /// Sessions by disagreement, largest first.
    pub apart: Vec<DisagreedSession>,
}

/// The figures of a calibration that come first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headline {
    /// Sessions with both an overall score and a label.
    pub labels: u64,
    /// Whether the figures are estimates for all sessions.
    pub is_weighted: bool,
    pub correlation: Statistic,
    /// Mean absolute error.
    pub error: Statistic,
    /// Mean difference, judge minus people.
    pub bias: Statistic,
}

/// Agreement on one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    pub dimension: String,
    /// Both ratings, by session.
    pub pairs: Vec<(SessionId, RatingPair)>,
    pub pearson: Statistic,
    pub spearman: Statistic,
    /// Mean absolute error.
    pub error: Statistic,
    /// Mean difference, judge minus people.
    pub bias: Statistic,
    /// 95% limits of agreement.
    pub limits: Result<(Estimate, Estimate), Undefined>,
    /// The share of human-labelled problems that the judge finds.
    pub sensitivity: Statistic,
    /// The share of sessions without problems that the judge recognises.
    pub specificity: Statistic,
    /// For ordered scales.
    pub grades: Option<Grades>,
    /// Agreement among people, where several labelled the same sessions.
    pub people: Statistic,
    /// Whether the mean difference exceeds the threshold.
    pub standing: ThresholdResult,
}

/// Agreement on grades.
#[derive(Clone, Debug, PartialEq)]
pub struct Grades {
    /// Worst first.
    pub labels: Vec<String>,
    /// Rows are people, columns the judge.
    pub confusion: Confusion,
    /// Observed agreement.
    pub agreement: Statistic,
    /// Cohen's kappa.
    pub kappa: Statistic,
    /// Weighted kappa: near misses count partly.
    pub weighted_kappa: Statistic,
    /// Gwet's AC1, robust where one grade is rare.
    pub ac1: Statistic,
}

/// Whether an estimate meets a threshold, given its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdResult {
    /// The whole interval meets it.
    Met,
    /// The whole interval misses it.
    NotMet,
    /// The interval includes the threshold, or is undefined.
    CannotTell,
}

/// A session on which judge and people disagree.
#[derive(Clone, Debug, PartialEq)]
pub struct DisagreedSession {
    pub session: SessionId,
    /// Mean absolute difference over the dimensions.
    pub distance: f64,
    /// Both ratings by dimension, largest difference first.
    pub marks: Vec<(String, RatingPair)>,
}

impl ThresholdResult {
    /// Returns the JSON name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not_met",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// Tests whether an estimate is at least `line`.
    pub fn at_least(statistic: Statistic, line: f64) -> Self {
        match statistic.ok().and_then(|estimate| estimate.interval) {
            Some(interval) if interval.lower >= line => Self::Met,
            Some(interval) if interval.upper < line => Self::NotMet,
            Some(_) | None => Self::CannotTell,
        }
    }

    /// Tests whether an estimate is at most `line`.
    pub fn at_most(statistic: Statistic, line: f64) -> Self {
        match statistic.ok().and_then(|estimate| estimate.interval) {
            Some(interval) if interval.upper <= line => Self::Met,
            Some(interval) if interval.lower > line => Self::NotMet,
            Some(_) | None => Self::CannotTell,
        }
    }
}

impl Calibration {
    /// Returns the correlation of judge and people: weighted where sessions were sampled, else
    /// unweighted.
    ///
    /// # Errors
    /// Fewer than [`MIN_LABELS`] labels, or a constant side.
    pub fn correlation(&self) -> Statistic {
        self.headline().correlation
    }

    /// Returns the figures that come first: weighted where sessions were sampled, else unweighted.
    pub fn headline(&self) -> Headline {
        let overall = &self.overall;
        let weighted = self.weighted.as_ref().filter(|_| self.is_weighted());
        let [correlation, error, bias] = match weighted {
            Some(all) => [all.pearson, all.error, all.bias],
            None => [overall.pearson, overall.error, overall.bias],
        };
        let labels = overall.pairs.len();
        let enough = Undefined::check(labels, MIN_LABELS);
        let if_enough = |statistic: Statistic| enough.and(statistic);
        Headline {
            labels: labels as u64,
            is_weighted: weighted.is_some(),
            correlation: if_enough(correlation),
            error: if_enough(error),
            bias: if_enough(bias),
        }
    }

    /// Returns whether [`Calibration::correlation`] is weighted.
    pub fn is_weighted(&self) -> bool {
        self.weighted.as_ref().is_some_and(|weighted| weighted.pearson.is_ok())
    }
}

impl Agreement {
    /// Returns whether the mean difference exceeds the threshold, significant or not.
    ///
    /// A draft is only a proposal, so a point estimate is enough.
    pub fn exceeds(&self, threshold: f64) -> bool {
        self.error.is_ok_and(|error| error.value > threshold)
    }

    /// Returns the sessions whose difference exceeds the threshold, largest first.
    pub fn beyond(&self, threshold: f64) -> Vec<(&SessionId, RatingPair)> {
        let far = self.pairs.iter().filter(|(_, pair)| distance(*pair) > threshold);
        let mut far: Vec<_> = far.map(|(session, pair)| (session, *pair)).collect();
        far.sort_by(|(_, one), (_, other)| distance(*other).total_cmp(&distance(*one)));
        far
    }

    fn of(
        dimension: Option<&Dimension>,
        name: &str,
        cases: &[LabelledSession],
        threshold: f64,
    ) -> Self {
        let scale = dimension.map_or(&Scale::Numeric, |dimension| &dimension.scale);
        let pair = |case: &LabelledSession| {
            let judge = *case.judge.get(name)?;
            let human = combined_label(scale, &marks(case, name))?;
            Some((case.session.clone(), RatingPair { human, judge }))
        };
        let pairs: Vec<_> = cases.iter().filter_map(pair).collect();
        let rated: Vec<RatingPair> = pairs.iter().map(|(_, pair)| *pair).collect();
        let limits = agreement::limits(&rated);
        let problems =
            Confusion::of(2, rated.iter().map(|pair| (well(pair.human), well(pair.judge))));
        let error = agreement::mean_absolute_error(&rated);
        Self {
            dimension: name.to_owned(),
            pearson: agreement::pearson(&rated),
            spearman: agreement::spearman(&rated),
            error,
            bias: agreement::bias(&rated),
            limits: limits.map(|limits| (limits.lower, limits.upper)),
            sensitivity: problems.found(0),
            specificity: problems.spared(0),
            grades: Grades::of(scale, &rated),
            people: among_people(scale, name, cases),
            standing: ThresholdResult::at_most(error, threshold),
            pairs,
        }
    }
}

impl Grades {
    fn of(scale: &Scale, pairs: &[RatingPair]) -> Option<Self> {
        let Scale::Ordered(grades) = scale else { return None };
        let grade_index = |value: f64| grade_index(scale, value).unwrap_or_default();
        let verdicts = pairs.iter().map(|pair| (grade_index(pair.human), grade_index(pair.judge)));
        let confusion = Confusion::of(grades.len(), verdicts);
        Some(Self {
            labels: grades.iter().map(|grade| grade.label.clone()).collect(),
            agreement: confusion.agreement(),
            kappa: confusion.kappa(Weighting::Same),
            weighted_kappa: confusion.kappa(Weighting::Quadratic),
            ac1: confusion.ac1(),
            confusion,
        })
    }
}

/// Computes the calibration report. Scores of dimensions that are not in the rubric are ignored.
pub fn report(rubric: &Rubric, cases: &[LabelledSession], threshold: f64) -> Calibration {
    report_of_sample(rubric, cases, &[], threshold)
}

/// Computes the same, with all sessions that were drawn for labelling: those without a label say
/// what the figures do not stand for.
pub fn report_of_sample(
    rubric: &Rubric,
    cases: &[LabelledSession],
    drawn: &[LabelOrigin],
    threshold: f64,
) -> Calibration {
    let cases: Vec<LabelledSession> = cases.iter().map(|case| completed(rubric, case)).collect();
    let overall = Agreement::of(None, OVERALL, &cases, threshold);
    let of =
        |dimension: &Dimension| Agreement::of(Some(dimension), &dimension.name, &cases, threshold);
    let dimensions: Vec<Agreement> = rubric.dimensions.iter().map(of).collect();
    let apart = apart(&dimensions);
    let draws = cases.iter().filter_map(|case| Some((&case.session, case.drawn.as_ref()?)));
    let weighted = WeightedAgreement::of(&overall.pairs, (&draws.collect(), drawn), threshold);
    let mut report = Calibration {
        sessions: apart.len() as u64,
        target: ThresholdResult::CannotTell,
        overall,
        weighted,
        dimensions,
        threshold,
        apart,
    };
    report.target = ThresholdResult::at_least(report.correlation(), TARGET);
    report
}

/// Adds an overall score where it is missing.
fn completed(rubric: &Rubric, case: &LabelledSession) -> LabelledSession {
    let complete = |marks: &Marks| {
        let mut marks = marks.clone();
        if !marks.contains_key(OVERALL)
            && let Some(overall) = overall(rubric, &marks)
        {
            marks.insert(OVERALL.to_owned(), overall);
        }
        marks
    };
    LabelledSession {
        session: case.session.clone(),
        judge: complete(&case.judge),
        people: case.people.iter().map(complete).collect(),
        drawn: case.drawn.clone(),
    }
}

/// Returns the overall score: the weighted mean. The weight of missing dimensions is distributed
/// over the others; `None` where all are missing.
pub fn overall(rubric: &Rubric, marks: &Marks) -> Option<f64> {
    let weighed = rubric.dimensions.iter().filter_map(|dimension| {
        marks.get(&dimension.name).map(|mark| (dimension.weight, dimension.weight * mark))
    });
    let (weight, sum) = weighed.fold((0.0, 0.0), |(weight, sum), (w, m)| (weight + w, sum + m));
    (weight > 0.0).then(|| sum / weight)
}

fn marks(case: &LabelledSession, dimension: &str) -> Vec<f64> {
    case.people.iter().filter_map(|marks| marks.get(dimension).copied()).collect()
}

/// Combines the labels of several people: mean of numbers, median of grades, the worse of two
/// medians.
fn combined_label(scale: &Scale, marks: &[f64]) -> Option<f64> {
    match scale {
        Scale::Numeric => mean(marks).ok().map(|mean| mean.value),
        Scale::Ordered(_) => {
            let mut sorted = marks.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted.get(sorted.len().saturating_sub(1) / 2).copied()
        }
    }
}

fn among_people(scale: &Scale, dimension: &str, cases: &[LabelledSession]) -> Statistic {
    let things: Vec<Vec<f64>> = cases.iter().map(|case| marks(case, dimension)).collect();
    let distance = match scale {
        Scale::Numeric => Distance::Interval,
        Scale::Ordered(_) => Distance::Ordinal,
    };
    alpha(&things, distance)
}

/// Returns the score of a number on a scale: itself, or the value of the nearest grade. `None`
/// outside 0 to 1.
pub fn mark_of(scale: &Scale, number: f64) -> Option<f64> {
    if !MARKS.contains(&number) {
        return None;
    }
    match scale {
        Scale::Numeric => Some(number),
        Scale::Ordered(grades) => {
            grade_index(scale, number).and_then(|at| grades.get(at)).map(|grade| grade.value)
        }
    }
}

/// Returns the index of the nearest grade, since other programs round.
fn grade_index(scale: &Scale, value: f64) -> Option<usize> {
    let Scale::Ordered(grades) = scale else { return None };
    let far = |value_of: f64| (value_of - value).abs();
    let near =
        grades.iter().enumerate().min_by(|(_, a), (_, b)| far(a.value).total_cmp(&far(b.value)));
    near.map(|(at, _)| at)
}

fn distance(pair: RatingPair) -> f64 {
    (pair.judge - pair.human).abs()
}

/// 0 for a problem, 1 for none.
fn well(mark: f64) -> usize {
    usize::from(mark >= PROBLEM)
}

fn apart(dimensions: &[Agreement]) -> Vec<DisagreedSession> {
    let mut sessions: BTreeMap<&SessionId, Vec<(String, RatingPair)>> = BTreeMap::new();
    for agreement in dimensions {
        for (session, pair) in &agreement.pairs {
            sessions.entry(session).or_default().push((agreement.dimension.clone(), *pair));
        }
    }
    let one = |(session, mut marks): (&SessionId, Vec<(String, RatingPair)>)| {
        marks.sort_by(|(_, one), (_, other)| distance(*other).total_cmp(&distance(*one)));
        let distances: Vec<f64> = marks.iter().map(|(_, pair)| distance(*pair)).collect();
        let distance = mean(&distances).map_or(0.0, |mean| mean.value);
        DisagreedSession { session: session.clone(), distance, marks }
    };
    let mut apart: Vec<DisagreedSession> = sessions.into_iter().map(one).collect();
    apart.sort_by(|one, other| other.distance.total_cmp(&one.distance));
    apart
}

#[cfg(test)]
mod tests;
