//! Resume deadlines: one a pause, to the millisecond.

use expect_test::expect;

use crate::story::check;

#[test]
fn res_8_one_millisecond_before_the_deadline() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        at 29m59.999s
        resume r key-0001: #3 = {}
          accepted #3; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 29m59.999s r session.status_running
          #6 29m59.999s r tool.completed add_todo call.0 {}
          #7 29m59.999s r message.completed "Done"
          #8 29m59.999s r run.completed
        next
          deadline never, keep-alive never
    "##]]);
}

#[test]
fn res_8_at_the_deadline() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        at 30m
        resume r key-0001: #3 = {}
          refused: EventExpired { event_id: "#3" }
          fired 30m: deadline of r
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 30m r run.failed {"error":{… of 88
        show r
          failed: event_expired: no result came before the resume deadline
          #3 by add_todo@1: Expired
        next
          deadline never, keep-alive never
        start q in s: again
          q queued
    "##]]);
}

#[test]
fn res_8_after_the_deadline_the_failure_is_dated_to_it() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        at 30m0.001s
        start q in s: again
          q queued
          fired 30m: deadline of r
        resume r key-0001: #3 = {}
          refused: EventExpired { event_id: "#3" }
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 30m r run.failed {"error":{… of 88
          #6 30m0.001s q run.started
          #7 30m0.001s q message.completed "You said: again"
          #8 30m0.001s q run.completed
    "##]]);
}

#[test]
fn res_8_only_what_was_open_expires() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo & add_todo; say Done
        set resume_deadline 10s
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {}
          accepted #3; remaining #5; waiting
        at 10s
        resume r key-0002: #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
          fired 10s: deadline of r
        resume r key-0003: #5 = {}
          refused: EventExpired { event_id: "#5" }
        resume r key-0001: #3 = {}
          replayed: accepted #3; remaining #5; waiting
        cancel r
          refused: RunNotActive
    "##]]);
}

#[test]
fn res_8_expired_by_hand() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        at 5s
        expire r
          done
          fired 5s: deadline of r
        resume r key-0001: #3 = {}
          refused: EventExpired { event_id: "#3" }
        expire r
          refused: RunNotWaiting
        resolve r: {}
          refused: RunNotWaiting
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 5s r run.failed {"error":{… of 88
        next
          deadline never, keep-alive never
        start q in s: again
          q queued
        expire q
          refused: RunNotWaiting
        expire nobody
          refused: NotFound("run")
    "##]]);
}

#[test]
fn res_9_one_deadline_a_pause_never_extended() {
    check(expect![[r#"
        given s with add_todo
        turn: call add_todo & add_todo; call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        show r
          waiting, wants #3 #5 by 30m
          #3 by add_todo@1: Open
          #5 by add_todo@1: Open
        at 10m
        resume r key-0001: #3 = {}
          accepted #3; remaining #5; waiting
        show r
          waiting, wants #5 by 30m
          #3 by add_todo@1: Answered
          #5 by add_todo@1: Open
        set resume_deadline 1m
        at 20m
        resume r key-0002: #5 = {}
          accepted #5; running
        show r
          waiting, wants #12 by 21m
          #3 by add_todo@1: Answered
          #5 by add_todo@1: Answered
          #12 by add_todo@1: Open
        advance 21m
          fired 20m15s: keep-alive of s
          fired 20m30s: keep-alive of s
          fired 20m45s: keep-alive of s
          fired 21m: keep-alive of s
          fired 21m: deadline of r
        show r
          failed: event_expired: no result came before the resume deadline
          #3 by add_todo@1: Answered
          #5 by add_todo@1: Answered
          #12 by add_todo@1: Expired
    "#]]);
}

#[test]
fn res_9_after_a_wait_the_deadline_counts_from_the_pause() {
    check(expect![[r##"
        given s with add_todo
        turn: wait 10m; call add_todo
        open a on s
          open
        start r in s: milk
          r queued
        at 25m
        show r
          running
        append s news
          appended #5
          fired 10m: wait of r
        show r
          waiting, wants #3 by 40m
          #3 by add_todo@1: Open
        log s
          #1 0s r run.started
          #2 10m r tool.started add_todo call.0 {}
          #3 10m r agent.custom_tool_use add_todo call.0
          #4 10m r session.status_idle ["#3"]
          #5 25m - news
    "##]]);
}
