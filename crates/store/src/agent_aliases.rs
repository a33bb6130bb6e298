//! Aliases of agents by project: a condition on an agent's name also finds its aliases.

use std::sync::{Arc, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use crate::project::ProjectId;
use crate::query::{Condition, ObservationColumn, SessionColumn, Test, TextTest, TraceColumn};

/// The names of each agent that has aliases: its own first.
pub(crate) type AgentNames = Vec<Vec<String>>;

/// Names of agents by project. Read for every query with a condition on an agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentAliases(Arc<RwLock<FxHashMap<ProjectId, Arc<AgentNames>>>>);

/// A column that may have the name of an agent.
pub(crate) trait AgentColumn {
    fn is_agent(&self) -> bool;
}

impl AgentColumn for TraceColumn {
    fn is_agent(&self) -> bool {
        *self == Self::Agent
    }
}

impl AgentColumn for ObservationColumn {
    fn is_agent(&self) -> bool {
        *self == Self::Agent
    }
}

impl AgentColumn for SessionColumn {
    fn is_agent(&self) -> bool {
        *self == Self::Agents
    }
}

impl AgentAliases {
    /// Sets the names of a project's agents.
    pub(crate) fn set(&self, project: &ProjectId, mut names: AgentNames) {
        names.retain(|names| names.len() > 1);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if names.is_empty() {
            known.remove(project);
        } else {
            known.insert(project.clone(), Arc::new(names));
        }
    }

    /// The names of the project's agents that have aliases.
    pub(crate) fn names(&self, project: &ProjectId) -> Arc<AgentNames> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(project).cloned().unwrap_or_default()
    }

    /// Extends conditions on an agent to all names of the agent.
    pub(crate) fn resolve<C: AgentColumn>(
        &self,
        project: &ProjectId,
        conditions: &mut [Condition<C>],
    ) {
        let agents = conditions.iter_mut().filter(|condition| condition.column.is_agent());
        let known = self.names(project);
        if known.is_empty() {
            return;
        }
        for condition in agents {
            condition.test = resolved(&condition.test, &known);
        }
    }
}

/// The own name of the agent that a name or alias means.
pub(crate) fn own_name(known: &AgentNames, word: String) -> String {
    let agent = known.iter().find(|names| names.contains(&word));
    agent.and_then(|names| names.first()).cloned().unwrap_or(word)
}

fn resolved(test: &Test, known: &AgentNames) -> Test {
    let all = |names: &[String]| {
        let of_one = |name: &String| {
            let agent = known.iter().find(|names| names.contains(name)).cloned();
            agent.unwrap_or_else(|| vec![name.clone()])
        };
        names.iter().flat_map(of_one).collect()
    };
    match test {
        Test::Text(TextTest::Equals, name) => Test::AnyOf(all(std::slice::from_ref(name))),
        Test::Text(TextTest::Differs, name) => Test::NoneOf(all(std::slice::from_ref(name))),
        Test::AnyOf(names) => Test::AnyOf(all(names)),
        Test::NoneOf(names) => Test::NoneOf(all(names)),
        Test::Text(..)
        | Test::Number(..)
        | Test::AnyNumber(_)
        | Test::Time(..)
        | Test::Is(_)
        | Test::AllOf(_)
        | Test::IsNull
        | Test::IsNotNull
        | Test::Key(..) => test.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_on_any_name_of_an_agent_finds_all_its_names() {
        let (aliases, project) = (AgentAliases::default(), ProjectId::parse("shop").unwrap());
        aliases.set(&project, vec![vec!["bot".into(), "bot-v1".into()], vec!["lone".into()]]);
        let check = |given: Test, expected: Test| {
            let mut conditions = vec![Condition { column: TraceColumn::Agent, test: given }];
            aliases.resolve(&project, &mut conditions);
            assert_eq!(conditions[0].test, expected);
        };
        let both = || vec!["bot".to_owned(), "bot-v1".to_owned()];
        let text = |how, name: &str| Test::Text(how, name.to_owned());
        check(text(TextTest::Equals, "bot"), Test::AnyOf(both()));
        check(text(TextTest::Equals, "bot-v1"), Test::AnyOf(both()));
        check(text(TextTest::Differs, "bot"), Test::NoneOf(both()));
        check(text(TextTest::Equals, "lone"), Test::AnyOf(vec!["lone".to_owned()]));
        check(text(TextTest::Contains, "bot"), text(TextTest::Contains, "bot"));
        let mut name = vec![Condition::equals(TraceColumn::Name, "bot")];
        aliases.resolve(&project, &mut name);
        assert_eq!(name, [Condition::equals(TraceColumn::Name, "bot")]);
    }
}
