//! What people and programs say of a promotion is redacted before it is stored.

use ratchet_core::record::redact::{RedactionPattern, Rule};

use super::*;

const SECRET: &str = "hunter2";

#[tokio::test]
async fn notes_reasons_and_faults_are_redacted() {
    let shop = Shop::open(watched(), None).await;
    let what = RedactionPattern::Pattern(SECRET.to_owned());
    let rule = Rule::new(what, None).unwrap();
    let now = shop.clock.now();
    shop.catalog().add_redaction_rule(shop.id.clone(), rule, now).await.unwrap().unwrap();
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&[]).await.unwrap();
    let made = shop.approved(next).await;
    let (by, said) = (shop.catalog().signer(), format!("as {SECRET} says"));
    let note = Some(said.clone());
    let evidence = made.promotion.evidence.clone();
    let gate = evidence.gate.unwrap();
    let tests = ToolTests { source: note.clone(), ..evidence.tool_tests.unwrap() };
    let unclear = GateResult {
        verdict: Verdict::Inconclusive,
        sentence: said.clone(),
        run_name: said.clone(),
        ..gate.clone()
    };
    let verdicts = evidence.verdicts.unwrap();
    for action in [
        Action::ToolTests(tests),
        Action::Gate(unclear),
        Action::Verdicts(verdicts),
        Action::Review { by: by.clone(), note: note.clone() },
        Action::Waive { by: by.clone(), reason: said.clone() },
        Action::Approve { by: by.clone(), note },
        Action::Start,
        Action::Rollback { by, reason: said },
    ] {
        shop.act(&made.id, action).await;
    }
    let stored = shop.stored(&made.id).await.promotion;
    assert_eq!(stored.state, PromotionState::RolledBack);
    let shown = format!("{stored:?}");
    assert_eq!(shown.matches("as [redacted] says").count(), 7, "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    let query = AuditQuery::newest(Some(shop.id.clone()), 1_000);
    let audit = format!("{:?}", shop.catalog().audit(query).await.unwrap().rows);
    assert!(audit.contains("as [redacted] says"), "{audit}");
}
