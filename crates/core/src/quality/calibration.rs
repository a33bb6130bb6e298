//! How far a judge is to be trusted: what it said of sessions, held against what people say.
//!
//! The judge stands with the first mark that it gave a session. A mark that was given again after
//! people had disagreed would only show that it listened.

/// Which sessions people are asked about.
pub mod sample;
/// What a judge should be told instead.
pub mod draft;
/// Whether a change made it better.
pub mod change;
/// Whether a judge still says what it used to say.
pub mod drift;
/// Sessions that are judged again and again.
pub mod panel;
/// What the labelled sessions say of all.
pub mod weighted;

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

/// How closely the judge should follow people overall.
pub const TARGET: f64 = 0.8;
/// How far marks may lie apart before a judge is to be told something else.
pub const THRESHOLD: f64 = 0.2;
/// Marks under this are problems, which a judge has to find: the line of the weekly suggestions.
pub const PROBLEM: f64 = 0.7;

/// A number with its interval, or why there is none.
pub type Statistic = Result<Estimate, Undefined>;

/// The marks of a session by dimension, each from 0 to 1.
pub type Marks = BTreeMap<String, f64>;

/// What a judge and people say of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct Opinions {
    pub session: SessionId,
    /// What the judge said first. Holds [`OVERALL`] where it was given.
    pub judge: Marks,
    /// What each of the people says.
    pub people: Vec<Marks>,
    /// How it came to be labelled; `None` where somebody chose it.
    pub drawn: Option<LabelOrigin>,
}

/// How far a judge is to be trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// How many sessions both have spoken of.
    pub sessions: u64,
    pub overall: Agreement,
    /// The same by what each session stands for; `None` where none was drawn by rule.
    pub weighted: Option<WeightedAgreement>,
    /// On each dimension, in the rubric's order.
    pub dimensions: Vec<Agreement>,
    /// Whether the judge follows people as closely as [`TARGET`] asks.
    pub target: Standing,
    /// How far marks may lie apart.
    pub threshold: f64,
    /// The sessions, those first whose marks lie furthest apart.
    pub apart: Vec<DisagreedSession>,
}

/// How far a judge and people agree on one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    pub dimension: String,
    /// What both said, session by session.
    pub pairs: Vec<(SessionId, RatingPair)>,
    /// How closely they follow one line.
    pub pearson: Statistic,
    /// How closely they put sessions into the same order.
    pub spearman: Statistic,
    /// How far apart they are on average.
    pub error: Statistic,
    /// How much more than people the judge gives.
    pub bias: Statistic,
    /// What 95 of 100 differences lie above, and below.
    pub limits: Result<(Estimate, Estimate), Undefined>,
    /// How many of the problems that people see the judge finds.
    pub sensitivity: Statistic,
    /// How many of the sessions that people find well the judge does, too.
    pub specificity: Statistic,
    /// On an ordered scale, grade by grade.
    pub grades: Option<Grades>,
    /// How far people agree among themselves, where several looked at the same sessions.
    pub people: Statistic,
    /// Whether they lie apart by more than the threshold, on average.
    pub standing: Standing,
}

/// How far a judge and people give the same grades.
#[derive(Clone, Debug, PartialEq)]
pub struct Grades {
    /// The grades, from worst to best.
    pub labels: Vec<String>,
    /// How often the judge gave which grade where people gave which.
    pub confusion: Confusion,
    /// How often they give the same.
    pub agreement: Statistic,
    /// The same beyond chance, by Cohen.
    pub kappa: Statistic,
    /// The same where near misses count for something.
    pub weighted_kappa: Statistic,
    /// The same by Gwet, who holds where one grade is rare.
    pub ac1: Statistic,
}

/// Whether a line is kept, as far as the numbers can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The whole interval is on the right side of it.
    Met,
    /// The whole interval is on the wrong side of it.
    NotMet,
    /// The interval lies across it, or there is none.
    CannotTell,
}

/// A session of which a judge and people think differently.
#[derive(Clone, Debug, PartialEq)]
pub struct DisagreedSession {
    pub session: SessionId,
    /// How far their marks lie apart, as the mean over the dimensions.
    pub distance: f64,
    /// What both said of each dimension, the furthest apart first.
    pub marks: Vec<(String, RatingPair)>,
}

impl Standing {
    /// The word for it in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not_met",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// Whether a number is surely at least `line`.
    pub fn at_least(statistic: Statistic, line: f64) -> Self {
        match statistic.ok().and_then(|estimate| estimate.interval) {
            Some(interval) if interval.lower >= line => Self::Met,
            Some(interval) if interval.upper < line => Self::NotMet,
            Some(_) | None => Self::CannotTell,
        }
    }

    /// Whether a number is surely at most `line`.
    pub fn at_most(statistic: Statistic, line: f64) -> Self {
        match statistic.ok().and_then(|estimate| estimate.interval) {
            Some(interval) if interval.upper <= line => Self::Met,
            Some(interval) if interval.lower > line => Self::NotMet,
            Some(_) | None => Self::CannotTell,
        }
    }
}

impl Calibration {
    /// How closely the judge follows people, as far as the labels can tell of all sessions: by
    /// weights where sessions were drawn, and plainly where they were not.
    ///
    /// # Errors
    /// Too few were labelled, or one side always says the same.
    pub fn correlation(&self) -> Statistic {
        let weighted = self.weighted.as_ref().and_then(|weighted| weighted.pearson.ok());
        weighted.map_or(self.overall.pearson, Ok)
    }

    /// Whether [`Calibration::correlation`] is by weights.
    pub fn is_weighted(&self) -> bool {
        self.weighted.as_ref().is_some_and(|weighted| weighted.pearson.is_ok())
    }
}

impl Agreement {
    /// Whether they lie apart by more than the threshold on average, surely or not.
    ///
    /// What is drafted then is only a proposal, so a suspicion is enough.
    pub fn exceeds(&self, threshold: f64) -> bool {
        self.error.is_ok_and(|error| error.value > threshold)
    }

    /// The sessions whose marks lie apart by more than the threshold, the furthest first.
    pub fn beyond(&self, threshold: f64) -> Vec<(&SessionId, RatingPair)> {
        let far = self.pairs.iter().filter(|(_, pair)| distance(*pair) > threshold);
        let mut far: Vec<_> = far.map(|(session, pair)| (session, *pair)).collect();
        far.sort_by(|(_, one), (_, other)| distance(*other).total_cmp(&distance(*one)));
        far
    }

    fn of(dimension: Option<&Dimension>, name: &str, cases: &[Opinions], threshold: f64) -> Self {
        let scale = dimension.map_or(&Scale::Numeric, |dimension| &dimension.scale);
        let pair = |case: &Opinions| {
            let judge = *case.judge.get(name)?;
            let human = agreed(scale, &marks(case, name))?;
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
            bias: mean(&differences(&rated)),
            limits: limits.map(|limits| (limits.lower, limits.upper)),
            sensitivity: problems.found(0),
            specificity: problems.spared(0),
            grades: Grades::of(scale, &rated),
            people: among_people(scale, name, cases),
            standing: Standing::at_most(error, threshold),
            pairs,
        }
    }
}

impl Grades {
    fn of(scale: &Scale, pairs: &[RatingPair]) -> Option<Self> {
        let Scale::Ordered(grades) = scale else { return None };
        let place = |value: f64| place(scale, value).unwrap_or_default();
        let verdicts = pairs.iter().map(|pair| (place(pair.human), place(pair.judge)));
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

/// Returns how far a judge is to be trusted. Marks of dimensions that the rubric does not have are
/// passed over.
pub fn report(rubric: &Rubric, cases: &[Opinions], threshold: f64) -> Calibration {
    let cases: Vec<Opinions> = cases.iter().map(|case| completed(rubric, case)).collect();
    let overall = Agreement::of(None, OVERALL, &cases, threshold);
    let of =
        |dimension: &Dimension| Agreement::of(Some(dimension), &dimension.name, &cases, threshold);
    let dimensions: Vec<Agreement> = rubric.dimensions.iter().map(of).collect();
    let apart = apart(&dimensions);
    let draws = cases.iter().filter_map(|case| Some((&case.session, case.drawn.as_ref()?)));
    let weighted = WeightedAgreement::of(&overall.pairs, &draws.collect(), threshold);
    let mut report = Calibration {
        sessions: apart.len() as u64,
        target: Standing::CannotTell,
        overall,
        weighted,
        dimensions,
        threshold,
        apart,
    };
    report.target = Standing::at_least(report.correlation(), TARGET);
    report
}

/// The case with an overall mark for everyone who gave none.
fn completed(rubric: &Rubric, case: &Opinions) -> Opinions {
    let complete = |marks: &Marks| {
        let mut marks = marks.clone();
        if !marks.contains_key(OVERALL)
            && let Some(overall) = overall(rubric, &marks)
        {
            marks.insert(OVERALL.to_owned(), overall);
        }
        marks
    };
    Opinions {
        session: case.session.clone(),
        judge: complete(&case.judge),
        people: case.people.iter().map(complete).collect(),
        drawn: case.drawn.clone(),
    }
}

/// Returns the overall mark: the marks by their weights. Dimensions without a mark share their
/// weight among the others; `None` where none has one.
pub fn overall(rubric: &Rubric, marks: &Marks) -> Option<f64> {
    let weighed = rubric.dimensions.iter().filter_map(|dimension| {
        marks.get(&dimension.name).map(|mark| (dimension.weight, dimension.weight * mark))
    });
    let (weight, sum) = weighed.fold((0.0, 0.0), |(weight, sum), (w, m)| (weight + w, sum + m));
    (weight > 0.0).then(|| sum / weight)
}

fn marks(case: &Opinions, dimension: &str) -> Vec<f64> {
    case.people.iter().filter_map(|marks| marks.get(dimension).copied()).collect()
}

/// What people say together: the mean of numbers, the middle of grades, the worse of two middles.
fn agreed(scale: &Scale, marks: &[f64]) -> Option<f64> {
    match scale {
        Scale::Numeric => mean(marks).ok().map(|mean| mean.value),
        Scale::Ordered(_) => {
            let mut sorted = marks.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted.get(sorted.len().saturating_sub(1) / 2).copied()
        }
    }
}

fn among_people(scale: &Scale, dimension: &str, cases: &[Opinions]) -> Statistic {
    let things: Vec<Vec<f64>> = cases.iter().map(|case| marks(case, dimension)).collect();
    let distance = match scale {
        Scale::Numeric => Distance::Interval,
        Scale::Ordered(_) => Distance::Ordinal,
    };
    alpha(&things, distance)
}

/// Returns the mark that a number is on a scale: itself, or the value of the nearest grade. `None`
/// outside 0 to 1.
pub fn mark_of(scale: &Scale, number: f64) -> Option<f64> {
    if !MARKS.contains(&number) {
        return None;
    }
    match scale {
        Scale::Numeric => Some(number),
        Scale::Ordered(grades) => {
            place(scale, number).and_then(|at| grades.get(at)).map(|grade| grade.value)
        }
    }
}

/// Which grade a mark is: the nearest, since other programs round.
fn place(scale: &Scale, value: f64) -> Option<usize> {
    let Scale::Ordered(grades) = scale else { return None };
    let far = |value_of: f64| (value_of - value).abs();
    let near =
        grades.iter().enumerate().min_by(|(_, a), (_, b)| far(a.value).total_cmp(&far(b.value)));
    near.map(|(at, _)| at)
}

fn differences(pairs: &[RatingPair]) -> Vec<f64> {
    pairs.iter().map(|pair| pair.judge - pair.human).collect()
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
