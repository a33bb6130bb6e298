use super::*;
use crate::environment::Environment;
use crate::id::SessionId;
use crate::quality::success_metrics::{SuccessFacts, success};
use crate::quality::suggestion::{Templates, suggest};
use crate::quality::synthesis::{JudgeVersion, Mark, RecordedFacts, SessionMarks, synthesize};
use crate::stats::undefined::Undefined;
use crate::time::Timestamp;

fn report(sessions: Vec<SessionMarks>) -> WeekReport {
    let synthesis = synthesize(&["tool_mastery"], &[Vec::new(), sessions]);
    let trend = synthesis.overall.trend.clone();
    let sessions = synthesis.sessions;
    let facts = SuccessFacts {
        sessions,
        correlation: Err(Undefined::Empty),
        done: 0,
        made: 1,
        weeks: 4,
        trend,
    };
    WeekReport {
        week: "2026-11-08".to_owned(),
        last_day: "2026-11-14".to_owned(),
        project: None,
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
    let mark_of =
        Mark { value: mark, rationale: why.to_owned(), evidence: vec![1, 2], ..Mark::default() };
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

const BOT: &str = "support-bot-of-the-northern-region";

/// A session as the offline judge describes it.
fn described(at: usize, (agent, release, is_bad): (&str, &str, bool)) -> SessionMarks {
    let value = if is_bad { 0.3 } else { 0.85 } + [-0.05, 0.0, 0.05][at % 3];
    let why = match (is_bad, at % 4) {
        (true, 0) => "The user corrected the agent once.",
        (true, _) => {
            "4 tool calls failed (`find_order`); 3 failing calls were made again unchanged \
             (`find_order`)."
        }
        (false, 0) => "The user said thanks once.",
        (false, _) => "Unremarkable: 4 tool calls (`find_order`).",
    };
    let mark =
        |evidence: Vec<u32>| Mark { value, rationale: why.to_owned(), evidence, ..Mark::default() };
    let marks = [("task_completion", mark(vec![2])), ("tool_mastery", mark(vec![1, 2]))];
    SessionMarks {
        session: SessionId::parse(&format!("{agent}-{release}-{at}")).unwrap(),
        overall: value,
        marks: marks.map(|(name, mark)| (name.to_owned(), mark)).into(),
        judge: JudgeVersion {
            judge: "offline".to_owned(),
            rubric_version: Some(1),
            ..JudgeVersion::default()
        },
        facts: RecordedFacts {
            agent: Some(agent.to_owned()),
            environment: Environment::normalise("production"),
            releases: [release.to_owned()].into(),
            user: Some(format!("user-{}", at % 5)),
            last_at: Timestamp::from_nanos(i64::try_from(at).unwrap()),
            day: format!("2026-11-{:02}", 1 + at / 6 % 14),
            ..RecordedFacts::default()
        },
    }
}

/// Two weeks of two agents, one of which fell with a release.
fn two_weeks() -> WeekReport {
    let fallen = (40..80).map(|at| described(at, (BOT, "2.4.1", true)));
    let weeks = [
        (0..40).map(|at| described(at, (BOT, "2.4.0", false))).collect::<Vec<_>>(),
        fallen.chain((40..55).map(|at| described(at, ("research", "7", false)))).collect(),
    ];
    let synthesis = synthesize(&["task_completion", "tool_mastery"], &weeks);
    let title = "Please cancel order KC-437999; it is too late for our moving day, and nobody \
                 answers the phone";
    let card = SessionCard {
        title: Some(title.to_owned()),
        agent: Some(BOT.to_owned()),
        environment: "production".to_owned(),
        ..SessionCard::default()
    };
    let mut report = bad_week();
    report.suggestions = suggest(&synthesis, &Templates::shipped());
    let shown = synthesis.poor.iter().chain(&synthesis.excellent);
    report.sessions = shown.map(|one| (one.session.clone(), card.clone())).collect();
    report.left_out = vec![LeftOut { reason: "shorter than 3 traces".to_owned(), sessions: 7 }];
    WeekReport { synthesis, ..report }
}

#[track_caller]
fn fits(text: &str) {
    let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(longest.chars().count() <= 100, "{longest}");
}

#[test]
fn a_short_text_has_the_worst_in_100_columns() {
    let text = two_weeks().to_text(TextDetail::Short);
    fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_wide_text_has_everything_in_100_columns() {
    let text = two_weeks().to_text(TextDetail::Wide);
    fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_first_week_and_an_empty_week_have_no_empty_parts() {
    let first = bad_week().to_text(TextDetail::Short);
    fits(&first);
    let empty = report(Vec::new()).to_text(TextDetail::Short);
    insta::assert_snapshot!(format!("{first}\n=====\n{empty}"));
}

/// Names and words that people chose, however long, stay in their lines.
#[test]
fn long_words_stay_in_100_columns() {
    let mut report = two_weeks();
    let long = "長い".repeat(80) + &"x".repeat(300);
    for agent in &mut report.synthesis.agents {
        agent.agent = Some(long.clone());
        agent.environment.clone_from(&long);
    }
    for issue in &mut report.synthesis.issues {
        issue.title.clone_from(&long);
    }
    for suggestion in &mut report.suggestions {
        suggestion.title.clone_from(&long);
    }
    report.rubric.clone_from(&long);
    report.synthesis.judge.judge = long;
    fits(&report.to_text(TextDetail::Wide));
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
        moved: Some(11),
        n: 12,
        missing: None,
        p: Some(0.0005),
        detectable: Some(0.14),
    });
    let text = report.to_text(TextDetail::Short);
    assert!(text.contains("\nALERT: a*judge scores overall_quality"), "{text}");
    assert!(text.replace("\n  ", " ").contains("detectable: ±0.14"), "{text}");
    assert!(report.to_markdown().contains(r"> **Judge drift.** a\*judge scores"));
}

#[test]
fn an_empty_week_says_so() {
    let empty = report(Vec::new());
    assert_eq!(empty.headline(), "No sessions scored in this week.");
    assert!(empty.to_text(TextDetail::Short).contains("ratchet score"));
    assert!(empty.to_markdown().contains("ratchet score"));
}

/// That there is not enough data yet is said once.
#[test]
fn what_cannot_be_told_yet_is_said_once() {
    let occurrences = |text: &str, part: &str| text.matches(part).count();
    let first = bad_week();
    let message = |report: &WeekReport| {
        let message = report.to_message(None);
        let lines = message.sections.iter().flat_map(|section| &section.lines);
        format!("{} {:?}", message.text, lines.collect::<Vec<_>>())
    };
    for text in [first.to_markdown(), message(&first), first.to_text(TextDetail::Wide)] {
        for part in ["not enough data", "missed", "no sessions in the previous week", "needs 8"] {
            assert_eq!(occurrences(&text, part), 0, "{part} in {text}");
        }
        let text = text.replace('\n', " ");
        assert_eq!(occurrences(&text, "trends after 8 weeks"), 1, "{text}");
    }
    let mut second = two_weeks();
    second.success = first.success;
    for text in [second.to_markdown(), message(&second), second.to_text(TextDetail::Wide)] {
        let dimensions = text.split("Success metrics").next().unwrap();
        assert!(occurrences(dimensions, "needs 8 weeks, 2 available") <= 1, "{text}");
        assert!(occurrences(dimensions, "needs 12 sessions in each group") <= 1, "{text}");
        assert_eq!(occurrences(dimensions, "not enough data"), 0, "{text}");
    }
}

/// What fell, since which release, is the first sentence everywhere.
#[test]
fn the_release_that_fell_is_named_first_everywhere() {
    let report = two_weeks();
    let lead = report.lead().unwrap();
    assert!(lead.starts_with(&format!("{BOT} fell")) && lead.contains("since release 2.4.1"));
    assert_eq!(report.summary().first(), Some(&lead));
    assert!(report.to_message(None).text.starts_with(&lead));
    assert!(report.to_markdown().contains(&format!("\n\n{lead} ")), "{}", report.to_markdown());
    let text = report.to_text(TextDetail::Short).replace('\n', " ");
    assert!(text.contains(&format!("  {lead} ")), "{text}");
    assert_eq!(bad_week().lead(), None);
}

#[test]
fn a_report_names_its_project() {
    let report = WeekReport { project: Some("shop*".to_owned()), ..bad_week() };
    assert!(report.to_markdown().starts_with("# shop\\*: Week 2026-11-08"));
    assert!(report.to_text(TextDetail::Short).starts_with("shop*: Week 2026-11-08"));
    assert_eq!(report.to_message(None).title, "Weekly quality report 2026-11-08: shop*");
}

/// A day without sessions keeps its place, without a value.
#[test]
fn the_curve_by_day_has_no_missing_days() {
    let mut report = two_weeks();
    report.synthesis.days.retain(|day| day.day != "2026-11-04");
    let markdown = report.to_markdown();
    assert!(markdown.contains("| 2026-11-04 | 0 | – | |"), "{markdown}");
    let text = report.to_text(TextDetail::Short).replace("\n ", "");
    assert!(text.contains("███·") && text.contains("· no sessions"), "{text}");
}

/// The worst of each agent are named, also where another agent has all of the worst ones.
#[test]
fn each_agent_has_its_outliers() {
    let report = two_weeks();
    let bots = report.synthesis.poor.len();
    assert!(bots > MAX_SHOWN);
    let mut other = report.synthesis.poor[0].clone();
    (other.agent, other.session) = (Some("last".to_owned()), "the last one".to_owned());
    let mut report = report;
    report.synthesis.poor.push(other);
    assert!(report.shown_sessions().contains(&"the last one"));
}
