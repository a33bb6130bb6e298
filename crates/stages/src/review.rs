//! People say what they think of sessions, and a judge is held against them.

/// Agents become records of the catalog.
pub mod agents;
/// Answers of reviewers about queue items.
pub mod answer;
/// Corrections of single outputs, outside queues.
pub mod correction;
/// Answers by the score configs of a queue.
pub mod config_answer;
pub mod own_scores;
/// Human labels, stored as a dataset.
pub mod labels;
/// Sampling of sessions for labelling.
pub mod sampling;
/// Agents by name and alias.
mod known_agents;
/// Patterns of failures that are new in a week.
mod failure_patterns;
/// What people with the role reviewer see.
pub mod reviewer_scope;
/// Where weekly reviews work.
pub mod review_site;
/// Alerts about the weekly review.
pub mod alerts;
/// Proposals for the split of the next samples, and their acceptance.
pub mod rebalancing;
pub mod session_answer;
pub mod session_queue;
/// The weekly draw of traces for review.
pub mod weekly_draw;
/// Weekly metrics from draws and answers.
pub mod weekly_metrics;
pub mod judge_scores;
#[cfg(test)]
mod simulation;
/// What judges say of the same sessions week by week.
pub mod panel;
pub mod trial;
/// P(success), fitted to labels.
pub mod success;
/// Overrides of the offline judge's signals, drafted from labels.
pub mod signal_overrides;

use std::collections::BTreeMap;

use ratchet_agent::budget::Budget;
use ratchet_agent::error::ModelError;
use ratchet_agent::model::Model;
use ratchet_agent::request::{CacheablePart, LlmRequest};
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric::Rubric;
use ratchet_core::quality::calibration::draft::{self, CriterionDraft, Disagreement};
use ratchet_core::quality::calibration::{
    self, Agreement, Calibration, LabelledSession, Statistic, THRESHOLD,
};
use ratchet_core::quality::label::{DATASET, Label, LabelOrigin};
use ratchet_core::quality::synthesis::JudgeVersion;
use ratchet_core::stats::agreement::RatingPair;

use crate::score::ScoreError;
use crate::sink::{Sink, SinkError};
use crate::source::{Source, SourceError};
use judge_scores::JudgeScore;

/// Why a judge could not be held against people.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// Labels could not be read or saved.
    #[error("cannot reach the labels: {0}")]
    Labels(#[from] SinkError),
    /// Scores could not be read.
    #[error("cannot read scores: {0}")]
    Scores(#[from] SourceError),
    /// A model call failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Sessions could not be judged.
    #[error(transparent)]
    Judging(#[from] ScoreError),
    /// A model wrote what is no criterion.
    #[error("{0}")]
    NoCriterion(String),
}

/// Criteria as a model wrote them.
#[derive(Clone, Debug, Default)]
pub struct RewrittenDrafts {
    pub drafts: Vec<CriterionDraft>,
    /// Whether the model was not asked for all because that could have exceeded the budget.
    pub is_over_budget: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct JudgeSelection<'a> {
    /// The dataset that people's labels are in.
    pub dataset: &'a str,
    /// The rubric that both go by.
    pub rubric: &'a Rubric,
    /// The judge, by its name or with its versions in words; `None` for the one with most labels.
    pub judge: Option<&'a str>,
}

/// Reads how closely the judge follows people on whole sessions, by the labels of the project.
///
/// # Errors
/// Fails if labels or scores cannot be read.
pub async fn correlation(
    source: &Source,
    sink: &Sink,
    rubric: &Rubric,
) -> Result<Statistic, ReviewError> {
    let whom = JudgeSelection { dataset: DATASET, rubric, judge: None };
    let held = LabelComparison::read(source, sink, whom).await?;
    Ok(held.calibration(rubric, THRESHOLD).correlation())
}

/// The version of a judge with most sessions; among equals the first.
fn most_common(spoken: &BTreeMap<SessionId, JudgeScore>) -> Option<JudgeVersion> {
    let mut counts: BTreeMap<&JudgeVersion, usize> = BTreeMap::new();
    for score in spoken.values() {
        *counts.entry(&score.by).or_default() += 1;
    }
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map(|(judge, _)| judge.clone())
}

/// Human labels and judge scores of the labelled sessions.
#[derive(Clone, Debug, Default)]
pub struct LabelComparison {
    pub labels: Vec<Label>,
    /// The judge that is compared: of those chosen, the version with most labels. Figures never mix
    /// judges.
    pub judge: Option<JudgeVersion>,
    /// The judge's first scores of each session.
    pub spoken: BTreeMap<SessionId, JudgeScore>,
    /// The judges that scored other labelled sessions first, and how many; most first.
    pub others: Vec<(JudgeVersion, u64)>,
    /// All sessions that were drawn for labelling.
    pub drawn: Vec<LabelOrigin>,
}

impl LabelComparison {
    /// Reads labels and scores.
    ///
    /// # Errors
    /// Fails if labels or scores cannot be read.
    pub async fn read(
        source: &Source,
        sink: &Sink,
        whom: JudgeSelection<'_>,
    ) -> Result<Self, ReviewError> {
        let labels = labels::all((source, sink), (whom.dataset, whom.rubric)).await?;
        let mut spoken: BTreeMap<SessionId, JudgeScore> = BTreeMap::new();
        let mut others: BTreeMap<JudgeVersion, u64> = BTreeMap::new();
        for label in &labels {
            if spoken.contains_key(&label.session) {
                continue;
            }
            let verdicts = judge_scores::verdicts(source, &label.session, whom.rubric).await?;
            let is_chosen = |it: &&JudgeScore| whom.judge.is_none_or(|name| it.is_by(name));
            match verdicts.iter().find(is_chosen).or(verdicts.first()).cloned() {
                Some(first) if is_chosen(&&first) => {
                    spoken.insert(label.session.clone(), first);
                }
                Some(first) => *others.entry(first.by).or_default() += 1,
                None => {}
            }
        }
        let judge = most_common(&spoken);
        spoken.retain(|_, score| {
            let is_it = Some(&score.by) == judge.as_ref();
            if !is_it {
                *others.entry(score.by.clone()).or_default() += 1;
            }
            is_it
        });
        let mut others: Vec<(JudgeVersion, u64)> = others.into_iter().collect();
        others.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let drawn = labels::asked(sink, whom.dataset).await?;
        let drawn = drawn.into_iter().map(|(_, draw)| draw).collect();
        Ok(Self { labels, judge, spoken, others, drawn })
    }

    /// Labels and scores of the rubric's dimensions.
    pub fn labelled_sessions(&self, rubric: &Rubric) -> Vec<LabelledSession> {
        self.labelled_sessions_with(rubric, |session| {
            self.spoken.get(session).map(|spoken| &spoken.marks)
        })
    }

    /// Human labels with the scores of a judge.
    pub fn labelled_sessions_with<'a>(
        &self,
        rubric: &Rubric,
        judge: impl Fn(&SessionId) -> Option<&'a calibration::Marks>,
    ) -> Vec<LabelledSession> {
        let mut people: BTreeMap<&SessionId, Vec<&Label>> = BTreeMap::new();
        for label in &self.labels {
            people.entry(&label.session).or_default().push(label);
        }
        let both = people.into_iter().filter_map(|(session, labels)| {
            let judge = judge(session)?.clone();
            let drawn = labels.iter().find_map(|label| label.drawn.clone());
            let people = labels.iter().map(|label| label.marks(rubric)).collect();
            Some(LabelledSession { session: session.clone(), judge, people, drawn })
        });
        both.collect()
    }

    /// How far the judge is to be trusted.
    pub fn calibration(&self, rubric: &Rubric, threshold: f64) -> Calibration {
        let labelled = self.labelled_sessions(rubric);
        calibration::report_of_sample(rubric, &labelled, &self.drawn, threshold)
    }

    /// How many sessions people labelled.
    pub fn labelled(&self) -> usize {
        self.sessions().len()
    }

    /// The people who labelled, by name.
    pub fn people(&self) -> Vec<&str> {
        let mut people: Vec<&str> = self.labels.iter().map(|label| label.by.as_str()).collect();
        people.sort_unstable();
        people.dedup();
        people
    }

    /// The judges whose first scores were read, and of how many sessions; the compared one first.
    pub fn judges(&self) -> Vec<(JudgeVersion, u64)> {
        let compared = self.judge.clone().map(|judge| (judge, self.spoken.len() as u64));
        compared.into_iter().chain(self.others.iter().cloned()).collect()
    }

    /// The sessions that people labelled, sorted.
    pub fn sessions(&self) -> Vec<SessionId> {
        let mut sessions: Vec<_> = self.labels.iter().map(|label| label.session.clone()).collect();
        sessions.sort();
        sessions.dedup();
        sessions
    }

    /// Drafts of criteria that address the differences between judge and people: one for each
    /// dimension beyond the threshold.
    pub fn drafts(&self, rubric: &Rubric, calibration: &Calibration) -> Vec<CriterionDraft> {
        let beyond = calibration.dimensions.iter();
        let beyond = beyond.filter(|agreement| agreement.exceeds(calibration.threshold));
        let draft = |agreement: &Agreement| {
            let dimension = rubric.dimension(&agreement.dimension)?;
            let examples = self.disagreements(agreement, calibration.threshold);
            Some(draft::criterion(dimension, agreement, &examples))
        };
        beyond.filter_map(draft).collect()
    }

    /// The same criteria, written by a model that is shown the disagreements; those that the budget
    /// does not allow are the template's.
    ///
    /// # Errors
    /// Fails if the model call fails, or if its response is no valid criterion.
    pub async fn rewritten(
        &self,
        model: &Model,
        budget: &Budget,
        (rubric, calibration): (&Rubric, &Calibration),
    ) -> Result<RewrittenDrafts, ReviewError> {
        let mut rewritten = RewrittenDrafts::default();
        for agreement in &calibration.dimensions {
            let beyond = agreement.exceeds(calibration.threshold);
            let Some(dimension) = rubric.dimension(&agreement.dimension).filter(|_| beyond) else {
                continue;
            };
            let examples = self.disagreements(agreement, calibration.threshold);
            let ask = LlmRequest {
                system: vec![CacheablePart::new(draft::REWRITING)],
                ..LlmRequest::new(draft::question(dimension, agreement, &examples))
            };
            let draft = match model.complete(&ask, budget).await {
                Ok(answer) => {
                    draft::rewritten(dimension, &answer.text).map_err(ReviewError::NoCriterion)?
                }
                Err(ModelError::OverBudget(_)) => {
                    rewritten.is_over_budget = true;
                    draft::criterion(dimension, agreement, &examples)
                }
                Err(error) => return Err(error.into()),
            };
            rewritten.drafts.push(draft);
        }
        Ok(rewritten)
    }

    /// The sessions of which both think differently, in their own words.
    pub fn disagreements(&self, agreement: &Agreement, threshold: f64) -> Vec<Disagreement> {
        let disagreement = |(session, marks): (&SessionId, RatingPair)| Disagreement {
            marks,
            judge: self
                .spoken
                .get(session)
                .and_then(|spoken| spoken.reasons.get(&agreement.dimension).cloned()),
            human: self.why(session),
        };
        agreement.beyond(threshold).into_iter().map(disagreement).collect()
    }

    /// Why people say so, all of them together.
    pub fn why(&self, session: &SessionId) -> Option<String> {
        let of_session = self.labels.iter().filter(|label| label.session == *session);
        let why: Vec<&str> = of_session.filter_map(|label| label.why.as_deref()).collect();
        (!why.is_empty()).then(|| why.join("; "))
    }
}
