//! What the generator promises: the same data for the same seed, variety, and the planted story.

use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::Zone;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric;
use ratchet_core::quality::label::LabelOrigin;
use ratchet_core::review::session_sample::Band;
use ratchet_core::time::Timestamp;

use super::agents::{ANALYST, CODING, Environment, SUPPORT};
use super::ledger::Ledger;
use super::remarks::{self, Occasion, remark};
use super::review;
use super::story::{Course, Message, Run, Step, Work};
use super::timeline::{DAY, Timeline};
use super::traffic::{self, Traffic};
use super::wire;

/// Sentences of more words than this are not often said twice.
const FEW_WORDS: usize = 5;
/// More answers than the reviewers of a demo remark on.
const ANSWERS: usize = 120;
/// How often at most, in two weeks and a bit.
const MOST: usize = 12;

fn timeline() -> Timeline {
    let end = Timestamp::parse("2026-11-17T04:30:00Z").unwrap();
    Timeline::new(end, &Zone::parse("UTC").unwrap())
}

fn traffic(seed: u64) -> Traffic {
    traffic::generate(seed, &timeline())
}

fn bytes(seed: u64) -> (Vec<wire::Export>, Vec<String>, String) {
    let traffic = traffic(seed);
    let thumbs = traffic.thumbs.iter().map(|thumb| wire::score(thumb).to_string()).collect();
    let ledger = Ledger::new(seed, &timeline(), &traffic);
    (wire::exports(traffic.all_runs()), thumbs, serde_json::to_string(&ledger).unwrap())
}

fn conversations(traffic: &Traffic) -> BTreeMap<&str, Vec<(&str, &str)>> {
    let mut sessions: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for run in traffic.runs.iter().filter(|run| run.asked_by.is_none()) {
        let Work::Agent { input, output, .. } = &run.root.work else { panic!("{run:?}") };
        sessions.entry(&run.session).or_default().push((input, output));
    }
    sessions
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    assert_eq!(bytes(1), bytes(1));
}

#[test]
fn another_seed_gives_other_traffic() {
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn everything_happens_in_time_and_in_order() {
    let (traffic, timeline) = (traffic(3), timeline());
    for run in traffic.all_runs() {
        assert!(run.root.start.since(timeline.start()) > -DAY / 24, "{}", run.root.start);
        for step in run.root.all() {
            assert!(step.start <= step.end && step.end <= timeline.end, "{step:?}");
            for child in &step.children {
                assert!(step.start <= child.start && child.end <= step.end, "{:?}", child.work);
            }
        }
    }
    assert!(traffic.thumbs.iter().all(|thumb| thumb.at <= timeline.end));
    let newest = traffic.runs.iter().map(|run| run.root.start).max().unwrap();
    assert!(timeline.end.since(newest) < DAY / 24);
}

#[test]
fn ids_are_unique() {
    let traffic = traffic(4);
    let runs: Vec<&Run> = traffic.all_runs().collect();
    let traces: BTreeSet<_> = runs.iter().map(|run| run.id).collect();
    assert_eq!(traces.len(), runs.len());
    let all: Vec<_> = runs.iter().flat_map(|run| run.root.all()).map(|step| step.id).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

/// What users and agents say, each time they say it.
fn spoken(traffic: &Traffic) -> Vec<&str> {
    let mut texts = Vec::new();
    for step in traffic.runs.iter().flat_map(|run| run.root.all()) {
        match &step.work {
            Work::Agent { input, .. } => texts.push(input.as_str()),
            Work::Model(call) => {
                if let Message::Assistant { text, .. } = &call.reply {
                    texts.push(text);
                }
            }
            Work::Tool(_) | Work::Retrieval { .. } | Work::Embedding { .. } => {}
            Work::Guard { .. } => {}
        }
    }
    texts.extend(traffic.thumbs.iter().filter_map(|thumb| thumb.comment.as_deref()));
    texts
}

#[test]
fn no_sentence_is_said_again_and_again() {
    for seed in [1, 5] {
        let traffic = traffic(seed);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let texts = spoken(&traffic);
        let sentences = texts.iter().flat_map(|text| text.split(['.', '!', '?', '\n']));
        for sentence in sentences.map(str::trim) {
            if sentence.split_whitespace().count() > FEW_WORDS {
                *counts.entry(sentence).or_default() += 1;
            }
        }
        let mut often: Vec<_> = counts.into_iter().filter(|(_, count)| *count > MOST).collect();
        often.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        assert!(often.is_empty(), "{often:#?}");
    }
}

/// What people say of sessions and answers: reviewers' comments, notes on judges, labels and runs.
fn remarked(seed: u64) -> Vec<String> {
    let traffic = traffic(seed);
    let ledger = Ledger::new(seed, &timeline(), &traffic);
    let rubric = rubric::shipped().next().unwrap();
    let origin = LabelOrigin {
        week: "2026-11-08".to_owned(),
        seed: String::new(),
        band: Band::Fair,
        agent: None,
        population: 1,
        taken: 1,
    };
    let ids = ledger.sessions.keys().map(|id| SessionId::parse(id).unwrap());
    let drawn: Vec<(SessionId, LabelOrigin)> = ids.map(|id| (id, origin.clone())).collect();
    let labels = review::labels(&ledger, rubric, &drawn, timeline().end);
    let mut texts: Vec<String> = labels.into_iter().filter_map(|label| label.why).collect();
    for run in traffic.runs.iter().take(ANSWERS) {
        let (id, slots) = (wire::hex(&run.id), [("agent", run.agent.name)]);
        let (why, right) = remarks::wrong(&id, &slots);
        let notes = [Occasion::JudgeTooKind, Occasion::JudgeTooStrict];
        texts.extend([why, right]);
        texts.extend(notes.map(|occasion| remark(occasion, &id, &slots)));
    }
    texts
}

#[test]
fn what_people_remark_differs() {
    for seed in [1, 5] {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let texts = remarked(seed);
        assert!(texts.len() > 4 * ANSWERS, "labels have remarks, too");
        for text in texts {
            assert!(!text.contains(['{', '[', '\n']) && !text.contains("  "), "{text}");
            *counts.entry(text).or_default() += 1;
        }
        let often: Vec<_> = counts.into_iter().filter(|(_, count)| *count > MOST).collect();
        assert!(often.is_empty(), "{often:#?}");
    }
}

#[test]
fn every_slot_and_choice_is_resolved() {
    let traffic = traffic(6);
    let is_left = |text: &str| {
        let slot = text.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase());
        slot.is_some_and(|(name, _)| is_name(name)) || text.contains("  ")
    };
    for text in spoken(&traffic) {
        assert!(!is_left(text), "{text}");
    }
}

#[test]
fn follow_up_questions_differ() {
    let traffic = traffic(7);
    for (session, turns) in conversations(&traffic) {
        let asked: BTreeSet<_> = turns.iter().map(|(ask, _)| ask).collect();
        let said: BTreeSet<_> = turns.iter().map(|(_, say)| say).collect();
        assert_eq!((asked.len(), said.len()), (turns.len(), turns.len()), "{session}: {turns:#?}");
    }
}

#[test]
fn another_agent_is_asked_in_the_same_session() {
    let traffic = traffic(7);
    let asked: Vec<_> = traffic.runs.iter().filter(|run| run.asked_by.is_some()).collect();
    assert!(asked.len() > 5, "{}", asked.len());
    for run in asked {
        let by = run.asked_by.unwrap();
        let caller = traffic.runs.iter().find(|run| run.id == by.trace).unwrap();
        assert_eq!(caller.session, run.session);
        assert!(caller.root.all().iter().any(|step| step.id == by.step));
    }
}

fn failures<'a>(run: &'a Run, tool: &str) -> Vec<&'a Step> {
    let fails = |step: &&Step| {
        step.has_failed() && matches!(&step.work, Work::Tool(call) if call.name == tool)
    };
    run.root.all().into_iter().filter(fails).collect()
}

#[test]
fn the_bad_release_breaks_one_tool_and_the_next_one_mends_it() {
    for seed in [1, 2, 3] {
        let traffic = traffic(seed);
        let of = |version: &str| -> Vec<&Run> {
            let is_it = |run: &&Run| {
                run.agent.name == SUPPORT.name
                    && run.release.version == version
                    && run.environment == Environment::Prod
            };
            traffic.runs.iter().filter(is_it).collect()
        };
        let failing = |runs: &[&Run]| {
            let failed = runs.iter().filter(|run| run.course == Course::Failing).count();
            failed as f64 / runs.len() as f64
        };
        let (before, bad, after) = (of("4.7.2"), of("4.8.0"), of("4.8.1"));
        assert!(bad.len() > 60 && before.len() > 200 && after.len() > 20, "{}", bad.len());
        assert!(failing(&bad) > 0.5, "{}", failing(&bad));
        assert!(failing(&before) < 0.15 && failing(&after) < 0.2, "{}", failing(&after));
        let failures = bad.iter().flat_map(|run| failures(run, "find_order"));
        let (wrong, other): (Vec<_>, Vec<_>) = failures.partition(|step| {
            let Work::Tool(call) = &step.work else { unreachable!() };
            call.arguments.get("order_no").is_some()
        });
        // A tool sometimes times out in every release.
        assert!(wrong.len() > 10 * other.len(), "{} and {other:?}", wrong.len());
    }
}

#[test]
fn one_agent_reads_far_more_than_its_peers() {
    let traffic = traffic(8);
    let mut read: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for run in &traffic.runs {
        let (tokens, runs) = read.entry(run.agent.name).or_default();
        *runs += 1;
        for step in run.root.all() {
            if let Work::Model(call) = &step.work {
                *tokens += call.tokens.input + call.tokens.written;
            }
        }
    }
    let per_run = |agent: &str| read[agent].0 / read[agent].1.max(1);
    for agent in read.keys().filter(|agent| **agent != ANALYST.name) {
        assert!(per_run(ANALYST.name) > 3 * per_run(agent), "{read:?}");
    }
    assert!(read.contains_key(CODING.name));
}
