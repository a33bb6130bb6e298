//! One call of each operation, from the files in `operations`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ratchet_server::openapi;
use ratchet_store::catalog::{Permission, Permissions, Role};
use ratchet_testkit::wait;
use serde::Deserialize;
use serde_json::Value;

use super::operations;
use crate::harness::{Reply, TestServer};

/// Placeholder in bodies for a word that must not leak.
const MARK: &str = "MARK";

/// Prefix of ids that the client chooses.
const CHOSEN: &str = "walk-";

/// Prefix of such ids in another project.
const CHOSEN_ELSEWHERE: &str = "tour-";

/// Where chats are, and where they were before.
const CHATS: &str = "/api/v1/chats";
const DEPRECATED_CHATS: &str = "/api/v1/sessions";

/// Placeholder for one id while the others are filled in.
const HELD: &str = "\u{1}";

/// The least privilege of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Needs {
    Nothing,
    Key,
    Reader,
    QueueReader,
    QueueReviewer,
    Recorder,
    Scorer,
    /// A scorer, or a reviewer for records in queues.
    ReviewScorer,
    Member,
    Owner,
    ChatCaller,
    Backup,
    Administrator,
}

impl Needs {
    /// Whether a key with this role and these permissions may call.
    pub(super) fn allows(self, role: Role, permissions: Permissions) -> bool {
        match self {
            Self::Nothing | Self::Key => true,
            Self::Reader => matches!(role, Role::Viewer | Role::Member | Role::Owner),
            Self::QueueReader => role != Role::IngestOnly,
            Self::QueueReviewer => matches!(role, Role::Reviewer | Role::Member | Role::Owner),
            Self::Recorder | Self::Scorer => {
                matches!(role, Role::IngestOnly | Role::Member | Role::Owner)
            }
            Self::ReviewScorer => role != Role::Viewer,
            Self::Member => matches!(role, Role::Member | Role::Owner),
            Self::Owner => role == Role::Owner,
            Self::ChatCaller => {
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
        matches!(self, Self::Nothing | Self::Scorer | Self::ReviewScorer)
    }
}

/// One call as documented in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// Method and path as in the description.
    pub(super) operation: String,
    /// The path with its ids and query, where they differ.
    at: Option<String>,
    body: Option<String>,
    #[serde(rename = "type")]
    content_type: Option<String>,
    pub(super) needs: Needs,
    /// What the chat `$chat` must have done before the call makes sense.
    once: Option<String>,
    #[serde(default)]
    keep: BTreeMap<String, String>,
    /// Whether an owner's key has access beyond its project here.
    #[serde(default)]
    pub(super) whole_server: bool,
    /// Whether the path gets a trailing slash.
    #[serde(skip)]
    pub(super) has_trailing_slash: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    call: Vec<Call>,
}

/// Every call, in an order in which they can be made. Each operation must have one.
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
    let deprecated: Vec<Call> = calls.iter().filter_map(Call::at_deprecated_path).collect();
    let calls = [calls, deprecated].concat();
    check_names(&calls);
    calls
}

/// A name used by two calls would resolve to the second one's id.
fn check_names(calls: &[Call]) {
    let mut names = BTreeSet::new();
    for name in calls.iter().flat_map(|call| call.keep.keys()) {
        assert!(names.insert(name), "two calls keep ${name}");
    }
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

/// Ids from responses, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownIds(BTreeMap<String, String>);

impl KnownIds {
    /// The text with ids in place of their names. Longer names first: one may be a prefix of
    /// another.
    fn fill(&self, text: &str) -> String {
        let names = self.0.iter().rev();
        names.fold(text.to_owned(), |text, (name, id)| text.replace(&format!("${name}"), id))
    }

    /// Starts with the project as `$home`.
    pub(super) fn at_home(project: &str) -> Self {
        Self::default().moved(project)
    }

    /// The same names, with another project as `$home`.
    pub(super) fn moved(mut self, project: &str) -> Self {
        self.0.insert("home".to_owned(), project.to_owned());
        self
    }

    /// The same names with ids that do not exist.
    pub(super) fn strangers(&self) -> Self {
        Self(self.0.iter().map(|(name, id)| (name.clone(), stranger(id))).collect())
    }

    /// A response about these ids with ids that do not exist in their place.
    pub(super) fn renamed(&self, answer: &str) -> String {
        let ids = self.0.values().map(String::as_str).chain([CHOSEN]);
        ids.fold(answer.to_owned(), |answer, id| answer.replace(id, &stranger(id)))
    }
}

/// An id of the same form that does not exist.
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
    /// The same call of a chat at the path that it had before, about a chat of its own.
    fn at_deprecated_path(&self) -> Option<Self> {
        let (operation, was) = self.operation.split_once(CHATS).map(|(method, rest)| {
            (format!("{method}{DEPRECATED_CHATS}{rest}"), self.at.as_deref().unwrap_or(CHATS))
        })?;
        let own = |text: &str| {
            text.replace("$chat", "$chat_deprecated").replace("$message", "$message_deprecated")
        };
        let keep = self.keep.iter();
        Some(Self {
            operation,
            at: Some(own(&was.replacen(CHATS, DEPRECATED_CHATS, 1))),
            body: self.body.as_deref().map(own),
            keep: keep.map(|(name, place)| (format!("{name}_deprecated"), place.clone())).collect(),
            ..self.clone()
        })
    }

    pub(super) fn method(&self) -> &str {
        self.operation.split(' ').next().unwrap()
    }

    fn path(&self) -> &str {
        self.operation.split(' ').nth(1).unwrap()
    }

    /// Whether the path has an id.
    pub(super) fn has_id(&self) -> bool {
        self.path().contains('{')
    }

    /// Every id in the path and the body of the call: `$chat`, `walk-trace`.
    pub(super) fn ids(&self) -> BTreeSet<String> {
        let texts = [self.at.as_deref(), self.body.as_deref()].into_iter().flatten();
        let words = texts.flat_map(|text| text.split(|letter| letter != '$' && ends_id(letter)));
        let is_id =
            |word: &&str| word.starts_with(CHOSEN) || (word.starts_with('$') && *word != "$");
        words.filter(is_id).map(str::to_owned).collect()
    }

    /// Whether the response contains an id.
    pub(super) fn keeps(&self, id: &str) -> bool {
        id.strip_prefix('$').is_some_and(|name| self.keep.contains_key(name))
    }

    /// Waits until the call makes sense: a chat processes messages asynchronously.
    pub(super) async fn wait(&self, server: &TestServer, key: &str, ids: &Ids<'_>) {
        let Some(state) = &self.once else { return };
        let is_deprecated = self.path().starts_with(DEPRECATED_CHATS);
        let chat = if is_deprecated { "$chat_deprecated" } else { "$chat" };
        let path = ids.fill(&format!("{CHATS}/{chat}"));
        let look = async || server.get(&path).header("authorization", key).send().await.json();
        let what = format!("a chat that is {state}");
        wait::for_value_async(&what, look, |chat| chat["state"] == *state).await;
    }

    /// Makes the call with an Authorization header.
    pub(super) async fn make(&self, server: &TestServer, key: &str, ids: &Ids<'_>) -> Reply {
        self.send(server, key, ids, self.body.as_deref()).await
    }

    /// Whether it has a JSON body.
    pub(super) fn has_json(&self) -> bool {
        self.body.is_some() && self.content_type.is_none()
    }

    /// Whether it makes sense at any time.
    pub(super) fn waits_for_nothing(&self) -> bool {
        self.once.is_none()
    }

    /// Whether it has a mark.
    pub(super) fn has_mark(&self) -> bool {
        [&self.at, &self.body].into_iter().flatten().any(|text| text.contains(MARK))
    }

    /// Its JSON body, filled in.
    pub(super) fn json(&self, ids: &Ids<'_>) -> Option<Value> {
        let body = self.body.as_deref().filter(|_| self.has_json())?;
        serde_json::from_str(&ids.fill(body)).ok()
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
        let at = if self.has_trailing_slash { with_trailing_slash(&at) } else { at };
        let mut request = server.request(self.method(), &at).header("authorization", key);
        if let Some(body) = body {
            request = request.json(ids.fill(body));
        }
        if let Some(content_type) = &self.content_type {
            request = request.header("content-type", content_type);
        }
        request.send().await
    }

    /// Stores the ids of a response.
    pub(super) fn keep(&self, reply: &Reply, kept: &mut KnownIds) {
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

fn with_trailing_slash(at: &str) -> String {
    let (path, query) = at.split_at(at.find('?').unwrap_or(at.len()));
    format!("{path}/{query}")
}

fn ends_id(letter: char) -> bool {
    !letter.is_ascii_lowercase() && !matches!(letter, '_' | '-')
}

/// Values to fill into a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids<'a> {
    pub(super) kept: &'a KnownIds,
    /// The word that shows whose data it is.
    pub(super) mark: &'a str,
    /// Whose the client-chosen ids are.
    pub(super) chosen: Chosen,
    /// One id of the call, and its replacement.
    pub(super) but: Option<(&'a str, &'a str)>,
}

/// Whose ids a call has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    Seeded,
    Nobodys,
    /// Of a project that has one of everything as well.
    Elsewhere,
}

impl<'a> Ids<'a> {
    /// All ids of one project, or unknown ones.
    pub(super) fn new(kept: &'a KnownIds, mark: &'a str, chosen: Chosen) -> Self {
        Self { kept, mark, chosen, but: None }
    }

    pub(super) fn fill(&self, text: &str) -> String {
        let (named, id) = self.but.unwrap_or((HELD, HELD));
        let text = held(text, named);
        let chosen = match self.chosen {
            Chosen::Seeded => text,
            Chosen::Nobodys => text.replace(CHOSEN, &stranger(CHOSEN)),
            Chosen::Elsewhere => text.replace(CHOSEN, CHOSEN_ELSEWHERE),
        };
        self.kept.fill(&chosen).replace(MARK, self.mark).replace(HELD, id)
    }
}

/// The text with a placeholder for one id, and for none that only starts with it.
fn held(text: &str, id: &str) -> String {
    let mut pieces = text.split(id);
    let mut held = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        held.push_str(if piece.starts_with(|next| !ends_id(next)) { id } else { HELD });
        held.push_str(piece);
    }
    held
}
