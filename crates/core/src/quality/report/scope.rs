use serde::{Deserialize, Serialize};

use crate::counted::counted;
use crate::quality::synthesis::RecordedFacts;

/// The part of a project that a report is about; all of it where nothing is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReportScope {
    pub agent: Option<String>,
    pub environment: Option<String>,
    pub release: Option<String>,
    /// A prompt with its version: `support v3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub tag: Option<String>,
    pub user: Option<String>,
}

/// What a report shows of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCard {
    /// The first request, shortened.
    pub title: Option<String>,
    pub agent: Option<String>,
    pub environment: String,
    /// `None` where there is none, or more than one.
    pub release: Option<String>,
    pub user: Option<String>,
}

/// Sessions without a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub reason: String,
    pub sessions: usize,
}

impl ReportScope {
    /// Returns whether it is the whole project.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether it contains a session.
    pub fn holds(&self, facts: &RecordedFacts) -> bool {
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| found == Some(wanted))
        };
        is(&self.agent, facts.agent.as_deref())
            && is(&self.environment, Some(facts.environment.as_str()))
            && is(&self.user, facts.user.as_deref())
            && self.release.as_ref().is_none_or(|release| facts.releases.contains(release))
            && self.prompt.as_ref().is_none_or(|prompt| facts.has_prompt(prompt))
            && self.tag.as_ref().is_none_or(|tag| facts.tags.contains(tag))
    }

    /// Describes it: `agent support-bot, environment prod`.
    pub fn words(&self) -> String {
        let named = [
            ("agent", &self.agent),
            ("environment", &self.environment),
            ("release", &self.release),
            ("prompt", &self.prompt),
            ("tag", &self.tag),
            ("user", &self.user),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        named.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    }
}

/// Describes what was left out: `Left out: 12 sessions shorter than …, 3 sessions …`.
pub fn left_out_words(left_out: &[LeftOut]) -> Option<String> {
    let parts: Vec<String> = left_out
        .iter()
        .filter(|one| one.sessions > 0)
        .map(|one| format!("{} {}", counted(one.sessions, "session"), one.reason))
        .collect();
    (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join("; ")))
}
