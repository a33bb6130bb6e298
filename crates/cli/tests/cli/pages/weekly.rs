//! Weeks: their reports, what they suggest, what runs by itself.

use std::collections::BTreeMap;

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::id::SessionId;
use ratchet_core::quality::report::{LeftOut, ReportScope, SessionCard, WeekReport};
use ratchet_core::quality::success_metrics::{SuccessFacts, success};
use ratchet_core::quality::suggestion::advice::AdviceOrigin;
use ratchet_core::quality::suggestion::{self, Edit, Severity, Suggestion};
use ratchet_core::quality::synthesis::{
    CommonIssue, Example, IssueShare, JudgeVersion, Mark, RecordedFacts, SessionMarks, synthesize,
};
use ratchet_core::stats::undefined::Undefined;
use ratchet_server::clock::Clock;
use ratchet_testkit::http;
use ratchet_testkit::process::PROJECT;
use serde_json::Value;

use super::hand::{Hand, with};
use super::writer::Writer;

const DIMENSIONS: [&str; 2] = ["task_completion", "tool_mastery"];

/// What a report is made of.
pub(super) struct Said<'a> {
    /// The sessions it is about, the worst first.
    pub(super) sessions: &'a [String],
    /// What goes wrong, and what is suggested.
    pub(super) words: &'a str,
}

/// Hands in a report of last week, as a client does. Returns the week.
pub(super) fn report(writer: &Writer<'_>, said: &Said<'_>) -> String {
    let week = Week::last_ended(Clock::System.now(), &Zone::utc());
    let (first, last_day) = week.days();
    let marked = |(nth, id): (usize, &String)| {
        let value = f64::from(u8::try_from(nth * 13 % 100).unwrap()) / 100.0;
        let mark =
            Mark { value, rationale: said.words.to_owned(), evidence: vec![1], ..Mark::default() };
        let marks = DIMENSIONS.map(|name| (name.to_owned(), mark.clone()));
        let session = SessionId::parse(id).unwrap();
        let judge = JudgeVersion::default();
        let facts =
            RecordedFacts { agent: Some(said.words.to_owned()), ..RecordedFacts::default() };
        SessionMarks { session, overall: value, marks: BTreeMap::from(marks), judge, facts }
    };
    let sessions: Vec<SessionMarks> = said.sessions.iter().enumerate().map(marked).collect();
    let before: Vec<SessionMarks> = sessions.iter().skip(1).cloned().collect();
    let mut synthesis = synthesize(&DIMENSIONS, &[before, sessions]);
    synthesis.issues = vec![issue(said)];
    let facts = SuccessFacts {
        sessions: synthesis.sessions,
        correlation: Err(Undefined::Empty),
        done: 0,
        made: 2,
        weeks: 4,
        trend: synthesis.overall.trend.clone(),
    };
    let report = WeekReport {
        week: first.clone(),
        last_day,
        project: None,
        zone: "UTC".to_owned(),
        rubric: "session-quality".to_owned(),
        success: success(&facts),
        drift: Vec::new(),
        suggestions: [Severity::High, Severity::Medium].map(|one| suggested(one, said)).to_vec(),
        advice: AdviceOrigin { by: said.words.to_owned(), ..AdviceOrigin::default() },
        synthesis,
        source: None,
        scope: ReportScope::default(),
        sessions: said.sessions.iter().map(|id| (id.clone(), card(said))).collect(),
        left_out: vec![LeftOut { reason: said.words.to_owned(), sessions: 3 }],
    };
    let body = serde_json::to_string(&report).unwrap();
    let put = http::request("PUT", &format!("/api/v1/reports/{first}")).host("localhost");
    let answer = writer.server.send(put.json(body));
    assert_eq!(answer.status, 200, "{}", answer.text());
    first
}

fn issue(said: &Said<'_>) -> CommonIssue {
    CommonIssue {
        dimension: DIMENSIONS[1].to_owned(),
        title: said.words.to_owned(),
        also: vec![said.words.to_owned()],
        count: said.sessions.len(),
        sessions: said.sessions.to_vec(),
        example: Example {
            session: said.sessions[0].clone(),
            rationale: said.words.to_owned(),
            turn: Some(1),
        },
        agents: vec![IssueShare {
            agent: Some(said.words.to_owned()),
            environment: String::new(),
            sessions: 1,
            of: 2,
        }],
        traces: 3,
        key: said.words.to_owned(),
    }
}

fn card(said: &Said<'_>) -> SessionCard {
    let words = Some(said.words.to_owned());
    SessionCard { title: words.clone(), agent: words, ..SessionCard::default() }
}

fn suggested(severity: Severity, said: &Said<'_>) -> Suggestion {
    let edit = if severity == Severity::High { Edit::Instructions } else { Edit::Skill };
    Suggestion {
        key: suggestion::key(DIMENSIONS[1], edit, said.words),
        severity,
        dimension: DIMENSIONS[1].to_owned(),
        title: said.words.to_owned(),
        edit,
        text: said.words.to_owned(),
        reason: said.words.to_owned(),
        sessions: said.sessions.to_vec(),
    }
}

/// From the list of weeks to a session that stands out, and back to what the week suggests.
fn task(hand: Hand) {
    with(hand, "/project/{project}/reports", |hand, page, demo| {
        let week = &demo.places["week"];
        let shown = format!("/project/{PROJECT}/reports/{week}");
        hand.open_row(page, week);
        page.wait_for_path(&shown);
        hand.press(page, ".named-sessions a");
        page.wait_for_path(&format!("/project/{PROJECT}/sessions/"));
        page.open(&demo.url(&shown));
        // Each hand has a suggestion of its own to decide about.
        let nth = if hand == Hand::Keys { 1 } else { 2 };
        let card = format!(".suggestion:nth-of-type({nth})");
        hand.press(page, &format!("{card} button[value=done]"));
        page.wait_for(&format!("{card} button[value=open]"));
        assert!(page.path().starts_with(&shown), "{}", page.path());
        let answer = demo.get("/api/v1/suggestions").json();
        let is_done = |kept: &&Value| kept["progress"] == "done";
        assert!(answer["suggestions"].as_array().unwrap().iter().any(|kept| is_done(&kept)));
    });
}

#[test]
fn a_week_is_read_and_a_suggestion_marked_as_done_with_keys_alone() {
    task(Hand::Keys);
}

#[test]
fn a_week_is_read_and_a_suggestion_marked_as_done_with_the_mouse_alone() {
    task(Hand::Mouse);
}
