//! Every operation with a trailing slash: proxies and some clients add one.

use ratchet_store::catalog::Role;

use super::calls;
use super::walk::{Walk, text};
use crate::harness::basic;

/// Responses that are never the same twice: counters and free disk space change.
const CHANGING: [&str; 2] = ["GET /metrics", "GET /api/v1/status"];

#[tokio::test]
async fn a_slash_at_the_end_of_a_path_changes_nothing() {
    let mut slashed = calls::all();
    slashed.iter_mut().for_each(|call| call.has_trailing_slash = true);
    // Calls that create and change are made with a slash here, and must succeed.
    let walk = Walk::start_with(slashed).await;
    for call in walk.calls.iter().filter(|call| call.method() == "GET") {
        let mut bare = call.clone();
        bare.has_trailing_slash = false;
        for key in [basic(Role::Owner), String::new()] {
            let (without, with) = (walk.make(&bare, &key).await, walk.make(call, &key).await);
            assert_eq!(with.status, without.status, "{}: {}", call.operation, text(&with));
            if !CHANGING.contains(&call.operation.as_str()) {
                assert_eq!(text(&with), text(&without), "{}", call.operation);
            }
        }
    }
    for call in walk.calls.iter().filter(|call| call.method() == "DELETE") {
        let reply = walk.make(call, "").await;
        assert_eq!(reply.status.as_u16(), 401, "{}: {}", call.operation, text(&reply));
    }
    walk.server.stop().await;
}
