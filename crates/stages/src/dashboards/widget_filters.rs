//! Validation of the filters of a widget, a dashboard or a rule.

use ratchet_core::catalog::filter::FilterCondition;

use crate::validation::{Checks, MAX_NAME_CHARS};

const MAX_FILTERS: usize = 100;

/// Rejects conditions whose operator or value does not fit their type.
pub fn check_filters(checks: &mut Checks, filters: &[FilterCondition]) {
    checks.len("filters", filters.len(), 0..=MAX_FILTERS);
    for filter in filters {
        checks.text("filters", &filter.column, 1..=MAX_NAME_CHARS);
        if let Err(why) = filter.check() {
            checks.must(false, "filters", &why);
        }
    }
}
