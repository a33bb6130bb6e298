//! A project that has one of everything, and what its things are called in addresses.

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
        let made = made.map(|name| (name, NOBODYS.to_owned())).into_iter().collect();
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
        record(&site).await;
        keep_named(&site).await;
        let mut made = BTreeMap::new();
        made.insert("queue", queue(&site).await);
        made.insert("key", key(&site).await);
        made.insert("person", site.person("someone@shop.example", Role::Viewer).await.id);
        let (_agents, chat) = chat(&site).await;
        made.insert("chat", chat);
        let owner = site.person("keeper@shop.example", Role::Owner).await;
        let mut owner = site.signed_in(&owner.email).await;
        made.extend(dashboard(&mut owner).await);
        made.extend(settled(&site, &mut owner).await);
        Self { site, ids: Ids { made, chosen: CHOSEN }, _agents }
    }
}

async fn record(site: &Site) {
    let said = generation("walk-step").of(CHOSEN).output(text(OURS)).lasting(0, 5);
    let recorded = batch(&project("shop"))
        .with(trace(CHOSEN).named(OURS).in_session(CHOSEN).for_user(CHOSEN).beginning(0))
        .with(said)
        .with(score("walk-score").on("quality").of_trace(CHOSEN).number(0.5).given(0));
    site.record(recorded).await;
    let new = NewComment {
        kind: CommentedKind::Trace,
        object: CHOSEN.to_owned(),
        content: OURS.to_owned(),
        author: None,
    };
    site.data.catalog().create_comment(id("shop"), new, START).await.unwrap();
}

/// What has the name that it is given.
async fn keep_named(site: &Site) {
    let catalog = site.data.catalog();
    let prompt = NewPrompt {
        name: CHOSEN.to_owned(),
        body: PromptBody::Text(OURS.to_owned()),
        config: Json::parse("{}").unwrap(),
        labels: vec!["production".to_owned()],
        tags: None,
        commit_message: None,
        created_by: "ana".to_owned(),
    };
    catalog.create_prompt(id("shop"), prompt, START).await.unwrap();
    let dataset = NewDataset {
        name: CHOSEN.to_owned(),
        description: Some(OURS.to_owned()),
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    catalog.save_dataset(id("shop"), dataset, START).await.unwrap();
    let item = NewDatasetItem {
        dataset_name: CHOSEN.to_owned(),
        id: Some(CHOSEN.to_owned()),
        input: Json::parse(&format!("\"{OURS}\"")),
        ..NewDatasetItem::default()
    };
    catalog.save_dataset_item(id("shop"), item, START).await.unwrap();
    let (judge, rubric) = ("offline".to_owned(), OURS.to_owned());
    let scoring = ScheduledScoring { judge, rubric, max_cost: None, scope: ReportScope::default() };
    let schedule = NewSchedule {
        name: CHOSEN.to_owned(),
        cron: Cron::parse("0 2 * * SUN").unwrap(),
        zone: Zone::utc(),
        job: ScheduledJob::WeeklyReport { scoring, learnings: None },
        slack: None,
        webhook: None,
    };
    let secrets = site.data.folder().secrets.clone();
    catalog.save_schedule(id("shop"), schedule, secrets, START).await.unwrap();
}

async fn queue(site: &Site) -> String {
    let catalog = site.data.catalog();
    let new = NewQueue {
        name: OURS.to_owned(),
        description: Some(OURS.to_owned()),
        score_configs: Vec::new(),
    };
    let queue = catalog.create_queue(id("shop"), new, START).await.unwrap().id;
    let (kind, status) = (ItemKind::Trace, ItemStatus::Pending);
    let item = NewQueueItem { kind, object: CHOSEN.to_owned(), status };
    let of = QueueId { project: id("shop"), queue: queue.clone() };
    catalog.add_queue_item(of, item, START).await.unwrap();
    queue
}

async fn key(site: &Site) -> String {
    let (role, permissions) = (Role::Viewer, Permissions::NONE);
    let note = Some(OURS.to_owned());
    let new = NewKey { project: id("shop"), role, permissions, note, pair: None };
    site.data.catalog().create_key(new, START).await.unwrap().0.id
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

/// A dashboard with a chart, by its forms.
async fn dashboard(owner: &mut Browser) -> [(&'static str, String); 3] {
    let all = "/project/shop/dashboards";
    owner.get(&format!("{all}/all")).await;
    let made = owner.post(all, &[("name", OURS), ("description", "")]).await;
    let page = made.header("location").split('?').next().unwrap_or_default().to_owned();
    owner.post(&format!("{page}/widgets"), &[("name", OURS), ("chart", "number")]).await;
    let shown = owner.get(&format!("{page}?edit=1&range=all")).await.text;
    let after = |mark: &str| {
        let (_, rest) = shown.split_once(mark).unwrap();
        rest.split(['?', '"', '/']).next().unwrap().to_owned()
    };
    let dashboard = page.rsplit('/').next().unwrap().to_owned();
    [("dashboard", dashboard), ("tile", after("/tiles/")), ("widget", after("/widgets/"))]
}

/// What only owners settle, by its forms.
async fn settled(site: &Site, owner: &mut Browser) -> [(&'static str, String); 4] {
    let settings = "/project/shop/settings";
    let url = format!("https://hooks.example.com/{OURS}");
    let forms: [(&str, &[(&str, &str)]); 4] = [
        ("notifications", &[("name", OURS), ("url", &url), ("turn-ended", "yes")]),
        (
            "models",
            &[
                ("modelName", OURS),
                ("matchPattern", "^walk$"),
                ("unit", "TOKENS"),
                ("pricingTiers", "input 3"),
            ],
        ),
        (
            "connections",
            // No listener, so that a test message fails at once.
            &[
                ("provider", OURS),
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
    let (catalog, shop) = (site.data.catalog(), || id("shop"));
    let first = PageNumber { page: 1, limit: 1 };
    [
        ("receiver", catalog.notice_receivers(shop()).await.unwrap()[0].id.clone()),
        ("model", catalog.models(shop()).await.unwrap()[0].id.clone()),
        ("connection", catalog.llm_connections(shop(), first).await.unwrap().rows[0].id.clone()),
        ("rule", catalog.redaction_rules(shop()).await.unwrap()[0].id.clone()),
    ]
}
