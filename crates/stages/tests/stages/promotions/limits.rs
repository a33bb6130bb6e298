//! What a promotion may not do: another agent's labels, another version's evidence, and what only
//! approvers change.

use ratchet_core::promotion::ab_test::AbSpec;
use ratchet_core::promotion::watch::Mark;
use ratchet_store::catalog::{NewKey, Permissions, Role};

use super::*;

fn strict() -> PromotionPolicy {
    PromotionPolicy { approvers: vec!["ann@example.com".to_owned()], ..watched() }
}

/// A promotion of a prompt version through an agent, with complete evidence.
async fn approved_by(shop: &Shop, agent: &str, prompt: u32) -> StoredPromotion {
    let catalog = shop.catalog();
    let settings = AgentSettings::default();
    catalog.save_agent(shop.id.clone(), agent.into(), settings, shop.clock.now()).await.unwrap();
    let own = shop.approved(prompt).await.promotion;
    let prompts = BTreeMap::from([("shop".to_owned(), prompt)]);
    let version = AgentVersion { prompts, ..AgentVersion::default() };
    let now = shop.clock.now();
    let version =
        catalog.save_agent_version(shop.id.clone(), agent.into(), version, now).await.unwrap();
    let (version, dataset) = (version.id, format!("{agent}-eval-global"));
    let new = NewPromotion { version: version.clone(), dataset, author: None };
    let made = catalog.create_promotion(shop.id.clone(), new, now).await.unwrap();
    let evidence = own.evidence;
    let gate = evidence.gate.map(|gate| GateResult { run: format!("run-{version}"), ..gate });
    let by = catalog.signer();
    for action in [
        Action::ToolTests(evidence.tool_tests.unwrap()),
        Action::Gate(gate.unwrap()),
        Action::Verdicts(evidence.verdicts.unwrap()),
        Action::Review { by: by.clone(), note: None },
        Action::Approve { by, note: None },
    ] {
        shop.act(&made.id, action).await;
    }
    shop.stored(&made.id).await
}

#[tokio::test]
async fn a_locked_label_does_not_move_by_promotions_and_tests_of_another_agent() {
    let shop = Shop::open(strict(), None).await;
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&["next"]).await.unwrap();
    let other = approved_by(&shop, "x", next).await;
    assert_eq!(other.promotion.state, PromotionState::Approved);
    let refused = shop.try_act(&other.id, Action::Start).await.unwrap_err().to_string();
    assert!(refused.contains("only by promotion of agent shop"), "{refused}");
    assert_eq!(shop.production().await, Some(1));
    let spec = AbSpec {
        agent: "x".to_owned(),
        prompt: "shop".to_owned(),
        control: "production".to_owned(),
        candidate: "next".to_owned(),
        share: 50,
        primary: Mark::Quality,
        max_units: 400,
        max_days: 30,
        window_hours: 1,
    };
    let tested = shop.catalog().start_ab_test(shop.id.clone(), spec, shop.clock.now()).await;
    let refused = tested.unwrap().unwrap_err().to_string();
    assert!(refused.contains("the agent shop"), "{refused}");
    // A version with the prompt as it is in production moves nothing of another agent.
    let same = approved_by(&shop, "y", 1).await;
    assert_eq!(shop.act(&same.id, Action::Start).await.promotion.state, PromotionState::Live);
    assert_eq!(shop.production().await, Some(1));
}

#[tokio::test]
async fn a_label_that_is_locked_while_it_deploys_stays_and_what_served_is_deployed_again() {
    let target = DeployTarget::Command(vec!["true".to_owned()]);
    let deploys = PromotionPolicy { deploys: true, ..PromotionPolicy::default() };
    let shop = Shop::open(deploys.clone(), Some(target)).await;
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&[]).await.unwrap();
    let promotion = shop.promote(next).await;
    assert_eq!(promotion.promotion.state, PromotionState::Deploying);
    let settings = AgentSettings {
        promotion: PromotionPolicy { prompts: vec!["shop".to_owned()], ..strict() },
        ..AgentSettings::default()
    };
    let now = shop.clock.now();
    shop.catalog().save_agent(shop.id.clone(), "desk".into(), settings, now).await.unwrap();
    shop.worker.deployments().await.unwrap();
    let failed = shop.stored(&promotion.id).await.promotion;
    assert_eq!((failed.state, failed.attempts), (PromotionState::Failed, 2));
    assert_eq!(shop.production().await, Some(1));
}

#[tokio::test]
async fn a_run_is_evidence_for_one_agent_version_also_after_its_evidence_is_void() {
    let shop = Shop::open(watched(), None).await;
    shop.prompt(&["production"]).await.unwrap();
    let (two, three) = (shop.prompt(&[]).await.unwrap(), shop.prompt(&[]).await.unwrap());
    let first = shop.approved(two).await;
    let gate = first.promotion.evidence.gate.clone().unwrap();
    let second = shop.approved(three).await;
    let refused = shop.try_act(&second.id, Action::Gate(gate.clone())).await.unwrap_err();
    assert!(refused.to_string().contains("evidence for version"), "{refused}");
    let version = second.promotion.version;
    let by = shop.catalog().signer();
    shop.act(&first.id, Action::ChangeVersion { version, by }).await;
    let refused = shop.try_act(&first.id, Action::Gate(gate)).await.unwrap_err().to_string();
    assert!(refused.contains("evidence for version"), "{refused}");
}

#[tokio::test]
async fn a_prompt_version_that_an_approved_promotion_needs_is_not_deleted() {
    let shop = Shop::open(PromotionPolicy::default(), None).await;
    shop.prompt(&["production"]).await.unwrap();
    let next = shop.prompt(&[]).await.unwrap();
    let promotion = shop.approved(next).await;
    let delete = async || {
        let pick = Some(Pick::Version(next));
        let catalog = shop.catalog();
        catalog.delete_prompts(shop.id.clone(), "shop".into(), pick, shop.clock.now()).await
    };
    let refused = delete().await.unwrap_err().to_string();
    assert!(refused.contains(&promotion.id) && refused.contains("approved"), "{refused}");
    shop.act(&promotion.id, Action::Abandon).await;
    delete().await.unwrap();
}

#[tokio::test]
async fn a_policy_is_changed_by_owners_of_the_project_and_approvers_alone() {
    let shop = Shop::open(strict(), None).await;
    let key = async |role: Role| {
        let permissions = Permissions::NONE;
        let new = NewKey {
            project: shop.id.clone(),
            role,
            permissions,
            note: None,
            person: None,
            pair: None,
        };
        shop.catalog().create_key(new, shop.clock.now()).await.unwrap().0
    };
    let (member, owner) = (key(Role::Member).await, key(Role::Owner).await);
    let by = |key| shop.data.catalog().by(Actor::key(key));
    let save = async |catalog: Catalog, name: &str, settings: AgentSettings| {
        catalog.save_agent(shop.id.clone(), name.into(), settings, shop.clock.now()).await
    };
    let settings =
        async || shop.catalog().agent(shop.id.clone(), "shop".into()).await.unwrap().settings;
    let now = settings().await;
    let off = AgentSettings { promotion: PromotionPolicy::default(), ..now.clone() };
    let mine = PromotionPolicy { approvers: vec![member.public_key.clone()], ..strict() };
    let merged = AgentSettings { aliases: vec!["shop".to_owned()], ..AgentSettings::default() };
    for (name, changed) in [
        ("shop", off.clone()),
        ("shop", AgentSettings { promotion: mine.clone(), ..now.clone() }),
        ("shop", AgentSettings { owner: Some(member.public_key.clone()), ..now.clone() }),
        ("other", merged),
    ] {
        let refused = save(by(&member), name, changed).await.unwrap_err();
        assert!(matches!(refused, StoreError::Denied(_)), "{refused}");
    }
    let deleted = by(&member).delete_agent(shop.id.clone(), "shop".into(), shop.clock.now()).await;
    assert!(matches!(deleted, Err(StoreError::Denied(_))));
    // What is no part of the policy is everybody's.
    let capacity = AgentSettings { review_capacity: 7, ..settings().await };
    save(by(&member), "shop", capacity.clone()).await.unwrap();
    let named = AgentSettings { promotion: mine, ..capacity };
    save(by(&owner), "shop", named).await.unwrap();
    // An approver now.
    save(by(&member), "shop", off).await.unwrap();
    assert!(!settings().await.promotion.is_required);
}
