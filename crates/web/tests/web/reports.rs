use std::collections::BTreeMap;

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
use ratchet_testkit::build::{BatchBuilder, START, batch, project, score, text, trace};

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
    let request = WeekRequest {
        week,
        rubric,
        scope: ReportScope::default(),
        templates,
        adviser: None,
        unscored: BTreeMap::new(),
        project: Some("shop".to_owned()),
    };
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
    let kept = site.data.catalog().suggestions(project("shop")).await.unwrap();
    let kept = kept.iter().find(|kept| kept.id == *id).unwrap();
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

const WEEK_MILLIS: i64 = 7 * 86_400_000;

/// Sessions of an agent with traces of a release, scored by the offline judge.
fn released(
    (agent, environment, release): (&str, &str, &str),
    (weeks, mark, count): (i64, f64, i64),
) -> BatchBuilder {
    let start = this_week().start().since(START) / 1_000_000 + weeks * WEEK_MILLIS;
    (0..count).fold(batch(&project("shop")), |all, n| {
        let session = format!("{agent}-{environment}-{release}-{n}");
        let at = start + 86_400_000 * (n % 2 * 3 + 1) + n;
        let wobble = [0.0, 0.01, 0.02][usize::try_from(n % 3).unwrap()];
        let given = |name: &str| {
            score(&format!("{session}-{name}"))
                .on(name)
                .of_session(&session)
                .given(at + 1_000)
                .from(ScoreSource::Eval)
                .metadata("judge", "\"offline\"")
                .comment("The tool call failed again.")
                .number(mark + wobble)
        };
        all.with(
            trace(&format!("t-{session}"))
                .in_session(&session)
                .agent(agent)
                .in_environment(environment)
                .release(release)
                .input(text(&format!("Request {n} to {agent} {release}")))
                .beginning(at),
        )
        .with(given("overall_quality"))
        .with(given("tool_mastery"))
    })
}

/// Two weeks in which the second release of a bot is bad in production.
async fn bad_release() -> (Site, String) {
    let site = Site::open().await;
    site.record(released(("bot", "prod", "4.7"), (-1, 0.85, 14))).await;
    site.record(released(("bot", "prod", "4.8"), (0, 0.2, 14))).await;
    site.record(released(("bot", "staging", "4.8"), (0, 0.9, 4))).await;
    site.record(released(("coder", "prod", "1"), (0, 0.45, 3))).await;
    let week = report(&site, this_week(), START).await.report.week;
    (site, format!("/project/shop/reports/{week}"))
}

#[tokio::test]
async fn the_first_paragraph_names_the_release_that_fell() {
    let (site, page) = bad_release().await;
    let paragraph = |text: &str| {
        let (_, from) = text.split_once("class=\"summary\"").unwrap();
        from.split_once("</p>").unwrap().0.to_owned()
    };
    let fell = "bot fell from 0.86 to 0.21";
    for address in [page.clone(), format!("{page}?agent=bot"), "/project/shop/reports".to_owned()] {
        let first = paragraph(&site.get(&address).await.text);
        assert!(first.contains(fell) && first.contains("since release 4.8, in prod"), "{first}");
    }
    let other = paragraph(&site.get(&format!("{page}?agent=coder")).await.text);
    assert!(!other.contains(fell), "{other}");
}

#[tokio::test]
async fn outliers_and_issues_are_those_of_the_agent_and_environment() {
    let (site, page) = bad_release().await;
    let all = site.get(&page).await.text;
    assert!(all.contains("<bdi>bot in prod</bdi> 14 of 14"), "{all}");
    // The bot has more low outliers than a list shows.
    let coder = site.get(&format!("{page}?agent=coder")).await.text;
    assert!(coder.contains("Request 0 to coder 1") && !coder.contains("to bot"), "{coder}");
    assert!(coder.contains("<bdi>coder in prod</bdi> 3 of 3"), "{coder}");
    let staging = site.get(&format!("{page}?env=staging")).await.text;
    assert!(
        !staging.contains("Request 1 to bot 4.8</bdi></a> <span class=\"muted\"><bdi>bot · prod")
    );
    assert!(staging.contains("No issues shared by sessions below 0.7"), "{staging}");
}

#[tokio::test]
async fn a_release_is_reported_on_alone() {
    let (site, page) = bad_release().await;
    let whole = site.get(&page).await.text;
    assert!(whole.contains("env=prod&amp;agent=bot&amp;release=4.8"), "{whole}");
    let one = site.get(&format!("{page}?agent=bot&release=4.8")).await;
    assert_eq!(one.status, 200, "{}", one.text);
    for part in
        ["Only <bdi>agent bot, release 4.8</bdi>.", "18 sessions scored", "Show the whole report"]
    {
        assert!(one.text.contains(part), "{part} in {}", one.text);
    }
    assert!(!one.text.contains("to coder"), "{}", one.text);
    let none = site.get(&format!("{page}?release=none&user=%3Cb%3E")).await.text;
    assert!(none.contains("No sessions scored in this week") && !none.contains("<b>."), "{none}");
    let kept = site.data.catalog().reports(project("shop")).await.unwrap();
    assert_eq!(kept.len(), 1, "a part is not stored");
}

#[tokio::test]
async fn the_daily_curve_and_suggestions_are_readable() {
    let (site, page) = bad_release().await;
    let whole = site.get(&page).await.text;
    let days = this_week().start();
    let quiet = ratchet_core::calendar::day(days.plus_nanos(2 * 86_400_000_000_000));
    assert!(whole.contains(&format!(">{quiet}<")), "{quiet} has no sessions, and a place: {whole}");
    let suggestions = site.get("/project/shop/reports/suggestions").await.text;
    assert!(suggestions.contains(">Request ") && !suggestions.contains(">bot-prod-4.8-"));
    let traces = site.get("/project/shop/traces?range=all").await.text;
    assert!(traces.contains("<bdi>Request 3 to bot 4.8</bdi>"), "{traces}");
    let one = site.get("/project/shop/traces/t-bot-prod-4.8-3").await.text;
    assert!(one.contains("title=\"bot-prod-4.8-3\"") && one.contains("<bdi>Request 3 to"), "{one}");
}

/// Each reason why sessions have no figures is counted by itself.
#[tokio::test]
async fn what_is_left_out_is_counted_by_reason() {
    let site = Site::open().await;
    site.record(released(("bot", "prod", "1"), (0, 0.8, 3))).await;
    let start = this_week().start().since(START) / 1_000_000 + 1_000;
    let long = |session: &str| {
        let traces = (0..3)
            .map(|n| trace(&format!("{session}-{n}")).in_session(session).beginning(start + n));
        traces.fold(batch(&project("shop")), BatchBuilder::with)
    };
    let other =
        score("other").on("politeness").of_session("by-others").given(start + 9).number(0.5);
    let other = other.from(ScoreSource::Eval).metadata("rubric", "\"manners\"");
    site.record(long("by-others").with(other)).await;
    site.record(long("never")).await;
    let short = trace("short").in_session("short").beginning(start);
    site.record(batch(&project("shop")).with(short)).await;
    let left_out = report(&site, this_week(), START).await.report.left_out;
    let mut reasons: Vec<(&str, usize)> =
        left_out.iter().map(|one| (one.reason.as_str(), one.sessions)).collect();
    reasons.sort_unstable();
    let expected = [
        ("shorter than 3 traces and 10 observations", 1),
        ("with scores of other rubrics only", 1),
        ("without a score", 1),
    ];
    assert_eq!(reasons, expected);
}

#[tokio::test]
async fn the_document_of_a_week_shows_proposals_with_their_evidence_and_hostile_text_as_text() {
    let site = Site::open().await;
    let mut all = batch(&project("shop"));
    for n in 0..10 {
        let (id, is_failed) = (format!("trace-{n}"), n < 6);
        let answer = if is_failed { "I don't have that information." } else { "Here." };
        let one = trace(&id).beginning(1_000).agent("<b>support").in_environment("production");
        let one = one.in_session(&format!("session-{}", n % 3)).input(text("Open?"));
        let review = score(&format!("review-{n}")).of_trace(&id).on("correctness");
        let value = f64::from(u8::from(!is_failed));
        all = all.with(one.output(text(answer))).with(review.number(value).given(2_000));
    }
    site.record(all).await;
    let week = this_week().to_string();
    let page = format!("/project/shop/reports/{week}?part=improvements");
    let shown = site.get(&page).await;
    for part in ["Metrics of", "Impact by proposal", "Knowledge", "/traces/trace-0", "Still"] {
        let is_there = shown.text.contains(part);
        assert_eq!(is_there, part != "Still", "{part} in {}", shown.text);
    }
    assert!(shown.text.contains("&lt;b&gt;support") && !shown.text.contains("<b>support"));
    let other = site.get(&format!("{page}&agent=nobody")).await;
    other.check(200, "no pattern has three failed traces");
    assert_eq!(site.get("/project/shop/reports/%3Cb%3E?part=improvements").await.status, 404);
}
