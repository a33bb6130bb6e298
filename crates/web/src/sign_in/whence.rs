use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::request::Parts;
use ratchet_core::network::Networks;

use crate::web::{Access, Web};

/// Where a request comes from, as far as one person can be told from another by it.
pub(super) fn address(web: &Web, parts: &Parts) -> String {
    match &web.access {
        Access::People(sign_in) => address_behind(&sign_in.trusted_proxies, parts),
        Access::Open(_) => address_behind(&Networks::default(), parts),
    }
}

fn address_behind(proxies: &Networks, parts: &Parts) -> String {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip());
    let Some(peer) = peer else { return "unknown".to_owned() };
    let forwarded = parts.headers.get_all("x-forwarded-for").into_iter().next_back();
    proxies.caller(peer, forwarded.and_then(|last| last.to_str().ok()))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use axum::http::Request;

    use super::*;

    #[track_caller]
    fn check(peer: &str, forwarded: Option<&str>, expected: &str) {
        let mut request = Request::new(());
        let peer: IpAddr = peer.parse().unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from((peer, 1))));
        if let Some(forwarded) = forwarded {
            request.headers_mut().insert("x-forwarded-for", forwarded.parse().unwrap());
        }
        let proxies = "127.0.0.0/8, ::1, 10.0.0.2".parse().unwrap();
        assert_eq!(address_behind(&proxies, &request.into_parts().0), expected);
    }

    #[test]
    fn only_a_trusted_proxy_speaks_for_others() {
        check("203.0.113.9", None, "203.0.113.9");
        check("203.0.113.9", Some("198.51.100.7"), "203.0.113.9");
        check("127.0.0.1", Some("10.9.9.9, 198.51.100.7"), "198.51.100.7");
        check("10.0.0.2", Some("198.51.100.7"), "198.51.100.7");
        check("10.0.0.3", Some("198.51.100.7"), "10.0.0.3");
        check("::1", Some("nonsense"), "::/64");
        check("::ffff:203.0.113.9", None, "203.0.113.9");
    }

    #[test]
    fn one_network_is_one_caller() {
        check("2001:db8:1:2:3:4:5:6", None, "2001:db8:1:2::/64");
        check("2001:db8:1:2:ffff::1", None, "2001:db8:1:2::/64");
    }
}
