use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::embedding::EmbeddingModel;
use ratchet_agent::environment::{self, Variables};
use ratchet_agent::error::ModelError;
use ratchet_agent::judge::JudgeName;
use ratchet_agent::model::{Model, PriceList};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_store::Store;
use ratchet_store::catalog::LlmConnection;
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;

use super::{ConnectError, client, usual_model};

/// More connections than a project has.
const ALL: PageNumber = PageNumber { page: 1, limit: 1_000 };

/// What it takes to open a judge.
pub struct JudgeAccess<'a> {
    pub variables: Variables<'a>,
    pub prices: PriceList,
    /// Where a project's connections are, if there is a folder that has them.
    pub connections: Option<(&'a Store, &'a ProjectId)>,
    /// Where connections may lead; what the environment names is the operator's own choice.
    pub outbound: &'a OutboundPolicy,
    /// Who ends the `claude` program with this process.
    pub supervision: &'a Supervision,
}

/// Opens the model of a judge by name; `None` for the offline judge, which calls no model.
/// Nothing is sent yet.
///
/// # Errors
/// Says which variable is missing, or which connections there are.
pub async fn open(
    judge: &JudgeName,
    means: JudgeAccess<'_>,
) -> Result<Option<Model>, ConnectError> {
    match judge {
        JudgeName::Offline => Ok(None),
        JudgeName::Model { provider, model } => {
            let provider =
                environment::open(*provider, means.variables, &client, means.supervision);
            let provider = provider.await?;
            Ok(Some(Model::new(provider, model, means.prices)))
        }
        JudgeName::Connection { name, model } => {
            let Some((folder, project)) = means.connections else {
                let why = "connections are kept in a data folder; name it with --data";
                return Err(ModelError::NotSetUp(why.to_owned()).into());
            };
            let found = find(folder, project, name).await?;
            let asked = chosen(&found, model.as_deref())?;
            let at = means.prices.at;
            let opened = super::model(folder, project, (&found, &asked), means.outbound, at);
            Ok(Some(opened.await?))
        }
    }
}

/// Opens a model for embeddings from `OPENAI_API_KEY` and `OPENAI_BASE_URL`. Nothing is sent yet.
///
/// # Errors
/// Names the missing variable.
pub fn open_embeddings(name: &str, variables: Variables<'_>) -> Result<EmbeddingModel, ModelError> {
    EmbeddingModel::open(name, variables, &client)
}

async fn find(
    folder: &Store,
    project: &ProjectId,
    name: &str,
) -> Result<LlmConnection, ConnectError> {
    let all = folder.catalog.llm_connections(project.clone(), ALL).await?.rows;
    match all.iter().find(|connection| connection.provider == name) {
        Some(found) => Ok(found.clone()),
        None => Err(ModelError::NotSetUp(unknown(name, &all)).into()),
    }
}

fn chosen(connection: &LlmConnection, asked: Option<&str>) -> Result<String, ModelError> {
    asked.map(str::to_owned).or_else(|| usual_model(connection)).ok_or_else(|| {
        let name = &connection.provider;
        ModelError::NotSetUp(format!("which model? Say connection:{name}:MODEL"))
    })
}

fn unknown(name: &str, all: &[LlmConnection]) -> String {
    let names: Vec<&str> = all.iter().map(|connection| connection.provider.as_str()).collect();
    match names.as_slice() {
        [] => format!("there is no connection {name:?}, nor any other; add one in the settings"),
        names => format!("there is no connection {name:?}; there are {}", names.join(", ")),
    }
}
