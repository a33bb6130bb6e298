use std::collections::BTreeMap;

use super::config::ScoreConfig;
use super::rule::{FitScore, ScoreInvalid, SentScore, SentValue, judge};
use super::{DataType, Score, ScorePatch, ScoreSource, ScoreTarget, ScoreValue};
use crate::environment::Environment;
use crate::id::ScoreId;
use crate::record::field::{Field, Stamp, StampedValue, WriteKind};
use crate::record::merge::{Earliest, Metadata};
use crate::time::Timestamp;

/// A score before it is validated against its config. Every score is written from one.
#[derive(Clone, Debug)]
pub struct ScoreDraft {
    pub id: ScoreId,
    pub target: ScoreTarget,
    pub source: ScoreSource,
    /// Decides between this and other statements about the score.
    pub stamp: Stamp,
    /// When the score was given.
    pub timestamp: Timestamp,
    /// Left out where a config gives the name.
    pub name: Option<String>,
    pub value: Option<SentValue>,
    /// Left out where the config or the value implies it.
    pub data_type: Option<DataType>,
    pub config: Field<String>,
    pub environment: Field<Environment>,
    pub comment: Field<String>,
    pub author: Field<String>,
    pub queue: Field<String>,
    pub metadata: Metadata,
}

impl ScoreDraft {
    /// A draft without a name and a value, given at the time of its stamp.
    pub fn new(id: ScoreId, target: ScoreTarget, source: ScoreSource, stamp: Stamp) -> Self {
        Self {
            id,
            target,
            source,
            stamp,
            timestamp: stamp.at,
            name: None,
            value: None,
            data_type: None,
            config: Field::unset(),
            environment: Field::unset(),
            comment: Field::unset(),
            author: Field::unset(),
            queue: Field::unset(),
            metadata: Metadata::default(),
        }
    }

    /// The draft that writes a score again as it is, stamped with its last change. Fields that the
    /// score has not stay as they are.
    pub fn of(score: &Score) -> Self {
        let stamp = Stamp::stated(score.updated_at, WriteKind::Create);
        let metadata = score
            .metadata
            .iter()
            .map(|(key, value)| (key.clone(), StampedValue { stamp, value: Some(value.clone()) }));
        Self {
            timestamp: score.timestamp,
            name: Some(score.name.clone()),
            value: Some(sent(&score.value)),
            data_type: Some(score.value.data_type()),
            config: Field::if_some(score.config.clone(), stamp),
            environment: Field::new(score.environment.clone(), stamp),
            comment: Field::if_some(score.comment.clone(), stamp),
            author: Field::if_some(score.author.clone(), stamp),
            queue: Field::if_some(score.queue.clone(), stamp),
            metadata: Metadata::new(metadata),
            ..Self::new(score.id.clone(), score.target.clone(), score.source, stamp)
        }
    }

    /// Validates the draft against the config that it names, of those of its project.
    ///
    /// # Errors
    /// The first field that is invalid, and why.
    pub fn validate(
        self,
        configs: &BTreeMap<String, ScoreConfig>,
    ) -> Result<ScorePatch, ScoreInvalid> {
        let config = match self.config.value() {
            Some(id) => Some(configs.get(id).ok_or_else(unknown_config)?),
            None => None,
        };
        let FitScore { name, value } = judge(SentScore {
            name: self.name,
            value: self.value,
            data_type: self.data_type,
            source: self.source,
            target: &self.target,
            config,
        })?;
        Ok(ScorePatch {
            id: self.id,
            target: Field::new(self.target, self.stamp),
            name: Field::new(name, self.stamp),
            value: Field::new(value, self.stamp),
            source: Field::new(self.source, self.stamp),
            timestamp: Earliest(Some(self.timestamp)),
            environment: self.environment,
            comment: self.comment,
            author: self.author,
            config: self.config,
            queue: self.queue,
            metadata: self.metadata,
        })
    }
}

fn unknown_config() -> ScoreInvalid {
    ScoreInvalid::new("configId", "there is no such score config in this project")
}

fn sent(value: &ScoreValue) -> SentValue {
    match value {
        ScoreValue::Numeric(number) => SentValue::Number(*number),
        ScoreValue::Boolean(yes) => SentValue::Bool(*yes),
        ScoreValue::Categorical { label, .. } => SentValue::Text(label.clone()),
        ScoreValue::Text(text) | ScoreValue::Correction(text) => SentValue::Text(text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::ConfigValues;
    use super::*;
    use crate::id::TraceId;
    use crate::payload::Json;

    fn score() -> Score {
        Score {
            id: ScoreId::parse("s").unwrap(),
            target: ScoreTarget::Trace(TraceId::parse("t").unwrap()),
            name: "quality".to_owned(),
            value: ScoreValue::Numeric(0.5),
            source: ScoreSource::Eval,
            timestamp: Timestamp::from_nanos(1),
            environment: Environment::default(),
            comment: Some("because".to_owned()),
            author: None,
            config: Some("c".to_owned()),
            queue: None,
            metadata: vec![("cost".to_owned(), Json::from_value(&0.25.into()))],
            created_at: Timestamp::from_nanos(2),
            updated_at: Timestamp::from_nanos(3),
        }
    }

    fn configs(max: f64) -> BTreeMap<String, ScoreConfig> {
        let values = ConfigValues::Numeric { min: None, max: Some(max) };
        let (id, name) = ("c".to_owned(), "quality".to_owned());
        BTreeMap::from([(id.clone(), ScoreConfig { id, name, values, is_archived: false })])
    }

    #[test]
    fn a_score_is_written_again_as_it_is() {
        let score = score();
        let patch = ScoreDraft::of(&score).validate(&configs(1.0)).unwrap();
        assert_eq!(patch.value.value(), Some(&score.value));
        assert_eq!(patch.comment.value(), score.comment.as_ref());
        assert_eq!(patch.metadata.get("cost"), Some(&score.metadata[0].1));
        assert_eq!(patch.timestamp, Earliest(Some(score.timestamp)));
        assert_eq!(patch.value.stamp().map(|stamp| stamp.at), Some(score.updated_at));
        assert_eq!(patch.author, Field::unset(), "what it has not is not cleared");
    }

    #[test]
    fn a_score_that_does_not_fit_its_config_is_refused() {
        let refused = ScoreDraft::of(&score()).validate(&configs(0.1)).unwrap_err();
        assert_eq!(refused.field, "value");
        let refused = ScoreDraft::of(&score()).validate(&BTreeMap::new()).unwrap_err();
        assert_eq!(refused.field, "configId");
    }
}
