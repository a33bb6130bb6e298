use std::path::PathBuf;

use serde_json::{Value, json};

use super::client::{ChatClient, ChatInfo};
use super::conversation::TerminalChat;
use super::files::Files;
use super::sanitize::plain_line;
use super::screen::grouped;
use super::style::Marks;

/// Permission modes and their meaning.
pub(crate) const MODES: [(&str, &str); 4] = [
    ("default", "asks before changes and commands"),
    ("acceptEdits", "changes files without asking"),
    ("plan", "looks and plans, changes nothing"),
    ("dontAsk", "denies what would have to be asked"),
];

pub(crate) const HELP: &str = "\
/mode [MODE]      permission mode: default, acceptEdits, plan, dontAsk
/model NAME       switch the model
/rewind [ID]      list the files that would be restored to their state before a message [default: the
                  last]; then /rewind yes restores them
/fork             continue in a copy of this chat
/title TEXT       rename this chat
/attach FILE      attach a file to the next message: text, image, PDF
/show [N]         input and output of tool call N [default: the last]
/cost             cost of the chat so far
/budget [USD|off] show or set the budget of the chat, including what is already spent
/trust [on|off]   off: hooks and MCP servers of the workspace no longer run, from the next message on
/stop             interrupt the agent
/help             show this help
/quit             quit; the chat is kept and can be resumed
";

/// What follows a command.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    Stay,
    Quit,
    /// Continues in another chat.
    Switch(ChatClient<'a>, Box<ChatInfo>),
}

impl<'a> TerminalChat<'a> {
    /// Runs a slash command and returns its output.
    pub(crate) async fn command(&mut self, line: &str) -> (String, Next<'a>) {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let done = match word {
            "/quit" | "/exit" => return (String::new(), Next::Quit),
            "/fork" => return self.fork().await,
            "/stop" => return (self.interrupt().await, Next::Stay),
            "/help" => Ok(HELP.to_owned()),
            "/show" => Ok(self.screen.tools.show(rest)),
            "/cost" => self.cost().await,
            "/mode" if rest.is_empty() => Ok(modes()),
            "/mode" => self.set(&json!({"mode": rest}), &format!("mode: {rest}")).await,
            "/model" if rest.is_empty() => Ok("/model takes the name of one\n".to_owned()),
            "/model" => self.set(&json!({"model": rest}), &format!("model: {rest}")).await,
            "/budget" => self.budget(rest).await,
            "/trust" => self.trust(rest).await,
            "/title" if rest.is_empty() => Ok("/title takes the words\n".to_owned()),
            "/title" => self.rename(rest).await,
            "/rewind" => self.rewind(rest).await,
            "/attach" if rest.is_empty() => Ok("/attach takes the path of a file\n".to_owned()),
            "/attach" => self.attach(rest),
            _ => Ok(format!("there is no {}; there are:\n{HELP}", plain_line(word))),
        };
        let shown = match done {
            Ok(text) => self.screen.note(&text, Marks::NONE),
            Err(why) => self.refused(&why),
        };
        (shown, Next::Stay)
    }

    async fn fork(&mut self) -> (String, Next<'a>) {
        match self.client.fork().await {
            Ok((client, chat)) => {
                let words = format!("· from here on this is chat {}, a copy", chat.id);
                (self.screen.note(&words, Marks::DIM), Next::Switch(client, Box::new(chat)))
            }
            Err(why) => (self.refused(&why), Next::Stay),
        }
    }

    async fn cost(&self) -> anyhow::Result<String> {
        let chat = self.client.chat().await?;
        let (input, output) = self.screen.tokens;
        Ok(format!(
            "{}{}turns: {}, tokens: {} in, {} out\n",
            cost(&chat),
            chat.max_budget
                .map(|limit| format!("{}, ", of_budget(&chat, limit)))
                .unwrap_or_default(),
            chat.turns,
            grouped(input),
            grouped(output)
        ))
    }

    /// Shows or sets the budget.
    async fn budget(&self, rest: &str) -> anyhow::Result<String> {
        let dollars = rest.strip_prefix('$').unwrap_or(rest);
        let limit = match dollars {
            "" => {
                let chat = self.client.chat().await?;
                let shown = chat.max_budget.map(|limit| of_budget(&chat, limit));
                return Ok(format!("{}\n", shown.as_deref().unwrap_or("no budget is set")));
            }
            "off" => Value::Null,
            dollars => match dollars.parse::<f64>() {
                Ok(dollars) => json!(dollars),
                Err(_) => return Ok("/budget takes US dollars, or off\n".to_owned()),
            },
        };
        self.set(&json!({"maxBudget": limit}), &format!("budget: {rest}")).await
    }

    /// Shows, withdraws or restores trust in the workspace.
    async fn trust(&self, rest: &str) -> anyhow::Result<String> {
        match rest {
            "" => {
                let chat = self.client.chat().await?;
                let shown = if chat.distrusted { "withdrawn" } else { "as set on the server" };
                Ok(format!("trust in the workspace: {shown}\n"))
            }
            "off" => self.set(&json!({"trust": false}), "trust in the workspace: withdrawn").await,
            "on" => {
                let done = "trust in the workspace: as set on the server";
                self.set(&json!({"trust": true}), done).await
            }
            _ => Ok("/trust takes on or off\n".to_owned()),
        }
    }

    async fn set(&self, setting: &Value, done: &str) -> anyhow::Result<String> {
        self.client.post("mode", setting).await?;
        Ok(format!("{}\n", plain_line(done)))
    }

    async fn rename(&self, title: &str) -> anyhow::Result<String> {
        self.client.rename(title).await?;
        Ok(format!("title: {}\n", plain_line(title)))
    }

    /// Lists the files that would be restored to their state before a message; restores them once
    /// that is confirmed.
    async fn rewind(&mut self, named: &str) -> anyhow::Result<String> {
        let (message, is_sure) = match (named, self.messages.last()) {
            ("yes", _) => match self.rewinding.take() {
                Some(message) => (message, true),
                None => return Ok("use /rewind first, which lists the files\n".to_owned()),
            },
            ("", Some((last, _))) => (last.clone(), false),
            ("", None) => return Ok("there is no message yet\n".to_owned()),
            (named, _) => (named.to_owned(), false),
        };
        let request = json!({"message": message, "dryRun": !is_sure});
        let done = self.client.post("rewind", &request).await?;
        let files = done["filesChanged"].as_array().into_iter().flatten();
        let files: Vec<&str> = files.filter_map(Value::as_str).collect();
        if done["canRewind"] == false {
            return Ok("these files cannot be restored\n".to_owned());
        }
        if files.is_empty() && !is_sure {
            return Ok("no file has changed since then\n".to_owned());
        }
        let lines = (done["insertions"].as_u64(), done["deletions"].as_u64());
        let (added, removed) = (lines.0.unwrap_or(0), lines.1.unwrap_or(0));
        let files = plain_line(&files.join(", "));
        if is_sure {
            return Ok(format!("restored: {files} ({added} lines added, {removed} removed)\n"));
        }
        self.rewinding = Some(message);
        Ok(format!(
            "{files}: {added} lines would be added, {removed} removed; /rewind yes restores them\n"
        ))
    }

    fn attach(&mut self, file: &str) -> anyhow::Result<String> {
        let Files { texts, others } = Files::read(&[PathBuf::from(file)])?;
        self.attachments.extend(texts.into_iter().chain(others));
        let names = self.attachments.iter().filter_map(|one| one["name"].as_str());
        let names = plain_line(&names.collect::<Vec<_>>().join(", "));
        Ok(format!("attached to the next message: {names}\n"))
    }
}

/// Text of the cost of a chat.
fn cost(chat: &ChatInfo) -> String {
    match (chat.at_least, chat.cost > 0.0) {
        (false, _) => format!("${:.4}, ", chat.cost),
        (true, true) => format!("at least ${:.4}, ", chat.cost),
        (true, false) => "cost unknown, ".to_owned(),
    }
}

/// Text of what is spent of a budget.
fn of_budget(chat: &ChatInfo, limit: f64) -> String {
    format!("${:.4} spent of a budget of ${limit}", chat.spent)
}

fn modes() -> String {
    MODES.iter().map(|(mode, about)| format!("/mode {mode:<12} {about}\n")).collect()
}
