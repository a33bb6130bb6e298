//! Memory and time limits for form submissions in progress.
//!
//! Memory is reserved as bytes arrive, so that a declared but unsent body takes none. Signed-in and
//! anonymous users have separate budgets. Within a budget, the sender with the most memory is
//! evicted first.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::StreamExt as _;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Limits of form submissions.
#[derive(Clone, Debug)]
pub struct FormLimits {
    /// Total bytes of forms of signed-in users.
    pub people_bytes: usize,
    /// Total bytes of forms of anonymous users.
    pub strangers_bytes: usize,
    /// Concurrent forms per sender; one more evicts the oldest.
    pub each: usize,
    /// Read timeout of a form.
    pub time: Duration,
    /// Read timeout of a multipart form of a signed-in user.
    pub upload_time: Duration,
}

impl Default for FormLimits {
    fn default() -> Self {
        Self {
            people_bytes: 64_000_000,
            strangers_bytes: 16_000_000,
            each: 16,
            time: Duration::from_secs(30),
            upload_time: Duration::from_secs(300),
        }
    }
}

/// Sender of a form, for budgets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// Signed-in user, by ID.
    Person(String),
    Stranger(String),
}

/// Why a form was not read completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    /// Too large.
    #[error("the form is longer than {0} bytes")]
    TooLong(usize),
    /// Timed out.
    #[error("the form upload took longer than {} s", .0.as_secs_f64())]
    TooSlow(Duration),
    /// Budget exhausted, or evicted.
    #[error("too many forms are being submitted")]
    NoRoom,
    /// Truncated.
    #[error("the form is incomplete")]
    CutOff,
}

/// The budgets of a server.
#[derive(Debug)]
pub(crate) struct FormBudget {
    people: Pool,
    strangers: Pool,
}

impl FormBudget {
    pub(crate) fn new(limits: &FormLimits) -> Self {
        let pool =
            |limit| Pool(Arc::new(PoolParts { limit, each: limits.each, forms: Mutex::default() }));
        Self { people: pool(limits.people_bytes), strangers: pool(limits.strangers_bytes) }
    }

    /// Starts reading a form.
    pub(crate) fn begin(&self, sender: Sender) -> FormLease {
        match sender {
            Sender::Person(id) => self.people.begin(id),
            Sender::Stranger(address) => self.strangers.begin(address),
        }
    }
}

#[derive(Clone, Debug)]
struct Pool(Arc<PoolParts>);

#[derive(Debug)]
struct PoolParts {
    limit: usize,
    each: usize,
    // Held for a few instructions and never across an await: the plain mutex is the right one.
    forms: Mutex<Forms>,
}

#[derive(Debug, Default)]
struct Forms {
    /// By number, in order of arrival.
    open: HashMap<u64, Form>,
    last_number: u64,
    /// Total bytes.
    bytes: usize,
}

#[derive(Debug)]
struct Form {
    sender: String,
    bytes: usize,
    /// Completely read forms are in use and are not evicted.
    is_whole: bool,
    evicted: Arc<Notify>,
}

impl Pool {
    fn begin(&self, sender: String) -> FormLease {
        let mut forms = self.forms();
        let read = |form: &Form| form.sender == sender && !form.is_whole;
        while forms.open.values().filter(|form| read(form)).count() >= self.0.each.max(1) {
            let own = forms.open.iter().filter(|(_, form)| read(form)).map(|(number, _)| *number);
            let Some(oldest) = own.min() else { break };
            forms.evict(oldest);
        }
        forms.last_number += 1;
        let (number, evicted) = (forms.last_number, Arc::new(Notify::new()));
        let form = Form { sender, bytes: 0, is_whole: false, evicted: Arc::clone(&evicted) };
        forms.open.insert(number, form);
        FormLease { pool: self.clone(), number, evicted }
    }

    fn forms(&self) -> MutexGuard<'_, Forms> {
        self.0.forms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Forms {
    fn grow(&mut self, number: u64, by: usize, limit: usize) -> Result<(), FormError> {
        while self.bytes.saturating_add(by) > limit {
            let victim = self.victim(number, by).ok_or(FormError::NoRoom)?;
            self.evict(victim);
        }
        let form = self.open.get_mut(&number).ok_or(FormError::NoRoom)?;
        form.bytes += by;
        self.bytes += by;
        Ok(())
    }

    /// Eviction candidate: the oldest form of the sender with the most memory, unless that is less
    /// than the request.
    fn victim(&self, number: u64, by: usize) -> Option<u64> {
        let own = self.open.get(&number)?.sender.as_str();
        let mut taken = HashMap::<&str, usize>::from([(own, by)]);
        for form in self.open.values() {
            *taken.entry(&form.sender).or_default() += form.bytes;
        }
        let of = |form: &Form| taken.get(form.sender.as_str()).copied().unwrap_or_default();
        let others = self.open.iter().filter(|(other, form)| **other != number && !form.is_whole);
        let (victim, form) = others.max_by_key(|(other, form)| (of(form), Reverse(**other)))?;
        let asked = taken.get(own).copied().unwrap_or_default();
        (form.sender == own || of(form) >= asked).then_some(*victim)
    }

    fn evict(&mut self, number: u64) {
        if let Some(form) = self.open.remove(&number) {
            self.bytes = self.bytes.saturating_sub(form.bytes);
            form.evicted.notify_one();
        }
    }
}

/// A lease on budget for one form; released on drop.
#[derive(Debug)]
pub(crate) struct FormLease {
    pool: Pool,
    number: u64,
    evicted: Arc<Notify>,
}

impl FormLease {
    fn grow(&self, by: usize) -> Result<(), FormError> {
        self.pool.forms().grow(self.number, by, self.pool.0.limit)
    }

    fn is_whole(&self) {
        if let Some(form) = self.pool.forms().open.get_mut(&self.number) {
            form.is_whole = true;
        }
    }

    /// Wraps the body with the budget. Reading fails with a [`FormError`] beyond it; the memory counts
    /// until the body and this lease are dropped.
    pub(crate) fn body(self: &Arc<Self>, body: Body, limit: usize, time: Duration) -> Body {
        let reader = Reader {
            pieces: body.into_data_stream(),
            lease: Arc::clone(self),
            limit,
            read: 0,
            time,
            deadline: Instant::now() + time,
        };
        let pieces = futures_util::stream::unfold(reader, |mut reader| async move {
            let piece = reader.next().await?;
            Some((piece, reader))
        });
        Body::from_stream(pieces)
    }
}

impl Drop for FormLease {
    fn drop(&mut self) {
        self.pool.forms().evict(self.number);
    }
}

struct Reader {
    pieces: axum::body::BodyDataStream,
    lease: Arc<FormLease>,
    limit: usize,
    read: usize,
    time: Duration,
    deadline: Instant,
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Bytes, FormError>> {
        let evicted = self.lease.evicted.notified();
        let next = tokio::select! {
            () = evicted => return Some(Err(FormError::NoRoom)),
            next = timeout_at(self.deadline, self.pieces.next()) => next,
        };
        let piece = match next {
            Err(_) => return Some(Err(FormError::TooSlow(self.time))),
            Ok(Some(Err(_))) => return Some(Err(FormError::CutOff)),
            Ok(Some(Ok(piece))) => piece,
            Ok(None) => {
                self.lease.is_whole();
                return None;
            }
        };
        self.read = self.read.saturating_add(piece.len());
        if self.read > self.limit {
            return Some(Err(FormError::TooLong(self.limit)));
        }
        Some(self.lease.grow(piece.len()).map(|()| piece))
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use axum::body::to_bytes;

    use super::*;

    fn budget(bytes: usize) -> FormBudget {
        let limits = FormLimits {
            people_bytes: bytes,
            strangers_bytes: bytes,
            each: 2,
            ..FormLimits::default()
        };
        FormBudget::new(&limits)
    }

    fn person(name: &str) -> Sender {
        Sender::Person(name.to_owned())
    }

    fn is_evicted(lease: &FormLease) -> bool {
        lease.grow(0).is_err()
    }

    #[test]
    fn room_is_taken_as_bytes_arrive_and_given_back() {
        let budget = budget(10);
        let announced: Vec<_> =
            ["a", "b", "c"].map(|name| budget.begin(person(name))).into_iter().collect();
        assert!(announced[0].grow(6).is_ok() && announced[1].grow(4).is_ok());
        assert_eq!(
            announced[2].grow(7),
            Err(FormError::NoRoom),
            "others take less than it asks for"
        );
        drop(announced);
        assert!(budget.begin(person("d")).grow(10).is_ok());
        assert_eq!(budget.people.forms().bytes, 0);
    }

    #[test]
    fn whoever_takes_most_makes_room() {
        let budget = budget(10);
        let (first, second) = (budget.begin(person("slow")), budget.begin(person("slow")));
        assert!(first.grow(4).is_ok() && second.grow(4).is_ok());
        let other = budget.begin(person("quick"));
        assert!(other.grow(3).is_ok() && is_evicted(&first) && !is_evicted(&second));
        second.is_whole();
        assert_eq!(other.grow(4), Err(FormError::NoRoom), "what is being worked on stays");
    }

    #[test]
    fn the_oldest_of_a_sender_makes_room_for_its_next() {
        let budget = budget(10);
        let other = budget.begin(person("other"));
        let slow: Vec<_> = (0..3).map(|_| budget.begin(person("slow"))).collect();
        assert!(is_evicted(&slow[0]) && !is_evicted(&slow[1]) && !is_evicted(&slow[2]));
        assert!(!is_evicted(&other));
        assert_eq!(budget.people.forms().open.len(), 3);
    }

    #[test]
    fn strangers_and_people_do_not_share() {
        let budget = budget(10);
        let stranger = budget.begin(Sender::Stranger("ada".to_owned()));
        assert!(stranger.grow(10).is_ok());
        assert!(budget.begin(person("ada")).grow(10).is_ok() && !is_evicted(&stranger));
    }

    #[tokio::test]
    async fn a_form_has_an_end_a_deadline_and_its_turn() {
        let budget = budget(100);
        let read = async |body: Body, limit| {
            let lease = Arc::new(budget.begin(person("ada")));
            let body = lease.body(body, limit, Duration::from_millis(20));
            to_bytes(body, usize::MAX).await.map_err(|error| {
                let mut cause = error.source();
                while let Some(other) = cause.filter(|cause| !cause.is::<FormError>()) {
                    cause = other.source();
                }
                *cause.unwrap().downcast_ref::<FormError>().unwrap()
            })
        };
        assert_eq!(read(Body::from("form"), 4).await, Ok(Bytes::from("form")));
        assert_eq!(read(Body::from("form"), 3).await, Err(FormError::TooLong(3)));
        assert_eq!(read(Body::from("f".repeat(101)), 200).await, Err(FormError::NoRoom));
        let silent = Body::from_stream(futures_util::stream::pending::<Result<Bytes, FormError>>());
        assert!(matches!(read(silent, 4).await, Err(FormError::TooSlow(_))));
    }
}
