//! Workspaces that know nothing of each other (AUTH-3), and the bounds of keys (RES-2).

use pantheon_core::id::{Ids, Kind, dashed};
use pantheon_core::idempotency::Key;
use pantheon_core::{Settings, World};

use crate::story::strangers;

#[test]
fn auth_3_an_id_of_another_workspace_is_unknown() {
    let at_home = |seed, key: &str| World::new(Settings::new(Ids::new(seed, key)));
    let strangers = strangers();
    let home = &strangers.world;
    for other in [at_home(7, "pk_other"), at_home(8, "pk_story")] {
        let known = |world: &World| {
            [
                world.tool(&home.tools()[0].id).is_some(),
                world.agent(&home.agents()[0].as_ref().unwrap().id).is_some(),
                world.deployment(&home.deployments()[0].id).is_some(),
                world.session(&home.sessions()[0].id).is_some(),
                world.run(&home.runs()[0].id).is_some(),
            ]
        };
        assert_eq!(known(home), [true; 5]);
        assert_eq!(known(&other), [false; 5]);
        assert_ne!(home.settings().workspace_id, other.settings().workspace_id);
    }
}

#[test]
fn auth_3_an_id_that_was_not_given_yet_is_unknown() {
    let world = strangers().world;
    let ids = world.settings().ids;
    for next in [50, 51, u32::MAX] {
        assert!(world.tool(&ids.of(Kind::Tool, next)).is_none());
        assert!(world.agent(&ids.of(Kind::Agent, next)).is_none());
        assert!(world.deployment(&ids.of(Kind::Deployment, next)).is_none());
        assert!(world.session(&ids.of(Kind::Session, next)).is_none());
        assert!(world.run(&ids.of(Kind::Run, next)).is_none());
    }
    assert!(world.tool(&ids.of(Kind::Agent, 0)).is_none(), "an id of one kind is none of another");
}

#[test]
fn id_2_a_run_is_found_by_its_id_in_any_spelling_and_only_in_its_session() {
    let world = strangers().world;
    let run = &world.runs()[3];
    for spelling in [run.id.clone(), run.id.to_uppercase(), dashed(&run.id), dashed(&run.id).to_uppercase()] {
        assert_eq!(world.run(&spelling).map(|(_, found)| &found.id), Some(&run.id), "{spelling}");
        assert!(world.run_of(run.session, &spelling).is_some());
        assert!(world.run_of(world.runs()[4].session, &spelling).is_none());
    }
}

#[test]
fn res_2_a_key_has_8_to_255_characters() {
    for (length, fits) in [(0, false), (7, false), (8, true), (255, true), (256, false)] {
        assert_eq!(Key::parse(&"k".repeat(length)).is_some(), fits, "{length} letters");
        assert_eq!(Key::parse(&"日".repeat(length)).is_some(), fits, "{length} characters of three bytes");
    }
}
