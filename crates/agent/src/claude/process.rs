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
use super::process_slots::{HeldSlot, ProcessSlot, WorkPermit};
use super::process_tree::kill_tree;
use super::request::CliRequest;
use super::stdin_writer;
use super::stdin_writer::StdinLine;
use super::stdout_reader;
use super::stdout_reader::{LineSender, StdoutReader, UnroutedOutput};
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
    identity: ProcessIdentity,
    temp: PathBuf,
    greeting: Value,
    timeouts: ClaudeTimeouts,
    slot: HeldSlot,
    pending: Arc<PendingRequests>,
    stdin_lines: mpsc::Sender<StdinLine>,
    goal: watch::Sender<ProcessGoal>,
    ended: watch::Receiver<Option<Arc<ClaudeEnd>>>,
    _tasks: JoinSet<()>,
}

/// What a process is asked to do; later values override earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProcessGoal {
    Run,
    /// It ends when it is done.
    End,
    Kill,
}

/// Waits until the goal is at least this one, or its sender is dropped.
pub(super) async fn until(goal_changes: &mut watch::Receiver<ProcessGoal>, goal: ProcessGoal) {
    drop(goal_changes.wait_for(|goal_changes| *goal_changes >= goal).await);
}

/// Starts the tasks that read from, write to and supervise a process.
pub(super) fn supervise_process(
    (mut child, mut supervisor): (Child, Option<Supervisor>),
    command: &ClaudeCommand,
    slot: ProcessSlot,
) -> Result<(ClaudeProcess, ClaudeLines), ClaudeError> {
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take(), child.id());
    let (Some(stdin), Some(stdout), Some(stderr), Some(pid)) = pipes else {
        return Err(ClaudeError::NotStarted { why: "claude cannot be talked to".to_owned() });
    };
    let identity = ProcessIdentity::of(pid);
    if let Some(supervisor) = &mut supervisor {
        supervisor.watch(&identity)?;
    }
    let (line_sender, lines) = LineSender::new();
    let (stdin_lines, said) = mpsc::channel(QUEUE);
    let (goal, goal_changes) = watch::channel(ProcessGoal::Run);
    let (end, ended) = watch::channel(None);
    let (pending, unrouted) = (Arc::new(PendingRequests::new()), Arc::<UnroutedOutput>::default());
    let (temp, timeouts) = (command.folders.temp.clone(), command.timeouts);
    let slot = HeldSlot::new(slot);
    let mut tasks = JoinSet::new();
    tasks.spawn(stdin_writer::write_lines(stdin, said, goal_changes.clone()));
    let (reading_guard, reading_over) = mpsc::channel(1);
    let stderr_guard = reading_guard.clone();
    tasks.spawn(stdout_reader::collect_stderr(stderr, Arc::clone(&unrouted), stderr_guard));
    let reading = StdoutReader {
        pending: Arc::clone(&pending),
        line_sender: line_sender.clone(),
        unrouted: Arc::clone(&unrouted),
        servers: command.servers.clone(),
        stdin_lines: stdin_lines.clone(),
    };
    tasks.spawn(reading.run(stdout, reading_guard));
    let care = ProcessSupervisor {
        child,
        identity: identity.clone(),
        supervisor,
        temp: temp.clone(),
        timeouts,
        pending: Arc::clone(&pending),
        unrouted,
        goal_changes,
        reading: reading_over,
        line_sender,
        end,
        slot: slot.clone(),
    };
    tasks.spawn(care.take());
    let greeting = command.initialize_request();
    let running = Running {
        identity,
        temp,
        greeting,
        timeouts,
        slot,
        pending,
        stdin_lines,
        goal,
        ended,
        _tasks: tasks,
    };
    Ok((ClaudeProcess(Arc::new(running)), lines))
}

impl ClaudeProcess {
    /// Waits until the program is ready, and returns what it says about itself.
    ///
    /// # Errors
    /// Says why it ended instead, as it does when it should resume a conversation that is not
    /// there, or that it took too long.
    pub async fn initialize(&self) -> Result<Value, ClaudeError> {
        self.send_request("initialize", &self.0.greeting, self.0.timeouts.start).await
    }

    /// Identity of the process, by which it is found after a restart.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.0.identity
    }

    /// Says something as the user.
    ///
    /// # Errors
    /// Fails when the process has ended.
    pub async fn send_user(&self, message: &UserMessage) -> Result<(), ClaudeError> {
        let spoken = StdinLine::user(message)?;
        if message.answer == ResponseExpected::Answer {
            self.0.pending.mark_busy();
        }
        self.say(spoken).await
    }

    /// Asks the program to do something, and returns what it answers. The subtypes are the
    /// program's own; those that are used often have methods of their own.
    ///
    /// # Errors
    /// Fails when it refuses, takes too long, or has ended.
    pub async fn control(&self, subtype: &str, body: &Value) -> Result<Value, ClaudeError> {
        self.send_request(subtype, body, self.0.timeouts.control).await
    }

    /// Answers a request. Only the first answer counts.
    ///
    /// # Errors
    /// Fails with [`ClaudeError::UnknownRequest`] when it is answered already, or withdrawn.
    pub async fn answer(&self, request_id: &str, reply: &Reply) -> Result<(), ClaudeError> {
        let spoken = StdinLine::reply(request_id, reply)?;
        if !self.0.pending.settle(request_id) {
            return Err(ClaudeError::UnknownRequest { id: request_id.to_owned() });
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
        self.0.slot.has_slot()
    }

    /// Gives its slot back: it waits for a person, and can do nothing meanwhile.
    pub fn release_slot(&self) {
        self.0.slot.release_slot();
    }

    /// Takes a slot, because it is about to go on.
    pub fn take_slot(&self, slot: WorkPermit) {
        self.0.slot.take_slot(slot);
    }

    /// How long ago either side last said something.
    pub fn quiet(&self) -> Duration {
        self.0.pending.quiet()
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<Arc<ClaudeEnd>> {
        self.0.ended.borrow().clone()
    }

    /// Lets it finish what it is doing and end; makes it, when that takes too long. To end it in the
    /// middle of a turn, interrupt it first.
    pub async fn end(&self) -> Arc<ClaudeEnd> {
        self.set_goal(ProcessGoal::End).await
    }

    /// Ends it and all it started, at once.
    pub async fn kill(&self) -> Arc<ClaudeEnd> {
        self.set_goal(ProcessGoal::Kill).await
    }

    async fn set_goal(&self, goal: ProcessGoal) -> Arc<ClaudeEnd> {
        self.0.goal.send_if_modified(|before| {
            let is_more = *before < goal;
            *before = goal.max(*before);
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
        match self.0.stdin_lines.send(spoken).await {
            Ok(()) => Ok(()),
            Err(_) => Err(ClaudeError::Ended(self.wait().await)),
        }
    }

    async fn send_request(
        &self,
        subtype: &str,
        body: &Value,
        timeout: Duration,
    ) -> Result<Value, ClaudeError> {
        let id = Uuid::new_v4().to_string();
        let spoken = StdinLine::request(&id, subtype, body)?;
        let Some(answer) = self.0.pending.register(&id) else {
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
        match tokio::time::timeout(timeout, asking).await {
            Ok(Ok(Outcome::Success(answer))) => Ok(answer),
            Ok(Ok(Outcome::Error { why, code })) => {
                Err(ClaudeError::Refused { request, why, code })
            }
            Ok(Err(error)) => Err(error),
            Err(_) => {
                self.0.pending.forget(&id);
                // It need not go on with it. If it does not hear us, that changes nothing.
                drop(self.0.stdin_lines.try_send(StdinLine::cancel(&id)?));
                Err(ClaudeError::TooSlow { request, after: timeout })
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended.borrow().is_none() {
            drop(kill_tree(&self.identity, &self.temp));
        }
    }
}
