use std::collections::{BTreeMap, BTreeSet};

use super::check::{self, CrossCheck};
use super::model::SuccessModel;
use super::{SCORE, SessionFeatures};
use crate::judge::offline::signals::SignalSet;
use crate::stats::float;
use crate::stats::logistic::{Logistic, Standardisation};

/// The minimum number of labels.
pub const MIN_LABELS: usize = 30;
/// The minimum number of labels of each outcome.
pub const MIN_OF_EACH: usize = 5;
/// The minimum number of different tasks.
const MIN_GROUPS: usize = 5;
/// A feature that differs from its usual value in fewer sessions is left out.
const MIN_SEEN: usize = 3;
/// Penalties to choose from, on standardised features.
const PENALTIES: [f64; 5] = [2.0, 6.0, 20.0, 60.0, 200.0];
/// The penalty of the judge's own score against that of single signals: it already sums them up.
const SCORE_PENALTY: f64 = 0.1;
/// Folds by which a penalty is chosen.
const INNER_FOLDS: usize = 5;

/// The features of a session that people labelled.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledFeatures {
    pub features: SessionFeatures,
    pub is_success: bool,
}

/// A fitted model, and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct SuccessFit {
    pub model: SuccessModel,
    pub check: CrossCheck,
}

/// Why nothing was fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFitted {
    #[error("{have} of {MIN_LABELS} labels needed")]
    TooFew { have: usize },
    #[error(
        "{successes} of {labels} labelled sessions are a success; at least {MIN_OF_EACH} of each outcome are needed"
    )]
    OneSided { successes: usize, labels: usize },
    #[error("all labelled sessions are about {tasks} tasks; at least {MIN_GROUPS} are needed")]
    FewTasks { tasks: usize },
}

/// Fits P(success) to labels, and checks it by cross-validation. The same labels give the same fit,
/// in any order.
///
/// # Errors
/// There are too few labels, of one of the outcomes or in all.
pub fn fit(
    set: &SignalSet,
    rubric: &str,
    labelled: &[LabelledFeatures],
) -> Result<SuccessFit, NotFitted> {
    let mut sessions: Vec<&LabelledFeatures> = labelled.iter().collect();
    sessions.sort_by(|one, other| {
        let key = |it: &LabelledFeatures| (it.features.group.clone(), it.is_success);
        key(one).cmp(&key(other)).then_with(|| {
            let values = |it: &LabelledFeatures| format!("{:?}", it.features.values);
            values(one).cmp(&values(other))
        })
    });
    let labels = sessions.len();
    if labels < MIN_LABELS {
        return Err(NotFitted::TooFew { have: labels });
    }
    let successes = sessions.iter().filter(|one| one.is_success).count();
    if successes.min(labels - successes) < MIN_OF_EACH {
        return Err(NotFitted::OneSided { successes, labels });
    }
    let groups = groups(&sessions);
    let tasks = groups.iter().collect::<BTreeSet<_>>().len();
    if tasks < MIN_GROUPS {
        return Err(NotFitted::FewTasks { tasks });
    }
    let check = check::cross_check(&sessions, &groups);
    let fitted = Fitted::of(&sessions, &groups);
    let mut model = SuccessModel::new(&fitted.logistic, fitted.features, set, rubric);
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    (model.labels, model.successes) = (count(labels), count(successes));
    model.checked = check.sentence();
    Ok(SuccessFit { model, check })
}

fn groups(sessions: &[&LabelledFeatures]) -> Vec<usize> {
    tasks_of(sessions.iter().map(|session| session.features.group.as_str()))
}

/// Numbers the tasks of sessions by their first requests. A session without a request is a task of
/// its own.
pub(in crate::judge::offline) fn tasks_of<'a>(
    requests: impl Iterator<Item = &'a str>,
) -> Vec<usize> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next = 0;
    let mut groups = Vec::new();
    for text in requests {
        let group = known.get(text).copied().filter(|_| !text.is_empty()).unwrap_or(next);
        known.insert(text, group);
        next += usize::from(group == next);
        groups.push(group);
    }
    groups
}

/// A regression on the features that vary.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    features: Vec<(String, Standardisation)>,
    logistic: Logistic,
}

impl Fitted {
    /// Fits with the penalty that predicts other tasks best.
    pub(super) fn of(sessions: &[&LabelledFeatures], groups: &[usize]) -> Self {
        let loss = |penalty: &f64| -> f64 {
            let folds = (0..INNER_FOLDS).map(|fold| {
                let is_held = |group: usize| group % INNER_FOLDS == fold;
                let (train, _) = split(sessions, groups, &is_held, false);
                let (test, _) = split(sessions, groups, &is_held, true);
                let fitted = Self::with(&train, *penalty);
                test.iter().map(|it| log_loss(fitted.probability(it), it.is_success)).sum::<f64>()
            });
            folds.sum()
        };
        let losses = PENALTIES.map(|penalty| loss(&penalty));
        let best = PENALTIES.iter().zip(losses).min_by(|one, other| one.1.total_cmp(&other.1));
        Self::with(sessions, best.map_or(PENALTIES[PENALTIES.len() - 1], |(penalty, _)| *penalty))
    }

    fn with(sessions: &[&LabelledFeatures], penalty: f64) -> Self {
        let names: BTreeSet<&String> =
            sessions.iter().flat_map(|it| it.features.values.keys()).collect();
        let features: Vec<(String, Standardisation)> = names
            .into_iter()
            .filter(|name| varies(sessions, name))
            .map(|name| {
                let values = sessions.iter().filter_map(|it| it.features.values.get(name).copied());
                (name.clone(), Standardisation::of(values))
            })
            .collect();
        let rows: Vec<Vec<f64>> = sessions.iter().map(|it| row(&features, &it.features)).collect();
        let outcomes: Vec<bool> = sessions.iter().map(|it| it.is_success).collect();
        let penalties: Vec<f64> = features
            .iter()
            .map(|(name, _)| if name == SCORE { penalty * SCORE_PENALTY } else { penalty })
            .collect();
        let logistic = Logistic::fit(&rows, &outcomes, &penalties).unwrap_or_else(|_| Logistic {
            // All outcomes of a fold are the same.
            intercept: log_odds(smoothed_share(sessions)),
            weights: vec![0.0; penalties.len()],
        });
        Self { features, logistic }
    }

    /// Returns the probability of success of a session.
    pub(super) fn probability(&self, session: &LabelledFeatures) -> f64 {
        self.logistic.probability(&row(&self.features, &session.features))
    }
}

/// Returns whether enough sessions differ from the most frequent value.
fn varies(sessions: &[&LabelledFeatures], name: &str) -> bool {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for value in sessions.iter().filter_map(|it| it.features.values.get(name)) {
        *counts.entry(value.to_bits()).or_default() += 1;
    }
    let all: usize = counts.values().sum();
    all - counts.values().max().copied().unwrap_or(0) >= MIN_SEEN
}

fn row(features: &[(String, Standardisation)], session: &SessionFeatures) -> Vec<f64> {
    let value = |(name, standard): &(String, Standardisation)| {
        standard.apply(session.values.get(name).copied())
    };
    features.iter().map(value).collect()
}

/// Returns the sessions whose task is held out, or those whose task is not, with their tasks.
pub(super) fn split<'a>(
    sessions: &[&'a LabelledFeatures],
    groups: &[usize],
    is_held: &dyn Fn(usize) -> bool,
    wants_held: bool,
) -> (Vec<&'a LabelledFeatures>, Vec<usize>) {
    let both = sessions.iter().copied().zip(groups.iter().copied());
    both.filter(|(_, group)| is_held(*group) == wants_held).unzip()
}

/// Returns the share of successes, as if one more of each outcome had been seen.
pub(super) fn smoothed_share(sessions: &[&LabelledFeatures]) -> f64 {
    let good = sessions.iter().filter(|it| it.is_success).count();
    (float(good) + 1.0) / (float(sessions.len()) + 2.0)
}

fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

fn log_loss(probability: f64, is_success: bool) -> f64 {
    let right = if is_success { probability } else { 1.0 - probability };
    -right.max(1e-12).ln()
}
