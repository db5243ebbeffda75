//! Tools, agents and deployments (contract §2 and §3).

use expect_test::expect;

use crate::story::check;

#[test]
fn tool_3_a_taken_name_names_the_tool_that_has_it() {
    check(expect![[r#"
        tool add_todo
          add_todo v1: add_todo@1
        tool echo
          echo v1: echo@1
        tool add_todo {"description":"another"}
          refused: ToolNameTaken { tool_id: "add_todo" }
        show add_todo
          created 0s, updated 0s
          add_todo@1 of add_todo v1 since 0s: "" application none never {"type":"object"} {"type":"object"}
    "#]]);
}

#[test]
fn tool_5_a_version_takes_defaults_and_inherits_schemas() {
    check(expect![[r#"
        tool add_todo {"description":"adds","side_effect":"external_write","confirmation":"policy","input_schema":{"type":"object","title":"in"},"output_schema":{"type":"object","title":"out"}}
          add_todo v1: add_todo@1
        at 5s
        version add_todo {}
          add_todo v2: add_todo@2
        at 6s
        version add_todo {"description":"third","side_effect":"workspace_write","output_schema":{"type":"object","title":"out 3"}}
          add_todo v3: add_todo@3
        version add_todo {}
          add_todo v4: add_todo@4
        show add_todo
          created 0s, updated 6s
          add_todo@1 of add_todo v1 since 0s: "adds" application external_write policy {"type":"object","title":"in"} {"type":"object","title":"out"}
          add_todo@2 of add_todo v2 since 5s: "" application none never {"type":"object","title":"in"} {"type":"object","title":"out"}
          add_todo@3 of add_todo v3 since 6s: "third" application workspace_write never {"type":"object","title":"in"} {"type":"object","title":"out 3"}
          add_todo@4 of add_todo v4 since 6s: "" application none never {"type":"object","title":"in"} {"type":"object","title":"out 3"}
    "#]]);
}

#[test]
fn tool_6_a_version_mints_a_definition_and_leaves_the_earlier_ones() {
    check(expect![[r#"
        tool add_todo
          add_todo v1: add_todo@1
        tool echo
          echo v1: echo@1
        version add_todo {"description":"second"}
          add_todo v2: add_todo@2
        agent helper
          agent helper
        deploy old of helper with add_todo@1
          old of helper v1 pins ["add_todo@1"]
        deploy new of helper with add_todo@2
          new of helper v1 pins ["add_todo@2"]
        version nothing {}
          refused: NotFound("tool")
    "#]]);
}

#[test]
fn agent_1_a_slug_is_unique_among_the_living() {
    check(expect![[r#"
        agent helper
          agent helper
        agent helper
          refused: SlugTaken { agent_id: "helper" }
        agent other
          agent other
        delete helper
          done
        delete helper
          refused: NotFound("agent")
        agent helper
          agent helper'
        delete nobody
          refused: NotFound("agent")
    "#]]);
}

#[test]
fn agent_1_deletion_leaves_deployments_and_sessions() {
    check(expect![[r#"
        agent helper
          agent helper
        deploy d of helper
          d of helper v1 pins []
        session s of helper
          s of helper on d: idle
        delete helper
          done
        session t of helper
          refused: NotFound("agent")
        session t on d
          t of helper on d: idle
        start r in s: hello
          r queued
        start q in t: hello
          q queued
        deploy e of helper
          refused: Invalid
            /agent_id: there is no such agent
    "#]]);
}

#[test]
fn deploy_1_every_fault_has_its_path() {
    check(expect![[r#"
        tool add_todo
          add_todo v1: add_todo@1
        tool echo
          echo v1: echo@1
        version add_todo {}
          add_todo v2: add_todo@2
        agent helper
          agent helper
        deploy d of nobody with add_todo@1, add_todo@2, echo@1, nothing@1
          refused: Invalid
            /agent_id: there is no such agent
            /tool_definition_ids/0: another definition of the same tool is listed
            /tool_definition_ids/1: another definition of the same tool is listed
            /tool_definition_ids/3: there is no such tool definition
        deploy d of helper with echo@1, echo@1
          refused: Invalid
            /tool_definition_ids/0: another definition of the same tool is listed
            /tool_definition_ids/1: another definition of the same tool is listed
        deploy d of helper version 2
          refused: Invalid
            /agent_version: the agent has no such version
        deploy d of helper version 1 with echo@1, add_todo@1
          d of helper v1 pins ["echo@1", "add_todo@1"]
        deploy d of helper with add_todo@3
          refused: Invalid
            /tool_definition_ids/0: there is no such tool definition
    "#]]);
}

#[test]
fn deploy_2_a_session_keeps_the_definitions_of_its_deployment() {
    check(expect![[r#"
        tool add_todo
          add_todo v1: add_todo@1
        agent helper
          agent helper
        deploy d of helper with add_todo@1
          d of helper v1 pins ["add_todo@1"]
        session s of helper
          s of helper on d: idle
        version add_todo {"description":"second"}
          add_todo v2: add_todo@2
        session t of helper
          t of helper on d: idle
        deploy e of helper with add_todo@2
          e of helper v1 pins ["add_todo@2"]
        session u of helper
          u of helper on e: idle
        show s
          s of helper on d: idle
        show t
          t of helper on d: idle
        turn: call add_todo & echo
        open a on s
          open
        start r in s: milk
          r queued
        start q in u: milk
          q queued
        begin q
          done
        show r
          waiting, wants s#3 s#5 by 30m
          s#3 by add_todo@1: Open
          s#5 by no definition: Open
        show q
          waiting, wants u#3 u#5 by 30m
          u#3 by add_todo@2: Open
          u#5 by no definition: Open
    "#]]);
}

#[test]
fn sess_1_by_slug_by_deployment_or_both() {
    check(expect![[r#"
        agent helper
          agent helper
        agent other
          agent other
        agent fresh
          agent fresh
        deploy d of helper
          d of helper v1 pins []
        deploy e of helper
          e of helper v1 pins []
        deploy f of other
          f of other v1 pins []
        session s1 of helper
          s1 of helper on e: idle
        session s2 on d
          s2 of helper on d: idle
        session s3 of helper on d
          s3 of helper on d: idle
        session s4 of other
          s4 of other on f: idle
        session s5
          refused: Invalid
            /agent_slug: either agent_slug or deployment_id is required
            /deployment_id: either agent_slug or deployment_id is required
        session s6 of nobody
          refused: NotFound("agent")
        session s7 of fresh
          refused: AgentNotDeployed
        session s8 of other on d
          refused: Invalid
            /agent_slug: agent_slug and deployment_id name different agents
            /deployment_id: agent_slug and deployment_id name different agents
        session s9 on nothing
          refused: NotFound("deployment")
        session s10 of nobody on d
          refused: NotFound("agent")
        session s11 of nobody on nothing
          refused: NotFound("deployment")
    "#]]);
}

#[test]
fn sess_1_a_slug_taken_again_is_another_agent() {
    check(expect![[r#"
        agent helper
          agent helper
        deploy d of helper
          d of helper v1 pins []
        delete helper
          done
        agent helper
          agent helper'
        session s of helper
          refused: AgentNotDeployed
        session s of helper on d
          refused: Invalid
            /agent_slug: agent_slug and deployment_id name different agents
            /deployment_id: agent_slug and deployment_id name different agents
        session s on d
          s of helper on d: idle
    "#]]);
}

#[test]
fn sess_2_archiving_cancels_the_active_run_once() {
    check(expect![[r##"
        given s with add_todo
        turn: call add_todo
        start r in s: milk
          r queued
        begin r
          done
        at 5s
        archive s
          s of helper on d: archived at 5s
        at 6s
        archive s
          s of helper on d: archived at 5s
        start q in s: more
          refused: SessionArchived
        show s
          s of helper on d: archived at 5s
        show r
          cancelled
          #3 by add_todo@1: Abandoned
        log s
          #1 0s r run.started
          #2 0s r tool.started add_todo call.0 {}
          #3 0s r agent.custom_tool_use add_todo call.0
          #4 0s r session.status_idle ["#3"]
          #5 5s r run.cancelled
        next
          deadline never, keep-alive never
        archive nowhere
          refused: NotFound("session")
    "##]]);
}

#[test]
fn sess_2_a_queued_run_is_cancelled_without_a_start() {
    check(expect![[r#"
        given s
        start r in s: hello
          r queued
        archive s
          s of helper on d: archived at 0s
        begin r
          done
        log s
          #1 0s r run.cancelled
    "#]]);
}

#[test]
fn sess_2_streams_of_an_archived_session_replay_and_end() {
    check(expect![[r##"
        given s with add_todo
        turn: say Hi; call add_todo
        open a on s
          open
        start r in s: milk
          r queued
        read a
          #1 run.started
          #2 message.completed "Hi"
          #3 tool.started add_todo call.0 {}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          wait until 15s
        archive s
          s of helper on d: archived at 0s
        read a
          #6 run.cancelled
          end
        read a
          end
        open b on s
          open
        read b
          #1 run.started
          #2 message.completed "Hi"
          #3 tool.started add_todo call.0 {}
          #4 agent.custom_tool_use add_todo call.0
          #5 session.status_idle ["#4"]
          #6 run.cancelled
          end
        open c on s after #6 with deltas
          open
        read c
          end
        append s late.news
          appended #7
        read c
          #7 late.news
          end
        open d on s after #7
          open
        read d
          end
    "##]]);
}

#[test]
fn sess_2_an_empty_archived_session_ends_its_streams() {
    check(expect![[r#"
        given s
        open a on s
          open
        read a
          wait until 15s
        archive s
          s of helper on d: archived at 0s
        read a
          end
        at 1m
        read a
          end
    "#]]);
}
