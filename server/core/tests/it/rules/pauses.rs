//! Calls of application tools (PAUSE-1, PAUSE-2).

use expect_test::expect;

use crate::story::check;

#[test]
fn pause_1_pair_by_pair_then_one_idle() {
    check(expect![[r##"
        given s with add_todo, echo
        turn: call add_todo {"n":1} & echo {"n":2} & add_todo {"n":3}; say Done
        open a on s
          open
        start r in s: milk
          r queued
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {"n":1}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started echo call.1 {"n":2}
          #5 0s r agent.custom_tool_use echo call.1
          #6 0s r tool.started add_todo call.2 {"n":3}
          #7 0s r agent.custom_tool_use add_todo call.2
          #8 0s r session.status_idle ["#3","#5","#7"]
        show r
          waiting, wants #3 #5 #7 by 30m
          #3 by add_todo@1: Open
          #5 by echo@1: Open
          #7 by add_todo@1: Open
    "##]]);
}

#[test]
fn pause_1_a_second_pause_names_only_its_own() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo; call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        at 5s
        resume r key-0001: #3 = {}
          accepted #3; running
        show r
          waiting, wants #8 #10 by 30m5s
          #3 by add_todo@1: Answered
          #8 by add_todo@1: Open
          #10 by add_todo@1: Open
        resume r key-0002: #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        resume r key-0003: #8 = {}; #10 = {}
          accepted #8 #10; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 5s r session.status_running
          #6 5s r tool.completed add_todo call.0 {}
          #7 5s r tool.started add_todo call.1 {}
          #8 5s r agent.custom_tool_use add_todo call.1
          #9 5s r tool.started add_todo call.2 {}
          #10 5s r agent.custom_tool_use add_todo call.2
          #11 5s r session.status_idle ["#8","#10"]
          #12 5s r session.status_running
          #13 5s r tool.completed add_todo call.1 {}
          #14 5s r tool.completed add_todo call.2 {}
          #15 5s r message.completed "Done"
          #16 5s r run.completed
    "##]]);
}

#[test]
fn pause_2_the_execution_key_is_the_event_id() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo {} & add_todo {} as my-call once my-key
        open a on s
          open
        start r in s: milk
          r queued
        json s
          | {"id":"#1","sequence":1,"type":"run.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":null,"data":null}
          | {"id":"#2","sequence":2,"type":"tool.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"call.0","name":"add_todo","input":{}},"data":{"tool_call_id":"call.0","name":"add_todo"}}
          | {"id":"#3","sequence":3,"type":"agent.custom_tool_use","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#3","name":"add_todo","input":{}},"data":{"tool_call_id":"call.0","pending_input_id":"pending.0","execution_idempotency_key":"#3","name":"add_todo"}}
          | {"id":"#4","sequence":4,"type":"tool.started","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"my-call","name":"add_todo","input":{}},"data":{"tool_call_id":"my-call","name":"add_todo"}}
          | {"id":"#5","sequence":5,"type":"agent.custom_tool_use","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":{"tool_call_id":"my-call","pending_input_id":"pending.1","execution_idempotency_key":"my-key","name":"add_todo","input":{}},"data":{"tool_call_id":"my-call","pending_input_id":"pending.1","execution_idempotency_key":"my-key","name":"add_todo"}}
          | {"id":"#6","sequence":6,"type":"session.status_idle","workspace_id":"workspace","session_id":"s","run_id":"r","created_at":"2026-01-01T00:00:00Z","content":{"stop_reason":{"type":"requires_action","event_ids":["#3","#5"]}},"data":{"stop_reason":{"type":"requires_action","event_ids":["#3","#5"]}}}
    "##]]);
}

#[test]
fn pause_2_separate_execution_keys() {
    check(expect![[r##"
        given s with add_todo
        variant separate-execution-keys
        turn: call add_todo {} & add_todo {} once my-key; call add_todo {}
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {}; #5 = {}
          accepted #3 #5; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0 once exec.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1 once my-key
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r session.status_running
          #8 0s r tool.completed add_todo call.0 {}
          #9 0s r tool.completed add_todo call.1 {}
          #10 0s r tool.started add_todo call.2 {}
          #11 0s r agent.custom_tool_use add_todo call.2 once exec.2
          #12 0s r session.status_idle ["#11"]
    "##]]);
}

#[test]
fn pause_2_the_call_id_stands_on_all_events_and_is_never_repeated() {
    check(expect![[r#"
        given s, t with add_todo
        turn: call add_todo {}; call add_todo {}
        open a on s
          open
        open b on t
          open
        start r in s: milk
          r queued
        start q in t: milk
          q queued
        resume r key-0001: s#3 = {}
          accepted s#3; running
        resume r key-0002: s#8 ! NO no
          accepted s#8; running
        start r2 in s: milk
          r2 queued
        log s
          s#1 0s r run.started
          s#2 0s r tool.started add_todo s.call.0 {}
          s#3 0s r agent.custom_tool_use add_todo s.call.0
          s#4 0s r session.status_idle ["s#3"]
          s#5 0s r session.status_running
          s#6 0s r tool.completed add_todo s.call.0 {}
          s#7 0s r tool.started add_todo s.call.1 {}
          s#8 0s r agent.custom_tool_use add_todo s.call.1
          s#9 0s r session.status_idle ["s#8"]
          s#10 0s r session.status_running
          s#11 0s r tool.failed add_todo s.call.1 {"code":"NO","message":"no","retryable":false}
          s#12 0s r run.completed
          s#13 0s r2 run.started
          s#14 0s r2 tool.started add_todo s.call.2 {}
          s#15 0s r2 agent.custom_tool_use add_todo s.call.2
          s#16 0s r2 session.status_idle ["s#15"]
        log t
          t#1 0s q run.started
          t#2 0s q tool.started add_todo t.call.0 {}
          t#3 0s q agent.custom_tool_use add_todo t.call.0
          t#4 0s q session.status_idle ["t#3"]
    "#]]);
}

#[test]
fn pause_2_a_careless_script_may_repeat_a_call_id() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo {} as same & add_todo {} as same
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #5 = {"id":2}
          accepted #5; remaining #3; waiting
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo same {}
          #3 0s r agent.custom_tool_use add_todo same
          #4 0s r tool.started add_todo same {}
          #5 0s r agent.custom_tool_use add_todo same
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r tool.completed add_todo same {"id":2}
          #8 0s r session.status_idle ["#3"]
    "##]]);
}
