use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::review::split_proposal::{SplitProposal, SplitView, WEEKS};
use ratchet_core::review::week_facts::Cut;
use ratchet_core::time::Timestamp;
use ratchet_store::StoreError;
use ratchet_store::catalog::{Agent, Catalog};
use ratchet_store::review_signals::AgentScope;

use super::known_agents::KnownAgents;
use super::review_site::{ReviewSite, ReviewSiteError, ReviewSiteResult};
use super::{weekly_draw, weekly_metrics};

/// Drawn weeks that are searched for those of an agent.
const MAX_WEEKS: u64 = 60;
/// How long a quarter is.
const QUARTER_NANOS: i64 = 13 * 7 * 24 * 60 * 60 * 1_000_000_000;

/// What a quarter's reviews propose for an agent.
#[derive(Clone, Copy, Debug)]
pub struct RebalanceQuery<'a> {
    /// Name or alias; `None` for the one agent with draws, or for traces without one.
    pub agent: Option<&'a str>,
    /// The half-width to keep; the agent's where `None`.
    pub half_width: Option<f64>,
    pub now: Timestamp,
}

/// Proposes the next split of an agent's review sample, from the weeks of the last quarter.
///
/// # Errors
/// Fails if several agents have samples and none is named, and if draws or scores cannot be read.
pub async fn propose(
    site: &ReviewSite,
    query: RebalanceQuery<'_>,
) -> ReviewSiteResult<SplitProposal> {
    let weeks = weeks(site, query.now).await?;
    let agent = match query.agent {
        Some(name) => Some(known(site, name).await?.0),
        None => only_agent(site, &weeks).await?,
    };
    let settings = match &agent {
        Some(name) => known(site, name).await?.1,
        None => AgentSettings::default(),
    };
    let agents = match &agent {
        Some(name) => KnownAgents::read(site).await?.scope(name),
        None => AgentScope::Unnamed,
    };
    let items = site.sourced_items(query.now.plus_nanos(-QUARTER_NANOS)).await?;
    let mut quarter = Vec::new();
    for week in weeks {
        let all = (&agents, Cut::default());
        let facts = weekly_metrics::drawn_facts(site, week.clone(), all, &items).await?;
        if facts.drawn > 0 && quarter.len() < WEEKS {
            quarter.push((week, facts));
        }
    }
    let wanted = query.half_width.unwrap_or(settings.half_width);
    let plan = weekly_draw::plan(&settings);
    Ok(SplitProposal::new(agent, &quarter, (&plan, wanted)))
}

/// Accepts a proposal: the agent's next draws use its split. The catalog is that of the person who
/// accepts, for the audit log.
///
/// # Errors
/// Fails if nothing is proposed, and for traces without an agent, which have no settings.
pub async fn accept(
    (site, catalog): (&ReviewSite, &Catalog),
    proposal: &SplitProposal,
    now: Timestamp,
) -> ReviewSiteResult<Agent> {
    let (name, split) = acceptable(proposal)?;
    let (name, settings) = known(site, name).await?;
    let settings = AgentSettings { flagged_share: Some(split.flagged_share), ..settings };
    Ok(catalog.save_agent(site.settings.clone(), name, settings, now).await?)
}

/// Returns the agent and the split of a proposal that can be accepted.
///
/// # Errors
/// Fails if nothing is proposed, and for traces without an agent.
pub fn acceptable(proposal: &SplitProposal) -> Result<(&str, SplitView), StoreError> {
    let Some(split) = proposal.proposed else {
        let why = match proposal.missing.is_empty() {
            true => "the current split is the best one; there is nothing to accept".to_owned(),
            false => format!("nothing is proposed yet: {}", proposal.missing.join("; ")),
        };
        return Err(StoreError::BadQuery(why));
    };
    let Some(name) = &proposal.agent else {
        let why = "agent: a split is a setting of an agent, and these traces have none; give \
                   traces an agent name first";
        return Err(StoreError::BadQuery(why.to_owned()));
    };
    Ok((name, split))
}

/// The drawn weeks of the last quarter, newest first.
async fn weeks(site: &ReviewSite, now: Timestamp) -> ReviewSiteResult<Vec<String>> {
    let since = now.plus_nanos(-QUARTER_NANOS).to_string();
    let mut weeks = site.catalog.drawn_weeks(site.project.clone(), MAX_WEEKS).await?;
    weeks.retain(|week| week.as_str() >= since.get(..10).unwrap_or_default());
    Ok(weeks)
}

/// The name and settings of an agent by name or alias. One without a record has the default ones.
async fn known(site: &ReviewSite, name: &str) -> ReviewSiteResult<(String, AgentSettings)> {
    match site.catalog.agent(site.settings.clone(), name.to_owned()).await {
        Ok(agent) => Ok((agent.name, agent.settings)),
        Err(StoreError::NotFound(_)) => Ok((name.to_owned(), AgentSettings::default())),
        Err(error) => Err(error.into()),
    }
}

/// Returns the agents that have samples in some weeks.
async fn drawn_agents(
    site: &ReviewSite,
    weeks: &[String],
) -> ReviewSiteResult<Vec<Option<String>>> {
    let known = KnownAgents::read(site).await?;
    let mut agents = Vec::new();
    for week in weeks {
        for draw in site.catalog.draws(site.project.clone(), week.clone()).await? {
            let agent = draw.agent.map(|name| known.name_of(&name));
            if !agents.contains(&agent) {
                agents.push(agent);
            }
        }
    }
    Ok(agents)
}

async fn only_agent(site: &ReviewSite, weeks: &[String]) -> ReviewSiteResult<Option<String>> {
    let mut named = drawn_agents(site, weeks).await?;
    named.retain(Option::is_some);
    if named.len() > 1 {
        let mut names: Vec<String> = named.into_iter().flatten().collect();
        names.sort();
        let why = format!("agent: name one of {}", names.join(", "));
        return Err(ReviewSiteError::Store(StoreError::BadQuery(why)));
    }
    Ok(named.pop().flatten())
}
