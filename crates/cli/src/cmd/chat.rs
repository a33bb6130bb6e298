/// Removes terminal control characters.
mod sanitize;
mod style;
/// Formats Markdown while it streams.
mod markdown;
/// Events from the server.
mod events;
/// A chat on a server.
mod client;
mod resolve;
mod files;
mod tools;
/// Answers to prompts.
mod answers;
mod screen;
/// Exact input of a tool call.
mod tool_preview;
/// Questions and permission prompts.
mod ask;
/// State of a chat in this client.
mod conversation;
/// Slash commands.
mod commands;
mod line_mode;
/// Parses terminal input.
mod keys;
/// Terminal modes.
mod terminal;
mod editor;
mod menu;
/// The area below the conversation.
mod pane;
/// A chat in a terminal.
mod fullscreen;
/// `--print`: one message and its answer.
mod one_shot;
/// Conversations with targets.
mod target;
/// Signals that stop a chat.
mod interrupts;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use ratchet_core::secret::Secret;
use ratchet_remote::ratchet::RatchetClient;
use ratchet_server::shutdown;
use serde_json::{Value, json};

use crate::config::layers::Flag;
use crate::config::{Config, ConfigArgs, Credentials};
use crate::data_target;
use crate::exit::{self, Outcome};
use crate::local_socket::{CONVERSATION, LocalSocketClient};
use crate::server::Server;
use crate::{log, runtime, startup_message};
use client::{ChatClient, ChatStart};
use conversation::{Echo, TerminalChat};
use files::Files;
use fullscreen::Full;
use interrupts::StopSignals;
use line_mode::{Lines, Output};
use one_shot::OneShot;
use screen::{OutputTarget, Screen};
use style::{Marks, Style};
use terminal::TerminalMode;

/// Event types that are shown; all but raw lines.
const SHOWN_TYPES: &str = "state,message,text_delta,tool_use,tool_result,question,permission,answered,done,\
                    error,notice";
const ALL: &str = "";
/// Events, keys or lines that wait to be taken.
const QUEUE: usize = 256;

/// `ratchet chat`
#[derive(Args, Debug)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Run the agent on this server, with a key in `RATCHET_PUBLIC_KEY` and `RATCHET_SECRET_KEY` that has the `chat` permission [default: run it locally on the data folder]
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    server: Option<String>,
    /// Talk to a target instead of `claude`: a target file, or the name of a target in ratchet.toml
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["workspace", "trust", "no_trust", "resume", "fork", "attach", "model", "mode", "budget", "allow"])]
    target: Option<String>,
    /// With --target: its environment, such as beta
    #[arg(long, value_name = "NAME", requires = "target")]
    environment: Option<String>,
    /// With --target: the dataset that + adds turns to
    #[arg(long, value_name = "NAME", requires = "target")]
    dataset: Option<String>,
    /// Working directory of the agent [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "fork")]
    workspace: Option<PathBuf>,
    /// Trust the workspace: let its own hooks and MCP servers run
    #[arg(long, conflicts_with = "server")]
    trust: bool,
    /// Do not trust the workspace in this chat, even if the settings do
    #[arg(long, conflicts_with = "trust")]
    no_trust: bool,
    /// Resume a chat by its ID or an ID prefix [default: the last one in this folder]
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with = "fork")]
    resume: Option<String>,
    /// Continue in a copy of a chat; the original is unchanged
    #[arg(long, value_name = "ID")]
    fork: Option<String>,
    /// Attach files: Markdown, other text, images, PDF
    #[arg(long, value_name = "FILE", num_args = 1..)]
    attach: Vec<PathBuf>,
    /// Model to use [default: the claude CLI's default]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["resume", "fork"])]
    model: Option<String>,
    /// Permission mode: default, acceptEdits, plan, dontAsk
    #[arg(long, value_name = "MODE", conflicts_with_all = ["resume", "fork"])]
    mode: Option<String>,
    /// Budget of the chat in US dollars, including what is already spent; 0 for no limit
    #[arg(long, value_name = "USD")]
    budget: Option<f64>,
    /// Send one message, with standard input appended; print only the final answer, and exit
    #[arg(long, value_name = "MESSAGE", num_args = 0..=1, default_missing_value = "")]
    print: Option<String>,
    /// With --print: tools that may be used without asking, such as Bash or Edit
    #[arg(long, value_name = "TOOL", num_args = 1.., value_delimiter = ',', requires = "print")]
    allow: Vec<String>,
    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
}

impl ChatArgs {
    /// Settings for an agent that is run from here, without other clients.
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

    async fn beginning(&self, server: &RatchetClient) -> anyhow::Result<ChatStart> {
        let workspace = self.workspace()?;
        if let Some(id) = &self.resume {
            return Ok(ChatStart::Resume(resolve::chat_id(server, id, &workspace).await?));
        }
        if let Some(id) = &self.fork {
            return Ok(ChatStart::Fork(resolve::chat_id(server, id, &workspace).await?));
        }
        let (model, mode) = (self.model.clone(), self.mode.clone());
        let budget = self.budget.filter(|dollars| *dollars > 0.0);
        Ok(ChatStart::New { workspace, model, mode, budget })
    }

    /// Changes to the settings of the chat, from the arguments.
    fn change(&self) -> Option<Value> {
        let is_new = self.resume.is_none() && self.fork.is_none();
        let mut change = serde_json::Map::new();
        if let Some(dollars) = self.budget.filter(|_| !is_new) {
            let limit = if dollars > 0.0 { json!(dollars) } else { Value::Null };
            change.insert("maxBudget".to_owned(), limit);
        }
        // A new chat is trusted as the settings say, which include --trust.
        if self.no_trust || (self.trust && !is_new) {
            change.insert("trust".to_owned(), json!(self.trust));
        }
        (!change.is_empty()).then_some(Value::Object(change))
    }

    fn output(&self) -> Output {
        if self.json { Output::Events } else { Output::Words }
    }
}

/// Runs `ratchet chat`.
pub(crate) fn run(args: &ChatArgs) -> anyhow::Result<Outcome> {
    if let Some(named) = &args.target {
        return runtime::block_on(target::run(args, named));
    }
    if let Some(url) = &args.server {
        let config = Config::load(&args.config, Vec::new())?;
        let connection =
            ChatConnection { server: data_target::server(url, &config.credentials)?, set_up: None };
        return runtime::block_on(async {
            converse(args, &connection, &mut StopSignals::listen()?).await
        });
    }
    let mut config = Config::load(&args.config, args.flags()?)?;
    config.warn_of_unknown_variables();
    if config.log.filter == "info" {
        // The conversation is on the screen; the log has warnings and errors only.
        "warn".clone_into(&mut config.log.filter);
    }
    runtime::block_on(async {
        let traces = log::init(&config.log)?;
        let outcome = match LocalSocketClient::connect(&config.data).await? {
            Some(client) => attach(args, &config, &client).await,
            None => host(args, &config).await,
        };
        log::stop(traces).await;
        outcome
    })
}

/// Where a conversation takes place.
#[derive(Debug)]
struct ChatConnection {
    server: RatchetClient,
    /// Setup URL for the first owner, while there is no user.
    set_up: Option<String>,
}

/// Talks through the server that runs on the data folder already.
async fn attach(
    args: &ChatArgs,
    config: &Config,
    client: &LocalSocketClient,
) -> anyhow::Result<Outcome> {
    let LocalSocketClient { url, credentials, .. } = client;
    if args.trust {
        bail!(
            "the agent would run on {url}, which has {} already: what it trusts is said in \
             chat.trusted of its settings",
            config.data.display()
        );
    }
    eprintln!("through {url}, which runs on {}", config.data.display());
    let connection =
        ChatConnection { server: data_target::server(url, credentials)?, set_up: None };
    converse(args, &connection, &mut StopSignals::listen()?).await
}

/// Runs a server for as long as the conversation lasts.
async fn host(args: &ChatArgs, config: &Config) -> anyhow::Result<Outcome> {
    let server = Server::open_for_chat(config).await?;
    let (key, _local) = server.local_key(CONVERSATION).await?;
    let url = startup_message::url(server.bound.web);
    let (public_key, catalog) = (key.public_key.clone(), server.catalog());
    let project = server.start_outcome.project.id.clone();
    let secret_key = Secret::new(key.secret_key.expose());
    let credentials =
        Credentials { public_key: Some(key.public_key), secret_key: Some(secret_key) };
    let connection = ChatConnection {
        server: data_target::server(&url, &credentials)?,
        set_up: server.set_up_url(),
    };
    let (stopper, stop) = shutdown::signal();
    let mut stops = StopSignals::listen()?;
    let serving = server.run(stop);
    tokio::pin!(serving);
    let talked = tokio::select! {
        talked = converse(args, &connection, &mut stops) => talked,
        served = &mut serving => return served.map(|()| Outcome::Done),
    };
    // The key is not needed any more.
    let now = ratchet_server::clock::Clock::System.now();
    let revoked = catalog.revoke_key(project, public_key, now).await;
    stopper.stop();
    tokio::select! {
        served = &mut serving => served?,
        signal = stops.next() => exit::at_once(signal),
    }
    revoked.context("cannot take the key back that was made for this conversation")?;
    talked
}

async fn converse(
    args: &ChatArgs,
    connection: &ChatConnection,
    stops: &mut StopSignals,
) -> anyhow::Result<Outcome> {
    let message = args.print.as_deref().map(one_shot::message).transpose()?;
    let Files { mut texts, mut others } = Files::read(&args.attach)?;
    let is_new = args.resume.is_none() && args.fork.is_none();
    if !is_new {
        // An existing chat gets all of them with the next message.
        others.append(&mut texts);
    }
    let server = &connection.server;
    let (client, chat) = ChatClient::open(server, &args.beginning(server).await?, &texts).await?;
    eprint!("{}", chat.greeting());
    if let Some(change) = args.change() {
        client.post("mode", &change).await?;
    }
    if let Some(message) = message {
        let message = json!({"text": message, "attachments": others});
        let once = OneShot { client, output: args.output(), allowed: &args.allow };
        return once.run(&message, stops).await;
    }
    let (paper, style) = looks();
    let mut screen = Screen::new(style, paper);
    screen.pages = client.pages().await.ok();
    let ability = if args.json { TerminalMode::Lines } else { TerminalMode::find() };
    if io::stdin().is_terminal() {
        let page = screen.pages.as_ref().map(|pages| format!("{pages}/chats/{}", chat.id));
        eprint!("{}", style.paint(&introduction(page, connection, ability), Marks::DIM));
    }
    let echo = if ability == TerminalMode::Keys { Echo::Shown } else { Echo::Typed };
    let mut talk = TerminalChat::new(client, screen, echo, &chat);
    talk.attachments = others;
    match ability {
        TerminalMode::Keys => Full::open(talk, style)?.run(stops).await,
        TerminalMode::Lines => Lines::new(talk, args.output()).run(stops).await,
    }
}

/// Width and style of the output.
fn looks() -> (OutputTarget, Style) {
    let wants_colours = std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let style = match TerminalMode::find() {
        TerminalMode::Keys if wants_colours => Style::Colours,
        _ => Style::Plain,
    };
    match io::stdout().is_terminal() {
        true => (OutputTarget::Terminal(terminal::size().0), style),
        false => (OutputTarget::Pipe, style),
    }
}

/// Hints at the start of a new chat.
fn introduction(
    page: Option<String>,
    connection: &ChatConnection,
    ability: TerminalMode,
) -> String {
    let mut text = String::new();
    if let Some(page) = page {
        text.push_str(&format!("  in a browser: {page}\n"));
    }
    if let Some(set_up) = &connection.set_up {
        let words = "there is no account yet; create the owner account:";
        text.push_str(&format!("  {words}\n  {set_up}\n"));
    }
    text.push_str(match ability {
        TerminalMode::Keys => {
            "  Enter sends, Alt-Enter starts a new line, Esc interrupts, /help lists commands\n\n"
        }
        TerminalMode::Lines => "  /help lists commands; Ctrl-C interrupts\n",
    });
    text
}
