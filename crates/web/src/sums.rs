//! Hourly sums of what is in scope.

use ratchet_store::aggregate::{AggregateQuery, Dimension, Group, Step, Sums};
use ratchet_store::query::TimeRange;

use crate::components::figure;
use crate::place::Place;
use crate::refusal::PageResult;
use crate::scope::Span;
use crate::web::Web;

/// Sums over the observations of the chosen environment, by time and dimension.
///
/// The environment is grouped by and picked out rather than filtered by: hourly sums answer the
/// one, and only a scan the other.
///
/// # Errors
/// Fails only when the database does.
pub async fn groups(
    web: &Web,
    place: &Place,
    range: TimeRange,
    step: Step,
    by: &[Dimension],
) -> PageResult<Vec<Group>> {
    let chosen = place.scope.environment.as_deref();
    let environment = chosen.map(|_| Dimension::Environment);
    let by = environment.into_iter().chain(by.iter().copied()).collect();
    let project = place.project_id();
    let question = AggregateQuery { project, range, by, step, conditions: Vec::new() };
    let groups = web.store.telemetry.aggregate(question).await?.groups;
    let Some(chosen) = chosen else { return Ok(groups) };
    let is_chosen =
        |group: &Group| group.key.first().is_some_and(|key| key.as_deref() == Some(chosen));
    let mut groups: Vec<Group> = groups.into_iter().filter(is_chosen).collect();
    for group in &mut groups {
        group.key.remove(0);
    }
    Ok(groups)
}

/// Sums over all of it.
///
/// # Errors
/// Fails only when the database does.
pub async fn whole(web: &Web, place: &Place, range: TimeRange) -> PageResult<Sums> {
    let groups = groups(web, place, range, Step::Whole, &[]).await?;
    Ok(groups.into_iter().next().map(|group| group.sums).unwrap_or_default())
}

/// A count as people know it: sums can be subtracted, so they are signed.
pub fn natural(n: i64) -> u64 {
    u64::try_from(n).unwrap_or_default()
}

/// The same count as a number to draw and compare with.
#[expect(clippy::cast_precision_loss, reason = "drawn and compared, never summed")]
pub fn float(n: i64) -> f64 {
    n as f64
}

/// A count that was drawn, as a count again.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no less than none")]
pub fn whole_number(n: f64) -> u64 {
    n.round().max(0.0) as u64
}

/// How wide the steps of a chart are: hours while they can be told apart, days beyond.
pub const fn step_of(span: Span) -> Step {
    match span {
        Span::Hour | Span::Day => Step::Hour,
        Span::Week | Span::Month | Span::Quarter | Span::All | Span::Between(..) => Step::Day,
    }
}

/// What an axis calls the step that a group stands for.
pub fn step_name(group: &Group, step: Step) -> String {
    let text = group.at.map(figure::short_moment).unwrap_or_default();
    let (day, hour) = text.rsplit_once(' ').unwrap_or((&text, ""));
    match step {
        Step::Hour => hour.get(..5).unwrap_or_default().to_owned(),
        Step::Day | Step::Whole => day.to_owned(),
    }
}
