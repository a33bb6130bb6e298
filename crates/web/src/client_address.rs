use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap};
use ratchet_core::client_address::ClientAddress;
use ratchet_core::network::Networks;

use crate::web::{Access, Web};

/// The address that limits count the sender of a request by.
///
/// Behind a proxy that settings trust, it is the one that the proxy speaks for.
pub(crate) fn of(web: &Web, headers: &HeaderMap, extensions: &Extensions) -> String {
    let usual = Networks::default();
    let proxies = match &web.access {
        Access::People(sign_in) => &sign_in.trusted_proxies,
        Access::Open(_) => &usual,
    };
    let Some(ConnectInfo(peer)) = extensions.get::<ConnectInfo<SocketAddr>>() else {
        return "unknown".to_owned();
    };
    let hops = headers.get_all("x-forwarded-for").iter();
    let hops = hops.map(|hop| hop.to_str().unwrap_or_default());
    ClientAddress::behind(peer.ip(), proxies, hops).to_string()
}
