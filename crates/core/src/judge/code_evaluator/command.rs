use serde::Deserialize;
use serde_json::{Value, json};

use super::{CodeVerdict, EvaluatedCase};

/// The maximum length of what a command may print.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;

const EXPECTED: &str = "the command must print a number from 0 to 1, true, false, or an object such \
                        as {\"score\": 0.5, \"rationale\": \"…\"}";

/// Why an answer of a command is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{EXPECTED}; {0}")]
pub struct InvalidAnswer(String);

#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Flag(bool),
    Number(f64),
    Verdict {
        score: ScoreValue,
        #[serde(default, alias = "comment", alias = "reason")]
        rationale: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ScoreValue {
    Flag(bool),
    Number(f64),
}

impl EvaluatedCase<'_> {
    /// Returns the JSON object that a command reads from its standard input.
    pub fn to_command_input(&self) -> Value {
        let calls = self.tool_calls.iter();
        let calls = calls.map(|call| json!({ "name": call.name, "arguments": call.arguments }));
        json!({
            "input": self.input,
            "output": self.output,
            "expected_output": self.expected_output,
            "tool_calls": calls.collect::<Vec<_>>(),
            "sub_agents": self.sub_agents,
        })
    }
}

impl CodeVerdict {
    /// Reads what a command printed.
    ///
    /// # Errors
    /// Fails if it is neither a score nor an object with one.
    pub fn from_command_output(printed: &str) -> Result<Self, InvalidAnswer> {
        let text = printed.trim();
        if text.len() > MAX_ANSWER_BYTES {
            return Err(InvalidAnswer(format!("it printed more than {MAX_ANSWER_BYTES} bytes")));
        }
        let answer = serde_json::from_str(text)
            .map_err(|_error| InvalidAnswer(format!("it printed {}", super::text::quoted(text))))?;
        let (score, rationale) = match answer {
            Answer::Flag(flag) => (ScoreValue::Flag(flag), None),
            Answer::Number(number) => (ScoreValue::Number(number), None),
            Answer::Verdict { score, rationale } => (score, rationale),
        };
        let score = match score {
            ScoreValue::Flag(flag) => f64::from(u8::from(flag)),
            ScoreValue::Number(number) => number,
        };
        if !(0.0..=1.0).contains(&score) {
            return Err(InvalidAnswer(format!("its score is {score}")));
        }
        Ok(Self::new(score, rationale.unwrap_or_default()))
    }
}
