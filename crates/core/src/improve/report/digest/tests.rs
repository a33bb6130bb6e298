use proptest::prelude::*;

use super::*;
use crate::improve::affected::AffectedUsers;
use crate::improve::diagnosis::Component;
use crate::improve::events::{EventKind, WeekEvent};
use crate::improve::proposal::{Effort, Impact, Trend};
use crate::time::Timestamp;

fn proposal(text: &str) -> Proposal {
    Proposal {
        id: "p1".to_owned(),
        component: Component::Prompt,
        agent: text.to_owned(),
        title: text.to_owned(),
        reason: text.to_owned(),
        change: text.to_owned(),
        instruction: None,
        prompt: None,
        diff: Some(text.to_owned()),
        evidence: vec![text.to_owned(); 20],
        failures: 12,
        affected: AffectedUsers::default(),
        impact: Impact { value: 0.025, interval: [0.0, 0.04], at_most: true },
        effort: Effort::Low,
        priority: 0.025,
        trend: Trend::New,
        files: vec![text.to_owned()],
        written_by: None,
        features: Vec::new(),
    }
}

fn document(text: &str, count: usize) -> FeedbackReport {
    let event = WeekEvent::new(Timestamp::from_nanos(0), EventKind::Commit, Some(text), text);
    let open = OpenReview {
        week: "2026-11-08".to_owned(),
        agent: Some(text.to_owned()),
        reviewed: 5,
        drawn: 50,
    };
    FeedbackReport {
        week: "2026-11-01".to_owned(),
        agents: vec![text.to_owned()],
        proposals: vec![proposal(text); count],
        events: vec![event; count],
        open: vec![open; count],
        ..FeedbackReport::default()
    }
}

#[test]
fn a_digest_says_what_the_document_says() {
    let digest = ReportDigest::new(&document("support-bot", 9), Some("https://r.test/w".into()));
    assert_eq!(digest.title(), "Weekly improvement report 2026-11-01: support-bot");
    assert_eq!(digest.headline(), "9 proposals, first: support-bot.");
    assert_eq!((digest.proposals.len(), digest.more), (8, 1));
    let text = digest.to_text();
    for part in [
        "1. support-bot (Prompt, priority high)",
        "Cluster: 12 failures this week, new",
        "Impact: at most +2.5% of traffic (95% CI 0.0% to 4.0%)",
        "1 more proposals are in the document.",
        "support-bot: 45 of 50 traces of the week of 2026-11-08 wait for review",
        "https://r.test/w",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(ReportDigest::default().headline(), "No pattern of failures needs a change.");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_traces_say_a_digest_is_small_and_has_no_control_characters(
        text in "\\PC{0,40}|[\u{0}-\u{1f}x]{0,20}", times in 1_usize..500, count in 0_usize..20,
    ) {
        let digest = ReportDigest::new(&document(&text.repeat(times), count), None);
        let json = serde_json::to_string(&digest).unwrap();
        prop_assert!(json.len() < 80_000, "{}", json.len());
        prop_assert_eq!(serde_json::from_str::<ReportDigest>(&json).unwrap(), digest.clone());
        let is_control = |c: char| c.is_control() && c != '\n';
        prop_assert!(!digest.to_text().contains(is_control));
        prop_assert!(!digest.title().contains('\n'));
    }
}
