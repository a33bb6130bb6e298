//! Units and costs, as events say them: in details by kind, or in one older field for both.

use crate::langfuse::wire::json::Raw;
use crate::langfuse::wire::maybe::Maybe;
use ratchet_core::issue::Issue;
use ratchet_core::record::usage::{Cost, Usage};
use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// The units and the cost of a call; the details win over the older form beside them.
pub(super) fn read(
    older: &Maybe<Raw>,
    usage_details: &Maybe<Raw>,
    cost_details: &Maybe<Raw>,
) -> Result<(Option<Usage>, Option<Cost>), Issue> {
    let older = object("usage", older)?;
    let usage_details = object("usageDetails", usage_details)?;
    let cost_details = object("costDetails", cost_details)?;
    let usages = usage_details.iter().chain(&older).map(Usage::from_details);
    let beside_usage = older.as_ref().map(costs_beside_usage);
    let costs = cost_details.iter().chain(&beside_usage);
    let usage = usages.into_iter().find(|usage| !usage.is_empty());
    Ok((usage, costs.into_iter().find_map(Cost::from_details)))
}

fn object(field: &str, sent: &Maybe<Raw>) -> Result<Option<Object>, Issue> {
    let Some(raw) = sent.as_value() else {
        return Ok(None);
    };
    let object = serde_json::from_str(raw.get());
    object.map(Some).map_err(|_| Issue::at(field, "not a JSON object"))
}

/// The costs in the older form, by kind.
fn costs_beside_usage(sent: &Object) -> Object {
    let kinds = [("inputCost", "input"), ("outputCost", "output"), ("totalCost", "total")];
    let cost = |(key, kind): (&str, &str)| Some((kind.to_owned(), sent.get(key)?.clone()));
    kinds.into_iter().filter_map(cost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(json: &str) -> Maybe<Raw> {
        Maybe::Value(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn the_older_form_holds_units_and_costs() {
        let older = sent(
            r#"{"input":3,"output":4,"unit":"TOKENS","inputCost":0.5,"outputCost":null,
                "totalCost":0.75}"#,
        );
        let (usage, cost) = read(&older, &Maybe::Null, &Maybe::Absent).unwrap();
        assert_eq!(usage.unwrap().total(), 7);
        let cost = cost.unwrap();
        assert_eq!(cost.total().dollars(), 0.75);
        assert_eq!(cost.kinds().len(), 1);
    }

    #[test]
    fn details_win_over_the_older_form() {
        let older = sent(r#"{"input":3,"totalCost":9}"#);
        let (usage, cost) = read(&older, &sent(r#"{"input":5}"#), &sent(r#"{"input":1}"#)).unwrap();
        assert_eq!(usage.unwrap().total(), 5);
        assert_eq!(cost.unwrap().total().dollars(), 1.0);
    }

    #[test]
    fn empty_details_leave_the_older_form() {
        let older = sent(r#"{"input":3,"totalCost":9}"#);
        let (usage, cost) = read(&older, &sent("{}"), &sent(r#"{"total":-1}"#)).unwrap();
        assert_eq!(usage.unwrap().total(), 3);
        assert_eq!(cost.unwrap().total().dollars(), 9.0);
    }

    #[test]
    fn other_shapes_are_refused() {
        let refused = read(&Maybe::Absent, &sent("[1]"), &Maybe::Absent).unwrap_err();
        assert_eq!(refused.to_string(), "usageDetails: not a JSON object");
    }
}
