//! From the home page to the cause: what fell, since which release, and which tool fails.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::environment::Environment;
use ratchet_core::id::SessionId;
use ratchet_core::quality::report::{ReportScope, WeekReport};
use ratchet_core::quality::suggestion::advice::AdviceOrigin;
use ratchet_core::quality::synthesis::{
    JudgeVersion, Mark, RecordedFacts, SessionMarks, synthesize,
};
use ratchet_server::clock::Clock;
use ratchet_testkit::http;
use ratchet_testkit::process::PROJECT;

use super::hand::with_both;
use super::stage::stage;
use super::writer::Writer;

const DIMENSIONS: [&str; 1] = ["tool_mastery"];
/// Sessions of each release.
const SESSIONS: u8 = 30;

/// Sessions of the demo's agent with a release, all scored about the same.
fn marked(release: &str, about: f64) -> Vec<SessionMarks> {
    let session = |nth: u8| {
        let value = about + f64::from(nth % 7) / 100.0;
        let mark = Mark {
            value,
            rationale: "a call failed".to_owned(),
            evidence: vec![1],
            ..Mark::default()
        };
        SessionMarks {
            session: SessionId::parse(&format!("{release}-{nth}")).unwrap(),
            overall: value,
            marks: BTreeMap::from([(DIMENSIONS[0].to_owned(), mark)]),
            judge: JudgeVersion { judge: "offline".to_owned(), ..JudgeVersion::default() },
            facts: RecordedFacts {
                agent: Some("support-desk".to_owned()),
                environment: Environment::normalise("prod"),
                releases: BTreeSet::from([release.to_owned()]),
                ..RecordedFacts::default()
            },
        }
    };
    (0..SESSIONS).map(session).collect()
}

/// Reports on this week that the release which the demo breaks has fallen.
fn report(writer: &Writer<'_>) {
    let week = Week::of(Clock::System.now(), &Zone::utc());
    let (first, last_day) = week.days();
    let weeks = [marked("4.7.2", 0.8), marked("4.8.0", 0.3)];
    let report = WeekReport {
        week: first.clone(),
        last_day,
        project: None,
        zone: "UTC".to_owned(),
        rubric: "session-quality".to_owned(),
        synthesis: synthesize(&DIMENSIONS, &weeks),
        success: Vec::new(),
        drift: Vec::new(),
        suggestions: Vec::new(),
        advice: AdviceOrigin::default(),
        source: None,
        scope: ReportScope::default(),
        sessions: BTreeMap::new(),
        left_out: Vec::new(),
    };
    let body = serde_json::to_string(&report).unwrap();
    let put = http::request("PUT", &format!("/api/v1/reports/{first}")).host("localhost");
    let answer = writer.server.send(put.json(body));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn why_quality_fell_is_found_in_one_click_from_home() {
    with_both("/project/{project}", |hand, page, demo| {
        demo.write(report);
        page.open(&demo.url(&format!("/project/{PROJECT}")));
        let numbers = page.text(".home-quality");
        for part in ["Overall quality", "support-desk 4.8.0", "n = 30", "Cost", "offline"] {
            assert!(numbers.contains(part), "{part} is missing: {numbers}");
        }
        hand.press(page, ".home-quality .stat[href*=\"/observations\"]");
        page.wait_for_path(&format!("/project/{PROJECT}/observations"));
        assert!(page.path().contains("4.8.0"), "{}", page.path());
        page.wait_for("find_order");
    });
}

#[test]
fn a_project_without_scores_is_scored_from_its_page() {
    let stage = stage();
    let empty = stage.empty();
    let page = stage.browser.page();
    page.open(&empty.url(&format!("/project/{PROJECT}/reports")));
    let command = page.text(".snippet");
    let address = empty.url("");
    assert!(command.contains(address.trim_end_matches('/')), "{command} names {address}");
    page.click("form[action*=\"/score-now\"] button");
    page.wait_until("location.search.includes('done=run')");
    page.wait_for("score-now");
    assert_eq!(page.problems(), []);
}
