//! The workspace's clock (TIME-1, and the control API's `advance`).

use expect_test::expect;

use crate::story::check;

#[test]
fn advance_keep_alives_then_deadlines_then_waits_each_in_order_of_creation() {
    check(expect![[r#"
        given s, t, u, v with add_todo
        set resume_deadline 15s
        turn on wait: wait 15s; say Waited
        turn on call: call add_todo
        open a on t
          open
        open b on s
          open
        start w1 in u: wait
          w1 queued
        begin w1
          done
        start d1 in v: call
          d1 queued
        begin d1
          done
        start w2 in s: wait
          w2 queued
        start d2 in t: call
          d2 queued
        next
          deadline 15s, keep-alive 15s
        advance 15s
          fired 15s: keep-alive of t
          fired 15s: keep-alive of s
          fired 15s: deadline of d1
          fired 15s: deadline of d2
          fired 15s: wait of w1
          fired 15s: wait of w2
        next
          deadline never, keep-alive never
        log s
          s#1 0s w2 run.started
          s#2 15s w2 message.completed "Waited"
          s#3 15s w2 run.completed
        log t
          t#1 0s d2 run.started
          t#2 0s d2 tool.started add_todo t.call.0 {}
          t#3 0s d2 agent.custom_tool_use add_todo t.call.0
          t#4 0s d2 session.status_idle ["t#3"]
          t#5 15s d2 run.failed {"error":{… of 88
    "#]]);
}

#[test]
fn advance_in_order_of_time() {
    check(expect![[r#"
        given s, t with add_todo
        set resume_deadline 20s
        turn on wait: wait 10s; wait 7s; call add_todo
        turn on call: call add_todo
        open a on s
          open
        start r in s: wait
          r queued
        start q in t: call
          q queued
        begin q
          done
        advance 40s
          fired 10s: wait of r
          fired 15s: keep-alive of s
          fired 17s: wait of r
          fired 20s: deadline of q
          fired 32s: keep-alive of s
          fired 37s: deadline of r
        next
          deadline never, keep-alive never
    "#]]);
}

#[test]
fn advance_an_event_begins_the_silence_anew() {
    check(expect![[r#"
        given s
        turn: wait 10s; emit news; wait 30s
        open a on s
          open
        start r in s: wait
          r queued
        advance 26s
          fired 10s: wait of r
          fired 25s: keep-alive of s
        read a
          #1 run.started
          #2 news
          : keep-alive
          wait until 40s
        next
          deadline 40s, keep-alive 40s
    "#]]);
}

#[test]
fn advance_tells_of_no_keep_alive_twice() {
    check(expect![[r#"
        given s
        open a on s
          open
        advance 16s
          fired 15s: keep-alive of s
        advance 16s
        advance 29.999s
        advance 30s
          fired 30s: keep-alive of s
        read a
          : keep-alive
          : keep-alive
          wait until 45s
        advance 45s
          fired 45s: keep-alive of s
    "#]]);
}

#[test]
fn advance_tells_of_none_where_a_stream_is_about_to_end() {
    check(expect![[r#"
        given s
        open a on s
          open
        start r in s: hello
          r queued
        advance 1h
        next
          deadline never, keep-alive never
    "#]]);
}

#[test]
fn advance_waits_of_no_length() {
    check(expect![[r#"
        given s
        turn: wait 0s; say One; wait 0s; say Two
        open a on s
          open
        start r in s: hello
          r queued
        log s
          #1 0s r run.started
        advance 0s
          fired 0s: wait of r
          fired 0s: wait of r
        log s
          #1 0s r run.started
          #2 0s r message.completed "One"
          #3 0s r message.completed "Two"
          #4 0s r run.completed
    "#]]);
}

#[test]
fn time_1_what_was_late_is_dated_to_when_it_was_due() {
    check(expect![[r##"
        given s with add_todo
        turn: wait 1.5s; say Hi; wait 2s; call add_todo
        open a on s
          open
        start r in s: hello
          r queued
        at 1h
        append s news
          appended #7
          fired 1.500s: wait of r
          fired 3.500s: wait of r
          fired 30m3.500s: deadline of r
        json s
          | {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#2","sequence":2,"type":"message.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:01.500Z","content":[{"type":"text","text":"Hi"}],"data":null}
          | {"id":"#3","sequence":3,"type":"tool.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:03.500Z","content":{"tool_call_id":"call.0","name":"add_todo","input":{}},"data":{"tool_call_id":"call.0","name":"add_todo"}}
          | {"id":"#4","sequence":4,"type":"agent.custom_tool_use","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:03.500Z","content":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#4","name":"add_todo","input":{}},"data":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#4","name":"add_todo"}}
          | {"id":"#5","sequence":5,"type":"session.status_idle","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:03.500Z","content":{"stop_reason":{"type":"requires_action","event_ids":["#4"]}},"data":{"stop_reason":{"type":"requires_action","event_ids":["#4"]}}}
          | {"id":"#6","sequence":6,"type":"run.failed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:30:03.500Z","content":{"error":{"code":"event_expired","message":"no result came before the resume deadline"}},"data":null}
          | {"id":"#7","sequence":7,"type":"news","workspace_id":"workspace","session_id":"s","run_id":null,"created_at":"2026-01-01T01:00:00Z","content":null,"data":null}
    "##]]);
}

#[test]
fn time_1_a_world_catches_up_before_it_judges() {
    check(expect![[r##"
        given s with add_todo
        set resume_deadline 10s
        turn on milk: call add_todo
        open a on s
          open
        start r in s: milk
          r queued
        at 10s
        cancel r
          refused: RunNotActive
          fired 10s: deadline of r
        start q in s: again
          q queued
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 10s r run.failed {"error":{… of 88
          #6 10s q run.started
          #7 10s q message.completed "You said: again"
          #8 10s q run.completed
    "##]]);
}

#[test]
fn run_a_wait_is_off_when_its_run_ends() {
    check(expect![[r#"
        given s
        turn: wait 5s; say Never
        open a on s
          open
        start r in s: hello
          r queued
        next
          deadline 5s, keep-alive 15s
        at 3s
        cancel r
          r cancelled
        next
          deadline never, keep-alive never
        advance 10s
        log s
          #1 0s r run.started
          #2 3s r run.cancelled
    "#]]);
}
