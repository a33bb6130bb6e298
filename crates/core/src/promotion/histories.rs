//! Random histories of two promotions of one agent, with CI, two approvers, crashed deployments and
//! rollbacks at any time, checked against a model of production.

/// Who approves.
mod approvers;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::criteria::Criterion;
use super::evidence::{Comparison, GateResult, ItemVerdicts, PromotionEvidence, ToolTests};
use super::policy::{PromotionPolicy, Responsible, Signer, SignerKind};
use super::state::{Action, Applied, Before, Effect, Facts, Promotion, PromotionState, Refused};
use super::watch::{Mark, MarkResult, WatchResult};
use crate::gate::decision::Verdict;
use crate::time::Timestamp;

const OWNER: &str = "owner@example.com";
const APPROVER: &str = "approver@example.com";
const STRANGER: &str = "stranger@example.com";

fn signer(who: u8) -> Signer {
    let person = |name: &str| Signer { kind: SignerKind::Person, name: name.to_owned() };
    match who % 4 {
        0 => person(OWNER),
        1 => person(APPROVER),
        2 => person(STRANGER),
        _ => Signer { kind: SignerKind::Key, name: "pk-ci".to_owned() },
    }
}

/// An action of a random history, with its choice.
#[derive(Clone, Copy, Debug)]
struct Step {
    promotion: usize,
    what: u8,
    choice: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..2_usize, 0..16_u8, any::<u8>()).prop_map(|(promotion, what, choice)| Step {
        promotion,
        what,
        choice,
    });
    vec(step, 1..120)
}

#[derive(Clone, Copy, Debug)]
struct Job {
    promotion: usize,
    attempt: u32,
}

/// Production as users see it, and what Ratchet has recorded.
struct World {
    promotions: [Promotion; 2],
    /// Version of the prompt with the label.
    label: u32,
    /// The promotion that the label is from.
    serving: Option<usize>,
    jobs: Vec<Job>,
    audits: [Vec<String>; 2],
    /// Rollbacks whose deployment failed without a notification.
    silent_faults: usize,
    dataset: i64,
    policy: PromotionPolicy,
    now: i64,
    lives: usize,
}

fn new_promotion(version: u32, author: u8) -> Promotion {
    Promotion {
        agent: "shop".to_owned(),
        version: version.to_string(),
        environment: "production".to_owned(),
        dataset: "shop-eval-global".to_owned(),
        author: signer(author),
        state: PromotionState::Draft,
        evidence: PromotionEvidence::default(),
        attempts: 0,
        before: None,
        live_at: None,
        watch: None,
        outcome: None,
    }
}

impl World {
    fn new(second_person: bool, deploys: bool) -> Self {
        let policy = PromotionPolicy {
            is_required: true,
            approvers: vec![OWNER.to_owned(), APPROVER.to_owned()],
            second_person,
            deploys,
            ..PromotionPolicy::default()
        };
        Self {
            promotions: [new_promotion(2, 0), new_promotion(3, 3)],
            label: 1,
            serving: None,
            jobs: Vec::new(),
            audits: [Vec::new(), Vec::new()],
            silent_faults: 0,
            dataset: 1,
            policy,
            now: 1,
            lives: 0,
        }
    }

    fn facts(&self, index: usize) -> Facts {
        let other = &self.promotions[1 - index];
        Facts {
            responsible: Responsible { owner: Some(OWNER.to_owned()), policy: self.policy.clone() },
            dataset_version: Some(Timestamp::from_nanos(self.dataset)),
            tools: None,
            production: Before {
                labels: BTreeMap::from([("shop".to_owned(), Some(self.label))]),
                version: None,
                promotion: self.serving.map(|serving| serving.to_string()),
            },
            is_serving: self.serving == Some(index),
            deploying: (other.state == PromotionState::Deploying).then(|| "other".to_owned()),
            can_deploy: true,
            now: Timestamp::from_nanos(self.now),
        }
    }

    /// One transaction: the action and its effects, or nothing.
    fn apply(&mut self, index: usize, action: Action) -> Applied {
        self.now += 1;
        let facts = self.facts(index);
        let was = self.promotions[index].state;
        let applied = self.promotions[index].apply(action, &facts);
        self.audits[index].extend(applied.audit.clone());
        let state = self.promotions[index].state;
        if state != was {
            assert!(
                !applied.audit.is_empty(),
                "a change without an audit entry: {was:?} {state:?}"
            );
        }
        for effect in applied.result.clone().unwrap_or_default() {
            self.carry_out(index, &effect);
        }
        applied
    }

    fn carry_out(&mut self, index: usize, effect: &Effect) {
        match effect {
            Effect::Deploy { attempt } => {
                self.must_be_complete(index);
                self.jobs.push(Job { promotion: index, attempt: *attempt });
            }
            Effect::GoLive => {
                self.must_be_complete(index);
                let earlier = self.serving.filter(|serving| *serving != index);
                self.label = self.promotions[index].version.parse().unwrap();
                self.serving = Some(index);
                self.lives += 1;
                if let Some(earlier) = earlier {
                    let action = Action::Supersede { by_promotion: index.to_string() };
                    self.apply(earlier, action).result.unwrap();
                }
            }
            Effect::Restore => {
                let before = self.promotions[index].before.clone().unwrap();
                self.label = before.labels["shop"].unwrap();
                self.serving = before.promotion.map(|earlier| earlier.parse().unwrap());
            }
            Effect::DeployBefore { attempt } => {
                self.jobs.push(Job { promotion: index, attempt: *attempt });
            }
            Effect::Notify => {}
        }
    }

    /// All six criteria, from the evidence itself.
    fn must_be_complete(&self, index: usize) {
        let promotion = &self.promotions[index];
        let evidence = &promotion.evidence;
        let tests = evidence.tool_tests.as_ref().unwrap();
        assert!(tests.failed == 0 && tests.tests > tests.skipped);
        let gate = evidence.gate.as_ref().unwrap();
        assert_ne!(gate.verdict, Verdict::Block);
        assert!(gate.verdict == Verdict::Pass || evidence.waiver.is_some());
        assert_ne!(gate.comparison, Comparison::Other);
        let verdicts = evidence.verdicts.as_ref().unwrap();
        assert_eq!((verdicts.gate.as_str(), verdicts.open_count), (gate.gate.as_str(), 0));
        assert_eq!(evidence.review.as_ref().unwrap().by, signer(0));
        let approver = &evidence.approval.as_ref().unwrap().by;
        assert!(*approver == signer(0) || *approver == signer(1));
        if self.policy.second_person {
            let review = &evidence.review.as_ref().unwrap().by;
            let waiver = evidence.waiver.as_ref().map(|waiver| &waiver.by);
            assert!(
                *approver != promotion.author && approver != review && Some(approver) != waiver
            );
            assert_eq!(approver.kind, SignerKind::Person);
        }
    }

    fn step(&mut self, step: Step) {
        let Step { promotion: index, what, choice } = step;
        let by = signer(choice);
        let action = match what {
            0 => Action::ToolTests(self.tests(choice)),
            1 | 2 => Action::Gate(self.gate(index, choice)),
            3 | 4 => Action::Verdicts(self.verdicts(index, choice)),
            5 => Action::Review { by, note: None },
            6 => Action::Waive { by, reason: "measured by hand".to_owned() },
            7 | 8 => Action::Approve { by, note: None },
            9 | 10 => Action::Start,
            11 => return self.deployment(choice),
            12 => Action::Rollback { by, reason: "worse".to_owned() },
            13 => Action::Watched(watch(choice.is_multiple_of(3))),
            14 => Action::Confirm(watch(choice.is_multiple_of(3))),
            _ => match choice % 8 {
                0 => return self.dataset += 1,
                1 => Action::Abandon,
                2 => Action::ChangeVersion { version: (u32::from(choice) + 4).to_string(), by },
                _ => return,
            },
        };
        let applied = self.apply(index, action);
        if let Err(Refused::Missing(missing)) = applied.result {
            assert!(missing.iter().all(|state| !state.who.is_empty() && !state.text.is_empty()));
        }
    }

    /// A worker runs a job: it succeeds, fails, or crashes and leaves the job for the next one. A
    /// crash after the result was stored means that it is reported again.
    fn deployment(&mut self, choice: u8) {
        let Some(job) = self.jobs.first().copied() else { return };
        let Job { promotion, attempt } = job;
        let why = "refused".to_owned();
        let action = match choice % 5 {
            0 => Action::DeployFailed { attempt, why },
            1 => return,
            4 => Action::NotDeployable { attempt, why },
            _ => Action::Deployed { attempt },
        };
        let restores = {
            let promotion = &self.promotions[promotion];
            promotion.state == PromotionState::RolledBack && promotion.attempts == attempt
        };
        let effects = self.apply(promotion, action.clone()).result.unwrap();
        if restores && matches!(action, Action::DeployFailed { .. }) {
            let outcome = self.promotions[promotion].outcome.clone().unwrap();
            let is_told = effects.contains(&Effect::Notify) && outcome.text.contains("refused");
            self.silent_faults += usize::from(!is_told);
        }
        if choice % 5 == 3 {
            let lives = self.lives;
            self.apply(promotion, action).result.unwrap();
            assert_eq!(self.lives, lives, "a repeated report went live again");
        }
        self.jobs.remove(0);
    }

    fn tests(&self, choice: u8) -> ToolTests {
        ToolTests {
            tests: 10,
            failed: u32::from(choice.is_multiple_of(5)),
            skipped: 0,
            source: None,
            commit: None,
            by: signer(3),
            at: Timestamp::from_nanos(self.now),
        }
    }

    fn gate(&self, index: usize, choice: u8) -> GateResult {
        let verdict = match choice % 6 {
            0 => Verdict::Block,
            1 | 2 => Verdict::Inconclusive,
            _ => Verdict::Pass,
        };
        let is_compared = !choice.is_multiple_of(7);
        GateResult {
            gate: format!("gate-{}", self.now),
            run: format!("run-{}", choice % 2),
            run_name: "run".to_owned(),
            verdict,
            accuracy: 0.9,
            min_accuracy: Some(0.7),
            comparison: if is_compared { Comparison::Production } else { Comparison::Other },
            dataset_version: Timestamp::from_nanos(self.dataset),
            sentence: index.to_string(),
            by: signer(3),
            at: Timestamp::from_nanos(self.now),
        }
    }

    fn verdicts(&self, index: usize, choice: u8) -> ItemVerdicts {
        let gate = self.promotions[index].evidence.gate.as_ref();
        let gate = gate.map_or_else(String::new, |gate| gate.gate.clone());
        ItemVerdicts {
            gate,
            needed: 3,
            open: Vec::new(),
            open_count: u32::from(choice.is_multiple_of(4)),
        }
    }

    fn check(&self) {
        for (index, promotion) in self.promotions.iter().enumerate() {
            let is_live = matches!(
                promotion.state,
                PromotionState::Live | PromotionState::Confirmed | PromotionState::Superseded
            );
            assert!(!is_live || promotion.before.is_some());
            if self.serving == Some(index) {
                // Nothing half-promoted: what the label says is what the promotion says.
                assert!(is_live, "{:?} serves", promotion.state);
                assert_eq!(promotion.version, self.label.to_string());
            } else {
                assert!(promotion.state != PromotionState::Live, "live, but not in production");
            }
            assert_eq!(replayed(&self.audits[index]), promotion.state, "{:?}", self.audits[index]);
        }
        assert_eq!(self.silent_faults, 0, "a rollback's deployment failed in silence");
        if self.lives == 0 {
            assert_eq!(self.label, 1, "production changed without a promotion");
        }
    }
}

/// The state that the audit log leads to.
fn replayed(audit: &[String]) -> PromotionState {
    let mut state = PromotionState::Draft;
    for line in audit {
        let Some((from, to)) = line.trim_end_matches(')').rsplit_once(" → ") else { continue };
        let from = from.rsplit([' ', '(']).next().unwrap();
        if let (Some(from), Some(to)) = (PromotionState::parse(from), PromotionState::parse(to)) {
            assert_eq!(from, state, "{audit:?}");
            state = to;
        }
    }
    state
}

fn watch(is_worse: bool) -> WatchResult {
    let mark = MarkResult {
        mark: Mark::Quality,
        before: Some(0.9),
        before_sessions: 300,
        after: Some(0.7),
        after_sessions: 100,
        evidence: 30.0,
        needed: Some(20.0),
        is_worse,
    };
    WatchResult { marks: vec![mark], ..WatchResult::default() }
}

/// Meets all criteria of a promotion and starts it.
fn promote(world: &mut World, index: usize) {
    let tests = world.tests(1);
    let gate = world.gate(index, 3);
    world.apply(index, Action::ToolTests(tests)).result.unwrap();
    world.apply(index, Action::Gate(gate)).result.unwrap();
    let verdicts = world.verdicts(index, 1);
    world.apply(index, Action::Verdicts(verdicts)).result.unwrap();
    world.apply(index, Action::Review { by: signer(0), note: None }).result.unwrap();
    world.apply(index, Action::Approve { by: signer(1), note: None }).result.unwrap();
    assert_eq!(world.promotions[index].state, PromotionState::Approved);
    world.apply(index, Action::Start).result.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn nothing_reaches_production_without_all_six_criteria_and_the_audit_log_is_complete(
        steps in steps(),
        second_person in any::<bool>(),
        deploys in any::<bool>(),
        is_promoted_first in any::<bool>(),
    ) {
        let mut world = World::new(second_person, deploys);
        if is_promoted_first {
            // Random steps alone seldom meet all criteria.
            promote(&mut world, 0);
            world.check();
        }
        for step in steps {
            world.step(step);
            world.check();
        }
    }
}

#[test]
fn a_refusal_names_what_is_missing_and_who_can_give_it() {
    let mut world = World::new(true, false);
    let refused = world.apply(0, Action::Start).result.unwrap_err();
    let text = refused.to_string();
    for criterion in Criterion::ALL {
        assert!(text.contains(criterion.title()), "{text}");
    }
    assert!(text.contains(OWNER) && text.contains("ratchet gate"), "{text}");
    promote(&mut world, 0);
    assert_eq!(world.label, 2);
    world.apply(0, Action::Rollback { by: signer(2), reason: "worse".to_owned() }).result.unwrap();
    assert_eq!((world.label, world.promotions[0].state), (1, PromotionState::RolledBack));
}

#[test]
fn a_version_that_serves_again_after_a_rollback_can_be_rolled_back_as_well() {
    let mut world = World::new(false, false);
    promote(&mut world, 0);
    promote(&mut world, 1);
    let rollback = || Action::Rollback { by: signer(0), reason: "worse".to_owned() };
    assert_eq!(world.promotions[0].state, PromotionState::Superseded);
    assert!(world.apply(0, rollback()).result.is_err(), "another version serves");
    world.apply(1, rollback()).result.unwrap();
    assert_eq!((world.label, world.serving), (2, Some(0)));
    world.apply(0, rollback()).result.unwrap();
    assert_eq!((world.label, world.serving), (1, None));
    assert_eq!(world.promotions[0].state, PromotionState::RolledBack);
}

#[test]
fn a_required_promotion_needs_the_global_dataset_and_the_accuracy_of_the_policy() {
    let mut world = World::new(false, false);
    let tests = world.tests(1);
    world.apply(0, Action::ToolTests(tests)).result.unwrap();
    let lax = GateResult { min_accuracy: Some(0.1), ..world.gate(0, 3) };
    world.apply(0, Action::Gate(lax)).result.unwrap();
    let refused = world.apply(0, Action::Start).result.unwrap_err().to_string();
    assert!(refused.contains("demanded an accuracy of 10.0%"), "{refused}");
    assert!(refused.contains("--min-accuracy 0.7"), "{refused}");
    world.promotions[1].dataset = "shop-easy".to_owned();
    let gate = world.gate(1, 3);
    let tests = world.tests(1);
    world.apply(1, Action::ToolTests(tests)).result.unwrap();
    world.apply(1, Action::Gate(gate)).result.unwrap();
    let verdicts = world.verdicts(1, 1);
    world.apply(1, Action::Verdicts(verdicts)).result.unwrap();
    world.apply(1, Action::Review { by: signer(0), note: None }).result.unwrap();
    world.apply(1, Action::Approve { by: signer(1), note: None }).result.unwrap();
    let refused = world.apply(1, Action::Start).result.unwrap_err().to_string();
    assert!(refused.contains("shop-eval-global"), "{refused}");
}

#[test]
fn a_version_that_must_not_go_live_any_more_is_undone() {
    let mut world = World::new(false, true);
    promote(&mut world, 0);
    let Some(job) = world.jobs.first().copied() else { panic!("nothing is deployed") };
    let action = Action::NotDeployable { attempt: job.attempt, why: "deleted".to_owned() };
    let effects = world.apply(0, action).result.unwrap();
    assert!(effects.contains(&Effect::DeployBefore { attempt: job.attempt + 1 }), "{effects:?}");
    assert_eq!((world.promotions[0].state, world.label), (PromotionState::Failed, 1));
}

#[test]
fn a_blocked_gate_cannot_be_waived_and_an_inconclusive_one_only_by_its_owner() {
    let mut world = World::new(false, false);
    let waive = |by: u8| Action::Waive { by: signer(by), reason: "looked at by hand".to_owned() };
    let blocked = world.gate(0, 6);
    world.apply(0, Action::Gate(blocked)).result.unwrap();
    assert!(matches!(world.apply(0, waive(0)).result, Err(Refused::State { .. })));
    let unclear = world.gate(0, 1);
    world.apply(0, Action::Gate(unclear)).result.unwrap();
    assert!(matches!(world.apply(0, waive(1)).result, Err(Refused::NotYours { .. })));
    assert!(world.apply(0, waive(0)).result.is_ok());
    let empty = Action::Waive { by: signer(0), reason: " ".to_owned() };
    assert!(matches!(world.apply(0, empty).result, Err(Refused::Invalid { field: "reason", .. })));
}

#[test]
fn a_changed_dataset_or_version_voids_the_evidence() {
    let mut world = World::new(false, true);
    let gate = world.gate(0, 3);
    let tests = world.tests(1);
    world.apply(0, Action::ToolTests(tests)).result.unwrap();
    world.apply(0, Action::Gate(gate)).result.unwrap();
    world.dataset += 1;
    let applied = world.apply(0, Action::Start);
    assert!(applied.audit[0].contains("evidence void"), "{:?}", applied.audit);
    assert!(applied.result.is_err());
    assert!(world.promotions[0].evidence.gate.is_none());
    assert!(world.promotions[0].evidence.tool_tests.is_some());
    world
        .apply(0, Action::ChangeVersion { version: "9".to_owned(), by: signer(0) })
        .result
        .unwrap();
    assert!(world.promotions[0].evidence.is_empty());
}
