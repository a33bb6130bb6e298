use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ratchet_core::catalog::evaluator::document::{
    EvaluationRule, EvaluationTarget, Evaluator, EvaluatorState,
};
use ratchet_core::record::field_table;
use ratchet_store::catalog::{Catalog, DocumentKind, Documents};
use ratchet_store::project::ProjectId;
use ratchet_store::query::{ObservationColumn, TraceColumn};
use ratchet_store::{Store, StoreError, StoreResult};

use crate::dashboards::definitions;
use crate::dashboards::filter::{ConditionProblem, Filter};

/// All evaluators and rules of a project.
#[derive(Clone, Debug, Default)]
pub(super) struct ProjectRules {
    pub(super) evaluators: Vec<Evaluator>,
    pub(super) rules: Vec<EvaluationRule>,
}

/// The rules of all projects that have any that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningRules(HashMap<ProjectId, Arc<ProjectRules>>);

/// The resolved filter of a rule. Rules for observations filter these, all others filter traces.
#[derive(Clone, Debug)]
pub(super) enum RuleFilter {
    Traces(Filter<TraceColumn>),
    Observations(Filter<ObservationColumn>),
}

impl RunningRules {
    pub(super) async fn load(store: &Store) -> StoreResult<Self> {
        let mut all = HashMap::new();
        for project in store.catalog.projects().await? {
            let rules = ProjectRules::load(&store.catalog, project.id.clone()).await?;
            all.insert(project.id, Arc::new(rules));
        }
        Ok(Self(all))
    }

    /// Projects with a rule that runs.
    pub(super) fn projects(&self) -> HashSet<ProjectId> {
        let running = self.0.iter().filter(|(_, rules)| rules.watched().next().is_some());
        running.map(|(project, _)| project.clone()).collect()
    }

    /// The evaluators that run, with their projects.
    pub(super) fn active(&self) -> impl Iterator<Item = (&ProjectId, &Evaluator)> {
        self.0.iter().flat_map(|(project, all)| {
            let active = all.evaluators.iter().filter(|one| all.is_active(one));
            active.map(move |evaluator| (project, evaluator))
        })
    }

    pub(super) fn of(&self, project: &ProjectId) -> Arc<ProjectRules> {
        self.0.get(project).cloned().unwrap_or_default()
    }

    /// The shortest delay of all rules that run.
    pub(super) fn min_delay(&self) -> Option<Duration> {
        self.0
            .values()
            .flat_map(|rules| rules.watched())
            .map(|(rule, _)| delay_in_outbox(rule))
            .min()
    }
}

/// How long a trace stays in the outbox for a rule. A session is waited for in the queue.
fn delay_in_outbox(rule: &EvaluationRule) -> Duration {
    match rule.target {
        EvaluationTarget::Session => Duration::ZERO,
        _ => rule.delay(),
    }
}

impl ProjectRules {
    pub(super) async fn load(catalog: &Catalog, project: ProjectId) -> StoreResult<Self> {
        let work = |documents: &Documents<'_>| -> StoreResult<Self> { Self::read(documents) };
        catalog.with_documents::<_, StoreError>(project, work).await
    }

    pub(super) fn read(documents: &Documents<'_>) -> StoreResult<Self> {
        let rules = documents.all(DocumentKind::EvaluationRule)?;
        let evaluators = documents.all(DocumentKind::Evaluator)?;
        Ok(Self {
            evaluators: evaluators.iter().map(definitions::read).collect::<StoreResult<_>>()?,
            rules: rules.iter().map(definitions::read).collect::<StoreResult<_>>()?,
        })
    }

    pub(super) fn evaluator(&self, id: &str) -> Option<&Evaluator> {
        self.evaluators.iter().find(|evaluator| evaluator.id == id)
    }

    pub(super) fn is_active(&self, evaluator: &Evaluator) -> bool {
        evaluator.state(&self.rules) == EvaluatorState::Active
    }

    /// Rules that run, with each of their evaluators, also with those that are paused: what these do
    /// not judge is counted.
    pub(super) fn watched(&self) -> impl Iterator<Item = (&EvaluationRule, &Evaluator)> {
        self.rules.iter().filter(|rule| rule.is_running()).flat_map(|rule| {
            let used = self.evaluators.iter().filter(|one| rule.uses(&one.id));
            used.map(move |evaluator| (rule, evaluator))
        })
    }
}

impl RuleFilter {
    /// Resolves the filter of a rule.
    ///
    /// # Errors
    /// Says which condition cannot be used, and why.
    pub(super) fn of(rule: &EvaluationRule) -> Result<Self, String> {
        let said = |problems: Vec<(usize, ConditionProblem)>| {
            let messages =
                problems.iter().map(|(at, one)| format!("filter[{at}]: {}", one.message));
            messages.collect::<Vec<_>>().join("; ")
        };
        match rule.target {
            EvaluationTarget::Observation => {
                let filter = Filter::resolve(&rule.filter, &field_table::OBSERVATION);
                Ok(Self::Observations(filter.map_err(said)?))
            }
            _ => {
                let filter = Filter::resolve(&rule.record_filter(), &field_table::TRACE);
                Ok(Self::Traces(filter.map_err(said)?))
            }
        }
    }
}
