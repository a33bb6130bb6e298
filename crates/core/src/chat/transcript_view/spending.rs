use serde_json::Value;

/// What a turn used and cost, as an event says it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TurnSpending {
    /// Tokens in and out, those of sub-agents included, as far as anyone knows.
    pub tokens: Option<(u64, u64)>,
    /// Dollars, as far as anyone knows.
    pub cost: Option<f64>,
    /// Whether it may be more: calls were interrupted, or tried again.
    pub is_at_least: bool,
}

impl TurnSpending {
    /// Reads it from the event that ends a turn, or tells that one broke off.
    pub fn of(body: &Value) -> Self {
        let is_at_least = body["at_least"] == true;
        let all = || Some((body["tokens"]["input"].as_u64()?, body["tokens"]["output"].as_u64()?));
        // Events of earlier versions tell only of the agent's own calls.
        let own = || own_tokens(&body["usage"]).filter(|_| !is_at_least);
        Self { tokens: all().or_else(own), cost: body["cost"].as_f64(), is_at_least }
    }

    /// Whether something was billed and nobody knows what.
    pub fn is_unknown(&self) -> bool {
        self.is_at_least && self.cost.is_none()
    }

    /// The same in words; none if there is nothing to say.
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
