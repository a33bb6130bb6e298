use super::signals::Signals;

/// A trace with what proposals are based on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedTrace {
    pub id: String,
    pub session: Option<String>,
    /// Weeks before the reported one: 0 is the reported week.
    pub weeks_ago: usize,
    /// What the user asked last.
    pub question: String,
    pub answer: String,
    /// Tool calls in order of time.
    pub tools: Vec<ObservedToolCall>,
    pub signals: Signals,
    pub release: Option<String>,
    pub model: Option<String>,
    pub user: Option<String>,
    /// From the first start to the last end of its observations.
    pub latency_seconds: Option<f64>,
    pub cost_dollars: Option<f64>,
    /// Names of the agents that worked on it, the outermost first.
    pub agents: Vec<String>,
    /// Names of the prompts that its model steps used.
    pub prompts: Vec<String>,
    /// Traces that it stands for: the inverse of the probability that it was drawn for review, where
    /// only the draw made it known.
    pub weight: f64,
}

/// A tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedToolCall {
    pub name: String,
    /// What it returned.
    pub output: String,
    pub failed: bool,
}

impl ObservedToolCall {
    /// Returns whether it returned nothing usable.
    pub fn is_empty(&self) -> bool {
        let text: String = self.output.chars().filter(|c| c.is_alphanumeric()).take(40).collect();
        let nothing = ["", "null", "none", "0", "resultnull", "results", "result", "items", "data"];
        !self.failed && nothing.contains(&text.to_lowercase().as_str())
    }
}

/// How a trace counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// The agent failed.
    Failed,
    /// The judge is wrong: a person says that the agent was right.
    Misjudged,
    /// A tool failed, and nobody said anything about the answer.
    ToolFailed,
    Fine,
}

impl ObservedTrace {
    /// Returns how it counts. A person's answer precedes feedback, which precedes the judge; a judge
    /// alone proves nothing.
    pub fn standing(&self) -> Standing {
        let Signals { correct, thumb, .. } = self.signals;
        let judged_bad = self.judged_good() == Some(false);
        match (correct, thumb) {
            (Some(false), _) | (None, Some(false)) => Standing::Failed,
            (Some(true), _) | (None, Some(true)) if judged_bad => Standing::Misjudged,
            (Some(true), _) | (None, Some(true)) => Standing::Fine,
            (None, None) if self.failing_tool().is_some() => Standing::ToolFailed,
            (None, None) => Standing::Fine,
        }
    }

    /// Returns the tool whose last call failed: an error that a retry cured is none.
    pub fn failing_tool(&self) -> Option<&ObservedToolCall> {
        let is_last = |at: usize, call: &ObservedToolCall| {
            !self.tools[at + 1..].iter().any(|later| later.name == call.name)
        };
        let mut failed = self.tools.iter().enumerate().filter(|(_, call)| call.failed);
        failed.find(|(at, call)| is_last(*at, call)).map(|(_, call)| call)
    }

    /// Returns the tool that it is about: the one that failed, else the last one.
    pub fn main_tool(&self) -> Option<&str> {
        self.failing_tool().or(self.tools.last()).map(|call| call.name.as_str())
    }

    /// Returns the innermost agent that worked on it.
    pub fn sub_agent(&self) -> Option<&str> {
        self.agents.last().map(String::as_str)
    }

    /// Returns whether the judge scored it high; `None` without a judge's score.
    pub fn judged_good(&self) -> Option<bool> {
        self.signals.quality.map(|quality| quality >= crate::review::category::GOOD_FROM)
    }

    /// Returns whether a tool was called.
    pub fn called(&self, tool: &str) -> bool {
        self.tools.iter().any(|call| call.name == tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, failed: bool) -> ObservedToolCall {
        ObservedToolCall { name: name.to_owned(), output: "x".to_owned(), failed }
    }

    #[test]
    fn people_precede_feedback_and_judges_alone_prove_nothing() {
        let standing = |correct, thumb, quality| {
            let signals = Signals { correct, thumb, quality, ..Signals::default() };
            ObservedTrace { signals, ..ObservedTrace::default() }.standing()
        };
        assert_eq!(standing(Some(false), Some(true), Some(0.9)), Standing::Failed);
        assert_eq!(standing(None, Some(false), Some(0.9)), Standing::Failed);
        assert_eq!(standing(Some(true), Some(false), Some(0.1)), Standing::Misjudged);
        assert_eq!(standing(None, Some(true), Some(0.1)), Standing::Misjudged);
        assert_eq!(standing(None, None, Some(0.1)), Standing::Fine);
    }

    #[test]
    fn an_error_that_a_retry_cured_is_no_failure() {
        let trace =
            |tools: Vec<ObservedToolCall>| ObservedTrace { tools, ..ObservedTrace::default() };
        assert_eq!(trace(vec![call("a", true), call("a", false)]).standing(), Standing::Fine);
        let failed = trace(vec![call("a", false), call("b", true)]);
        assert_eq!(failed.standing(), Standing::ToolFailed);
        assert_eq!(failed.failing_tool().map(|call| call.name.as_str()), Some("b"));
    }

    #[test]
    fn an_answer_without_content_is_empty_and_a_failed_one_is_not() {
        for output in ["", "[]", "{}", "null", "{\"results\": []}", "{\"result\":null}"] {
            assert!(
                ObservedToolCall { output: output.to_owned(), ..ObservedToolCall::default() }
                    .is_empty()
            );
        }
        assert!(
            !ObservedToolCall {
                output: "{\"price\": 3}".to_owned(),
                ..ObservedToolCall::default()
            }
            .is_empty()
        );
        assert!(!call("a", true).is_empty());
    }
}
