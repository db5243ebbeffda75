//! Resumes: what is accepted, what is refused, and in which order (RES-3 to RES-15).

use expect_test::expect;

use crate::story::check;

#[test]
fn res_1_a_resume_goes_on() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        at 5s
        resume r key-0001: #5 = {"id":5}; #3 = {"id":3}
          accepted #5 #3; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 5s r session.status_running
          #8 5s r tool.completed add_todo call.1 {"id":5}
          #9 5s r tool.completed add_todo call.0 {"id":3}
          #10 5s r message.completed "Done"
          #11 5s r run.completed
    "##]]);
}

#[test]
fn res_4_a_result_that_does_not_fit_changes_nothing() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo & unbound {}; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = [1]; #5 = {"id":2}
          refused: ToolResultInvalid /events/0/content
        resume r key-0001: #3 = {"id":1}; #5 = "text"
          refused: ToolResultInvalid /events/1/content
        resume r key-0001: #3 = 1; #5 = null
          refused: ToolResultInvalid /events/0/content /events/1/content
        show r
          waiting, wants #3 #5 by 30m
          #3 by add_todo@1: Open
          #5 by no definition: Open
        resume r key-0001: #3 = {"id":1}; #5 = {"id":2}
          accepted #3 #5; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started unbound call.1 {}
          #5 0s r agent.custom_tool_use unbound call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r session.status_running
          #8 0s r tool.completed add_todo call.0 {"id":1}
          #9 0s r tool.completed unbound call.1 {"id":2}
          #10 0s r message.completed "Done"
          #11 0s r run.completed
    "##]]);
}

#[test]
fn res_6_a_reference_that_was_never_pending_in_this_run() {
    check(expect![[r#"
        given s, t with add_todo
        turn: call add_todo & add_todo; say Done
        open a on s
          open
        open b on t
          open
        start r1 in s: milk
          r1 queued
        cancel r1
          r1 cancelled
        start r in s: milk
          r queued
        start q in t: milk
          q queued
        resume r key-0001: s#3 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id
        resume r key-0001: t#3 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id
        resume r key-0001: nonsense = {}; s#9 = {}; s#10 = {}; s#99 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id /events/1/in_reply_to_event_id /events/3/in_reply_to_event_id
        resume r key-0001: call.0 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id
        show r
          waiting, wants s#10 s#12 by 30m
          s#10 by add_todo@1: Open
          s#12 by add_todo@1: Open
        resume nobody key-0001: s#3 = {}
          refused: NotFound("run")
    "#]]);
}

#[test]
fn res_7_an_input_that_is_answered_already() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {}
          accepted #3; remaining #5; waiting
        resume r key-0002: #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        resume r key-0002: #5 = {}; #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        resume r key-0003: #5 = {}
          accepted #5; running
        resume r key-0004: #5 ! LATE too late
          refused: EventAlreadyResolved { event_id: "#5" }
        start q in s: other
          q queued
        resume r key-0005: #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r tool.completed add_todo call.0 {}
          #8 0s r session.status_idle ["#5"]
          #9 0s r session.status_running
          #10 0s r tool.completed add_todo call.1 {}
          #11 0s r message.completed "Done"
          #12 0s r run.completed
          #13 0s q run.started
          #14 0s q message.completed "You said: other"
          #15 0s q run.completed
    "##]]);
}

#[test]
fn res_7_also_after_a_cancel() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {}
          accepted #3; remaining #5; waiting
        cancel r
          r cancelled
        resume r key-0002: #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        resume r key-0003: #5 = {}
          refused: RunNotActive
    "##]]);
}

#[test]
fn res_7_answered_elsewhere() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resolve r: #3 = {"by":"another"}
          accepted #3; remaining #5; waiting
        resume r key-0001: #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        resolve r: #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        resolve r: #4 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id
        resolve r: #5 = 1
          refused: ToolResultInvalid /events/0/content
        resolve r: {"by":"another"}
          accepted #5; running
        resume r key-0001: #5 = {}
          refused: EventAlreadyResolved { event_id: "#5" }
        resolve r: {}
          refused: RunNotWaiting
        resolve nobody: {}
          refused: NotFound("run")
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r tool.completed add_todo call.0 {"by":"another"}
          #8 0s r session.status_idle ["#5"]
          #9 0s r session.status_running
          #10 0s r tool.completed add_todo call.1 {"by":"another"}
          #11 0s r message.completed "Done"
          #12 0s r run.completed
    "##]]);
}

#[test]
fn res_10_some_now_some_later() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo & add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #5 = {"id":5}
          accepted #5; remaining #3 #7; waiting
        resume r key-0002: #7 ! NO no; #3 = {"id":3}
          accepted #7 #3; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1
          #6 0s r tool.started add_todo call.2 {}
          #7 0s r agent.custom_tool_use add_todo call.2
          #8 0s r session.status_idle ["#3","#5","#7"]
          #9 0s r tool.completed add_todo call.1 {"id":5}
          #10 0s r session.status_idle ["#3","#7"]
          #11 0s r session.status_running
          #12 0s r tool.failed add_todo call.2 {"code":"NO","message":"no","retryable":false}
          #13 0s r tool.completed add_todo call.0 {"id":3}
          #14 0s r message.completed "Done"
          #15 0s r run.completed
    "##]]);
}

#[test]
fn res_10_all_events_of_a_request_or_none() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {}; #5 = 1
          refused: ToolResultInvalid /events/1/content
        resume r key-0001: #3 = {}; #6 = {}
          refused: InvalidEventReference /events/1/in_reply_to_event_id
        resume r key-0001: #3 = {}
          accepted #3; remaining #5; waiting
        resume r key-0002: #5 = {}; #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        show r
          waiting, wants #5 by 30m
          #3 by add_todo@1: Answered
          #5 by add_todo@1: Open
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r tool.completed add_todo call.0 {}
          #8 0s r session.status_idle ["#5"]
    "##]]);
}

#[test]
fn res_10_the_same_event_twice_in_one_request() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {}; #5 = {}; #3 = {}; #3 = {}
          refused: Invalid
            /events/2/in_reply_to_event_id: an earlier result of this request answers it
            /events/3/in_reply_to_event_id: an earlier result of this request answers it
        show r
          waiting, wants #3 #5 by 30m
          #3 by add_todo@1: Open
          #5 by add_todo@1: Open
        resume r key-0001: #3 = {}
          accepted #3; remaining #5; waiting
        resume r key-0001: #3 = {}; #5 = {}; #3 = {}
          refused: Invalid
            /events/2/in_reply_to_event_id: an earlier result of this request answers it
        resume r key-0001: nothing
          refused: Invalid
            /events: it holds no result
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r tool.completed add_todo call.0 {}
          #8 0s r session.status_idle ["#5"]
    "##]]);
}

#[test]
fn res_10_a_request_without_results_wakes_no_run() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: nothing
          refused: Invalid
            /events: it holds no result
        cancel r
          r cancelled
        resume r key-0001: nothing
          refused: Invalid
            /events: it holds no result
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 0s r run.cancelled
    "##]]);
}

#[test]
fn res_11_a_declined_call() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo; say {{ errors.add_todo.message }}
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 ! USER_CANCELLED not now
          accepted #3; running
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 0s r session.status_running
          #6 0s r tool.failed add_todo call.0 {"code":"USER_CANCELLED","message":"not now","retryable":false}
          #7 0s r message.completed "not now"
          #8 0s r run.completed
    "##]]);
}

#[test]
fn res_14_the_order_of_judgement() {
    check(expect![[r##"
        given s with add_todo
        turn on milk: call add_todo & add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        // History before references.
        resume r key-0001: #3 = {}
          accepted #3; remaining #5 #7; waiting
        resume r key-0001: nonsense = {}
          refused: KeyReused
        // Shape before history.
        resume r key-0001: malformed
          refused: Invalid
            /events/0: it is malformed
        // All references before states and contents.
        resume r key-0002: #3 = 1; nonsense = {}
          refused: InvalidEventReference /events/1/in_reply_to_event_id
        // States before contents, in request order.
        resume r key-0002: #5 = 1; #3 = {}
          refused: EventAlreadyResolved { event_id: "#3" }
        cancel r
          r cancelled
        resume r key-0002: #5 = 1; #3 = {}
          refused: RunNotActive
        resume r key-0002: #3 = {}; #5 = 1
          refused: EventAlreadyResolved { event_id: "#3" }
        resume r key-0002: #3 = {}; nonsense = {}
          refused: InvalidEventReference /events/1/in_reply_to_event_id
    "##]]);
}

#[test]
fn res_15_what_ended_unanswered() {
    check(expect![[r#"
        given s, t with add_todo
        turn: call add_todo; say Done
        open a on s
          open
        open b on t
          open
        start r in s: milk
          r queued
        start q in t: milk
          q queued
        cancel r
          r cancelled
        archive t
          t of helper on d: archived at 0s
        resume r key-0001: s#3 = {}
          refused: RunNotActive
        resume q key-0001: t#3 = {}
          refused: RunNotActive
        resume q key-0001: t#3 = 1
          refused: RunNotActive
    "#]]);
}
