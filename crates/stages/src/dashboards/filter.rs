//! Conditions by name, resolved to tests on the columns of the store.

use ratchet_core::catalog::filter::{ConditionPart, FilterCondition, FilterKind, Operator};
use ratchet_core::record::field_table::{FieldKind, RecordColumn, RecordTable, TraceOrder};
use ratchet_core::record::score::ScoreValue;
use ratchet_core::time::Timestamp;
use ratchet_store::query::{Compare, Condition, Test, TextTest, TimeRange};

/// The fields of a record.
pub type Columns<C, O = TraceOrder> = &'static RecordTable<C, O>;

/// Conditions, with those on the record's own time taken out of the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter<C> {
    /// When it must have begun.
    pub range: TimeRange,
    pub conditions: Vec<Condition<C>>,
}

impl<C> Filter<C> {
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.range == TimeRange::default()
    }

    /// Whether a condition refers to a column.
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

/// What is wrong with a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionProblem {
    pub part: ConditionPart,
    pub message: String,
}

impl<C> Default for Filter<C> {
    fn default() -> Self {
        Self { range: TimeRange::default(), conditions: Vec::new() }
    }
}

impl<C: Copy> Filter<C> {
    /// Resolves conditions; reports all problems, with the index of their condition.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub fn resolve<O>(
        conditions: &[FilterCondition],
        columns: Columns<C, O>,
    ) -> Result<Self, Vec<(usize, ConditionProblem)>> {
        let mut filter = Self::default();
        let mut problems = Vec::new();
        for (position, condition) in conditions.iter().enumerate() {
            if let Err(problem) = filter.add(condition, columns) {
                problems.push((position, problem));
            }
        }
        if problems.is_empty() { Ok(filter) } else { Err(problems) }
    }

    /// Resolves a condition and adds it.
    ///
    /// # Errors
    /// Says what is wrong with it; nothing is added then.
    pub fn add<O>(
        &mut self,
        condition: &FilterCondition,
        columns: Columns<C, O>,
    ) -> Result<(), ConditionProblem> {
        match resolve(condition, columns)? {
            (RecordColumn { kind: FieldKind::Start, .. }, Test::Time(compare, at))
                if narrows(compare) =>
            {
                narrow(&mut self.range, compare, at);
            }
            (column, test) => self.conditions.push(Condition { column: column.column, test }),
        }
        Ok(())
    }
}

fn problem(part: ConditionPart, message: impl Into<String>) -> ConditionProblem {
    ConditionProblem { part, message: message.into() }
}

fn resolve<C: Copy, O>(
    condition: &FilterCondition,
    columns: Columns<C, O>,
) -> Result<(&'static RecordColumn<C, O>, Test), ConditionProblem> {
    let name = &condition.column;
    let column = columns.by_api_name(name).ok_or_else(|| {
        let known: Vec<_> = columns.api_names().collect();
        let message = format!("{name} is not a known column: {}", known.join(", "));
        problem(ConditionPart::Column, message)
    })?;
    let kind = condition.kind;
    if !column.kind.filters().contains(&kind) {
        let fit: Vec<_> = column.kind.filters().iter().map(|kind| kind.as_str()).collect();
        let fit = fit.join(", ");
        let message = format!("{name} takes {fit}, not {}", kind.as_str());
        return Err(problem(ConditionPart::Kind, message));
    }
    if !kind.operators().contains(&condition.operator) {
        let (name, fit) = (kind.as_str(), kind.operator_names());
        let message = format!("{name} takes {fit}, not {}", condition.operator.as_str());
        return Err(problem(ConditionPart::Operator, message));
    }
    let test = match column.kind {
        FieldKind::ScoreBooleans => truth_test(condition)?,
        _ => plain_test(condition)?,
    };
    if !kind.has_key() {
        return Ok((column, test));
    }
    let key = condition.key.as_ref().filter(|key| !key.is_empty());
    let missing = || problem(ConditionPart::Key, format!("required for {}", kind.as_str()));
    Ok((column, Test::Key(key.ok_or_else(missing)?.clone(), Box::new(test))))
}

/// The test without its key. The operator is known to fit the kind.
fn plain_test(condition: &FilterCondition) -> Result<Test, ConditionProblem> {
    let FilterCondition { kind, operator, value, .. } = condition;
    match kind {
        FilterKind::String | FilterKind::StringObject => {
            let text = value.as_str().ok_or_else(|| unfit(condition, "a text"))?;
            Ok(Test::Text(text_test(*operator), text.to_owned()))
        }
        FilterKind::Number | FilterKind::NumberObject => {
            let number = value.as_f64().ok_or_else(|| unfit(condition, "a number"))?;
            Ok(Test::Number(compare(*operator), number))
        }
        FilterKind::Datetime => {
            let text = value.as_str().ok_or_else(|| unfit(condition, "a text"))?;
            let at = Timestamp::parse(text);
            let at = at.map_err(|why| problem(ConditionPart::Value, why.to_string()))?;
            Ok(Test::Time(compare(*operator), at))
        }
        FilterKind::Boolean | FilterKind::BooleanObject => {
            let truth = value.as_bool().ok_or_else(|| unfit(condition, "true or false"))?;
            Ok(Test::Is(truth == (*operator == Operator::Equal)))
        }
        FilterKind::StringOptions | FilterKind::CategoryOptions | FilterKind::ArrayOptions => {
            let options = options(condition).ok_or_else(|| unfit(condition, "a list of texts"))?;
            Ok(match operator {
                Operator::NoneOf => Test::NoneOf(options),
                Operator::AllOf => Test::AllOf(options),
                _ => Test::AnyOf(options),
            })
        }
        FilterKind::Null if *operator == Operator::IsNull => Ok(Test::IsNull),
        FilterKind::Null => Ok(Test::IsNotNull),
    }
}

/// Whether a Boolean score has a value. Records without such a score do not.
fn truth_test(condition: &FilterCondition) -> Result<Test, ConditionProblem> {
    let truth = condition.value.as_bool().ok_or_else(|| unfit(condition, "true or false"))?;
    let word = ScoreValue::Boolean(truth).text().unwrap_or_default().to_owned();
    let is_equal = condition.operator == Operator::Equal;
    Ok(if is_equal { Test::AnyOf(vec![word]) } else { Test::NoneOf(vec![word]) })
}

fn options(condition: &FilterCondition) -> Option<Vec<String>> {
    let options = condition.value.as_array()?;
    options.iter().map(|option| option.as_str().map(str::to_owned)).collect()
}

fn unfit(condition: &FilterCondition, wanted: &str) -> ConditionProblem {
    problem(ConditionPart::Value, format!("{} needs {wanted}", condition.kind.as_str()))
}

fn text_test(operator: Operator) -> TextTest {
    match operator {
        Operator::Contains => TextTest::Contains,
        Operator::Matches => TextTest::Matches,
        Operator::Lacks => TextTest::Lacks,
        Operator::StartsWith => TextTest::StartsWith,
        Operator::EndsWith => TextTest::EndsWith,
        _ => TextTest::Equals,
    }
}

fn compare(operator: Operator) -> Compare {
    match operator {
        Operator::Greater => Compare::Greater,
        Operator::AtLeast => Compare::AtLeast,
        Operator::Less => Compare::Less,
        Operator::AtMost => Compare::AtMost,
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
