use proptest::prelude::*;

use super::*;
use crate::gate::decision::Verdict;

fn version() -> impl Strategy<Value = Option<PromptVersion>> {
    prop::option::of((1_u32..4).prop_map(|version| PromptVersion { name: "p".to_owned(), version }))
}

fn action() -> impl Strategy<Value = ProposalAction> {
    let verdict =
        prop_oneof![Just(Verdict::Pass), Just(Verdict::Block), Just(Verdict::Inconclusive)];
    let link = (0..3_u8, verdict).prop_map(|(gate, verdict): (u8, Verdict)| GateLink {
        gate: gate.to_string(),
        dataset: "d".to_owned(),
        run: "r".to_owned(),
        verdict,
    });
    let rejection = (prop::sample::select(RejectionKind::ALL.to_vec()), "[ a-z]{0,5}")
        .prop_map(|(kind, reason)| ProposalRejection { kind, reason });
    prop_oneof![
        Just(ProposalAction::Accept),
        rejection.prop_map(ProposalAction::Reject),
        Just(ProposalAction::Reopen),
        version().prop_map(ProposalAction::Experiment),
        Just(ProposalAction::Done { note: None }),
        link.prop_map(ProposalAction::Gate),
        prop::option::of("[a-z]{1,3}").prop_map(|promotion| ProposalAction::Promoted { promotion }),
        Just(ProposalAction::RolledBack),
    ]
}

const fn is_by_person(action: &ProposalAction) -> bool {
    !matches!(
        action,
        ProposalAction::Gate(_) | ProposalAction::Promoted { .. } | ProposalAction::RolledBack
    )
}

proptest! {
    #[test]
    fn what_a_proposal_is_follows_from_what_was_done(
        actions in prop::collection::vec(action(), 0..40)
    ) {
        let mut status = ProposalStatus::default();
        let mut is_accepted = false;
        for action in actions {
            let before = status.clone();
            let result = status.apply(action.clone());
            let (was, now) = (before.state, status.state);
            // A refusal and nothing to do change nothing; a move is reported as it was.
            match &result {
                Err(_) => prop_assert!(is_by_person(&action)),
                Ok(Some(moved)) => prop_assert_eq!((moved.from, moved.to), (was, now)),
                Ok(None) => {}
            }
            prop_assert_eq!(matches!(&result, Ok(Some(_))), status != before);
            // Nobody but a person takes it up.
            is_accepted = match now {
                ProposalState::New => false,
                _ => is_accepted || action == ProposalAction::Accept,
            };
            if now.is_acted_on() {
                prop_assert!(is_accepted);
            }
            if !is_by_person(&action) {
                prop_assert!(was.is_acted_on() || status == before);
            }
            // Links belong to states.
            prop_assert_eq!(now == ProposalState::Rejected, status.rejection.is_some());
            prop_assert!(now != ProposalState::Gated
                || status.gate.as_ref().is_some_and(|gate| gate.verdict == Verdict::Pass));
            prop_assert!(status.promotion.is_none() || now == ProposalState::Promoted);
            // The same once more changes nothing.
            if result.is_ok() && action != ProposalAction::RolledBack {
                let again = status.clone().apply(action);
                prop_assert!(!matches!(again, Ok(Some(_))), "{:?}", again);
            }
        }
    }

    #[test]
    fn a_choice_that_is_offered_is_not_refused(
        actions in prop::collection::vec(action(), 0..20)
    ) {
        let mut status = ProposalStatus::default();
        for action in actions {
            drop(status.apply(action));
        }
        for choice in status.choices() {
            let rejection = ProposalRejection { kind: RejectionKind::Wrong, reason: "x".to_owned() };
            let action = match *choice {
                "accept" => ProposalAction::Accept,
                "reject" => ProposalAction::Reject(rejection),
                "reopen" => ProposalAction::Reopen,
                "experiment" => ProposalAction::Experiment(None),
                _ => ProposalAction::Done { note: None },
            };
            prop_assert!(matches!(status.clone().apply(action), Ok(Some(_))), "{}", choice);
        }
    }
}

#[test]
fn words_are_read_as_they_are_written() {
    for state in ProposalState::ALL {
        assert_eq!(ProposalState::parse(state.as_str()), Some(state));
    }
    for kind in RejectionKind::ALL {
        assert_eq!(RejectionKind::parse(kind.as_str()), Some(kind));
    }
    for source in ProposalSource::ALL {
        assert_eq!(ProposalSource::parse(source.as_str()), Some(source));
    }
}

#[test]
fn a_rejection_needs_a_reason_and_says_which_field() {
    let rejection = ProposalRejection { kind: RejectionKind::Wrong, reason: " \n".to_owned() };
    let refused = ProposalStatus::default().apply(ProposalAction::Reject(rejection));
    assert!(refused.unwrap_err().to_string().starts_with("reason: "));
    let long = ProposalRejection { kind: RejectionKind::Wrong, reason: "x".repeat(1_001) };
    let refused = ProposalStatus::default().apply(ProposalAction::Reject(long));
    assert_eq!(refused.unwrap_err().to_string(), "reason: at most 1000 characters");
}
