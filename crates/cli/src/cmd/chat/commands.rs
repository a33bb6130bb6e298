use std::path::PathBuf;

use serde_json::{Value, json};

use super::client::{Known, Link};
use super::conversation::Talk;
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

/// What is to be done after a command.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    Stay,
    Quit,
    /// It goes on in another chat.
    Switch(Link<'a>, Box<Known>),
}

impl<'a> Talk<'a> {
    /// Does what a line says that begins with a slash, and says what is to be written.
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
        match self.link.fork().await {
            Ok((link, known)) => {
                let words = format!("· from here on this is chat {}, a copy", known.id);
                (self.screen.note(&words, Marks::DIM), Next::Switch(link, Box::new(known)))
            }
            Err(why) => (self.refused(&why), Next::Stay),
        }
    }

    async fn cost(&self) -> anyhow::Result<String> {
        let known = self.link.known().await?;
        let (came, went) = self.screen.tokens;
        Ok(format!(
            "{}{}turns: {}, tokens: {} in, {} out\n",
            cost(&known),
            known
                .max_budget
                .map(|limit| format!("{}, ", of_budget(&known, limit)))
                .unwrap_or_default(),
            known.turns,
            grouped(came),
            grouped(went)
        ))
    }

    /// Says what the chat may spend, or sets it.
    async fn budget(&self, rest: &str) -> anyhow::Result<String> {
        let dollars = rest.strip_prefix('$').unwrap_or(rest);
        let limit = match dollars {
            "" => {
                let known = self.link.known().await?;
                let told = known.max_budget.map(|limit| of_budget(&known, limit));
                return Ok(format!("{}\n", told.as_deref().unwrap_or("no budget is set")));
            }
            "off" => Value::Null,
            dollars => match dollars.parse::<f64>() {
                Ok(dollars) => json!(dollars),
                Err(_) => return Ok("/budget takes US dollars, or off\n".to_owned()),
            },
        };
        self.set(&json!({"maxBudget": limit}), &format!("budget: {rest}")).await
    }

    /// Says whether trust was taken back, or does it.
    async fn trust(&self, rest: &str) -> anyhow::Result<String> {
        match rest {
            "" => {
                let known = self.link.known().await?;
                let told = if known.distrusted { "withdrawn" } else { "as the server trusts it" };
                Ok(format!("trust in the workspace: {told}\n"))
            }
            "off" => self.set(&json!({"trust": false}), "trust in the workspace: withdrawn").await,
            "on" => {
                let done = "trust in the workspace: as the server trusts it";
                self.set(&json!({"trust": true}), done).await
            }
            _ => Ok("/trust takes on or off\n".to_owned()),
        }
    }

    async fn set(&self, setting: &Value, done: &str) -> anyhow::Result<String> {
        self.link.post("mode", setting).await?;
        Ok(format!("{}\n", plain_line(done)))
    }

    async fn rename(&self, title: &str) -> anyhow::Result<String> {
        self.link.rename(title).await?;
        Ok(format!("title: {}\n", plain_line(title)))
    }

    /// Says which files would be put back as they were before a message; then does it, if that is
    /// what the person wants.
    async fn rewind(&mut self, named: &str) -> anyhow::Result<String> {
        let (message, is_sure) = match (named, self.messages.last()) {
            ("yes", _) => match self.rewinding.take() {
                Some(message) => (message, true),
                None => return Ok("/rewind says first what it would do\n".to_owned()),
            },
            ("", Some((last, _))) => (last.clone(), false),
            ("", None) => return Ok("there is no message to go back to\n".to_owned()),
            (named, _) => (named.to_owned(), false),
        };
        let request = json!({"message": message, "dryRun": !is_sure});
        let done = self.link.post("rewind", &request).await?;
        let files = done["filesChanged"].as_array().into_iter().flatten();
        let files: Vec<&str> = files.filter_map(Value::as_str).collect();
        if done["canRewind"] == false {
            return Ok("files cannot be put back as they were then\n".to_owned());
        }
        if files.is_empty() && !is_sure {
            return Ok("no file has changed since then\n".to_owned());
        }
        let lines = (done["insertions"].as_u64(), done["deletions"].as_u64());
        let (came, went) = (lines.0.unwrap_or(0), lines.1.unwrap_or(0));
        let files = plain_line(&files.join(", "));
        if is_sure {
            return Ok(format!("put back: {files} ({came} lines came back, {went} went)\n"));
        }
        self.rewinding = Some(message);
        Ok(format!("{files}: {came} lines would come back, {went} go; /rewind yes does it\n"))
    }

    fn attach(&mut self, file: &str) -> anyhow::Result<String> {
        let Files { texts, others } = Files::read(&[PathBuf::from(file)])?;
        self.attachments.extend(texts.into_iter().chain(others));
        let names = self.attachments.iter().filter_map(|one| one["name"].as_str());
        let names = plain_line(&names.collect::<Vec<_>>().join(", "));
        Ok(format!("goes with the next message: {names}\n"))
    }
}

/// What a chat cost, as far as anyone knows.
fn cost(known: &Known) -> String {
    match (known.at_least, known.cost > 0.0) {
        (false, _) => format!("${:.4}, ", known.cost),
        (true, true) => format!("at least ${:.4}, ", known.cost),
        (true, false) => "cost unknown, ".to_owned(),
    }
}

/// What a chat has spent of its budget.
fn of_budget(known: &Known, limit: f64) -> String {
    format!("${:.4} spent of a budget of ${limit}", known.spent)
}

fn modes() -> String {
    MODES.iter().map(|(mode, about)| format!("/mode {mode:<12} {about}\n")).collect()
}
