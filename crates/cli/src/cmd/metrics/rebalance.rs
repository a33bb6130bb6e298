use clap::Args;
use ratchet_core::review::split_proposal::{SplitProposal, SplitView};
use ratchet_server::api::rebalancing::RebalanceRequest;
use ratchet_server::clock::Clock;
use ratchet_stages::review::rebalancing;

use super::source::{self, SourceArgs};
use super::{COMMAND, categories_text};
use crate::data_target::{self, ProjectArgs};
use crate::exit::Outcome;
use crate::print::{one_line, table};

#[derive(Args, Debug)]
pub(super) struct RebalanceArgs {
    /// The agent; needed only where several have samples
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The half-width of agent accuracy to keep, such as 0.06 [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    half_width: Option<f64>,
    /// Accept the proposal: the agent's next draws use it
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    project: ProjectArgs,
}

pub(super) async fn run(args: &RebalanceArgs) -> anyhow::Result<Outcome> {
    let request = RebalanceRequest { agent: args.agent.clone(), half_width: args.half_width };
    let proposal = match &args.source.source {
        Some(url) => {
            source::with_site(&args.project, url, async |site| {
                let proposal = request.read(site, Clock::System.now()).await?;
                if args.accept {
                    let accept = (site, &site.catalog);
                    rebalancing::accept(accept, &proposal, Clock::System.now()).await?;
                }
                Ok(proposal)
            })
            .await?
        }
        None => {
            data_target::with_project(&args.project, COMMAND, async |target, project| {
                let proposal = target.split_proposal(&project.id, request).await?;
                if args.accept {
                    target.accept_split(&project.id, &proposal).await?;
                }
                Ok(proposal)
            })
            .await?
        }
    };
    args.project.output.show(&proposal, |proposal| text(proposal, args.accept))?;
    Ok(Outcome::Done)
}

fn text(proposal: &SplitProposal, is_accepted: bool) -> String {
    let mut text = match (&proposal.from, &proposal.to) {
        (Some(from), Some(to)) => {
            format!("{} reviewed weeks, {from} to {to}", proposal.weeks)
        }
        _ => "no reviewed weeks in the last quarter".to_owned(),
    };
    if let Some(agent) = &proposal.agent {
        text += &format!(", agent {}", one_line(agent));
    }
    text += "\n";
    if !proposal.categories.is_empty() {
        text += &format!("{}\n", categories_text(&proposal.categories));
    }
    let row = |(name, split): (&str, SplitView)| {
        [
            name.to_owned(),
            split.flagged.to_string(),
            split.quiet.to_string(),
            format!("±{:.1} points", split.half_width * 100.0),
            format!("{:.1}", split.expected_failures),
        ]
    };
    let named = [("current", proposal.current), ("proposed", proposal.proposed)];
    let named = named.into_iter().filter_map(|(name, split)| Some((name, split?)));
    let rows: Vec<_> = named.map(row).collect();
    if !rows.is_empty() {
        text += &table(["SPLIT", "W5", "W6+U3", "HALF-WIDTH", "FAILURES FOUND"], &rows);
    }
    for missing in &proposal.missing {
        text += &format!("missing: {missing}\n");
    }
    if is_accepted {
        text += "Accepted: the next draws use the proposed split.\n";
    } else if proposal.proposed.is_some() {
        text += "Accept it with --accept.\n";
    } else if proposal.missing.is_empty() {
        text += "The current split is the best one.\n";
    }
    text
}
