use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap};
use ratchet_core::client_address::ClientAddress;
use ratchet_core::network::Networks;

use crate::web::{Access, Web};

/// The address that limits count the sender of a request by.
///
/// Behind a proxy that settings trust, it is the one that the proxy reports.
pub(crate) fn of(web: &Web, headers: &HeaderMap, extensions: &Extensions) -> String {
    let Some(peer) = peer(extensions) else { return "unknown".to_owned() };
    let hops = headers.get_all("x-forwarded-for").iter();
    let hops = hops.map(|hop| hop.to_str().unwrap_or_default());
    ClientAddress::behind(peer, &trusted_proxies(web), hops).to_string()
}

/// Returns whether a proxy that settings trust sent the request, so that its forwarding headers
/// count.
pub(crate) fn is_trusted_proxy(web: &Web, extensions: &Extensions) -> bool {
    peer(extensions).is_some_and(|peer| trusted_proxies(web).contains(peer))
}

fn peer(extensions: &Extensions) -> Option<IpAddr> {
    extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip())
}

fn trusted_proxies(web: &Web) -> Cow<'_, Networks> {
    match &web.access {
        Access::People(sign_in) => Cow::Borrowed(&sign_in.trusted_proxies),
        Access::Open(_) => Cow::Owned(Networks::default()),
    }
}
