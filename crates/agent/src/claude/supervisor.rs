use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::Child;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::command::ClaudeTimeouts;
use super::exit::{ClaudeEnd, EndCause};
use super::lines::FromClaude;
use super::pending_requests::PendingRequests;
use super::process::{self, ProcessGoal};
use super::process_identity;
use super::process_identity::ProcessIdentity;
use super::process_slots::HeldSlot;
use super::process_tree::{kill_by_temp_folder, kill_group, kill_tree};
use super::stdout_reader::{LineSender, UnroutedOutput};
use super::watchdog::Supervisor;

/// Timeout for the last output of a process that has ended or is killed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// All that is needed to see a process to its end.
#[derive(Debug)]
pub(super) struct ProcessSupervisor {
    pub(super) child: Child,
    pub(super) identity: ProcessIdentity,
    /// Who ends it if we are gone before it is.
    pub(super) supervisor: Option<Supervisor>,
    pub(super) temp: PathBuf,
    pub(super) timeouts: ClaudeTimeouts,
    pub(super) pending: Arc<PendingRequests>,
    pub(super) unrouted: Arc<UnroutedOutput>,
    pub(super) goal_changes: watch::Receiver<ProcessGoal>,
    /// Closed when its whole output is read.
    pub(super) reading: mpsc::Receiver<()>,
    pub(super) line_sender: LineSender,
    pub(super) end: watch::Sender<Option<Arc<ClaudeEnd>>>,
    pub(super) slot: HeldSlot,
}

impl ProcessSupervisor {
    /// Waits for its end, ends what it leaves behind, and tells everyone.
    pub(super) async fn take(mut self) {
        let (cause, status) = self.watch().await;
        // Its children may hold its pipes open and would go on without it. It has just ended, so
        // its process id is not reused yet.
        kill_group(self.identity.pid, Signal::KILL);
        process_identity::gone(&kill_by_temp_folder(&self.temp)).await;
        if let Some(supervisor) = self.supervisor.take() {
            supervisor.dismiss();
        }
        let heard_all = timeout(LAST_WORDS, self.reading.recv()).await.is_ok();
        self.pending.close();
        let end = Arc::new(ended(cause, status.ok(), &self.unrouted));
        self.end.send_replace(Some(Arc::clone(&end)));
        self.slot.leave();
        // A slow reader still gets all lines before the end.
        let mut is_over = heard_all;
        while !is_over && self.line_sender.is_crowded() {
            is_over = timeout(LAST_WORDS, self.reading.recv()).await.is_ok();
        }
        self.line_sender.send(FromClaude::Ended(end)).await;
    }

    async fn watch(&mut self) -> (EndCause, io::Result<ExitStatus>) {
        let pending = Arc::clone(&self.pending);
        tokio::select! {
            status = self.child.wait() => (EndCause::Exited, status),
            () = process::until(&mut self.goal_changes, ProcessGoal::End) => {
                (EndCause::Requested, self.end_it().await)
            }
            () = pending.wait_until_idle(self.timeouts.silence) => (EndCause::IdleTimeout, self.kill_it().await),
            () = lost(&mut self.supervisor) => (EndCause::Unsupervised, self.kill_it().await),
        }
    }

    /// Waits for the exit after stdin is closed; on timeout sends SIGTERM, then SIGKILL.
    async fn end_it(&mut self) -> io::Result<ExitStatus> {
        let by_itself = tokio::select! {
            status = timeout(self.timeouts.end, self.child.wait()) => status.ok(),
            () = process::until(&mut self.goal_changes, ProcessGoal::Kill) => None,
        };
        if let Some(status) = by_itself {
            return status;
        }
        if *self.goal_changes.borrow() != ProcessGoal::Kill {
            kill_group(self.identity.pid, Signal::TERM);
            if let Ok(status) = timeout(LAST_WORDS, self.child.wait()).await {
                return status;
            }
        }
        self.kill_it().await
    }

    async fn kill_it(&mut self) -> io::Result<ExitStatus> {
        // While it is alive, processes that left its group are found as its children.
        drop(kill_tree(&self.identity, &self.temp));
        self.child.wait().await
    }
}

/// Resolves when the supervisor process has exited; never, for a process without a supervisor.
async fn lost(supervisor: &mut Option<Supervisor>) {
    match supervisor {
        Some(supervisor) => supervisor.lost().await,
        None => std::future::pending().await,
    }
}

fn ended(cause: EndCause, status: Option<ExitStatus>, unrouted: &UnroutedOutput) -> ClaudeEnd {
    let (stderr, noise, errors) = unrouted.summary();
    let code = status.and_then(|status| status.code());
    let signal = status.and_then(|status| status.signal());
    ClaudeEnd { cause, code, signal, stderr, noise, errors }
}
