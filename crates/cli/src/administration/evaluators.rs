//! Online evaluators of a project.

use ratchet_server::api::evaluators::{
    BackfillRequest, BackfillView, EvaluatorStatusView, EvaluatorSwitch, EvaluatorTarget,
    EvaluatorsView, one,
};
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::score::evaluators::EvaluationWorker;
use ratchet_stages::score::evaluators::backfill::BackfillPlan;
use ratchet_stages::score::evaluators::manage;
use ratchet_store::project::ProjectId;

use super::Administration;

/// Whether records are judged for a look, or get scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retrospect {
    Test,
    Backfill,
}

impl Administration {
    /// The evaluators of a project, by name; figures about one agent only, if it is named.
    pub(crate) async fn evaluators(
        &self,
        project: &str,
        agent: Option<&str>,
    ) -> anyhow::Result<EvaluatorsView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (project, now) = (ProjectId::parse(project)?, Clock::System.now());
                let all = manage::list_of(folder, &project, agent, now).await?;
                Ok(EvaluatorsView { evaluators: all.into_iter().map(Into::into).collect() })
            }
            DataTarget::Server(server) => {
                let pairs: Vec<_> =
                    agent.map(|name| ("agent", name.to_owned())).into_iter().collect();
                Ok(server.get_with(&["v1", "projects", project, "evaluators"], &pairs).await?)
            }
        }
    }

    /// One evaluator, by name or id.
    pub(crate) async fn evaluator(
        &self,
        project: &str,
        name: &str,
    ) -> anyhow::Result<EvaluatorStatusView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                Ok(one(folder, &ProjectId::parse(project)?, name, Clock::System.now()).await?)
            }
            DataTarget::Server(server) => {
                Ok(server.get(&["v1", "projects", project, "evaluators", name]).await?)
            }
        }
    }

    /// Pauses or resumes an evaluator.
    pub(crate) async fn switch_evaluator(
        &self,
        project: &str,
        name: &str,
        switch: EvaluatorSwitch,
    ) -> anyhow::Result<EvaluatorStatusView> {
        match &self.0 {
            DataTarget::Folder(folder) => {
                let (id, now) = (ProjectId::parse(project)?, Clock::System.now());
                let name = name.to_owned();
                match switch.state {
                    EvaluatorTarget::Active => {
                        manage::resume(&folder.catalog, id, name.clone(), now).await?;
                    }
                    EvaluatorTarget::Paused => {
                        let reason =
                            switch.reason.unwrap_or_else(|| "paused by a person".to_owned());
                        manage::pause(&folder.catalog, id, (name.clone(), reason), now).await?;
                    }
                }
                self.evaluator(project, &name).await
            }
            DataTarget::Server(server) => {
                let path = ["v1", "projects", project, "evaluators", name, "state"];
                Ok(server.put(&path, &switch).await?)
            }
        }
    }

    /// Tests an evaluator or judges what was recorded before; `worker` is used on a data folder.
    pub(crate) async fn judge_in_retrospect(
        &self,
        project: &str,
        (name, what): (&str, Retrospect),
        request: BackfillRequest,
        worker: Option<&EvaluationWorker>,
    ) -> anyhow::Result<BackfillView> {
        let Some(worker) = worker else {
            let DataTarget::Server(server) = &self.0 else {
                anyhow::bail!("the data folder is not open");
            };
            let action = match what {
                Retrospect::Test => "test",
                Retrospect::Backfill => "backfill",
            };
            let path = ["v1", "projects", project, "evaluators", name, action];
            return Ok(server.post(&path, &request).await?);
        };
        let (project, is_dry) = (ProjectId::parse(project)?, request.dry_run);
        let plan = match what {
            Retrospect::Test => BackfillPlan { since: None, limit: request.records()? },
            Retrospect::Backfill => request.plan(Clock::System.now())?,
        };
        if is_dry {
            let estimate = Box::pin(worker.estimate(&project, (name, plan))).await?;
            return Ok(BackfillView::new(estimate, true, Vec::new()));
        }
        let (estimate, verdicts) = match what {
            Retrospect::Test => Box::pin(worker.test(&project, (name, plan.limit))).await?,
            Retrospect::Backfill => {
                (Box::pin(worker.backfill(&project, (name, plan))).await?, Vec::new())
            }
        };
        Ok(BackfillView::new(estimate, false, verdicts))
    }
}
