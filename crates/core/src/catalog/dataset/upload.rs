//! Import of table rows as dataset items: the mapping from columns to item fields.

use std::collections::BTreeMap;

use serde_json::Value;

use super::check_item_id;
use crate::payload::Json;

/// The item field that a column is mapped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    Id,
    Input,
    ExpectedOutput,
    Metadata,
    Ignore,
}

impl Target {
    /// All targets, in the order of the form.
    pub const ALL: [Self; 5] =
        [Self::Input, Self::ExpectedOutput, Self::Metadata, Self::Id, Self::Ignore];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Input => "input",
            Self::ExpectedOutput => "expected_output",
            Self::Metadata => "metadata",
            Self::Ignore => "ignore",
        }
    }

    /// Parses the API name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.as_str() == name)
    }

    /// Guesses the target of a column from its name.
    fn likely(name: &str) -> Self {
        let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
        match plain.to_lowercase().as_str() {
            "id" | "itemid" | "key" => Self::Id,
            "input" | "inputs" | "question" | "query" | "prompt" | "request" | "messages"
            | "instruction" | "user" | "text" => Self::Input,
            "expected" | "expectedoutput" | "output" | "outputs" | "answer" | "target"
            | "groundtruth" | "reference" | "ideal" | "completion" | "response" | "label" => {
                Self::ExpectedOutput
            }
            // Further columns of dataset exports; their values are generated anew.
            "status"
            | "datasetid"
            | "datasetname"
            | "projectid"
            | "createdat"
            | "updatedat"
            | "validfrom"
            | "sourcetraceid"
            | "sourceobservationid" => Self::Ignore,
            _ => Self::Metadata,
        }
    }
}

/// Guesses the targets of all columns. At least one column becomes the input where possible.
///
/// ```
/// use ratchet_core::catalog::dataset::upload::{Target, guess};
///
/// let names = ["Question", "Expected output", "tenant"].map(str::to_owned);
/// assert_eq!(guess(&names), [Target::Input, Target::ExpectedOutput, Target::Metadata]);
/// ```
pub fn guess(names: &[String]) -> Vec<Target> {
    let mut targets: Vec<Target> = names.iter().map(|name| Target::likely(name)).collect();
    // Only one column can be the id.
    let mut ids = targets.iter_mut().filter(|target| **target == Target::Id).skip(1);
    ids.by_ref().for_each(|target| *target = Target::Metadata);
    if !targets.contains(&Target::Input)
        && let Some(first) = targets.iter_mut().find(|target| **target == Target::Metadata)
    {
        *first = Target::Input;
    }
    targets
}

/// The dataset item of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// `None` where the row has no id.
    pub id: Option<String>,
    pub input: Option<Json>,
    pub expected_output: Option<Json>,
    pub metadata: Option<Json>,
}

/// The mapping from columns to item fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping(Vec<(String, Target)>);

/// Error of a column mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    #[error("choose at least one column that becomes the input")]
    NoInput,
    #[error("only one column can be the item's id")]
    TwoIds,
}

impl Mapping {
    /// Creates a mapping from column names to targets.
    ///
    /// # Errors
    /// Rejects a mapping without an input or with two id columns.
    pub fn new(columns: Vec<(String, Target)>) -> Result<Self, MappingError> {
        let count = |wanted| columns.iter().filter(|(_, target)| *target == wanted).count();
        if count(Target::Input) == 0 {
            return Err(MappingError::NoInput);
        }
        if count(Target::Id) > 1 {
            return Err(MappingError::TwoIds);
        }
        Ok(Self(columns))
    }

    /// Returns the columns with their targets.
    pub fn columns(&self) -> &[(String, Target)] {
        &self.0
    }

    /// Converts the cells of a row to an item; a missing cell is null.
    ///
    /// A single column becomes the field itself, several become an object keyed by column name.
    /// Metadata is always an object.
    ///
    /// # Errors
    /// Names the invalid cell.
    pub fn case(&self, cells: &BTreeMap<String, Value>) -> Result<Case, String> {
        let id = self.of(Target::Id).find_map(|name| cells.get(name).map(|cell| (name, cell)));
        let id = match id {
            None => None,
            Some((name, cell)) => Some(id_of(cell).map_err(|why| format!("{name}: {why}"))?),
        };
        let metadata = match self.part(Target::Metadata, cells) {
            Some(Value::Object(object)) => Some(Value::Object(object)),
            Some(_) => self.object(Target::Metadata, cells),
            None => None,
        };
        Ok(Case {
            id,
            input: self.part(Target::Input, cells).as_ref().map(Json::from_value),
            expected_output: self
                .part(Target::ExpectedOutput, cells)
                .as_ref()
                .map(Json::from_value),
            metadata: metadata.as_ref().map(Json::from_value),
        })
    }

    fn of(&self, wanted: Target) -> impl Iterator<Item = &String> {
        self.0.iter().filter(move |(_, target)| *target == wanted).map(|(name, _)| name)
    }

    fn part(&self, target: Target, cells: &BTreeMap<String, Value>) -> Option<Value> {
        let mut columns = self.of(target);
        match (columns.next(), columns.next()) {
            (Some(only), None) => cells.get(only).cloned(),
            _ => self.object(target, cells),
        }
    }

    fn object(&self, target: Target, cells: &BTreeMap<String, Value>) -> Option<Value> {
        let there =
            self.of(target).filter_map(|name| Some((name.clone(), cells.get(name)?.clone())));
        let object: serde_json::Map<String, Value> = there.collect();
        (!object.is_empty()).then_some(Value::Object(object))
    }
}

/// Reads an id: a text or an integer.
fn id_of(cell: &Value) -> Result<String, String> {
    let id = match cell {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err("an id is a text or a number".to_owned());
        }
    };
    check_item_id(&id).map_err(|why| why.to_string())?;
    Ok(id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Target::{ExpectedOutput, Id, Ignore, Input, Metadata};
    use super::*;

    #[track_caller]
    fn check_guess(names: &[&str], expected: &[Target]) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(guess(&names), expected, "{names:?}");
    }

    #[test]
    fn names_say_what_columns_are() {
        check_guess(&["id", "INPUT", "Expected Output"], &[Id, Input, ExpectedOutput]);
        check_guess(&["question", "ground_truth", "tenant"], &[Input, ExpectedOutput, Metadata]);
        check_guess(&["colour", "size"], &[Input, Metadata]);
        check_guess(&["id", "key", "x"], &[Id, Input, Metadata]);
        check_guess(&["input", "createdAt"], &[Input, Ignore]);
        check_guess(&[], &[]);
        check_guess(&["status"], &[Ignore]);
    }

    #[track_caller]
    fn check(columns: &[(&str, Target)], row: &Value, expected: [Option<Value>; 3]) {
        let columns = columns.iter().map(|(name, target)| ((*name).to_owned(), *target)).collect();
        let cells = serde_json::from_value(row.clone()).unwrap();
        let case = Mapping::new(columns).unwrap().case(&cells).unwrap();
        let json = |value: Option<Value>| value.as_ref().map(Json::from_value);
        let [input, expected_output, metadata] = expected.map(json);
        assert_eq!(case, Case { id: None, input, expected_output, metadata });
    }

    #[test]
    fn one_column_is_the_part_itself_and_several_are_an_object() {
        let row = json!({"q": "why", "lang": "de", "a": {"n": 1}});
        check(
            &[("q", Input), ("a", ExpectedOutput), ("lang", Metadata)],
            &row,
            [Some(json!("why")), Some(json!({"n": 1})), Some(json!({"lang": "de"}))],
        );
        let both = Some(json!({"q": "why", "lang": "de"}));
        check(&[("q", Input), ("lang", Input), ("a", Ignore)], &row, [both, None, None]);
        check(
            &[("q", Input), ("a", Metadata)],
            &row,
            [Some(json!("why")), None, Some(json!({"n": 1}))],
        );
        check(&[("gone", Input), ("q", Input)], &row, [Some(json!({"q": "why"})), None, None]);
    }

    #[test]
    fn ids_are_texts_or_numbers() {
        let columns = || vec![("k".to_owned(), Id), ("q".to_owned(), Input)];
        let case = |id: Value| {
            let cells = serde_json::from_value(json!({"k": id, "q": 1})).unwrap();
            Mapping::new(columns()).unwrap().case(&cells)
        };
        assert_eq!(case(json!("a")).unwrap().id.as_deref(), Some("a"));
        assert_eq!(case(json!(7)).unwrap().id.as_deref(), Some("7"));
        assert_eq!(case(json!([1])).unwrap_err(), "k: an id is a text or a number");
        assert_eq!(case(json!("a\nb")).unwrap_err(), "k: must not contain control characters");
    }

    #[test]
    fn a_mapping_needs_an_input_and_at_most_one_id() {
        let new = |targets: &[Target]| {
            let columns = targets.iter().map(|target| ("c".to_owned(), *target)).collect();
            Mapping::new(columns).map(|_| ())
        };
        assert_eq!(new(&[Metadata]), Err(MappingError::NoInput));
        assert_eq!(new(&[Input, Id, Id]), Err(MappingError::TwoIds));
        assert_eq!(new(&[Input, Id]), Ok(()));
    }
}
