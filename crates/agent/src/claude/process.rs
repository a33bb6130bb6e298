use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::command::{ClaudeCommand, ClaudeTimeouts};
use super::error::ClaudeError;
use super::exit::ClaudeEnd;
use super::lines::ClaudeLines;
use super::message::{Reply, ResponseExpected, UserMessage};
use super::pending_requests::{Outcome, PendingRequests};
use super::process_identity::ProcessIdentity;
use super::process_slots::{HeldSeat, ProcessSlot, WorkPermit};
use super::process_tree::kill_tree;
use super::request::CliRequest;
use super::stdin_writer;
use super::stdin_writer::StdinLine;
use super::stdout_reader;
use super::stdout_reader::{Outlet, StdoutReader, UnroutedOutput};
use super::supervisor::ProcessSupervisor;
use super::watchdog::Supervisor;

/// Lines that wait to be said.
const QUEUE: usize = 256;

/// A running program. All that is said through clones of it reaches the same process, line by line;
/// when the last one is dropped, the process and all it started are killed.
#[derive(Clone, Debug)]
pub struct ClaudeProcess(Arc<Running>);

#[derive(Debug)]
struct Running {
    mark: ProcessIdentity,
    temp: PathBuf,
    greeting: Value,
    patience: ClaudeTimeouts,
    seat: HeldSeat,
    desk: Arc<PendingRequests>,
    speech: mpsc::Sender<StdinLine>,
    wish: watch::Sender<Wish>,
    ended: watch::Receiver<Option<Arc<ClaudeEnd>>>,
    _tasks: JoinSet<()>,
}

/// What is to become of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wish {
    Run,
    /// It ends when it is done.
    End,
    Kill,
}

/// Waits until at least this is wished, or nobody is left to wish.
pub(super) async fn until(wished: &mut watch::Receiver<Wish>, wish: Wish) {
    drop(wished.wait_for(|wished| *wished >= wish).await);
}

/// Looks after a process that has just started.
pub(super) fn attend(
    (mut child, mut supervisor): (Child, Option<Supervisor>),
    command: &ClaudeCommand,
    seat: ProcessSlot,
) -> Result<(ClaudeProcess, ClaudeLines), ClaudeError> {
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take(), child.id());
    let (Some(stdin), Some(stdout), Some(stderr), Some(pid)) = pipes else {
        return Err(ClaudeError::NotStarted { why: "claude cannot be talked to".to_owned() });
    };
    let mark = ProcessIdentity::of(pid);
    if let Some(supervisor) = &mut supervisor {
        supervisor.watch(&mark)?;
    }
    let (outlet, lines) = Outlet::new();
    let (speech, said) = mpsc::channel(QUEUE);
    let (wish, wished) = watch::channel(Wish::Run);
    let (end, ended) = watch::channel(None);
    let (desk, complaints) =
        (Arc::new(PendingRequests::new()), Arc::new(UnroutedOutput::default()));
    let (temp, patience) = (command.place.temp.clone(), command.patience);
    let seat = HeldSeat::new(seat);
    let mut tasks = JoinSet::new();
    tasks.spawn(stdin_writer::speak(stdin, said, wished.clone()));
    let (hears, hearing_over) = mpsc::channel(1);
    tasks.spawn(stdout_reader::keep_complaints(stderr, Arc::clone(&complaints), hears.clone()));
    let hearing = StdoutReader {
        desk: Arc::clone(&desk),
        outlet: outlet.clone(),
        complaints: Arc::clone(&complaints),
        servers: command.servers.clone(),
        speech: speech.clone(),
    };
    tasks.spawn(hearing.hear(stdout, hears));
    let care = ProcessSupervisor {
        child,
        mark: mark.clone(),
        supervisor,
        temp: temp.clone(),
        patience,
        desk: Arc::clone(&desk),
        complaints,
        wished,
        hearing: hearing_over,
        outlet,
        end,
        seat: seat.clone(),
    };
    tasks.spawn(care.take());
    let greeting = command.greeting();
    let running =
        Running { mark, temp, greeting, patience, seat, desk, speech, wish, ended, _tasks: tasks };
    Ok((ClaudeProcess(Arc::new(running)), lines))
}

impl ClaudeProcess {
    /// Waits until the program is ready, and returns what it says about itself.
    ///
    /// # Errors
    /// Says why it ended instead, as it does when it should resume a conversation that is not
    /// there, or that it took too long.
    pub async fn initialize(&self) -> Result<Value, ClaudeError> {
        self.ask("initialize", &self.0.greeting, self.0.patience.start).await
    }

    /// Which process it is.
    pub fn mark(&self) -> &ProcessIdentity {
        &self.0.mark
    }

    /// Says something as the user.
    ///
    /// # Errors
    /// Fails when the process has ended.
    pub async fn send_user(&self, message: &UserMessage) -> Result<(), ClaudeError> {
        let spoken = StdinLine::user(message)?;
        if message.answer == ResponseExpected::Answer {
            self.0.desk.began();
        }
        self.say(spoken).await
    }

    /// Asks the program to do something, and returns what it answers. The subtypes are the
    /// program's own; those that are used often have methods of their own.
    ///
    /// # Errors
    /// Fails when it refuses, takes too long, or has ended.
    pub async fn control(&self, subtype: &str, body: &Value) -> Result<Value, ClaudeError> {
        self.ask(subtype, body, self.0.patience.control).await
    }

    /// Answers a request. Only the first answer counts.
    ///
    /// # Errors
    /// Fails with [`ClaudeError::NotAsked`] when it is answered already, or withdrawn.
    pub async fn answer(&self, request_id: &str, reply: &Reply) -> Result<(), ClaudeError> {
        let spoken = StdinLine::reply(request_id, reply)?;
        if !self.0.desk.settle(request_id) {
            return Err(ClaudeError::NotAsked { id: request_id.to_owned() });
        }
        self.say(spoken).await
    }

    /// Answers a request with the reason why there is no answer.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub async fn refuse(&self, request: &CliRequest, why: &str) -> Result<(), ClaudeError> {
        self.answer(&request.id, &Reply::Error(why.to_owned())).await
    }

    /// Whether it holds one of the slots of those that work.
    pub fn has_slot(&self) -> bool {
        self.0.seat.has_slot()
    }

    /// Gives its slot back: it waits for a person, and can do nothing meanwhile.
    pub fn rest(&self) {
        self.0.seat.rest();
    }

    /// Takes a slot, because it is about to go on.
    pub fn work(&self, slot: WorkPermit) {
        self.0.seat.work(slot);
    }

    /// How long ago either side last said something.
    pub fn quiet(&self) -> Duration {
        self.0.desk.quiet()
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<Arc<ClaudeEnd>> {
        self.0.ended.borrow().clone()
    }

    /// Lets it finish what it is doing and end; makes it, when that takes too long. To end it in the
    /// middle of a turn, interrupt it first.
    pub async fn end(&self) -> Arc<ClaudeEnd> {
        self.wish(Wish::End).await
    }

    /// Ends it and all it started, at once.
    pub async fn kill(&self) -> Arc<ClaudeEnd> {
        self.wish(Wish::Kill).await
    }

    async fn wish(&self, wish: Wish) -> Arc<ClaudeEnd> {
        self.0.wish.send_if_modified(|before| {
            let is_more = *before < wish;
            *before = wish.max(*before);
            is_more
        });
        self.wait().await
    }

    /// Waits until it has ended.
    pub async fn wait(&self) -> Arc<ClaudeEnd> {
        let mut ended = self.0.ended.clone();
        let ended = ended.wait_for(Option::is_some).await;
        // The one who tells can only be gone with the runtime.
        ended.ok().and_then(|end| end.clone()).unwrap_or_else(|| Arc::new(ClaudeEnd::unknown()))
    }

    async fn say(&self, spoken: StdinLine) -> Result<(), ClaudeError> {
        match self.0.speech.send(spoken).await {
            Ok(()) => Ok(()),
            Err(_) => Err(ClaudeError::Ended(self.wait().await)),
        }
    }

    async fn ask(
        &self,
        subtype: &str,
        body: &Value,
        patience: Duration,
    ) -> Result<Value, ClaudeError> {
        let id = Uuid::new_v4().to_string();
        let spoken = StdinLine::request(&id, subtype, body)?;
        let Some(answer) = self.0.desk.ask(&id) else {
            return Err(ClaudeError::Ended(self.wait().await));
        };
        let asking = async {
            self.say(spoken).await?;
            match answer.await {
                Ok(outcome) => Ok(outcome),
                Err(_) => Err(ClaudeError::Ended(self.wait().await)),
            }
        };
        let request = subtype.to_owned();
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(Outcome::Success(answer))) => Ok(answer),
            Ok(Ok(Outcome::Error { why, code })) => {
                Err(ClaudeError::Refused { request, why, code })
            }
            Ok(Err(error)) => Err(error),
            Err(_) => {
                self.0.desk.forget(&id);
                // It need not go on with it. If it does not hear us, that changes nothing.
                drop(self.0.speech.try_send(StdinLine::cancel(&id)?));
                Err(ClaudeError::TooSlow { request, after: patience })
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.borrow().is_none() {
            drop(kill_tree(&self.mark, &self.temp));
        }
    }
}
