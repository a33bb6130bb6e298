//! `ratchet chat --target`: a conversation with a target, which is called from here.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use ratchet_core::experiment::conversation::{self, Exchange, History};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::time::Timestamp;
use ratchet_remote::ratchet::RatchetClient;
use ratchet_remote::ratchet::target_turns::TargetTurnRequest;
use ratchet_server::clock::Clock;
use ratchet_stages::data_target::DataTarget;
use ratchet_stages::experiment::service::ExperimentService;
use ratchet_stages::experiment::site::ExperimentSite;
use ratchet_stages::experiment::target::{AnswerListener, OpenTarget};
use ratchet_stages::experiment::target_chat::{self, TargetTurn, TurnHost, TurnRequest};
use ratchet_stages::sink::LocalSink;
use ratchet_store::Store;
use serde_json::{Value, json};
use tokio::sync::mpsc::Receiver;
use uuid::Uuid;

use super::interrupts::StopSignals;
use super::sanitize::plain;
use super::{ChatArgs, line_mode, one_shot};
use crate::administration::Administration;
use crate::cmd::experiment;
use crate::config::Config;
use crate::exit::{Outcome, Signal};
use crate::first_start::{FirstKeysFor, InitialSetup};
use crate::local_socket::LocalSocketClient;
use crate::print::print;
use crate::{data_target, folder};

/// The holder of the folder's lock.
const HOLDER: &str = "ratchet chat";
const HELP: &str = "  Type a message. + adds the last turn to a dataset, with the answer as it should \
                    have been; /quit ends.\n";

/// Who is talked to.
enum Agent {
    /// A target that is called from here.
    Here(Box<OpenTarget>),
    /// A target that the server calls.
    OnServer(Box<ServerAgent>),
}

struct ServerAgent {
    server: RatchetClient,
    project: String,
    name: String,
    kind: String,
    environment: Option<String>,
}

/// A conversation as it goes on.
struct TargetTalk<'a> {
    host: TurnHost,
    agent: Agent,
    chat: SessionId,
    before: Vec<Exchange>,
    /// The last turn, and what the target was sent.
    last: Option<(TargetTurn, Value)>,
    dataset: Option<String>,
    /// Whether the last answer was shown as it came.
    was_streamed: bool,
    args: &'a ChatArgs,
}

/// Talks to a target until the person quits.
pub(super) async fn run(args: &ChatArgs, named: &str) -> anyhow::Result<Outcome> {
    let config = Config::load(&args.config, Vec::new())?;
    let message = args.print.as_deref().map(one_shot::message).transpose()?;
    // A local server accepts its key as long as its socket is open.
    let (host, folder, _local) = host(args, &config).await?;
    let agent = match of_prompts(&host, folder.as_ref()).await {
        Ok(prompts) => open(&config, (named, args.environment.as_deref()), &prompts).await,
        Err(error) => Err(error),
    };
    let agent = match agent {
        Ok(agent) => agent,
        Err(error) => return close(folder).await.and(Err(error)),
    };
    let chat = SessionId::parse(&Uuid::new_v4().to_string())?;
    let dataset = args.dataset.clone();
    let (before, last, was_streamed) = (Vec::new(), None, false);
    let mut talk = TargetTalk { host, agent, chat, before, last, dataset, was_streamed, args };
    let talked = match message {
        Some(message) => talk.once(&message).await,
        None => talk.converse(&mut StopSignals::listen()?).await,
    };
    close(folder).await?;
    talked
}

async fn close(folder: Option<Store>) -> anyhow::Result<()> {
    if let Some(folder) = folder {
        folder.close().await.context("cannot close the data folder")?;
    }
    Ok(())
}

/// Where prompts and LLM connections of targets are: with the records of the chat.
async fn of_prompts(host: &TurnHost, folder: Option<&Store>) -> anyhow::Result<ExperimentSite> {
    match (host, folder) {
        (TurnHost::Server(server), _) => {
            let at = Administration(DataTarget::Server(server.clone()));
            experiment::host(&at, None).await
        }
        (TurnHost::Store(local), Some(store)) => {
            let (store, catalog) = (store.clone(), store.catalog.clone());
            let project = local.project.clone();
            Ok(ExperimentSite::Folder(Box::new(ExperimentService { store, catalog, project })))
        }
        (TurnHost::Store(_), None) => bail!("the data folder is not open"),
    }
}

/// Opens a target file, or a target that the settings or the server name.
async fn open(
    config: &Config,
    (named, environment): (&str, Option<&str>),
    prompts: &ExperimentSite,
) -> anyhow::Result<Agent> {
    if Path::new(named).exists() {
        let opened = experiment::open_target(Path::new(named), (environment, None), prompts).await;
        return opened.map(|target| Agent::Here(Box::new(target)));
    }
    let known = &config.targets.0;
    let Some(target) = known.get(named) else {
        let mut names: Vec<String> = known.keys().cloned().collect();
        if let ExperimentSite::Server(server, project) = prompts {
            let theirs = server.server_targets(project).await?.targets;
            if let Some(found) = theirs.iter().find(|one| one.name == named) {
                return Ok(Agent::OnServer(Box::new(ServerAgent {
                    server: server.clone(),
                    project: project.clone(),
                    name: named.to_owned(),
                    kind: found.kind.clone(),
                    environment: environment.map(str::to_owned),
                })));
            }
            names.extend(theirs.into_iter().map(|one| one.name));
        }
        let hint = match names.as_slice() {
            [] => "name one in ratchet.toml, as [targets.NAME]".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        bail!("there is no target file {named}, and no target of that name: {hint}");
    };
    let opened = experiment::open_here(target, (named, environment), prompts).await;
    let opened = opened.with_context(|| format!("target {named} cannot be called"))?;
    Ok(Agent::Here(Box::new(opened)))
}

impl Agent {
    /// Its name and its kind.
    fn words(&self) -> (&str, &str) {
        match self {
            Self::Here(target) => (&target.identity.name, &target.identity.kind),
            Self::OnServer(of) => (&of.name, &of.kind),
        }
    }
}

impl ServerAgent {
    /// Sends a message; returns the turn, and what the target was sent.
    async fn say(&self, chat: &SessionId, text: &str) -> anyhow::Result<(TargetTurn, Value)> {
        let request = TargetTurnRequest {
            chat: chat.to_string(),
            text: text.to_owned(),
            environment: self.environment.clone(),
        };
        let turn = self.server.say_to_target((&self.project, &self.name), &request).await?;
        let said = TargetTurn {
            trace: TraceId::parse(&turn.trace)?,
            text: text.to_owned(),
            answer: turn.answer,
            fault: turn.fault,
            started: Timestamp::parse(&turn.started_at)?,
            ended: turn.ended_at.as_deref().map(Timestamp::parse).transpose()?,
            cost: turn.cost.and_then(Money::from_dollars),
        };
        Ok((said, turn.sent))
    }
}

/// Where turns are recorded: a server, the one that runs on the data folder, or the folder itself.
async fn host(
    args: &ChatArgs,
    config: &Config,
) -> anyhow::Result<(TurnHost, Option<Store>, Option<LocalSocketClient>)> {
    if let Some(url) = &args.server {
        return Ok((TurnHost::Server(data_target::server(url, &config.credentials)?), None, None));
    }
    if let Some(local) = LocalSocketClient::connect(&config.data).await? {
        let server = data_target::server(&local.url, &local.credentials)?;
        return Ok((TurnHost::Server(server), None, Some(local)));
    }
    let setup = InitialSetup::check(&config.init)?;
    let store = folder::open(config, HOLDER)?;
    let started = setup.apply(&store.catalog, FirstKeysFor::Nobody, Clock::System.now()).await?;
    let local = LocalSink {
        telemetry: store.telemetry.clone(),
        catalog: store.catalog.clone(),
        project: started.project.id,
    };
    Ok((TurnHost::Store(Box::new(local)), Some(store), None))
}

impl TargetTalk<'_> {
    /// Sends one message and prints its answer.
    async fn once(&mut self, message: &str) -> anyhow::Result<Outcome> {
        let turn = self.say(message).await?;
        if self.args.json {
            print(&line(&turn))?;
        } else if let Some(answer) = turn.answer.as_ref().filter(|_| !self.was_streamed) {
            print(&format!("{answer}\n"))?;
        }
        match &turn.fault {
            Some(fault) => bail!("the target did not answer: {}", plain(fault)),
            None => Ok(Outcome::Done),
        }
    }

    async fn converse(&mut self, stops: &mut StopSignals) -> anyhow::Result<Outcome> {
        let is_person = io::stdin().is_terminal() && !self.args.json;
        if is_person {
            let (name, kind) = self.agent.words();
            eprint!("{} ({kind})\n{HELP}", plain(name));
        }
        let mut lines = line_mode::lines();
        loop {
            let prompt = if is_person { "> " } else { "" };
            let typed = tokio::select! {
                typed = ask(&mut lines, prompt) => typed?,
                signal = stops.next() => return Ok(ended(signal)),
            };
            let Some(typed) = typed else { return Ok(Outcome::Done) };
            match typed.trim() {
                "" => {}
                "/quit" | "/exit" => return Ok(Outcome::Done),
                "/help" => eprint!("{HELP}"),
                "+" => self.add(&mut lines, is_person).await?,
                text => {
                    let shown = tokio::select! {
                        turn = self.say(text) => turn,
                        signal = stops.next() => return Ok(ended(signal)),
                    };
                    self.show(shown)?;
                }
            }
        }
    }

    async fn say(&mut self, text: &str) -> anyhow::Result<TargetTurn> {
        let target = match &self.agent {
            Agent::Here(target) => target,
            Agent::OnServer(server) => {
                let (turn, sent) = server.say(&self.chat, text).await?;
                self.last = Some((turn.clone(), sent));
                return Ok(turn);
            }
        };
        let request =
            TurnRequest { chat: &self.chat, before: self.before.clone(), text, person: None };
        let history = History::of_kind(&target.identity.kind);
        let sent = conversation::input(&self.before, text, history)?;
        let was_streamed = AtomicBool::new(false);
        let listener = |part: &str| {
            // A terminal that is gone is found out when the turn ends.
            if !part.is_empty() && print(&plain(part)).is_ok() {
                was_streamed.store(true, Ordering::Relaxed);
            }
        };
        let silent = |_: &str| {};
        // A program that reads the one answer gets it as it is.
        let is_whole = self.args.json || self.args.print.is_some() && !io::stdout().is_terminal();
        let listener: AnswerListener<'_> = if is_whole { &silent } else { &listener };
        let clock = (&Clock::System, listener);
        let turn = target_chat::send(&self.host, target, request, clock).await;
        self.was_streamed = was_streamed.into_inner();
        if self.was_streamed {
            print("\n")?;
        }
        let turn = turn?;
        self.before.extend(turn.exchange());
        self.last = Some((turn.clone(), sent));
        Ok(turn)
    }

    /// Shows a turn; a message that was refused ends nothing.
    fn show(&self, turn: anyhow::Result<TargetTurn>) -> anyhow::Result<()> {
        match turn {
            Ok(turn) if self.args.json => print(&line(&turn))?,
            Ok(TargetTurn { answer: Some(_), .. }) if self.was_streamed => {}
            Ok(TargetTurn { answer: Some(answer), .. }) => print(&format!("{}\n", plain(&answer)))?,
            Ok(turn) => {
                eprintln!("no answer: {}", plain(turn.fault.as_deref().unwrap_or("interrupted")));
            }
            Err(why) => eprintln!("{why:#}"),
        }
        Ok(())
    }

    /// Adds the last turn to a dataset.
    async fn add(&mut self, lines: &mut Receiver<String>, is_person: bool) -> anyhow::Result<()> {
        let Some((turn, sent)) = self.last.clone() else {
            eprintln!("there is no turn yet");
            return Ok(());
        };
        let prompt = |text: &'static str| if is_person { text } else { "" };
        if self.dataset.is_none() {
            let named = ask(lines, prompt("dataset: ")).await?.unwrap_or_default();
            self.dataset = Some(named.trim().to_owned()).filter(|name| !name.is_empty());
        }
        let Some(dataset) = self.dataset.clone() else {
            eprintln!("name a dataset, here or with --dataset");
            return Ok(());
        };
        let typed = ask(lines, prompt("expected answer (Enter keeps the one above): ")).await?;
        let expected = typed.filter(|text| !text.trim().is_empty()).or(turn.answer);
        let Some(expected) = expected else {
            eprintln!("not added: there is no answer to expect");
            return Ok(());
        };
        let now = Clock::System.now();
        let added = self.host.add_to_dataset(&dataset, &turn.trace, (&sent, &expected), now).await;
        match added {
            Ok(item) => eprintln!("added to {} as {item}", plain(&dataset)),
            Err(why) => eprintln!("not added: {why:#}"),
        }
        Ok(())
    }
}

/// The next line; `None` at the end of the input.
async fn ask(lines: &mut Receiver<String>, prompt: &str) -> io::Result<Option<String>> {
    print(prompt)?;
    Ok(lines.recv().await)
}

const fn ended(signal: Signal) -> Outcome {
    match signal {
        Signal::Interrupt => Outcome::Done,
        Signal::Terminate => Outcome::Stopped(signal),
    }
}

fn line(turn: &TargetTurn) -> String {
    let line = json!({
        "trace": turn.trace.to_string(), "answer": turn.answer, "fault": turn.fault,
    });
    format!("{line}\n")
}
