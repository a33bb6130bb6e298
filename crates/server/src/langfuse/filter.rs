use ratchet_core::catalog::filter::FilterCondition;
use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::dashboard::WidgetFilter;
use ratchet_remote::langfuse::wire::filter::{SentCondition, part_name};
use ratchet_remote::langfuse::wire::read::read;
use ratchet_stages::dashboards::filter::{Columns, Filter};
use ratchet_stages::validation::Checks;

use super::params::Params;

#[cfg(test)]
mod tests;

impl Params {
    /// The `filter` parameter combined with the other parameters. It takes precedence where both
    /// have a condition on a column.
    pub(super) fn filter_over<C: Copy + PartialEq, O>(
        &mut self,
        columns: Columns<C, O>,
        simple: Filter<C>,
    ) -> Filter<C> {
        match self.filter(columns) {
            Some(filter) => filter.over(simple),
            None => simple,
        }
    }

    /// The `filter` parameter; an empty list counts as absent.
    pub(super) fn filter<C: Copy, O>(&mut self, columns: Columns<C, O>) -> Option<Filter<C>> {
        match parse("filter", &self.text("filter")?, columns) {
            Ok(filter) if filter.is_empty() => None,
            Ok(filter) => Some(filter),
            Err(issues) => {
                self.report(issues);
                None
            }
        }
    }
}

/// Parses a JSON list of conditions, which is called `name`; reports everything that is wrong.
///
/// # Errors
/// Everything that is wrong, and where.
fn parse<C: Copy, O>(
    name: &str,
    json: &str,
    columns: Columns<C, O>,
) -> Result<Filter<C>, Vec<Issue>> {
    let (conditions, mut issues) = sent(name, json);
    let mut filter = Filter::default();
    for (position, condition) in conditions {
        if let Err(problem) = filter.add(&condition, columns) {
            let at = (position, part_name(problem.part));
            issues.push(Issue::in_list(name, at, problem.message));
        }
    }
    if issues.is_empty() { Ok(filter) } else { Err(issues) }
}

/// Parses a JSON list of conditions, which is called `name`: each with its index, and what is wrong
/// with the others.
pub(super) fn sent(name: &str, json: &str) -> (Vec<(usize, FilterCondition)>, Vec<Issue>) {
    let (mut conditions, mut issues) = (Vec::new(), Vec::new());
    let sent: Vec<SentCondition> = match read(json) {
        Ok(sent) => sent,
        Err(issue) => return (conditions, vec![issue.inside(name)]),
    };
    for (position, condition) in sent.into_iter().enumerate() {
        match condition.into_condition() {
            Ok(condition) => conditions.push((position, condition)),
            Err((part, message)) => {
                issues.push(Issue::in_list(name, (position, part_name(part)), message));
            }
        }
    }
    (conditions, issues)
}

/// Converts the filters of a document in a request; reports those that make no sense.
pub(super) fn conditions(checks: &mut Checks, filters: Vec<WidgetFilter>) -> Vec<FilterCondition> {
    let mut converted = Vec::with_capacity(filters.len());
    for filter in filters {
        match FilterCondition::try_from(filter) {
            Ok(condition) => converted.push(condition),
            Err(why) => checks.must(false, "filters", &why),
        }
    }
    converted
}
