use std::collections::BTreeMap;
use std::fmt;

use super::category::Category;
use crate::stats::bounded;
use crate::stats::interval::{Estimate, Interval, float, share};
use crate::stats::prediction_powered::{self, LabelledPrediction, Moments, PredictedStratum};
use crate::stats::prevalence::{JudgedPrevalence, corrected};
use crate::stats::stratified::{self, Stratum, WeightedValue};

/// Labels of a category from which on a normal interval is good enough.
const ENOUGH_FOR_NORMAL: usize = 30;

/// A person's answer about a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Review {
    pub correct: bool,
    /// The judge's score at draw time.
    pub quality: Option<f64>,
    /// Whether the trace became a dataset item.
    pub in_dataset: bool,
}

/// A category of a draw with the reviews of its sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewedStratum {
    pub category: Category,
    pub population: u64,
    /// The judge's scores of the whole category.
    pub quality: Moments,
    pub reviews: Vec<Review>,
}

/// An estimate for traffic, with the share of traffic that it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub estimate: Estimate,
    pub represents: f64,
}

/// Why a sample does not give an estimate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotEstimable {
    NoTraces,
    NothingReviewed,
    /// Categories with traces, and without a review.
    Unreviewed(Vec<Category>),
    /// The judge judged nothing.
    NotJudged,
    /// No trace of the sample is correct, or none is wrong.
    OneSided,
    /// The judge is no better than chance.
    UselessJudge,
}

impl NotEstimable {
    /// Returns the JSON name.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NoTraces => "no_traces",
            Self::NothingReviewed => "nothing_reviewed",
            Self::Unreviewed(_) => "unreviewed_categories",
            Self::NotJudged => "not_judged",
            Self::OneSided => "one_sided",
            Self::UselessJudge => "judge_no_better_than_chance",
        }
    }
}

impl fmt::Display for NotEstimable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTraces => f.write_str("no traces in this week"),
            Self::NothingReviewed => f.write_str("no trace of the sample is reviewed yet"),
            Self::Unreviewed(categories) => {
                let names: Vec<&str> = categories.iter().map(|one| one.as_str()).collect();
                write!(f, "no reviews in {}: review at least two of each", names.join(", "))
            }
            Self::NotJudged => f.write_str("no trace has a judge's verdict"),
            Self::OneSided => f.write_str("reviews are all correct or all wrong"),
            Self::UselessJudge => f.write_str("the judge is no better than chance"),
        }
    }
}

type Estimated<T> = Result<T, NotEstimable>;

/// Returns the share of correct traces of all traffic: post-stratified, with the MOVER interval over
/// Wilson's.
///
/// # Errors
/// A category with traces has no reviews: the sample says nothing about it.
pub fn agent_accuracy(strata: &[ReviewedStratum]) -> Estimated<Figure> {
    let known = complete(strata, |_| true)?;
    proportion(strata, &known, |_, review| review.correct)
}

/// Returns the share of judged traces where judge and people agree.
///
/// # Errors
/// A judged category has no reviews, or nothing is judged.
pub fn judge_accuracy(strata: &[ReviewedStratum]) -> Estimated<Figure> {
    let known = judged(strata)?;
    proportion(strata, &known, |category, review| category.judged_good() == Some(review.correct))
}

/// Returns agent accuracy with the judge's scores as predictions (stratified PPI++). It only helps
/// where scores follow correctness within a category, so it is never the headline.
///
/// # Errors
/// As [`agent_accuracy`].
pub fn predicted_accuracy(strata: &[ReviewedStratum]) -> Estimated<Figure> {
    let known = complete(strata, |_| true)?;
    let predicted = |stratum: &&ReviewedStratum| {
        let label = |review: &Review| LabelledPrediction {
            label: number(review.correct),
            prediction: review.quality.unwrap_or(0.0),
        };
        let judged = stratum.reviews.iter().filter_map(|review| review.quality);
        let rest = stratum.quality.without(judged);
        let unlabelled = stratum.population.saturating_sub(stratum.reviews.len() as u64);
        // Without scores a category's own mean is all there is: predictions are constant.
        let constant = Moments { count: unlabelled, sum: 0.0, squares: 0.0 };
        let is_judged = stratum.category.judged_good().is_some() && rest.count == unlabelled;
        PredictedStratum {
            labelled: stratum.reviews.iter().map(label).collect(),
            unlabelled: if is_judged { rest } else { constant },
        }
    };
    let predicted: Vec<_> = known.iter().map(predicted).collect();
    let estimate = prediction_powered::mean(&predicted, ENOUGH_FOR_NORMAL);
    let mut estimate = estimate.map_err(|_| NotEstimable::NothingReviewed)?;
    estimate.value = estimate.value.clamp(0.0, 1.0);
    Ok(Figure { estimate, represents: 1.0 })
}

/// How well the judge does on all judged traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeFigures {
    /// Share of correct traces that the judge calls good.
    pub sensitivity: Estimated<Estimate>,
    /// Share of wrong traces that the judge calls bad.
    pub specificity: Estimated<Estimate>,
    /// The judge's share of good traces, corrected for its errors (Rogan–Gladen).
    pub corrected_accuracy: Estimated<Estimate>,
}

/// Returns the judge's figures, weighted by inclusion probability.
pub fn judge_figures(strata: &[ReviewedStratum]) -> JudgeFigures {
    let known = match judged(strata) {
        Ok(known) => known,
        Err(why) => {
            return JudgeFigures {
                sensitivity: Err(why.clone()),
                specificity: Err(why.clone()),
                corrected_accuracy: Err(why),
            };
        }
    };
    let hits = |correct: bool| {
        let weighed = weighed(&known, correct);
        let effective = effective(&weighed);
        let estimate = stratified::hits(&weighed).map_err(|_| NotEstimable::OneSided);
        estimate.map(|estimate| (estimate, effective))
    };
    let (positive, negative) = (hits(true), hits(false));
    let corrected_accuracy = positive.clone().and_then(|(sensitivity, positives)| {
        let (specificity, negatives) = negative.clone()?;
        let (judged, n) = judged_good(&known);
        let of = JudgedPrevalence {
            judged,
            n,
            sensitivity: sensitivity.value,
            positives,
            specificity: specificity.value,
            negatives,
        };
        corrected(of).ok_or(NotEstimable::UselessJudge)
    });
    JudgeFigures {
        sensitivity: positive.map(|(estimate, _)| estimate),
        specificity: negative.map(|(estimate, _)| estimate),
        corrected_accuracy,
    }
}

/// Reviews of one true class with their weights, and whether the judge was right.
fn weighed(known: &[&ReviewedStratum], correct: bool) -> Vec<WeightedValue<bool>> {
    let of = |stratum: &&ReviewedStratum| {
        let weight = float(stratum.population) / float(stratum.reviews.len() as u64);
        let found = stratum.category.judged_good() == Some(correct);
        let count = stratum.reviews.iter().filter(|review| review.correct == correct).count();
        std::iter::repeat_n(WeightedValue { weight, found }, count)
    };
    known.iter().flat_map(of).collect()
}

/// Kish's effective sample size.
fn effective(weighed: &[WeightedValue<bool>]) -> f64 {
    let sum: f64 = weighed.iter().map(|one| one.weight).sum();
    let squares: f64 = weighed.iter().map(|one| one.weight * one.weight).sum();
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

/// The share of judged traces that the judge calls good, and their number.
fn judged_good(known: &[&ReviewedStratum]) -> (f64, f64) {
    let of = |good: Option<bool>| -> u64 {
        let those = known.iter().filter(|stratum| stratum.category.judged_good() == good);
        those.map(|stratum| stratum.population).sum()
    };
    let (good, bad) = (of(Some(true)), of(Some(false)));
    (float(good) / float(good + bad), float(good + bad))
}

fn judged(strata: &[ReviewedStratum]) -> Estimated<Vec<&ReviewedStratum>> {
    let is_judged = |category: Category| category.judged_good().is_some();
    match complete(strata, is_judged) {
        Err(NotEstimable::NoTraces) if strata.iter().any(|one| one.population > 0) => {
            Err(NotEstimable::NotJudged)
        }
        known => known,
    }
}

/// The strata with traces, all of which must have reviews.
fn complete(
    strata: &[ReviewedStratum],
    wanted: impl Fn(Category) -> bool,
) -> Estimated<Vec<&ReviewedStratum>> {
    let known = strata.iter().filter(|stratum| stratum.population > 0 && wanted(stratum.category));
    let known: Vec<&ReviewedStratum> = known.collect();
    if known.is_empty() {
        return Err(NotEstimable::NoTraces);
    }
    let bare = known.iter().filter(|stratum| stratum.reviews.is_empty());
    let mut bare: Vec<Category> = bare.map(|stratum| stratum.category).collect();
    if bare.len() == known.len() {
        return Err(NotEstimable::NothingReviewed);
    }
    bare.sort();
    bare.dedup();
    if bare.is_empty() { Ok(known) } else { Err(NotEstimable::Unreviewed(bare)) }
}

fn proportion(
    strata: &[ReviewedStratum],
    known: &[&ReviewedStratum],
    hit: impl Fn(Category, &Review) -> bool,
) -> Estimated<Figure> {
    let of = |stratum: &&ReviewedStratum| Stratum {
        population: stratum.population,
        values: stratum
            .reviews
            .iter()
            .map(|review| number(hit(stratum.category, review)))
            .collect(),
    };
    let sampled: Vec<Stratum> = known.iter().map(of).collect();
    let estimate = stratified::share(&sampled).map_err(|_| NotEstimable::NothingReviewed)?;
    let all: u64 = strata.iter().map(|stratum| stratum.population).sum();
    let known: u64 = known.iter().map(|stratum| stratum.population).sum();
    Ok(Figure { estimate, represents: float(known) / float(all) })
}

fn number(yes: bool) -> f64 {
    if yes { 1.0 } else { 0.0 }
}

/// Returns the change between two independent estimates, with the interval that follows from both
/// (MOVER); `None` where one has no interval.
pub fn change(earlier: &Estimate, later: &Estimate) -> Option<Estimate> {
    bounded::mover_difference(earlier, later)
}

/// Returns whether a change is more than sampling error.
pub fn is_signal(change: &Estimate) -> bool {
    change.interval.is_some_and(|Interval { lower, upper }| lower > 0.0 || upper < 0.0)
}

/// Measured figures of a category.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryFigures {
    pub category: Category,
    pub population: u64,
    pub reviewed: u64,
    /// Reviewed traces that are wrong.
    pub failures: u64,
    /// Share of correct traces.
    pub accuracy: Estimated<Estimate>,
    /// Share of reviews that led to a dataset item or showed an error of the judge.
    pub yielded: Option<Estimate>,
}

/// Returns the figures of each category that has traces; strata of several draws are merged.
pub fn categories(strata: &[ReviewedStratum]) -> Vec<CategoryFigures> {
    let mut merged: BTreeMap<Category, Vec<ReviewedStratum>> = BTreeMap::new();
    for stratum in strata.iter().filter(|stratum| stratum.population > 0) {
        merged.entry(stratum.category).or_default().push(stratum.clone());
    }
    let figures = |(category, strata): (Category, Vec<ReviewedStratum>)| {
        let reviews: Vec<&Review> = strata.iter().flat_map(|stratum| &stratum.reviews).collect();
        let taught = |review: &&&Review| {
            let judge_erred = category.judged_good().is_some_and(|good| good != review.correct);
            review.in_dataset || judge_erred
        };
        let count = |n: usize| n as u64;
        let yielded = count(reviews.iter().filter(taught).count());
        CategoryFigures {
            category,
            population: strata.iter().map(|stratum| stratum.population).sum(),
            reviewed: count(reviews.len()),
            failures: count(reviews.iter().filter(|review| !review.correct).count()),
            accuracy: agent_accuracy(&strata).map(|figure| figure.estimate),
            yielded: share(yielded, count(reviews.len())),
        }
    };
    merged.into_iter().map(figures).collect()
}

#[cfg(test)]
mod tests;
