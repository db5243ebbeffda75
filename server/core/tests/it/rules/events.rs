//! The events of a session: their order, numbers and exact shapes (SSE-2, SSE-4).

use expect_test::expect;

use crate::story::check;

#[test]
fn sse_4_every_durable_type_in_full() {
    check(expect![[r##"
        given s with add_todo
        turn: reason Let me |think; call add_todo {"b":1,"a":[true,null]} & add_todo {"title":"tea"}; say Do|ne; error it rains
        turn on bad: fail BROKEN it broke
        start r1 in s: milk
          r1 queued
        at 0.2s
        begin r1
          done
        at 1.5s
        resume r1 key-0001: #4 = {"z":1,"id":{"n":0.5}}; #6 ! USER_CANCELLED not now
          accepted #4 #6; running
        json s
          | {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00.200Z","content":null,"data":null}
          | {"id":"#2","sequence":2,"type":"reasoning.message","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00.200Z","content":[{"type":"text","text":"Let me think"}],"data":null}
          | {"id":"#3","sequence":3,"type":"tool.started","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00.200Z","content":{"tool_call_id":"call.0","name":"add_todo","input":{"b":1,"a":[true,null]}},"data":{"tool_call_id":"call.0","name":"add_todo"}}
          | {"id":"#4","sequence":4,"type":"agent.custom_tool_use","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00.200Z","content":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#4","name":"add_todo","input":{"b":1,"a":[true,null]}},"data":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#4","name":"add_todo"}}
          | {"id":"#5","sequence":5,"type":"tool.started","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00.200Z","content":{"tool_call_id":"call.1","name":"add_todo","input":{"title":"tea"}},"data":{"tool_call_id":"call.1","name":"add_todo"}}
          | {"id":"#6","sequence":6,"type":"agent.custom_tool_use","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00.200Z","content":{"tool_call_id":"call.1","pending_input_id":"pending.1","execution_idempotency_key":"#6","name":"add_todo","input":{"title":"tea"}},"data":{"tool_call_id":"call.1","pending_input_id":"pending.1","execution_idempotency_key":"#6","name":"add_todo"}}
          | {"id":"#7","sequence":7,"type":"session.status_idle","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00.200Z","content":{"stop_reason":{"type":"requires_action","event_ids":["#4","#6"]}},"data":{"stop_reason":{"type":"requires_action","event_ids":["#4","#6"]}}}
          | {"id":"#8","sequence":8,"type":"session.status_running","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:01.500Z","content":null,"data":null}
          | {"id":"#9","sequence":9,"type":"tool.completed","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:01.500Z","content":{"tool_call_id":"call.0","name":"add_todo","output":{"z":1,"id":{"n":0.5}}},"data":{"tool_call_id":"call.0","name":"add_todo"}}
          | {"id":"#10","sequence":10,"type":"tool.failed","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:01.500Z","content":{"tool_call_id":"call.1","name":"add_todo","error":{"code":"USER_CANCELLED","message":"not now","retryable":false}},"data":{"tool_call_id":"call.1","name":"add_todo"}}
          | {"id":"#11","sequence":11,"type":"message.completed","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:01.500Z","content":[{"type":"text","text":"Done"}],"data":null}
          | {"id":"#12","sequence":12,"type":"session.error","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:01.500Z","content":{"message":"it rains"},"data":null}
          | {"id":"#13","sequence":13,"type":"run.completed","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:01.500Z","content":null,"data":null}
    "##]]);
}

#[test]
fn sse_4_a_retryable_error() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 !! BUSY try again
          accepted #3; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 0s r session.status_running
          #6 0s r tool.failed add_todo call.0 {"code":"BUSY","message":"try again","retryable":true}
          #7 0s r run.completed
    "##]]);
}

#[test]
fn sse_4_the_other_ends_of_a_run() {
    check(expect![[r##"
        given s with add_todo
        turn on bad: fail BROKEN it broke
        turn on milk: call add_todo
        set resume_deadline 10s
        open a on s
          open
        start r1 in s: bad
          r1 queued
        start r2 in s: milk
          r2 queued
        cancel r2
          r2 cancelled
        start r3 in s: milk
          r3 queued
        advance 10s
          fired 10s: deadline of r3
        json s
          | {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#2","sequence":2,"type":"run.failed","workspace_id":"workspace","session_id":"s","run_id":"r1","created_at":"2026-01-01T00:00:00Z","content":{"error":{"code":"BROKEN","message":"it broke"}},"data":null}
          | {"id":"#3","sequence":3,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r2","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#4","sequence":4,"type":"tool.started","workspace_id":"workspace","session_id":"s","run_id":"r2","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"call.0","name":"add_todo","input":{}},"data":{"tool_call_id":"call.0","name":"add_todo"}}
          | {"id":"#5","sequence":5,"type":"agent.custom_tool_use","workspace_id":"workspace","session_id":"s","run_id":"r2","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#5","name":"add_todo","input":{}},"data":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#5","name":"add_todo"}}
          | {"id":"#6","sequence":6,"type":"session.status_idle","workspace_id":"workspace","session_id":"s","run_id":"r2","created_at":"2026-01-01T00:00:00Z","content":{"stop_reason":{"type":"requires_action","event_ids":["#5"]}},"data":{"stop_reason":{"type":"requires_action","event_ids":["#5"]}}}
          | {"id":"#7","sequence":7,"type":"run.cancelled","workspace_id":"workspace","session_id":"s","run_id":"r2","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#8","sequence":8,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r3","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#9","sequence":9,"type":"tool.started","workspace_id":"workspace","session_id":"s","run_id":"r3","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"call.1","name":"add_todo","input":{}},"data":{"tool_call_id":"call.1","name":"add_todo"}}
          | {"id":"#10","sequence":10,"type":"agent.custom_tool_use","workspace_id":"workspace","session_id":"s","run_id":"r3","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"call.1","pending_input_id":"pending.1","execution_idempotency_key":"#10","name":"add_todo","input":{}},"data":{"tool_call_id":"call.1","pending_input_id":"pending.1","execution_idempotency_key":"#10","name":"add_todo"}}
          | {"id":"#11","sequence":11,"type":"session.status_idle","workspace_id":"workspace","session_id":"s","run_id":"r3","created_at":"2026-01-01T00:00:00Z","content":{"stop_reason":{"type":"requires_action","event_ids":["#10"]}},"data":{"stop_reason":{"type":"requires_action","event_ids":["#10"]}}}
          | {"id":"#12","sequence":12,"type":"run.failed","workspace_id":"workspace","session_id":"s","run_id":"r3","created_at":"2026-01-01T00:00:10Z","content":{"error":{"code":"event_expired","message":"no result came before the resume deadline"}},"data":null}
    "##]]);
}

#[test]
fn sse_4_events_of_a_script_and_of_the_control_api() {
    check(expect![[r##"
        given s
        turn: emit todo.saved {"content":{"b":1,"a":2},"data":[1]}; emit run.completed {"content":"{{ message }}"}
        open a on s
          open
        start r in s: milk
          r queued
        append s as r todo.late {"data":{"text":"line\nbreak  "}}
          appended #5
        append s as any-run todo.odd
          appended #6
        append s other
          appended #7
        json s
          | {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#2","sequence":2,"type":"todo.saved","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":{"b":1,"a":2},"data":[1]}
          | {"id":"#3","sequence":3,"type":"run.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":"milk","data":null}
          | {"id":"#4","sequence":4,"type":"run.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#5","sequence":5,"type":"todo.late","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":{"text":"line\nbreak  "}}
          | {"id":"#6","sequence":6,"type":"todo.odd","workspace_id":"workspace","session_id":"s","run_id":"any-run","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#7","sequence":7,"type":"other","workspace_id":"workspace","session_id":"s","run_id":null,"created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
    "##]]);
}

#[test]
fn sse_1_frames_of_a_stream() {
    check(expect![[r##"
        given s
        turn: say Hi |you
        open a on s with deltas
          open
        start r in s: hello
          r queued
        read a whole
          | event: run.started
          | id: #1
          | data: {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          |
          | event: message.started
          | data: {"id":"~0","type":"message.started","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z"}
          |
          | event: message.delta
          | data: {"id":"~1","type":"message.delta","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","delta":{"text":"Hi "}}
          |
          | event: message.delta
          | data: {"id":"~2","type":"message.delta","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","delta":{"text":"you"}}
          |
          | event: message.completed
          | id: #2
          | data: {"id":"#2","sequence":2,"type":"message.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":[{"type":"text","text":"Hi you"}],"data":null}
          |
          | event: run.completed
          | id: #3
          | data: {"id":"#3","sequence":3,"type":"run.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          |
          end
        resync s
          | event: stream.resync
          | data: {"id":"~4294967295","type":"stream.resync","session_id":"s","run_id":null,"created_at":"2026-01-01T00:00:00Z"}
          |
    "##]]);
}

#[test]
fn sse_2_sequences_are_dense_in_each_session() {
    check(expect![[r#"
        given s, t with add_todo
        turn: say Hi; call add_todo; say Done
        open a on s
          open
        open b on t
          open
        start r in s: one
          r queued
        start q in t: two
          q queued
        append s news
          appended s#6
        resume q key-0001: t#4 = {}
          accepted t#4; running
        resume r key-0001: s#4 = {}
          accepted s#4; running
        append t news
          appended t#10
        start r2 in s: three
          r2 queued
        log s
          s#1 0s r run.started
          s#2 0s r message.completed "Hi"
          s#3 0s r tool.started add_todo s.call.0 {}
          s#4 0s r agent.custom_tool_use add_todo s.call.0
          s#5 0s r session.status_idle ["s#4"]
          s#6 0s - news
          s#7 0s r session.status_running
          s#8 0s r tool.completed add_todo s.call.0 {}
          s#9 0s r message.completed "Done"
          s#10 0s r run.completed
          s#11 0s r2 run.started
          s#12 0s r2 message.completed "Hi"
          s#13 0s r2 tool.started add_todo s.call.1 {}
          s#14 0s r2 agent.custom_tool_use add_todo s.call.1
          s#15 0s r2 session.status_idle ["s#14"]
        log t
          t#1 0s q run.started
          t#2 0s q message.completed "Hi"
          t#3 0s q tool.started add_todo t.call.0 {}
          t#4 0s q agent.custom_tool_use add_todo t.call.0
          t#5 0s q session.status_idle ["t#4"]
          t#6 0s q session.status_running
          t#7 0s q tool.completed add_todo t.call.0 {}
          t#8 0s q message.completed "Done"
          t#9 0s q run.completed
          t#10 0s - news
    "#]]);
}

#[test]
fn sse_3_ephemeral_events_are_no_part_of_the_log() {
    check(expect![[r##"
        given s
        turn: reason Hm; say Hi |you; emit ~ intermediate.delta {"delta":{"text":"so"},"data":{"n":1}}; emit ~ odd.event {"content":[1]}
        open a on s with deltas
          open
        open b on s
          open
        start r in s: hello
          r queued
        append s ~ odd.event {"delta":5}
          appended
        append s as r ~ bare.event
          appended
        read a
          #1 run.started
          ~0 reasoning.delta "Hm"
          #2 reasoning.message "Hm"
          ~1 message.started
          ~2 message.delta "Hi "
          ~3 message.delta "you"
          #3 message.completed "Hi you"
          ~4 intermediate.delta "so"
          ~5 odd.event [1]
          #4 run.completed
          ~6 odd.event
          ~7 bare.event
          end
        read b
          #1 run.started
          #2 reasoning.message "Hm"
          #3 message.completed "Hi you"
          #4 run.completed
          end
        log s
          #1 0s r run.started
          #2 0s r reasoning.message "Hm"
          #3 0s r message.completed "Hi you"
          #4 0s r run.completed
        json s
          | {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#2","sequence":2,"type":"reasoning.message","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":[{"type":"text","text":"Hm"}],"data":null}
          | {"id":"#3","sequence":3,"type":"message.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":[{"type":"text","text":"Hi you"}],"data":null}
          | {"id":"#4","sequence":4,"type":"run.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
    "##]]);
}

#[test]
fn sse_3_an_ephemeral_id_is_no_cursor() {
    check(expect![[r##"
        given s
        open a on s with deltas
          open
        start r in s: hello
          r queued
        read a whole
          | event: run.started
          | id: #1
          | data: {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          |
          | event: message.started
          | data: {"id":"~0","type":"message.started","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z"}
          |
          | event: message.delta
          | data: {"id":"~1","type":"message.delta","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","delta":{"text":"You "}}
          |
          | event: message.delta
          | data: {"id":"~2","type":"message.delta","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","delta":{"text":"said: "}}
          |
          | event: message.delta
          | data: {"id":"~3","type":"message.delta","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","delta":{"text":"hello"}}
          |
          | event: message.completed
          | id: #2
          | data: {"id":"#2","sequence":2,"type":"message.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":[{"type":"text","text":"You said: hello"}],"data":null}
          |
          | event: run.completed
          | id: #3
          | data: {"id":"#3","sequence":3,"type":"run.completed","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          |
          end
        open b on s after ~0
          refused: InvalidLastEventId
        open c on s after delta_0000000000000000
          refused: InvalidLastEventId
    "##]]);
}
