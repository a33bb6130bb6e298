use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::*;
use crate::review::allocation::SamplePlan;
use crate::stats::near;

const POPULATION: [u64; 6] = [20, 10, 20, 150, 120, 680];
const CORRECT: [u64; 6] = [3, 2, 16, 150, 24, 646];
const SAMPLED: [u64; 6] = [20, 10, 20, 150, 40, 10];

fn stratum(category: Category, population: u64, taken: u64, correct: u64) -> ReviewedStratum {
    let quality = category.judged_good().map(|good| if good { 0.9 } else { 0.2 });
    let mut moments = Moments::default();
    (0..population).for_each(|_| quality.into_iter().for_each(|quality| moments.add(quality)));
    let review = |n| Review { correct: n < correct, quality, in_dataset: false };
    let reviews = (0..taken).map(review).collect();
    ReviewedStratum { category, population, quality: moments, reviews }
}

fn strata(population: [u64; 6], taken: [u64; 6], correct: [u64; 6]) -> Vec<ReviewedStratum> {
    let of = |at: usize| stratum(Category::ALL[at], population[at], taken[at], correct[at]);
    (0..6).map(of).collect()
}

/// The documents' worked example: reference values for accuracy, judge and correction.
#[test]
fn the_sample_is_weighted_back_to_all_traffic() {
    let found = strata(POPULATION, SAMPLED, [3, 2, 16, 150, 8, 9]);
    let agent = agent_accuracy(&found).unwrap();
    near(agent.estimate.value, 0.807);
    near(agent.estimate.interval.unwrap().lower, 0.601_508_299_852_981);
    near(agent.estimate.interval.unwrap().upper, 0.864_511_010_258_734_7);
    near(agent.represents, 1.0);
    near(judge_accuracy(&found).unwrap().estimate.value, 0.881);
    let judge = judge_figures(&found);
    near(judge.sensitivity.unwrap().value, 0.946_716_232_961_586_1);
    near(judge.specificity.unwrap().value, 0.606_217_616_580_310_9);
    // With weighted figures of the same sample the correction gives the same accuracy again.
    near(judge.corrected_accuracy.unwrap().value, 0.807);
    // A judge that gives one score per category adds nothing.
    let predicted = predicted_accuracy(&found).unwrap();
    near(predicted.estimate.value, 0.807);
    assert_eq!(predicted.estimate.interval, None, "ten of W6 are too few for a normal interval");
}

#[test]
fn a_category_without_reviews_leaves_accuracy_unknown() {
    let mut found = strata(POPULATION, [0, 10, 15, 0, 4, 4], [0, 2, 12, 0, 1, 4]);
    let missing = NotEstimable::Unreviewed(vec![Category::W1, Category::W4]);
    assert_eq!(agent_accuracy(&found), Err(missing.clone()));
    assert_eq!(predicted_accuracy(&found), Err(missing.clone()));
    assert_eq!(judge_figures(&found).specificity, Err(missing));
    found.iter_mut().for_each(|stratum| stratum.reviews.clear());
    assert_eq!(agent_accuracy(&found), Err(NotEstimable::NothingReviewed));
    assert_eq!(agent_accuracy(&[]), Err(NotEstimable::NoTraces));
}

#[test]
fn judge_figures_stand_for_judged_traffic_only() {
    let found = [stratum(Category::W6, 300, 30, 27), stratum(Category::U3, 100, 10, 8)];
    near(judge_accuracy(&found).unwrap().represents, 0.75);
    near(agent_accuracy(&found).unwrap().represents, 1.0);
    assert_eq!(judge_accuracy(&found[1..]), Err(NotEstimable::NotJudged));
    let all_good = [stratum(Category::W6, 300, 30, 30)];
    assert_eq!(judge_figures(&all_good).specificity, Err(NotEstimable::OneSided));
}

#[test]
fn a_change_is_signal_when_its_interval_excludes_zero() {
    let of = |value: f64, half: f64| Estimate {
        value,
        interval: Some(Interval { lower: value - half, upper: value + half }),
        n: 50,
    };
    let small = change(&of(0.85, 0.06), &of(0.8, 0.06)).unwrap();
    near(small.value, -0.05);
    near(small.interval.unwrap().lower, -0.05 - 0.06 * 2.0_f64.sqrt());
    assert!(!is_signal(&small));
    assert!(is_signal(&change(&of(0.9, 0.04), &of(0.8, 0.04)).unwrap()));
    assert_eq!(change(&Estimate { interval: None, ..of(0.9, 0.1) }, &of(0.8, 0.1)), None);
}

#[test]
fn a_category_yields_what_reached_a_dataset_or_showed_an_error_of_the_judge() {
    let mut flagged = stratum(Category::W5, 120, 4, 1);
    flagged.reviews[3].in_dataset = true;
    let figures = &categories(&[flagged])[0];
    assert_eq!((figures.reviewed, figures.failures), (4, 3));
    near(figures.yielded.unwrap().value, 0.5);
}

/// Draws `taken` of `population` without replacement and counts the correct ones.
fn hypergeometric(random: &mut ChaCha8Rng, population: u64, correct: u64, taken: u64) -> u64 {
    let (mut left, mut good, mut found) = (population, correct, 0);
    for _ in 0..taken {
        if random.next_u64() % left < good {
            good -= 1;
            found += 1;
        }
        left -= 1;
    }
    found
}

/// Share of weeks whose interval contains the truth, and that of the naive formula.
fn coverage(population: [u64; 6], correct: [u64; 6], taken: [u64; 6]) -> (f64, f64) {
    const WEEKS: u32 = 2_000;
    let truth = float(correct.iter().sum()) / float(population.iter().sum());
    let mut random = ChaCha8Rng::seed_from_u64(17);
    let (mut ours, mut naive) = (0_u32, 0_u32);
    let holds = |interval: Option<Interval>| {
        interval.is_some_and(|it| it.lower - 1e-12 <= truth && truth <= it.upper + 1e-12)
    };
    for _ in 0..WEEKS {
        let mut found = [0; 6];
        for (at, found) in found.iter_mut().enumerate() {
            *found = hypergeometric(&mut random, population[at], correct[at], taken[at]);
        }
        let figure = agent_accuracy(&strata(population, taken, found)).unwrap();
        ours += u32::from(holds(figure.estimate.interval));
        let raw = share(found.iter().sum(), taken.iter().sum()).unwrap();
        naive += u32::from(holds(raw.interval));
    }
    (f64::from(ours) / f64::from(WEEKS), f64::from(naive) / f64::from(WEEKS))
}

fn planned(capacity: usize, population: [u64; 6]) -> [u64; 6] {
    let counts = Category::ALL.into_iter().zip(population).collect();
    let taken = SamplePlan { capacity, ..SamplePlan::default() }.allocate(&counts);
    std::array::from_fn(|at| taken.get(&Category::ALL[at]).copied().unwrap_or(0))
}

#[track_caller]
fn covers(name: &str, population: [u64; 6], correct: [u64; 6], taken: [u64; 6]) {
    let (ours, _) = coverage(population, correct, taken);
    assert!((0.935..=0.98).contains(&ours), "{name} {taken:?}: {ours}");
}

/// Simulated weeks. The naive formula (correct by reviewed) never contains the truth on the
/// documents' own example: it must not come back.
#[test]
fn intervals_contain_the_truth_and_the_naive_formula_does_not() {
    let (ours, naive) = coverage(POPULATION, CORRECT, SAMPLED);
    assert!(ours >= 0.92, "worked example: {ours}");
    assert!(naive < 0.005, "worked example, naive: {naive}");
    assert_eq!(planned(250, POPULATION), SAMPLED, "the sampler makes the documents' design");
    covers("25/25", POPULATION, CORRECT, [20, 10, 20, 150, 25, 25]);
    covers("12/38", POPULATION, CORRECT, [20, 10, 20, 150, 12, 38]);
    covers("capacity 50", POPULATION, CORRECT, planned(50, POPULATION));
    let (silent, correct) = ([0, 0, 0, 0, 150, 850], [0, 0, 0, 0, 30, 807]);
    covers("no thumbs", silent, correct, planned(50, silent));
    let (few, correct) = ([2, 1, 2, 9, 7, 39], [0, 0, 2, 9, 1, 37]);
    covers("60 traces", few, correct, planned(50, few));
}
