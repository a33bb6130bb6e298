use std::str::FromStr;

use serde_json::Value;

/// A filter for dataset items: conditions such as `metadata.split=test`, all of which must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemFilter(Vec<Condition>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Condition {
    /// `None` for the item's id, else a path in its metadata.
    path: Option<Vec<String>>,
    is_negated: bool,
    values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a condition; write id=ITEM, metadata.FIELD=VALUE or metadata.FIELD!=VALUE, \
     several values with |, several conditions with commas"
)]
/// Why a filter is invalid.
pub struct InvalidFilter(String);

impl FromStr for ItemFilter {
    type Err = InvalidFilter;

    fn from_str(text: &str) -> Result<Self, InvalidFilter> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let conditions: Vec<Condition> = parts.map(condition).collect::<Result<_, _>>()?;
        if conditions.is_empty() {
            return Err(InvalidFilter(text.to_owned()));
        }
        Ok(Self(conditions))
    }
}

fn condition(text: &str) -> Result<Condition, InvalidFilter> {
    let invalid = || InvalidFilter(text.to_owned());
    let (field, values) = text.split_once('=').ok_or_else(invalid)?;
    let (field, is_negated) = match field.strip_suffix('!') {
        Some(field) => (field, true),
        None => (field, false),
    };
    let path = match field.trim().split_once('.') {
        None if field.trim() == "id" => None,
        Some(("metadata", path)) if !path.is_empty() => {
            Some(path.split('.').map(str::to_owned).collect())
        }
        _ => return Err(invalid()),
    };
    let values = values.split('|').map(|value| value.trim().to_owned()).collect();
    Ok(Condition { path, is_negated, values })
}

impl ItemFilter {
    /// Returns whether an item is included.
    pub fn includes(&self, id: &str, metadata: Option<&Value>) -> bool {
        self.0.iter().all(|condition| condition.holds(id, metadata))
    }
}

impl Condition {
    fn holds(&self, id: &str, metadata: Option<&Value>) -> bool {
        let found = match &self.path {
            None => self.is_one(id),
            Some(path) => {
                let found = path
                    .iter()
                    .try_fold(metadata.unwrap_or(&Value::Null), |value, key| value.get(key));
                match found {
                    Some(Value::Array(all)) => all.iter().any(|one| self.is_one(&word(one))),
                    Some(value) => self.is_one(&word(value)),
                    None => false,
                }
            }
        };
        found != self.is_negated
    }

    fn is_one(&self, value: &str) -> bool {
        self.values.iter().any(|wanted| wanted == value)
    }
}

/// A string without its quotes.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_about_ids_and_metadata() {
        let metadata = json!({"split": "test", "tags": ["a", "b"], "deep": {"n": 3}});
        for (filter, is_included) in [
            ("metadata.split=test", true),
            ("metadata.split=train|test", true),
            ("metadata.split!=test", false),
            ("metadata.tags=b,metadata.deep.n=3", true),
            ("metadata.absent=1", false),
            ("metadata.absent!=1", true),
            ("id=x", true),
            ("id=y", false),
        ] {
            let filter: ItemFilter = filter.parse().unwrap();
            assert_eq!(filter.includes("x", Some(&metadata)), is_included, "{filter:?}");
        }
        for wrong in ["", "split=test", "metadata.=1", "id"] {
            assert!(wrong.parse::<ItemFilter>().is_err(), "{wrong}");
        }
    }
}
