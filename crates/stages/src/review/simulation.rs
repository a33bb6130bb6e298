//! Simulated weeks: drawn by the sampler, answered, and estimated. How often intervals contain the
//! truth, and how often a trace is drawn.

use std::collections::BTreeMap;

use ratchet_core::review::allocation::SamplePlan;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::{Candidate, WeekDraw, WeekSampler};
use ratchet_core::review::week_facts::{Answer, DrawnWeek, WeekInput};
use ratchet_testkit::soak::scaled;

/// A design: traces and correct traces by category (W1 to W6), and the capacity.
struct Design {
    name: &'static str,
    traces: [usize; 6],
    correct: [usize; 6],
    capacity: usize,
    flagged_share: f64,
    /// Share of weeks whose interval contains the truth.
    coverage: std::ops::RangeInclusive<f64>,
}

const EXAMPLE: [usize; 6] = [20, 10, 20, 150, 120, 680];
const CORRECT: [usize; 6] = [3, 2, 16, 150, 24, 646];

fn designs() -> [Design; 6] {
    let example = |name, capacity, flagged_share, coverage| Design {
        name,
        traces: EXAMPLE,
        correct: CORRECT,
        capacity,
        flagged_share,
        coverage,
    };
    let usual = 0.93..=0.985;
    [
        example("worked example", 250, 0.8, 0.915..=0.96),
        example("split 25/25", 250, 0.5, usual.clone()),
        example("split 12/38", 250, 0.24, usual.clone()),
        example("capacity 50", 50, 0.8, usual.clone()),
        Design {
            name: "no thumbs",
            traces: [0, 0, 0, 0, 150, 850],
            correct: [0, 0, 0, 0, 30, 807],
            capacity: 50,
            flagged_share: 0.8,
            coverage: usual.clone(),
        },
        Design {
            name: "60 traces",
            traces: [2, 1, 2, 9, 7, 39],
            correct: [0, 0, 2, 9, 1, 37],
            capacity: 50,
            flagged_share: 0.8,
            coverage: usual,
        },
    ]
}

impl Design {
    /// The traces, and whether each is correct.
    fn week(&self) -> (Vec<Candidate>, BTreeMap<String, bool>) {
        let (mut candidates, mut truth) = (Vec::new(), BTreeMap::new());
        for (at, count) in self.traces.into_iter().enumerate() {
            let category = Category::ALL[at];
            for n in 0..count {
                let trace = format!("{category}-{n}");
                truth.insert(trace.clone(), n < self.correct[at]);
                candidates.push(Candidate {
                    trace,
                    thumb: category.thumb(),
                    quality: category.judged_good().map(|good| if good { 0.9 } else { 0.2 }),
                    environment: "default".to_owned(),
                    release: None,
                });
            }
        }
        (candidates, truth)
    }

    fn draw(&self, candidates: &[Candidate], seed: &str) -> WeekDraw {
        let (capacity, flagged_share) = (self.capacity, self.flagged_share);
        let plan = SamplePlan { capacity, flagged_share, ..SamplePlan::default() };
        let mut sampler = WeekSampler::new(plan, seed, "spots");
        candidates.iter().for_each(|candidate| sampler.add(candidate.clone()));
        sampler.finish()
    }

    /// Shares of weeks whose interval contains the truth: the weighted one and the naive one.
    fn coverage_of(&self, weeks: u32) -> [f64; 2] {
        let (candidates, truth) = self.week();
        let share = |correct: usize, all: usize| {
            f64::from(u32::try_from(correct).unwrap()) / f64::from(u32::try_from(all).unwrap())
        };
        let accuracy = share(truth.values().filter(|correct| **correct).count(), truth.len());
        let mut hits = [0_u32; 2];
        for week in 0..weeks {
            let draw = self.draw(&candidates, &format!("{}/{week}", self.name));
            let answer = |trace: &str, category: Category| Answer {
                correct: truth[trace],
                category,
                quality: None,
            };
            let answers: BTreeMap<String, Answer> = draw
                .traces
                .iter()
                .map(|drawn| (drawn.trace.clone(), answer(&drawn.trace, drawn.category)))
                .collect();
            let reviewed = answers.len() as u64;
            let correct = answers.values().filter(|answer| answer.correct).count() as u64;
            let draws = vec![DrawnWeek { cells: draw.cells, traces: draw.traces }];
            let traces = candidates.len() as u64;
            let facts = WeekInput { traces, answers, draws, ..WeekInput::default() }.facts();
            let weighted = facts.metrics(None)[0].weighted.bounds();
            let naive = ratchet_core::stats::interval::share(correct, reviewed).unwrap().interval;
            for (hits, interval) in hits.iter_mut().zip([weighted, naive]) {
                let holds = |at: f64, low: f64, high: f64| low - 1e-9 <= at && at <= high + 1e-9;
                *hits += u32::from(interval.is_some_and(|it| holds(accuracy, it.lower, it.upper)));
            }
        }
        hits.map(|hits| f64::from(hits) / f64::from(weeks))
    }
}

/// The whole way from traces to intervals; `core` simulates the estimator alone, with more weeks.
#[test]
fn intervals_of_drawn_weeks_contain_the_truth() {
    let weeks = scaled(250, 20_000);
    // A short run is less exact: three standard errors of its share.
    let slack = 3.0 * (0.05_f64 * 0.95 / f64::from(weeks)).sqrt();
    for design in designs() {
        let [ours, naive] = design.coverage_of(weeks);
        let (low, high) = (design.coverage.start() - slack, design.coverage.end() + slack);
        assert!((low..=high).contains(&ours), "{}: {ours}", design.name);
        if design.name == "worked example" {
            assert!(naive < 0.01, "the naive formula on the worked example: {naive}");
        }
    }
}

#[test]
fn a_trace_is_drawn_as_often_as_its_probability_says() {
    let seeds = scaled(1_000, 20_000);
    let design = Design {
        name: "small",
        traces: [2, 1, 2, 9, 7, 39],
        correct: [0; 6],
        capacity: 24,
        flagged_share: 0.8,
        coverage: 0.0..=1.0,
    };
    let (candidates, _) = design.week();
    let mut drawn: BTreeMap<String, (u32, f64)> = BTreeMap::new();
    for seed in 0..seeds {
        for one in design.draw(&candidates, &format!("seed {seed}")).traces {
            let entry = drawn.entry(one.trace.clone()).or_default();
            *entry = (entry.0 + 1, one.probability().unwrap());
        }
    }
    assert_eq!(drawn.len(), 60, "no trace is out of reach");
    for (trace, (times, p)) in drawn {
        let (frequency, error) =
            (f64::from(times) / f64::from(seeds), (p * (1.0 - p) / f64::from(seeds)).sqrt());
        assert!((frequency - p).abs() <= 5.0 * error + 1e-9, "{trace}: {frequency} is not {p}");
    }
}
