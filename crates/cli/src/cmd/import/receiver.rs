//! Target of imported records: a server or a data folder.
//!
//! A folder is served by a server of our own for as long as the import takes, on a free port of
//! this machine. So there is one way in, with the same checks, whatever the records came from.

use anyhow::{Context, bail, ensure};
use ratchet_core::secret::Secret;
use ratchet_remote::backoff_clock::SystemBackoffClock;
use ratchet_remote::langfuse::client::{ClientLimits, LangfuseClient, ServerCredentials};
use ratchet_server::api::keys::KeyRequest;
use ratchet_server::shutdown;

use super::IntoArgs;
use crate::administration::Administration;
use crate::config::value::Switch;
use crate::config::{Config, Credentials};
use crate::first_start::FirstKeysFor;
use crate::server::Server;
use crate::{folder, startup_message};

/// What marks the key of an import, so that one that a killed process left behind can be found.
const NOTE: &str = "ratchet import, while it runs";

/// Opens the receiver, works with it, and closes it whatever came of it.
pub(super) async fn with<T>(
    into: &IntoArgs,
    command: &str,
    work: impl AsyncFnOnce(&LangfuseClient) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    match &into.target.server {
        Some(url) => {
            ensure!(into.project.is_none(), "with --server the key determines the project");
            let config = Config::load(&into.target.config, Vec::new())?;
            work(&client(url, &config.credentials)?).await
        }
        None => with_folder(into, command, work).await,
    }
}

fn client(url: &str, credentials: &Credentials) -> anyhow::Result<LangfuseClient> {
    let (Some(public_key), Some(secret_key)) =
        (credentials.public_key.clone(), credentials.secret_key.clone())
    else {
        bail!("--server needs a member's key in RATCHET_PUBLIC_KEY and RATCHET_SECRET_KEY");
    };
    let access = ServerCredentials { url: url.to_owned(), public_key, secret_key };
    Ok(LangfuseClient::new(access, ClientLimits::default(), Box::new(SystemBackoffClock))?)
}

async fn with_folder<T>(
    into: &IntoArgs,
    command: &str,
    work: impl AsyncFnOnce(&LangfuseClient) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let off = |key| (key, "off".to_owned());
    let flags = vec![("listen", "127.0.0.1:0".to_owned()), off("otlp_grpc"), off("otlp_http")];
    let mut config = Config::load(&into.target.config, flags)?;
    // The key selects the project; without keys it would always be the first.
    config.auth = Switch::On;
    folder::must_exist(&config.data)?;
    let server = Server::open(&config, command, FirstKeysFor::Nobody).await?;
    let target = server.administration();
    let (stopper, stop) = shutdown::signal();
    let url = startup_message::url(server.bound.web);
    let working = async {
        let done = with_key(&target, into.project.as_deref(), &url, work).await;
        stopper.stop();
        done
    };
    let (served, done) = tokio::join!(server.run(stop), working);
    let value = done?;
    served?;
    Ok(value)
}

/// Works with a key that lives no longer than the work.
async fn with_key<T>(
    target: &Administration,
    project: Option<&str>,
    url: &str,
    work: impl AsyncFnOnce(&LangfuseClient) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let project = target.project(project).await?.id;
    for key in target.keys(&project).await? {
        if key.note.as_deref() == Some(NOTE) {
            target.revoke_key(&project, &key.id).await?;
        }
    }
    let note = Some(NOTE.to_owned());
    let request =
        KeyRequest { role: Some("member".to_owned()), permissions: None, note, person: None };
    let made = target.create_key(&project, request).await.context("cannot create a key")?;
    let credentials = Credentials {
        public_key: Some(made.key.public_key),
        secret_key: Some(Secret::new(made.secret_key)),
    };
    let done = match client(url, &credentials) {
        Ok(client) => work(&client).await,
        Err(error) => Err(error),
    };
    target.revoke_key(&project, &made.key.id).await?;
    done
}
