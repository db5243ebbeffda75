//! The life of a run (contract §4).

use expect_test::expect;

use crate::story::check;

#[test]
fn run_1_a_run_is_queued() {
    check(expect![[r#"
        given s
        start r in s: hello
          r queued
        show r
          queued
        show s
          s of helper on d: running
    "#]]);
}

#[test]
fn run_2_one_active_run_a_session() {
    check(expect![[r#"
        given s, t with add_todo
        turn on milk: wait 5s; call add_todo; say Done
        start r in s: milk
          r queued
        start q in s: more
          refused: SessionBusy { run_id: "r", status: "queued", recovery: ["cancel"] }
        start q in t: hello
          q queued
        begin r
          done
        start p in s: more
          refused: SessionBusy { run_id: "r", status: "running", recovery: ["cancel"] }
        advance 5s
          fired 5s: wait of r
        start p in s: more
          refused: SessionBusy { run_id: "r", status: "waiting", recovery: ["resume", "cancel"] }
        resume r key-0001: s#3 = {"id":1}
          accepted s#3; running
        start p in s: more
          p queued
        show s
          s of helper on d: running
    "#]]);
}

#[test]
fn run_3_cancel_wherever_a_run_stands() {
    check(expect![[r#"
        given s, t, u with add_todo
        turn on milk: call add_todo
        turn on slow: wait 5s; say Never
        start queued in s: milk
          queued queued
        cancel queued
          queued cancelled
        start waiting in t: milk
          waiting queued
        begin waiting
          done
        cancel waiting
          waiting cancelled
        start running in u: slow
          running queued
        begin running
          done
        cancel running
          running cancelled
        next
          deadline never, keep-alive never
        cancel waiting
          refused: RunNotActive
        cancel nobody
          refused: NotFound("run")
        log s
          s#1 0s queued run.cancelled
        log t
          t#1 0s waiting run.started
          t#2 0s waiting tool.started add_todo t.call.0 {}
          t#3 0s waiting agent.custom_tool_use add_todo t.call.0
          t#4 0s waiting session.status_idle ["t#3"]
          t#5 0s waiting run.cancelled
        log u
          u#1 0s running run.started
          u#2 0s running run.cancelled
        advance 1h
        log u
          u#1 0s running run.started
          u#2 0s running run.cancelled
    "#]]);
}

#[test]
fn run_3_a_finished_run_is_not_active() {
    check(expect![[r#"
        given s, t
        turn on bad: fail BROKEN by the script
        start r in s: hello
          r queued
        begin r
          done
        cancel r
          refused: RunNotActive
        start q in t: bad
          q queued
        begin q
          done
        cancel q
          refused: RunNotActive
    "#]]);
}

#[test]
fn run_4_what_a_run_shows() {
    check(expect![[r#"
        given s with add_todo
        turn: wait 1s; call add_todo {} & add_todo {}; fail BROKEN it broke
        start r in s: milk
          r queued
        show r
          queued
        begin r
          done
        show r
          running
        show s
          s of helper on d: running
        advance 1s
          fired 1s: wait of r
        show r
          waiting, wants #3 #5 by 30m1s
          #3 by add_todo@1: Open
          #5 by add_todo@1: Open
        show s
          s of helper on d: idle
        resume r key-0001: #3 = {"id":1}
          accepted #3; remaining #5; waiting
        show r
          waiting, wants #5 by 30m1s
          #3 by add_todo@1: Answered
          #5 by add_todo@1: Open
        resume r key-0002: #5 = {"id":2}
          accepted #5; running
        show r
          failed: BROKEN: it broke
          #3 by add_todo@1: Answered
          #5 by add_todo@1: Answered
        show s
          s of helper on d: idle
    "#]]);
}

#[test]
fn run_5_a_run_begins_with_the_first_stream() {
    check(expect![[r#"
        given s
        start r in s: hello
          r queued
        at 0.1s
        open a on s with deltas
          open
        read a
          #1 run.started
          ~0 message.started
          ~1 message.delta "You "
          ~2 message.delta "said: "
          ~3 message.delta "hello"
          #2 message.completed "You said: hello"
          #3 run.completed
          end
        begin r
          done
        log s
          #1 0.100s r run.started
          #2 0.100s r message.completed "You said: hello"
          #3 0.100s r run.completed
    "#]]);
}

#[test]
fn run_5_or_a_moment_later() {
    check(expect![[r#"
        given s
        start r in s: hello
          r queued
        at 0.2s
        begin r
          done
        begin r
          done
        open a on s with deltas
          open
        read a
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          end
    "#]]);
}

#[test]
fn run_5_at_once_where_a_stream_is_open() {
    check(expect![[r#"
        given s
        open a on s
          open
        start r in s: hello
          r queued
        begin r
          done
        close a
          done
        start q in s: again
          q queued
        log s
          #1 0s r run.started
          #2 0s r message.completed "You said: hello"
          #3 0s r run.completed
        show q
          queued
    "#]]);
}

#[test]
fn run_5_a_stream_of_another_session_begins_nothing() {
    check(expect![[r#"
        given s, t
        open a on t
          open
        start r in s: hello
          r queued
        show r
          queued
        begin nobody
          refused: NotFound("run")
    "#]]);
}

#[test]
fn script_the_first_turn_that_matches_plays_and_is_not_used_up() {
    check(expect![[r#"
        given s
        turn on milk: say Milk
        turn nth 2: say Second
        turn on tea: say Tea, {{ message }} of run {{ run.nth }}
        open a on s
          open
        start r1 in s: tea
          r1 queued
        start r2 in s: tea
          r2 queued
        start r3 in s: milk
          r3 queued
        start r4 in s: tea and milk
          r4 queued
        start r5 in s: neither
          r5 queued
        log s
          #1 0s r1 run.started
          #2 0s r1 message.completed "Tea, tea of run 1"
          #3 0s r1 run.completed
          #4 0s r2 run.started
          #5 0s r2 message.completed "Second"
          #6 0s r2 run.completed
          #7 0s r3 run.started
          #8 0s r3 message.completed "Milk"
          #9 0s r3 run.completed
          #10 0s r4 run.started
          #11 0s r4 message.completed "Milk"
          #12 0s r4 run.completed
          #13 0s r5 run.started
          #14 0s r5 message.completed "You said: neither"
          #15 0s r5 run.completed
    "#]]);
}

#[test]
fn script_a_result_fills_what_follows() {
    check(expect![[r##"
        given s with add_todo, echo
        turn: call add_todo {"title":"{{ message }}"} & echo {}; say {{ results.add_todo.id }}, {{ errors.echo.code }}, {{ results.nothing }}.; report
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {"id":5}; #5 ! USER_CANCELLED Not now.
          accepted #3 #5; running
          note: the template path `results.nothing` is missing and rendered empty
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {"title":"milk"}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started echo call.1 {}
          #5 0s r agent.custom_tool_use echo call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r session.status_running
          #8 0s r tool.completed add_todo call.0 {"id":5}
          #9 0s r tool.failed echo call.1 {"code":"USER_CANCELLED","message":"Not now.","retryable":false}
          #10 0s r message.completed "5, USER_CANCELLED, ."
          #11 0s r message.completed "add_todo … of 78
          #12 0s r run.completed
    "##]]);
}

#[test]
fn agent_built_in_calls_the_tool_that_is_named() {
    check(expect![[r##"
        tool add_todo {"input_schema":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}}
          add_todo v1: add_todo@1
        agent helper
          agent helper
        deploy d of helper with add_todo@1
          d of helper v1 pins ["add_todo@1"]
        session s of helper
          s of helper on d: idle
        open a on s with deltas
          open
        start r in s: use add_todo with milk
          r queued
        read a
          #1 run.started
          ~0 message.started
          ~1 message.delta "I "
          ~2 message.delta "will "
          ~3 message.delta "call "
          ~4 message.delta "add_todo."
          #2 message.completed "I will call add_todo."
          #3 tool.started add_todo call.0 {"title":"milk"}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          wait until 15s
        resume r key-0001: #4 = {"title":"milk","done":false}
          accepted #4; running
        read a
          #6 session.status_running
          #7 tool.completed add_todo call.0 {"title":"milk","done":false}
          ~5 message.started
          ~6 message.delta "add_todo "
          ~7 message.delta "returned "
          ~8 message.delta "title: "
          ~9 message.delta "milk, "
          ~10 message.delta "done: "
          ~11 message.delta "false."
          #8 message.completed "add_todo returned title: milk, done: false."
          #9 run.completed
          end
    "##]]);
}
