use ratchet_core::issue::Issue;
use ratchet_core::record::field_table;
use ratchet_core::record::score::{DataType, ScoreSource};
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::{DataTypeName, ScoreSourceName, WireEnum};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{
    Compare, Condition, PageNumber, Paging, ScoreColumn, ScoreQuery, ScoresOn, Test,
};
use utoipa::IntoParams;

use crate::error::ApiResult;
use crate::langfuse::params::Params;

/// A parsed request for a list.
#[derive(Debug)]
pub(super) struct ListRequest {
    pub(super) query: ScoreQuery,
    pub(super) page: PageNumber,
    pub(super) groups: Vec<Group>,
}

/// The parameters of a list besides its page, for the API description.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what `Params` reads")]
pub(super) struct ScoreParams {
    /// User of its trace.
    user_id: Option<String>,
    /// Name of the score.
    name: Option<String>,
    /// Recorded at this time or later.
    from_timestamp: Option<Time>,
    /// Recorded before this time.
    to_timestamp: Option<Time>,
    /// Any of these environments.
    environment: Option<Vec<String>>,
    /// Source of the score.
    source: Option<ScoreSourceName>,
    /// Comparison operator for the value: =, !=, >, >=, <, <=.
    operator: Option<String>,
    /// Number to compare the value with.
    value: Option<f64>,
    /// Comma-separated score ids.
    score_ids: Option<String>,
    /// Id of its score config.
    config_id: Option<String>,
    /// Id of the session it is on.
    session_id: Option<String>,
    /// Id of the dataset run it is on.
    dataset_run_id: Option<String>,
    /// Id of the trace it is on.
    trace_id: Option<String>,
    /// Comma-separated ids of the observations it is on.
    observation_id: Option<String>,
    /// Id of the annotation queue it was recorded in.
    queue_id: Option<String>,
    /// Data type of the value.
    data_type: Option<DataTypeName>,
    /// Its trace has all of these tags.
    trace_tags: Option<Vec<String>>,
    /// Field groups: score, trace.
    fields: Option<String>,
    /// Conditions, as a JSON array.
    filter: Option<String>,
}

/// A field group of a listed score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// The score itself; always included.
    Score,
    /// Fields of its trace.
    Trace,
}

impl WireEnum for Group {
    const WHAT: &'static str = "field group";

    fn all() -> Vec<Self> {
        vec![Self::Score, Self::Trace]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Trace => "trace",
        }
    }
}

/// Parses the parameters of a list.
///
/// # Errors
/// 400 with all invalid parameters.
pub(super) fn list(project: ProjectId, mut params: Params) -> ApiResult<ListRequest> {
    let page = params.page();
    let groups = groups(&mut params);
    let mut conditions = equal(&mut params);
    conditions.extend(any_of(&params));
    conditions.extend(compared(&mut params));
    let mut range = params.range("fromTimestamp", "toTimestamp");
    if let Some(filter) = params.filter(&field_table::SCORE) {
        range = range.and(filter.range);
        conditions.extend(filter.conditions);
    }
    params.finish()?;
    let on = ScoresOn::Anything;
    let query = ScoreQuery { project, range, on, conditions, paging: Paging::Numbered(page) };
    Ok(ListRequest { query, page, groups })
}

/// The requested field groups; all by default.
fn groups(params: &mut Params) -> Vec<Group> {
    let asked = params.words("fields");
    if asked.is_empty() {
        return Group::all();
    }
    let tests_trace = params.text("userId").is_some() || !params.list("traceTags").is_empty();
    if tests_trace && !asked.contains(&Group::Trace) {
        let message = "must include trace when userId or traceTags is given";
        params.report([Issue::at("fields", message)]);
    }
    asked
}

fn equal(params: &mut Params) -> Vec<Condition<ScoreColumn>> {
    let source =
        params.wire_enum::<ScoreSource>("source").map(|source| source.wire_name().to_owned());
    let data_type =
        params.wire_enum::<DataType>("dataType").map(|kind| kind.wire_name().to_owned());
    let equal = [
        (ScoreColumn::Trace, params.text("traceId")),
        (ScoreColumn::Session, params.text("sessionId")),
        (ScoreColumn::DatasetRun, params.text("datasetRunId")),
        (ScoreColumn::Name, params.text("name")),
        (ScoreColumn::Source, source),
        (ScoreColumn::DataType, data_type),
        (ScoreColumn::Config, params.text("configId")),
        (ScoreColumn::Queue, params.text("queueId")),
        (ScoreColumn::TraceUser, params.text("userId")),
    ];
    let equal =
        equal.into_iter().filter_map(|(column, text)| Some(Condition::equals(column, text?)));
    equal.collect()
}

fn any_of(params: &Params) -> impl Iterator<Item = Condition<ScoreColumn>> {
    let lists = [
        (ScoreColumn::Id, Test::AnyOf(params.commas("scoreIds"))),
        (ScoreColumn::Observation, Test::AnyOf(params.commas("observationId"))),
        (ScoreColumn::Environment, Test::AnyOf(params.list("environment"))),
        (ScoreColumn::TraceTags, Test::AllOf(params.list("traceTags"))),
    ];
    let is_asked = |test: &Test| match test {
        Test::AnyOf(words) | Test::AllOf(words) => !words.is_empty(),
        _ => true,
    };
    let lists = lists.into_iter().filter(move |(_, test)| is_asked(test));
    lists.map(|(column, test)| Condition { column, test })
}

/// `operator` and `value`, which are only valid together.
fn compared(params: &mut Params) -> Option<Condition<ScoreColumn>> {
    let compare = params.parsed("operator", operator);
    let number = params.number("value");
    match (params.text("operator"), params.text("value")) {
        (Some(_), None) => params.report([Issue::at("value", "required with an operator")]),
        (None, Some(_)) => params.report([Issue::at("operator", "required with a value")]),
        (None, None) | (Some(_), Some(_)) => {}
    }
    Some(Condition { column: ScoreColumn::Number, test: Test::Number(compare?, number?) })
}

fn operator(text: &str) -> Result<Compare, String> {
    match text {
        "=" => Ok(Compare::Equal),
        "!=" => Ok(Compare::Unequal),
        ">" => Ok(Compare::Greater),
        ">=" => Ok(Compare::AtLeast),
        "<" => Ok(Compare::Less),
        "<=" => Ok(Compare::AtMost),
        _ => Err(format!("must be one of =, !=, >, >=, <, <=, not {text}")),
    }
}

#[cfg(test)]
mod tests {
    use ratchet_store::query::TimeRange;

    use super::*;
    use crate::error::ApiError;
    use crate::langfuse::params::tests::params;

    fn ask(query: &str) -> Result<ListRequest, Vec<String>> {
        list(ProjectId::parse("p").unwrap(), params(query)).map_err(|error| match error {
            ApiError::InvalidFields(issues) => issues.iter().map(ToString::to_string).collect(),
            other => panic!("{other}"),
        })
    }

    #[test]
    fn every_parameter_becomes_a_condition() {
        let asked =
            ask("userId=u&name=n&environment=x&environment=y&source=api&operator=%3E%3D&value=0.5\
             &scoreIds=a,b&configId=c&sessionId=s&datasetRunId=r&traceId=t&observationId=o,p\
             &queueId=q&dataType=NUMERIC&traceTags=a&traceTags=b&fromTimestamp=2026-11-15T00:00:00Z\
             &filter=[{%22type%22:%22string%22,%22column%22:%22comment%22,\
             %22operator%22:%22=%22,%22value%22:%22x%22}]")
            .unwrap();
        let columns: Vec<_> = asked.query.conditions.iter().map(|c| c.column).collect();
        let expected = [
            ScoreColumn::Trace,
            ScoreColumn::Session,
            ScoreColumn::DatasetRun,
            ScoreColumn::Name,
            ScoreColumn::Source,
            ScoreColumn::DataType,
            ScoreColumn::Config,
            ScoreColumn::Queue,
            ScoreColumn::TraceUser,
            ScoreColumn::Id,
            ScoreColumn::Observation,
            ScoreColumn::Environment,
            ScoreColumn::TraceTags,
            ScoreColumn::Number,
            ScoreColumn::Comment,
        ];
        assert_eq!(columns, expected);
        assert_eq!(asked.query.conditions[13].test, Test::Number(Compare::AtLeast, 0.5));
        assert_ne!(asked.query.range, TimeRange::default());
        assert_eq!(asked.groups, Group::all());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |query: &str| ask(query).unwrap_err();
        assert_eq!(refused("operator=%3D"), ["value: required with an operator"]);
        assert_eq!(refused("value=1"), ["operator: required with a value"]);
        assert_eq!(
            refused("operator=~&value=NaN"),
            [
                "operator: must be one of =, !=, >, >=, <, <=, not ~",
                "value: must be a finite number, not NaN"
            ]
        );
        assert_eq!(
            refused("fields=score&userId=u"),
            ["fields: must include trace when userId or traceTags is given"]
        );
        assert_eq!(refused("fields=io"), ["fields: io is not a known field group: score, trace"]);
    }
}
