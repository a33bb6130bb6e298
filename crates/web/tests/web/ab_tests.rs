//! A/B tests in a browser: started from the prompt's page, looked at, and promoted in one click.

use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::payload::Json;
use ratchet_core::promotion::ab_test::Arm;
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewPrompt, Role};
use ratchet_testkit::build::{batch, project, score, span, trace};

use crate::browser::{Browser, Site, id};

const OWNER: &str = "ann@shop.example";
const FORM: &str = "/project/shop/prompts/greeting/ab-tests";
/// Milliseconds between users.
const MINUTE: i64 = 60_000;

/// A site with a prompt in two versions, labelled production and next, and a member.
async fn site() -> (Site, Browser) {
    let site = Site::new().await;
    let catalog = site.data.catalog();
    for label in ["production", "next"] {
        let new = NewPrompt {
            name: "greeting".to_owned(),
            body: PromptBody::Text(format!("Hello from {label}.")),
            config: Json::parse("{}").unwrap(),
            labels: vec![label.to_owned()],
            tags: None,
            commit_message: None,
            created_by: "API".to_owned(),
        };
        catalog.create_prompt(id("shop"), new, site.now()).await.unwrap();
    }
    let settings = AgentSettings::default();
    catalog.save_agent(id("shop"), "shop".into(), settings, site.now()).await.unwrap();
    site.person(OWNER, Role::Member).await;
    let browser = site.signed_in(OWNER).await;
    (site, browser)
}

async fn dataset(site: &Site) {
    let dataset = NewDataset {
        name: "shop-eval-global".to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    site.data.catalog().save_dataset(id("shop"), dataset, site.now()).await.unwrap();
}

/// Starts a test in the form, and returns the address of its page.
async fn started(browser: &mut Browser, window: &str) -> String {
    browser.get(FORM).await.check(200, "next, v2");
    let fields = [
        ("candidate", "next"),
        ("control", "production"),
        ("agent", "shop"),
        ("primary", "quality"),
        ("share", "50"),
        ("maxUnits", "400"),
        ("maxDays", "14"),
        ("windowHours", window),
    ];
    let answer = browser.post(FORM, &fields).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    answer.header("location").split('?').next().unwrap().to_owned()
}

/// Users who ask once each: those with the candidate get a good answer, the others seldom.
async fn serve(site: &Site, page: &str, users: i64) {
    let test = page.rsplit('/').next().unwrap().to_owned();
    let stored = site.data.catalog().ab_test(id("shop"), test).await.unwrap();
    let from = site.now().millis();
    let mut built = batch(&project("shop"));
    for user in 0..users {
        let (name, at) = (format!("ab{user}"), from + user * MINUTE);
        let who = format!("user-{user}");
        let arm = stored.test.arm(&stored.id, &who);
        let (version, value) = match arm {
            Arm::Candidate => (2, 1.0),
            Arm::Control => (1, if user % 4 == 0 { 1.0 } else { 0.0 }),
        };
        let offset = at - ratchet_testkit::build::START.millis();
        built = built
            .with(trace(&name).beginning(offset).agent("shop").for_user(&who))
            .with(
                span(&format!("{name}-o"))
                    .of(&name)
                    .prompted_by("greeting", version)
                    .lasting(offset, offset + 900),
            )
            .with(
                score(&format!("{name}-q"))
                    .of_trace(&name)
                    .on("quality")
                    .number(value)
                    .given(offset + 1_000),
            );
    }
    site.record(built).await;
    let minutes = u64::try_from(users).unwrap() + 3 * 60;
    site.advance(std::time::Duration::from_secs(minutes * 60));
}

#[tokio::test]
async fn a_winner_is_shown_with_intervals_and_leads_to_its_draft_promotion() {
    let (site, mut browser) = site().await;
    dataset(&site).await;
    let prompt = browser.get("/project/shop/prompts/greeting").await;
    prompt.check(200, "Start A/B test");
    let page = started(&mut browser, "1").await;
    let shown = browser.get(&page).await;
    for words in ["Running", "50%", "Not looked at yet", "Stop rules", "ab:{user_id}", "Look now"] {
        shown.check(200, words);
    }
    let assigned = browser.get(&format!("{page}?unit=user-17")).await;
    assigned.check(200, "<bdi>user-17</bdi> gets");

    serve(&site, &page, 120).await;
    assert_eq!(browser.post(&format!("{page}/look"), &[]).await.status, 303);
    let shown = browser.get(&page).await;
    let all = ["Candidate wins", "significantly better", "n = ", "points", "looked at any time"];
    for words in all {
        shown.check(200, words);
    }
    shown.check(200, "Promote the winner");
    let link = shown.text.split("href=\"").find(|rest| rest.contains("Promote the winner"));
    let link = link.unwrap().split('"').next().unwrap().to_owned();
    browser.get(&link).await.check(200, "Promotion of shop");
    browser.get("/project/shop/ab-tests").await.check(200, "Candidate wins");
    browser.get("/project/shop/prompts/greeting").await.check(200, "v2 against v1");
}

#[tokio::test]
async fn a_winner_without_a_dataset_says_why_and_is_offered_again() {
    let (site, mut browser) = site().await;
    let page = started(&mut browser, "1").await;
    serve(&site, &page, 120).await;
    browser.post(&format!("{page}/look"), &[]).await;
    let shown = browser.get(&page).await;
    shown.check(200, "draft promotion could not be opened");
    dataset(&site).await;
    let answer = browser.post(&format!("{page}/promote"), &[]).await;
    assert!(answer.header("location").contains("/promotions/"), "{}", answer.text);
}

#[tokio::test]
async fn a_form_with_a_mistake_is_shown_again_and_a_second_test_is_refused() {
    let (_site, mut browser) = site().await;
    browser.get(FORM).await.check(200, "Candidate");
    let wrong = [("candidate", "production"), ("agent", "shop"), ("share", "half")];
    browser.post(FORM, &wrong).await.check(422, "a whole number");
    let same = [("candidate", "production"), ("agent", "shop"), ("share", "20")];
    let answer = browser.post(FORM, &same).await;
    answer.check(422, "must be another label than control");
    assert!(answer.text.contains("value=\"20\""), "{}", answer.text);
    let page = started(&mut browser, "24").await;
    browser.get(FORM).await;
    let again = [("candidate", "next"), ("agent", "shop")];
    browser.post(FORM, &again).await.check(422, "has a running A/B test");
    browser.get(&page).await;
    browser.post(&format!("{page}/stop"), &[("reason", "seen enough")]).await;
    browser.get(&page).await.check(200, "seen enough");
    let stopped = browser.get(&page).await;
    assert!(!stopped.text.contains("Look now"), "{}", stopped.text);
}
