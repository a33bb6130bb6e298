//! Simulated watches of unchanged and of worse agents, looked at after every session.

use ratchet_core::promotion::watch::{SessionMarks, WatchResult};
use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::soak::scaled;

fn runs() -> u32 {
    scaled(200, 2_000)
}

fn unit(random: &mut SeededRandom) -> f64 {
    f64::from(u32::try_from(random.number() >> 32).unwrap()) / (f64::from(u32::MAX) + 1.0)
}

fn session(random: &mut SeededRandom, quality: f64) -> SessionMarks {
    let is = |random: &mut SeededRandom, p: f64| Some(f64::from(u8::from(unit(random) < p)));
    [
        is(random, quality),
        if unit(random) < 0.3 { is(random, quality) } else { None },
        is(random, 0.95),
        Some(-unit(random).max(1e-9).ln()),
        Some(unit(random)),
    ]
}

/// Share of watches with an alarm within 300 sessions. The alarm stays once it was raised, so that
/// one look at the end is as many as one wants.
fn alarms(seed: u64, (history, sessions): (usize, usize), (before, after): (f64, f64)) -> f64 {
    let mut random = SeededRandom::new(seed);
    let found = (0..runs()).filter(|_| {
        let then: Vec<_> = (0..history).map(|_| session(&mut random, before)).collect();
        let now: Vec<_> = (0..sessions).map(|_| session(&mut random, after)).collect();
        WatchResult::compare(&then, &now).is_worse()
    });
    f64::from(u32::try_from(found.count()).unwrap()) / f64::from(runs())
}

#[test]
fn at_most_five_percent_of_unchanged_agents_raise_an_alarm_under_peeking() {
    for (seed, quality) in [(1, 0.95), (2, 0.85), (3, 0.6)] {
        let share = alarms(seed, (900, 900), (quality, quality));
        assert!(share <= 0.05, "{share} of watches at {quality}");
    }
}

#[test]
fn at_least_four_of_five_drops_of_fifteen_points_are_found_within_300_sessions() {
    for (seed, quality) in [(4, 0.95), (5, 0.85), (6, 0.7)] {
        let share = alarms(seed, (900, 300), (quality, quality - 0.15));
        assert!(share >= 0.8, "{share} of watches at {quality}");
    }
    let little_history = alarms(7, (300, 300), (0.85, 0.7));
    assert!(little_history >= 0.8, "{little_history} with 300 sessions before");
}
