use ratchet_core::issue::Issue;
use ratchet_remote::langfuse::wire::read::read;
use ratchet_remote::langfuse::wire::time::Time;
use ratchet_remote::langfuse::wire::wire_name::WireEnum;
use ratchet_store::experiment::{ExperimentItemQuery, ExperimentQuery};
use ratchet_store::project::ProjectId;
use ratchet_store::query::Detail;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use crate::error::ApiResult;
use crate::langfuse::params::Params;

/// Maximum and default number of scores per row.
const MAX_SCORES: u64 = 50;

/// A field group of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Core,
    Metadata,
    Scores,
}

impl WireEnum for Group {
    const WHAT: &'static str = "field group";

    fn all() -> Vec<Self> {
        vec![Self::Core, Self::Metadata, Self::Scores]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Metadata => "metadata",
            Self::Scores => "scores",
        }
    }
}

/// A field group of an experiment item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemGroup {
    Core,
    Dataset,
    Io,
    Metadata,
    ItemMetadata,
    ExperimentMetadata,
    Scores,
}

impl WireEnum for ItemGroup {
    const WHAT: &'static str = "field group";

    fn all() -> Vec<Self> {
        vec![
            Self::Core,
            Self::Dataset,
            Self::Io,
            Self::Metadata,
            Self::ItemMetadata,
            Self::ExperimentMetadata,
            Self::Scores,
        ]
    }

    fn wire_name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Dataset => "dataset",
            Self::Io => "io",
            Self::Metadata => "metadata",
            Self::ItemMetadata => "itemMetadata",
            Self::ExperimentMetadata => "experimentMetadata",
            Self::Scores => "scores",
        }
    }
}

/// Query parameters of both lists.
#[derive(IntoParams)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what `Params` reads")]
pub(super) struct SliceParams {
    /// Page size: 1 to 100, 50 by default.
    limit: Option<u64>,
    /// Scores per row: 1 to 50, 50 by default.
    score_limit: Option<u64>,
    /// Cursor from the previous page.
    cursor: Option<String>,
    /// Start of the time range, inclusive.
    from_start_time: Time,
    /// End of the time range, exclusive.
    to_start_time: Option<Time>,
}

/// A parsed request for experiments.
pub(super) struct ExperimentListRequest<Query, Groups> {
    pub(super) query: Query,
    pub(super) groups: Vec<Groups>,
    pub(super) score_limit: u64,
}

/// Parses a request for experiments.
///
/// # Errors
/// 400 with all invalid parameters.
pub(super) fn experiments(
    project: ProjectId,
    mut params: Params,
) -> ApiResult<ExperimentListRequest<ExperimentQuery, Group>> {
    let groups = params.words("fields");
    let score_limit = score_limit(&mut params);
    let mut query = slice(project, &mut params);
    let [ids, names, datasets] = lists(&mut params, ["id", "name", "datasetId"]);
    query = ExperimentQuery { ids, names, datasets, ..query };
    params.finish()?;
    Ok(ExperimentListRequest { query, groups, score_limit })
}

/// Parses a request for experiment items.
///
/// # Errors
/// 400 with all invalid parameters.
pub(super) fn items(
    project: ProjectId,
    mut params: Params,
) -> ApiResult<ExperimentListRequest<ExperimentItemQuery, ItemGroup>> {
    let mut groups = params.words("fields");
    if groups.is_empty() {
        groups = vec![ItemGroup::Core, ItemGroup::Dataset];
    }
    let score_limit = score_limit(&mut params);
    let of = slice(project, &mut params);
    let columns = ["experimentId", "experimentName", "datasetId", "experimentItemId"];
    let [ids, names, datasets, items] = lists(&mut params, columns);
    let of = ExperimentQuery { ids, names, datasets, ..of };
    params.finish()?;
    // Level and environment are fields of the observation, so it is always fetched.
    let query = ExperimentItemQuery { of, items, detail: Detail::BoundedContent };
    Ok(ExperimentListRequest { query, groups, score_limit })
}

fn score_limit(params: &mut Params) -> u64 {
    params.whole("scoreLimit", 1..=MAX_SCORES).unwrap_or(MAX_SCORES)
}

fn slice(project: ProjectId, params: &mut Params) -> ExperimentQuery {
    params.required("fromStartTime");
    let (paging, _) = params.slice();
    ExperimentQuery {
        project,
        range: params.range("fromStartTime", "toStartTime"),
        ids: Vec::new(),
        names: Vec::new(),
        datasets: Vec::new(),
        paging,
    }
}

/// One condition of the `filter` parameter.
#[derive(Deserialize)]
struct RequestedFields {
    column: String,
    operator: String,
    value: Value,
}

/// The requested values of each column, from its own parameter and from `filter`.
fn lists<const N: usize>(params: &mut Params, columns: [&str; N]) -> [Vec<String>; N] {
    let mut lists = columns.map(|column| params.commas(column));
    let filter = params.parsed("filter", |text| {
        read::<Vec<RequestedFields>>(text).map_err(|issue| issue.to_string())
    });
    for (index, wanted) in filter.unwrap_or_default().into_iter().enumerate() {
        let list = columns.iter().position(|column| *column == wanted.column);
        let list = list.and_then(|at| lists.get_mut(at));
        let outcome = match (list, words(&wanted)) {
            (Some(list), Ok(words)) => narrow(list, words),
            (None, _) => Err(format!("the columns are {}", columns.join(", "))),
            (_, Err(why)) => Err(why),
        };
        if let Err(why) = outcome {
            params.report([Issue::at("filter", format!("condition {index}: {why}"))]);
        }
    }
    lists
}

fn words(wanted: &RequestedFields) -> Result<Vec<String>, String> {
    match (wanted.operator.as_str(), &wanted.value) {
        ("=", Value::String(word)) => Ok(vec![word.clone()]),
        ("any of", Value::Array(words)) if !words.is_empty() => {
            let texts: Option<Vec<_>> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            texts.ok_or_else(|| "any of needs a list of texts".to_owned())
        }
        _ => Err("the operators are = with a text and any of with a list of texts".to_owned()),
    }
}

/// Intersects two lists; an empty list means any.
fn narrow(list: &mut Vec<String>, words: Vec<String>) -> Result<(), String> {
    if list.is_empty() {
        *list = words;
        return Ok(());
    }
    list.retain(|word| words.contains(word));
    if list.is_empty() { Err("contradicts another condition".to_owned()) } else { Ok(()) }
}
