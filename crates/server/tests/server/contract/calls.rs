//! One call of each operation, from the files in `operations`.

use std::collections::BTreeMap;
use std::path::Path;

use ratchet_server::openapi;
use ratchet_store::catalog::{Permission, Permissions, Role};
use serde::Deserialize;
use serde_json::Value;

use super::operations;
use crate::harness::{Reply, TestServer};

/// What stands in bodies for a word that must not leak.
const MARK: &str = "MARK";

/// What ids begin with that we choose ourselves.
const CHOSEN: &str = "walk-";

/// The least that a key must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Needs {
    Nothing,
    Key,
    Reader,
    Recorder,
    Scorer,
    Member,
    Owner,
    Chatter,
    Backup,
    Administrator,
}

impl Needs {
    /// Whether a key with this role and these permissions may call.
    pub(super) fn allows(self, role: Role, permissions: Permissions) -> bool {
        match self {
            Self::Nothing | Self::Key => true,
            Self::Reader => role != Role::IngestOnly,
            Self::Recorder | Self::Scorer => role != Role::Viewer,
            Self::Member => matches!(role, Role::Member | Role::Owner),
            Self::Owner => role == Role::Owner,
            Self::Chatter => {
                Self::Member.allows(role, permissions) && permissions.has(Permission::Chat)
            }
            Self::Backup => permissions.has(Permission::Backup),
            Self::Administrator => {
                role == Role::Owner && permissions.has(Permission::Administration)
            }
        }
    }

    /// Whether a public key alone may call.
    pub(super) fn allows_public_key(self) -> bool {
        matches!(self, Self::Nothing | Self::Scorer)
    }
}

/// One call as it is written down.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// Method and path as the description has them.
    pub(super) operation: String,
    /// The path with its ids and query, where they differ.
    at: Option<String>,
    body: Option<String>,
    #[serde(rename = "type")]
    content_type: Option<String>,
    pub(super) needs: Needs,
    /// What the session named `$chat` must do before the call makes sense.
    once: Option<String>,
    #[serde(default)]
    keep: BTreeMap<String, String>,
    /// Whether an owner's key reaches beyond its project here.
    #[serde(default)]
    pub(super) whole_server: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    call: Vec<Call>,
}

/// Every call, in the order in which they can be made. Each operation must have one.
pub(super) fn all() -> Vec<Call> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/contract/operations");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    let calls = files.iter().flat_map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let file: File = toml::from_str(&text).unwrap_or_else(|why| panic!("{path:?}: {why}"));
        file.call
    });
    let calls: Vec<Call> = calls.collect();
    check_against_description(&calls);
    calls
}

fn check_against_description(calls: &[Call]) {
    let document = openapi::document().unwrap();
    let described: Vec<_> =
        operations(&document).iter().map(|one| format!("{} {}", one.method, one.path)).collect();
    let is_called = |operation: &&String| calls.iter().any(|call| call.operation == **operation);
    let without: Vec<_> = described.iter().filter(|one| !is_called(one)).collect();
    assert!(
        without.is_empty(),
        "describe one call of each of these in crates/server/tests/server/contract/operations \
         (its README says how): {without:#?}"
    );
    let unknown: Vec<_> =
        calls.iter().map(|call| &call.operation).filter(|one| !described.contains(one)).collect();
    assert!(unknown.is_empty(), "calls of operations that are not there: {unknown:#?}");
}

/// Ids that answers gave, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept(BTreeMap<String, String>);

impl Kept {
    /// The text with ids in place of their names. Longer names first: one may begin another.
    fn fill(&self, text: &str) -> String {
        let names = self.0.iter().rev();
        names.fold(text.to_owned(), |text, (name, id)| text.replace(&format!("${name}"), id))
    }

    /// The same names for ids that nobody has.
    pub(super) fn strangers(&self) -> Self {
        Self(self.0.iter().map(|(name, id)| (name.clone(), stranger(id))).collect())
    }

    /// An answer about these ids as it would be about ids that nobody has.
    pub(super) fn renamed(&self, answer: &str) -> String {
        let ids = self.0.values().map(String::as_str).chain([CHOSEN]);
        ids.fold(answer.to_owned(), |answer, id| answer.replace(id, &stranger(id)))
    }
}

/// An id of the same form that nobody has.
fn stranger(id: &str) -> String {
    let turn = |letter: char| match letter {
        '0'..='8' | 'a'..='e' => char::from_u32(u32::from(letter) + 1).unwrap(),
        '9' => '0',
        'f' => 'a',
        other => other,
    };
    id.chars().map(turn).collect()
}

impl Call {
    pub(super) fn method(&self) -> &str {
        self.operation.split(' ').next().unwrap()
    }

    fn path(&self) -> &str {
        self.operation.split(' ').nth(1).unwrap()
    }

    /// Whether the path names something.
    pub(super) fn has_id(&self) -> bool {
        self.path().contains('{')
    }

    /// Waits until the call makes sense: a session does what it was told when it gets to it.
    pub(super) async fn wait(&self, server: &TestServer, ids: &Ids<'_>) {
        let Some(state) = &self.once else { return };
        let path = ids.fill("/api/v1/sessions/$chat");
        while server.get(&path).send().await.json()["state"] != *state {
            tokio::task::yield_now().await;
        }
    }

    /// Makes the call with an Authorization header.
    pub(super) async fn make(&self, server: &TestServer, key: &str, ids: &Ids<'_>) -> Reply {
        self.send(server, key, ids, self.body.as_deref()).await
    }

    /// Whether it has a JSON body.
    pub(super) fn has_json(&self) -> bool {
        self.body.is_some() && self.content_type.is_none()
    }

    /// Makes the call with another body.
    pub(super) async fn send(
        &self,
        server: &TestServer,
        key: &str,
        ids: &Ids<'_>,
        body: Option<&str>,
    ) -> Reply {
        let at = ids.fill(self.at.as_deref().unwrap_or(self.path()));
        assert!(!at.contains(['{', '$']), "{}: at leaves ids open: {at}", self.operation);
        let mut request = server.request(self.method(), &at).header("authorization", key);
        if let Some(body) = body {
            request = request.json(ids.fill(body));
        }
        if let Some(content_type) = &self.content_type {
            request = request.header("content-type", content_type);
        }
        request.send().await
    }

    /// Notes the ids that an answer gives.
    pub(super) fn keep(&self, reply: &Reply, kept: &mut Kept) {
        for (name, place) in &self.keep {
            let pointer = format!("/{}", place.replace('.', "/"));
            let answer = reply.json();
            let id = match answer.pointer(&pointer) {
                Some(Value::String(id)) => id.clone(),
                Some(Value::Number(id)) => id.to_string(),
                _ => panic!("{}: no {place} in {answer}", self.operation),
            };
            kept.0.insert(name.clone(), id);
        }
    }
}

/// What is filled into a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids<'a> {
    pub(super) kept: &'a Kept,
    /// The word that shows whose data it is.
    pub(super) mark: &'a str,
    /// Whether ids that we chose are those of the seeded project or nobody's.
    pub(super) chosen: Chosen,
}

/// Whose ids a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    Seeded,
    Nobodys,
}

impl Ids<'_> {
    pub(super) fn fill(&self, text: &str) -> String {
        let chosen = match self.chosen {
            Chosen::Seeded => text.to_owned(),
            Chosen::Nobodys => text.replace(CHOSEN, &stranger(CHOSEN)),
        };
        self.kept.fill(&chosen).replace(MARK, self.mark)
    }
}
