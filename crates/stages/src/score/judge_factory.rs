//! Creates judges by name: the same for commands and for scheduled runs.

use std::path::Path;
use std::sync::Arc;

use ratchet_agent::budget::Budget;
use ratchet_agent::claude::watchdog::Supervision;
use ratchet_agent::environment::Variables;
use ratchet_agent::judge::JudgeName;
use ratchet_agent::model::PriceList;
use ratchet_core::judge::judge_prompt::{FILE, SHIPPED};
use ratchet_core::judge::notations::Notations;
use ratchet_core::judge::offline::SignalSet;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::price::PriceTable;
use ratchet_core::time::Timestamp;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use super::judge::{Briefing, Judge, ModelJudge, OwnSignals, TokenCounts};
use super::signal_overrides::signals_of;
use super::success;
use crate::llm_connections::ConnectError;
use crate::llm_connections::judge::{self, JudgeAccess};
use crate::user_files::{self, UserFileError};

/// The signals of the offline judge, in a data folder.
const SIGNALS_FILE: &str = "offline/signals.toml";
/// The notations of agents' results, beside them.
const NOTATIONS_FILE: &str = "offline/notations.toml";

/// What judges are created from.
#[derive(Clone, Copy, Debug)]
pub struct JudgeFactory<'a> {
    /// The store, which has prices and LLM connections.
    pub store: Option<&'a Store>,
    pub project: &'a ProjectId,
    /// The data folder, which may have the user's own prompts.
    pub data: Option<&'a Path>,
    /// The folder that has what was fitted to labels: the data folder, or the state of a server's
    /// client.
    pub models: &'a Path,
    /// The secret from which the markers around evidence are derived.
    pub seed: &'a str,
    pub outbound: &'a OutboundPolicy,
    /// Who ends the `claude` program with this process.
    pub supervision: &'a Supervision,
}

impl JudgeFactory<'_> {
    /// Creates a judge; no model is called yet.
    ///
    /// # Errors
    /// Fails if a key or connection is missing, or if a file of the user is invalid.
    pub async fn open(
        &self,
        name: &JudgeName,
        budget: Budget,
        (variables, now): (Variables<'_>, Timestamp),
    ) -> Result<Judge, ConnectError> {
        let access = JudgeAccess {
            variables,
            prices: PriceList { table: self.prices(), at: now },
            connections: self.store.map(|store| (store, self.project)),
            outbound: self.outbound,
            supervision: self.supervision,
        };
        let Some(model) = judge::open(name, access).await? else {
            return Ok(self.offline()?);
        };
        Ok(Judge::Model(ModelJudge {
            name: name.to_string(),
            model: Arc::new(model),
            budget,
            briefing: self.briefing().await?,
            counts: TokenCounts::default(),
        }))
    }

    /// The offline judge, with the user's signals and notations, their overrides and a model fitted
    /// to labels, if there are any.
    fn offline(&self) -> Result<Judge, UserFileError> {
        let own = signals_of(self.data, self.models, self.project)?;
        let model = success::read(self.models, self.project)?;
        Ok(match (own, model) {
            (None, None) => Judge::Offline,
            (own, None) => Judge::OwnSignals(Arc::new(own.unwrap_or_default())),
            (own, Some((model, text))) => {
                Judge::OwnSignals(Arc::new(own.unwrap_or_default().with_model(model, &text)))
            }
        })
    }

    /// Model prices of the project.
    pub fn prices(&self) -> Arc<PriceTable> {
        match self.store {
            Some(store) => store.prices(self.project),
            None => Arc::new(PriceTable::builtin()),
        }
    }

    /// Returns how sessions are presented to a judge, with the user's prompt if there is one.
    ///
    /// # Errors
    /// Fails if the user's file cannot be read.
    pub async fn briefing(&self) -> Result<Briefing, UserFileError> {
        let briefing = Briefing::new(user_files::prompt(self.data, FILE, SHIPPED)?, self.seed);
        let notations = Arc::new(notations(self.data)?);
        Ok(Briefing { project: self.project_name().await, notations, ..briefing })
    }

    /// The name of the project. A judge can do without it, so it is no fault if there is none.
    async fn project_name(&self) -> Option<String> {
        let projects = self.store?.catalog.projects().await.ok()?;
        projects.into_iter().find(|known| known.id == *self.project).map(|known| known.name)
    }
}

/// Reads signals and notations of the user's own; `None` if there are none.
///
/// # Errors
/// Fails if a file cannot be read or is invalid.
pub fn own_signals(data: Option<&Path>) -> Result<Option<OwnSignals>, UserFileError> {
    let (signals, signals_text) = own(data, SIGNALS_FILE, SignalSet::parse)?.unzip();
    let (notations, notations_text) = own(data, NOTATIONS_FILE, Notations::parse)?.unzip();
    let texts: Vec<&str> = signals_text.iter().chain(&notations_text).map(String::as_str).collect();
    Ok((!texts.is_empty()).then(|| OwnSignals::new(signals, notations, &texts)))
}

/// Returns how results and speakers are recognised, with the user's file if there is one.
///
/// # Errors
/// Fails if the file cannot be read or is invalid.
pub fn notations(data: Option<&Path>) -> Result<Notations, UserFileError> {
    let own = own(data, NOTATIONS_FILE, Notations::parse)?;
    Ok(own.map_or_else(|| Notations::shipped().clone(), |(notations, _)| notations))
}

/// Reads a file of the user's own; `None` if there is none.
fn own<T, E: std::error::Error + Send + Sync + 'static>(
    data: Option<&Path>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<(T, String)>, UserFileError> {
    let file = data.map(|data| data.join(name)).filter(|file| file.exists());
    let Some(file) = file else { return Ok(None) };
    let text = user_files::read(&file)?;
    let parsed = parse(&text).map_err(UserFileError::invalid("", &file))?;
    Ok(Some((parsed, text)))
}
