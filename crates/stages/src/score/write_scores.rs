use std::collections::BTreeMap;

use ratchet_core::id::ScoreId;
use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::offline::{self, success::OUTCOME};
use ratchet_core::judge::rubric::{OVERALL, Rubric, Scale};
use ratchet_core::judge::verdict::{ChunkMarks, Finding, Judgement};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::record::score::config::{Category, ConfigValues, ScoreConfig};
use ratchet_core::record::score::{Score, ScoreSource, ScoreTarget, ScoreValue};
use ratchet_core::time::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::attach::{Attach, SESSION};
use super::previous_scores::{
    FINGERPRINT, GENERATION, JUDGE, PreviousScores, RUBRIC, SCORED_AT, SUPERSEDED_BY, TRACES,
};
use super::{ScoreError, Scored};
use crate::sink::{Sink, SinkResult};

/// The metadata key of what a judge goes by beside the rubric.
pub const JUDGE_VERSION: &str = "judge_version";

/// The metadata key of the agent: a server's list of traces does not name it.
pub(crate) const AGENT: &str = "agent";
/// The metadata with the numbers of the traces that show a mark.
pub(crate) const EVIDENCE: &str = "evidence";
/// The metadata with the numbers of the traces that show each signal of a mark.
pub(crate) const SIGNALS: &str = "signals";

/// Score config ids of a rubric, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreConfigs(BTreeMap<String, String>);

impl ScoreConfigs {
    /// Finds the score configs of a rubric, and makes those that are missing.
    ///
    /// # Errors
    /// Fails if they cannot be read or written.
    pub async fn settle(sink: &Sink, rubric: &Rubric, now: Timestamp) -> SinkResult<Self> {
        let there = sink.score_configs().await?;
        let mut ids = BTreeMap::new();
        for (name, values) in shapes(rubric) {
            let is_it = |config: &&ScoreConfig| {
                config.name == name && config.values == values && !config.is_archived
            };
            let id = match there.iter().find(is_it) {
                Some(config) => config.id.clone(),
                None => {
                    let id = hash(&[&sink.location(), &name, &format!("{values:?}")]);
                    let config = ScoreConfig { id, name: name.clone(), values, is_archived: false };
                    sink.score_config(&config, now).await?
                }
            };
            ids.insert(name, id);
        }
        Ok(Self(ids))
    }

    /// Returns the id of the config of a dimension.
    pub fn id(&self, dimension: &str) -> Option<&str> {
        self.0.get(dimension).map(String::as_str)
    }
}

/// What the scores of a rubric look like, by name.
fn shapes(rubric: &Rubric) -> Vec<(String, ConfigValues)> {
    let numeric = || ConfigValues::Numeric { min: Some(0.0), max: Some(1.0) };
    let dimensions = rubric.dimensions.iter().map(|dimension| {
        let values = match &dimension.scale {
            Scale::Numeric => numeric(),
            Scale::Ordered(grades) => ConfigValues::Categorical(
                grades
                    .iter()
                    .map(|grade| Category { label: grade.label.clone(), value: grade.value })
                    .collect(),
            ),
        };
        (dimension.name.clone(), values)
    });
    dimensions.chain([(OVERALL.to_owned(), numeric())]).collect()
}

/// What all scores of a run say of themselves.
#[derive(Clone, Copy, Debug)]
pub struct ScoreSheet<'a> {
    pub rubric: &'a Rubric,
    pub judge: &'a str,
    pub configs: &'a ScoreConfigs,
    /// How likely any session was to be looked at, where that was left to chance.
    pub sampled: Option<f64>,
    pub attach: Attach,
    pub now: Timestamp,
}

impl ScoreSheet<'_> {
    /// The scores of a session: one for each dimension that was to be seen, and the overall one.
    ///
    /// They are dated when the session's last trace began: that is the time they speak of, and
    /// judging the same session again gives the same scores.
    pub fn scores(&self, scored: &Scored, evidence: &Evidence) -> Vec<Score> {
        let marks = scored.verdict().dimensions.iter().filter_map(|judgement| {
            let value = match &judgement.finding {
                Finding::Number(number) => ScoreValue::Numeric(*number),
                Finding::Grade(grade) => ScoreValue::Categorical {
                    label: grade.label.clone(),
                    number: Some(grade.value),
                },
                Finding::NotObservable => return None,
            };
            let about = self.about_mark(judgement, scored);
            Some(self.score((&judgement.dimension, value), &judgement.rationale, about, scored))
        });
        let overall = scored.overall.map(|overall| {
            let value = ScoreValue::Numeric(overall);
            self.score((OVERALL, value), &self.reason(scored), Vec::new(), scored)
        });
        let mut scores: Vec<Score> = marks.chain(overall).collect();
        let environment = evidence.traces.last().map(|last| last.trace.environment.clone());
        let agent = evidence.traces.first().and_then(|first| first.trace.agent.as_ref());
        let agent = agent.map(|agent| (AGENT.to_owned(), Json::from_value(&json!(agent))));
        let first = evidence.traces.first().map(|first| ScoreTarget::Trace(first.trace.id.clone()));
        for score in &mut scores {
            score.environment = environment.clone().unwrap_or_default();
            score.metadata.extend(agent.clone());
            score.metadata.sort();
            if self.attach == Attach::FirstTrace {
                score.target = first.clone().unwrap_or_else(|| score.target.clone());
            }
        }
        scores
    }

    fn score(
        &self,
        (name, value): (&str, ScoreValue),
        comment: &str,
        about: Vec<(&str, Value)>,
        scored: &Scored,
    ) -> Score {
        let generation = scored.generation;
        let session = scored.session.to_string();
        let generation = generation.to_string();
        let id = match self.attach {
            Attach::Session => hash(&[&session, &self.rubric.name, name, &generation]),
            Attach::FirstTrace => {
                hash(&[&session, &self.rubric.name, name, &generation, "first-trace"])
            }
        };
        let metadata = self.about(scored).into_iter().chain(about);
        let mut metadata: Vec<(String, Json)> =
            metadata.map(|(key, value)| (key.to_owned(), Json::from_value(&value))).collect();
        metadata.sort();
        Score {
            id: score_id(&id),
            target: ScoreTarget::Session(scored.session.clone()),
            name: name.to_owned(),
            value,
            source: ScoreSource::Eval,
            timestamp: scored.last_at,
            environment: Default::default(),
            comment: Some(comment.to_owned()),
            author: None,
            config: self.configs.0.get(name).cloned(),
            queue: None,
            metadata,
            created_at: self.now,
            updated_at: self.now,
        }
    }

    /// Metadata of every score of a session.
    fn about(&self, scored: &Scored) -> Vec<(&'static str, Value)> {
        let mut about = vec![
            (RUBRIC, json!(self.rubric.name)),
            ("rubric_version", json!(self.rubric.version)),
            (FINGERPRINT, json!(self.rubric.fingerprint())),
            (JUDGE, json!(self.judge)),
            ("cost", json!(scored.judged.cost.total.dollars())),
            ("chunks", json!(scored.chunks())),
            (TRACES, json!(scored.traces)),
            (GENERATION, json!(scored.generation)),
            (SCORED_AT, json!(self.now.to_string())),
        ];
        // An ingestion API drops nulls: what is unknown is left out here too.
        about.push((JUDGE_VERSION, json!(scored.judged.version)));
        about.extend(scored.judged.prompt_hash.iter().map(|hash| ("prompt_hash", json!(hash))));
        let approximate = scored.judged.cost.approximate;
        if approximate > Money::ZERO {
            about.push(("approximate_cost", json!(approximate.dollars())));
        }
        if self.attach == Attach::FirstTrace {
            about.push((SESSION, json!(scored.session.to_string())));
        }
        about.extend(self.sampled.map(|rate| ("inclusion_probability", json!(rate))));
        about
    }

    fn about_mark(&self, judgement: &Judgement, scored: &Scored) -> Vec<(&'static str, Value)> {
        let mut about = vec![
            ("confidence", json!(judgement.confidence)),
            (EVIDENCE, json!(judgement.evidence)),
        ];
        if !judgement.signals.is_empty() {
            about.push((SIGNALS, json!(judgement.signals)));
        }
        about.extend(judgement.finding.value().map(|value| ("value", json!(value))));
        if let Some(success) = &scored.judged.success
            && judgement.dimension == OUTCOME
        {
            about.push(("p_success", json!(success.probability)));
            about.push(("labels", json!(success.labels)));
        }
        about.extend(
            scored.marks(&judgement.dimension).map(ChunkMarks::entries).into_iter().flatten(),
        );
        about
    }

    /// How the overall mark came about, in words.
    fn reason(&self, scored: &Scored) -> String {
        let parts = self.rubric.dimensions.iter().filter_map(|dimension| {
            let value = scored.verdict().judgement(&dimension.name)?.finding.value()?;
            Some(format!("{} {value:.2} × {:.2}", dimension.name, dimension.weight))
        });
        let parts: Vec<String> = parts.collect();
        let unseen = self.rubric.dimensions.len() - parts.len();
        let note =
            if unseen == 0 { "" } else { "; the weight of what was not to be seen is shared" };
        // Only labels can tell how often a session of this mark is good.
        let level = match &scored.judged.success {
            Some(success) => {
                format!(
                    "; P(success) {:.0}% by {} labels",
                    success.probability * 100.0,
                    success.labels
                )
            }
            None if self.judge == offline::NAME => "; uncalibrated".to_owned(),
            None => String::new(),
        };
        format!("{}{note}{level}", parts.join(" + "))
    }
}

/// Marks the scores of earlier verdicts as superseded. They remain.
pub(super) async fn supersede(
    sink: &Sink,
    known: &PreviousScores,
    newest: u32,
    now: Timestamp,
) -> Result<(), ScoreError> {
    let marked: Vec<Score> = known
        .outdated(newest)
        .map(|score| {
            let mut score = score.clone();
            let by = Json::from_value(&json!(newest));
            score.metadata.push((SUPERSEDED_BY.to_owned(), by));
            score.metadata.sort();
            score.updated_at = now;
            score
        })
        .collect();
    if marked.is_empty() {
        return Ok(());
    }
    Ok(sink.scores(&marked, now).await?)
}

/// Makes up for a run that ended between writing its scores and marking the earlier ones.
pub(super) async fn mark_superseded(
    sink: &Sink,
    known: &PreviousScores,
    now: Timestamp,
) -> Result<(), ScoreError> {
    match known.generation() {
        Some(newest) => supersede(sink, known, newest, now).await,
        None => Ok(()),
    }
}

/// A short name for some texts; other texts have another one.
pub(super) fn hash(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[expect(clippy::expect_used, reason = "a hash is 32 hexadecimal digits, which is an id")]
fn score_id(hash: &str) -> ScoreId {
    ScoreId::parse(hash).expect("a hash is an id")
}
