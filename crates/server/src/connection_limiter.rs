//! Limits open connections and evicts idle ones.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ratchet_core::client_address::ClientAddress;
use ratchet_core::network::Networks;
use tokio::sync::Notify;

/// Limits open connections, in total and per client address.
///
/// At a limit the longest idle connection is closed: without a request in flight that costs its
/// client only a reconnect, while rejecting a new one would stop recording. Trusted proxies are
/// exempt from the limit per address: all their clients' connections come from them.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimiter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: usize,
    limit_each: usize,
    proxies: Networks,
    // Held for a few instructions and never across an await: a plain mutex is right.
    table: Mutex<Table>,
    /// Notified when a connection ends or becomes idle.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<u64, Entry>,
    /// Connections without a request in flight, longest idle first.
    idle: IdleOrder,
    /// By client, so that admission does not scan all connections.
    clients: HashMap<ClientAddress, ClientConnections>,
    /// Counter for connections and activity, for ordering.
    last_number: u64,
}

/// Connections by the time they became idle.
type IdleOrder = BTreeMap<u64, u64>;

#[derive(Debug, Default)]
struct ClientConnections {
    open: usize,
    idle: IdleOrder,
}

#[derive(Debug)]
struct Entry {
    client: ClientAddress,
    active: usize,
    /// When it last had a request in flight, or was opened, by the counter.
    active_at: u64,
    write_blocked: Arc<AtomicBool>,
    evicted: Arc<Notify>,
}

/// The client address is at its limit, with a request in flight on each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyOfClient;

/// A connection that counts as open until this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    of: ConnectionLimiter,
    id: u64,
    write_blocked: Arc<AtomicBool>,
    evicted: Arc<Notify>,
}

/// A request in flight, until dropped; its connection is not evicted meanwhile.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    of: ConnectionLimiter,
    connection: u64,
}

/// Which limit is reached.
enum Full {
    Total,
    OfClient,
}

impl ConnectionLimiter {
    pub(crate) fn new(limit: usize, limit_each: usize, proxies: Networks) -> Self {
        let (table, freed) = (Mutex::default(), Notify::new());
        Self(Arc::new(Shared { limit, limit_each, proxies, table, freed }))
    }

    /// Admits a connection. Waits if all open connections have requests in flight.
    ///
    /// # Errors
    /// Rejects a client that is at its own limit: waiting for it would block all others.
    pub(crate) async fn admit(&self, peer: IpAddr) -> Result<ConnectionPermit, TooManyOfClient> {
        loop {
            let mut freed = std::pin::pin!(self.0.freed.notified());
            // Registered before the check, so that no notification in between is missed.
            freed.as_mut().enable();
            match self.try_admit(peer) {
                Ok(permit) => return Ok(permit),
                Err(Full::OfClient) => return Err(TooManyOfClient),
                Err(Full::Total) => freed.await,
            }
        }
    }

    fn try_admit(&self, peer: IpAddr) -> Result<ConnectionPermit, Full> {
        let client = ClientAddress::new(peer);
        let mut table = self.table();
        let of_client = table.clients.get(&client).map_or(0, |of_client| of_client.open);
        let is_limited = !self.0.proxies.contains(peer);
        if is_limited && of_client >= self.0.limit_each {
            table.evict(Some(client)).ok_or(Full::OfClient)?;
        }
        if table.open.len() >= self.0.limit {
            table.evict(None).ok_or(Full::Total)?;
        }
        Ok(table.insert(client, self.clone()))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn insert(&mut self, client: ClientAddress, of: ConnectionLimiter) -> ConnectionPermit {
        let id = self.next_number();
        let (write_blocked, evicted) = (Arc::default(), Arc::new(Notify::new()));
        let entry = Entry {
            client,
            active: 0,
            active_at: id,
            write_blocked: Arc::clone(&write_blocked),
            evicted: Arc::clone(&evicted),
        };
        self.open.insert(id, entry);
        self.clients.entry(client).or_default().open += 1;
        self.became_idle(id);
        ConnectionPermit { of, id, write_blocked, evicted }
    }

    /// Evicts the longest idle connection, of one client or of all; `None` if all are busy.
    fn evict(&mut self, client: Option<ClientAddress>) -> Option<()> {
        let idle = match client {
            Some(client) => &self.clients.get(&client)?.idle,
            None => &self.idle,
        };
        let may_go = |id: &&u64| self.open.get(*id).is_some_and(Entry::may_go);
        let id = *idle.values().find(may_go)?;
        self.remove(id)?.evicted.notify_one();
        tracing::debug!("closed an idle connection to make room");
        Some(())
    }

    fn remove(&mut self, id: u64) -> Option<Entry> {
        self.became_busy(id);
        let entry = self.open.remove(&id)?;
        if let Some(of_client) = self.clients.get_mut(&entry.client) {
            of_client.open = of_client.open.saturating_sub(1);
            if of_client.open == 0 {
                self.clients.remove(&entry.client);
            }
        }
        Some(entry)
    }

    fn became_idle(&mut self, id: u64) {
        let Some(entry) = self.open.get(&id) else { return };
        self.idle.insert(entry.active_at, id);
        if let Some(of_client) = self.clients.get_mut(&entry.client) {
            of_client.idle.insert(entry.active_at, id);
        }
    }

    fn became_busy(&mut self, id: u64) {
        let Some(entry) = self.open.get(&id) else { return };
        self.idle.remove(&entry.active_at);
        if let Some(of_client) = self.clients.get_mut(&entry.client) {
            of_client.idle.remove(&entry.active_at);
        }
    }

    fn begin_request(&mut self, id: u64) {
        self.became_busy(id);
        if let Some(entry) = self.open.get_mut(&id) {
            entry.active += 1;
        }
    }

    fn end_request(&mut self, id: u64) {
        let now = self.next_number();
        let Some(entry) = self.open.get_mut(&id) else { return };
        entry.active = entry.active.saturating_sub(1);
        if entry.active == 0 {
            entry.active_at = now;
            self.became_idle(id);
        }
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

impl Entry {
    /// Whether an idle connection may be closed: the end of a response may still wait for the
    /// client to read it.
    fn may_go(&self) -> bool {
        !self.write_blocked.load(Ordering::Relaxed)
    }
}

impl ConnectionPermit {
    /// Counts requests of this connection.
    pub(crate) fn requests(&self) -> impl Fn() -> ActiveRequest + Clone + Send + use<> {
        let (of, connection) = (self.of.clone(), self.id);
        move || {
            of.table().begin_request(connection);
            ActiveRequest { of: of.clone(), connection }
        }
    }

    /// Set while the client does not read.
    pub(crate) fn write_blocked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.write_blocked)
    }

    /// Completes when the connection is evicted.
    pub(crate) fn evicted(&self) -> impl Future<Output = ()> + use<> {
        let evicted = Arc::clone(&self.evicted);
        async move { evicted.notified().await }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.of.table().remove(self.id);
        self.of.0.freed.notify_waiters();
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.of.table().end_request(self.connection);
        self.of.0.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const HERE: &str = "127.0.0.1";
    const FAR: &str = "203.0.113.1";

    fn limiter(limit: usize, limit_each: usize) -> ConnectionLimiter {
        ConnectionLimiter::new(limit, limit_each, Networks::default())
    }

    /// Polls admission once; `None` if it would have to wait.
    fn admit(
        limiter: &ConnectionLimiter,
        peer: &str,
    ) -> Option<Result<ConnectionPermit, TooManyOfClient>> {
        limiter.admit(peer.parse().unwrap()).now_or_never()
    }

    fn is_evicted(permit: &ConnectionPermit) -> bool {
        permit.evicted().now_or_never().is_some()
    }

    #[test]
    fn the_longest_idle_connection_makes_room() {
        let limiter = limiter(2, 2);
        let first = admit(&limiter, HERE).unwrap().unwrap();
        let second = admit(&limiter, HERE).unwrap().unwrap();
        drop(first.requests()());
        let third = admit(&limiter, FAR).unwrap().unwrap();
        assert!(is_evicted(&second), "it has waited longest");
        assert!(!is_evicted(&first) && !is_evicted(&third));
        drop(second);
        assert_eq!(limiter.table().open.len(), 2, "it was counted out once");
        drop((first, third));
        let table = limiter.table();
        assert!(table.open.is_empty() && table.idle.is_empty() && table.clients.is_empty());
    }

    #[test]
    fn two_requests_of_one_connection_both_keep_it() {
        let limiter = limiter(1, 1);
        let busy = admit(&limiter, HERE).unwrap().unwrap();
        let (one, other) = (busy.requests()(), busy.requests()());
        drop(one);
        assert!(admit(&limiter, FAR).is_none(), "the other is under way");
        drop(other);
        assert!(admit(&limiter, FAR).unwrap().is_ok() && is_evicted(&busy));
    }

    #[test]
    fn whoever_has_a_request_under_way_stays() {
        let limiter = limiter(2, 2);
        let busy = admit(&limiter, HERE).unwrap().unwrap();
        let request = busy.requests()();
        let blocked = admit(&limiter, HERE).unwrap().unwrap();
        blocked.write_blocked().store(true, Ordering::Relaxed);
        assert!(admit(&limiter, FAR).is_none(), "the next one waits");
        drop(request);
        let next = admit(&limiter, FAR).unwrap().unwrap();
        assert!(is_evicted(&busy) && !is_evicted(&blocked) && !is_evicted(&next));
    }

    #[tokio::test]
    async fn whoever_waits_is_let_in_once_a_connection_becomes_idle() {
        let limiter = limiter(1, 1);
        let busy = admit(&limiter, HERE).unwrap().unwrap();
        let request = busy.requests()();
        let waiting = limiter.admit(FAR.parse().unwrap());
        let (let_in, ()) = tokio::join!(waiting, async { drop(request) });
        assert!(let_in.is_ok() && is_evicted(&busy));
    }

    #[test]
    fn one_client_does_not_take_all() {
        let limiter = limiter(10, 2);
        let other = admit(&limiter, "203.0.113.2").unwrap().unwrap();
        let mine = [(); 2].map(|()| admit(&limiter, FAR).unwrap().unwrap());
        let newest = admit(&limiter, FAR).unwrap().unwrap();
        assert!(is_evicted(&mine[0]), "its own oldest makes room");
        assert!(!is_evicted(&mine[1]) && !is_evicted(&other));
        let _busy = [mine[1].requests()(), newest.requests()()];
        assert_eq!(admit(&limiter, FAR).unwrap().unwrap_err(), TooManyOfClient);
        assert!(admit(&limiter, "203.0.113.3").unwrap().is_ok());
    }

    #[test]
    fn a_trusted_proxy_has_no_limit_of_its_own() {
        let limiter = limiter(10, 2);
        let through: Vec<_> = (0..5).map(|_| admit(&limiter, HERE).unwrap().unwrap()).collect();
        assert!(!through.iter().any(is_evicted));
    }
}
