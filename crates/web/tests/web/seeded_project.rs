//! Projects that have one of everything, and what their things are called in addresses.

/// Agents and what is made of their runs.
mod agents;

use std::collections::BTreeMap;

use ratchet_core::calendar::Zone;
use ratchet_core::catalog::annotation::{CommentedKind, ItemKind, ItemStatus};
use ratchet_core::catalog::prompt::PromptBody;
use ratchet_core::chat::workspace::WorkspaceSource;
use ratchet_core::cron::Cron;
use ratchet_core::payload::Json;
use ratchet_core::quality::report::ReportScope;
use ratchet_stages::chat::workspace_policy::ChatRequest;
use ratchet_stages::chat::{ChatLimits, ChatSettings, NewChatRequest};
use ratchet_store::catalog::{
    FieldUpdate, NewComment, NewDataset, NewDatasetItem, NewKey, NewPrompt, NewQueue, NewQueueItem,
    NewSchedule, Permissions, QueueId, Role, ScheduledJob, ScheduledScoring,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use ratchet_testkit::build::{START, batch, generation, project, score, text, trace};
use tempfile::TempDir;
use uuid::Uuid;

use crate::browser::{Browser, Site, id};
use crate::chats::run_agents;

/// The word in what the shop keeps.
pub(crate) const OURS: &str = "ourword";
/// What ids in the shop are called that one may choose.
const CHOSEN: &str = "walk-it";
/// The word in what the lab keeps, if it is furnished.
const THEIRS: &str = "theirword";
/// What ids in the lab are called that one may choose.
const CHOSEN_IN_LAB: &str = "tour-it";
/// An id as the server makes them, which it has not made.
const NOBODYS: &str = "00000000-0000-4000-8000-000000000000";

/// Ids that stand in addresses, by the names that routes have for them.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    made: BTreeMap<&'static str, String>,
    chosen: &'static str,
}

impl Ids {
    pub(crate) fn of(&self, name: &str) -> &str {
        self.made.get(name).map_or(self.chosen, String::as_str)
    }

    pub(crate) fn nobodys() -> Self {
        let made = [
            "gate",
            "promotion",
            "ab-test",
            "queue-item",
            "target-chat",
            "id",
            "view",
            "key",
            "person",
            "queue",
            "dashboard",
            "tile",
            "widget",
            "receiver",
            "chat",
            "model",
            "connection",
            "rule",
        ];
        let mut made: BTreeMap<_, _> =
            made.map(|name| (name, NOBODYS.to_owned())).into_iter().collect();
        made.insert("week", "2020-01-05".to_owned());
        Self { made, chosen: "walk-no" }
    }
}

/// The pages of the shop.
pub(crate) struct Shop {
    pub(crate) site: Site,
    pub(crate) ids: Ids,
    pub(crate) _agents: TempDir,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let site = Site::new().await;
        agents::run_experiments(&site);
        let (agents, chat) = chat(&site).await;
        let seed = Seed { site: &site, project: "shop", chosen: CHOSEN, mark: OURS };
        let mut ids = seed.furnish().await;
        ids.made.insert("chat", chat);
        ids.made.insert("person", site.person("someone@shop.example", Role::Viewer).await.id);
        Self { site, ids, _agents: agents }
    }

    /// Gives the lab one of everything as well, chats with agents and people excepted.
    pub(crate) async fn furnish_lab(&self) -> Ids {
        let site = &self.site;
        let seed = Seed { site, project: "lab", chosen: CHOSEN_IN_LAB, mark: THEIRS };
        seed.furnish().await
    }
}

/// A project to furnish.
struct Seed<'a> {
    site: &'a Site,
    project: &'static str,
    /// What ids are called that one may choose.
    chosen: &'static str,
    /// The word in all of it.
    mark: &'static str,
}

impl Seed<'_> {
    async fn furnish(&self) -> Ids {
        self.record().await;
        self.keep_named().await;
        let mut made = BTreeMap::new();
        let (queue, item) = self.queue().await;
        made.insert("queue", queue);
        made.insert("queue-item", item);
        made.insert("key", self.key().await);
        made.insert("observation", self.step());
        let owner = format!("keeper@{}.example", self.project);
        let owner = self.site.person(&owner, Role::Owner).await;
        let mut owner = self.site.signed_in(&owner.email).await;
        made.extend(self.dashboard(&mut owner).await);
        made.extend(self.settled(&mut owner).await);
        made.extend(self.agent_data().await);
        Ids { made, chosen: self.chosen }
    }

    /// The observation of the trace.
    fn step(&self) -> String {
        format!("{}-step", self.chosen)
    }

    fn id(&self) -> ProjectId {
        id(self.project)
    }

    async fn record(&self) {
        let chosen = self.chosen;
        let turn = trace(chosen).named(self.mark).in_session(chosen).for_user(chosen).beginning(0);
        let said = generation(&self.step()).of(chosen).output(text(self.mark)).lasting(0, 5);
        let given = score(&format!("{chosen}-score")).on("quality").of_trace(chosen);
        let recorded = batch(&project(self.project)).with(turn).with(said);
        self.site.record(recorded.with(given.number(0.5).given(0))).await;
        let new = NewComment {
            kind: CommentedKind::Trace,
            object: self.chosen.to_owned(),
            content: self.mark.to_owned(),
            author: None,
        };
        self.site.data.catalog().create_comment(self.id(), new, START).await.unwrap();
    }

    /// What has the name that it is given.
    async fn keep_named(&self) {
        let catalog = self.site.data.catalog();
        let prompt = NewPrompt {
            name: self.chosen.to_owned(),
            body: PromptBody::Text(self.mark.to_owned()),
            config: Json::parse("{}").unwrap(),
            labels: vec!["production".to_owned()],
            tags: None,
            commit_message: None,
            created_by: "ana".to_owned(),
        };
        catalog.create_prompt(self.id(), prompt, START).await.unwrap();
        let dataset = NewDataset {
            name: self.chosen.to_owned(),
            description: Some(self.mark.to_owned()),
            metadata: None,
            input_schema: FieldUpdate::Keep,
            expected_output_schema: FieldUpdate::Keep,
        };
        catalog.save_dataset(self.id(), dataset, START).await.unwrap();
        let item = NewDatasetItem {
            dataset_name: self.chosen.to_owned(),
            id: Some(self.chosen.to_owned()),
            input: Json::parse(&format!("\"{}\"", self.mark)),
            ..NewDatasetItem::default()
        };
        catalog.save_dataset_item(self.id(), item, START).await.unwrap();
        let (judge, rubric) = ("offline".to_owned(), self.mark.to_owned());
        let scoring =
            ScheduledScoring { judge, rubric, max_cost: None, scope: ReportScope::default() };
        let schedule = NewSchedule {
            name: self.chosen.to_owned(),
            cron: Cron::parse("0 2 * * SUN").unwrap(),
            zone: Zone::utc(),
            job: ScheduledJob::WeeklyReport { scoring, learnings: None },
            slack: None,
            webhook: None,
        };
        let secrets = self.site.data.folder().secrets.clone();
        catalog.save_schedule(self.id(), schedule, secrets, START).await.unwrap();
    }

    async fn queue(&self) -> (String, String) {
        let catalog = self.site.data.catalog();
        let new = NewQueue {
            name: self.mark.to_owned(),
            description: Some(self.mark.to_owned()),
            score_configs: Vec::new(),
        };
        let queue = catalog.create_queue(self.id(), new, START).await.unwrap().id;
        let (kind, status) = (ItemKind::Trace, ItemStatus::Pending);
        let item = NewQueueItem { kind, object: self.chosen.to_owned(), status };
        let of = QueueId { project: self.id(), queue: queue.clone() };
        let item = catalog.add_queue_item(of, item, START).await.unwrap().id;
        (queue, item)
    }

    async fn key(&self) -> String {
        let (role, permissions) = (Role::Viewer, Permissions::NONE);
        let note = Some(self.mark.to_owned());
        let new = NewKey { project: self.id(), role, permissions, note, person: None, pair: None };
        self.site.data.catalog().create_key(new, START).await.unwrap().0.id
    }

    /// A dashboard with a chart, by its forms.
    async fn dashboard(&self, owner: &mut Browser) -> [(&'static str, String); 3] {
        let all = format!("/project/{}/dashboards", self.project);
        owner.get(&format!("{all}/all")).await;
        let made = owner.post(&all, &[("name", self.mark), ("description", "")]).await;
        let page = made.header("location").split('?').next().unwrap_or_default().to_owned();
        owner.post(&format!("{page}/widgets"), &[("name", self.mark), ("chart", "number")]).await;
        let shown = owner.get(&format!("{page}?edit=1&range=all")).await.text;
        let after = |mark: &str| {
            let (_, rest) = shown.split_once(mark).unwrap();
            rest.split(['?', '"', '/']).next().unwrap().to_owned()
        };
        let dashboard = page.rsplit('/').next().unwrap().to_owned();
        [("dashboard", dashboard), ("tile", after("/tiles/")), ("widget", after("/widgets/"))]
    }

    /// What only owners settle, by its forms.
    async fn settled(&self, owner: &mut Browser) -> [(&'static str, String); 4] {
        let settings = format!("/project/{}/settings", self.project);
        let url = format!("https://hooks.example.com/{}", self.mark);
        let forms: [(&str, &[(&str, &str)]); 4] = [
            ("notifications", &[("name", self.mark), ("url", &url), ("turn-ended", "yes")]),
            (
                "models",
                &[
                    ("modelName", self.mark),
                    ("matchPattern", "^walk$"),
                    ("unit", "TOKENS"),
                    ("pricingTiers", "input 3"),
                ],
            ),
            (
                "connections",
                // No listener, so that a test message fails at once.
                &[
                    ("provider", self.mark),
                    ("adapter", "openai"),
                    ("secretKey", "sk-walk"),
                    ("baseURL", "http://127.0.0.1:1/v1"),
                    ("customModels", "m"),
                ],
            ),
            ("redaction", &[("kind", "pattern"), ("what", "order-[0-9]+"), ("do", "add")]),
        ];
        for (tab, fields) in forms {
            let answer = owner.post(&format!("{settings}/{tab}"), fields).await;
            assert!([200, 303].contains(&answer.status), "{tab}: {}", answer.text);
        }
        let (catalog, shop) = (self.site.data.catalog(), || self.id());
        let first = PageNumber { page: 1, limit: 1 };
        [
            ("receiver", catalog.notice_receivers(shop()).await.unwrap()[0].id.clone()),
            ("model", catalog.models(shop()).await.unwrap()[0].id.clone()),
            (
                "connection",
                catalog.llm_connections(shop(), first).await.unwrap().rows[0].id.clone(),
            ),
            ("rule", catalog.redaction_rules(shop()).await.unwrap()[0].id.clone()),
        ]
    }
}

/// Agents, and a conversation with one that waits for its first message.
async fn chat(site: &Site) -> (TempDir, String) {
    let (folder, chats) = run_agents(site, ChatLimits::default()).await;
    let new = NewChatRequest {
        id: Uuid::from_u128(7),
        folder: folder.path().canonicalize().unwrap().join("roots/work"),
        title: Some(OURS.to_owned()),
        request: ChatRequest {
            attached: Vec::new(),
            history: Vec::new(),
            settings: ChatSettings::default(),
            workspace_source: WorkspaceSource::Network,
        },
    };
    let (chat, _) = chats.create(id("shop"), new).await.unwrap();
    (folder, chat.id.to_string())
}
