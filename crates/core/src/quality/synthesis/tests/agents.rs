//! Generated weeks with and without planted drops.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::*;
use crate::environment::Environment;
use crate::time::Timestamp;

const HOUR: i64 = 3_600_000_000_000;
const DIMENSIONS: [&str; 2] = ["task_completion", "tool_mastery"];

/// A generated project: sessions of two weeks.
struct Generated {
    random: ChaCha8Rng,
    weeks: [Vec<SessionMarks>; 2],
}

/// What sessions are alike in.
#[derive(Clone, Copy)]
struct Kind {
    agent: &'static str,
    environment: &'static str,
    release: &'static str,
    /// Hours from the start of the first week.
    from: u32,
    mean: f64,
}

const BOT: Kind =
    Kind { agent: "support-bot", environment: "prod", release: "2.4.0", from: 0, mean: 0.81 };

impl Generated {
    fn new(seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), weeks: [Vec::new(), Vec::new()] }
    }

    fn unit(&mut self) -> f64 {
        f64::from(self.random.next_u32()) / f64::from(u32::MAX)
    }

    /// Adds sessions in a week, one an hour.
    fn add(mut self, week: usize, n: u32, kind: Kind) -> Self {
        for at in 0..n {
            let hour = i64::from(kind.from + at);
            let mut mark = || (kind.mean + (self.unit() - 0.5) * 0.5).clamp(0.0, 1.0);
            let (task, tool) = (mark(), mark());
            let marks = [(DIMENSIONS[0], task, ""), (DIMENSIONS[1], tool, "")];
            let id = format!("{}-{}-{hour}", kind.agent, kind.release);
            let mut session = session(&id, f64::midpoint(task, tool), &marks);
            session.facts = RecordedFacts {
                agent: Some(kind.agent.to_owned()),
                environment: Environment::normalise(kind.environment),
                releases: BTreeSet::from([kind.release.to_owned()]),
                user: Some(format!("user-{}", at % 7)),
                last_at: Timestamp::from_nanos(hour * HOUR),
                day: format!("2026-11-{:02}", 1 + hour / 24),
                ..RecordedFacts::default()
            };
            self.weeks[week].push(session);
        }
        self
    }

    fn synthesis(&self) -> Synthesis {
        synthesize(&DIMENSIONS, &self.weeks)
    }
}

/// Two agents of two environments, of which nothing changes.
fn calm(seed: u64) -> Generated {
    let staging = Kind { environment: "staging", ..BOT };
    let coder = Kind { agent: "coder", mean: 0.6, release: "9", ..BOT };
    let generated = Generated::new(seed).add(0, 30, coder).add(0, 15, staging);
    generated.add(1, 30, Kind { from: 168, ..coder }).add(
        1,
        15,
        Kind { from: 168, release: "2.4.1", ..staging },
    )
}

#[test]
fn a_bad_release_is_named_with_its_agent_and_environment() {
    for seed in 0..3 {
        let week = calm(seed).add(0, 34, BOT).add(1, 20, Kind { from: 168, ..BOT }).add(
            1,
            41,
            Kind { release: "2.4.1", from: 190, mean: 0.6, ..BOT },
        );
        let found = week.synthesis();
        let [worst] = found.findings.as_slice() else { panic!("one, not {:#?}", found.findings) };
        assert_eq!(worst.agent.as_deref(), Some("support-bot"));
        assert_eq!((worst.environment.as_str(), worst.measure.as_str()), ("prod", OVERALL));
        let Basis::Release(release) = &worst.basis else { panic!("{:?}", worst.basis) };
        assert_eq!((release.name.as_str(), release.against.as_str()), ("2.4.1", "2.4.0"));
        assert!(release.is_since && worst.is_drop());
        assert_eq!((worst.before.n, worst.after.n, worst.users), (54, 41, 7));
        let [lower, upper] = worst.interval;
        assert!(lower < -0.21 && -0.21 < upper && upper < 0.0, "{worst:?}");
        assert_eq!(found.agents[0].agent.as_deref(), Some("support-bot"));
        assert_eq!(worst.dimensions.len(), 2);
    }
}

#[test]
fn a_bad_week_without_a_new_release_is_a_change_of_the_week() {
    let low = Kind { from: 168, mean: 0.55, ..BOT };
    let found = calm(7).add(0, 30, BOT).add(1, 30, low).synthesis();
    let [worst] = found.findings.as_slice() else { panic!("one, not {:#?}", found.findings) };
    assert_eq!((&worst.basis, worst.before.n, worst.after.n), (&Basis::Week, 30, 30));
}

/// Both releases were there from the first day on.
#[test]
fn releases_side_by_side_did_not_fall_since() {
    let canary = Kind { release: "2.4.1", mean: 0.5, ..BOT };
    let found = calm(3).add(0, 40, BOT).add(0, 40, canary).add(1, 1, BOT).synthesis();
    let [worst] = found.findings.as_slice() else { panic!("one, not {:#?}", found.findings) };
    assert!(worst.basis.succession().is_some_and(|succession| !succession.is_since));
}

#[test]
fn few_sessions_are_shown_and_not_compared() {
    let new = Kind { agent: "new", mean: 0.2, from: 168, ..BOT };
    let found = calm(1).add(0, 5, Kind { agent: "new", mean: 0.9, ..BOT }).add(1, 5, new);
    let found = found.synthesis();
    assert_eq!(found.findings, []);
    let cell = found.agents.iter().find(|cell| cell.agent.as_deref() == Some("new")).unwrap();
    assert_eq!((cell.sessions, cell.overall.n), (5, 5));
    assert!(matches!(cell.overall.change, Change::By { p: None, .. }));
}

/// Another mix of agents changes the mean of all, but no agent.
#[test]
fn another_mix_of_agents_is_no_finding() {
    let coder = Kind { agent: "coder", mean: 0.4, release: "9", ..BOT };
    let found = Generated::new(5)
        .add(0, 60, BOT)
        .add(0, 13, coder)
        .add(1, 13, Kind { from: 168, ..BOT })
        .add(1, 60, Kind { from: 168, ..coder })
        .synthesis();
    assert_eq!(found.findings, []);
    let Change::By { value, .. } = found.overall.change else { panic!("{:?}", found.overall) };
    assert!(value < -0.15 && !found.overall.change.is_clear(), "{:?}", found.overall.change);
}

/// Four agents of different levels, which all fall by the same.
fn falling(seed: u64, drop: f64) -> Generated {
    let agents = [("one", 0.3), ("two", 0.5), ("three", 0.7), ("four", 0.85)];
    agents.into_iter().fold(Generated::new(seed), |week, (agent, mean)| {
        let kind = Kind { agent, mean, release: "1", ..BOT };
        week.add(0, 14, kind).add(1, 14, Kind { from: 168, mean: mean - drop, ..kind })
    })
}

#[test]
fn what_all_agents_share_is_found_though_their_levels_differ() {
    let found = (0..12_u64)
        .filter(|seed| falling(2_000 + seed, 0.1).synthesis().overall.change.is_clear())
        .count();
    assert!(found >= 9, "{found} of 12");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whatever the sizes, a finding is never about something that did not happen.
    #[test]
    fn findings_are_true(seed in 0_u64..1_000, n in 12_u32..40, drop in 0.0..0.5_f64) {
        let bad = Kind { release: "2.4.1", from: 168, mean: BOT.mean - drop, ..BOT };
        let found = calm(seed).add(0, n, BOT).add(1, n, bad).synthesis();
        for finding in &found.findings {
            let [lower, upper] = finding.interval;
            prop_assert!(finding.p <= WEEKLY_LEVEL);
            prop_assert!(lower <= finding.change && finding.change <= upper);
            let difference = finding.after.mean - finding.before.mean;
            prop_assert!((difference - finding.change).abs() < 1e-9);
            prop_assert!(finding.before.n >= MIN_TO_ALARM && finding.after.n >= MIN_TO_ALARM);
        }
        if drop > 0.3 && n > 20 {
            let worst = found.findings.first();
            prop_assert!(worst.is_some_and(|worst| worst.agent.as_deref() == Some(BOT.agent)));
        }
    }
}
