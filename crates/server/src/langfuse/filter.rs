use ratchet_stages::dashboards::filter::column::Columns;
use ratchet_stages::dashboards::filter::{Filter, parse};

use super::params::Params;

impl Params {
    /// The `filter` parameter combined with the other parameters. It takes precedence where both
    /// have a condition on a column.
    pub(super) fn filter_over<C: Copy + PartialEq>(
        &mut self,
        columns: Columns<C>,
        simple: Filter<C>,
    ) -> Filter<C> {
        match self.filter(columns) {
            Some(filter) => filter.over(simple),
            None => simple,
        }
    }

    /// The `filter` parameter; an empty list counts as absent.
    pub(super) fn filter<C: Copy>(&mut self, columns: Columns<C>) -> Option<Filter<C>> {
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
