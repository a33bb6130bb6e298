//! The way into a running server for commands on the same machine.
//!
//! A server owns its data folder, so a command that wants the same folder must go through the
//! server. A client that may write to the socket in that folder is trusted: it gets an address and a
//! key that is valid while it stays connected.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use ratchet_core::secret::Secret;
use ratchet_server::auth::LocalKeys;
use ratchet_server::clock::Clock;
use ratchet_server::shutdown::Stop;
use ratchet_store::catalog::{Catalog, KeyPair, NewKey, Permission, Permissions, Role};
use ratchet_store::project::ProjectId;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use crate::config::Credentials;

/// The socket, in the data folder.
const NAME: &str = "door";
/// How many may be let in at once.
const MAX_CLIENTS: usize = 64;
/// What a key is called that lives as long as one conversation.
pub(crate) const CONVERSATION: &str = "ratchet chat";

/// Revokes keys of conversations that a server did not see the end of, for it was killed. The
/// caller owns the folder, so that no such conversation goes on.
pub(crate) async fn revoke_leftovers(catalog: &Catalog) -> anyhow::Result<()> {
    let permissions = Permissions::NONE.with(Permission::Chat);
    for project in catalog.projects().await? {
        for key in catalog.keys(project.id).await? {
            let is_ours = key.note.as_deref() == Some(CONVERSATION);
            if is_ours && key.role == Role::Member && key.permissions == permissions {
                catalog.revoke_key(key.project, key.id, Clock::System.now()).await?;
            }
        }
    }
    Ok(())
}

/// The message to a new client.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Welcome {
    url: String,
    public_key: String,
    secret_key: String,
}

/// Server side of the socket.
#[derive(Debug)]
pub(crate) struct LocalSocketServer {
    path: PathBuf,
    listener: UnixListener,
}

/// What the server gives to clients.
#[derive(Clone, Debug)]
pub(crate) struct LocalServerContext {
    pub(crate) catalog: Catalog,
    pub(crate) project: ProjectId,
    pub(crate) url: String,
    /// Registry of local keys: their agents may work in any folder.
    pub(crate) local_keys: LocalKeys,
}

impl LocalSocketServer {
    /// Opens the socket of a data folder. The caller owns the folder.
    ///
    /// A path that is too long for a socket leaves it closed: then others must name the server.
    pub(crate) fn open(data: &Path) -> Option<Self> {
        let path = data.join(NAME);
        let opened = || {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = UnixListener::bind(&path)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            Ok(listener)
        };
        match opened() {
            Ok(listener) => Some(Self { path, listener }),
            Err(error) => {
                tracing::debug!(error.cause = %error, "others on this machine must name the server");
                None
            }
        }
    }

    /// Serves clients until stopped.
    pub(crate) async fn run(self, context: LocalServerContext, stop: Stop) {
        let mut connections = JoinSet::new();
        loop {
            let came = tokio::select! {
                () = stop.requested() => break,
                Some(_left) = connections.join_next() => continue,
                came = self.listener.accept(), if connections.len() < MAX_CLIENTS => came,
            };
            match came {
                Ok((client, _)) if has_same_user(&client) => {
                    let (context, stop) = (context.clone(), stop.clone());
                    connections.spawn(async move {
                        if let Err(error) = receive(client, &context, &stop).await {
                            tracing::warn!(error.cause = %error, "cannot serve a command on the local socket");
                        }
                    });
                }
                Ok(_) => tracing::warn!("rejected another user on the local socket"),
                Err(error) => {
                    tracing::warn!(error.cause = %error, "the local socket cannot accept connections");
                    break;
                }
            }
        }
        while connections.join_next().await.is_some() {}
        drop(std::fs::remove_file(&self.path));
    }
}

/// Whether the peer is the server's user or root.
fn has_same_user(client: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    client.peer_cred().is_ok_and(|who| who.uid() == own || who.uid() == 0)
}

/// Creates a key for a client, and revokes it on disconnect.
async fn receive(
    mut client: UnixStream,
    context: &LocalServerContext,
    stop: &Stop,
) -> anyhow::Result<()> {
    let new = NewKey {
        project: context.project.clone(),
        role: Role::Member,
        permissions: Permissions::NONE.with(Permission::Chat),
        note: Some(CONVERSATION.to_owned()),
        person: None,
        pair: None,
    };
    let made = context.catalog.create_key(new, Clock::System.now()).await;
    let (key, KeyPair { public_key, secret_key }) = made.context("cannot create a key")?;
    let _local = context.local_keys.register(&key.id);
    let welcome = Welcome {
        url: context.url.clone(),
        public_key: public_key.clone(),
        secret_key: secret_key.expose().to_owned(),
    };
    let line = serde_json::to_string(&welcome)? + "\n";
    if client.write_all(line.as_bytes()).await.is_ok() {
        let mut nothing = [0; 64];
        tokio::select! {
            () = stop.requested() => {}
            () = async { while matches!(client.read(&mut nothing).await, Ok(1..)) {} } => {}
        }
    }
    let revoked =
        context.catalog.revoke_key(context.project.clone(), public_key, Clock::System.now());
    revoked.await.context("cannot revoke a key")?;
    Ok(())
}

/// Client side of the socket: connected until it is dropped.
#[derive(Debug)]
pub(crate) struct LocalSocketClient {
    pub(crate) url: String,
    pub(crate) credentials: Credentials,
    _stream: BufReader<UnixStream>,
}

impl LocalSocketClient {
    /// Connects; `None` if no server runs on that data folder.
    pub(crate) async fn connect(data: &Path) -> anyhow::Result<Option<Self>> {
        // No server, or the stale socket of a killed one.
        let Ok(stream) = UnixStream::connect(data.join(NAME)).await else { return Ok(None) };
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.context("cannot read what the server says")?;
        let welcome: Welcome = serde_json::from_str(&line).with_context(|| {
            format!(
                "the server on {} does not answer on its local socket; give its URL with --server",
                data.display()
            )
        })?;
        let credentials = Credentials {
            public_key: Some(welcome.public_key),
            secret_key: Some(Secret::new(welcome.secret_key)),
        };
        Ok(Some(Self { url: welcome.url, credentials, _stream: stream }))
    }
}
