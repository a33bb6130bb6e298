//! Reviews of queue items: leases, answers, undoing, and what reviewers may see.

/// What reviewers see of media and pictures.
mod media;

use std::time::Duration;

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::annotation::{CommentedKind, ItemKind, ItemStatus};
use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata};
use ratchet_core::catalog::review::{REVIEW_LEASE, ReviewSettings};
use ratchet_core::id::TraceId;
use ratchet_core::payload::Payload;
use ratchet_core::record::score::{Score, ScoreSource};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw::{self, QueuePage};
use ratchet_store::catalog::{
    FieldUpdate, NewComment, NewDataset, NewQueue, NewQueueItem, QueueId, Role,
};
use ratchet_store::query::{Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_testkit::build::{START, batch, json, project, score, text, tool, trace};
use ratchet_testkit::recording::RecordBatch as _;

use crate::browser::{Browser, Site, id};

/// A queue with traces `t0`, `t1`, … of the agent `bot`, and people who review it.
struct Desk {
    site: Site,
    of: QueueId,
}

impl Desk {
    async fn new(items: usize, reviews: u32) -> Self {
        let site = Site::new().await;
        let catalog = site.data.catalog();
        let new = NewQueue { name: "weekly".into(), description: None, score_configs: vec![] };
        let queue = catalog.create_queue(id("shop"), new, START).await.unwrap().id;
        let of = QueueId { project: id("shop"), queue };
        for nth in 0..items {
            let name = format!("t{nth}");
            let asked = trace(&name).for_user("kim").agent("bot");
            let asked = asked
                .input(text(&format!("question {nth}")))
                .output(text(&format!("answer {nth}")));
            site.record(batch(&project("shop")).with(asked)).await;
            let item =
                NewQueueItem { kind: ItemKind::Trace, object: name, status: ItemStatus::Pending };
            catalog.add_queue_item(of.clone(), item, START).await.unwrap();
        }
        let settings = ReviewSettings { reviews, ..ReviewSettings::default() };
        catalog.set_review_settings(of.clone(), settings, START).await.unwrap();
        Self { site, of }
    }

    async fn reviewer(&self, email: &str) -> Browser {
        let person = self.site.person(email, Role::Reviewer).await;
        let catalog = self.site.data.catalog();
        catalog.assign_queue(self.of.clone(), person.id, START).await.unwrap();
        self.site.signed_in(email).await
    }

    fn page(&self) -> String {
        format!("/project/shop/queues/{}/review", self.of.queue)
    }

    /// The item that a reviewer is given: its question, the form's action, lease and attempt.
    async fn next(&self, browser: &mut Browser) -> Option<Given> {
        let shown = browser.get(&self.page()).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        let after =
            |begin: &str| Some(shown.text.split_once(begin)?.1.split('"').next()?.to_owned());
        Some(Given {
            question: shown.text.split_once("question ")?.1.chars().take(1).collect(),
            action: after("data-review method=\"post\" action=\"")?,
            lease: after("name=\"lease\" value=\"")?,
            attempt: after("name=\"attempt\" value=\"")?,
            text: shown.text,
        })
    }

    async fn scores(&self, trace: &str) -> Vec<Score> {
        let query = ScoreQuery {
            project: id("shop"),
            range: TimeRange::default(),
            on: ScoresOn::Trace(TraceId::parse(trace).unwrap()),
            conditions: vec![],
            paging: Paging::After { cursor: None, limit: 100 },
        };
        self.site.data.telemetry().scores(query).await.unwrap().rows
    }

    async fn done(&self) -> u64 {
        let progress = self.site.data.catalog().queue_progress(id("shop")).await.unwrap();
        progress[&self.of.queue].done
    }
}

struct Given {
    question: String,
    action: String,
    lease: String,
    attempt: String,
    text: String,
}

impl Given {
    async fn answer(&self, browser: &mut Browser, fields: &[(&str, &str)]) -> String {
        let mut all = vec![("attempt", self.attempt.as_str()), ("seconds", "7")];
        all.extend(fields);
        let answer = browser.post(&self.action, &all).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        answer.header("location").to_owned()
    }
}

#[tokio::test]
async fn an_answer_writes_scores_and_cases_and_completes_its_item() {
    let desk = Desk::new(1, 1).await;
    let mut ann = desk.reviewer("ann@shop.example").await;
    let given = desk.next(&mut ann).await.unwrap();
    assert!(given.text.contains("kim") && given.text.contains("answer 0"), "{}", given.text);
    let fields = [
        ("correctness", "1"),
        ("helpfulness", "0.5"),
        ("comment", "<b>fine</b>"),
        ("judge_error", "it missed the order"),
        ("case", "yes"),
        ("expected_output", "better"),
    ];
    given.answer(&mut ann, &fields).await;
    // Sent twice, it counts once.
    given.answer(&mut ann, &fields).await;
    let scores = desk.scores("t0").await;
    let mut values: Vec<_> =
        scores.iter().map(|score| (score.name.as_str(), score.value.number())).collect();
    values.sort_by_key(|(name, _)| *name);
    assert_eq!(values, [("correctness", Some(1.0)), ("helpfulness", Some(0.5))]);
    assert!(scores.iter().all(|score| score.queue.as_deref() == Some(&desk.of.queue)));
    assert_eq!(desk.done().await, 1);
    let catalog = desk.site.data.catalog();
    for name in ["bot-eval-global".to_owned(), format!("bot-eval-{}", month(&desk))] {
        let dataset = catalog.dataset(id("shop"), name.clone()).await.unwrap();
        let dataset = dataset.unwrap_or_else(|| panic!("no dataset {name}"));
        let items = catalog.dataset_item_ids(id("shop"), dataset.id).await.unwrap();
        assert_eq!(items.len(), 1, "{name}");
    }
    assert!(desk.next(&mut ann).await.is_none());
    ann.get(&desk.page()).await.check(200, "All done").check(200, "n = 1");
}

fn month(desk: &Desk) -> String {
    ratchet_core::calendar::month(desk.site.now())
}

#[tokio::test]
async fn two_reviewers_never_hold_the_same_item() {
    let desk = Desk::new(2, 1).await;
    let mut ann = desk.reviewer("ann@shop.example").await;
    let mut ben = desk.reviewer("ben@shop.example").await;
    let one = desk.next(&mut ann).await.unwrap();
    let other = desk.next(&mut ben).await.unwrap();
    assert_ne!(one.question, other.question);
    let again = desk.next(&mut ann).await.unwrap();
    assert_eq!(again.question, one.question, "a reviewer keeps their item");
    let wanted = format!("{}?item={}", desk.page(), one.action.rsplit('/').next().unwrap());
    ben.get(&wanted).await.check(200, "ann@shop.example");
}

#[tokio::test]
async fn an_answer_after_the_lease_was_lost_is_a_second_review() {
    let desk = Desk::new(1, 1).await;
    let mut ann = desk.reviewer("ann@shop.example").await;
    let mut ben = desk.reviewer("ben@shop.example").await;
    let late = desk.next(&mut ann).await.unwrap();
    let heartbeat = format!("{}/heartbeat", late.action);
    desk.site.advance(REVIEW_LEASE / 2);
    assert_eq!(ann.post(&heartbeat, &[("lease", &late.lease)]).await.status, 204);
    desk.site.advance(REVIEW_LEASE / 2 + Duration::from_secs(1));
    assert!(desk.next(&mut ben).await.is_none(), "the heartbeat kept it");
    desk.site.advance(REVIEW_LEASE);
    let given = desk.next(&mut ben).await.unwrap();
    assert_eq!(ann.post(&heartbeat, &[("lease", &late.lease)]).await.status, 409);
    let next = late.answer(&mut ann, &[("correctness", "0")]).await;
    assert!(next.contains("done=late"), "{next}");
    assert_eq!(desk.done().await, 0, "the item is ben's");
    given.answer(&mut ben, &[("correctness", "1")]).await;
    assert_eq!(desk.done().await, 1);
    assert_eq!(desk.scores("t0").await.len(), 2, "both reviews are kept");
}

#[tokio::test]
async fn with_double_review_two_people_answer_and_their_agreement_is_shown() {
    let desk = Desk::new(1, 2).await;
    let mut ann = desk.reviewer("ann@shop.example").await;
    let mut ben = desk.reviewer("ben@shop.example").await;
    let given = desk.next(&mut ann).await.unwrap();
    given.answer(&mut ann, &[("correctness", "1")]).await;
    assert_eq!(desk.done().await, 0);
    assert!(desk.next(&mut ann).await.is_none(), "nobody reviews an item twice");
    let given = desk.next(&mut ben).await.unwrap();
    given.answer(&mut ben, &[("correctness", "1")]).await;
    assert_eq!(desk.done().await, 1);
    ben.get(&desk.page()).await.check(200, "Reviewers agree on 100%");
}

#[tokio::test]
async fn undoing_takes_scores_and_cases_back_and_shows_the_item_again() {
    let desk = Desk::new(2, 1).await;
    let mut ann = desk.reviewer("ann@shop.example").await;
    let first = desk.next(&mut ann).await.unwrap();
    let trace = format!("t{}", first.question);
    first.answer(&mut ann, &[("correctness", "1"), ("case", "yes")]).await;
    assert_ne!(desk.next(&mut ann).await.unwrap().question, first.question);
    let undo = format!("/project/shop/queues/{}/undo", desk.of.queue);
    assert_eq!(ann.post(&undo, &[]).await.status, 303);
    assert_eq!(desk.done().await, 0);
    assert!(desk.scores(&trace).await.is_empty());
    let again = desk.next(&mut ann).await.unwrap();
    assert_eq!(again.question, first.question);
    // The answer that was taken back does not come back when it is sent again.
    first.answer(&mut ann, &[("correctness", "1")]).await;
    assert!(desk.scores(&trace).await.is_empty());
    again.answer(&mut ann, &[("correctness", "0")]).await;
    assert_eq!(desk.scores(&trace).await.len(), 1);
}

#[tokio::test]
async fn a_skipped_item_stays_open_for_others() {
    let desk = Desk::new(1, 1).await;
    let mut ann = desk.reviewer("ann@shop.example").await;
    let mut ben = desk.reviewer("ben@shop.example").await;
    let given = desk.next(&mut ann).await.unwrap();
    given.answer(&mut ann, &[("skip", "yes")]).await;
    assert!(desk.next(&mut ann).await.is_none());
    assert!(desk.next(&mut ben).await.is_some());
}

#[tokio::test]
async fn a_reviewer_finds_only_the_queues_they_are_assigned_to() {
    let desk = Desk::new(1, 1).await;
    desk.site.person("cem@shop.example", Role::Reviewer).await;
    let mut cem = desk.site.signed_in("cem@shop.example").await;
    cem.get(&desk.page()).await.check(404, "queue not found");
    let list = cem.get("/project/shop/queues").await;
    list.check(200, "No queues yet");
    let home = cem.get("/project/shop").await;
    assert_eq!((home.status, home.header("location")), (303, "/project/shop/queues"));
    cem.get("/project/shop/traces/t0").await.check(403, "and no other page");
}

#[tokio::test]
async fn a_queue_is_assigned_to_people_on_its_page() {
    let desk = Desk::new(1, 1).await;
    let cem = desk.site.person("cem@shop.example", Role::Reviewer).await;
    desk.site.person("owner@shop.example", Role::Owner).await;
    let mut owner = desk.site.signed_in("owner@shop.example").await;
    let settings = format!("/project/shop/queues/{}/settings", desk.of.queue);
    let assignees = format!("/project/shop/queues/{}/assignees", desk.of.queue);
    owner.get(&settings).await.check(200, "cem@shop.example");
    owner.post(&assignees, &[("person", "nobody")]).await.check(400, "person: nobody");
    assert_eq!(owner.post(&assignees, &[("person", &cem.id)]).await.status, 303);
    let mut browser = desk.site.signed_in("cem@shop.example").await;
    browser.get(&desk.page()).await.check(200, "question 0");
    assert_eq!(browser.post(&assignees, &[]).await.status, 403);
    assert_eq!(owner.post(&assignees, &[]).await.status, 303);
    browser.get(&desk.page()).await.check(404, "queue not found");
}

#[tokio::test]
async fn without_sign_in_an_item_is_reviewed_once() {
    let site = Site::open().await;
    let new = NewQueue { name: "weekly".into(), description: None, score_configs: vec![] };
    let queue = site.data.catalog().create_queue(id("shop"), new, START).await.unwrap().id;
    let settings = format!("/project/shop/queues/{queue}/settings");
    let refused = site.post(&settings, &settings, "reviews=2&blind=yes").await;
    assert_eq!(refused.status, 422);
    assert!(
        refused.text.contains("browsers are distinguished, people are not"),
        "{}",
        refused.text
    );
    assert_eq!(site.post(&settings, &settings, "reviews=1&blind=yes").await.status, 303);
}

#[tokio::test]
async fn without_sign_in_two_browsers_never_hold_the_same_item() {
    let site = Site::open().await;
    let catalog = site.data.catalog();
    let new = NewQueue { name: "weekly".into(), description: None, score_configs: vec![] };
    let queue = catalog.create_queue(id("shop"), new, START).await.unwrap().id;
    let of = QueueId { project: id("shop"), queue };
    for name in ["t0", "t1"] {
        let asked = trace(name).input(text(&format!("question of {name}")));
        site.record(batch(&project("shop")).with(asked)).await;
        let (kind, status) = (ItemKind::Trace, ItemStatus::Pending);
        let item = NewQueueItem { kind, object: name.to_owned(), status };
        catalog.add_queue_item(of.clone(), item, START).await.unwrap();
    }
    let page = format!("/project/shop/queues/{}/review", of.queue);
    let (mut one, mut other) = (site.browser(), site.browser());
    let first = one.get(&page).await;
    let shown = |text: &str| text.contains("question of t0");
    assert!(one.jar.contains_key("ratchet-browser"));
    assert_ne!(shown(&first.text), shown(&other.get(&page).await.text));
    assert_eq!(shown(&first.text), shown(&one.get(&page).await.text), "it keeps its item");
}

#[tokio::test]
async fn a_reviewer_sees_all_scores_and_comments_once_they_have_answered() {
    let desk = Desk::new(1, 1).await;
    let given = |name: &str| score(name).of_trace("t0").on(name).given(1_000);
    let scores = batch(&project("shop"))
        .with(given("thumbs_feedback").number(0.0))
        .with(given("quality").number(0.9).from(ScoreSource::Eval))
        .with(given("latency").number(3.0).from(ScoreSource::Api))
        .with(tool("x1").of("t0").named("search"))
        .with(tool("x2").of("t0").named("fetch"))
        .with(tool("x3").of("t0").named("book"))
        .with(tool("x4").of("t0").named("cancel"))
        .with(tool("x5").of("t0").named("refund"));
    desk.site.record(scores).await;
    let comment = NewComment {
        kind: CommentedKind::Trace,
        object: "t0".to_owned(),
        content: "the order was <late>".to_owned(),
        author: None,
    };
    desk.site.data.catalog().create_comment(id("shop"), comment, START).await.unwrap();
    let mut ann = desk.reviewer("ann@shop.example").await;
    let shown = desk.next(&mut ann).await.unwrap().text;
    let (_, said) = shown.split_once("data-verdicts").unwrap();
    assert!(said.trim_start().starts_with("tabindex=\"0\" hidden"), "blind: {said}");
    for seen in ["the order was &lt;late&gt;", "latency ", "quality ", "Category now", ">W2<"] {
        assert!(said.contains(seen), "{seen} in {said}");
    }
    assert!(!shown.split_once("data-verdicts").unwrap().0.contains("latency"), "{shown}");
    for used in ["search", "fetch", "book", "cancel", "refund"] {
        assert!(shown.contains(&format!("Tool usage: {used}")), "{used} in {shown}");
    }
}

#[tokio::test]
async fn the_list_of_a_blind_queue_does_not_tell_what_the_judge_said() {
    let desk = Desk::new(0, 1).await;
    let asked = trace("t0").beginning(1_000).for_user("kim").input(text("question 0"));
    let verdict = score("v0").of_trace("t0").on("quality").number(0.2);
    desk.site.record(batch(&project("shop")).with(asked).with(verdict)).await;
    let catalog = desk.site.data.catalog();
    let site = ReviewSite::local(desk.site.data.folder(), &project("shop"));
    let week = Week::of(START, &Zone::utc());
    let target = weekly_draw::targets(&site, &week).await.unwrap().remove(0);
    let report = weekly_draw::draw(&site, &week, &target, desk.site.now()).await.unwrap();
    let QueuePage::Here(queue) = report.page else { panic!("{report:?}") };
    let drawn = catalog.draws(id("shop"), week.to_string()).await.unwrap().remove(0);
    let reason = drawn.traces[0].reason.clone();
    let desk = Desk { of: QueueId { project: id("shop"), queue }, ..desk };
    let mut ann = desk.reviewer("ann@shop.example").await;
    let list = format!("/project/shop/queues/{}", desk.of.queue);
    let shown = ann.get(&list).await;
    assert!(shown.text.contains("kim") && shown.text.contains("shown after the answer"));
    assert!(!shown.text.contains(&reason), "{reason}: {}", shown.text);
    let given = desk.next(&mut ann).await.unwrap();
    given.answer(&mut ann, &[("correctness", "0")]).await;
    assert!(ann.get(&list).await.text.contains(&reason), "it is answered");
}

#[tokio::test]
async fn earlier_messages_are_folded_on_the_review_page_of_a_reviewer() {
    let desk = Desk::new(0, 1).await;
    let said = r#"[{"role":"user","content":"Where is it?"},{"role":"assistant","content":"On its way."},{"role":"user","content":"question 0"}]"#;
    let asked = trace("t0").input(Payload::Json(json(said)));
    desk.site.record(batch(&project("shop")).with(asked)).await;
    let (kind, object, status) = (ItemKind::Trace, "t0".to_owned(), ItemStatus::Pending);
    let item = NewQueueItem { kind, object, status };
    desk.site.data.catalog().add_queue_item(desk.of.clone(), item, START).await.unwrap();
    let mut ann = desk.reviewer("ann@shop.example").await;
    let given = desk.next(&mut ann).await.unwrap();
    assert!(given.text.contains("2 earlier messages") && given.text.contains("On its way."));
    // The page of the trace is not for them.
    assert!(!given.text.contains("/traces/t0\""), "{}", given.text);
}

#[tokio::test]
async fn an_answer_without_correctness_is_refused_and_names_the_field() {
    let desk = Desk::new(1, 1).await;
    let mut ann = desk.reviewer("ann@shop.example").await;
    let given = desk.next(&mut ann).await.unwrap();
    let fields = [("attempt", given.attempt.as_str()), ("helpfulness", "1")];
    ann.post(&given.action, &fields).await.check(400, "correctness: choose 0 or 1");
    assert_eq!(desk.done().await, 0);
}

#[tokio::test]
async fn runs_of_experiments_are_reviewed_beside_what_is_expected() {
    let desk = Desk::new(0, 1).await;
    let (site, shop) = (&desk.site, project("shop"));
    let new = NewDataset {
        name: "refunds".into(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    let dataset = site.data.catalog().save_dataset(id("shop"), new, START).await.unwrap();
    let asked = trace("t9").for_user("kim").agent("bot").input(text("question 9"));
    let mut run = batch(&shop).with(asked.output(text("answer 9"))).build();
    run.experiment_items.push(ExperimentItem {
        experiment: ExperimentMetadata {
            id: "run-1".into(),
            name: Some("nightly".into()),
            dataset: Some(dataset.id),
            ..ExperimentMetadata::default()
        },
        item: "item-9".into(),
        version: None,
        expected_output: Some(text("the refund is <on> its way").to_json()),
        metadata: None,
        trace: TraceId::parse("t9").unwrap(),
        observation: None,
        ran: None,
        recorded_at: START,
    });
    site.data.telemetry().record(run).await.unwrap();
    site.person("mia@shop.example", Role::Member).await;
    let mut member = site.signed_in("mia@shop.example").await;
    let page = "/project/shop/datasets/refunds/runs/run-1";
    member.get(page).await.check(200, "Add to queue");
    let queued = member.post(&format!("{page}/queue"), &[("queue", desk.of.queue.as_str())]).await;
    assert_eq!(queued.status, 303, "{}", queued.text);
    let mut ann = desk.reviewer("ann@shop.example").await;
    let given = desk.next(&mut ann).await.unwrap();
    assert!(given.text.contains("the refund is &lt;on&gt; its way"), "{}", given.text);
    assert!(given.text.contains("nightly") && !given.text.contains("bot-eval-global"));
    given.answer(&mut ann, &[("correctness", "0")]).await;
    assert_eq!(desk.scores("t9").await.len(), 1);
    assert_eq!(desk.done().await, 1);
}
