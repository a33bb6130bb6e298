//! Creates judges by name: the same for commands and for scheduled runs.

use std::path::Path;
use std::sync::Arc;

use ratchet_agent::budget::Budget;
use ratchet_agent::environment::Variables;
use ratchet_agent::judge::JudgeName;
use ratchet_agent::model::PriceList;
use ratchet_core::judge::judge_prompt::{FILE, SHIPPED};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::price::PriceTable;
use ratchet_core::time::Timestamp;
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use super::judge::{Briefing, Judge, ModelJudge, OwnSignals};
use crate::llm_connections::ConnectError;
use crate::llm_connections::judge::{self, JudgeAccess};
use crate::user_files::{self, UserFileError};

/// The signals of the offline judge, in a data folder.
const SIGNALS_FILE: &str = "offline/signals.toml";

/// What judges are created from.
#[derive(Clone, Copy, Debug)]
pub struct JudgeFactory<'a> {
    /// The store, which has prices and LLM connections.
    pub store: Option<&'a Store>,
    pub project: &'a ProjectId,
    /// The data folder, which may have the user's own prompts.
    pub data: Option<&'a Path>,
    /// The secret from which the markers around evidence are derived.
    pub seed: &'a str,
    pub outbound: &'a OutboundPolicy,
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
        };
        let Some(model) = judge::open(name, access).await? else {
            return Ok(self.offline()?);
        };
        Ok(Judge::Model(ModelJudge {
            name: name.to_string(),
            model: Arc::new(model),
            budget,
            briefing: self.briefing()?,
        }))
    }

    /// The offline judge, with the user's signals if there are any.
    fn offline(&self) -> Result<Judge, UserFileError> {
        let own = self.data.map(|data| data.join(SIGNALS_FILE)).filter(|file| file.exists());
        let Some(file) = own else { return Ok(Judge::Offline) };
        let own = OwnSignals::parse(&user_files::read(&file)?);
        Ok(Judge::OwnSignals(Arc::new(own.map_err(UserFileError::invalid("", &file))?)))
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
    pub fn briefing(&self) -> Result<Briefing, UserFileError> {
        Ok(Briefing::new(user_files::prompt(self.data, FILE, SHIPPED)?, self.seed))
    }
}
