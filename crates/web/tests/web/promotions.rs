//! A promotion, as two people make it in their browsers: created, reviewed, approved, started, rolled
//! back, and refused where somebody else or something else is missing.

use std::collections::BTreeMap;

use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::experiment::plan::{ExperimentPlan, PlannedTarget};
use ratchet_core::experiment::runner::{ClaimOrder, TrialResult};
use ratchet_core::gate::decision::{GateRule, Look};
use ratchet_core::payload::Json;
use ratchet_core::promotion::agent_version::AgentVersion;
use ratchet_core::promotion::policy::PromotionPolicy;
use ratchet_core::promotion::state::Action;
use ratchet_core::promotion::watch::{Mark, MarkResult, WatchResult};
use ratchet_core::record::score::ScoreSource;
use ratchet_core::time::Timestamp;
use ratchet_stages::experiment::evaluators::TrialEvaluators;
use ratchet_stages::experiment::service::ExperimentService;
use ratchet_stages::experiment::target::TargetAnswer;
use ratchet_stages::gate::{GateContext, GateOrder, decide};
use ratchet_stages::promote::{PromoteContext, PromoteError, SentTests, attach_gate, attach_tests};
use ratchet_store::catalog::{
    FieldUpdate, NewDataset, NewDatasetItem, NewPrompt, PromotionCall, Role,
};
use ratchet_testkit::build::{START, batch, generation, project, score, trace};
use serde_json::json;

use crate::browser::{Site, id};

const DATASET: &str = "shop-eval-global";
const LIST: &str = "/project/shop/promotions";
const OWNER: &str = "ann@shop.example";
const MEMBER: &str = "ben@shop.example";

/// A site with an agent whose promotions ann approves, its prompt in two versions and its dataset.
async fn site() -> Site {
    let site = Site::new().await;
    let catalog = site.data.catalog();
    let policy = PromotionPolicy { is_required: true, ..PromotionPolicy::default() };
    let settings = AgentSettings {
        owner: Some(OWNER.to_owned()),
        promotion: PromotionPolicy { prompts: vec!["shop".to_owned()], ..policy },
        ..AgentSettings::default()
    };
    for labels in [vec!["production".to_owned()], Vec::new()] {
        let new = NewPrompt {
            name: "shop".to_owned(),
            body: PromptBody::Text("Double it.".to_owned()),
            config: Json::parse("{}").unwrap(),
            labels,
            tags: None,
            commit_message: None,
            created_by: "API".to_owned(),
        };
        catalog.create_prompt(id("shop"), new, site.now()).await.unwrap();
    }
    catalog.save_agent(id("shop"), "shop".into(), settings, site.now()).await.unwrap();
    let dataset = NewDataset {
        name: DATASET.to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    catalog.save_dataset(id("shop"), dataset, START).await.unwrap();
    let item = |nth: usize| NewDatasetItem {
        dataset_name: DATASET.to_owned(),
        id: Some(format!("item-{nth:02}")),
        status: None,
        input: Some(Json::from_value(&json!({ "n": nth }))),
        expected_output: Some(Json::from_value(&json!(nth.to_string()))),
        metadata: None,
        source_trace: None,
        source_observation: None,
    };
    let items = (0..40).map(item).collect();
    catalog.save_dataset_items(id("shop"), items, START).await.unwrap();
    site.person(OWNER, Role::Member).await;
    site.person(MEMBER, Role::Member).await;
    site.advance(std::time::Duration::from_secs(60));
    site
}

/// A run whose answers are all right, of an agent version if it names one.
async fn run(site: &Site, (name, version): (&str, Option<String>)) {
    let store = site.data.folder().clone();
    let service = ExperimentService { catalog: store.catalog.clone(), store, project: id("shop") };
    let target = PlannedTarget {
        name: "agent".to_owned(),
        kind: "command".to_owned(),
        fingerprint: "1".to_owned(),
        version,
        ..PlannedTarget::default()
    };
    let request = ExperimentPlan {
        dataset: DATASET.to_owned(),
        run: name.to_owned(),
        target,
        evaluators: vec!["exact".to_owned()],
        evaluator_versions: std::collections::BTreeMap::new(),
        repeats: 1,
        filter: None,
        limit: None,
        max_cost: None,
        cache: false,
        description: None,
    };
    service.open(request.clone(), site.now()).await.unwrap();
    let evaluators = TrialEvaluators::parse(&request.evaluators).unwrap();
    let claim = ClaimOrder {
        runner: "test".to_owned(),
        limit: 100,
        lease_seconds: 30,
        ended_runners: Vec::new(),
    };
    let mut results = Vec::new();
    for trial in service.claim(name, claim, site.now()).await.unwrap().trials {
        let answer = TargetAnswer { text: trial.input["n"].to_string(), ..TargetAnswer::default() };
        let judgement = evaluators.judge(&trial, Some(&answer), 1).await;
        results.push(TrialResult {
            id: trial.id.clone(),
            lease: trial.lease,
            call: 1,
            calls: Vec::new(),
            scores: judgement.scores,
            not_judged: judgement.not_judged,
            judge_calls: judgement.calls,
            answer: Some(answer.text),
            fault: None,
            cached: false,
            started_at: site.now().to_string(),
            ended_at: site.now().to_string(),
            model: None,
            input_tokens: None,
            output_tokens: None,
            cost: None,
        });
    }
    service.finish(name, results, site.now()).await.unwrap();
}

/// What CI does: tool tests and a gate that passes.
async fn evidence(site: &Site, promotion: &str) {
    run(site, ("a", None)).await;
    attach(site, promotion, "a").await.unwrap();
}

async fn attach(site: &Site, promotion: &str, run: &str) -> Result<(), PromoteError> {
    let project = id("shop");
    let (store, catalog) = (site.data.folder(), site.data.catalog());
    let gate = GateContext { store, catalog, project: &project, server: "", now: site.now() };
    let order = GateOrder {
        dataset: DATASET.to_owned(),
        run: run.to_owned(),
        baseline: Some("production".to_owned()),
        score: None,
        rule: GateRule { min_accuracy: Some(0.7), ..GateRule::default() },
        look: Look::Only,
        judged_again: Vec::new(),
    };
    let (decided, _) = decide(gate, order).await.unwrap();
    let context = PromoteContext { gate, can_deploy: false };
    let sent = SentTests { tests: 3, ..SentTests::default() };
    attach_tests(context, promotion, sent).await.unwrap();
    attach_gate(context, promotion, &decided.id).await.map(drop)
}

#[tokio::test]
async fn an_agent_shows_how_its_tools_were_judged_with_the_interval() {
    let site = site().await;
    let mut recorded = batch(&project("shop"));
    for nth in 0..12 {
        let (name, agent) = (format!("t{nth}"), if nth < 10 { "shop" } else { "other" });
        let judged = score(&format!("{name}-u")).of_trace(&name).on("tool-usage");
        let judged = judged.number(f64::from(u8::from(nth < 8))).from(ScoreSource::Annotation);
        let judged = judged.metadata("tool", "\"lookup\"").given(2_000);
        recorded = recorded.with(trace(&name).beginning(1_000).agent(agent)).with(judged);
    }
    site.record(recorded).await;
    let mut ben = site.signed_in(MEMBER).await;
    let page = ben.get("/project/shop/agents/agent/shop").await;
    for words in ["How calls of each tool", "lookup", "Annotator", "80", "49", "94"] {
        page.check(200, words);
    }
}

#[tokio::test]
async fn a_run_that_names_another_agent_version_is_no_evidence() {
    let site = site().await;
    let mut ben = site.signed_in(MEMBER).await;
    ben.get(LIST).await;
    let mut made = Vec::new();
    for prompt in ["shop=1", "shop=2"] {
        let answer = ben.post(LIST, &[("agent", "shop"), ("prompts", prompt)]).await;
        let id = answer.header("location").rsplit('/').next().unwrap().to_owned();
        let stored = site.data.catalog().promotion(project("shop"), id).await.unwrap();
        made.push((stored.id, stored.promotion.version));
    }
    run(&site, ("of-two", Some(made[1].1.clone()))).await;
    let refused = attach(&site, &made[0].0, "of-two").await.unwrap_err().to_string();
    assert!(refused.contains("its run is of agent version"), "{refused}");
    attach(&site, &made[1].0, "of-two").await.unwrap();
    // A release of one's own says nothing about agent versions.
    run(&site, ("release", Some("2026.1".to_owned()))).await;
    attach(&site, &made[0].0, "release").await.unwrap();
}

async fn production(site: &Site) -> Option<u32> {
    let pick = ratchet_core::catalog::prompt::Pick::Label("production".to_owned());
    let raw = ratchet_store::catalog::PromptReferences::Raw;
    let found = site.data.catalog().prompt(id("shop"), "shop".into(), pick, raw).await.unwrap();
    found.map(|(prompt, _)| prompt.version)
}

async fn watched(site: &Site, promotion: &str) {
    let mark = MarkResult {
        mark: Mark::Quality,
        before: Some(0.9),
        before_sessions: 300,
        after: Some(0.5),
        after_sessions: 80,
        evidence: 90.0,
        needed: Some(60.0),
        is_worse: true,
    };
    let found = WatchResult { marks: vec![mark], sessions_after: 80, ..WatchResult::default() };
    let call = PromotionCall {
        project: id("shop"),
        id: promotion.to_owned(),
        action: Action::Watched(found),
        can_deploy: false,
        server: String::new(),
        now: site.now(),
    };
    site.data.catalog().act_on_promotion(call).await.unwrap().unwrap();
}

#[tokio::test]
async fn two_people_bring_a_version_to_production_and_one_click_goes_back() {
    let site = site().await;
    let mut ben = site.signed_in(MEMBER).await;
    ben.get(LIST).await;
    let fields = [("agent", "shop"), ("prompts", "shop=2"), ("settings", "beta:temperature=0.2")];
    let made = ben.post(LIST, &fields).await;
    assert_eq!(made.status, 303, "{}", made.text);
    let page = made.header("location").to_owned();
    let promotion = page.rsplit('/').next().unwrap().to_owned();
    let shown = ben.get(&page).await;
    for words in ["Where it stands", "no results yet", "temperature", "Accuracy gate passed"] {
        shown.check(200, words);
    }
    let early = ben.post(&format!("{page}/start"), &[]).await;
    early.check(409, "criteria are missing").check(409, "ratchet gate");
    evidence(&site, &promotion).await;
    ben.post(&format!("{page}/refresh"), &[]).await.leads_to(&format!("{page}?done=refresh"));
    let not_his = ben.post(&format!("{page}/review"), &[]).await;
    not_his.check(403, OWNER).check(403, "Results reviewed");
    let waived = ben.post(&format!("{page}/waive"), &[("reason", "by hand")]).await;
    waived.check(409, "nothing is to waive");

    let mut ann = site.signed_in(OWNER).await;
    ann.get(&page).await;
    ann.post(&format!("{page}/review"), &[]).await.leads_to(&format!("{page}?done=review"));
    ann.post(&format!("{page}/approve"), &[]).await.leads_to(&format!("{page}?done=approve"));
    ben.post(&format!("{page}/start"), &[]).await.leads_to(&format!("{page}?done=start"));
    assert_eq!(production(&site).await, Some(2));
    ben.get(&page).await.check(200, "Live, watched").check(200, "rolled back by hand");
    watched(&site, &promotion).await;
    // Its reason is filled in: one click goes back.
    let worse = "significantly worse after the promotion: online score, over 80 sessions";
    let shown = ben.get(&page).await;
    shown.check(200, "90.0%").check(200, "50.0%");
    assert!(shown.text.split("<textarea").nth(1).unwrap().contains(worse), "{}", shown.text);
    let empty = ben.post(&format!("{page}/rollback"), &[("reason", " ")]).await;
    empty.check(422, "write a reason");
    let back = ben.post(&format!("{page}/rollback"), &[("reason", worse)]).await;
    back.leads_to(&format!("{page}?done=rollback"));
    assert_eq!(production(&site).await, Some(1));
    let again = ben.post(&format!("{page}/rollback"), &[("reason", "once more")]).await;
    again.check(409, "nothing to roll back");
}

#[tokio::test]
async fn a_form_with_a_mistake_is_shown_again_with_what_was_entered() {
    let site = site().await;
    let mut ben = site.signed_in(MEMBER).await;
    ben.get(LIST).await;
    for (field, value, why) in [
        ("prompts", "shop-two", "must be NAME=VERSION per line"),
        ("settings", "warm", "must be ENVIRONMENT:NAME=VALUE"),
        ("prompts", "shop=7", "version 7 of prompt shop does not exist"),
        ("dataset", "shop-easy", "demands gates on shop-eval-global"),
        ("agent", "nobody", "not found"),
    ] {
        let usual = [("agent", "shop"), ("model", "m-1")];
        let mut fields: Vec<_> = usual.into_iter().filter(|(name, _)| *name != field).collect();
        fields.push((field, value));
        let answer = ben.post(LIST, &fields).await;
        answer.check(422, why).check(422, value).check(422, "m-1");
    }
}

#[tokio::test]
async fn a_locked_prompt_says_why_it_is_not_set_as_production() {
    let site = site().await;
    let mut ben = site.signed_in(MEMBER).await;
    for path in [
        "/project/shop/prompts/shop?version=2",
        "/project/shop/prompts/shop?version=2&confirm=production",
    ] {
        let page = ben.get(path).await;
        page.check(200, "only by promotion or rollback of agent");
        assert!(!page.text.contains("Set as production"), "{}", page.text);
    }
    let fields = [("version", "2"), ("label", "production"), ("confirmed", "yes")];
    let moved = ben.post("/project/shop/prompts/shop/label", &fields).await;
    moved.check(409, "only by promotion or rollback");
    assert_eq!(production(&site).await, Some(1));
}

#[tokio::test]
async fn members_do_not_switch_a_policy_off() {
    let site = site().await;
    let mut ben = site.signed_in(MEMBER).await;
    let page = "/project/shop/agents/agent/shop";
    ben.get(page).await;
    let fields = [
        ("agentAccuracy", "90"),
        ("judgeAccuracy", "85"),
        ("userSatisfaction", "80"),
        ("halfWidth", "10"),
        ("spotShare", "10"),
        ("tracesReviewed", "30"),
        ("reviewCapacity", "30"),
        ("environment", "production"),
        ("watchHours", "168"),
        ("minAccuracy", "70"),
        ("owner", OWNER),
        ("prompts", "shop"),
    ];
    ben.post(page, &fields)
        .await
        .check(403, "only an owner of the project or one of its approvers");
    let kept = site.data.catalog().agent(id("shop"), "shop".into()).await.unwrap().settings;
    assert!(kept.promotion.is_required);
    let mut ann = site.signed_in(OWNER).await;
    ann.get(page).await;
    ann.post(page, &fields).await.leads_to(&format!("{page}?done=saved"));
}

#[tokio::test]
async fn a_trace_shows_the_agent_version_that_served_it_and_says_if_it_used_another_prompt() {
    let site = site().await;
    let catalog = site.data.catalog();
    let prompts = BTreeMap::from([("shop".to_owned(), 2)]);
    let version = AgentVersion { prompts, ..AgentVersion::default() };
    let saved = catalog.save_agent_version(id("shop"), "shop".into(), version, site.now()).await;
    let saved = saved.unwrap().id;
    let served = (saved.clone(), "beta".to_owned());
    let since = Timestamp::from_millis(START.millis() + 60_000);
    catalog.record_serving(id("shop"), served, since).await.unwrap();
    let one = |name: &str, millis: i64, prompt: u32| {
        let trace = trace(name).beginning(millis).agent("shop").in_environment("beta");
        let call = generation(&format!("{name}-g")).of(name).prompted_by("shop", prompt);
        (trace, call.lasting(millis, millis + 100).in_environment("beta"))
    };
    let mut recorded = batch(&project("shop"));
    for (name, millis, prompt) in [("early", 0, 2), ("same", 61_000, 2), ("other", 62_000, 1)] {
        let (trace, call) = one(name, millis, prompt);
        recorded = recorded.with(trace).with(call);
    }
    site.record(recorded).await;
    let mut ben = site.signed_in(MEMBER).await;
    let early = ben.get("/project/shop/traces/early").await;
    assert!(!early.text.contains("Agent version"), "{}", early.text);
    let same = ben.get("/project/shop/traces/same").await;
    same.check(200, "Agent version").check(200, &saved).check(200, "/promotions/agents/shop");
    assert!(!same.text.contains("but used"), "{}", same.text);
    ben.get("/project/shop/traces/other").await.check(200, "but used");
    let lineage = ben.get("/project/shop/promotions/agents/shop").await;
    lineage.check(200, &saved).check(200, "shop v2");
}
