use clap::Args;
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::score::journal::Journal;

use super::COMMAND;
use crate::data_target::{self, ProjectArgs, ScoringArgs};

/// The flag of commands that can work on a Langfuse server.
#[derive(Args, Clone, Debug)]
pub(super) struct SourceArgs {
    /// URL of a Langfuse server with the traces and scores; keys as for `ratchet score`. Draws are
    /// kept in the data folder (--data), else in the user's state folder
    #[arg(long, value_name = "URL", conflicts_with_all = ["server", "project"])]
    pub(super) source: Option<String>,
}

/// Works on the reviews of a Langfuse server.
pub(super) async fn with_site<T>(
    args: &ProjectArgs,
    url: &str,
    work: impl AsyncFnOnce(&ReviewSite) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let scoring = ScoringArgs {
        config: args.target.config.clone(),
        source: url.to_owned(),
        server: None,
        project: None,
    };
    data_target::with_scoring(&scoring, COMMAND, async |target| {
        let Journal { catalog, project } = &target.journal;
        let site = ReviewSite::new(target.source.clone(), catalog.clone(), project.clone());
        Box::pin(work(&site)).await
    })
    .await
}
