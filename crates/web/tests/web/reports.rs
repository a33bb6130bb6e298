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
use ratchet_testkit::build::{BatchBuilder, START, batch, project, score};

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
    site.record(low_scores(0)).await;
    site
}

/// The same, that many milliseconds later.
fn low_scores(later: i64) -> BatchBuilder {
    let start = this_week().start().since(START) / 1_000_000 + later;
    let mut response = batch(&project("shop"));
    for n in 0_i32..9 {
        let session = format!("<b>s{n}{}", if later > 0 { "-later" } else { "" });
        let (at, base) = match n {
            0..5 => (start + 1_000 + i64::from(n), 0.3 + f64::from(n) * 0.15),
            _ => (start - 5_000 - i64::from(n), 0.85),
        };
        for name in ["overall_quality", "tool_mastery", "execution_quality"] {
            let why = "The tool call failed with <i>an error</i>, again and again.";
            response = response.with(
                score(&format!("{name}{n}-{later}"))
                    .on(name)
                    .of_session(&session)
                    .given(at)
                    .value(ScoreValue::Numeric(base))
                    .from(ScoreSource::Eval)
                    .comment(why),
            );
        }
    }
    response
}

#[tokio::test]
async fn without_a_report_the_page_says_how_to_get_one() {
    let site = Site::open().await;
    let shown = site.get("/project/shop/reports").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    assert!(shown.text.contains("ratchet week") && shown.text.contains("Sunday at 02:00"));
    for page in ["suggestions", "success", "schedules"] {
        let shown = site.get(&format!("/project/shop/reports/{page}")).await;
        assert_eq!(shown.status, 200);
        let is_missed = page == "success" && shown.text.contains("missed");
        assert!(!is_missed, "nothing is missed before there was a week: {}", shown.text);
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

/// Three sessions of an agent that a judge scored, that many weeks later.
fn scored_by(judge: &str, agent: &str, (weeks, mark): (i64, f64)) -> BatchBuilder {
    let week = 7 * 86_400_000;
    let start = this_week().start().since(START) / 1_000_000 + weeks * week;
    (0_i32..3).fold(batch(&project("shop")), |all, n| {
        let session = format!("{agent}-{weeks}-{n}");
        let given = |name: &str| {
            score(&format!("{session}-{name}"))
                .on(name)
                .of_session(&session)
                .given(start + 1_000 + i64::from(n))
                .from(ScoreSource::Eval)
                .metadata("judge", &format!("\"{judge}\""))
                .metadata("agent", &format!("\"{agent}\""))
                .number(mark)
        };
        all.with(given("overall_quality")).with(given("tool_mastery"))
    })
}

#[tokio::test]
async fn judges_have_lines_of_their_own_on_a_calendar_of_weeks() {
    let site = Site::open().await;
    site.record(scored_by("offline", "bot", (0, 0.8))).await;
    site.record(scored_by("panel:model", "bot", (2, 0.4))).await;
    let (gap, last) = (this_week().after(), this_week().after().after());
    report(&site, this_week(), START).await;
    report(&site, last.clone(), last.end()).await;
    let list = site.get("/project/shop/reports").await.text;
    for part in ["scope=\"col\">offline<", "scope=\"col\">panel:model<", ">Judge<"] {
        assert!(list.contains(part), "{part} in {list}");
    }
    assert!(list.contains(&gap.to_string()), "a week without a report keeps its place: {list}");
}

#[tokio::test]
async fn with_an_agent_chosen_all_figures_of_a_week_are_its_own() {
    let site = Site::open().await;
    site.record(scored_by("offline", "bot", (0, 0.3))).await;
    site.record(scored_by("offline", "coder", (0, 0.9))).await;
    let week = report(&site, this_week(), START).await.report.week;
    let all = site.get(&format!("/project/shop/reports/{week}")).await.text;
    assert!(all.contains("6 sessions scored, overall quality 0.60"), "{all}");
    assert!(all.contains("uncalibrated: it ranks sessions"), "{all}");
    let coder = site.get(&format!("/project/shop/reports/{week}?agent=coder")).await.text;
    assert!(coder.contains("coder in default: 3 sessions scored, overall quality 0.90"), "{coder}");
    assert!(!coder.contains("0.60") && !coder.contains("6 sessions"), "{coder}");
    assert!(coder.contains("None for this agent or environment"), "{coder}");
    let bot = site.get(&format!("/project/shop/reports/{week}?agent=bot")).await.text;
    assert!(bot.contains("class=\"suggestion\""), "{bot}");
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
    let again = report(&site, this_week(), START).await;
    assert_eq!(again.saved.suggestions[0].progress, Progress::Done);
    // What was done stays done in the next week, which only cites it again.
    let next = this_week().after();
    let days = next.start().since(this_week().start()) / 1_000_000;
    site.record(low_scores(days)).await;
    let later = report(&site, next.clone(), next.end()).await;
    assert_eq!(later.saved.effect, ReportEffect::Made);
    let same = later.saved.suggestions.iter().find(|kept| kept.id == *id).unwrap();
    assert_eq!((same.progress, &same.last_week), (Progress::Done, &next.to_string()));
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
