use super::*;
use crate::improve::agent_week::GroupCount;
use crate::improve::backlog::{ProposalRejection, ProposalState, RejectionKind};

fn history(id: &str, state: ProposalState) -> ProposalHistory {
    let at = |day: &str| Some(Timestamp::parse(&format!("2026-{day}T00:00:00Z")).unwrap());
    let rejection = ProposalRejection { kind: RejectionKind::Wrong, reason: "not so".to_owned() };
    ProposalHistory {
        id: id.to_owned(),
        key: id.to_owned(),
        title: format!("title {id}"),
        component: Component::Prompt,
        source: ProposalSource::Failures,
        agent: Some("desk".to_owned()),
        status: ProposalStatus {
            state,
            rejection: (state == ProposalState::Rejected).then_some(rejection),
            ..ProposalStatus::default()
        },
        created_at: at("10-05").unwrap(),
        decided_at: at("10-07").filter(|_| state != ProposalState::New),
        tried_at: at("10-08").filter(|_| state.is_acted_on()),
        promoted_at: at("10-10").filter(|_| state == ProposalState::Promoted),
    }
}

fn week(first: &str, counts: &[(&str, u32)]) -> (String, AgentWeek) {
    let group = |(id, count): &(&str, u32)| GroupCount {
        id: (*id).to_owned(),
        failures: *count as usize,
        weighted: f64::from(*count),
        squares: f64::from(*count),
    };
    let groups = counts.iter().map(group).collect();
    let week = AgentWeek { agent: "desk".to_owned(), traffic: 1_000, reviewed: 50, groups };
    (first.to_owned(), week)
}

#[test]
fn under_half_accepted_it_says_so_and_what_missed() {
    use ProposalState::{Accepted, New, Rejected};
    let states = [Accepted, Rejected, Rejected, Rejected, Accepted, New];
    let all: Vec<_> =
        (0..).zip(states).map(|(n, state)| history(&format!("p{n}"), state)).collect();
    let found = value(&all, &[]);
    assert_eq!((found.made, found.decided, found.needs_recalibration), (6, 5, true));
    let acceptance = found.acceptance.unwrap();
    assert_eq!((acceptance.value, acceptance.n), (0.4, 5));
    let [lower, upper] = acceptance.interval.unwrap();
    assert!(lower < 0.15 && upper > 0.7, "five decisions say little");
    assert_eq!(found.false_positives.unwrap().value, 0.6);
    assert_eq!(found.days_to_decision.unwrap().value, 2.0);
    assert_eq!(found.days_to_experiment.unwrap().value, 3.0);
    let [prompt] = found.diagnoses.as_slice() else { panic!("{:?}", found.diagnoses) };
    assert_eq!((prompt.accepted, prompt.rejected), (2, 3));
    assert_eq!(prompt.misses[0], "title p1: not so");
    // Four decisions are too few to say so.
    assert!(!value(&all[1..5], &[]).needs_recalibration);
}

#[test]
fn a_lift_is_what_untouched_groups_do_not_show() {
    let all = [history("p", ProposalState::Promoted)];
    let before = [("p", 40), ("a", 20), ("b", 22), ("c", 18), ("rare", 1)];
    // Everything halves; the proposal's group falls further.
    let after = [("p", 5), ("a", 10), ("b", 11), ("c", 9), ("rare", 9)];
    let weeks = [week("2026-09-27", &before), week("2026-10-11", &after)];
    let found = value(&all, &weeks);
    let lift = &found.lifts[0];
    assert_eq!(lift.controls, 3, "a rare group was never one to propose something for");
    assert!((lift.expected.unwrap() - 0.02).abs() < 1e-9);
    assert!((lift.lift.unwrap() - 0.015).abs() < 1e-9);
    assert!((lift.fixed.unwrap() - 0.75).abs() < 1e-9);
    assert_eq!(found.fix_rate, None, "one is no rate");
    // The week of the promotion is neither before nor after.
    let cut = [week("2026-10-04", &before), week("2026-10-11", &after)];
    let lift = &value(&all, &cut).lifts[0];
    assert_eq!(lift.why.as_deref(), Some("no whole week with reviews before the promotion"));
    let few = [week("2026-09-27", &before[..2]), week("2026-10-11", &after)];
    assert_eq!(value(&all, &few).lifts[0].interval, None);
}

/// Poisson counts without a dependency.
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 33).unwrap()) / f64::from(1_u32 << 31)
    }

    fn count(&mut self, mean: f64) -> u32 {
        let (limit, mut product, mut count) = ((-mean).exp(), self.unit(), 0);
        while product > limit {
            product *= self.unit();
            count += 1;
        }
        count
    }
}

/// Groups are proposed because they were large by chance; nothing changes; the interval contains no
/// change almost always, and the estimate is not biased towards a gain.
#[test]
fn what_shrinks_by_itself_is_no_lift() {
    let mut draws = Draws(7);
    let (mut covered, mut measured, mut sum) = (0, 0, 0.0);
    for _ in 0..400 {
        let names: Vec<String> = (0..12).map(|n| format!("g{n}")).collect();
        let before: Vec<(&str, u32)> =
            names.iter().map(|name| (name.as_str(), draws.count(4.0))).collect();
        let after: Vec<(&str, u32)> =
            names.iter().map(|name| (name.as_str(), draws.count(4.0))).collect();
        // Of the groups that are large enough for a proposal, somebody takes up any.
        let Some((taken, _)) = before.iter().find(|(_, count)| *count >= 3) else { continue };
        let all = [history(taken, ProposalState::Promoted)];
        let weeks = [week("2026-09-27", &before), week("2026-10-11", &after)];
        let found = value(&all, &weeks);
        let Some([lower, upper]) = found.lifts[0].interval else { continue };
        measured += 1;
        sum += found.lifts[0].lift.unwrap();
        covered += u32::from(lower <= 0.0 && upper >= 0.0);
    }
    assert!(measured > 300, "{measured}");
    assert!(f64::from(covered) / f64::from(measured) > 0.93, "{covered} of {measured}");
    let bias = sum / f64::from(measured);
    assert!(bias.abs() < 0.000_5, "{bias}");
}
