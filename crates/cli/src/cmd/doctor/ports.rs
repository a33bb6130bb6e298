use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ratchet_remote::http;
use reqwest::header::WWW_AUTHENTICATE;
use tokio::net::TcpListener;

use super::{Check, State};
use crate::config::Addresses;
use crate::config::value::Address;

/// Timeout for a response of the process on the port.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tenant {
    Nobody,
    Ratchet,
    Other,
}

/// Looks whether the addresses are free, and who is there if not.
pub(super) async fn checks(addresses: Addresses) -> Vec<Check> {
    let web = addresses.web.0;
    let at_web = tenant(web).await;
    let mut checks = vec![judge("--listen", web, &at_web, State::Bad)];
    for (flag, address) in
        [("--otlp-grpc", addresses.otlp_grpc), ("--otlp-http", addresses.otlp_http)]
    {
        let Address::At(address) = address else {
            checks.push(Check::new(flag, State::Ok, "off"));
            continue;
        };
        // A gRPC port does not say who it is, so it counts as the running server's.
        let at_address = match (&at_web, tenant(address).await) {
            (Ok(Tenant::Ratchet), Ok(Tenant::Other)) => Ok(Tenant::Ratchet),
            (_, at_address) => at_address,
        };
        checks.push(judge(flag, address, &at_address, State::Warn));
    }
    checks
}

/// `if_taken` is the severity when another program uses the port.
fn judge(flag: &str, address: SocketAddr, tenant: &io::Result<Tenant>, if_taken: State) -> Check {
    match tenant {
        Ok(Tenant::Nobody) => Check::new(flag, State::Ok, format!("{address} is free")),
        Ok(Tenant::Ratchet) => {
            Check::new(flag, State::Ok, format!("a ratchet server is listening on {address}"))
        }
        Ok(Tenant::Other) => {
            let detail =
                format!("{address} is in use by another program; stop it or change {flag}");
            Check::new(flag, if_taken, detail)
        }
        Err(error) => Check::new(flag, State::Bad, format!("cannot listen on {address}: {error}")),
    }
}

async fn tenant(address: SocketAddr) -> io::Result<Tenant> {
    match TcpListener::bind(address).await {
        Ok(_) => Ok(Tenant::Nobody),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let is_ratchet = is_ratchet(address).await.unwrap_or(false);
            Ok(if is_ratchet { Tenant::Ratchet } else { Tenant::Other })
        }
        Err(error) => Err(error),
    }
}

/// A ratchet server is recognized by its authentication realm, or by this path without a key.
async fn is_ratchet(address: SocketAddr) -> reqwest::Result<bool> {
    let client = http::on_this_machine().timeout(PATIENCE).build()?;
    let answer = client.get(format!("http://{address}/api/v1/status")).send().await?;
    let challenge = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    let asks_for_key = challenge.is_some_and(|challenge| challenge.contains("ratchet"));
    Ok(asks_for_key || answer.status().is_success())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::Listen;

    #[tokio::test]
    async fn a_port_in_use_is_worse_for_the_web_than_for_otlp() {
        let held = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = held.local_addr().unwrap();
        // Connections are closed at once, as by a program with another protocol.
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(async move {
            loop {
                drop(held.accept().await.unwrap());
            }
        });
        let at = Address::At(address);
        let addresses = Addresses { web: Listen(address), otlp_grpc: at, otlp_http: Address::Off };
        let states = checks(addresses).await.iter().map(|check| check.state).collect::<Vec<_>>();
        assert_eq!(states, [State::Bad, State::Warn, State::Ok]);
    }

    #[tokio::test]
    async fn a_free_port_is_well() {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        assert_eq!(tenant(free).await.unwrap(), Tenant::Nobody);
    }
}
