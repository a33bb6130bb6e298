use ratchet_core::catalog::prompt::{PRODUCTION, Pick, PromptBody};
use ratchet_core::gate::decision::Verdict;
use ratchet_core::improve::diagnosis::Component;
use ratchet_core::improve::proposal::{Effort, Impact, Proposal, Trend};
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::payload::Json;
use ratchet_store::catalog::{NewFeedback, NewGate, NewPrompt, PromptReferences, Role};

use crate::browser::{Site, id};

const BOARD: &str = "/project/shop/proposals";
const MEMBER: &str = "ben@shop.example";
const VIEWER: &str = "eve@shop.example";

fn proposal(id: &str, component: Component, title: &str) -> Proposal {
    let is_prompt = component == Component::Prompt;
    Proposal {
        id: id.to_owned(),
        component,
        agent: "desk".to_owned(),
        title: title.to_owned(),
        reason: "Similar questions were answered well with it.".to_owned(),
        change: "Add to the agent's prompt: \"Call get_return_policy first.\"".to_owned(),
        instruction: is_prompt.then(|| "Call get_return_policy first.".to_owned()),
        prompt: is_prompt.then(|| "desk-prompt".to_owned()),
        diff: None,
        evidence: vec!["t-1".to_owned(), "t-2".to_owned(), "t-3".to_owned()],
        failures: 12,
        affected: Default::default(),
        impact: Impact { value: 0.025, interval: [0.0, 0.041], at_most: true },
        effort: Effort::of(component),
        priority: 0.025,
        trend: Trend::New,
        files: vec!["prompts/desk.md:4".to_owned()],
        written_by: None,
        features: Vec::new(),
    }
}

/// A site with a prompt in production and two proposals, one with a hostile title.
async fn site() -> Site {
    let site = Site::new().await;
    let catalog = site.data.catalog();
    let new = NewPrompt {
        name: "desk-prompt".to_owned(),
        body: PromptBody::Text("You help customers.".to_owned()),
        config: Json::parse("{}").unwrap(),
        labels: vec![PRODUCTION.to_owned()],
        tags: None,
        commit_message: None,
        created_by: "API".to_owned(),
    };
    catalog.create_prompt(id("shop"), new, site.now()).await.unwrap();
    let report = FeedbackReport {
        week: "2026-11-01".to_owned(),
        agents: vec!["desk".to_owned()],
        proposals: vec![
            proposal("p-prompt", Component::Prompt, "get_return_policy is not called"),
            proposal("p-tool", Component::Tool, "<script>alert(1)</script>"),
        ],
        ..FeedbackReport::default()
    };
    let new = NewFeedback { agent: "desk".to_owned(), report, proposals: Vec::new() };
    catalog.save_feedback_report(id("shop"), new, site.now()).await.unwrap();
    site.person(MEMBER, Role::Member).await;
    site.person(VIEWER, Role::Viewer).await;
    site
}

#[tokio::test]
async fn the_board_says_what_it_is_worth_and_on_what_evidence() {
    let site = site().await;
    let mut eve = site.signed_in(VIEWER).await;
    let board = eve.get(BOARD).await;
    for words in [
        "get_return_policy is not called",
        "at most +2.5% of traffic (95% CI 0.0% to 4.1%), n = 12 failures",
        "Effort low.",
        "/project/shop/traces/t-1",
        "desk",
        "2 proposals, 2 open",
        "Cannot tell yet: needs 5 promoted proposals",
    ] {
        board.check(200, words);
    }
    assert!(!board.text.contains("<script>alert"), "{}", board.text);
    assert!(!board.text.contains("/accept"), "a viewer has no buttons");
    eve.post(&format!("{BOARD}/p-prompt/accept"), &[]).await.check(403, "member or owner");
    // The home page says what waits.
    eve.get("/project/shop?agent=desk").await.check(200, "2 waiting for a decision");
}

#[tokio::test]
async fn one_click_makes_an_unlabelled_version_and_its_gate_and_promotion_move_the_proposal() {
    let site = site().await;
    let catalog = site.data.catalog();
    let mut ben = site.signed_in(MEMBER).await;
    let page = format!("{BOARD}/p-prompt");
    ben.get(BOARD).await.check(200, "/project/shop/proposals/p-prompt/accept");
    let early = ben.post(&format!("{page}/experiment"), &[]).await;
    early.check(409, "accept it first");
    ben.post(&format!("{page}/accept"), &[]).await.leads_to(&format!("{page}?done=accept"));
    ben.get(&page).await.check(200, "Open experiment");
    let opened = ben.post(&format!("{page}/experiment"), &[]).await;
    opened.leads_to(&format!("{page}?done=experiment"));
    let pick = Pick::Version(2);
    let name = "desk-prompt".to_owned();
    let found = catalog.prompt(id("shop"), name.clone(), pick, PromptReferences::Raw).await;
    let (version, _) = found.unwrap().unwrap();
    assert_eq!(version.labels, ["latest"]);
    let expected = "You help customers.\nCall get_return_policy first.";
    assert_eq!(version.body, PromptBody::Text(expected.to_owned()));
    let shown = ben.get(&page).await;
    shown
        .check(200, "In experiment")
        .check(200, "desk-prompt</bdi> v2")
        .check(200, "prompt_version = 2");
    let gate = NewGate {
        dataset: "d".to_owned(),
        run: "r".to_owned(),
        verdict: Verdict::Pass,
        accuracy: 0.9,
        report: Json::parse("{}").unwrap(),
        prompts: vec![(name.clone(), 2)],
    };
    let gate = catalog.save_gate(id("shop"), gate, site.now()).await.unwrap();
    ben.get(&page).await.check(200, "Gated").check(200, &format!("/gates/{}", gate.id));
    let (which, labels) = ((name, 2), vec![PRODUCTION.to_owned()]);
    catalog.move_prompt_labels(id("shop"), which, labels, site.now()).await.unwrap();
    ben.get(&page).await.check(200, "Promoted").check(200, "label production");
    ben.get(BOARD).await.check(200, "no whole week with reviews");
}

#[tokio::test]
async fn a_rejection_needs_a_reason_and_what_was_entered_stays() {
    let site = site().await;
    let mut ben = site.signed_in(MEMBER).await;
    let page = format!("{BOARD}/p-tool");
    ben.get(&page).await.check(200, "Reject");
    let empty = ben.post(&format!("{page}/reject"), &[("kind", "wrong"), ("reason", " ")]).await;
    empty.check(422, "reason: say why");
    let long = "x".repeat(1_001);
    let long = ben.post(&format!("{page}/reject"), &[("reason", &long)]).await;
    long.check(422, "at most 1000 characters").check(422, "xxxx</textarea>");
    let fields = [("kind", "wrong"), ("reason", "the data <b>is</b> right")];
    let done = ben.post(&format!("{page}/reject"), &fields).await;
    done.leads_to(&format!("{page}?done=reject"));
    let shown = ben.get(&page).await;
    shown.check(200, "Wrong diagnosis").check(200, "the data &lt;b&gt;is&lt;/b&gt; right");
    let again = ben.post(&format!("{page}/accept"), &[]).await;
    again.check(409, "reopen it first");
    ben.post(&format!("{page}/reopen"), &[]).await.leads_to(&format!("{page}?done=reopen"));
    ben.post(&format!("{page}/paint"), &[]).await.check(404, "action");
    ben.get(&format!("{BOARD}/nothing")).await.check(404, "not found");
}
