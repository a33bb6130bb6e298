//! Every operation with every kind of key: none, a revoked one, a public key alone, each role with
//! and without each permission, and keys of other projects.

use std::collections::BTreeSet;
use std::time::Duration;

use ratchet_core::catalog::account::Email;
use ratchet_core::job::{JobKind, Retry};
use ratchet_core::record::media::{MediaHash, MediaType};
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_stages::chat::ChatLimits;
use ratchet_store::catalog::{
    JobFailure, KeyPair, LeaseStatus, MediaOwner, NewJob, NewKey, NewMedia, NewProject, NewUser,
    Permission, Permissions, QueueId, ReferenceLocation, Role,
};
use ratchet_store::project::ProjectId;
use ratchet_testkit::wait;
use tempfile::{TempDir, tempdir};

use super::calls::{self, Call, Chosen, Ids, KnownIds, Needs};
use crate::agents::run_agents;
use crate::harness::{Reply, TestServer, basic, basic_of, project, public_key};

/// The word in all data of the seeded project.
pub(super) const OURS: &str = "ourword";
/// The word in requests of other projects.
pub(super) const THEIRS: &str = "theirword";
/// Messages that the calls send in one chat.
const TURNS: usize = 2;
/// `Basic` of `pk-neighbour:sk`, an owner of another project.
pub(crate) const NEIGHBOUR: &str = "Basic cGstbmVpZ2hib3VyOnNr";
/// `Basic` of `pk-revoked:sk`, a former owner's key of this one.
const REVOKED: &str = "Basic cGstcmV2b2tlZDpzaw==";

/// Whom keys with the role reviewer belong to.
const REVIEWER: &str = "reviewer@example.com";

/// A key, with its role and permissions.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) permissions: Permissions,
}

impl Holder {
    /// Every role without permissions, and with each one that fits it.
    fn all() -> Vec<Self> {
        let of_role = |role: Role| {
            let fitting = Permission::ALL.into_iter().filter(move |one| one.fits(role));
            let single = fitting.map(|one| (one.as_str(), Permissions::NONE.with(one)));
            std::iter::once(("nothing", Permissions::NONE)).chain(single).map(
                move |(word, permissions)| {
                    let name = format!("pk-{}-with-{word}", role.as_str());
                    Self { name, role, permissions }
                },
            )
        };
        Role::ALL.into_iter().flat_map(of_role).collect()
    }

    /// Keys of other projects with all permissions of their role.
    fn strangers() -> Vec<Self> {
        let all = [
            (Role::Owner, Permissions::ALL),
            (Role::Member, Permissions::NONE.with(Permission::Chat)),
            (Role::Viewer, Permissions::NONE),
            (Role::Reviewer, Permissions::NONE),
            (Role::IngestOnly, Permissions::NONE),
        ];
        let named = |(role, permissions): (Role, Permissions)| Self {
            name: format!("pk-strange-{}", role.as_str()),
            role,
            permissions,
        };
        all.into_iter().map(named).collect()
    }

    pub(super) async fn make(&self, server: &TestServer, project: ProjectId) {
        let Self { name, role, permissions } = self.clone();
        let pair = Some(KeyPair { public_key: name, secret_key: Secret::new("sk") });
        let person = (role == Role::Reviewer).then(|| REVIEWER.to_owned());
        let new = NewKey { project, role, permissions, note: None, person, pair };
        server.app.store.catalog.create_key(new, Timestamp::default()).await.unwrap();
    }

    fn may(&self, call: &Call) -> bool {
        call.needs.allows(self.role, self.permissions)
    }

    pub(super) fn header(&self) -> String {
        basic_of(&self.name)
    }
}

/// A server whose first project has one of everything.
pub(super) struct Walk {
    pub(super) server: TestServer,
    _agents: TempDir,
    pub(super) calls: Vec<Call>,
    pub(super) kept: KnownIds,
}

impl Walk {
    pub(super) async fn start() -> Self {
        let walk = Self::start_with(calls::all()).await;
        walk.assign_reviewer().await;
        walk
    }

    pub(super) async fn start_with(calls: Vec<Call>) -> Self {
        let mut walk = Self::unseeded(calls).await;
        let calls = walk.calls.iter().filter(|call| call.method() != "DELETE");
        let (key, kept) = (basic(Role::Owner), walk.kept.clone());
        walk.kept = walk.seed(calls, &key, kept, (OURS, Chosen::Seeded)).await;
        walk.settle().await;
        walk
    }

    /// Reviewers see the queues that their person is assigned to.
    async fn assign_reviewer(&self) {
        let catalog = &self.server.app.store.catalog;
        let person = catalog.user(REVIEWER.to_owned()).await.unwrap().id;
        let queue = Ids::new(&self.kept, OURS, Chosen::Seeded).fill("$queue");
        let of = QueueId { project: project(), queue };
        catalog.assign_queue(of, person, Timestamp::default()).await.unwrap();
    }

    /// A server with what no call makes.
    pub(super) async fn unseeded(calls: Vec<Call>) -> Self {
        let server = TestServer::start().await;
        make_strangers(&server).await;
        make_people(&server).await;
        make_media(&server, project()).await;
        make_dead_letters(&server).await;
        for holder in Holder::all() {
            holder.make(&server, project()).await;
        }
        let agents = start_agents(&server).await;
        let kept = KnownIds::at_home(project().as_str());
        Self { server, _agents: agents, calls, kept }
    }

    /// Makes calls, each of which must succeed, and stores the ids of their responses.
    pub(super) async fn seed(
        &self,
        calls: impl Iterator<Item = &Call>,
        key: &str,
        mut kept: KnownIds,
        (mark, chosen): (&str, Chosen),
    ) -> KnownIds {
        for call in calls {
            let ids = Ids::new(&kept, mark, chosen);
            call.wait(&self.server, key, &ids).await;
            let reply = call.make(&self.server, key, &ids).await;
            assert!(reply.status.is_success(), "{}: {}", call.operation, text(&reply));
            call.keep(&reply, &mut kept);
        }
        kept
    }

    /// Waits until the agent's turn is recorded: a chat is idle a little before that.
    pub(super) async fn settle(&self) {
        let ids = Ids::new(&self.kept, OURS, Chosen::Seeded);
        for name in ["$chat", "$chat_deprecated"] {
            let path = ids.fill(&format!("/api/v1/chats/{name}"));
            let events = format!("{path}/events?follow=false&types=done");
            let read = async || {
                let events = text(&self.server.get(&events).send().await);
                let chat = self.server.get(&path).send().await.json();
                (chat, events.matches("event: done").count())
            };
            wait::for_value_async("the recorded turns", read, |(chat, done)| {
                chat["turns"] == TURNS && *done == TURNS
            })
            .await;
        }
    }

    pub(super) async fn make(&self, call: &Call, key: &str) -> Reply {
        let ids = Ids::new(&self.kept, THEIRS, Chosen::Seeded);
        call.make(&self.server, key, &ids).await
    }

    /// Checks that the response about another project's object reveals no more than that about one
    /// that does not exist.
    #[track_caller]
    pub(super) fn check_border(&self, call: &Call, not_theirs: &Reply, not_there: &Reply) {
        let (operation, answer) = (&call.operation, text(not_theirs));
        assert!(!answer.contains(OURS), "{operation} tells a stranger: {answer}");
        assert!(!not_theirs.status.is_server_error(), "{operation}: {answer}");
        assert_eq!(not_theirs.status, not_there.status, "{operation}: {answer}");
        if !not_theirs.status.is_success() {
            let renamed = self.kept.renamed(&answer);
            assert_eq!(renamed, text(not_there), "{operation} tells the two apart");
        }
    }

    /// All data that the owner of the project can read.
    pub(super) async fn everything(&self) -> Vec<(String, String)> {
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

pub(super) async fn make_project(server: &TestServer, name: &str) -> ProjectId {
    let id = ProjectId::parse(name).unwrap();
    let new = NewProject { id: id.clone(), name: name.to_owned(), retention_days: None };
    server.app.store.catalog.create_project(new, Timestamp::default()).await.unwrap();
    id
}

pub(crate) async fn make_strangers(server: &TestServer) {
    let (now, catalog) = (Timestamp::default(), &server.app.store.catalog);
    let theirs = make_project(server, "neighbour").await;
    let ours = project();
    for (project, name) in [(theirs, "pk-neighbour"), (ours.clone(), "pk-revoked")] {
        let pair = KeyPair { public_key: name.to_owned(), secret_key: Secret::new("sk") };
        let (role, permissions) = (Role::Owner, Permissions::ALL);
        let new = NewKey { project, role, permissions, note: None, person: None, pair: Some(pair) };
        catalog.create_key(new, now).await.unwrap();
    }
    catalog.revoke_key(ours, "pk-revoked".to_owned(), now).await.unwrap();
}

/// Runs agents in a folder that exists on every machine and whose name no call changes.
pub(super) async fn start_agents(server: &TestServer) -> TempDir {
    let place = tempdir().unwrap();
    let real = place.path().canonicalize().unwrap();
    run_agents(server, "/usr".into(), &real, ChatLimits::default()).await;
    place
}

/// Users, whom no call creates without a project.
pub(super) async fn make_people(server: &TestServer) {
    let store = &server.app.store;
    for (second, role) in [(1, Role::Member), (2, Role::Owner), (3, Role::Reviewer)] {
        let email = Email::parse(&format!("{}@example.com", role.as_str())).unwrap();
        let new =
            NewUser { email, name: None, password: Secret::new("hunter2"), role, project: None };
        store.catalog.create_user(new, Timestamp::from_millis(1_000 * second)).await.unwrap();
    }
}

/// The bytes of the media that a call announces.
pub(super) async fn make_media(server: &TestServer, project: ProjectId) {
    let store = &server.app.store;
    let hash = MediaHash::parse("LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=").unwrap();
    let mut incoming = store.media.receive().unwrap();
    incoming.write(b"hello").unwrap();
    store.media.save(&incoming, hash).unwrap();
    let owner = MediaOwner::Trace("walk-trace".to_owned());
    let new = NewMedia {
        hash,
        content_type: MediaType::OTHER,
        content_length: 5,
        location: ReferenceLocation { owner, field: "input".to_owned() },
    };
    let now = Timestamp::default();
    let media = store.catalog.announce_media(project.clone(), new, now).await.unwrap();
    store.catalog.media_stored(project, media.id, now).await.unwrap();
}

/// Jobs that were given up, which no call makes. Nothing runs jobs of this kind by itself.
pub(super) async fn make_dead_letters(server: &TestServer) {
    for id in ["walk-retried", "walk-discarded"] {
        make_dead_letter(server, (JobKind::ScoreSession, id), OURS).await;
    }
}

/// A job that was given up for a reason.
pub(crate) async fn make_dead_letter(
    server: &TestServer,
    (kind, id): (JobKind, &str),
    reason: &str,
) {
    let (catalog, now) = (&server.app.store.catalog, server.app.clock.now());
    let new = NewJob {
        kind,
        id: id.to_owned(),
        group: None,
        payload: "{}".to_owned(),
        priority: 0,
        run_at: now,
        max_attempts: 1,
        is_held: false,
    };
    let owner = ("w".to_owned(), Duration::from_secs(60));
    let claimed = catalog.claim_job(project(), new, owner, now).await.unwrap().unwrap();
    let failure = JobFailure { error: reason.to_owned(), retry: Retry::Never, result: None };
    let status = catalog.fail_job(claimed.lease(), failure, now).await.unwrap();
    assert_eq!(status, LeaseStatus::Held);
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
        for holder in Holder::all().iter().filter(|holder| !holder.may(call)) {
            refused(call, &holder.name, &walk.make(call, &holder.header()).await, 403);
        }
        if !call.needs.allows_public_key() {
            let public = format!("Bearer {}", public_key(Role::Owner));
            refused(call, "a public key alone", &walk.make(call, &public).await, 403);
        }
    }
    assert_eq!(walk.everything().await, before, "a refused call changed something");
    walk.server.stop().await;
}

/// Operations that do not respond with 404 to other projects, though their path has a foreign id:
/// they create one of that name in the caller's own project, or report that there is nothing to
/// delete.
const NOT_404: [&str; 4] = [
    "DELETE /api/public/traces/{id}",
    "PUT /api/public/models/{id}",
    "PUT /api/v1/reports/{week}",
    // A suggestion of the report that the caller has just created: ids are derived from the
    // content.
    "PUT /api/v1/suggestions/{id}",
];

/// Operations that respond with 400 to other projects: the project is in their body. Their other
/// ids are tested by `mixed_ids`.
const BAD_REQUESTS: [&str; 1] = ["POST /api/public/comments"];

#[tokio::test]
async fn strangers_cannot_tell_what_is_not_theirs_from_what_is_not_there() {
    let walk = Walk::start().await;
    let before = walk.everything().await;
    let strangers = walk.kept.strangers();
    let nobodys = Ids::new(&strangers, THEIRS, Chosen::Nobodys);
    let (mut others, mut bad) = (BTreeSet::new(), BTreeSet::new());
    for stranger in Holder::strangers() {
        let theirs = make_project(&walk.server, &format!("of-{}", stranger.role.as_str())).await;
        stranger.make(&walk.server, theirs).await;
        let key = stranger.header();
        for call in by_method(&walk.calls).into_iter().filter(|call| stranger.may(call)) {
            let not_theirs = walk.make(call, &key).await;
            let not_there = call.make(&walk.server, &key, &nobodys).await;
            walk.check_border(call, &not_theirs, &not_there);
            if call.has_id() && not_theirs.status.as_u16() != 404 {
                others.insert(call.operation.as_str());
            }
            if not_theirs.status.as_u16() == 400 {
                bad.insert(call.operation.as_str());
            }
        }
    }
    assert_eq!(others, BTreeSet::from(NOT_404));
    assert_eq!(bad, BTreeSet::from(BAD_REQUESTS), "they end before the border");
    assert_eq!(walk.everything().await, before, "a stranger changed something");
    walk.server.stop().await;
}

#[tokio::test]
async fn nor_with_bodies_that_make_no_sense() {
    let walk = Walk::start().await;
    let before = walk.everything().await;
    let strangers = walk.kept.strangers();
    let seeded = Ids::new(&walk.kept, THEIRS, Chosen::Seeded);
    let nobodys = Ids::new(&strangers, THEIRS, Chosen::Nobodys);
    let bounded = by_method(&walk.calls).into_iter().filter(|call| call.has_json());
    for call in bounded {
        for body in ["{}", "[]", "{\"", r#"{"id": 7, "name": [], "status": "?"}"#] {
            let not_theirs = call.send(&walk.server, NEIGHBOUR, &seeded, Some(body)).await;
            let not_there = call.send(&walk.server, NEIGHBOUR, &nobodys, Some(body)).await;
            walk.check_border(call, &not_theirs, &not_there);
        }
    }
    assert_eq!(walk.everything().await, before, "a stranger changed something");
    walk.server.stop().await;
}

/// The calls that must be rejected. Those that create come last: another project may choose the
/// same ids, and then has them too.
pub(super) fn by_method(calls: &[Call]) -> Vec<&Call> {
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
        for holder in Holder::all().iter().filter(|holder| holder.may(call)) {
            let reply = walk.make(call, &holder.header()).await;
            // The scores of the seed are not the reviewer's to change.
            let is_anothers = text(&reply).contains("which somebody else gave");
            let is_let_in = is_anothers || ![401, 403, 500].contains(&reply.status.as_u16());
            assert!(is_let_in, "{} with {}: {}", call.operation, holder.name, text(&reply));
        }
        if call.needs.allows_public_key() {
            let reply = walk.make(call, &format!("Bearer {}", public_key(Role::Member))).await;
            assert!(reply.status.is_success(), "{}: {}", call.operation, text(&reply));
        }
    }
    walk.server.stop().await;
}
