use ratchet_store::StoreResult;
use ratchet_store::catalog::Agent;
use ratchet_store::review_signals::AgentScope;

use super::review_site::ReviewSite;

/// The agents of a project, by name and alias.
pub(super) struct KnownAgents(Vec<Agent>);

impl KnownAgents {
    pub(super) async fn read(site: &ReviewSite) -> StoreResult<Self> {
        site.catalog.agents(site.settings.clone()).await.map(Self)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the agent of a name or alias.
    pub(super) fn find(&self, name: &str) -> Option<&Agent> {
        let is_named = |agent: &&Agent| {
            agent.name == name || agent.settings.aliases.iter().any(|alias| alias == name)
        };
        self.0.iter().find(is_named)
    }

    /// Returns the name of the agent that a name or alias means.
    pub(super) fn name_of(&self, name: &str) -> String {
        self.find(name).map_or_else(|| name.to_owned(), |agent| agent.name.clone())
    }

    /// Returns the traces of an agent by name or alias.
    pub(super) fn scope(&self, name: &str) -> AgentScope {
        let aliases = self.find(name).map(|agent| agent.settings.aliases.clone());
        let own = std::iter::once(self.name_of(name));
        AgentScope::Named(own.chain(aliases.unwrap_or_default()).collect())
    }
}
