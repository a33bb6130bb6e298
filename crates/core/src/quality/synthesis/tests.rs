use proptest::prelude::*;

use super::*;
use crate::environment::Environment;
use crate::id::SessionId;

mod agents;

fn session(id: &str, overall: f64, marks: &[(&str, f64, &str)]) -> SessionMarks {
    let mark = |(name, value, rationale): &(&str, f64, &str)| {
        (
            (*name).to_owned(),
            Mark { value: *value, rationale: (*rationale).to_owned(), ..Mark::default() },
        )
    };
    let session = SessionId::parse(id).unwrap();
    let judge = JudgeVersion::default();
    let facts = RecordedFacts::default();
    SessionMarks { session, overall, marks: marks.iter().map(mark).collect(), judge, facts }
}

fn plain(id: &str, overall: f64) -> SessionMarks {
    session(id, overall, &[("tool_mastery", overall, "")])
}

#[test]
fn outliers_are_beyond_the_lines_and_the_farthest_come_first() {
    let week = [("a", 0.85), ("b", 0.86), ("c", 0.99), ("d", 0.5), ("e", 0.49), ("f", 0.1)];
    let week: Vec<SessionMarks> = week.iter().map(|(id, mark)| plain(id, *mark)).collect();
    let found = synthesize(&["tool_mastery"], &[week]);
    let ids = |outliers: &[Outlier]| -> Vec<String> {
        outliers.iter().map(|outlier| outlier.session.clone()).collect()
    };
    assert_eq!(ids(&found.excellent), ["c", "b"]);
    assert_eq!(ids(&found.poor), ["f", "e"]);
}

#[test]
fn the_first_week_can_tell_no_change_and_no_trend() {
    let found = synthesize(&["tool_mastery"], &[vec![plain("a", 0.4), plain("b", 0.6)]]);
    let overall = found.overall;
    assert_eq!((overall.n, overall.mean()), (2, Some(0.5)));
    assert_eq!(overall.change, Change::Unknown("no sessions in the previous week".to_owned()));
    assert_eq!(overall.trend, Trend::TooEarly("needs 8 weeks, 1 available".to_owned()));
    assert_eq!(found.dimensions.len(), 1);
}

#[test]
fn eight_weeks_show_a_trend() {
    let weeks: Vec<Vec<SessionMarks>> = (0..8_i32)
        .map(|week| {
            let mean = 0.5 + f64::from(week) * 0.03;
            vec![plain("a", mean - 0.02), plain("b", mean + 0.02)]
        })
        .collect();
    let found = synthesize(&["tool_mastery"], &weeks);
    assert!(
        matches!(found.overall.trend, Trend::Rising(slope) if (slope.per_week - 0.03).abs() < 1e-9)
    );
    let seven = synthesize(&["tool_mastery"], &weeks[1..]);
    assert!(matches!(seven.overall.trend, Trend::TooEarly(_)));
    let Change::By { value, interval: [lower, upper], .. } = found.overall.change else {
        panic!("two sessions a week are enough for a change");
    };
    assert!((value - 0.03).abs() < 1e-9 && lower < value && value < upper);
}

fn judged(judge: &str, id: usize, mark: f64) -> SessionMarks {
    let judge = JudgeVersion { judge: judge.to_owned(), ..JudgeVersion::default() };
    SessionMarks { judge, ..plain(&format!("s{id}"), mark) }
}

/// A week of marks around a mean.
fn week_of(judge: &str, mean: f64, n: usize) -> Vec<SessionMarks> {
    let mark = |id: usize| mean + [-0.1, 0.0, 0.05, 0.05][id % 4];
    (0..n).map(|id| judged(judge, id, mark(id))).collect()
}

#[test]
fn scores_of_another_judge_are_not_compared() {
    let mut this = week_of("new", 0.5, 20);
    this.extend((20..24).map(|id| judged("old", id, 0.9)));
    let found = synthesize(&["tool_mastery"], &[week_of("old", 0.9, 20), this]);
    assert_eq!((found.judge.words().as_str(), found.sessions), ("new", 20));
    assert_eq!(found.other_judges.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [4]);
    let another = "the previous week was scored by another judge or rubric version";
    assert_eq!(found.overall.change, Change::Unknown(another.to_owned()));
    assert_eq!(found.overall.history, [None, Some(found.overall.mean().unwrap())]);
}

#[test]
fn a_change_is_significant_only_with_enough_sessions() {
    let change = |before: f64, this: f64, n: usize| {
        let weeks = [week_of("judge", before, n), week_of("judge", this, n)];
        synthesize(&["tool_mastery"], &weeks).overall.change
    };
    assert!(change(0.8, 0.5, 20).is_clear());
    assert!(!change(0.8, 0.5, 8).is_clear(), "eight sessions a week are too few");
    assert!(!change(0.8, 0.79, 20).is_clear());
    let Change::By { detectable: Some(least), .. } = change(0.8, 0.8, 20) else {
        panic!("20 sessions can be tested");
    };
    assert!((0.01..0.2).contains(&least), "{least}");
}

/// All sessions fully successful: 20 of them do not show that failures are impossible.
#[test]
fn equal_marks_have_an_interval() {
    let perfect: Vec<SessionMarks> = (0..20).map(|id| judged("judge", id, 1.0)).collect();
    let marks = synthesize(&["tool_mastery"], &[perfect]).overall.marks.unwrap();
    let [lower, upper] = marks.interval.unwrap();
    assert!(lower < 0.88 && upper >= 1.0, "{marks:?}");
}

#[test]
fn an_empty_week_is_not_a_bad_week() {
    let found = synthesize(&["tool_mastery"], &[vec![plain("a", 0.9)], Vec::new()]);
    assert_eq!((found.sessions, found.overall.marks), (0, None));
    assert_eq!(found.overall.history, [Some(0.9), None]);
    assert!(found.poor.is_empty() && found.issues.is_empty());
}

#[test]
fn issues_are_what_several_sessions_under_the_line_share() {
    let tool = "tool_mastery";
    let week = vec![
        session("a", 0.5, &[(tool, 0.4, "Tests failed 3 times. Edited `a.rs` blindly.")]),
        session("b", 0.6, &[(tool, 0.5, "The tests were failing again. Used the wrong path.")]),
        session("c", 0.9, &[(tool, 0.5, "Tests failed once.")]),
        session("d", 0.6, &[(tool, 0.8, "Tests failed once.")]),
    ];
    let found = synthesize(&[tool], &[week]);
    let [issue] = found.issues.as_slice() else { panic!("one issue, not {:?}", found.issues) };
    assert_eq!(issue.sessions, ["a", "b"]);
    assert_eq!((issue.dimension.as_str(), issue.count), (tool, 2));
}

/// The first cited trace shows the user's correction; tool calls fail later.
#[test]
fn an_issue_and_an_outlier_lead_to_the_turn_that_shows_what_they_say() {
    let why = "The user corrected the agent once; 3 tool calls failed (`find_order`).";
    let poor = |id: &str, signals: &[(Signal, u32)]| {
        let mut poor = session(id, 0.3, &[("tool_mastery", 0.3, why)]);
        let mark = poor.marks.get_mut("tool_mastery").unwrap();
        mark.evidence = vec![2, 4];
        mark.signals = signals.iter().map(|(signal, trace)| (*signal, vec![*trace])).collect();
        poor
    };
    let known = [(Signal::UserCorrection, 2), (Signal::ToolError, 4)];
    let found =
        synthesize(&["tool_mastery"], &[vec![poor("a", &known), poor("b", &[]), poor("c", &[])]]);
    let [issue] = found.issues.as_slice() else { panic!("{:?}", found.issues) };
    assert_eq!((issue.title.as_str(), issue.also.len()), ("Calls of find_order fail", 1));
    assert_eq!((issue.example.session.as_str(), issue.example.turn), ("a", Some(4)));
    let turns: Vec<Option<u32>> =
        found.poor.iter().map(|outlier| outlier.reason.as_ref().unwrap().turn).collect();
    assert_eq!(turns, [Some(2), None, None], "which of two turns shows it is not said");
}

#[test]
fn the_explanation_of_a_probability_is_no_issue() {
    let task = "task_completion";
    let why = "2 tool calls failed. P(success) 20%, fitted to 40 labels of this project; against it: \
               the user was annoyed once, the last test run failed.";
    let week = vec![session("a", 0.5, &[(task, 0.4, why)]), session("b", 0.5, &[(task, 0.4, why)])];
    let found = synthesize(&[task], &[week]);
    let titles: Vec<&str> = found.issues.iter().map(|issue| issue.title.as_str()).collect();
    assert_eq!(titles, ["Tool calls fail"]);
}

fn any_session() -> impl Strategy<Value = SessionMarks> {
    let phrase = prop::sample::select(vec![
        "Tests failed twice.",
        "The tests were failing.",
        "Read the same file again and again.",
        "Read one file repeatedly; gave up.",
        "No plan was made.",
        "",
    ]);
    ("[a-f]{1,3}", 0.0..=1.0_f64, 0.0..=1.0_f64, phrase).prop_map(|(id, overall, mark, phrase)| {
        session(&id, overall, &[("tool_mastery", mark, phrase)])
    })
}

proptest! {
    #[test]
    fn order_makes_no_difference(
        (week, mixed) in prop::collection::vec(any_session(), 0..12)
            .prop_flat_map(|week| (Just(week.clone()), Just(week).prop_shuffle())),
    ) {
        let dimensions = ["tool_mastery"];
        let found = synthesize(&dimensions, std::slice::from_ref(&week));
        prop_assert_eq!(&found, &synthesize(&dimensions, &[mixed]));
        prop_assert_eq!(found.sessions, week.len());
        if let Some(marks) = found.overall.marks {
            prop_assert!(marks.min <= marks.mean + 1e-9 && marks.mean <= marks.max + 1e-9);
        }
        for issue in &found.issues {
            prop_assert!(issue.sessions.len() >= 2 && issue.count >= issue.sessions.len());
        }
    }

    #[test]
    fn what_is_kept_as_json_is_read_back(week in prop::collection::vec(any_session(), 0..6)) {
        let found = synthesize(&["tool_mastery"], &[week.clone(), week]);
        let json = serde_json::to_string(&found).unwrap();
        let read: Synthesis = serde_json::from_str(&json).unwrap();
        // The last bit of a number may differ after a JSON round trip.
        prop_assert_eq!(format!("{read:.9?}"), format!("{found:.9?}"));
    }
}

/// Of too many rationales those of the lowest sessions are compared, and the report says so.
#[test]
fn too_many_rationales_are_cut_at_the_best_sessions() {
    let words = "abcdefghijklmnopqrstuvwxyz".as_bytes();
    let word = |at: usize| -> String {
        [at / 676 % 26, at / 26 % 26, at % 26]
            .map(|place| char::from(words[place]))
            .iter()
            .collect()
    };
    let why = |at: usize| {
        let sentence =
            |of: usize| format!("The {}q lookup {}x failed", word(at * 8 + of), word(of));
        (0..8).map(sentence).collect::<Vec<_>>().join(". ")
    };
    let sessions: Vec<SessionMarks> = (0..520)
        .map(|at| {
            let value = 0.1 + f64::from(u32::try_from(at).unwrap()) / 1_000.0;
            session(&format!("s{at:03}"), value, &[("a", value, &why(at))])
        })
        .collect();
    let found = synthesize(&["a"], &[sessions]);
    assert_eq!(found.issues_of, Some([500, 520]), "8 phrases of a session, 4000 at the most");
    let few = synthesize(&["a"], &[vec![session("s", 0.2, &[("a", 0.2, &why(1))])]]);
    assert_eq!(few.issues_of, None);
}

/// The share of an agent is that of one environment: it may fail in production only.
#[test]
fn an_issue_is_shared_by_agents_in_environments() {
    let of = |id: &str, environment: &str, value: f64| {
        let why = "The tool call failed again.";
        let mut one = session(id, value, &[("a", value, why)]);
        one.facts.agent = Some("bot".to_owned());
        one.facts.environment = Environment::normalise(environment);
        one
    };
    let week = vec![
        of("p1", "prod", 0.2),
        of("p2", "prod", 0.3),
        of("s1", "staging", 0.9),
        of("s2", "staging", 0.9),
    ];
    let found = synthesize(&["a"], &[week]);
    let [issue] = found.issues.as_slice() else { panic!("{:?}", found.issues) };
    let [share] = issue.agents.as_slice() else { panic!("{:?}", issue.agents) };
    assert_eq!((share.environment.as_str(), share.sessions, share.of), ("prod", 2, 2));
}
