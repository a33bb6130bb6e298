use axum::http::HeaderMap;
use ratchet_core::record::field_table;
use ratchet_remote::langfuse::wire::trace::{NOT_REQUESTED, TraceDetails};
use ratchet_remote::langfuse::wire::wire_name::WireEnum;
use ratchet_stages::dashboards::filter::Filter;
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Condition, Detail, Direction, PageNumber, Paging, Test, TraceColumn, TraceOrder, TraceQuery,
};

use crate::error::ApiResult;
use crate::langfuse::client::needs_numbers;
use crate::langfuse::params::Params;

/// A parsed request for a list.
#[derive(Debug)]
pub(super) struct TraceListRequest {
    pub(super) query: TraceQuery,
    pub(super) page: PageNumber,
    pub(super) groups: Groups,
}

/// Parses the parameters of a list.
///
/// # Errors
/// 400 with all invalid parameters.
pub(super) fn list(project: ProjectId, mut params: Params) -> ApiResult<TraceListRequest> {
    let page = params.page();
    let groups = Groups::read(&mut params);
    let simple = Filter {
        range: params.range("fromTimestamp", "toTimestamp"),
        conditions: simple_conditions(&params),
    };
    let filter = params.filter_over(&field_table::TRACE, simple);
    let query = TraceQuery {
        project,
        range: filter.range,
        conditions: filter.conditions,
        order: params.parsed("orderBy", order).unwrap_or_default(),
        paging: Paging::Numbered(page),
        detail: if groups.has(Group::Io) { Detail::BoundedContent } else { Detail::Row },
    };
    params.finish()?;
    Ok(TraceListRequest { query, page, groups })
}

fn simple_conditions(params: &Params) -> Vec<Condition<TraceColumn>> {
    let equal = [
        (TraceColumn::User, "userId"),
        (TraceColumn::Name, "name"),
        (TraceColumn::Session, "sessionId"),
        (TraceColumn::Version, "version"),
        (TraceColumn::Release, "release"),
    ];
    let equal = equal
        .into_iter()
        .filter_map(|(column, name)| Some(Condition::equals(column, params.text(name)?)));
    let mut conditions: Vec<_> = equal.collect();
    let tags = params.list("tags");
    if !tags.is_empty() {
        conditions.push(Condition { column: TraceColumn::Tags, test: Test::AllOf(tags) });
    }
    let environments = params.list("environment");
    if !environments.is_empty() {
        let test = Test::AnyOf(environments);
        conditions.push(Condition { column: TraceColumn::Environment, test });
    }
    conditions
}

/// The fields that a list can be sorted by.
fn orders() -> impl Iterator<Item = (&'static str, TraceOrder)> {
    let columns = field_table::TRACE.columns.iter();
    columns.filter_map(|column| Some((*column.api.first()?, column.order?)))
}

fn order(text: &str) -> Result<(TraceOrder, Direction), String> {
    let direction = |word: &str| match word {
        "asc" => Some(Direction::Ascending),
        "desc" => Some(Direction::Descending),
        _ => None,
    };
    let parsed = text.rsplit_once('.').and_then(|(field, word)| {
        let (_, order) = orders().find(|(name, _)| *name == field)?;
        Some((order, direction(word)?))
    });
    parsed.ok_or_else(|| {
        let fields: Vec<_> = orders().map(|(name, _)| name).collect();
        format!("must be a field and .asc or .desc, not {text}; fields: {}", fields.join(", "))
    })
}

/// A field group of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// The row without content; always included.
    Core,
    Io,
    Scores,
    Observations,
    Metrics,
}

impl WireEnum for Group {
    const WHAT: &'static str = "field group";

    fn all() -> Vec<Self> {
        vec![Self::Core, Self::Io, Self::Scores, Self::Observations, Self::Metrics]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Io => "io",
            Self::Scores => "scores",
            Self::Observations => "observations",
            Self::Metrics => "metrics",
        }
    }
}

/// The requested field groups; all by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups(Vec<Group>);

impl Groups {
    /// Parses the `fields` parameter.
    pub(super) fn read(params: &mut Params) -> Self {
        let asked = params.words("fields");
        Self(if asked.is_empty() { Group::all() } else { asked })
    }

    /// Whether a group is requested.
    pub(super) fn has(&self, group: Group) -> bool {
        self.0.contains(&group)
    }

    /// How much to fetch of each observation.
    pub(super) fn detail(&self) -> Detail {
        if self.has(Group::Io) { Detail::Content } else { Detail::Row }
    }

    /// Removes numbers that were not requested, and sets unknown ones to the client's form.
    pub(super) fn hide_numbers<O, S>(&self, details: &mut TraceDetails<O, S>, unknown: Unknown) {
        if !self.has(Group::Metrics) {
            details.latency = Some(NOT_REQUESTED);
            details.total_cost = Some(NOT_REQUESTED);
        }
        if unknown == Unknown::Zero {
            details.latency = details.latency.or(Some(0.0));
            details.total_cost = details.total_cost.or(Some(0.0));
        }
    }
}

/// How an unknown number is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// As null: unknown is not free.
    Null,
    /// As 0, for SDKs that cannot parse a trace otherwise.
    Zero,
}

impl Unknown {
    /// The form that the client of these headers can parse.
    pub(super) fn for_client(headers: &HeaderMap) -> Self {
        if needs_numbers(headers) { Self::Zero } else { Self::Null }
    }
}

#[cfg(test)]
mod tests {
    use ratchet_store::query::TextTest;

    use super::*;
    use crate::langfuse::params::tests::{params, problems};

    fn project() -> ProjectId {
        ProjectId::parse("p").unwrap()
    }

    #[test]
    fn every_parameter_becomes_a_condition() {
        let asked = list(
            project(),
            params(
                "userId=u&name=n&sessionId=s&version=v&release=r&tags=a&tags=b&environment=x\
                 &environment=y&fromTimestamp=2026-11-15T00:00:00Z&orderBy=name.asc&unknown=1",
            ),
        )
        .unwrap();
        let columns: Vec<_> = asked.query.conditions.iter().map(|c| c.column).collect();
        let expected = [
            TraceColumn::User,
            TraceColumn::Name,
            TraceColumn::Session,
            TraceColumn::Version,
            TraceColumn::Release,
            TraceColumn::Tags,
            TraceColumn::Environment,
        ];
        assert_eq!(columns, expected);
        let both = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(asked.query.conditions[5].test, Test::AllOf(both));
        assert!(asked.query.range.from.is_some());
        assert_eq!(asked.query.order, (TraceOrder::Name, Direction::Ascending));
        assert_eq!(asked.query.detail, Detail::BoundedContent);
    }

    #[test]
    fn a_filter_takes_the_place_of_simple_parameters_on_the_same_column() {
        let filter = r#"[{"type":"string","column":"name","operator":"=","value":"x"}]"#;
        let query = format!("name=y&userId=u&fromTimestamp=2026-11-15T00:00:00Z&filter={filter}");
        let asked = list(project(), params(&query.replace('"', "%22"))).unwrap();
        let columns: Vec<_> = asked.query.conditions.iter().map(|c| c.column).collect();
        assert_eq!(columns, [TraceColumn::User, TraceColumn::Name]);
        assert_eq!(asked.query.conditions[1].test, Test::Text(TextTest::Equals, "x".to_owned()));
        assert!(asked.query.range.from.is_some(), "the filter does not say when");
    }

    #[track_caller]
    fn check_order(text: &str, expected: Option<(TraceOrder, Direction)>) {
        assert_eq!(order(text).ok(), expected);
    }

    #[test]
    fn orders_are_a_field_and_a_direction() {
        check_order("timestamp.asc", Some((TraceOrder::Timestamp, Direction::Ascending)));
        check_order("totalCost.desc", Some((TraceOrder::Cost, Direction::Descending)));
        for odd in ["timestamp", "timestamp.up", "cost.asc", "", ".", "timestamp.asc.asc"] {
            check_order(odd, None);
        }
    }

    #[test]
    fn groups_that_nobody_asked_for_are_left_out() {
        let groups = Groups::read(&mut params("fields=core,%20scores"));
        assert!(groups.has(Group::Scores) && !groups.has(Group::Io));
        assert_eq!(groups.detail(), Detail::Row);
        let all = Groups::read(&mut params(""));
        assert!(Group::all().into_iter().all(|group| all.has(group)));
        let mut wrong = params("fields=core,price");
        Groups::read(&mut wrong);
        assert_eq!(
            problems(wrong),
            ["fields: price is not a known field group: core, io, scores, observations, metrics"]
        );
    }
}
