use ratchet_core::judge::offline;
use std::env;
use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use ratchet_agent::budget::{Allowance, Budget};
use ratchet_agent::environment::Variables;
use ratchet_agent::judge::{DefaultModels, JudgeName};
use ratchet_core::money::Money;
use ratchet_core::record::price::PriceTable;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::ScoringTarget;
use ratchet_stages::schedule::NOBODY;
use ratchet_stages::score::judge::{Briefing, Judge};
use ratchet_stages::source::Source;

/// Who judges, and what that may take.
#[derive(Args, Debug)]
pub(crate) struct JudgeArgs {
    /// Judge: `offline` (free, no key), `anthropic[:MODEL]`, `bedrock:MODEL`,
    /// `openai:MODEL`, `claude[:MODEL]` or `connection:NAME[:MODEL]`
    #[arg(long, value_name = "JUDGE", default_value = offline::NAME)]
    judge: String,
    /// Sessions scored concurrently
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = at_once)]
    pub(crate) concurrency: usize,
    /// Budget in USD; run the same command again to continue
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<Money>,
    /// Use the batch API: half the price, results within a day
    #[arg(long)]
    batch: bool,
    /// Poll batch results every N seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, hide = true)]
    poll: u64,
}

fn at_once(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=64).contains(count));
    count.ok_or_else(|| "between 1 and 64".to_owned())
}

pub(crate) fn dollars(text: &str) -> Result<Money, String> {
    let dollars = text.parse().ok().filter(|dollars: &f64| *dollars >= 0.0);
    let money = dollars.and_then(Money::from_dollars);
    money.ok_or_else(|| "an amount in USD, such as 2.50".to_owned())
}

impl JudgeArgs {
    /// One model with a budget.
    pub(crate) fn of_model(name: &str, max_cost: Option<Money>) -> Self {
        Self { judge: name.to_owned(), concurrency: 1, max_cost, batch: false, poll: 30 }
    }

    /// How often one looks for the answers of batches, if there are to be any.
    pub(crate) fn batch(&self) -> Option<Duration> {
        self.batch.then(|| Duration::from_secs(self.poll))
    }

    /// What the judge is called, its model included.
    pub(super) fn name(&self) -> anyhow::Result<String> {
        Ok(JudgeName::parse(&self.judge, &DefaultModels::builtin())?.to_string())
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget::new(Allowance { money: self.max_cost, ..Allowance::default() })
    }

    /// Whether the scores that are there will do.
    pub(crate) fn is_none(&self) -> bool {
        self.judge == NOBODY
    }

    /// Opens the judge, without a model call.
    pub(crate) async fn open(&self, target: &ScoringTarget) -> anyhow::Result<Judge> {
        let name = JudgeName::parse(&self.judge, &DefaultModels::builtin())?;
        let seed = target.seed()?;
        let (factory, variables) = (target.judge_factory(&seed), |name: &str| env::var(name).ok());
        let environment: (Variables<'_>, _) = (&variables, Clock::System.now());
        let mut judge = factory.open(&name, self.budget(), environment).await?;
        if let Judge::Model(model) = &mut judge {
            name_project(&mut model.briefing, target).await;
        }
        let answers_at_once = !judge.wants_money();
        ensure!(
            !(self.batch && answers_at_once),
            "the offline judge answers at once; --batch is for models"
        );
        Ok(judge)
    }
}

pub(crate) fn prices(target: &ScoringTarget) -> Arc<PriceTable> {
    target.judge_factory("").prices()
}

/// How sessions are put before a judge.
pub(super) async fn briefing(target: &ScoringTarget) -> anyhow::Result<Briefing> {
    let mut briefing = target.judge_factory(&target.seed()?).briefing().await?;
    name_project(&mut briefing, target).await;
    Ok(briefing)
}

/// Names the project of a server, which the data folder does not know.
async fn name_project(briefing: &mut Briefing, target: &ScoringTarget) {
    if let Source::Remote(_) = target.source {
        briefing.project = target.project().await.map(|(_, name)| name);
    }
}
