//! What streams send: pieces of any size, frames of any size, and the comments between them.

use expect_test::expect;

use crate::story::check;

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
