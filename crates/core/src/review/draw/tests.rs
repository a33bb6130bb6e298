use proptest::prelude::*;

use super::*;
use crate::stats::near;

/// Traces with all combinations of signals, by a list of categories.
fn candidates(categories: &[Category]) -> Vec<TraceCandidate> {
    let of = |(n, category): (usize, &Category)| TraceCandidate {
        trace: format!("trace-{n}"),
        thumb: category.thumb(),
        quality: category.judged_good().map(|good| if good { 0.9 } else { 0.2 }),
        environment: "production".to_owned(),
        release: Some(format!("v{}", n % 2)),
    };
    categories.iter().enumerate().map(of).collect()
}

fn draw(candidates: &[TraceCandidate], plan: ReviewPlan, seed: &str) -> WeekDraw {
    let spot_seed = format!("{seed}/spot");
    let mut sampler = WeekSampler::new(plan, seed, &spot_seed);
    candidates.iter().for_each(|candidate| sampler.add(candidate.clone()));
    sampler.finish()
}

fn example() -> Vec<TraceCandidate> {
    let sizes = [20, 10, 20, 150, 120, 680];
    let of = |(category, size): (&Category, usize)| std::iter::repeat_n(*category, size);
    candidates(&Category::ALL.iter().zip(sizes).flat_map(of).collect::<Vec<_>>())
}

#[test]
fn items_carry_the_facts_of_their_draw() {
    let draw = draw(&example(), ReviewPlan::default(), "support/2026-11-08");
    assert_eq!(draw.traces.len(), 50);
    assert_eq!(draw.populations().values().sum::<u64>(), 1_000);
    let of = |category: Category| {
        draw.traces.iter().filter(move |drawn| drawn.category == category).collect::<Vec<_>>()
    };
    let quiet = of(Category::W6);
    assert_eq!((quiet.len(), quiet[0].population, quiet[0].taken), (9, 680, 9));
    near(quiet[0].probability().unwrap(), 9.0 / 680.0);
    assert_eq!(quiet[0].reason, "no feedback, judge good: 9 of 680 drawn at random");
    assert_eq!(of(Category::W2)[0].reason, "thumbs down, judge good: all 10 are reviewed");
    assert_eq!(of(Category::W2)[0].probability(), Some(1.0));
    assert!(draw.half_width.is_some_and(|half| (0.1..0.13).contains(&half)));
}

#[test]
fn spot_checks_have_no_probability_and_are_not_drawn_twice() {
    let plan = ReviewPlan { spot_share: 0.2, ..ReviewPlan::default() };
    let draw = draw(&example(), plan, "seed");
    let spots: Vec<_> =
        draw.traces.iter().filter(|drawn| drawn.selection == Selection::Chosen).collect();
    assert_eq!((spots.len(), draw.traces.len()), (10, 50));
    assert!(spots.iter().all(|spot| spot.probability().is_none()));
    let names: BTreeSet<_> = draw.traces.iter().map(|drawn| &drawn.trace).collect();
    assert_eq!(names.len(), 50);
}

/// Each trace of a category is drawn as often as its stored probability says, over many seeds.
#[test]
fn the_stored_probability_is_the_frequency() {
    let sizes = [(Category::W2, 3), (Category::W5, 9), (Category::W6, 18)];
    let of = |(category, size): (Category, usize)| std::iter::repeat_n(category, size);
    let candidates = candidates(&sizes.into_iter().flat_map(of).collect::<Vec<_>>());
    let plan = ReviewPlan { capacity: 12, half_width: None, ..ReviewPlan::default() };
    let seeds = 20_000;
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    let mut probability = BTreeMap::new();
    for seed in 0..seeds {
        for drawn in draw(&candidates, plan, &format!("seed {seed}")).traces {
            *times.entry(drawn.trace.clone()).or_default() += 1;
            probability.insert(drawn.trace.clone(), drawn.probability().unwrap());
        }
    }
    assert_eq!(times.len(), 30, "no trace is out of reach");
    for (trace, times) in times {
        let (frequency, p) = (f64::from(times) / f64::from(seeds), probability[&trace]);
        // Five standard errors: 30 traces, and one wrong alarm in a million.
        let allowed = 5.0 * (p * (1.0 - p) / f64::from(seeds)).sqrt() + 1e-12;
        assert!((frequency - p).abs() <= allowed, "{trace}: {frequency} is not {p}");
    }
}

proptest! {
    #[test]
    fn probabilities_add_up_and_follow_from_what_is_stored(
        categories in prop::collection::vec(0..9_usize, 0..120),
        capacity in 0..60_usize,
    ) {
        let categories: Vec<_> = categories.into_iter().map(|n| Category::ALL[n]).collect();
        let candidates = candidates(&categories);
        let plan = ReviewPlan { capacity, ..ReviewPlan::default() };
        let drawn = draw(&candidates, plan, "seed");
        prop_assert_eq!(&draw(&candidates, plan, "seed"), &drawn, "the same seed draws the same");
        let reversed: Vec<_> = candidates.iter().rev().cloned().collect();
        prop_assert_eq!(&draw(&reversed, plan, "seed").traces, &drawn.traces);
        // Summed over the population, probabilities are the number drawn.
        let probability: BTreeMap<Category, f64> = drawn
            .traces
            .iter()
            .map(|drawn| (drawn.category, drawn.probability().unwrap()))
            .collect();
        let sum: f64 = categories.iter().filter_map(|category| probability.get(category)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a handful of traces")]
        let count = drawn.traces.len() as f64;
        prop_assert!((sum - count).abs() < 1e-9);
        // Plan and populations alone give every probability again.
        let taken = plan.allocate(&drawn.populations());
        for drawn in &drawn.traces {
            prop_assert_eq!(taken.get(&drawn.category), Some(&drawn.taken));
        }
    }
}
