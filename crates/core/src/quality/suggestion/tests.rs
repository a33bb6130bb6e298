use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::id::SessionId;
use crate::quality::synthesis::{JudgeVersion, Mark, RecordedFacts, SessionMarks, synthesize};

const DIMENSIONS: [&str; 2] = ["task_completion", "tool_mastery"];

fn session(at: usize, task: f64, tool: f64, why: &str) -> SessionMarks {
    let mark =
        |value| Mark { value, rationale: why.to_owned(), evidence: vec![1, 2], ..Mark::default() };
    let marks =
        [("task_completion".to_owned(), mark(task)), ("tool_mastery".to_owned(), mark(tool))];
    let session = SessionId::parse(&format!("s{at}")).unwrap();
    let judge = JudgeVersion::default();
    SessionMarks {
        session,
        overall: f64::midpoint(task, tool),
        marks: BTreeMap::from(marks),
        judge,
        facts: RecordedFacts::default(),
    }
}

fn suggestions(sessions: Vec<SessionMarks>) -> Vec<Suggestion> {
    suggest(&synthesize(&DIMENSIONS, &[sessions]), &Templates::shipped())
}

#[test]
fn a_good_week_needs_none() {
    assert_eq!(suggestions(vec![session(1, 0.9, 0.8, ""), session(2, 0.9, 0.7, "")]), []);
}

#[test]
fn a_dimension_under_one_half_is_grave() {
    let found = suggestions(vec![session(1, 0.9, 0.3, ""), session(2, 0.9, 0.4, "")]);
    let [one] = found.as_slice() else { panic!("one, not {found:?}") };
    assert_eq!((one.severity, one.dimension.as_str()), (Severity::High, "tool_mastery"));
    assert_eq!(one.reason, "mean 0.35 over 2 sessions");
}

#[test]
fn an_issue_and_its_dimension_are_one_suggestion_with_its_sessions() {
    let why = "The tool call failed with an error.";
    let found = suggestions(vec![session(1, 0.75, 0.55, why), session(2, 0.72, 0.6, why)]);
    let [one] = found.as_slice() else { panic!("one, not {found:?}") };
    assert_eq!(one.severity, Severity::Medium);
    assert_eq!(one.sessions, ["s1", "s2"]);
    assert_eq!(one.title, "Check what a tool needs before calling it");
    assert!(one.reason.contains("2 sessions below 0.7") && one.reason.contains("mean"));
}

/// One bad trace is chance.
#[test]
fn a_dimension_needs_three_traces_of_two_sessions() {
    let mut two = vec![session(1, 0.9, 0.1, ""), session(2, 0.9, 0.8, "")];
    assert_eq!(suggestions(two.clone()), [], "one low session");
    two[1] = session(2, 0.9, 0.4, "");
    for one in &mut two {
        one.marks.get_mut("tool_mastery").unwrap().evidence = vec![1];
    }
    assert_eq!(suggestions(two), [], "two traces");
}

/// A bot that fails in a project of coding agents gets a prompt, not a line of CLAUDE.md.
#[test]
fn a_suggestion_for_a_dimension_fits_the_agents_of_its_low_sessions() {
    let of = |at: usize, tool: f64, agent: &str| {
        let one = session(at, 0.9, tool, "");
        let facts = RecordedFacts { agent: Some(agent.to_owned()), ..one.facts.clone() };
        SessionMarks { facts, ..one }
    };
    let bot = [of(1, 0.1, "support-bot"), of(2, 0.2, "support-bot"), of(3, 0.15, "support-bot")];
    let coding = (4..8).map(|at| of(at, 0.8, "claude-code"));
    let found = suggestions(bot.into_iter().chain(coding).collect());
    let [one] = found.as_slice() else { panic!("one, not {found:?}") };
    assert_eq!(
        (one.edit, one.sessions.as_slice()),
        (Edit::Prompt, ["s1", "s3", "s2"].map(String::from).as_slice())
    );
}

#[test]
fn a_tool_that_refuses_needs_a_change_of_the_system() {
    let why = "The tool denied permission to the order.";
    let found = suggestions(vec![session(1, 0.75, 0.55, why), session(2, 0.72, 0.6, why)]);
    assert_eq!(found.first().map(|one| one.edit), Some(Edit::System), "{found:?}");
}

#[test]
fn every_step_leads_somewhere_and_back() {
    for progress in Progress::ALL {
        assert_eq!(Progress::parse(progress.as_str()), Some(progress));
        assert!(!progress.next().is_empty() && !progress.next().contains(&progress));
    }
}

proptest! {
    #[test]
    fn keys_differ_and_the_gravest_come_first(
        marks in prop::collection::vec((0.0..=1.0_f64, 0.0..=1.0_f64), 0..8),
    ) {
        let sessions = (0..).zip(marks).map(|(at, (task, tool))| {
            session(at, task, tool, "Tests failed. Read the same file again.")
        });
        let found = suggestions(sessions.collect());
        let mut keys: Vec<&str> = found.iter().map(|one| one.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), found.len());
        prop_assert!(found.is_sorted_by_key(|one| one.severity));
    }
}

/// The user may rewrite the text of a template, and a model finds other words every week.
#[test]
fn what_is_done_stays_done_in_other_words() {
    let why = "The tool call failed with an error.";
    let week = || vec![session(1, 0.75, 0.55, why), session(2, 0.72, 0.6, why)];
    let shipped = suggestions(week());
    let key_of = |found: &[Suggestion]| found.first().unwrap().key.clone();
    let title = &shipped[0].title;
    let own = format!(
        "[[suggestion]]\ndimension = \"tool_mastery\"\nedit = \"CLAUDE.md\"\ntitle = \"{title}\"\n\
         text = \"Ask first.\""
    );
    let templates = Templates::with_overrides(&own).unwrap();
    let rewritten = suggest(&synthesize(&DIMENSIONS, &[week()]), &templates);
    assert_eq!((rewritten[0].text.as_str(), key_of(&rewritten)), ("Ask first.", key_of(&shipped)));

    let old = Suggestion { key: "0123456789abcdef".to_owned(), ..shipped[0].clone() };
    let mut upgraded = shipped.clone();
    let templates = AdviceOrigin::default();
    keep_keys(&mut upgraded, &templates, &std::iter::once(&old));
    assert_eq!(key_of(&upgraded), old.key, "keys were made of the text");

    let model = AdviceOrigin { by: "gpt".to_owned(), ..AdviceOrigin::default() };
    let worded = |title: &str| Suggestion {
        key: key("tool_mastery", Edit::Prompt, title),
        title: title.to_owned(),
        text: format!("{title}, always"),
        edit: Edit::Prompt,
        ..shipped[0].clone()
    };
    let done = worded("Look up the order number before calling find_order");
    let mut again = vec![
        worded("Before calling find_order, look up order numbers"),
        worded("Thank the user at the end of every conversation"),
    ];
    let other = again[1].key.clone();
    keep_keys(&mut again, &model, &std::iter::once(&done));
    assert_eq!(again.iter().map(|one| &one.key).collect::<Vec<_>>(), [&done.key, &other]);
}
