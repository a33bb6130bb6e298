use serde::{Deserialize, Serialize};

use crate::judge::offline;
use crate::payload::Json;
use crate::record::score::Score;

/// The metadata of a score: which generation took its place.
pub const SUPERSEDED_BY: &str = "superseded_by";

/// Returns whether the metadata of a score says that a newer verdict took its place.
pub fn is_superseded(metadata: &[(String, Json)]) -> bool {
    metadata.iter().any(|(key, _)| key == SUPERSEDED_BY)
}

/// Who judged, by which rubric and instructions. Scores of different ones are never compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JudgeVersion {
    /// Name of the judge; empty where a score does not say.
    pub judge: String,
    pub rubric_version: Option<u64>,
    /// Hash of all rubric text that a judge sees.
    pub fingerprint: Option<String>,
    /// Hash of the judge's instructions, or of its signals and what was fitted to labels.
    #[serde(default)]
    pub version: Option<String>,
}

impl JudgeVersion {
    /// Reads who gave a score, as far as its metadata says.
    pub fn of(score: &Score) -> Self {
        Self::of_metadata(&score.metadata)
    }

    /// Reads who gave a score from its metadata.
    pub fn of_metadata(metadata: &[(String, Json)]) -> Self {
        // Some servers store numbers as strings.
        let text = |key: &str| {
            let (_, value) = metadata.iter().find(|(name, _)| name == key)?;
            Some(value.as_str().trim_matches('"'))
        };
        let owned = |key: &str| text(key).map(str::to_owned);
        Self {
            judge: owned("judge").unwrap_or_default(),
            rubric_version: text("rubric_version").and_then(|text| text.parse().ok()),
            fingerprint: owned("fingerprint"),
            version: owned("judge_version"),
        }
    }

    /// `offline, rubric version 3`.
    pub fn words(&self) -> String {
        let judge = if self.judge.is_empty() { "unknown judge" } else { &self.judge };
        match self.rubric_version {
            Some(version) => format!("{judge}, rubric version {version}"),
            None => judge.to_owned(),
        }
    }

    /// The same, with the beginning of the judge's own version: what tells two versions of a judge
    /// apart.
    pub fn exact_words(&self) -> String {
        match &self.version {
            Some(version) => {
                let short: String = version.chars().take(7).collect();
                format!("{}, judge version {short}", self.words())
            }
            None => self.words(),
        }
    }

    /// Returns whether the offline judge gave the score.
    pub fn is_offline(&self) -> bool {
        self.judge == offline::NAME
    }
}
