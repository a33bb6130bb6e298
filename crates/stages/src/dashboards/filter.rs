//! Conditions as Langfuse writes them: a JSON array, each on one column.

use ratchet_core::issue::{Issue, PathStep};
use ratchet_core::record::score::ScoreValue;
use ratchet_core::time::Timestamp;
use ratchet_remote::langfuse::wire::read::read;
use ratchet_remote::langfuse::wire::word::Word;
use ratchet_store::query::{Compare, Condition, Test, TextTest, TimeRange};
use serde::Deserialize;
use serde_json::Value;

use self::column::{ColumnKind, Columns, FilterColumn};
use self::kind::FilterKind;

/// The columns that can be filtered on.
pub mod column;
mod kind;

#[cfg(test)]
mod tests;

/// One condition as it is sent.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a condition such as {\"type\":…,\"column\":…,\"operator\":…,\"value\":…}")]
struct SentCondition {
    #[serde(rename = "type")]
    kind: Word<FilterKind>,
    column: String,
    operator: String,
    #[serde(default)]
    value: Value,
    key: Option<String>,
}

/// Conditions, with those on the record's own time taken out of the others.
#[derive(Debug, PartialEq)]
pub struct Filter<C> {
    /// When it must have begun.
    pub range: TimeRange,
    pub conditions: Vec<Condition<C>>,
}

impl<C> Filter<C> {
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.range == TimeRange::default()
    }

    /// Whether anything is asked of a column.
    pub fn names(&self, column: C) -> bool
    where
        C: Copy + PartialEq,
    {
        self.conditions.iter().any(|condition| condition.column == column)
    }

    /// This filter laid over another. Where both speak of a column, this one holds.
    #[must_use]
    pub fn over(self, simple: Self) -> Self
    where
        C: Copy + PartialEq,
    {
        let says_when = self.range != TimeRange::default();
        let range = if says_when { self.range } else { simple.range };
        let kept = simple.conditions.into_iter().filter(|known| !self.names(known.column));
        let kept: Vec<_> = kept.collect();
        Self { range, conditions: kept.into_iter().chain(self.conditions).collect() }
    }
}

/// Reads conditions on the columns of a resource, which are called `name`; reports everything
/// that is wrong.
///
/// # Errors
/// Everything that is wrong, and where.
pub fn parse<C: Copy>(
    name: &str,
    json: &str,
    columns: Columns<C>,
) -> Result<Filter<C>, Vec<Issue>> {
    let sent: Vec<SentCondition> = read(json).map_err(|issue| vec![issue.inside(name)])?;
    let mut filter = Filter { range: TimeRange::default(), conditions: Vec::new() };
    let mut issues = Vec::new();
    for (place, condition) in sent.iter().enumerate() {
        match condition.test(columns) {
            Ok((FilterColumn { is_start: true, .. }, Test::Time(compare, at)))
                if narrows(compare) =>
            {
                narrow(&mut filter.range, compare, at);
            }
            Ok((column, test)) => {
                filter.conditions.push(Condition { column: column.column, test });
            }
            Err((field, message)) => issues.push(Issue {
                path: vec![
                    PathStep::Field(name.to_owned()),
                    PathStep::Index(place),
                    PathStep::Field(field.to_owned()),
                ],
                message,
            }),
        }
    }
    if issues.is_empty() { Ok(filter) } else { Err(issues) }
}

/// Which field of a condition is wrong, and how.
type Wrong = (&'static str, String);

impl SentCondition {
    fn test<C: Copy>(
        &self,
        columns: Columns<C>,
    ) -> Result<(&'static FilterColumn<C>, Test), Wrong> {
        let column = columns.find(&self.column).map_err(|message| ("column", message))?;
        let kind = self.kind.0;
        if !column.kind.takes(kind) {
            let fit = column.kind.taken();
            return Err(("type", format!("{} takes {fit}, not {}", self.column, kind.name())));
        }
        if !kind.operators().contains(&self.operator.as_str()) {
            let fit = kind.operators().join(", ");
            let message = format!("{} takes {fit}, not {}", kind.name(), self.operator);
            return Err(("operator", message));
        }
        let test = match column.kind {
            ColumnKind::ScoreTruths => self.truth_test()?,
            _ => self.plain_test()?,
        };
        if !kind.has_key() {
            return Ok((column, test));
        }
        let key = self.key.as_ref().filter(|key| !key.is_empty());
        let key = key.ok_or(("key", format!("required for {}", kind.name())))?;
        Ok((column, Test::Key(key.clone(), Box::new(test))))
    }

    /// The test without its key. The operator is known to fit the kind.
    fn plain_test(&self) -> Result<Test, Wrong> {
        match self.kind.0 {
            FilterKind::String | FilterKind::StringObject => {
                let text = self.value.as_str().ok_or_else(|| self.unfit("a text"))?;
                Ok(Test::Text(text_test(&self.operator), text.to_owned()))
            }
            FilterKind::Number | FilterKind::NumberObject => {
                let number = self.value.as_f64().ok_or_else(|| self.unfit("a number"))?;
                Ok(Test::Number(compare(&self.operator), number))
            }
            FilterKind::Datetime => {
                let text = self.value.as_str().ok_or_else(|| self.unfit("a text"))?;
                let at = Timestamp::parse(text).map_err(|why| ("value", why.to_string()))?;
                Ok(Test::Time(compare(&self.operator), at))
            }
            FilterKind::Boolean | FilterKind::BooleanObject => {
                let truth = self.value.as_bool().ok_or_else(|| self.unfit("true or false"))?;
                Ok(Test::Is(truth == (self.operator == "=")))
            }
            FilterKind::StringOptions | FilterKind::CategoryOptions | FilterKind::ArrayOptions => {
                let options = self.options().ok_or_else(|| self.unfit("a list of texts"))?;
                Ok(match self.operator.as_str() {
                    "none of" => Test::NoneOf(options),
                    "all of" => Test::AllOf(options),
                    _ => Test::AnyOf(options),
                })
            }
            FilterKind::Null if self.operator == "is null" => Ok(Test::IsNull),
            FilterKind::Null => Ok(Test::IsNotNull),
        }
    }

    /// Whether a score says so. What is not so includes what has no such score.
    fn truth_test(&self) -> Result<Test, Wrong> {
        let truth = self.value.as_bool().ok_or_else(|| self.unfit("true or false"))?;
        let word = ScoreValue::Boolean(truth).text().unwrap_or_default().to_owned();
        Ok(if self.operator == "=" { Test::AnyOf(vec![word]) } else { Test::NoneOf(vec![word]) })
    }

    fn options(&self) -> Option<Vec<String>> {
        let options = self.value.as_array()?;
        options.iter().map(|option| option.as_str().map(str::to_owned)).collect()
    }

    fn unfit(&self, wanted: &str) -> Wrong {
        ("value", format!("{} needs {wanted}", self.kind.0.name()))
    }
}

fn text_test(operator: &str) -> TextTest {
    match operator {
        "contains" => TextTest::Contains,
        "matches" => TextTest::Matches,
        "does not contain" => TextTest::Lacks,
        "starts with" => TextTest::StartsWith,
        "ends with" => TextTest::EndsWith,
        _ => TextTest::Equals,
    }
}

fn compare(operator: &str) -> Compare {
    match operator {
        ">" => Compare::Greater,
        ">=" => Compare::AtLeast,
        "<" => Compare::Less,
        "<=" => Compare::AtMost,
        _ => Compare::Equal,
    }
}

fn narrows(compare: Compare) -> bool {
    !matches!(compare, Compare::Equal | Compare::Unequal)
}

/// Makes a range narrower; the store finds a range faster than a condition.
fn narrow(range: &mut TimeRange, compare: Compare, at: Timestamp) {
    let just_after = at.plus_nanos(1);
    let later = |from: Timestamp| Some(range.from.map_or(from, |known| known.max(from)));
    let earlier = |to: Timestamp| Some(range.to.map_or(to, |known| known.min(to)));
    match compare {
        Compare::AtLeast => range.from = later(at),
        Compare::Greater => range.from = later(just_after),
        Compare::Less => range.to = earlier(at),
        Compare::AtMost => range.to = earlier(just_after),
        Compare::Equal | Compare::Unequal => {}
    }
}
