use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::calendar::day;
use crate::time::Timestamp;

/// The longest text of an event, in characters.
const MAX_TEXT: usize = 300;

/// What kind of event something was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A change of a named repository.
    Commit,
    /// A version of an agent began to serve.
    Deployment,
    /// The first trace of a release.
    Release,
    /// A label of a prompt moved.
    PromptLabel,
    Incident,
    /// Requests mention something more or less often than before.
    TopicVolume,
    Latency,
    Cost,
    /// How often the judge agrees with people changed.
    JudgeAgreement,
    ToolErrors,
}

impl EventKind {
    /// Returns whether the event was computed from traffic.
    pub const fn is_computed(self) -> bool {
        matches!(
            self,
            Self::TopicVolume
                | Self::Latency
                | Self::Cost
                | Self::JudgeAgreement
                | Self::ToolErrors
        )
    }
}

/// Something that happened in a week.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeekEvent {
    /// When it happened; for computed events the start of the week.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub at: Timestamp,
    pub kind: EventKind,
    /// `None` if it concerns all agents.
    pub agent: Option<String>,
    pub text: String,
}

impl WeekEvent {
    /// Creates an event. Its text may come from outside: it is one line of limited length.
    pub fn new(at: Timestamp, kind: EventKind, agent: Option<&str>, text: &str) -> Self {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = line.chars().filter(|c| !c.is_control()).take(MAX_TEXT).collect();
        Self { at, kind, agent: agent.map(str::to_owned), text }
    }

    /// Returns the event as a line.
    pub fn line(&self) -> String {
        let agent = self.agent.as_ref().map(|agent| format!("{agent}: ")).unwrap_or_default();
        if self.kind.is_computed() {
            format!("{agent}{}", self.text)
        } else {
            format!("{} {agent}{}", day(self.at), self.text)
        }
    }
}

fn as_text<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(deserializer)?;
    Timestamp::parse(&text).map_err(serde::de::Error::custom)
}

/// Sorts events by time; those that were computed come last.
pub fn sort(events: &mut [WeekEvent]) {
    events.sort_by(|one, other| {
        let key = |event: &WeekEvent| (event.kind.is_computed(), event.at, event.kind);
        key(one)
            .cmp(&key(other))
            .then_with(|| one.agent.cmp(&other.agent))
            .then_with(|| one.text.cmp(&other.text))
    });
}

/// A line of a file with incidents.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IncidentLine {
    at: String,
    text: String,
    agent: Option<String>,
}

/// Reads incidents from JSON lines: `at`, `text`, and `agent` if it concerns only one.
///
/// # Errors
/// Fails on a line that is malformed, with its number.
pub fn read_incidents(text: &str) -> Result<Vec<WeekEvent>, String> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        let wrong = |why: String| format!("line {number}: {why}");
        let line: IncidentLine =
            serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let at = Timestamp::parse(&line.at).map_err(|error| wrong(format!("at: {error}")))?;
        Ok(WeekEvent::new(at, EventKind::Incident, line.agent.as_deref(), &line.text))
    };
    lines.map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incidents_are_lines_of_json_and_a_wrong_one_is_named() {
        let good = "{\"at\":\"2026-11-04T10:00:00Z\",\"text\":\"Carrier API\\n down\"}\n\n";
        let events = read_incidents(good).unwrap();
        assert_eq!(events[0].line(), "2026-11-04 Carrier API down");
        let wrong = read_incidents(&format!("{good}{{\"at\":\"yesterday\",\"text\":\"x\"}}"));
        assert!(wrong.unwrap_err().starts_with("line 3: at: "));
        assert!(read_incidents("{\"at\":1}").unwrap_err().starts_with("line 1: "));
    }
}
