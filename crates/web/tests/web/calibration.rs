//! Labels that people give blind, and how far the judge agrees with them.

/// Several datasets of labels.
mod side_by_side;

use std::collections::BTreeSet;
use std::ops::Range;

use ratchet_core::id::SessionId;
use ratchet_core::judge::offline::SignalSet;
use ratchet_core::judge::rubric;
use ratchet_core::quality::calibration::panel::{PanelKey, PanelVerdict};
use ratchet_core::quality::label::{DATASET, Label, LabelOrigin, Mark};
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_core::review::session_sample::Band;
use ratchet_stages::review::sampling::SamplePlan;
use ratchet_stages::review::{labels, panel, sampling};
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_store::catalog::Role;
use ratchet_testkit::build::{START, batch, project, score, span, trace};

use crate::browser::{Answer, Browser, PASSWORD, Site};

const LABELS: &str = "/project/shop/labels";
const CALIBRATION: &str = "/project/shop/calibration";

#[track_caller]
fn check(page: &Answer, status: u16, words: &str) {
    assert_eq!(page.status, status, "{}", page.text);
    assert!(page.text.contains(words), "{words} in {}", page.text);
}

fn grade(label: &str) -> ScoreValue {
    ScoreValue::Categorical { label: label.to_owned(), number: None }
}

/// Twelve sessions, which the judge found better and better. The first was scored a second time.
async fn site() -> Site {
    let site = Site::open().await;
    site.record(judged()).await;
    site
}

fn judged() -> ratchet_testkit::build::BatchBuilder {
    let mut response = batch(&project("shop"));
    for n in 0_i32..12 {
        let (session, at) = (format!("s{n}"), i64::from(n) * 1_000 - 60_000);
        let mark = f64::from(n) / 11.0;
        let given = |name: &str, generation: u8| {
            score(&format!("{name}-{n}-{generation}"))
                .on(name)
                .of_session(&session)
                .given(at)
                .from(ScoreSource::Eval)
                .metadata("rubric", "\"session-quality\"")
                .metadata("judge", "\"offline\"")
                .metadata("generation", &generation.to_string())
        };
        let done = grade(if n < 6 { "partial" } else { "complete" });
        response = response
            .with(trace(&format!("t{n}")).beginning(at).in_session(&session).for_user("kim"))
            .with(given("overall_quality", 1).number(mark))
            .with(given("tool_mastery", 1).number(mark).comment("the judge's <b>unseen</b> reason"))
            .with(given("task_completion", 1).value(done));
        if n == 0 {
            response = response.with(given("tool_mastery", 2).number(1.0));
        }
    }
    response
}

fn sink(site: &Site) -> Sink {
    let catalog = site.data.catalog().clone();
    let telemetry = site.data.telemetry().clone();
    Sink::Local(LocalSink { telemetry, catalog, project: project("shop") })
}

async fn label(site: &Site, marks: impl Fn(i32) -> (f64, &'static str)) {
    label_drawn(site, marks, |_| None).await;
}

async fn label_drawn(
    site: &Site,
    marks: impl Fn(i32) -> (f64, &'static str),
    drawn: impl Fn(i32) -> Option<LabelOrigin>,
) {
    label_sessions(site, 0..12, marks, drawn).await;
}

async fn label_sessions(
    site: &Site,
    sessions: Range<i32>,
    marks: impl Fn(i32) -> (f64, &'static str),
    drawn: impl Fn(i32) -> Option<LabelOrigin>,
) {
    let given = sessions.map(|n| {
        let (number, done) = marks(n);
        Label {
            session: SessionId::parse(&format!("s{n}")).unwrap(),
            by: "ada".to_owned(),
            at: START,
            why: Some("tests were <i>deleted</i>".to_owned()),
            rubric: "session-quality".to_owned(),
            marks: [
                ("tool_mastery".to_owned(), Mark::Number(number)),
                ("task_completion".to_owned(), Mark::Grade(done.to_owned())),
            ]
            .into(),
            drawn: drawn(n),
            judged: None,
        }
    });
    let source = Source::Local(site.data.telemetry().clone(), project("shop"));
    let rubric = rubric::shipped().next().unwrap();
    let given: Vec<Label> = given.collect();
    labels::keep((&source, &sink(site)), (DATASET, rubric), &given, START).await.unwrap();
}

/// The form of the item that is under review: its action, lease and attempt.
fn form(page: &Answer) -> (String, String) {
    let after = |begin: &str| {
        let (_, rest) = page.text.split_once(begin).unwrap_or_else(|| panic!("{}", page.text));
        rest.split('"').next().unwrap().to_owned()
    };
    (after("data-review method=\"post\" action=\""), after("name=\"attempt\" value=\""))
}

async fn draw(browser: &mut Browser, rubric: &str) -> String {
    let drawn = browser.fill(CALIBRATION, &format!("{CALIBRATION}/sample{rubric}"), "").await;
    assert_eq!(drawn.status, 303, "{}", drawn.text);
    drawn.header("location").to_owned()
}

#[tokio::test]
async fn a_sample_is_drawn_into_a_queue_and_labelled_blind() {
    let site = site().await;
    let mut ada = site.browser();
    check(&ada.get(CALIBRATION).await, 200, "Label this week");
    let review = draw(&mut ada, "").await;
    assert!(review.contains("/queues/") && review.ends_with("/review"), "{review}");
    let blind = ada.get(&review).await;
    check(&blind, 200, "0 of 12 done");
    check(&blind, 200, "data-verdicts hidden");
    assert!(!blind.text.contains("badge score"), "the conversation tells scores: {}", blind.text);
    let list = review.replace("/review", "");
    let listed = ada.get(&list).await;
    check(&listed, 200, " sessions of the week of ");
    check(&listed, 200, "drawn: ");
    check(&listed, 200, "<bdi>kim</bdi>");
    assert!(!listed.text.contains(" by the judge: "), "blind: {}", listed.text);
    let (action, attempt) = form(&blind);
    let none = ada.fill(&review, &action, &format!("attempt={attempt}&why=nothing")).await;
    check(&none, 400, "label at least one dimension");
    let wrong = format!("attempt={attempt}&tool_mastery.exact=7");
    let wrong = ada.fill(&review, &action, &wrong).await;
    check(&wrong, 400, "tool_mastery must be a number from 0 to 1");
    let given = format!(
        "attempt={attempt}&task_completion=complete&tool_mastery=0.5&tool_mastery.exact=0.62&why=%3Ci%3Ewell"
    );
    let kept = ada.fill(&review, &action, &given).await;
    assert_eq!(kept.status, 303, "{}", kept.text);
    // Sent twice, it counts once.
    assert_eq!(ada.fill(&review, &action, &given).await.status, 303);
    check(&ada.get(&review).await, 200, "1 of 12 done");
    let given = labels::read(&sink(&site), DATASET).await.unwrap();
    assert_eq!(given.len(), 1);
    assert_eq!(given[0].marks["tool_mastery"], Mark::Number(0.62));
    assert!(given[0].drawn.is_some(), "it was drawn");
    check(&ada.get(&list).await, 200, " by the judge: ");
    let session = given[0].session.to_string();
    let page = ada.get(&format!("/project/shop/sessions/{session}")).await;
    check(&page, 200, "superseded by a person");
    check(&page, 200, "Annotator");
    assert!(!page.text.contains("<i>well"));
    // What was drawn stays drawn, and what is labelled is not asked again.
    draw(&mut ada, "").await;
    check(&ada.get(&review).await, 200, "1 of 12 done");
    let old = ada.get(LABELS).await;
    assert_eq!(old.status, 303);
    assert!(review.starts_with(old.header("location")), "{}", old.header("location"));
    let undo = review.replace("/review", "/undo");
    assert_eq!(ada.fill(&review, &undo, "").await.status, 303);
    assert!(labels::read(&sink(&site), DATASET).await.unwrap().is_empty());
    let page = ada.get(&format!("/project/shop/sessions/{session}")).await;
    assert!(!page.text.contains("superseded by a person"), "{}", page.text);
}

#[tokio::test]
async fn undoing_a_second_label_brings_the_first_back() {
    let site = site().await;
    let mut ada = site.browser();
    let label = "/project/shop/sessions/s1/label";
    for (mark, undone) in [("0.25", false), ("0.75", true)] {
        let review = ada.fill("/project/shop/sessions/s1", label, "").await;
        let review = review.header("location").to_owned();
        let (action, attempt) = form(&ada.get(&review).await);
        let given = format!("attempt={attempt}&tool_mastery={mark}");
        assert_eq!(ada.fill(&review, &action, &given).await.status, 303);
        let given = labels::read(&sink(&site), DATASET).await.unwrap();
        assert_eq!(given[0].marks["tool_mastery"].text(), mark);
        assert!(given[0].drawn.is_none(), "a person chose it");
        if undone {
            let undo = format!("{}/undo", review.split("/review").next().unwrap());
            assert_eq!(ada.fill(&review, &undo, "").await.status, 303);
        }
    }
    let given = labels::read(&sink(&site), DATASET).await.unwrap();
    assert_eq!(given[0].marks["tool_mastery"], Mark::Number(0.25));
}

#[tokio::test]
async fn annotation_scores_on_sessions_count_as_labels() {
    let site = site().await;
    let mut given = batch(&project("shop"));
    for n in 0..3 {
        let annotated =
            score(&format!("person-{n}")).on("tool_mastery").of_session(&format!("s{n}"));
        given = given.with(annotated.given(0).from(ScoreSource::Annotation).number(0.5));
    }
    site.record(given).await;
    let page = site.get(CALIBRATION).await;
    assert!(!page.text.contains("No labels to compare yet"), "{}", page.text);
    check(&page, 200, "3 of 30 labels needed");
}

#[tokio::test]
async fn calibration_shows_every_number_with_its_interval_on_the_first_scores() {
    let site = site().await;
    check(&site.get(CALIBRATION).await, 200, "No labels to compare yet");
    label(&site, |n| (f64::from(n) / 11.0 * 0.98, if n < 6 { "partial" } else { "complete" }))
        .await;
    let page = site.get(&format!("{CALIBRATION}?dimension=tool_mastery")).await;
    check(&page, 200, "Pearson");
    // A second score of 1 would have spoilt the perfect agreement of the first.
    check(&page, 200, "<strong>tool_mastery</strong>");
    let row = page.text.split("<strong>tool_mastery</strong>").nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert!(row.contains("1.00") && row.contains("not enough data"), "{row}");
    let grades = site.get(&format!("{CALIBRATION}?dimension=task_completion")).await;
    check(&grades, 200, "Cohen's kappa");
    check(&grades, 200, "class=\"matrix\"");
    check(&grades, 200, "Not available: no data to compare");
    assert_eq!(site.get(&format!("{CALIBRATION}?rubric=none")).await.status, 404);
    let odd = format!("{CALIBRATION}?threshold=NaN&dimension=%3Cb%3E");
    check(&site.get(&odd).await, 200, "Calibration");
}

#[tokio::test]
async fn drawn_sessions_are_weighted_and_success_reads_the_labels() {
    let site = site().await;
    let success = "/project/shop/reports/success";
    check(&site.get(success).await, 200, "no labelled sessions");
    let draw = |n: i32| LabelOrigin {
        week: "2026-11-08".to_owned(),
        seed: "seed".to_owned(),
        band: if n < 6 { Band::Poor } else { Band::Good },
        agent: None,
        population: if n < 6 { 6 } else { 94 },
        taken: 6,
    };
    let marks = |n: i32| (f64::from(n * 7 % 12) / 11.0, "partial");
    label_drawn(&site, marks, |n| Some(draw(n))).await;
    let page = site.get(CALIBRATION).await;
    check(&page, 200, "Estimate for all sessions");
    check(&page, 200, "12 labelled sessions from the weekly samples represent 100 sessions.");
    check(&page, 200, "stand for 100 of 100 scored sessions (100%)");
    check(&page, 200, "12 of 30 labels needed");
    check(&page, 200, "Do not rely on the judge's scores yet");
    check(&page, 200, "<summary>Statistics for experts</summary>");
    check(&page, 200, "Within threshold");
    check(&site.get(success).await, 200, "12 of 30 labels needed");
    let items = sink(&site).dataset_items(DATASET).await.unwrap();
    for item in &items {
        let judged = &item.metadata["judged"];
        assert_eq!(judged["judge"], "offline", "what was judged is kept: {judged}");
        assert!(judged["scores"]["tool_mastery"].is_number(), "{judged}");
    }
}

#[tokio::test]
async fn rubrics_of_the_project_are_known_to_the_pages() {
    let site = site().await;
    let mut ada = site.browser();
    let page = ada.get(&format!("{CALIBRATION}?rubric=kindness")).await;
    check(&page, 200, "Rubric <bdi><b>kindness</b></bdi>");
    check(&page, 200, "calibration/sample?rubric=kindness");
    let label = "/project/shop/sessions/s1/label?rubric=kindness";
    let review = ada.fill("/project/shop/sessions/s1", label, "").await;
    let review = review.header("location").to_owned();
    let shown = ada.get(&review).await;
    check(&shown, 200, "task_completion");
    assert!(!shown.text.contains("tool_mastery"), "only what the rubric asks: {}", shown.text);
    let (action, attempt) = form(&shown);
    let given = format!("attempt={attempt}&task_completion=complete");
    assert_eq!(ada.fill(&review, &action, &given).await.status, 303);
    let given = labels::read(&sink(&site), DATASET).await.unwrap();
    assert_eq!(given[0].rubric, "kindness");
}

#[tokio::test]
async fn a_rubric_file_with_an_error_leaves_the_pages_as_they_are() {
    let site = site().await;
    let file = site.data.path().join("rubrics/broken.toml");
    std::fs::write(&file, "name = \"broken\"\nversion =\n").unwrap();
    {
        let page = site.get(CALIBRATION).await;
        check(&page, 200, "rubric=kindness");
        check(&page, 200, "<code>broken.toml</code></bdi>: <bdi>line 2");
        let folder = site.data.path().display().to_string();
        assert!(!page.text.contains(&folder), "the path is nobody's business: {}", page.text);
    }
}

#[tokio::test]
async fn a_judge_that_drifts_is_told_at_home_and_beside_the_numbers() {
    let site = site().await;
    let judged = |n: i32, week: &str, mark: f64| PanelVerdict {
        session: SessionId::parse(&format!("s{n}")).unwrap(),
        who: PanelKey {
            judge: "<b>judge".to_owned(),
            rubric: "session-quality".to_owned(),
            fingerprint: "abc".to_owned(),
        },
        version: Some("v1".to_owned()),
        week: week.to_owned(),
        marks: [("overall_quality".to_owned(), mark)].into(),
    };
    let work = span("o").of("t1").lasting(-5_000, -4_000);
    site.record(batch(&project("shop")).with(work)).await;
    let this_week = sampling::week(START);
    let quiet = site.get("/project/shop").await;
    assert!(!quiet.text.contains("judge drift"), "{}", quiet.text);
    for n in 0..12 {
        for verdict in [judged(n, "2020-01-05", 0.9), judged(n, &this_week, 0.5)] {
            panel::keep(&sink(&site), &[verdict], START).await.unwrap();
        }
    }
    for page in ["/project/shop", CALIBRATION] {
        let page = site.get(page).await;
        check(&page, 200, "&lt;b&gt;judge scores overall_quality");
        check(&page, 200, "lower since the week of 2020-01-05: −0.40");
    }
}

/// Scores of many sessions of the week, by the offline judge.
fn many(count: i32) -> ratchet_testkit::build::BatchBuilder {
    (0..count).fold(batch(&project("shop")), |all, n| {
        let given = score(&format!("many-{n}"))
            .on("overall_quality")
            .of_session(&format!("many-{n}"))
            .given(i64::from(n) - 60_000)
            .from(ScoreSource::Eval)
            .metadata("rubric", "\"session-quality\"")
            .number(f64::from(n) / f64::from(count));
        all.with(given)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_ask_at_once_get_the_same_sample_and_the_first_one_is_large() {
    let site = Site::open().await;
    site.record(many(80)).await;
    let rubric = rubric::shipped().next().unwrap();
    let plan = SamplePlan { dataset: DATASET, rubric, days: 7, size: None };
    let source = Source::Local(site.data.telemetry().clone(), project("shop"));
    let (mine, yours) = (sink(&site), sink(&site));
    let (one, other) = tokio::join!(
        sampling::this_week(&source, &mine, plan, START),
        sampling::this_week(&source, &yours, plan, START),
    );
    let ids = |drawn: Vec<(SessionId, LabelOrigin)>| -> BTreeSet<SessionId> {
        drawn.into_iter().map(|(session, _)| session).collect()
    };
    let (one, other) = (ids(one.unwrap()), ids(other.unwrap()));
    assert_eq!((&one, one.len()), (&other, 50), "one sample, enough to calibrate a judge");
    let kept = labels::asked(&mine, DATASET).await.unwrap();
    assert_eq!(kept.len(), 50, "nothing is drawn twice");
    let next_week = START.plus_nanos(7 * 86_400_000_000_000);
    let later = SamplePlan { days: 14, ..plan };
    let next = sampling::this_week(&source, &mine, later, next_week).await.unwrap();
    assert_eq!(next.len(), 10, "then ten a week");
}

/// Figures of two judges together would be those of neither.
#[tokio::test]
async fn the_figures_are_of_one_judge_and_the_others_are_a_link_away() {
    let site = site().await;
    let mut other = batch(&project("shop"));
    for n in 12..15 {
        let given = score(&format!("other-{n}")).on("overall_quality").of_session(&format!("s{n}"));
        let given = given.given(i64::from(n) - 60_000).from(ScoreSource::Eval).number(0.1);
        other = other.with(given.metadata("judge", "\"panel:model\"").metadata("generation", "1"));
    }
    site.record(other).await;
    label_sessions(&site, 0..15, |n| (f64::from(n % 12) / 11.0, "complete"), |_| None).await;
    let page = site.get(CALIBRATION).await;
    check(&page, 200, "Not in these figures, because others scored first");
    check(&page, 200, "?judge=panel:model");
    check(&page, 200, "</bdi> (12)");
    let other = site.get(&format!("{CALIBRATION}?judge=panel:model")).await;
    check(&other, 200, "3 of 30 labels needed");
}

#[tokio::test]
async fn the_page_says_whether_levels_are_calibrated() {
    let site = site().await;
    label(&site, |n| (f64::from(n) / 11.0, if n < 6 { "failed" } else { "complete" })).await;
    check(&site.get(CALIBRATION).await, 200, "12 of 30 labels needed");
    let folder = site.data.path().join("offline/success");
    std::fs::create_dir_all(&folder).unwrap();
    let model = |signals: &str| {
        format!(
            "format = 1\nrubric = \"session-quality\"\nsignals = \"{signals}\"\nlabels = 40\n\
             successes = 25\nchecked = \"Cross-validated on 40 labels\"\nintercept = 0.3\n\n\
             [feature.length]\nmean = 2.0\ndeviation = 1.0\nweight = -0.8\n"
        )
    };
    let file = folder.join("shop.toml");
    std::fs::write(&file, model(&SignalSet::shipped().fingerprint())).unwrap();
    let page = site.get(CALIBRATION).await;
    check(&page, 200, "fitted to 40 labels, 25 of them a success");
    check(&page, 200, "length (steps): less likely");
    std::fs::write(&file, model("others")).unwrap();
    check(&site.get(CALIBRATION).await, 200, "Not in use: it was fitted for another rubric");
}

#[tokio::test]
async fn disagreements_stand_side_by_side() {
    let site = site().await;
    label(&site, |n| (1.0 - f64::from(n) / 11.0, "failed")).await;
    let page = site.get(&format!("{CALIBRATION}?dimension=tool_mastery")).await;
    check(&page, 200, "Largest disagreements");
    check(&page, 200, "beyond");
    check(&page, 200, "tests were &lt;i&gt;deleted");
    check(&page, 200, "&lt;b&gt;unseen");
}

#[tokio::test]
async fn who_may_only_look_labels_nothing() {
    let site = Site::new().await;
    site.record(judged()).await;
    site.person("viewer@example.com", Role::Viewer).await;
    let mut browser = site.browser();
    browser.sign_in("viewer@example.com", PASSWORD).await;
    assert_eq!(browser.get(LABELS).await.header("location"), CALIBRATION);
    let refused = browser.post("/project/shop/sessions/s1/label", &[]).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let refused = browser.post("/project/shop/calibration/sample", &[]).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let elsewhere = browser.get("/project/lab/labels/session/s1").await;
    assert_eq!(elsewhere.status, 404, "another project's session is not there");
}
