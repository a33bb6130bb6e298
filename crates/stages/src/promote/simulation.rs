//! Simulated watches and A/B tests of unchanged and of changed agents, looked at any time.

use ratchet_core::promotion::ab_test::comparison::{AbResult, UnitMarks};
use ratchet_core::promotion::ab_test::{AbEnd, Arm};
use ratchet_core::promotion::watch::{Mark, SessionMarks, WatchResult};
use ratchet_core::time::Timestamp;
use ratchet_testkit::seeded_random::SeededRandom;
use ratchet_testkit::soak::scaled;

use super::sessions::{GivenScore, SessionRecord, SessionTurn, Sums, settled};

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
    for (seed, quality) in [(4, 0.95), (5, 0.85), (6, 0.7), (8, 0.6)] {
        let share = alarms(seed, (900, 300), (quality, quality - 0.15));
        assert!(share >= 0.8, "{share} of watches at {quality}");
    }
    let little_history = alarms(7, (300, 300), (0.85, 0.7));
    assert!(little_history >= 0.8, "{little_history} with 300 sessions before");
    // Least certain where half of the answers are good.
    let hardest = alarms(9, (300, 300), (0.6, 0.45));
    assert!(hardest >= 0.8, "{hardest} with 300 sessions before, at 0.6");
}

/// Sessions, one every ten minutes, whose good scores are given at once and whose bad ones late, or
/// the other way round.
fn late_sessions(random: &mut SeededRandom, count: i64, is_bad_late: bool) -> Vec<SessionRecord> {
    let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
    let one = |nth: i64| {
        let end = nth * 10;
        let value = f64::from(u8::from(unit(random) < 0.8));
        let is_late = (value < 0.5) == is_bad_late;
        // Up to a day: part of them within the hour that counts.
        let late = i64::from(u32::try_from(random.number() % 1_440).unwrap());
        let given = at(end + if is_late { late } else { 0 });
        SessionRecord {
            turns: vec![SessionTurn { start: at(end), end: at(end), sums: Sums::default() }],
            scores: vec![GivenScore { at: given, is_thumb: false, value }],
        }
    };
    (0..count).map(one).collect()
}

#[test]
fn late_scores_raise_no_more_false_alarms_whichever_of_them_are_late() {
    for (seed, is_bad_late) in [(21, true), (22, false)] {
        let mut random = SeededRandom::new(seed);
        let found = (0..runs()).filter(|_| {
            let then = late_sessions(&mut random, 300, is_bad_late);
            let now = late_sessions(&mut random, 300, is_bad_late);
            let end = Timestamp::from_millis(4_000 * 60_000);
            let mut before = settled(&then, end);
            before.reverse();
            // Looked at after every 20th session.
            let mut looks = (20..=300_i64).step_by(20).map(|nth| nth * 10);
            looks.any(|minutes| {
                let look = Timestamp::from_millis((minutes + 70) * 60_000);
                let after = settled(&now, look);
                let quality = WatchResult::compare(&before, &after).marks.swap_remove(0);
                quality.is_worse
            })
        });
        let share = f64::from(u32::try_from(found.count()).unwrap()) / f64::from(runs());
        assert!(share <= 0.05, "{share} of watches, bad ones late: {is_bad_late}");
    }
}

#[test]
fn what_was_counted_does_not_change_at_a_later_look() {
    let mut random = SeededRandom::new(23);
    let sessions = late_sessions(&mut random, 200, true);
    let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
    let last = settled(&sessions, at(10_000));
    for minutes in (100..2_000).step_by(100) {
        let look = settled(&sessions, at(minutes));
        assert_eq!(look, last[..look.len()], "at {minutes}");
    }
}

/// Share of A/B tests that end as harm and with a winner, looked at after every user.
fn ab_ends(seed: u64, (users, share): (usize, u32), (control, candidate): (f64, f64)) -> [f64; 2] {
    let mut random = SeededRandom::new(seed);
    let mut ends = [0.0; 2];
    for _ in 0..runs() {
        let unit = |_| {
            let is_candidate = unit(&mut random) < f64::from(share) / 100.0;
            let arm = if is_candidate { Arm::Candidate } else { Arm::Control };
            let quality = if is_candidate { candidate } else { control };
            UnitMarks { arm, marks: session(&mut random, quality), as_assigned: true }
        };
        let units: Vec<_> = (0..users).map(unit).collect();
        match AbResult::compare(&units, share, Mark::Quality).decided() {
            Some((AbEnd::Harm, _)) => ends[0] += 1.0 / f64::from(runs()),
            Some((AbEnd::Winner, _)) => ends[1] += 1.0 / f64::from(runs()),
            _ => {}
        }
    }
    println!("{users} users, share {share}%, {control} and {candidate}: {ends:?}");
    ends
}

#[test]
fn at_most_five_percent_of_ab_tests_of_equal_versions_find_a_difference_under_peeking() {
    for (seed, share, quality) in [(11, 50, 0.85), (12, 10, 0.85), (13, 50, 0.5), (14, 80, 0.95)] {
        let [harm, winner] = ab_ends(seed, (800, share), (quality, quality));
        assert!(harm + winner <= 0.05, "{harm} harm, {winner} winner at {quality}, {share}%");
    }
}

#[test]
fn most_differences_of_fifteen_points_are_found_within_800_users() {
    let [_, winner] = ab_ends(15, (800, 50), (0.7, 0.85));
    let [harm, _] = ab_ends(16, (800, 50), (0.85, 0.7));
    assert!(winner >= 0.8 && harm >= 0.8, "{winner} winners, {harm} harm");
}
