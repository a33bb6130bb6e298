use ratchet_agent::environment::{self, Variables};
use ratchet_agent::error::ModelError;
use ratchet_agent::judge::JudgeName;
use ratchet_agent::model::{Model, PriceList};
use ratchet_store::catalog::LlmConnection;
use ratchet_store::embedded::Folder;
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;

use super::{ConnectError, client, model, usual_model};

/// More connections than a project has.
const ALL: PageNumber = PageNumber { page: 1, limit: 1_000 };

/// What it takes to open a judge.
pub struct Means<'a> {
    /// What the environment says.
    pub variables: Variables<'a>,
    /// What models cost.
    pub prices: PriceList,
    /// Where a project's connections are, if there is a folder that has them.
    pub connections: Option<(&'a Folder, &'a ProjectId)>,
}

/// Opens the model that a judge's name stands for; `None` for the offline one, which asks nobody.
/// Nothing is sent yet.
///
/// # Errors
/// Says which variable is missing, or which connections there are.
pub async fn open(judge: &JudgeName, means: Means<'_>) -> Result<Option<Model>, ConnectError> {
    match judge {
        JudgeName::Offline => Ok(None),
        JudgeName::Model { provider, model } => {
            let provider = environment::open(*provider, means.variables, &client).await?;
            Ok(Some(Model::new(provider, model, means.prices)))
        }
        JudgeName::Connection { name, model } => {
            let Some((folder, project)) = means.connections else {
                let why = "connections are kept in a data folder; name it with --data";
                return Err(ModelError::NotSetUp(why.to_owned()).into());
            };
            let opened = connected(folder, project, (name, model.as_deref()), means.prices).await?;
            Ok(Some(opened))
        }
    }
}

async fn connected(
    folder: &Folder,
    project: &ProjectId,
    (name, asked): (&str, Option<&str>),
    prices: PriceList,
) -> Result<Model, ConnectError> {
    let all = folder.catalog.llm_connections(project.clone(), ALL).await?.rows;
    let Some(found) = all.iter().find(|connection| connection.provider == name) else {
        return Err(ModelError::NotSetUp(unknown(name, &all)).into());
    };
    let usual = usual_model(found);
    let Some(chosen) = asked.or(usual.as_deref()) else {
        let why = format!("which model? Say connection:{name}:MODEL");
        return Err(ModelError::NotSetUp(why).into());
    };
    model(folder, project, (found, chosen), prices.at).await
}

fn unknown(name: &str, all: &[LlmConnection]) -> String {
    let names: Vec<&str> = all.iter().map(|connection| connection.provider.as_str()).collect();
    match names.as_slice() {
        [] => format!("there is no connection {name:?}, nor any other; add one in the settings"),
        names => format!("there is no connection {name:?}; there are {}", names.join(", ")),
    }
}
