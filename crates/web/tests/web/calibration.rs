//! Labels that people give blind, and how far the judge agrees with them.

use ratchet_core::id::SessionId;
use ratchet_core::judge::offline::SignalSet;
use ratchet_core::judge::rubric;
use ratchet_core::quality::calibration::panel::{PanelKey, PanelVerdict};
use ratchet_core::quality::calibration::sample::Band;
use ratchet_core::quality::label::{DATASET, Label, LabelOrigin, Mark};
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_stages::review::{labels, panel, sampling};
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_store::catalog::Role;
use ratchet_testkit::build::{START, batch, project, score, span, trace};

use crate::browser::{Answer, PASSWORD, Site};

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
            .with(trace(&format!("t{n}")).beginning(at).in_session(&session))
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
    let given = (0..12).map(|n| {
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

#[tokio::test]
async fn a_sample_is_drawn_labelled_blind_and_only_then_compared() {
    let site = site().await;
    check(&site.get(LABELS).await, 200, "Create this week");
    let drawn = site.post(LABELS, "/project/shop/labels/draw", "").await;
    assert_eq!(drawn.status, 303, "{}", drawn.text);
    let list = site.get(LABELS).await;
    check(&list, 200, "10 of 10 sessions waiting");
    let next = list.text.split("data-next").next().unwrap().rsplit("href=\"").next().unwrap();
    let next = next.split('"').next().unwrap().to_owned();
    let blind = site.get(&next).await;
    check(&blind, 200, "Outline");
    for secret in ["unseen<", "unseen&lt;", "badge score", "You vs. judge"] {
        assert!(!blind.text.contains(secret), "{secret} is told: {}", blind.text);
    }
    let none = site.post(&next, &next, "why=nothing").await;
    check(&none, 400, "label at least one dimension");
    let wrong = site.post(&next, &next, "tool_mastery.exact=7").await;
    check(&wrong, 400, "tool_mastery must be a number from 0 to 1");
    let kept = site
        .post(
            &next,
            &next,
            "task_completion=complete&tool_mastery=0.5&tool_mastery.exact=0.62&why=%3Ci%3Ewell",
        )
        .await;
    assert_eq!(kept.status, 303, "{}", kept.text);
    let revealed = site.get(&next).await;
    check(&revealed, 200, "You vs. judge");
    check(&revealed, 200, "&lt;b&gt;unseen");
    check(&revealed, 200, "0.62");
    assert!(!revealed.text.contains("<i>well"));
    check(&site.get(LABELS).await, 200, "9 of 10 sessions waiting");
    check(&site.get("/project/shop/datasets/ground-truth").await, 200, "label-");
    // What was drawn stays drawn.
    site.post(LABELS, "/project/shop/labels/draw", "").await;
    check(&site.get(LABELS).await, 200, "9 of 10 sessions waiting");
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
    assert!(row.contains("1.00") && row.contains("within"), "{row}");
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
    check(&site.get(LABELS).await, 200, "labels?rubric=kindness");
    let page = site.get(&format!("{CALIBRATION}?rubric=kindness")).await;
    check(&page, 200, "Rubric <bdi><b>kindness</b></bdi>");
    check(&page, 200, "labels?rubric=kindness");
    let one = "/project/shop/labels/session/s1?rubric=kindness";
    let form = site.get(one).await;
    check(&form, 200, "task_completion");
    assert!(!form.text.contains("tool_mastery"), "only what the rubric asks: {}", form.text);
    let kept = site.post(one, one, "task_completion=complete").await;
    assert_eq!(kept.status, 303, "{}", kept.text);
    check(&site.get(one).await, 200, "You vs. judge");
    let usual = site.get("/project/shop/labels/session/s1").await;
    assert!(!usual.text.contains("You vs. judge"), "another rubric is another label");
}

#[tokio::test]
async fn a_rubric_file_with_an_error_leaves_the_pages_as_they_are() {
    let site = site().await;
    let file = site.data.path().join("rubrics/broken.toml");
    std::fs::write(&file, "name = \"broken\"\nversion =\n").unwrap();
    for address in [LABELS, CALIBRATION] {
        let page = site.get(address).await;
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
        check(&page, 200, "lower since the week of 2020-01-05: -0.40");
    }
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
    check(&browser.get(LABELS).await, 200, "No sessions to label yet");
    let refused = browser.post("/project/shop/labels/session/s1", &[("tool_mastery", "1")]).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let refused = browser.post("/project/shop/labels/draw", &[]).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let elsewhere = browser.get("/project/lab/labels/session/s1").await;
    assert_eq!(elsewhere.status, 404, "another project's session is not there");
}
