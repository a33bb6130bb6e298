use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::fit::{MIN_LABELS, MIN_OF_EACH};
use super::*;
use crate::judge::rubric;
use crate::stats::near;

/// A labelled session with signals and a score without labels.
fn session(task: usize, is_success: bool, values: &[(&str, f64)], score: f64) -> LabelledFeatures {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value));
    let values = values.chain([(SCORE.to_owned(), score)]).collect();
    let group = format!("task {task}");
    let features =
        SessionFeatures { values, uncalibrated: Some(score), group, ..SessionFeatures::default() };
    LabelledFeatures { features, is_success }
}

/// A number from 0 to 1 that looks random.
fn noise(nth: usize, salt: u64) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(salt * 1_000 + nth as u64);
    f64::from(random.next_u32()) / f64::from(u32::MAX)
}

/// Sessions whose outcome follows from their length, which the judge does not weigh.
fn predictable(count: usize) -> Vec<LabelledFeatures> {
    let one = |nth: usize| {
        let length = noise(nth, 1) * 4.0;
        let is_success = length + noise(nth, 2) < 2.5;
        session(nth, is_success, &[("length", length), ("tool_error", noise(nth, 3))], 0.8)
    };
    (0..count).map(one).collect()
}

fn fitted(labelled: &[LabelledFeatures]) -> Result<SuccessFit, NotFitted> {
    fit(SignalSet::shipped(), rubric::DEFAULT, labelled)
}

#[test]
fn few_labels_are_counted_and_not_fitted() {
    let why = fitted(&predictable(5)).unwrap_err();
    assert_eq!(why, NotFitted::TooFew { have: 5 });
    assert_eq!(why.to_string(), "5 of 30 labels needed");
    let all_good: Vec<_> = (0..40).map(|nth| session(nth, nth > 2, &[], 0.5)).collect();
    let why = fitted(&all_good).unwrap_err();
    assert_eq!(why, NotFitted::OneSided { successes: 37, labels: 40 });
    assert!(why.to_string().contains(&format!("at least {MIN_OF_EACH} of each")));
    let one_task: Vec<_> = (0..40).map(|nth| session(0, nth % 2 == 0, &[], 0.5)).collect();
    assert_eq!(fitted(&one_task).unwrap_err(), NotFitted::FewTasks { tasks: 1 });
    assert!(fitted(&predictable(MIN_LABELS)).is_ok());
}

#[test]
fn what_predicts_in_the_project_gains_over_the_judge_and_a_constant() {
    let fit = fitted(&predictable(80)).unwrap();
    assert!(fit.check.gains(), "{}", fit.check.sentence());
    assert!(fit.check.brier < fit.check.brier_constant.min(fit.check.brier_uncalibrated));
    assert!(fit.check.auc.unwrap() > 0.85);
    let (strongest, weight) = fit.model.weights()[0];
    assert_eq!(strongest, "length");
    assert!(weight < 0.0, "longer sessions are worse here");
    let estimate = |length: f64| {
        let probe = session(0, true, &[("length", length), ("tool_error", 0.5)], 0.8);
        fit.model.estimate(&probe.features)
    };
    assert!(estimate(0.5).probability > 0.8 && estimate(3.8).probability < 0.2);
    assert_eq!(estimate(3.8).labels, 80);
}

#[test]
fn chance_is_not_offered() {
    let by_chance = |salt: u64| -> Vec<LabelledFeatures> {
        let one = |nth: usize| {
            let values = [("length", noise(nth, salt)), ("tool_error", noise(nth, salt + 1))];
            session(nth, noise(nth, salt + 2) < 0.5, &values, noise(nth, salt + 3))
        };
        (0..40).map(one).collect()
    };
    let offered = (0..8).filter(|nth| {
        let fit = fitted(&by_chance(10 + nth * 7)).unwrap();
        fit.check.gains()
    });
    assert_eq!(offered.count(), 0);
}

#[test]
fn a_task_is_never_predicted_from_itself() {
    // Each task has its own outcome, and a signal that only names the task.
    let one = |nth: usize| {
        let task = nth / 8;
        session(task, noise(task, 4) < 0.5, &[("length", noise(task, 5))], 0.5)
    };
    let labelled: Vec<_> = (0..80).map(one).collect();
    let check = fitted(&labelled).unwrap().check;
    assert_eq!(check.tasks, 10);
    assert!(!check.gains(), "{}", check.sentence());
}

#[test]
fn the_order_of_labels_changes_nothing() {
    let mut labelled = predictable(40);
    let one = fitted(&labelled).unwrap();
    labelled.reverse();
    assert_eq!(one, fitted(&labelled).unwrap());
}

#[test]
fn a_model_survives_its_file() {
    let model = fitted(&predictable(40)).unwrap().model;
    let text = model.to_toml();
    assert_eq!(SuccessModel::parse(&text).unwrap(), model);
    assert!(model.fits(SignalSet::shipped(), rubric::DEFAULT));
    assert!(!model.fits(SignalSet::shipped(), "another"));
    let wrong = text.replace("format = 1", "format = 9");
    assert!(SuccessModel::parse(&wrong).unwrap_err().to_string().contains("format 9"));
    let wrong = text.replace("deviation = ", "deviation = -");
    assert!(SuccessModel::parse(&wrong).unwrap_err().to_string().contains("above 0"));
}

#[test]
fn an_even_chance_is_where_success_begins() {
    let rubric = rubric::shipped().find(|rubric| rubric.name == rubric::DEFAULT).unwrap();
    let dimension = rubric.dimension(OUTCOME).unwrap();
    let grade = |probability| match finding(dimension, probability) {
        Finding::Grade(grade) => grade.label,
        other => format!("{other:?}"),
    };
    let grades = [0.0, 0.24, 0.25, 0.49, 0.5, 1.0].map(grade);
    assert_eq!(grades, ["failed", "failed", "partial", "partial", "complete", "complete"]);
    near(dimension.scale.grade("complete").unwrap().value, 0.85);
}
