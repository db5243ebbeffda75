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

#[test]
fn sse_5_pieces_of_any_size_hold_whole_frames() {
    check(expect![[r#"
        given s
        turn: say a*100; say b*200; say c*300
        start r in s: hello
          r queued
        begin r
          done
        open a on s
          open
        open b on s
          open
        open c on s
          open
        read a by 1
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 102
          #3 message.completed "bbbbbbbbb… of 202
          #4 message.completed "ccccccccc… of 302
          #5 run.completed
          in 5 pieces
          end
        read b by 500
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 102
          #3 message.completed "bbbbbbbbb… of 202
          #4 message.completed "ccccccccc… of 302
          #5 run.completed
          in 4 pieces
          end
        read c by 65536
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 102
          #3 message.completed "bbbbbbbbb… of 202
          #4 message.completed "ccccccccc… of 302
          #5 run.completed
          in 1 pieces
          end
    "#]]);
}

#[test]
fn sse_5_a_log_over_many_segments_reads_the_same_in_pieces() {
    check(expect![[r#"
        given s
        turn: say a*30000; say b*30000; say c*30000; say d*100; say e*30000; say f*30000; say g*9000
        start r in s: hello
          r queued
        begin r
          done
        open a on s
          open
        read a by 1
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 30002
          #3 message.completed "bbbbbbbbb… of 30002
          #4 message.completed "ccccccccc… of 30002
          #5 message.completed "ddddddddd… of 102
          #6 message.completed "eeeeeeeee… of 30002
          #7 message.completed "fffffffff… of 30002
          #8 message.completed "ggggggggg… of 9002
          #9 run.completed
          in 9 pieces
          end
        open b on s
          open
        read b by 65536
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 30002
          #3 message.completed "bbbbbbbbb… of 30002
          #4 message.completed "ccccccccc… of 30002
          #5 message.completed "ddddddddd… of 102
          #6 message.completed "eeeeeeeee… of 30002
          #7 message.completed "fffffffff… of 30002
          #8 message.completed "ggggggggg… of 9002
          #9 run.completed
          in 3 pieces
          end
        open c on s after #3
          open
        read c by 20000
          #4 message.completed "ccccccccc… of 30002
          #5 message.completed "ddddddddd… of 102
          #6 message.completed "eeeeeeeee… of 30002
          #7 message.completed "fffffffff… of 30002
          #8 message.completed "ggggggggg… of 9002
          #9 run.completed
          in 4 pieces
          end
        open d on s after #7
          open
        read d by 1
          #8 message.completed "ggggggggg… of 9002
          #9 run.completed
          in 2 pieces
          end
    "#]]);
}

#[test]
fn sse_9_comments_stand_between_events_of_a_sealed_segment() {
    check(expect![[r#"
        given s
        turn: say a*20000; wait 20s; say b*20000; wait 1s; say c*20000; say d*20000; wait 1s; say e
        open a on s
          open
        start r in s: hello
          r queued
        advance 22s
          fired 15s: keep-alive of s
          fired 20s: wait of r
          fired 21s: wait of r
          fired 22s: wait of r
        read a by 65536
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 20002
          : keep-alive
          #3 message.completed "bbbbbbbbb… of 20002
          #4 message.completed "ccccccccc… of 20002
          #5 message.completed "ddddddddd… of 20002
          #6 message.completed "e"
          #7 run.completed
          in 2 pieces
          end
        advance 23s
        open b on s
          open
        read b by 65536
          #1 run.started
          #2 message.completed "aaaaaaaaa… of 20002
          #3 message.completed "bbbbbbbbb… of 20002
          #4 message.completed "ccccccccc… of 20002
          #5 message.completed "ddddddddd… of 20002
          #6 message.completed "e"
          #7 run.completed
          in 2 pieces
          end
    "#]]);
}

#[test]
fn sse_5_frames_larger_than_a_segment() {
    check(expect![[r#"
        given s
        turn: say small; say a*70000; say b*70000; say small; say c*1048576; say small
        start r in s: hello
          r queued
        begin r
          done
        open a on s
          open
        read a by 1
          #1 run.started
          #2 message.completed "small"
          #3 message.completed "aaaaaaaaa… of 70002
          #4 message.completed "bbbbbbbbb… of 70002
          #5 message.completed "small"
          #6 message.completed "ccccccccc… of 1048578
          #7 message.completed "small"
          #8 run.completed
          in 8 pieces
          end
        open b on s
          open
        read b by 65536
          #1 run.started
          #2 message.completed "small"
          #3 message.completed "aaaaaaaaa… of 70002
          #4 message.completed "bbbbbbbbb… of 70002
          #5 message.completed "small"
          #6 message.completed "ccccccccc… of 1048578
          #7 message.completed "small"
          #8 run.completed
          in 4 pieces
          end
        open c on s after #5 with deltas
          open
        read c by 100000
          #6 message.completed "ccccccccc… of 1048578
          #7 message.completed "small"
          #8 run.completed
          in 2 pieces
          end
    "#]]);
}

#[test]
fn sse_9_a_comment_at_every_15s_of_silence() {
    check(expect![[r##"
        given s with add_todo
        turn: wait 20s; call add_todo; say Done
        open a on s
          open
        read a
          wait until 15s
        at 14.999s
        read a
          wait until 15s
        at 15s
        read a
          : keep-alive
          wait until 30s
        at 20s
        start r in s: milk
          r queued
        read a
          #1 run.started
          wait until 35s
        at 34.999s
        read a
          wait until 35s
        advance 50s
          fired 35s: keep-alive of s
          fired 40s: wait of r
        read a
          : keep-alive
          #2 tool.started add_todo call.0 {}
          #3 agent.custom_tool_use add_todo call.0
          #4 session.status_idle ["#3"]
          wait until 55s
        at 1m10s
        resume r key-0001: #3 = {}
          accepted #3; running
        read a
          : keep-alive
          : keep-alive
          #5 session.status_running
          #6 tool.completed add_todo call.0 {}
          #7 message.completed "Done"
          #8 run.completed
          end
    "##]]);
}

#[test]
fn sse_9_silence_in_the_middle_stands_where_it_was() {
    check(expect![[r#"
        given s
        open a on s
          open
        at 31s
        append s news
          appended #1
        at 40s
        append s more
          appended #2
        at 56s
        read a
          : keep-alive
          : keep-alive
          #1 news
          #2 more
          : keep-alive
          wait until 1m10s
        open b on s
          open
        read b
          #1 news
          #2 more
          wait until 1m11s
        at 1m11s
        read b
          : keep-alive
          wait until 1m26s
    "#]]);
}

#[test]
fn sse_9_comments_are_cut_into_pieces_too() {
    check(expect![[r#"
        given s
        open a on s
          open
        at 1m
        append s news
          appended #1
        read a once 1
          : keep-alive
          more
        read a once 1
          : keep-alive
          more
        read a once 20
          : keep-alive
          : keep-alive
          #1 news
          more
        read a by 1
          in 0 pieces
          wait until 1m15s
    "#]]);
}

#[test]
fn sse_9_a_keep_alive_of_no_length_is_none() {
    check(expect![[r#"
        given s
        set keep_alive 0s
        open a on s
          open
        read a
          wait
        at 1h
        read a
          wait
        advance 2h
        read a
          wait
        next
          deadline never, keep-alive never
    "#]]);
}

#[test]
fn sse_9_keep_alives_of_another_interval() {
    check(expect![[r#"
        given s
        set keep_alive 0.5s
        open a on s
          open
        at 1.2s
        read a
          : keep-alive
          : keep-alive
          wait until 1.500s
    "#]]);
}

#[test]
fn sse_9_a_stream_that_ends_is_not_silent() {
    check(expect![[r#"
        given s
        open a on s
          open
        start r in s: hello
          r queued
        at 1m
        read a
          #1 run.started
          #2 message.completed "You said: hello"
          #3 run.completed
          end
    "#]]);
}
