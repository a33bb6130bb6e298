use super::*;
use crate::id::SessionId;
use crate::quality::success_metrics::{SuccessFacts, success};
use crate::quality::suggestion::{Templates, suggest};
use crate::quality::synthesis::{JudgeVersion, Mark, RecordedFacts, SessionMarks, synthesize};
use crate::stats::undefined::Undefined;

fn report(sessions: Vec<SessionMarks>) -> WeekReport {
    let synthesis = synthesize(&["tool_mastery"], &[Vec::new(), sessions]);
    let trend = synthesis.overall.trend.clone();
    let sessions = synthesis.sessions;
    let facts =
        SuccessFacts { sessions, correlation: Err(Undefined::Empty), done: 0, made: 1, trend };
    WeekReport {
        week: "2026-11-08".to_owned(),
        last_day: "2026-11-14".to_owned(),
        zone: "UTC".to_owned(),
        rubric: "session-quality".to_owned(),
        suggestions: suggest(&synthesis, &Templates::shipped()),
        success: success(&facts),
        drift: Vec::new(),
        synthesis,
        advice: AdviceOrigin::default(),
        source: None,
        scope: ReportScope::default(),
        sessions: BTreeMap::new(),
        left_out: Vec::new(),
    }
}

fn session(id: &str, mark: f64, why: &str) -> SessionMarks {
    let mark_of = Mark { value: mark, rationale: why.to_owned(), evidence: vec![1, 2] };
    SessionMarks {
        session: SessionId::parse(id).unwrap(),
        overall: mark,
        marks: BTreeMap::from([("tool_mastery".to_owned(), mark_of)]),
        judge: JudgeVersion::default(),
        facts: RecordedFacts::default(),
    }
}

fn bad_week() -> WeekReport {
    let why = "The *same* tool call failed | again and again.";
    report(vec![session("a", 0.4, why), session("b", 0.6, why), session("c", 0.9, "")])
}

#[test]
fn a_week_reads_well_in_a_terminal() {
    let text = bad_week().to_text(TextDetail::Short);
    for part in [
        "Week 2026-11-08 to 2026-11-14 (UTC)",
        "3 sessions scored, overall quality 0.63 (95% CI",
        "tool_mastery",
        "This is the first week: changes by agent and release appear in the next report",
        "Check what a tool needs before calling it",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn what_judges_say_is_not_markdown() {
    let text = bad_week().to_markdown();
    assert!(text.contains(r"The \*same\* tool call failed \| again"), "{text}");
    assert!(text.contains("\n```\n## Tools\n"), "{text}");
}

#[test]
fn drift_alerts_come_first_in_the_report() {
    let mut report = report(Vec::new());
    report.drift.push(DriftAlert {
        judge: "a*judge".to_owned(),
        rubric: "session-quality".to_owned(),
        dimension: "overall_quality".to_owned(),
        since: "2026-10-04".to_owned(),
        week: "2026-11-15".to_owned(),
        change: -0.4,
        interval: [-0.5, -0.3],
        n: 12,
        p: Some(0.0005),
    });
    assert!(report.to_text(TextDetail::Short).contains("\nALERT: a*judge scores overall_quality"));
    assert!(report.to_markdown().contains(r"> **Judge drift.** a\*judge scores"));
}

#[test]
fn an_empty_week_says_so() {
    let empty = report(Vec::new());
    assert_eq!(empty.headline(), "No sessions scored in this week.");
    assert!(empty.to_text(TextDetail::Short).contains("ratchet score"));
    assert!(empty.to_markdown().contains("ratchet score"));
}
