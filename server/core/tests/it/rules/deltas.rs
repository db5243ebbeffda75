//! Ephemeral events: for whom, in what order, how many (SSE-3, SSE-10).

use expect_test::expect;

use crate::story::check;

#[test]
fn sse_10_only_streams_that_were_open_get_deltas() {
    check(expect![[r#"
        given s
        turn: say Hi |you; wait 1s; say Bye
        open a on s with deltas
          open
        open b on s
          open
        start r in s: hello
          r queued
        open c on s with deltas
          open
        advance 1s
          fired 1s: wait of r
        read a
          #1 run.started
          ~0 message.started
          ~1 message.delta "Hi "
          ~2 message.delta "you"
          #2 message.completed "Hi you"
          ~3 message.started
          ~4 message.delta "Bye"
          #3 message.completed "Bye"
          #4 run.completed
          end
        read b
          #1 run.started
          #2 message.completed "Hi you"
          #3 message.completed "Bye"
          #4 run.completed
          end
        read c
          #1 run.started
          #2 message.completed "Hi you"
          ~3 message.started
          ~4 message.delta "Bye"
          #3 message.completed "Bye"
          #4 run.completed
          end
        open d on s with deltas
          open
        read d
          #1 run.started
          #2 message.completed "Hi you"
          #3 message.completed "Bye"
          #4 run.completed
          end
    "#]]);
}

#[test]
fn sse_10_deltas_stand_where_they_came() {
    check(expect![[r#"
        given s
        turn: emit ~ d1; emit e1; emit ~ d2; emit ~ d3; emit e2; emit e3; emit ~ d4
        open a on s with deltas
          open
        open b on s with deltas
          open
        start r in s: hello
          r queued
        read a by 1
          #1 run.started
          ~0 d1
          #2 e1
          ~1 d2
          ~2 d3
          #3 e2
          #4 e3
          ~3 d4
          #5 run.completed
          in 9 pieces
          end
        read b by 65536
          #1 run.started
          ~0 d1
          #2 e1
          ~1 d2
          ~2 d3
          #3 e2
          #4 e3
          ~3 d4
          #5 run.completed
          in 1 pieces
          end
    "#]]);
}

#[test]
fn sse_10_deltas_stand_between_events_of_a_sealed_segment() {
    check(expect![[r#"
        given s
        turn: emit ~ d1; say a*20000; emit ~ d2; say b*20000; emit e1; emit e2; say c*20000; emit ~ d3; say d*9000
        open a on s with deltas
          open
        open b on s
          open
        start r in s: hello
          r queued
        read a by 65536
          #1 run.started
          ~0 d1
          ~1 message.started
          ~2 message.delta "aaaaaaaaa… of 20002
          #2 message.completed "aaaaaaaaa… of 20002
          ~3 d2
          ~4 message.started
          ~5 message.delta "bbbbbbbbb… of 20002
          #3 message.completed "bbbbbbbbb… of 20002
          #4 e1
          #5 e2
          ~6 message.started
          ~7 message.delta "ccccccccc… of 20002
          #6 message.completed "ccccccccc… of 20002
          ~8 d3
          ~9 message.started
          ~10 message.delta "ddddddddd… of 9002
          #7 message.completed "ddddddddd… of 9002
          #8 run.completed
          in 2 pieces
          end
        read b by 65536
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 20002
          #3 message.completed "bbbbbbbbb… of 20002
          #4 e1
          #5 e2
          #6 message.completed "ccccccccc… of 20002
          #7 message.completed "ddddddddd… of 9002
          #8 run.completed
          in 2 pieces
          end
    "#]]);
}

#[test]
fn sse_10_a_cursor_and_deltas() {
    check(expect![[r##"
        given s with add_todo
        turn: say One; call add_todo; say Two
        open a on s
          open
        start r in s: milk
          r queued
        open b on s after #1 with deltas
          open
        read b
          #2 message.completed "One"
          #3 tool.started add_todo call.0 {}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          wait until 15s
        resume r key-0001: #4 = {}
          accepted #4; running
        read b
          #6 session.status_running
          #7 tool.completed add_todo call.0 {}
          ~2 message.started
          ~3 message.delta "Two"
          #8 message.completed "Two"
          #9 run.completed
          end
    "##]]);
}

#[test]
fn sse_10_a_reconnect_gets_no_delta_again() {
    check(expect![[r##"
        given s with add_todo
        turn: say One; call add_todo; say Two
        open a on s with deltas
          open
        start r in s: milk
          r queued
        read a
          #1 run.started
          ~0 message.started
          ~1 message.delta "One"
          #2 message.completed "One"
          #3 tool.started add_todo call.0 {}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          wait until 15s
        close a
          done
        open b on s after #5 with deltas
          open
        read b
          wait until 15s
        resume r key-0001: #4 = {}
          accepted #4; running
        read b
          #6 session.status_running
          #7 tool.completed add_todo call.0 {}
          ~2 message.started
          ~3 message.delta "Two"
          #8 message.completed "Two"
          #9 run.completed
          end
    "##]]);
}

#[test]
fn sse_10_a_gap_gives_what_precedes_it() {
    check(expect![[r#"
        given s
        turn: emit ~ first; say a*600000; emit between; say b*600000; say end
        open a on s with deltas
          open
        open b on s
          open
        start r in s: hello
          r queued
        read a
          #1 run.started
          gap
        read a
          gap
        read b
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 600002
          #3 between
          #4 message.completed "bbbbbbbbb… of 600002
          #5 message.completed "end"
          #6 run.completed
          end
        resync s
          | event: stream.resync
          | data: {"id":"~4294967295","type":"stream.resync","session_id":"s","run_id":null,"created_at":"2026-01-01T00:00:00Z"}
          |
    "#]]);
}

#[test]
fn sse_10_a_gap_amid_what_was_read() {
    check(expect![[r#"
        given s
        turn: emit ~ first; emit ~ second; say end; wait 1s; say a*600000; say b*600000
        open a on s with deltas
          open
        start r in s: hello
          r queued
        read a once 1
          #1 run.started
          more
        read a once 1
          ~0 first
          more
        advance 1s
          fired 1s: wait of r
        read a
          gap
        read a
          gap
    "#]]);
}

#[test]
fn sse_10_a_mebibyte_is_kept() {
    check(expect![[r#"
        given s
        turn: say a*500000; say b*500000; say c
        open a on s with deltas
          open
        start r in s: hello
          r queued
        read a
          #1 run.started
          ~0 message.started
          ~1 message.delta "aaaaaaaaa… of 500002
          #2 message.completed "aaaaaaaaa… of 500002
          ~2 message.started
          ~3 message.delta "bbbbbbbbb… of 500002
          #3 message.completed "bbbbbbbbb… of 500002
          ~4 message.started
          ~5 message.delta "c"
          #4 message.completed "c"
          #5 run.completed
          end
    "#]]);
}

#[test]
fn sse_10_one_delta_over_a_mebibyte_is_a_gap() {
    check(expect![[r#"
        given s
        turn: emit before; say a*1048576; say b
        open a on s with deltas
          open
        start r in s: hello
          r queued
        read a
          #1 run.started
          #2 before
          gap
    "#]]);
}

#[test]
fn sse_10_a_stream_that_reads_along_never_falls_behind() {
    check(expect![[r#"
        given s
        turn: say a*600000; wait 1s; say b*600000; wait 1s; say c*600000
        open a on s with deltas
          open
        open slow on s with deltas
          open
        start r in s: hello
          r queued
        read a
          #1 run.started
          ~0 message.started
          ~1 message.delta "aaaaaaaaa… of 600002
          #2 message.completed "aaaaaaaaa… of 600002
          wait until 15s
        advance 1s
          fired 1s: wait of r
        read a
          ~2 message.started
          ~3 message.delta "bbbbbbbbb… of 600002
          #3 message.completed "bbbbbbbbb… of 600002
          wait until 16s
        advance 2s
          fired 2s: wait of r
        read a
          ~4 message.started
          ~5 message.delta "ccccccccc… of 600002
          #4 message.completed "ccccccccc… of 600002
          #5 run.completed
          end
        read slow
          #1 run.started
          gap
    "#]]);
}

#[test]
fn sse_10_with_the_last_stream_the_deltas_go() {
    check(expect![[r#"
        given s
        turn: say a*600000; wait 1s; say b*600000; wait 1s; say end
        open a on s with deltas
          open
        start r in s: hello
          r queued
        close a
          done
        open b on s with deltas
          open
        advance 1s
          fired 1s: wait of r
        read b
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 600002
          ~2 message.started
          ~3 message.delta "bbbbbbbbb… of 600002
          #3 message.completed "bbbbbbbbb… of 600002
          wait until 16s
        advance 2s
          fired 2s: wait of r
        read b
          ~4 message.started
          ~5 message.delta "end"
          #4 message.completed "end"
          #5 run.completed
          end
    "#]]);
}
