use serde_json::Value;

/// Usage and cost of a turn, from an event.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnSpending {
    /// Input and output tokens, including sub-agents, as far as known.
    pub tokens: Option<(u64, u64)>,
    /// US dollars, as far as known.
    pub cost: Option<f64>,
    /// Whether they are lower bounds: calls were interrupted or retried.
    pub is_at_least: bool,
}

impl TurnSpending {
    /// Reads the event that ended or interrupted a turn.
    pub fn of(body: &Value) -> Self {
        let is_at_least = body["at_least"] == true;
        let all = || Some((body["tokens"]["input"].as_u64()?, body["tokens"]["output"].as_u64()?));
        // Events of earlier versions contain only the agent's own calls.
        let own = || own_tokens(&body["usage"]).filter(|_| !is_at_least);
        Self { tokens: all().or_else(own), cost: body["cost"].as_f64(), is_at_least }
    }

    /// Whether there is a cost that is not known.
    pub fn is_unknown(&self) -> bool {
        self.is_at_least && self.cost.is_none()
    }

    /// Text of usage and cost; `None` if there is nothing to show.
    pub fn words(&self) -> Option<String> {
        let bound = if self.is_at_least { "at least " } else { "" };
        let tokens = self.tokens.map(|(input, output)| format!("{input} tokens in, {output} out"));
        let cost = self.cost.map(|cost| format!("${cost:.4}"));
        let known: Vec<String> = tokens.into_iter().chain(cost).collect();
        let unknown = self.is_unknown().then_some("cost unknown");
        match (known.is_empty(), unknown) {
            (true, unknown) => unknown.map(str::to_owned),
            (false, None) => Some(format!("{bound}{}", known.join(", "))),
            (false, Some(unknown)) => Some(format!("{bound}{}, {unknown}", known.join(", "))),
        }
    }
}

fn own_tokens(usage: &Value) -> Option<(u64, u64)> {
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let cached = count("cache_creation_input_tokens") + count("cache_read_input_tokens");
    usage.is_object().then(|| (count("input_tokens") + cached, count("output_tokens")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(body: &Value, expected: Option<&str>) {
        assert_eq!(TurnSpending::of(body).words().as_deref(), expected, "{body}");
    }

    #[test]
    fn what_is_known_is_said_and_the_rest_is_not_nothing() {
        check(
            &json!({"tokens": {"input": 7, "output": 2}, "cost": 0.5}),
            Some("7 tokens in, 2 out, $0.5000"),
        );
        check(
            &json!({"tokens": {"input": 7, "output": 2}, "cost": 0.5, "at_least": true}),
            Some("at least 7 tokens in, 2 out, $0.5000"),
        );
        check(
            &json!({"tokens": {"input": 7, "output": 2}, "at_least": true}),
            Some("at least 7 tokens in, 2 out, cost unknown"),
        );
        check(&json!({"usage": {"input_tokens": 0}, "at_least": true}), Some("cost unknown"));
        check(&json!({"usage": {"input_tokens": 3}}), Some("3 tokens in, 0 out"));
        check(&json!({"message": "failed"}), None);
    }
}
