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
use super::process::{self, Wish};
use super::process_identity;
use super::process_identity::ProcessIdentity;
use super::process_slots::HeldSeat;
use super::process_tree::{kill_group, kill_kin, kill_tree};
use super::stdout_reader::{Outlet, UnroutedOutput};
use super::watchdog::Supervisor;

/// How long its last words may take to reach us, once it is gone or told to go at once.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// All that is needed to see a process to its end.
#[derive(Debug)]
pub(super) struct ProcessSupervisor {
    pub(super) child: Child,
    pub(super) mark: ProcessIdentity,
    /// Who ends it if we are gone before it is.
    pub(super) supervisor: Option<Supervisor>,
    pub(super) temp: PathBuf,
    pub(super) patience: ClaudeTimeouts,
    pub(super) desk: Arc<PendingRequests>,
    pub(super) complaints: Arc<UnroutedOutput>,
    pub(super) wished: watch::Receiver<Wish>,
    /// Closed when all that it said is heard.
    pub(super) hearing: mpsc::Receiver<()>,
    pub(super) outlet: Outlet,
    pub(super) end: watch::Sender<Option<Arc<ClaudeEnd>>>,
    pub(super) seat: HeldSeat,
}

impl ProcessSupervisor {
    /// Waits for its end, ends what it leaves behind, and tells everyone.
    pub(super) async fn take(mut self) {
        let (cause, status) = self.watch().await;
        // What it started may hold its pipes open, and would go on for nobody. It has just gone, so
        // its number is nobody else's yet.
        kill_group(self.mark.pid, Signal::KILL);
        process_identity::gone(&kill_kin(&self.temp)).await;
        if let Some(supervisor) = self.supervisor.take() {
            supervisor.dismiss();
        }
        let heard_all = timeout(LAST_WORDS, self.hearing.recv()).await.is_ok();
        self.desk.close();
        let end = Arc::new(ended(cause, status.ok(), &self.complaints));
        self.end.send_replace(Some(Arc::clone(&end)));
        self.seat.leave();
        // A reader who is slow still gets everything before he is told.
        let mut is_over = heard_all;
        while !is_over && self.outlet.is_crowded() {
            is_over = timeout(LAST_WORDS, self.hearing.recv()).await.is_ok();
        }
        self.outlet.send(FromClaude::Ended(end)).await;
    }

    async fn watch(&mut self) -> (EndCause, io::Result<ExitStatus>) {
        let desk = Arc::clone(&self.desk);
        tokio::select! {
            status = self.child.wait() => (EndCause::Itself, status),
            () = process::until(&mut self.wished, Wish::End) => {
                (EndCause::Asked, self.end_it().await)
            }
            () = desk.silence(self.patience.silence) => (EndCause::Silence, self.kill_it().await),
            () = lost(&mut self.supervisor) => (EndCause::Unsupervised, self.kill_it().await),
        }
    }

    /// Nothing is said to it any more, so it ends by itself; if not, it is told, then made.
    async fn end_it(&mut self) -> io::Result<ExitStatus> {
        let by_itself = tokio::select! {
            status = timeout(self.patience.end, self.child.wait()) => status.ok(),
            () = process::until(&mut self.wished, Wish::Kill) => None,
        };
        if let Some(status) = by_itself {
            return status;
        }
        if *self.wished.borrow() != Wish::Kill {
            kill_group(self.mark.pid, Signal::TERM);
            if let Ok(status) = timeout(LAST_WORDS, self.child.wait()).await {
                return status;
            }
        }
        self.kill_it().await
    }

    async fn kill_it(&mut self) -> io::Result<ExitStatus> {
        // While it is there, what left its group can be told by whose child it is.
        drop(kill_tree(&self.mark, &self.temp));
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

fn ended(cause: EndCause, status: Option<ExitStatus>, complaints: &UnroutedOutput) -> ClaudeEnd {
    let (stderr, noise, errors) = complaints.told();
    let code = status.and_then(|status| status.code());
    let signal = status.and_then(|status| status.signal());
    ClaudeEnd { cause, code, signal, stderr, noise, errors }
}
