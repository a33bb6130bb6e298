use std::io::{self, IsTerminal as _, Read as _};

use anyhow::bail;
use ratchet_core::chat::event::EventKind;
use serde_json::{Value, json};

use super::ask::Ask;
use super::client::{ChatClient, StreamUpdate};
use super::events::ReceivedEvent;
use super::interrupts::StopSignals;
use super::line_mode::Output;
use super::sanitize::plain_line;
use super::screen::ending;
use super::{ALL, SHOWN_TYPES};
use crate::exit::{Outcome, Signal};
use crate::print::print;

/// Maximum bytes of standard input in a message.
const MAX_STDIN: u64 = 8 * 1024 * 1024;

/// One message and its answer, without anyone to answer prompts.
#[derive(Debug)]
pub(crate) struct OneShot<'a> {
    pub(crate) client: ChatClient<'a>,
    pub(crate) output: Output,
    /// Tools that may be used without asking.
    pub(crate) allowed: &'a [String],
}

impl OneShot<'_> {
    /// Sends the message and prints the result.
    pub(crate) async fn run(
        self,
        message: &Value,
        stops: &mut StopSignals,
    ) -> anyhow::Result<Outcome> {
        let after = self.client.chat().await?.last_event;
        let kinds = if self.output == Output::Events { ALL } else { SHOWN_TYPES };
        let mut events = self.client.events(after, kinds);
        self.client.post("messages", message).await?;
        loop {
            let updates = tokio::select! {
                updates = events.next() => updates?,
                signal = stops.next() => {
                    self.client.post("interrupt", &json!({})).await?;
                    if signal == Signal::Terminate {
                        return Ok(Outcome::Stopped(signal));
                    }
                    bail!("interrupted; the chat is {}", self.client.id());
                }
            };
            match updates {
                StreamUpdate::Lost(why) => eprintln!("{}; trying again", plain_line(&why)),
                StreamUpdate::Back => eprintln!("connected again; nothing was missed"),
                StreamUpdate::Event(event) => {
                    if let Some(outcome) = self.handle_update(&event).await? {
                        return Ok(outcome);
                    }
                }
            }
        }
    }

    async fn handle_update(&self, event: &ReceivedEvent) -> anyhow::Result<Option<Outcome>> {
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

    /// Another client may answer first, which is fine.
    async fn answer(&self, ask: &Ask) {
        let answer = match ask.tool() {
            Some((tool, _)) if self.allowed.iter().any(|allowed| allowed == tool) => {
                json!({"id": ask.id, "decision": "allow"})
            }
            Some((tool, what)) => {
                let tool = plain_line(tool);
                eprintln!("denied: {tool} {what} (no terminal to ask; use `--allow {tool}`)");
                ask.unanswered()
            }
            None => {
                let about: Vec<String> = ask.about().into_iter().map(|(line, _)| line).collect();
                eprintln!("not answered: {} (no terminal to ask)", about.join(" "));
                ask.unanswered()
            }
        };
        if let Err(refused) = self.client.post("answers", &answer).await {
            eprintln!("{}", plain_line(&refused.to_string()));
        }
    }
}

/// The message from the argument, with standard input appended.
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

/// Whether standard input is a pipe or a file. Anything else may never end.
fn is_fed() -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    !io::stdin().is_terminal() && matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}
