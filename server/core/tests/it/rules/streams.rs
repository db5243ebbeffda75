//! What a stream reads and when it ends (contract §5).

use expect_test::expect;

use crate::story::check;

#[test]
fn sse_5_without_a_cursor_everything_then_live() {
    check(expect![[r##"
        given s with add_todo
        turn: say Hi; call add_todo; say Done
        start r in s: milk
          r queued
        begin r
          done
        open a on s
          open
        read a
          #1 run.started
          #2 message.completed "Hi"
          #3 tool.started add_todo call.0 {}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          wait until 15s
        resume r key-0001: #4 = {}
          accepted #4; running
        read a
          #6 session.status_running
          #7 tool.completed add_todo call.0 {}
          #8 message.completed "Done"
          #9 run.completed
          end
        read a
          end
    "##]]);
}

#[test]
fn sse_5_after_a_cursor_exactly_what_follows() {
    check(expect![[r##"
        given s with add_todo
        turn: say Hi; call add_todo; say Done
        start r in s: milk
          r queued
        begin r
          done
        open a on s after #1
          open
        open b on s after #4
          open
        open c on s after #5
          open
        read a
          #2 message.completed "Hi"
          #3 tool.started add_todo call.0 {}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          wait until 15s
        read b
          #5 session.status_idle ["#4"]
          wait until 15s
        read c
          wait until 15s
        resume r key-0001: #4 = {}
          accepted #4; running
        read a
          #6 session.status_running
          #7 tool.completed add_todo call.0 {}
          #8 message.completed "Done"
          #9 run.completed
          end
        read b
          #6 session.status_running
          #7 tool.completed add_todo call.0 {}
          #8 message.completed "Done"
          #9 run.completed
          end
        read c
          #6 session.status_running
          #7 tool.completed add_todo call.0 {}
          #8 message.completed "Done"
          #9 run.completed
          end
        open d on s after #8
          open
        read d
          #9 run.completed
          end
        open e on s after #9
          open
        read e
          wait until 15s
    "##]]);
}

#[test]
fn sse_5_nothing_is_lost_or_doubled_while_events_come() {
    check(expect![[r#"
        given s
        start r in s: hello
          r queued
        begin r
          done
        append s n1
          appended #4
        open a on s after #2
          open
        read a once 1
          #3 run.completed
          more
        append s n2
          appended #5
        read a once 1
          #4 n1
          more
        read a once 1
          #5 n2
          more
        append s n3
          appended #6
        open b on s after #4
          open
        read b
          #5 n2
          #6 n3
          wait until 15s
        read a
          #6 n3
          end
    "#]]);
}

#[test]
fn sse_6_a_cursor_that_this_session_never_issued() {
    check(expect![[r#"
        given s, t
        open a on s
          open
        open b on t
          open
        start r in s: hello
          r queued
        start q in t: hello
          q queued
        open c on s after s#3
          open
        open d on s after s#4
          refused: InvalidLastEventId
        open e on s after t#3
          refused: InvalidLastEventId
        open f on s after s#0
          refused: InvalidLastEventId
        open g on s after nonsense
          refused: InvalidLastEventId
        open h on nowhere
          refused: NotFound("session")
    "#]]);
}

#[test]
fn sse_6_unknown_cursor_replays_all() {
    check(expect![[r#"
        given s, t
        variant unknown-cursor-replays-all
        open a on s
          open
        open b on t
          open
        start r in s: hello
          r queued
        start q in t: hello
          q queued
        open c on s after t#3
          open
        read c
          s#1 run.started
          s#2 message.completed "You said: hello"
          s#3 run.completed
          end
        open d on s after s#3
          open
        read d
          wait until 15s
        open e on nowhere after nonsense
          refused: NotFound("session")
    "#]]);
}

#[test]
fn sse_11_a_stream_ends_after_a_terminal_event_it_delivered() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo; say Done
        open a on s
          open
        read a
          wait until 15s
        start r in s: hello
          r queued
        read a
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          end
        read a
          end
        open b on s
          open
        read b
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          end
        open c on s after #2
          open
        read c
          #3 run.completed
          end
        open d on s after #3
          open
        read d
          wait until 15s
        start q in s: milk
          q queued
        open e on s
          open
        read e
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          #4 run.started
          #5 tool.started add_todo call.0 {}
          #6 agent.custom_tool_use add_todo call.0
          #7 session.status_idle ["#6"]
          wait until 15s
        read d
          #4 run.started
          #5 tool.started add_todo call.0 {}
          #6 agent.custom_tool_use add_todo call.0
          #7 session.status_idle ["#6"]
          wait until 15s
        read a
          #4 run.started
          #5 tool.started add_todo call.0 {}
          #6 agent.custom_tool_use add_todo call.0
          #7 session.status_idle ["#6"]
          wait until 15s
        resume q key-0001: #6 = {}
          accepted #6; running
        read d
          #8 session.status_running
          #9 tool.completed add_todo call.0 {}
          #10 message.completed "Done"
          #11 run.completed
          end
        read e
          #8 session.status_running
          #9 tool.completed add_todo call.0 {}
          #10 message.completed "Done"
          #11 run.completed
          end
        read a
          #8 session.status_running
          #9 tool.completed add_todo call.0 {}
          #10 message.completed "Done"
          #11 run.completed
          end
        close a
          done
        close a
          refused: NotFound("stream")
        read a
          end
    "##]]);
}

#[test]
fn sse_11_a_run_that_follows_at_once_keeps_the_stream_open() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo; say Done
        open a on s
          open
        start r in s: hello
          r queued
        start q in s: milk
          q queued
        read a
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          #4 run.started
          #5 tool.started add_todo call.0 {}
          #6 agent.custom_tool_use add_todo call.0
          #7 session.status_idle ["#6"]
          wait until 15s
        cancel q
          q cancelled
        read a
          #8 run.cancelled
          end
    "##]]);
}

#[test]
fn sse_11_a_queued_run_keeps_a_replay_open() {
    check(expect![[r#"
        given s
        turn: wait 10s
        start r in s: one
          r queued
        begin r
          done
        cancel r
          r cancelled
        open a on s
          open
        start q in s: two
          q queued
        read a
          #1 run.started
          #2 run.cancelled
          #3 run.started
          wait until 15s
        cancel q
          q cancelled
        read a
          #4 run.cancelled
          end
    "#]]);
}

#[test]
fn sse_11_late_events_after_the_end_come_before_the_clean_end() {
    check(expect![[r#"
        given s
        open a on s
          open
        start r in s: hello
          r queued
        append s as r late.news
          appended #4
        append s as r run.completed
          appended #5
        read a
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          #4 late.news
          #5 run.completed
          end
        open b on s after #3
          open
        read b
          #4 late.news
          #5 run.completed
          wait until 15s
        append s later.news
          appended #6
        read b
          #6 later.news
          wait until 15s
    "#]]);
}

#[test]
fn sse_11_events_of_the_control_api_end_nothing() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo
        open a on s
          open
        append s run.completed
          appended #1
        read a
          #1 run.completed
          wait until 15s
        start r in s: milk
          r queued
        append s as r run.failed
          appended #6
        read a
          #2 run.started
          #3 tool.started add_todo call.0 {}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          #6 run.failed
          wait until 15s
        show r
          waiting, wants #4 by 30m
          #4 by add_todo@1: Open
    "##]]);
}

#[test]
fn sse_11_stream_outlives_run() {
    check(expect![[r#"
        given s
        variant stream-outlives-run
        open a on s
          open
        start r in s: hello
          r queued
        read a
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          wait until 15s
        at 15s
        read a
          : keep-alive
          wait until 30s
        archive s
          s of helper on d: archived at 15s
        read a
          end
    "#]]);
}
