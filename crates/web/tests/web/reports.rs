use ratchet_core::calendar::{Week, Zone};
use ratchet_core::judge::rubric;
use ratchet_core::quality::report::ReportScope;
use ratchet_core::quality::suggestion::{Progress, Templates};
use ratchet_core::record::score::{ScoreSource, ScoreValue};
use ratchet_core::time::Timestamp;
use ratchet_stages::sink::{LocalSink, Sink};
use ratchet_stages::source::Source;
use ratchet_stages::weekly_report;
use ratchet_stages::weekly_report::{ReportStore, WeekDone, WeekRequest};
use ratchet_store::catalog::{ReportEffect, Role};
use ratchet_testkit::build::{START, batch, project, score};

use crate::browser::Site;

/// The week of the test's moment, whose sessions are recorded around it.
fn this_week() -> Week {
    Week::of(START, &Zone::utc())
}

async fn report(site: &Site, week: Week, now: Timestamp) -> WeekDone {
    let folder = site.data.folder();
    let source = Source::Local(folder.telemetry.clone(), project("shop"));
    let archive = ReportStore::Catalog { catalog: &folder.catalog, project: &project("shop") };
    let rubric = rubric::shipped().find(|rubric| rubric.name == "session-quality").unwrap();
    let (rubric, templates) = (rubric.clone(), Templates::shipped());
    let request =
        WeekRequest { week, rubric, scope: ReportScope::default(), templates, adviser: None };
    let (telemetry, catalog) = (folder.telemetry.clone(), folder.catalog.clone());
    let sink = Sink::Local(LocalSink { telemetry, catalog, project: project("shop") });
    weekly_report::report((&source, &sink), archive, &request, now).await.unwrap()
}

/// Scores of five sessions in the week, and of four in the week before.
async fn site() -> Site {
    let site = Site::open().await;
    let start = this_week().start().since(START) / 1_000_000;
    let mut response = batch(&project("shop"));
    for n in 0_i32..9 {
        let session = format!("<b>s{n}");
        let (at, base) = match n {
            0..5 => (start + 1_000 + i64::from(n), 0.3 + f64::from(n) * 0.15),
            _ => (start - 5_000 - i64::from(n), 0.85),
        };
        for name in ["overall_quality", "tool_mastery", "execution_quality"] {
            let why = "The tool call failed with <i>an error</i>, again and again.";
            response = response.with(
                score(&format!("{name}{n}"))
                    .on(name)
                    .of_session(&session)
                    .given(at)
                    .value(ScoreValue::Numeric(base))
                    .from(ScoreSource::Eval)
                    .comment(why),
            );
        }
    }
    site.record(response).await;
    site
}

#[tokio::test]
async fn without_a_report_the_page_says_how_to_get_one() {
    let site = Site::open().await;
    let shown = site.get("/project/shop/reports").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert!(shown.text.contains("ratchet week") && shown.text.contains("Sunday at 02:00"));
    for page in ["suggestions", "success", "schedules"] {
        assert_eq!(site.get(&format!("/project/shop/reports/{page}")).await.status, 200);
    }
    assert_eq!(site.get("/project/shop/reports/2026-11-08").await.status, 404);
    assert_eq!(site.get("/project/shop/reports/%3Cb%3E").await.status, 404);
}

#[tokio::test]
async fn a_week_shows_how_it_stands_and_what_to_change() {
    let site = site().await;
    let done = report(&site, this_week(), START).await;
    assert_eq!(done.report.synthesis.sessions, 5);
    let week = this_week().to_string();
    let list = site.get("/project/shop/reports").await.text;
    assert!(list.contains(&format!("/project/shop/reports/{week}")), "{list}");
    let shown = site.get(&format!("/project/shop/reports/{week}")).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for part in [
        "5 sessions scored, overall quality 0.60",
        "needs 8 weeks, 2 available",
        "reach-mean",
        "/sessions/%3Cb%3Es0",
        "Look before editing",
        "an error&lt;/i&gt;",
        "not enough data",
    ] {
        assert!(shown.text.contains(part), "{part} in {}", shown.text);
    }
    assert!(!shown.text.contains("<b>s0") && !shown.text.contains("<i>an"));
}

#[tokio::test]
async fn the_same_week_again_changes_nothing() {
    let site = site().await;
    let first = report(&site, this_week(), START).await;
    assert_eq!(first.saved.effect, ReportEffect::Made);
    let again = report(&site, this_week(), START.plus_nanos(1)).await;
    assert_eq!(again.saved.effect, ReportEffect::Same);
    assert_eq!(
        (&again.report, &again.saved.suggestions),
        (&first.report, &first.saved.suggestions)
    );
}

#[tokio::test]
async fn suggestions_are_tracked_to_their_end() {
    let site = site().await;
    let done = report(&site, this_week(), START).await;
    let id = &done.saved.suggestions[0].id;
    let page = "/project/shop/reports/suggestions";
    let decide = async |fields: &str| site.post(page, &format!("{page}/{id}"), fields).await;
    let accepted = decide("to=accepted&back=/project/shop/reports/suggestions").await;
    assert_eq!(accepted.status, 303, "{}", accepted.text);
    let elsewhere = decide("to=done&back=//evil.example/").await;
    assert_eq!(elsewhere.status, 303);
    assert!(elsewhere.header("location").starts_with("/project/shop/reports/"));
    assert_eq!(decide("to=dismissed").await.status, 400);
    assert_eq!(decide("to=nonsense").await.status, 400);
    let kept = site.data.catalog().suggestion(project("shop"), id.clone()).await.unwrap().unwrap();
    let steps: Vec<Progress> = kept.steps.iter().map(|step| step.progress).collect();
    assert_eq!(steps, [Progress::Accepted, Progress::Done]);
    let success = site.get("/project/shop/reports/success").await.text;
    assert!(success.contains("Suggestions done in 4 weeks"), "{success}");
    // What was followed and is needed again a week later is suggested again.
    let later = report(&site, this_week(), START).await;
    assert_eq!(later.saved.suggestions[0].progress, Progress::Done);
}

#[tokio::test]
async fn owners_switch_what_runs_by_itself_as_in_the_api() {
    let site = Site::new().await;
    let page = "/project/shop/reports/schedules";
    let weekly = format!("{page}/weekly");
    site.person("member@shop.example", Role::Member).await;
    let mut member = site.signed_in("member@shop.example").await;
    let seen = member.get(page).await;
    assert!(!seen.check(200, "Sundays 02:00 UTC").text.contains("Run now"), "{}", seen.text);
    for to in ["on", "off", "run"] {
        member.post(&weekly, &[("to", to)]).await.check(403, "the role owner is required");
    }
    site.person("owner@shop.example", Role::Owner).await;
    let mut owner = site.signed_in("owner@shop.example").await;
    owner.get(page).await.check(200, "Run now");
    owner.post(&weekly, &[("to", "off")]).await.leads_to(&format!("{page}?done=off"));
}

#[tokio::test]
async fn the_weekly_run_says_whether_it_is_on() {
    let site = Site::open().await;
    let page = "/project/shop/reports/schedules";
    let shown = site.get(page).await.text;
    assert!(shown.contains("Sundays 02:00 UTC") && shown.contains("No runs yet"), "{shown}");
    let paused = site.post(page, &format!("{page}/weekly"), "to=off").await;
    assert_eq!(paused.status, 303, "{}", paused.text);
    assert!(site.get(page).await.text.contains("paused"));
    let asked = site.post(page, &format!("{page}/weekly"), "to=run").await;
    assert_eq!(asked.status, 303, "{}", asked.text);
    assert!(site.get(page).await.text.contains("running"));
    assert_eq!(site.post(page, &format!("{page}/weekly"), "to=maybe").await.status, 400);
    assert_eq!(site.post(page, &format!("{page}/nobody"), "to=on").await.status, 404);
}
