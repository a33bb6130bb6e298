use super::*;

/// All evidence but the approval.
fn reviewed(world: &mut World, index: usize) {
    let (tests, gate) = (world.tests(1), world.gate(index, 3));
    world.apply(index, Action::ToolTests(tests)).result.unwrap();
    world.apply(index, Action::Gate(gate)).result.unwrap();
    let verdicts = world.verdicts(index, 1);
    world.apply(index, Action::Verdicts(verdicts)).result.unwrap();
    world.apply(index, Action::Review { by: signer(0), note: None }).result.unwrap();
}

fn approve(world: &mut World, by: Signer) -> Result<Vec<Effect>, String> {
    let applied = world.apply(1, Action::Approve { by, note: None });
    applied.result.map_err(|why| why.to_string())
}

#[test]
fn a_second_person_neither_created_nor_reviewed_a_promotion_and_is_no_program() {
    let mut world = World::new(true, false);
    world.policy.approvers.extend(["pk-ci".to_owned(), "pk-cd".to_owned()]);
    reviewed(&mut world, 1);
    let why = approve(&mut world, signer(0)).unwrap_err();
    assert!(why.contains("owner@example.com reviewed its results"), "{why}");
    // Keys are named as approvers, and are still no people: neither that of the author nor another.
    for name in ["pk-ci", "pk-cd"] {
        let key = Signer { kind: SignerKind::Key, name: name.to_owned() };
        let why = approve(&mut world, key).unwrap_err();
        assert!(why.contains(&format!("{name} is the key of a program")), "{why}");
    }
    approve(&mut world, signer(1)).unwrap();
    assert_eq!(world.promotions[1].state, PromotionState::Approved);
    // Who changes the version asks for the promotion from then on.
    let version = "9".to_owned();
    world.apply(1, Action::ChangeVersion { version, by: signer(1) }).result.unwrap();
    reviewed(&mut world, 1);
    let why = approve(&mut world, signer(1)).unwrap_err();
    assert!(why.contains("approver@example.com created the promotion"), "{why}");
}

#[test]
fn an_approval_that_is_none_of_a_second_person_any_more_does_not_start_a_promotion() {
    let mut world = World::new(false, false);
    reviewed(&mut world, 1);
    approve(&mut world, signer(0)).unwrap();
    world.policy.second_person = true;
    let why = world.apply(1, Action::Start).result.unwrap_err().to_string();
    assert!(why.contains("it needs a second person: owner@example.com reviewed"), "{why}");
    assert_eq!(world.promotions[1].state, PromotionState::Review);
}

#[test]
fn a_key_approves_only_under_its_own_name() {
    let mut world = World::new(false, false);
    world.policy.approvers = vec![APPROVER.to_owned(), "pk-cd".to_owned()];
    reviewed(&mut world, 1);
    let key = |name: &str| Signer { kind: SignerKind::Key, name: name.to_owned() };
    for name in [APPROVER, "pk-ci", "PK-CD"] {
        assert!(approve(&mut world, key(name)).is_err(), "{name}");
    }
    approve(&mut world, key("pk-cd")).unwrap();
    let approval = world.promotions[1].evidence.approval.clone().unwrap();
    assert_eq!(approval.by, key("pk-cd"), "as the key, not as a person");
}
