//! Idempotency keys: what each is bound to, and what a refused one leaves behind.

use expect_test::expect;

use crate::story::check;

#[test]
fn res_3_the_same_key_and_body_get_the_first_answer_again() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo & add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {"id":1}
          accepted #3; remaining #5; waiting
        resume r key-0001: #3 = {"id":1}
          replayed: accepted #3; remaining #5; waiting
        resume r key-0001: #3 = {"id":2}
          refused: KeyReused
        resume r key-0001: #5 = {"id":2}
          refused: KeyReused
        resume r key-0002: #5 = {"id":2}
          accepted #5; running
        resume r key-0001: #3 = {"id":1}
          replayed: accepted #3; remaining #5; waiting
        resume r key-0002: #5 = {"id":2}
          replayed: accepted #5; running
        at 1h
        resume r key-0001: #3 = {"id":1}
          replayed: accepted #3; remaining #5; waiting
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r tool.started add_todo call.1 {}
          #5 0s r agent.custom_tool_use add_todo call.1
          #6 0s r session.status_idle ["#3","#5"]
          #7 0s r tool.completed add_todo call.0 {"id":1}
          #8 0s r session.status_idle ["#5"]
          #9 0s r session.status_running
          #10 0s r tool.completed add_todo call.1 {"id":2}
          #11 0s r message.completed "Done"
          #12 0s r run.completed
    "##]]);
}

#[test]
fn res_5_a_refused_resume_does_not_bind_its_key() {
    check(expect![[r#"
        given s with add_todo
        turn: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: malformed
          refused: Invalid
            /events/0: it is malformed
        resume r key-0001: #3 = 1
          refused: ToolResultInvalid /events/0/content
        resume r key-0001: #4 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id
        resume r key-0001: #3 = {}
          accepted #3; running
    "#]]);
}

#[test]
fn res_5_sticky_keys() {
    check(expect![[r##"
        given s with add_todo
        variant sticky-keys
        turn: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: malformed
          refused: Invalid
            /events/0: it is malformed
        resume r key-0001: malformed
          refused: Invalid
            /events/0: it is malformed
        resume r key-0001: #3 = {}
          refused: KeyReused
        resume r key-0002: #3 = 1
          refused: ToolResultInvalid /events/0/content
        resume r key-0002: #3 = 1
          refused: ToolResultInvalid /events/0/content
        resume r key-0002: #3 = {}
          refused: KeyReused
        resume r key-0003: #4 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id
        resume r key-0003: #4 = {}
          refused: InvalidEventReference /events/0/in_reply_to_event_id
        resume r key-0003: #3 = {}
          refused: KeyReused
        resume r key-0004: #3 = {}
          accepted #3; running
        resume r key-0004: malformed
          refused: Invalid
            /events/0: it is malformed
        resume r key-0005: #3 = {"late":1}
          refused: EventAlreadyResolved { event_id: "#3" }
        resume r key-0005: #3 = {"late":1}
          refused: EventAlreadyResolved { event_id: "#3" }
        resume r key-0005: #3 = {}
          refused: KeyReused
    "##]]);
}

#[test]
fn res_5_sticky_keys_bind_an_expired_answer_but_not_a_cancelled_one() {
    check(expect![[r#"
        given s, t with add_todo
        variant sticky-keys
        set resume_deadline 10s
        turn: call add_todo; say Done
        open a on s
          open
        open b on t
          open
        start r in s: milk
          r queued
        start q in t: milk
          q queued
        cancel q
          q cancelled
        at 10s
        resume r key-0001: s#3 = {}
          refused: EventExpired { event_id: "s#3" }
          fired 10s: deadline of r
        resume r key-0001: s#3 = {"other":1}
          refused: KeyReused
        resume q key-0001: t#3 = {}
          refused: RunNotActive
        resume q key-0001: t#3 = {"other":1}
          refused: RunNotActive
    "#]]);
}

#[test]
fn res_13_the_second_of_two_resumes() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo; say Done
        open a on s
          open
        start r in s: milk
          r queued
        resume r key-0001: #3 = {"id":1}
          accepted #3; running
        resume r key-0001: #3 = {"id":1}
          replayed: accepted #3; running
        resume r key-0002: #3 = {"id":1}
          refused: EventAlreadyResolved { event_id: "#3" }
    "##]]);
}

#[test]
fn res_13_in_progress_409() {
    check(expect![[r##"
        given s with add_todo
        variant in-progress-409
        turn: call add_todo; say Done
        open a on s
          open
        start r in s key-0001: milk
          r queued
        start r in s key-0001: milk
          refused: KeyInProgress
        resume r key-0001: #3 = {"id":1}
          accepted #3; running
        resume r key-0001: #3 = {"id":1}
          refused: KeyInProgress
        resume r key-0002: #3 = {"id":1}
          refused: EventAlreadyResolved { event_id: "#3" }
        sent r key-0001
          done
        resume r key-0001: #3 = {"id":1}
          replayed: accepted #3; running
        start r in s key-0001: milk
          refused: KeyInProgress
        sent s key-0001
          done
        start r in s key-0001: milk
          replayed: r queued
        sent s key-9999
          done
    "##]]);
}

#[test]
fn idem_1_a_key_belongs_to_one_method_and_path() {
    check(expect![[r#"
        given s, t with add_todo
        turn: call add_todo; say Done
        start r in s key-0001: milk
          r queued
        start q in t key-0001: milk
          q queued
        start r in s key-0001: milk
          replayed: r queued
        start r in s key-0001: tea
          refused: KeyReused
        start p in s key-0002: milk
          refused: SessionBusy { run_id: "r", status: "queued", recovery: ["cancel"] }
        begin r
          done
        begin q
          done
        resume r key-0001: s#3 = {}
          accepted s#3; running
        resume q key-0001: t#3 = {"other":1}
          accepted t#3; running
        start r in s key-0001: milk
          replayed: r queued
    "#]]);
}

#[test]
fn idem_1_the_history_of_a_key_is_judged_before_any_state() {
    check(expect![[r#"
        given s with add_todo
        turn: call add_todo; say Done
        start r in s key-0001: milk
          r queued
        start p in s key-0002: milk
          refused: SessionBusy { run_id: "r", status: "queued", recovery: ["cancel"] }
        start r in s key-0001: milk
          replayed: r queued
        start p in s key-0001: other
          refused: KeyReused
        begin r
          done
        archive s
          s of helper on d: archived at 0s
        start r in s key-0001: milk
          replayed: r queued
        start p in s key-0001: other
          refused: KeyReused
        start p in s key-0002: milk
          refused: SessionArchived
        start p in nowhere key-0001: milk
          refused: NotFound("session")
    "#]]);
}

#[test]
fn idem_1_a_refused_start_does_not_bind_its_key() {
    check(expect![[r#"
        given s
        variant sticky-keys
        turn: wait 1s
        start r in s: one
          r queued
        start q in s key-0001: two
          refused: SessionBusy { run_id: "r", status: "queued", recovery: ["cancel"] }
        cancel r
          r cancelled
        start q in s key-0001: three
          q queued
        log s
          #1 0s r run.cancelled
    "#]]);
}
