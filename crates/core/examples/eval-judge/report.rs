use std::collections::BTreeMap;
use std::fmt::Write;

use ratchet_core::judge::offline::success::SessionFeatures;
use ratchet_core::judge::rubric::{OVERALL, Rubric};
use ratchet_core::judge::verdict::Verdict;
use ratchet_core::stats::agreement::{RatingPair, spearman};
use ratchet_core::stats::categories::{Confusion, Weighting};
use ratchet_core::stats::ranking::auc;

use crate::baselines::Counts;

/// Bootstrap rounds.
const ROUNDS: usize = 2_000;

/// A session with its label and its verdict.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) task: String,
    pub(crate) is_good: bool,
    pub(crate) verdict: Verdict,
    pub(crate) counts: Counts,
    pub(crate) features: SessionFeatures,
}

/// A score with its label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marked<'a> {
    pub(crate) task: &'a str,
    pub(crate) is_good: bool,
    pub(crate) mark: f64,
}

/// Formats all results as a table.
pub(crate) fn report(rubric: &Rubric, judged: &[Judged]) -> String {
    let good = judged.iter().filter(|one| one.is_good).count();
    let tasks: std::collections::BTreeSet<&str> =
        judged.iter().map(|one| one.task.as_str()).collect();
    let mut text = format!(
        "{} sessions of {} tasks, {good} good\n\n| mark | seen | AUC | 95 % of tasks | within tasks | right | kappa | Spearman |\n|---|---|---|---|---|---|---|---|\n",
        judged.len(),
        tasks.len(),
    );
    let names = rubric.dimensions.iter().map(|dimension| dimension.name.as_str());
    for name in names.chain([OVERALL]) {
        let marked: Vec<Marked<'_>> =
            judged.iter().filter_map(|one| mark(rubric, one, name)).collect();
        // Writing to a text cannot fail.
        let _infallible = writeln!(text, "| {name} | {} | {} |", marked.len(), row(&marked));
    }
    text
}

fn mark<'a>(rubric: &Rubric, one: &'a Judged, name: &str) -> Option<Marked<'a>> {
    let mark = match one.verdict.judgement(name) {
        Some(judgement) => judgement.finding.value(),
        None => one.verdict.overall(rubric),
    };
    Some(Marked { task: &one.task, is_good: one.is_good, mark: mark? })
}

/// Returns the overall score of a session.
pub(crate) fn overall<'a>(rubric: &Rubric, one: &'a Judged) -> Option<Marked<'a>> {
    mark(rubric, one, OVERALL)
}

/// Returns the AUC of the overall score.
pub(crate) fn overall_area(rubric: &Rubric, judged: &[Judged]) -> Option<f64> {
    area(&judged.iter().filter_map(|one| overall(rubric, one)).collect::<Vec<_>>())
}

fn row(marked: &[Marked<'_>]) -> String {
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
    let (low, high) = interval(marked);
    let confusion = confusion(marked);
    let rated: Vec<RatingPair> = marked
        .iter()
        .map(|one| RatingPair { human: f64::from(u8::from(one.is_good)), judge: one.mark })
        .collect();
    [
        number(area(marked)),
        format!("{} to {}", number(low), number(high)),
        number(within(marked)),
        number(confusion.agreement().ok().map(|share| share.value)),
        number(confusion.kappa(Weighting::Same).ok().map(|kappa| kappa.value)),
        number(spearman(&rated).ok().map(|rho| rho.value)),
    ]
    .join(" | ")
}

pub(crate) fn area(marked: &[Marked<'_>]) -> Option<f64> {
    let side = |is_good| -> Vec<f64> {
        marked.iter().filter(|one| one.is_good == is_good).map(|one| one.mark).collect()
    };
    auc(&side(true), &side(false)).ok()
}

fn by_task<'a>(marked: &[Marked<'a>]) -> BTreeMap<&'a str, Vec<Marked<'a>>> {
    let mut tasks: BTreeMap<&str, Vec<Marked<'a>>> = BTreeMap::new();
    for one in marked {
        tasks.entry(one.task).or_default().push(*one);
    }
    tasks
}

/// Returns the AUC among trajectories of the same task only.
fn within(marked: &[Marked<'_>]) -> Option<f64> {
    let (mut won, mut pairs) = (0.0, 0.0);
    for task in by_task(marked).values() {
        let good = task.iter().filter(|one| one.is_good).count();
        let count = f64::from(u32::try_from(good * (task.len() - good)).unwrap_or(u32::MAX));
        won += area(task).unwrap_or(0.0) * count;
        pairs += count;
    }
    (pairs > 0.0).then(|| won / pairs)
}

/// Returns the 95% bootstrap interval of the AUC, resampling whole tasks.
fn interval(marked: &[Marked<'_>]) -> (Option<f64>, Option<f64>) {
    let drawn = |places: &Vec<usize>| {
        area(&places.iter().filter_map(|place| marked.get(*place).copied()).collect::<Vec<_>>())
    };
    let mut areas: Vec<f64> = draws(marked).iter().filter_map(drawn).collect();
    areas.sort_by(f64::total_cmp);
    let last = areas.len().saturating_sub(areas.len() / 40 + 1);
    (areas.get(areas.len() / 40).copied(), areas.get(last).copied())
}

/// Draws whole tasks with replacement; returns the places of their sessions. The same each time.
pub(crate) fn draws(marked: &[Marked<'_>]) -> Vec<Vec<usize>> {
    let mut tasks: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, one) in marked.iter().enumerate() {
        tasks.entry(one.task).or_default().push(place);
    }
    let tasks: Vec<Vec<usize>> = tasks.into_values().collect();
    let mut seed = 1_u64;
    let mut next = move |bound: usize| {
        // Knuth's linear congruential generator; its upper bits are good enough for this.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap_or(0) % bound.max(1)
    };
    let mut draw = || (0..tasks.len()).flat_map(|_| tasks[next(tasks.len())].clone()).collect();
    (0..ROUNDS).map(|_| draw()).collect()
}

/// Confusion matrix of label and score, each at a threshold chosen on the other tasks.
fn confusion(marked: &[Marked<'_>]) -> Confusion {
    let verdicts = marked.iter().map(|one| {
        let others: Vec<Marked<'_>> =
            marked.iter().filter(|other| other.task != one.task).copied().collect();
        let is_good = one.mark >= threshold(others);
        (usize::from(one.is_good), usize::from(is_good))
    });
    Confusion::of(2, verdicts)
}

/// Returns the threshold with the highest accuracy.
fn threshold(mut marked: Vec<Marked<'_>>) -> f64 {
    marked.sort_by(|one, other| one.mark.total_cmp(&other.mark));
    let mut right = marked.iter().filter(|one| one.is_good).count();
    let (mut best, mut at) = (right, f64::MIN);
    for (place, one) in marked.iter().enumerate() {
        right = if one.is_good { right - 1 } else { right + 1 };
        let is_last_of_equals = marked.get(place + 1).is_none_or(|next| next.mark > one.mark);
        if is_last_of_equals && right > best {
            let next = marked.get(place + 1).map_or(one.mark + 1.0, |next| next.mark);
            (best, at) = (right, f64::midpoint(one.mark, next));
        }
    }
    at
}

/// Lists the rationales of each session.
pub(crate) fn reasons(judged: &[Judged]) -> String {
    let mut text = String::new();
    for one in judged {
        let label = if one.is_good { "good" } else { "bad" };
        let _infallible = writeln!(text, "task {} {label}", one.task);
        for said in &one.verdict.dimensions {
            let mark = said.finding.value().map_or("–".to_owned(), |value| format!("{value:.2}"));
            let _infallible = writeln!(
                text,
                "  {} {mark} ({:.2}) {} {:?}",
                said.dimension, said.confidence, said.rationale, said.evidence
            );
        }
    }
    text
}
