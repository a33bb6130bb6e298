//! Every operation with every kind of wrong key.

use ratchet_core::account::Email;
use ratchet_core::media::{MediaHash, MediaType};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_stages::major::MajorLimits;
use ratchet_store::catalog::{
    KeyPair, MediaOwner, MediaUse, NewKey, NewMedia, NewProject, NewUser, Role,
};
use ratchet_store::project::ProjectId;
use tempfile::{TempDir, tempdir};

use super::calls::{self, Call, Chosen, Ids, Kept, Needs};
use crate::agents::run_agents;
use crate::harness::{Reply, TestServer, basic, public_key};

/// The word in everything that the seeded project holds.
pub(super) const OURS: &str = "ourword";
/// The word in what others send.
const THEIRS: &str = "theirword";
/// `Basic` of `pk-neighbour:sk`, an owner of another project.
pub(crate) const NEIGHBOUR: &str = "Basic cGstbmVpZ2hib3VyOnNr";
/// `Basic` of `pk-revoked:sk`, once an owner of this one.
const REVOKED: &str = "Basic cGstcmV2b2tlZDpzaw==";

/// A server whose first project holds one of everything.
struct Walk {
    server: TestServer,
    _agents: TempDir,
    calls: Vec<Call>,
    kept: Kept,
}

impl Walk {
    async fn start() -> Self {
        let server = TestServer::start().await;
        make_strangers(&server).await;
        make_what_no_call_makes(&server).await;
        let agents = start_agents(&server).await;
        let mut walk = Self { server, _agents: agents, calls: calls::all(), kept: Kept::default() };
        for call in walk.calls.iter().filter(|call| call.method() != "DELETE") {
            let ids = Ids { kept: &walk.kept, mark: OURS, chosen: Chosen::Seeded };
            call.wait(&walk.server, &ids).await;
            let reply = call.make(&walk.server, &basic(Role::Owner), &ids).await;
            assert!(reply.status.is_success(), "{}: {}", call.operation, text(&reply));
            call.keep(&reply, &mut walk.kept);
        }
        walk
    }

    async fn make(&self, call: &Call, key: &str) -> Reply {
        let ids = Ids { kept: &self.kept, mark: THEIRS, chosen: Chosen::Seeded };
        call.make(&self.server, key, &ids).await
    }

    /// All that the project shows to its owner.
    async fn everything(&self) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        for call in self.calls.iter().filter(|call| call.method() == "GET" && !call.whole_server) {
            if call.needs != Needs::Nothing {
                let reply = self.make(call, &basic(Role::Owner)).await;
                shown.push((call.operation.clone(), text(&reply)));
            }
        }
        shown
    }
}

pub(crate) async fn make_strangers(server: &TestServer) {
    let (now, catalog) = (Timestamp::default(), &server.app.store.catalog);
    let project = ProjectId::parse("neighbour").unwrap();
    let new =
        NewProject { id: project.clone(), name: "neighbour".to_owned(), retention_days: None };
    catalog.create_project(new, now).await.unwrap();
    let ours = crate::harness::project();
    for (project, name) in [(project, "pk-neighbour"), (ours.clone(), "pk-revoked")] {
        let pair = KeyPair { public_key: name.to_owned(), secret_key: Secret::new("sk") };
        let new = NewKey { project, role: Role::Owner, note: None, pair: Some(pair) };
        catalog.create_key(new, now).await.unwrap();
    }
    catalog.revoke_key(ours, "pk-revoked".to_owned(), now).await.unwrap();
}

/// Has agents run, in a folder that is on every machine and whose name no call changes.
pub(super) async fn start_agents(server: &TestServer) -> TempDir {
    let place = tempdir().unwrap();
    let real = place.path().canonicalize().unwrap();
    run_agents(server, "/usr".into(), &real, MajorLimits::default()).await;
    place
}

/// People, and the bytes of the media that a call announces.
pub(super) async fn make_what_no_call_makes(server: &TestServer) {
    let store = &server.app.store;
    for (second, role) in [(1, Role::Member), (2, Role::Owner)] {
        let email = Email::parse(&format!("{}@example.com", role.as_str())).unwrap();
        let new =
            NewUser { email, name: None, password: Secret::new("hunter2"), role, project: None };
        store.catalog.create_user(new, Timestamp::from_millis(1_000 * second)).await.unwrap();
    }
    let hash = MediaHash::parse("LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=").unwrap();
    let mut incoming = store.media.receive().unwrap();
    incoming.write(b"hello").unwrap();
    store.media.keep(&incoming, hash).unwrap();
    let owner = MediaOwner::Trace("walk-trace".to_owned());
    let new = NewMedia {
        hash,
        content_type: MediaType::OTHER,
        content_length: 5,
        used_in: MediaUse { owner, field: "input".to_owned() },
    };
    let (project, now) = (crate::harness::project(), Timestamp::default());
    let media = store.catalog.announce_media(project.clone(), new, now).await.unwrap();
    store.catalog.media_stored(project, media.id, now).await.unwrap();
}

pub(super) fn text(reply: &Reply) -> String {
    String::from_utf8_lossy(&reply.body).into_owned()
}

#[track_caller]
fn refused(call: &Call, who: &str, reply: &Reply, status: u16) {
    let (operation, body) = (&call.operation, text(reply));
    assert_eq!(reply.status.as_u16(), status, "{operation} with {who}: {body}");
    assert!(!body.contains(OURS), "{operation} tells {who} what it must not: {body}");
}

#[tokio::test]
async fn keys_that_may_not_are_refused_everywhere() {
    let walk = Walk::start().await;
    let before = walk.everything().await;
    for call in walk.calls.iter().filter(|call| call.needs != Needs::Nothing) {
        refused(call, "no key", &walk.make(call, "").await, 401);
        refused(call, "a revoked key", &walk.make(call, REVOKED).await, 401);
        for role in Role::ALL.into_iter().filter(|role| !call.needs.allows(*role)) {
            refused(call, role.as_str(), &walk.make(call, &basic(role)).await, 403);
        }
        if !call.needs.allows_public_key() {
            let public = format!("Bearer {}", public_key(Role::Owner));
            refused(call, "a public key alone", &walk.make(call, &public).await, 403);
        }
    }
    assert_eq!(walk.everything().await, before, "a refused call changed something");
    walk.server.stop().await;
}

#[tokio::test]
async fn a_neighbour_cannot_tell_what_is_not_theirs_from_what_is_not_there() {
    let walk = Walk::start().await;
    let before = walk.everything().await;
    let strangers = walk.kept.strangers();
    let nobodys = Ids { kept: &strangers, mark: THEIRS, chosen: Chosen::Nobodys };
    for call in by_method(&walk.calls) {
        let operation = &call.operation;
        let not_theirs = walk.make(call, NEIGHBOUR).await;
        let not_there = call.make(&walk.server, NEIGHBOUR, &nobodys).await;
        let answer = text(&not_theirs);
        assert!(!answer.contains(OURS), "{operation} tells a neighbour: {answer}");
        assert!(!not_theirs.status.is_server_error(), "{operation}: {answer}");
        assert_eq!(not_theirs.status, not_there.status, "{operation}: {answer}");
        if call.method() == "GET" && call.has_id() {
            assert_eq!(not_theirs.status.as_u16(), 404, "{operation}: {answer}");
        }
        if !not_theirs.status.is_success() {
            let renamed = walk.kept.renamed(&answer);
            assert_eq!(renamed, text(&not_there), "{operation} tells the two apart");
        }
    }
    assert_eq!(walk.everything().await, before, "a neighbour changed something");
    walk.server.stop().await;
}

/// The calls that must stop at the border. What makes something comes last: a neighbour may choose
/// the same ids, and then has them too.
fn by_method(calls: &[Call]) -> Vec<&Call> {
    let order = ["GET", "DELETE", "PATCH", "PUT", "POST"];
    let bounded = calls.iter().filter(|call| call.needs != Needs::Nothing && !call.whole_server);
    let mut sorted: Vec<_> = bounded.collect();
    sorted.sort_by_key(|call| order.iter().position(|method| *method == call.method()));
    sorted
}

#[tokio::test]
async fn roles_open_what_they_should() {
    let walk = Walk::start().await;
    for call in &walk.calls {
        for role in Role::ALL.into_iter().filter(|role| call.needs.allows(*role)) {
            let reply = walk.make(call, &basic(role)).await;
            let is_let_in = ![401, 403, 500].contains(&reply.status.as_u16());
            assert!(is_let_in, "{} with {}: {}", call.operation, role.as_str(), text(&reply));
        }
        if call.needs.allows_public_key() {
            let reply = walk.make(call, &format!("Bearer {}", public_key(Role::Member))).await;
            assert!(reply.status.is_success(), "{}: {}", call.operation, text(&reply));
        }
    }
    walk.server.stop().await;
}
