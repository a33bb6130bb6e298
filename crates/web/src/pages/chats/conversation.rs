//! The part of a chat that a page shows: whole turns.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use ratchet_core::chat::event::{ChatEvent, EventKind};
use ratchet_core::chat::transcript_view::TranscriptView;
use ratchet_core::record::limit::elide;
use ratchet_store::catalog::Chat;
use ratchet_store::chat::ChatWindow;
use serde_json::Value;

use super::find;
use super::thumbs::{self, Thumb};
use super::toggles::Toggles;
use crate::page_error::PageResult;
use crate::request_context::RequestContext;
use crate::web::Web;

/// Maximum number of turns on a page that does not show all.
const TURNS: u32 = 40;
/// Number of events from which a page gets no further turn.
const EVENTS: u32 = 6_000;
/// Maximum bytes of a tool's input or result, and of a raw line: somewhat more than is rendered.
const PART_BYTES: usize = 32_000;
/// Bytes of tool calls, results and raw lines on a page. After that they are left out.
const PAGE_BYTES: usize = 8_000_000;

/// The part of a chat that a page shows.
pub(super) struct Conversation {
    pub(super) chat: Chat,
    pub(super) story: TranscriptView,
    /// Whether there are earlier events.
    pub(super) has_before: bool,
    /// Whether there are later events.
    pub(super) is_past: bool,
    /// Whether large results were left out.
    pub(super) is_cut: bool,
    pub(super) thumbs: BTreeMap<String, Thumb>,
    pub(super) tokens: u64,
    pub(super) toggles: Toggles,
}

impl Conversation {
    /// Reads the newest turns of a chat, those before a sequence number, or all.
    pub(super) async fn read(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<Self> {
        let chat = find(web, ctx, id).await?;
        let telemetry = &web.store.telemetry;
        let newest = telemetry.last_event(ctx.project_id(), chat.id.clone()).await?;
        let before = ctx.params.get("before").and_then(|before| before.parse::<u64>().ok());
        let to = before.map_or(newest, |before| before.saturating_sub(1).min(newest));
        let from = if ctx.params.get("all") == Some("yes") {
            1
        } else {
            let kinds = Toggles::of(ctx).kinds();
            let window = ChatWindow { to, kinds, turns: TURNS, events: EVENTS };
            telemetry.chat_window(ctx.project_id(), chat.id.clone(), window).await?
        };
        Self::between(web, ctx, chat, (from..=to, newest)).await
    }

    /// Reads the turns since a sequence number.
    pub(super) async fn since(web: &Web, ctx: &RequestContext, id: &str) -> PageResult<Self> {
        let chat = find(web, ctx, id).await?;
        let newest = web.store.telemetry.last_event(ctx.project_id(), chat.id.clone()).await?;
        let since = ctx.params.get("seq").and_then(|seq| seq.parse::<u64>().ok()).unwrap_or(1);
        Self::between(web, ctx, chat, (since.max(1)..=newest, newest)).await
    }

    async fn between(
        web: &Web,
        ctx: &RequestContext,
        chat: Chat,
        (range, newest): (RangeInclusive<u64>, u64),
    ) -> PageResult<Self> {
        let toggles = Toggles::of(ctx);
        let (project, telemetry) = (ctx.project_id(), &web.store.telemetry);
        let (from, to) = (*range.start(), *range.end());
        let (mut story, mut room, mut next) = (TranscriptView::default(), PAGE_BYTES, from);
        loop {
            let (project, chat, kinds) = (project.clone(), chat.id.clone(), toggles.kinds());
            let events = telemetry.chat_events_of(project, chat, next..=to, kinds).await?;
            let Some(last) = events.last() else { break };
            next = last.seq + 1;
            events.into_iter().for_each(|event| story.take(&shortened(event, &mut room)));
        }
        story.last = to;
        let traces = story.turns.iter().filter_map(|turn| turn.turn.clone()).collect();
        let thumbs = thumbs::given(web, ctx, traces).await?;
        let session = telemetry.session(project, chat.id.clone()).await?;
        let tokens = session.map_or(0, |session| session.total_tokens);
        let (has_before, is_past, is_cut) = (from > 1, to < newest, room == 0);
        Ok(Self { chat, story, has_before, is_past, is_cut, thumbs, tokens, toggles })
    }
}

/// Shortens tool calls, results and raw lines: a page must not hold what it does not show, and there
/// may be any number of them in a turn. Words and messages stay whole.
fn shortened(event: ChatEvent, room: &mut usize) -> ChatEvent {
    let field = match event.kind {
        EventKind::ToolUse => "input",
        EventKind::ToolResult => "output",
        EventKind::Raw => "",
        _ => return event,
    };
    let most = PART_BYTES.min(*room);
    if event.body.len() <= most {
        *room -= event.body.len();
        return event;
    }
    let body = match field {
        "" => elide(&event.body, most).into_owned(),
        field => {
            let mut body: Value = serde_json::from_str(&event.body).unwrap_or_default();
            let text = body[field].as_str().map_or_else(|| body[field].to_string(), str::to_owned);
            body[field] = Value::from(elide(&text, most));
            body.to_string()
        }
    };
    *room = room.saturating_sub(body.len());
    ChatEvent { body: body.into(), ..event }
}
