use std::collections::BTreeSet;

use super::DataType;
use super::rule::ScoreInvalid;

/// The maximum length of a config name.
const MAX_NAME_CHARS: usize = 35;
/// The maximum length of a description.
const MAX_DESCRIPTION_CHARS: usize = 10_000;
/// The maximum number of categories, and the maximum length of a label.
const MAX_CATEGORIES: usize = 1_000;
const MAX_LABEL_CHARS: usize = 500;

/// A score config: constraints for the scores that refer to it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreConfig {
    pub id: String,
    /// The name of its scores.
    pub name: String,
    pub values: ConfigValues,
    /// An archived config accepts no new scores.
    pub is_archived: bool,
}

/// The values that a score config allows.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigValues {
    /// Numbers within optional bounds.
    Numeric {
        /// Inclusive.
        min: Option<f64>,
        /// Inclusive.
        max: Option<f64>,
    },
    Boolean,
    Categorical(Vec<Category>),
    Text,
}

/// A label and its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Category {
    pub label: String,
    pub value: f64,
}

/// The values of a config as a client sends them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatedValues {
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub categories: Option<Vec<Category>>,
}

impl ConfigValues {
    /// Validates a client's values.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn new(data_type: DataType, stated: StatedValues) -> Result<Self, ScoreInvalid> {
        let StatedValues { min, max, categories } = stated;
        if data_type != DataType::Numeric {
            none("minValue", min.is_some(), data_type, "NUMERIC")?;
            none("maxValue", max.is_some(), data_type, "NUMERIC")?;
        }
        if data_type != DataType::Categorical {
            none("categories", categories.is_some(), data_type, "CATEGORICAL")?;
        }
        match data_type {
            DataType::Numeric => numeric(min, max),
            DataType::Boolean => Ok(Self::Boolean),
            DataType::Text => Ok(Self::Text),
            DataType::Categorical => categorical(categories.unwrap_or_default()),
            DataType::Correction => Err(ScoreInvalid::new(
                "dataType",
                "corrections follow no config; they are always texts",
            )),
        }
    }

    /// Returns the data type.
    pub const fn data_type(&self) -> DataType {
        match self {
            Self::Numeric { .. } => DataType::Numeric,
            Self::Boolean => DataType::Boolean,
            Self::Categorical(_) => DataType::Categorical,
            Self::Text => DataType::Text,
        }
    }

    /// Returns the labels with their numbers, also for booleans.
    pub fn categories(&self) -> Option<Vec<Category>> {
        let category = |label: &str, value| Category { label: label.to_owned(), value };
        match self {
            Self::Categorical(categories) => Some(categories.clone()),
            Self::Boolean => Some(vec![category("True", 1.0), category("False", 0.0)]),
            Self::Numeric { .. } | Self::Text => None,
        }
    }
}

/// Validates the description of a config.
///
/// # Errors
/// Rejects descriptions that are too long.
pub fn check_description(text: Option<&str>) -> Result<(), ScoreInvalid> {
    if text.is_none_or(|text| text.chars().count() <= MAX_DESCRIPTION_CHARS) {
        return Ok(());
    }
    Err(ScoreInvalid::new("description", format!("at most {MAX_DESCRIPTION_CHARS} characters")))
}

/// Validates the name of a config.
///
/// # Errors
/// Rejects names that are empty, too long, or contain anything but letters, digits, `_`, ` `, `.`,
/// `(`, `)`, `-`.
pub fn check_name(name: &str) -> Result<(), ScoreInvalid> {
    let is_fine = |char: char| char.is_alphanumeric() || "_ .()-".contains(char);
    let is_nameable = (1..=MAX_NAME_CHARS).contains(&name.chars().count())
        && name.chars().all(is_fine)
        && !name.trim().is_empty();
    if is_nameable {
        return Ok(());
    }
    Err(ScoreInvalid::new(
        "name",
        format!(
            "1 to {MAX_NAME_CHARS} letters, digits, underscores, spaces, periods, parentheses and \
             hyphens"
        ),
    ))
}

fn none(
    field: &'static str,
    is_given: bool,
    data_type: DataType,
    belongs_to: &str,
) -> Result<(), ScoreInvalid> {
    if !is_given {
        return Ok(());
    }
    let why = format!("only for {belongs_to} configs, not for {}", data_type.as_str());
    Err(ScoreInvalid::new(field, why))
}

fn numeric(min: Option<f64>, max: Option<f64>) -> Result<ConfigValues, ScoreInvalid> {
    for (field, bound) in [("minValue", min), ("maxValue", max)] {
        if bound.is_some_and(|bound| !bound.is_finite()) {
            return Err(ScoreInvalid::new(field, "must be a finite number"));
        }
    }
    match (min, max) {
        (Some(min), Some(max)) if min >= max => {
            Err(ScoreInvalid::new("maxValue", format!("must be greater than the minValue {min}")))
        }
        _ => Ok(ConfigValues::Numeric { min, max }),
    }
}

fn categorical(categories: Vec<Category>) -> Result<ConfigValues, ScoreInvalid> {
    let unfit = |why: String| Err(ScoreInvalid::new("categories", why));
    if !(1..=MAX_CATEGORIES).contains(&categories.len()) {
        return unfit(format!("a CATEGORICAL config needs 1 to {MAX_CATEGORIES} categories"));
    }
    let mut labels = BTreeSet::new();
    let mut values = BTreeSet::new();
    for Category { label, value } in &categories {
        if !(1..=MAX_LABEL_CHARS).contains(&label.chars().count()) {
            return unfit(format!("a label has 1 to {MAX_LABEL_CHARS} characters"));
        }
        if !value.is_finite() {
            return unfit(format!("the value of {label} must be a finite number"));
        }
        if !labels.insert(label.as_str()) {
            return unfit(format!("the label {label} is there twice"));
        }
        // Treats -0 and 0 as equal.
        if !values.insert((value + 0.0).to_bits()) {
            return unfit(format!("the value {value} is there twice"));
        }
    }
    Ok(ConfigValues::Categorical(categories))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn categories(pairs: &[(&str, f64)]) -> StatedValues {
        let category =
            |(label, value): &(&str, f64)| Category { label: (*label).to_owned(), value: *value };
        let categories = Some(pairs.iter().map(category).collect());
        StatedValues { categories, ..StatedValues::default() }
    }

    fn bounds(min: f64, max: f64) -> StatedValues {
        StatedValues { min: Some(min), max: Some(max), categories: None }
    }

    #[track_caller]
    fn check(data_type: DataType, stated: StatedValues, refused: Option<&str>) {
        let made = ConfigValues::new(data_type, stated);
        assert_eq!(made.err().map(|unfit| unfit.to_string()).as_deref(), refused);
    }

    #[test]
    fn bounds_belong_to_numbers_and_leave_room() {
        check(DataType::Numeric, StatedValues::default(), None);
        check(DataType::Numeric, bounds(0.0, 1.0), None);
        let refused = "maxValue: must be greater than the minValue 1";
        check(DataType::Numeric, bounds(1.0, 1.0), Some(refused));
        let refused = "minValue: must be a finite number";
        check(DataType::Numeric, bounds(f64::NAN, 1.0), Some(refused));
        let refused = "minValue: only for NUMERIC configs, not for TEXT";
        check(DataType::Text, bounds(0.0, 1.0), Some(refused));
    }

    #[test]
    fn labels_and_values_are_unique() {
        let good = [("good", 1.0), ("bad", 0.0)];
        check(DataType::Categorical, categories(&good), None);
        let twice = "categories: the label a is there twice";
        check(DataType::Categorical, categories(&[("a", 1.0), ("a", 2.0)]), Some(twice));
        let twice = "categories: the value 0 is there twice";
        check(DataType::Categorical, categories(&[("a", -0.0), ("b", 0.0)]), Some(twice));
        let empty = "categories: a CATEGORICAL config needs 1 to 1000 categories";
        check(DataType::Categorical, StatedValues::default(), Some(empty));
        let nameless = "categories: a label has 1 to 500 characters";
        check(DataType::Categorical, categories(&[("", 1.0)]), Some(nameless));
        let boolean = "categories: only for CATEGORICAL configs, not for BOOLEAN";
        check(DataType::Boolean, categories(&good), Some(boolean));
        let correction = "dataType: corrections follow no config; they are always texts";
        check(DataType::Correction, StatedValues::default(), Some(correction));
    }

    #[test]
    fn names_are_short_and_plain() {
        for name in ["quality", "Tone (v1.2)_a-b", "größe", &"x".repeat(35)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        for name in ["", " ", "a/b", "a\nb", &"x".repeat(36)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
