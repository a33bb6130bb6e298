/// Events as the server tells them.
mod heard;
/// A session on a server.
mod link;
/// What a person sees.
mod screen;
/// What a person is asked.
mod ask;
/// What a person types.
mod keyboard;
/// A conversation, line by line.
mod talk;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ratchet_core::major::event::EventKind;
use ratchet_core::secret::Secret;
use ratchet_server::stop;
use serde_json::json;

use crate::config::layers::Flag;
use crate::config::{Config, ConfigArgs, Credentials};
use crate::exit::Outcome;
use crate::print::print;
use crate::serving::Server;
use crate::target::Remote;
use crate::{log, runtime, welcome};
use ask::Ask;
use link::{Beginning, Files, Link};
use screen::Style;
use talk::Talk;

/// All that is told but the agent's own lines.
const TOLD: &str = "state,message,text_delta,tool_use,tool_result,question,permission,answered,done,\
                    error,notice";
/// Everything.
const ALL: &str = "";

/// `ratchet chat`
#[derive(Args, Debug)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Talk through this server, with a member's key in `RATCHET_PUBLIC_KEY` and `RATCHET_SECRET_KEY` [default: run the agent from here, on the data folder]
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    server: Option<String>,
    /// Folder that the agent works in [default: this one]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["resume", "fork"])]
    workspace: Option<PathBuf>,
    /// Let the workspace's own hooks and tool servers run
    #[arg(long, conflicts_with = "server")]
    trust: bool,
    /// Go on with a session
    #[arg(long, value_name = "ID", conflicts_with = "fork")]
    resume: Option<String>,
    /// Go on with a copy of a session, which itself stays as it is
    #[arg(long, value_name = "ID")]
    fork: Option<String>,
    /// Give the agent files: Markdown, other text, images, PDF
    #[arg(long, value_name = "FILE", num_args = 1..)]
    attach: Vec<PathBuf>,
    /// Model that answers [default: the claude program's]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["resume", "fork"])]
    model: Option<String>,
    /// What the agent may do without asking: default, acceptEdits, plan, dontAsk
    #[arg(long, value_name = "MODE", conflicts_with_all = ["resume", "fork"])]
    mode: Option<String>,
    /// Send this one message, print the final answer alone, and end
    #[arg(long, value_name = "MESSAGE")]
    print: Option<String>,
    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
}

impl ChatArgs {
    /// Settings for an agent that is run from here: nobody else will connect.
    fn flags(&self) -> anyhow::Result<Vec<Flag>> {
        let mut flags: Vec<Flag> = vec![
            ("listen", "127.0.0.1:0".to_owned()),
            ("otlp_grpc", "off".to_owned()),
            ("otlp_http", "off".to_owned()),
            ("auth", "on".to_owned()),
        ];
        if self.trust {
            let workspace =
                self.workspace()?.canonicalize().context("cannot find the workspace")?;
            let text = workspace.to_str().context("the workspace must be a path in UTF-8")?;
            flags.push(("chat.trusted", text.to_owned()));
        }
        Ok(flags)
    }

    fn workspace(&self) -> anyhow::Result<PathBuf> {
        match &self.workspace {
            Some(folder) => Ok(folder.clone()),
            None => std::env::current_dir().context("cannot tell where this is"),
        }
    }

    fn beginning(&self) -> anyhow::Result<Beginning> {
        if let Some(id) = &self.resume {
            return Ok(Beginning::Resume(id.clone()));
        }
        if let Some(id) = &self.fork {
            return Ok(Beginning::Fork(id.clone()));
        }
        let (model, mode) = (self.model.clone(), self.mode.clone());
        Ok(Beginning::New { workspace: self.workspace()?, model, mode })
    }
}

/// Runs `ratchet chat`.
pub(crate) fn run(args: &ChatArgs) -> anyhow::Result<Outcome> {
    if let Some(url) = &args.server {
        let config = Config::load(&args.config, Vec::new())?;
        let server = Remote::new(url, &config.credentials)?;
        return runtime::block_on(converse(args, &server));
    }
    let mut config = Config::load(&args.config, args.flags()?)?;
    config.warn_of_unknown_variables();
    if config.log.filter == "info" {
        // The conversation is on the screen; the log only speaks up when something is wrong.
        "warn".clone_into(&mut config.log.filter);
    }
    runtime::block_on(async {
        let traces = log::init(&config.log)?;
        let outcome = host(args, &config).await;
        log::stop(traces).await;
        outcome
    })
}

/// Runs a server for as long as the conversation lasts.
async fn host(args: &ChatArgs, config: &Config) -> anyhow::Result<Outcome> {
    let server = Server::open(config, "ratchet chat").await?;
    let key = server.another_key("ratchet chat").await?;
    let url = welcome::url(server.bound.web);
    let (public_key, catalog) = (key.public_key.clone(), server.catalog());
    let project = server.opening.project.id.clone();
    let secret_key = Secret::new(key.secret_key.expose());
    let credentials =
        Credentials { public_key: Some(key.public_key), secret_key: Some(secret_key) };
    let remote = Remote::new(&url, &credentials)?;
    let (stopper, stop) = stop::signal();
    let talking = async {
        let talked = converse(args, &remote).await;
        // Nobody needs it any more.
        let now = ratchet_server::clock::Clock::System.now();
        let revoked = catalog.revoke_key(project, public_key, now).await;
        stopper.stop();
        revoked.context("cannot take the key back that was made for this conversation")?;
        talked
    };
    let (served, talked) = tokio::join!(server.run(stop), talking);
    let outcome = talked?;
    served.map(|()| outcome)
}

async fn converse(args: &ChatArgs, server: &Remote) -> anyhow::Result<Outcome> {
    let Files { mut texts, mut others } = Files::read(&args.attach)?;
    let is_new = args.resume.is_none() && args.fork.is_none();
    if !is_new {
        // A session that exists gets all of them with the next message.
        others.append(&mut texts);
    }
    let (link, known) = Link::open(server, &args.beginning()?, &texts).await?;
    let attachments = others;
    if let Some(message) = &args.print {
        eprint!("{}", known.greeting());
        return once(args, &link, &json!({"text": message, "attachments": attachments})).await;
    }
    let style = match io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        true => Style::Colours,
        false => Style::Plain,
    };
    let talk = Talk { link: &link, style, is_json: args.json, attachments };
    talk.run(&known).await
}

/// One message and its answer. Nobody is there for questions.
async fn once(
    args: &ChatArgs,
    link: &Link<'_>,
    message: &serde_json::Value,
) -> anyhow::Result<Outcome> {
    let after = link.known().await?.last_event;
    let mut events = link.events(after, if args.json { ALL } else { TOLD });
    link.post("messages", message).await?;
    loop {
        let event = tokio::select! {
            event = events.next() => event?,
            _ = tokio::signal::ctrl_c() => {
                link.post("interrupt", &json!({})).await?;
                bail!("interrupted; the session is {}", link.id());
            }
        };
        if args.json {
            print(&format!("{}\n", event.line))?;
        }
        if let Some(ask) = Ask::read(&event) {
            // Someone else may have been quicker, and that is as good.
            if let Err(refused) = link.post("answers", &ask.nobody()).await {
                tracing::warn!(error.cause = %refused, "a question went unanswered");
            }
        }
        match event.kind {
            Some(EventKind::Done) if event.body["is_error"] == true => {
                let why = [event.text("result"), event.text("reason"), event.text("subtype")];
                let why =
                    why.into_iter().find(|text| !text.is_empty()).unwrap_or("no reason given");
                bail!("the turn failed: {}", screen::plain(why));
            }
            Some(EventKind::Done) => {
                if !args.json {
                    print(&format!("{}\n", event.text("result").trim_end()))?;
                }
                return Ok(Outcome::Done);
            }
            Some(EventKind::State) if event.text("state") == "failed" => {
                bail!("the agent has stopped: {}", screen::plain(event.text("why")));
            }
            _ => {}
        }
    }
}
