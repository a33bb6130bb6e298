use std::io::{self, IsTerminal as _, Read as _};

use anyhow::bail;
use ratchet_core::chat::event::EventKind;
use serde_json::{Value, json};

use super::ask::Ask;
use super::client::{Link, Told};
use super::events::Heard;
use super::interrupts::Stops;
use super::line_mode::Output;
use super::sanitize::plain_line;
use super::screen::ending;
use super::{ALL, TOLD};
use crate::exit::{Outcome, Signal};
use crate::print::print;

/// How much of stdin goes into a message.
const MAX_STDIN: u64 = 8 * 1024 * 1024;

/// One message and its answer. Nobody is there for questions.
#[derive(Debug)]
pub(crate) struct Once<'a> {
    pub(crate) link: Link<'a>,
    pub(crate) output: Output,
    /// Tools that may be used though nobody can be asked.
    pub(crate) allowed: &'a [String],
}

impl Once<'_> {
    /// Sends the message, and prints what it comes to.
    pub(crate) async fn run(self, message: &Value, stops: &mut Stops) -> anyhow::Result<Outcome> {
        let after = self.link.known().await?.last_event;
        let kinds = if self.output == Output::Events { ALL } else { TOLD };
        let mut events = self.link.events(after, kinds);
        self.link.post("messages", message).await?;
        loop {
            let told = tokio::select! {
                told = events.next() => told?,
                signal = stops.next() => {
                    self.link.post("interrupt", &json!({})).await?;
                    if signal == Signal::Terminate {
                        return Ok(Outcome::Stopped(signal));
                    }
                    bail!("interrupted; the chat is {}", self.link.id());
                }
            };
            match told {
                Told::Lost(why) => eprintln!("{}; trying again", plain_line(&why)),
                Told::Back => eprintln!("connected again; nothing was missed"),
                Told::Event(event) => {
                    if let Some(outcome) = self.hear(&event).await? {
                        return Ok(outcome);
                    }
                }
            }
        }
    }

    async fn hear(&self, event: &Heard) -> anyhow::Result<Option<Outcome>> {
        if self.output == Output::Events {
            print(&format!("{}\n", event.line))?;
        }
        if let Some(ask) = Ask::read(event) {
            self.answer(&ask).await;
        }
        match event.kind {
            Some(EventKind::Done) if event.body["is_error"] == true => {
                bail!("the turn failed: {}", ending(event))
            }
            Some(EventKind::Done) => {
                if self.output == Output::Words {
                    print(&format!("{}\n", event.text("result").trim_end()))?;
                }
                Ok(Some(Outcome::Done))
            }
            Some(EventKind::State) if event.text("state") == "failed" => {
                bail!("the agent has stopped: {}", plain_line(event.text("why")))
            }
            Some(EventKind::State) if event.text("state") == "closed" => {
                bail!("the chat was closed before the turn ended")
            }
            Some(EventKind::State) if !event.text("why").is_empty() => {
                eprintln!("{}", plain_line(event.text("why")));
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Someone else may be quicker, and that is as good.
    async fn answer(&self, ask: &Ask) {
        let answer = match ask.tool() {
            Some((tool, _)) if self.allowed.iter().any(|allowed| allowed == tool) => {
                json!({"id": ask.id, "decision": "allow"})
            }
            Some((tool, what)) => {
                let tool = plain_line(tool);
                eprintln!("denied: {tool} {what} (no terminal to ask; use `--allow {tool}`)");
                ask.nobody()
            }
            None => {
                let about: Vec<String> = ask.about().into_iter().map(|(line, _)| line).collect();
                eprintln!("not answered: {} (no terminal to ask)", about.join(" "));
                ask.nobody()
            }
        };
        if let Err(refused) = self.link.post("answers", &answer).await {
            eprintln!("{}", plain_line(&refused.to_string()));
        }
    }
}

/// The message: what was named, and below it what comes through a pipe or from a file.
pub(crate) fn message(named: &str) -> anyhow::Result<String> {
    let mut piped = String::new();
    if is_fed() {
        io::stdin().lock().take(MAX_STDIN).read_to_string(&mut piped)?;
    }
    let text = match (named, piped.trim_end()) {
        (named, "") => named.to_owned(),
        ("", piped) => piped.to_owned(),
        (named, piped) => format!("{named}\n\n{piped}"),
    };
    if text.trim().is_empty() {
        bail!("--print needs a message: after it, or on stdin");
    }
    Ok(text)
}

/// Whether stdin is a pipe or a file. Anything else may never end.
fn is_fed() -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    !io::stdin().is_terminal() && matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}
