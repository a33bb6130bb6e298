use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::calendar::Week;
use ratchet_core::id::SessionId;
use ratchet_core::judge::offline::Signal;
use ratchet_core::judge::rubric::{MARKS, Rubric};
use ratchet_core::payload::Json;
use ratchet_core::quality::synthesis::{JudgeVersion, Mark, OVERALL, RecordedFacts, SessionMarks};
use ratchet_core::record::score::{Score, ScoreSource};
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::client::{Position, ScoreFilter, TimeWindow};
use serde::de::DeserializeOwned;

use super::looked_at;
use crate::score::attach::session_of;
use crate::score::write_scores::{AGENT, EVIDENCE, SIGNALS};
use crate::source::{Source, SourceResult};

/// A score that a judge gave a session.
struct SessionScore {
    generation: u64,
    week: usize,
    value: f64,
    rationale: String,
    evidence: Vec<u32>,
    signals: BTreeMap<Signal, Vec<u32>>,
    judge: JudgeVersion,
    agent: Option<String>,
    at: Timestamp,
}

/// The scores of some weeks.
pub(super) struct ScoredWeeks {
    /// The marks of each week's sessions, oldest week first.
    pub(super) marks: Vec<Vec<SessionMarks>>,
    /// Sessions with scores of the last week by other rubrics.
    pub(super) by_other_rubrics: BTreeSet<SessionId>,
}

/// Reads the marks of each week's sessions: those of a week and of the weeks before.
pub(super) async fn read(
    source: &Source,
    week: &Week,
    rubric: &Rubric,
) -> SourceResult<ScoredWeeks> {
    let weeks = looked_at(week);
    let from = weeks.first().map(Week::start);
    let between = TimeWindow { from, to: Some(week.end()) };
    let asked = ScoreFilter { between, ..ScoreFilter::default() };
    let (judged, by_other_rubrics) = (BTreeMap::new(), BTreeSet::new());
    let mut book = Book { rubric, weeks: &weeks, judged, by_other_rubrics };
    let mut next = Some(Position::Start);
    while let Some(at) = next {
        let slice = source.scores(&asked, &at).await?;
        slice.rows.into_iter().for_each(|score| book.enter(score));
        next = slice.next;
    }
    let by_other_rubrics = std::mem::take(&mut book.by_other_rubrics);
    Ok(ScoredWeeks { marks: book.close(), by_other_rubrics })
}

/// Scores by session and name, as they come in.
struct Book<'a> {
    rubric: &'a Rubric,
    weeks: &'a [Week],
    judged: BTreeMap<SessionId, BTreeMap<String, Vec<SessionScore>>>,
    by_other_rubrics: BTreeSet<SessionId>,
}

impl Book<'_> {
    fn enter(&mut self, score: Score) {
        let Some(session) = session_of(&score) else { return };
        if score.source == ScoreSource::Annotation {
            return;
        }
        // A score of another rubric may go by the same name.
        let rubric = text(&score, "rubric");
        if rubric.is_some_and(|rubric| rubric != self.rubric.name) {
            let is_of_week = |week: &Week| score.timestamp >= week.start();
            if self.weeks.last().is_some_and(is_of_week) {
                self.by_other_rubrics.insert(session);
            }
            return;
        }
        let is_known = score.name == OVERALL || self.rubric.dimension(&score.name).is_some();
        let Some(value) = self.value(&score).filter(|value| is_known && MARKS.contains(value))
        else {
            return;
        };
        let is_in = |week: &Week| (week.start()..week.end()).contains(&score.timestamp);
        let Some(week) = self.weeks.iter().position(is_in) else { return };
        let generation = text(&score, "generation").and_then(|text| text.parse().ok());
        let given = SessionScore {
            generation: generation.unwrap_or_default(),
            week,
            value,
            judge: JudgeVersion::of(&score),
            evidence: list(&score, EVIDENCE),
            signals: list(&score, SIGNALS),
            agent: text(&score, AGENT).map(str::to_owned),
            at: score.timestamp,
            rationale: score.comment.unwrap_or_default(),
        };
        let marks = self.judged.entry(session).or_default();
        marks.entry(score.name).or_default().push(given);
    }

    fn value(&self, score: &Score) -> Option<f64> {
        let by_label = || {
            let scale = &self.rubric.dimension(&score.name)?.scale;
            Some(scale.grade(score.value.text()?)?.value)
        };
        score.value.number().or_else(by_label)
    }

    fn close(self) -> Vec<Vec<SessionMarks>> {
        let mut weeks = vec![Vec::new(); self.weeks.len()];
        for (session, marks) in self.judged {
            if let Some((week, marks)) = newest(self.rubric, session, marks)
                && let Some(sessions) = weeks.get_mut(week)
            {
                sessions.push(marks);
            }
        }
        weeks
    }
}

/// The marks of the newest verdict, and the week it speaks of.
fn newest(
    rubric: &Rubric,
    session: SessionId,
    marks: BTreeMap<String, Vec<SessionScore>>,
) -> Option<(usize, SessionMarks)> {
    let newest = marks.values().flatten().map(|given| given.generation).max()?;
    let mut of_newest: BTreeMap<String, SessionScore> = BTreeMap::new();
    for (name, given) in marks {
        let last = given.into_iter().rfind(|given| given.generation == newest);
        of_newest.extend(last.map(|last| (name, last)));
    }
    let week = of_newest.values().map(|given| given.week).max()?;
    let weighed = rubric
        .dimensions
        .iter()
        .filter_map(|dimension| Some((dimension.weight, of_newest.get(&dimension.name)?.value)));
    let (weight, sum) =
        weighed.fold((0.0, 0.0), |(weight, sum), (w, value)| (weight + w, sum + w * value));
    let reckoned = (weight > 0.0).then(|| sum / weight);
    let any = of_newest.values().next()?;
    let judge = any.judge.clone();
    let facts =
        RecordedFacts { agent: any.agent.clone(), last_at: any.at, ..RecordedFacts::default() };
    let overall = of_newest.remove(OVERALL).map(|given| given.value).or(reckoned)?;
    let marks = of_newest.into_iter().map(
        |(name, SessionScore { value, rationale, evidence, signals, .. })| {
            (name, Mark { value, rationale, evidence, signals })
        },
    );
    Some((week, SessionMarks { session, overall, marks: marks.collect(), judge, facts }))
}

/// Numbers of traces in the metadata of a score.
fn list<T: DeserializeOwned + Default>(score: &Score, key: &str) -> T {
    let found = score.metadata.iter().find(|(name, _)| name == key);
    let read = |(_, value): &(String, Json)| serde_json::from_str(value.as_str()).ok();
    found.and_then(read).unwrap_or_default()
}

/// A metadata value of a score. Some servers store numbers as strings.
fn text<'a>(score: &'a Score, key: &str) -> Option<&'a str> {
    let (_, value) = score.metadata.iter().find(|(name, _)| name == key)?;
    Some(value.as_str().trim_matches('"'))
}
