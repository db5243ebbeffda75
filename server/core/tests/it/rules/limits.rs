//! What a workspace may grow to (ERR-5).

use expect_test::expect;

use crate::story::check;

#[test]
fn err_5_tool_definitions() {
    check(expect![[r#"
        set limit tool_definitions 2
        tool add_todo
          add_todo v1: add_todo@1
        version add_todo
          add_todo v2: add_todo@2
        version add_todo
          refused: LimitExceeded { of: "tool definitions", most: 2 }
        tool echo
          refused: LimitExceeded { of: "tool definitions", most: 2 }
        tool add_todo
          refused: ToolNameTaken { tool_id: "add_todo" }
    "#]]);
}

#[test]
fn err_5_agents_and_deployments() {
    check(expect![[r#"
        set limit deployments 2
        agent a1
          agent a1
        agent a2
          agent a2
        agent a3
          refused: LimitExceeded { of: "agents", most: 2 }
        delete a2
          done
        agent a2
          refused: LimitExceeded { of: "agents", most: 2 }
        agent a1
          refused: SlugTaken { agent_id: "a1" }
        deploy d1 of a1
          d1 of a1 v1 pins []
        deploy d2 of a1
          d2 of a1 v1 pins []
        deploy d3 of a1
          refused: LimitExceeded { of: "deployments", most: 2 }
        deploy d3 of nobody
          refused: Invalid
            /agent_id: there is no such agent
    "#]]);
}

#[test]
fn err_5_sessions() {
    check(expect![[r#"
        given s
        set limit sessions 2
        session t of helper
          t of helper on d: idle
        session u of helper
          refused: LimitExceeded { of: "sessions", most: 2 }
        archive s
          s of helper on d: archived at 0s
        session u of helper
          refused: LimitExceeded { of: "sessions", most: 2 }
        session u of nobody
          refused: NotFound("agent")
    "#]]);
}

#[test]
fn err_5_events() {
    check(expect![[r#"
        given s, t with add_todo
        turn: call add_todo; say Done
        set limit events 4
        open a on s
          open
        start r in s: milk
          r queued
        append s news
          refused: LimitExceeded { of: "events", most: 4 }
        start q in t: milk
          refused: LimitExceeded { of: "events", most: 4 }
        resume r key-0001: #3 = {}
          refused: LimitExceeded { of: "events", most: 4 }
        resolve r: {}
          refused: LimitExceeded { of: "events", most: 4 }
        resume r key-0001: #3 = 1
          refused: ToolResultInvalid /events/0/content
        cancel r
          r cancelled
        start q in s: milk
          refused: LimitExceeded { of: "events", most: 4 }
        log s
          s#1 0s r run.started
          s#2 0s r tool.started add_todo s.call.0 {}
          s#3 0s r agent.custom_tool_use add_todo s.call.0
          s#4 0s r session.status_idle ["s#3"]
          s#5 0s r run.cancelled
    "#]]);
}

#[test]
fn err_5_a_run_that_began_below_the_limit_ends_above_it() {
    check(expect![[r#"
        given s
        turn: say One; say Two; say Three
        set limit events 1
        open a on s
          open
        start r in s: hello
          r queued
        start q in s: hello
          refused: LimitExceeded { of: "events", most: 1 }
        log s
          #1 0s r run.started
          #2 0s r message.completed "One"
          #3 0s r message.completed "Two"
          #4 0s r message.completed "Three"
          #5 0s r run.completed
    "#]]);
}

#[test]
fn err_5_idempotency_keys() {
    check(expect![[r#"
        given s with add_todo
        turn: call add_todo & add_todo; say Done
        set limit idempotency_keys 2
        open a on s
          open
        start r in s key-0001: milk
          r queued
        resume r key-0002: #3 = {}
          accepted #3; remaining #5; waiting
        resume r key-0003: #5 = {}
          refused: LimitExceeded { of: "idempotency keys", most: 2 }
        resume r key-0002: #3 = {}
          replayed: accepted #3; remaining #5; waiting
        start r in s key-0001: milk
          replayed: r queued
        resolve r: {}
          accepted #5; running
        start q in s key-0004: tea
          refused: LimitExceeded { of: "idempotency keys", most: 2 }
        start q in s: tea
          q queued
    "#]]);
}

#[test]
fn err_5_idempotency_keys_that_stick() {
    check(expect![[r#"
        given s with add_todo
        variant sticky-keys
        turn: call add_todo; say Done
        set limit idempotency_keys 1
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = 1
          refused: ToolResultInvalid /events/0/content
        resume r key-0002: #3 = 1
          refused: LimitExceeded { of: "idempotency keys", most: 1 }
        resume r key-0001: #3 = 1
          refused: ToolResultInvalid /events/0/content
        show r
          waiting, wants #3 by 30m
          #3 by add_todo@1: Open
    "#]]);
}

#[test]
fn err_5_bytes() {
    check(expect![[r#"
        given s with add_todo
        open a on s
          open
        set limit bytes 1
        tool echo
          refused: LimitExceeded { of: "bytes", most: 1 }
        version add_todo
          refused: LimitExceeded { of: "bytes", most: 1 }
        agent other
          refused: LimitExceeded { of: "bytes", most: 1 }
        deploy e of helper
          refused: LimitExceeded { of: "bytes", most: 1 }
        session t of helper
          refused: LimitExceeded { of: "bytes", most: 1 }
        start r in s: hello
          refused: LimitExceeded { of: "bytes", most: 1 }
        append s news
          refused: LimitExceeded { of: "bytes", most: 1 }
    "#]]);
}
