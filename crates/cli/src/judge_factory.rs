//! Judges by their names, ready to be asked: the same for a command and for what runs by itself.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ratchet_agent::budget::Budget;
use ratchet_agent::judge::JudgeName;
use ratchet_agent::model::PriceList;
use ratchet_core::judge::judge_prompt::{FILE, SHIPPED};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::price::PriceTable;
use ratchet_server::clock::Clock;
use ratchet_stages::llm_connections::judge::{self, JudgeAccess};
use ratchet_stages::score::judge::{Briefing, Judge, ModelJudge};
use ratchet_store::Store;
use ratchet_store::project::ProjectId;

use crate::offline;

/// Where judges are found, and what they are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgeFactory<'a> {
    /// The data folder, which has prices and connections.
    pub(crate) folder: Option<&'a Store>,
    pub(crate) project: &'a ProjectId,
    /// The folder's place, where users keep words of their own.
    pub(crate) data: Option<&'a Path>,
    /// A secret from which marks around evidence follow.
    pub(crate) seed: &'a str,
    pub(crate) outbound: &'a OutboundPolicy,
}

impl JudgeFactory<'_> {
    /// Makes a judge ready; nobody is asked yet.
    pub(crate) async fn open(&self, name: &JudgeName, budget: Budget) -> anyhow::Result<Judge> {
        let means = JudgeAccess {
            variables: &|name| std::env::var(name).ok(),
            prices: PriceList { table: self.prices(), at: Clock::System.now() },
            connections: self.folder.map(|folder| (folder, self.project)),
            outbound: self.outbound,
        };
        let Some(model) = judge::open(name, means).await? else {
            return offline::judge(self.data);
        };
        Ok(Judge::Model(ModelJudge {
            name: name.to_string(),
            model: Arc::new(model),
            budget,
            briefing: self.briefing()?,
        }))
    }

    pub(crate) fn prices(&self) -> Arc<PriceTable> {
        match self.folder {
            Some(folder) => folder.prices(self.project),
            None => Arc::new(PriceTable::builtin()),
        }
    }

    /// How sessions are put before a judge: in the user's own words, if they have any.
    pub(crate) fn briefing(&self) -> anyhow::Result<Briefing> {
        Ok(Briefing::new(words(self.data, FILE, SHIPPED)?, self.seed))
    }
}

/// What the user's file of that name in `<data>/prompts` says; without one, what we say.
pub(crate) fn words(data: Option<&Path>, file: &str, ours: &str) -> anyhow::Result<String> {
    let own = data.map(|data| data.join("prompts").join(file)).filter(|file| file.exists());
    match own {
        Some(file) => std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display())),
        None => Ok(ours.to_owned()),
    }
}
