use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn take(reader: &mut LineReader, line: &Value) -> LineOutcome {
    reader.take(&line.to_string(), None)
}

fn event(event: &Value) -> Value {
    json!({"type": "stream_event", "event": event, "parent_tool_use_id": null})
}

fn start(message: &str) -> Value {
    event(&json!({"type": "message_start", "message": {"id": message}}))
}

fn block(index: u64, kind: &str) -> Value {
    let block = json!({"type": kind, kind: ""});
    event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

fn piece(index: u64, text: &str) -> Value {
    let delta = json!({"type": "text_delta", "text": text});
    event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

fn whole(message: &str, text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"type": "assistant", "message": {"id": message, "content": content}})
}

fn said(events: &[UnorderedEvent]) -> Vec<(EventKind, Value)> {
    let read = |events: &UnorderedEvent| (events.kind, serde_json::from_str(&events.body).unwrap());
    events.iter().map(read).collect()
}

/// All words of the agent that clients hear.
fn seen(lines: &[Value]) -> String {
    let mut reader = LineReader::default();
    let events = lines.iter().flat_map(|line| take(&mut reader, line).events).collect::<Vec<_>>();
    let texts = said(&events).into_iter().filter(|(kind, _)| *kind == EventKind::TextDelta);
    texts.map(|(_, body)| body["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn words_that_come_twice_are_told_once() {
    let lines =
        [start("m1"), block(0, "text"), piece(0, "Hel"), piece(0, "lo"), whole("m1", "Hello")];
    assert_eq!(seen(&lines), "Hello");
}

#[test]
fn words_that_only_come_whole_are_told() {
    assert_eq!(seen(&[whole("m1", "Hello")]), "Hello");
    assert_eq!(seen(&[start("m2"), whole("m1", "Hello")]), "Hello");
}

#[test]
fn what_is_missing_in_pieces_is_told_from_the_whole() {
    let lines = [start("m1"), block(0, "text"), piece(0, "Hel"), whole("m1", "Hello")];
    assert_eq!(seen(&lines), "Hello");
}

#[test]
fn a_piece_after_the_whole_says_nothing_new() {
    let lines = [start("m1"), block(0, "text"), whole("m1", "Hello"), piece(0, "lo")];
    assert_eq!(seen(&lines), "Hello");
}

proptest! {
    /// However blocks are split, and whether or not they are also sent whole, each text is emitted once.
    #[test]
    fn every_word_is_told_once(
        blocks in prop::collection::vec(prop::collection::vec("[a-zé日 ]{0,4}", 0..5), 1..5),
        comes_whole: bool,
    ) {
        let mut lines = vec![start("m1")];
        for (index, pieces) in blocks.iter().enumerate() {
            let index = index as u64;
            lines.push(block(index, "text"));
            lines.extend(pieces.iter().map(|text| piece(index, text)));
            let text = pieces.concat();
            if comes_whole && !text.is_empty() {
                lines.push(whole("m1", &text));
            }
        }
        prop_assert_eq!(seen(&lines), blocks.concat().concat());
    }

    #[test]
    fn no_line_is_too_odd(line in "\\PC{0,60}") {
        prop_assert_eq!(LineReader::default().take(&line, None), LineOutcome::default());
    }
}

#[test]
fn sub_agents_name_the_call_that_began_them() {
    let mut reader = LineReader::default();
    take(&mut reader, &start("m1"));
    take(&mut reader, &block(0, "text"));
    take(&mut reader, &piece(0, "Main"));
    let line = json!({"type": "assistant", "parent_tool_use_id": "t1", "message": {"id": "m2",
        "content": [{"type": "text", "text": "Sub"},
                    {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"n": 1}}]}});
    let events = take(&mut reader, &line).events;
    assert_eq!(
        said(&events),
        [
            (
                EventKind::ToolUse,
                json!({"id": "t2", "name": "Bash", "input": {"n": 1},
                "message": "m2", "parent": "t1"})
            ),
            (EventKind::TextDelta, json!({"text": "Sub", "message": "m2", "parent": "t1"})),
        ]
        .into_iter()
        .rev()
        .collect::<Vec<_>>()
    );
    let rest = take(&mut reader, &whole("m1", "Main thing")).events;
    assert_eq!(said(&rest)[0].1["text"], " thing");
}

#[test]
fn results_are_told_with_their_call() {
    let line = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "gone", "is_error": true}]}});
    let events = take(&mut LineReader::default(), &line).events;
    let expected = json!({"tool_use_id": "t1", "output": "gone", "is_error": true});
    assert_eq!(said(&events), [(EventKind::ToolResult, expected)]);
}

#[test]
fn a_turn_is_told_its_own_part_of_the_cost() {
    let mut reader = LineReader::new(Money::from_dollars(1.0).unwrap());
    let mut cost = |total: f64| {
        let line = json!({"total_cost_usd": total, "subtype": "success", "type": "result"});
        match take(&mut reader, &line).sign {
            Some(LineSignal::Ended(end)) => end.cost.unwrap().dollars(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(cost(1.25), 0.25);
    assert_eq!(cost(1.75), 0.5);
    assert_eq!(cost(0.5), 0.5, "the agent began to count anew");
}

#[test]
fn what_an_answer_says_it_used_is_never_summed() {
    let mut reader = LineReader::default();
    let usage = json!({"input_tokens": 1_000_000, "output_tokens": 1});
    let mut line = whole("m1", "Hello");
    line["message"]["usage"] = usage;
    for _ in 0..3 {
        take(&mut reader, &line);
    }
    assert_eq!(reader.cost(), Money::ZERO);
    let line = json!({"type": "result", "subtype": "success"});
    let Some(LineSignal::Ended(end)) = take(&mut reader, &line).sign else { panic!("no end") };
    assert_eq!(end.cost, None, "nobody said what it cost, which is not nothing");
}

proptest! {
    /// Costs of turns add up to the total, whether they are reported exactly or as a sum.
    #[test]
    fn turns_add_up(cents in prop::collection::vec((0..500_u32, any::<bool>()), 0..8)) {
        let mut reader = LineReader::default();
        let (mut sum, mut events) = (0, Money::ZERO);
        for (cost, is_exact) in cents {
            sum += cost;
            let mut line = json!({"type": "result", "subtype": "success",
                "total_cost_usd": f64::from(sum) / 100.0});
            if is_exact {
                let cost = f64::from(cost) / 100.0;
                line["model_usage_since_last_result"] = json!({"m": {"costUSD": cost}});
            }
            let Some(LineSignal::Ended(end)) = take(&mut reader, &line).sign else { panic!("no end") };
            events = events + end.cost.unwrap();
        }
        prop_assert_eq!(Some(events), Money::from_dollars(f64::from(sum) / 100.0));
        prop_assert_eq!(reader.cost(), events);
    }
}

#[test]
fn a_turn_after_a_kill_costs_what_it_says() {
    let mut reader = LineReader::new(Money::from_dollars(5.0).unwrap());
    let used = json!({"a": {"costUSD": 0.25}, "b": {"costUSD": 0.5}});
    let line = json!({"type": "result", "subtype": "success", "total_cost_usd": 3.75,
        "model_usage_since_last_result": used});
    let body = &said(&take(&mut reader, &line).events)[0].1;
    assert_eq!((&body["cost"], &body["total_cost"]), (&json!(0.75), &json!(5.75)));
}

#[test]
fn a_failed_request_is_a_failed_turn() {
    let line = json!({"type": "result", "subtype": "success", "is_error": true,
        "api_error_status": 529, "result": "Overloaded"});
    let turn = TraceId::parse("t1").unwrap();
    let seen = LineReader::default().take(&line.to_string(), Some(&turn));
    let body = &said(&seen.events)[0].1;
    assert_eq!((&body["is_error"], &body["status"]), (&json!(true), &json!(529)));
    assert_eq!(body["turn"], "t1");
}

#[test]
fn a_turn_that_says_no_last_word_says_why() {
    let end = |more: &Value| {
        let mut line = json!({"type": "result", "subtype": "error_during_execution",
            "is_error": true});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        match take(&mut LineReader::default(), &line).sign {
            Some(LineSignal::Ended(end)) => (end.result.unwrap(), end.is_interrupted),
            other => panic!("{other:?}"),
        }
    };
    let aborted = json!({"terminal_reason": "aborted_streaming", "errors": ["internals"]});
    assert_eq!(end(&aborted), ("interrupted".to_owned(), true));
    let spent = json!({"errors": ["too many turns", "really"]});
    assert_eq!(end(&spent), ("too many turns; really".to_owned(), false));
    assert_eq!(end(&json!({})), ("error_during_execution".to_owned(), false));
}

#[test]
fn a_turn_says_what_it_used_of_each_model() {
    let figures = json!({"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 0,
        "cacheCreationInputTokens": 9, "cacheCreationEphemeral1hInputTokens": 4});
    let line = json!({"type": "result", "model_usage_since_last_result": {"m": figures}});
    let Some(LineSignal::Ended(end)) = take(&mut LineReader::default(), &line).sign else {
        panic!("no end")
    };
    let kinds = end.used["m"].kinds().iter().map(|(kind, count)| (kind.as_str(), *count));
    let expected = [
        ("input", 5),
        ("input_cache_creation", 5),
        ("input_cache_creation_1h", 4),
        ("output", 2),
        ("total", 16),
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
}

#[test]
fn the_agent_tells_when_a_turn_begins_and_what_it_keeps() {
    let mut reader = LineReader::default();
    let line = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m"});
    let began = take(&mut reader, &line).sign;
    let (conversation, model) = (Some("s".to_owned()), Some("m".to_owned()));
    assert_eq!(began, Some(LineSignal::Began { conversation, model, mode: None }));
    let line = r#"{"type":"transcript_mirror","filePath":"/a.jsonl","entries":[{"n":1.0}]}"#;
    let (file, lines) = ("/a.jsonl".to_owned(), vec![r#"{"n":1.0}"#.to_owned()]);
    assert_eq!(reader.take(line, None).sign, Some(LineSignal::Kept { file, lines }));
}

#[test]
fn compactions_and_retries_are_worth_knowing() {
    let line = json!({"type": "system", "subtype": "api_retry", "error": "busy"});
    let events = take(&mut LineReader::default(), &line).events;
    assert_eq!(said(&events), [(EventKind::Notice, json!({"what": "api_retry", "text": "busy"}))]);
    let line = json!({"type": "system", "subtype": "api_retry", "error": "overloaded",
        "error_status": 529, "retry_delay_ms": 3_400, "attempt": 2, "max_retries": 10});
    // The message of the attempt that failed is named: it is written again.
    let events = take(&mut with_open_call(1), &line).events;
    let text = "overloaded (529), retrying in 4 s (attempt 2 of 10)";
    let notice = json!({"what": "api_retry", "text": text, "broken": "m1"});
    assert_eq!(said(&events), [(EventKind::Notice, notice)]);
}

/// A reader in whose turn a call has begun, with so many tokens in.
fn with_open_call(tokens: u32) -> LineReader {
    let mut reader = LineReader::default().with_prices(PriceTable::builtin().into());
    let usage = json!({"input_tokens": tokens, "output_tokens": 1});
    let message = json!({"id": "m1", "model": "claude-sonnet-5", "usage": usage});
    take(
        &mut reader,
        &json!({"type": "stream_event", "event": {"type": "message_start",
        "message": message}}),
    );
    reader
}

fn done(reader: &mut LineReader, reason: &str, used: &Value) -> (TurnEnd, Value) {
    let line = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "terminal_reason": reason, "model_usage_since_last_result": used});
    let seen = take(reader, &line);
    let Some(LineSignal::Ended(end)) = seen.sign else { panic!("no end") };
    (end, said(&seen.events)[0].1.clone())
}

#[test]
fn an_interrupted_call_is_counted_as_far_as_it_came() {
    let sub = json!({"claude-haiku-4-5": {"inputTokens": 10, "outputTokens": 2, "costUSD": 0.5}});
    let mut reader = with_open_call(1_000_000);
    // The agent ends the stream itself.
    take(
        &mut reader,
        &event(&json!({"type": "message_delta", "delta": {"stop_reason": null},
        "usage": {"input_tokens": 0, "output_tokens": 0}})),
    );
    take(&mut reader, &event(&json!({"type": "message_stop"})));
    let (end, body) = done(&mut reader, "aborted_streaming", &sub);
    assert!(end.is_at_least && body["at_least"] == true);
    assert_eq!(body["tokens"], json!({"input": 1_000_010, "output": 3}));
    assert_eq!(body["cost"], json!(2.50001));
}

#[test]
fn what_nobody_knows_is_not_nothing() {
    let mut reader = LineReader::default();
    let (end, body) = done(&mut reader, "aborted_streaming", &json!({}));
    assert!(end.is_at_least && end.cost.is_none(), "{end:?}");
    assert_eq!((&body["cost"], &body["tokens"]), (&Value::Null, &Value::Null));
    assert_eq!(body["at_least"], true);
    let (end, body) = done(&mut reader, "aborted_tools", &json!({}));
    assert!(!end.is_at_least && body["cost"] == 0.0, "no call was on its way: {body}");
}

#[test]
fn a_call_that_was_tried_again_may_have_cost_more() {
    let mut reader = LineReader::default();
    take(&mut reader, &json!({"type": "system", "subtype": "api_retry", "error": "busy"}));
    let used = json!({"m": {"inputTokens": 5, "outputTokens": 2, "costUSD": 0.25}});
    let (end, body) = done(&mut reader, "completed", &used);
    assert!(end.is_at_least && body["at_least"] == true && body["cost"] == 0.25, "{body}");
    let (end, body) = done(&mut reader, "completed", &used);
    assert!(!end.is_at_least && body["at_least"].is_null(), "each turn for itself: {body}");
    assert_eq!(body["tokens"], json!({"input": 5, "output": 2}));
    assert_eq!(end.costs["m"].cost, Money::from_dollars(0.25).unwrap());
}
