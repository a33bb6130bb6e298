use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use futures_util::future::BoxFuture;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_remote::ratchet::RatchetClient;
use ratchet_server::app::{App, Settings};
use ratchet_server::auth::Caller;
use ratchet_server::clock::Clock;
use ratchet_server::mcp::{
    Api, ApiCall, ApiRouter, FeedbackRecords, LocalApi, MAX_ANSWER_BYTES, McpServer, Records,
    ToolError, ToolGrants, read_answer,
};
use ratchet_stages::app_state::AppState;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::source::Source;
use ratchet_stages::user_files;
use ratchet_store::Store;
use ratchet_store::catalog::{Actor, Permissions, Role};
use ratchet_store::project::ProjectId;
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use serde_json::Value;

use crate::administration::Administration;
use crate::config::Config;
use crate::data_target::{self, TargetArgs};
use crate::exit::Outcome;
use crate::runtime;

/// `ratchet mcp`
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Project name or ID in the data folder; required only if there are several
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Also offer tools that change prompts, datasets and scores
    #[arg(long)]
    manage: bool,
    /// Folder with the agent's code, which `read_codebase` shows; with a data folder only
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    code: Option<PathBuf>,
}

/// Runs `ratchet mcp`: serves requests from stdin on stdout until stdin closes.
pub(crate) fn run(args: &McpArgs) -> anyhow::Result<Outcome> {
    runtime::block_on(async {
        data_target::with(&args.target, "ratchet mcp", async |target| {
            let server = open(target, args).await?;
            let service = server.serve(stdio()).await.context("the client disconnected")?;
            service.waiting().await.context("the server stopped unexpectedly")?;
            Ok(())
        })
        .await?;
        Ok(Outcome::Done)
    })
}

/// The tools on a folder, or on a server with a key.
async fn open(target: &Administration, args: &McpArgs) -> anyhow::Result<McpServer> {
    let config = Config::load(&args.target.config, Vec::new())?;
    let grants = if args.manage { ToolGrants::ALL } else { ToolGrants::READ_ONLY };
    let clock = Clock::System;
    match &target.0 {
        DataTarget::Folder(store) => {
            let project = target.project(args.project.as_deref()).await?;
            let project = ProjectId::parse(&project.id)?;
            let api: Arc<dyn Api> = Arc::new(local_api(store, &config, project.clone())?);
            let source = Source::Local(store.telemetry.clone(), project.clone());
            let site = ReviewSite::new(source.clone(), store.catalog.clone(), project.clone());
            let code = args.code.clone();
            let feedback = FeedbackRecords::new(source.clone(), site, code, clock.clone());
            let reports = Some((store.catalog.clone(), project));
            let records = Records { source, reports, clock };
            Ok(McpServer { api, records, feedback: Some(feedback), grants })
        }
        DataTarget::Server(server) => {
            let api = Arc::new(RemoteApi(server.clone()));
            let source = Source::Remote(server.langfuse()?);
            let records = Records { source, reports: None, clock };
            Ok(McpServer { api, records, feedback: None, grants })
        }
    }
}

/// The API of a folder that this process has open, with the local user's permissions.
fn local_api(store: &Store, config: &Config, project: ProjectId) -> anyhow::Result<LocalApi> {
    let place = (store.clone(), config.data.clone());
    let state = AppState::new(place, Clock::System, OutboundPolicy::default());
    let app = App::new(state, Settings::default(), user_files::prices(&config.data)?);
    let router = ApiRouter::new(&app);
    let (role, permissions, actor) = (Role::Owner, Permissions::NONE, Actor::CommandLine);
    let (key, person) = ("ratchet mcp".to_owned(), None);
    let caller = Caller { project, key, role, person, permissions, actor };
    Ok(LocalApi::new(app, router, caller))
}

/// The REST API of another server.
#[derive(Debug)]
struct RemoteApi(RatchetClient);

impl Api for RemoteApi {
    fn call(&self, call: ApiCall) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let ApiCall { method, path, body } = call;
            let sent = self.0.exchange(method, &path, (body.as_ref(), MAX_ANSWER_BYTES)).await;
            let (status, body) =
                sent.map_err(|error| ToolError(format!("{:#}", anyhow::Error::from(error))))?;
            read_answer(status, &body)
        })
    }
}
