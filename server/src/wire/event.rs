//! Events of a script's or the control API's own.

use pantheon_core::event::EventType;
use pantheon_core::turn::Emit;
use serde_json::Value;

use crate::decode::{Faults, Members};

/// Reads an event of one's own: `{type, content?, data?, delta?, durable}`; durable unless told. Also a step of a
/// scenario's turn.
pub fn emit(members: &mut Members<'_, '_>, faults: &mut Faults) -> Option<Emit> {
    let event_type = members.required("type", faults).and_then(|node| {
        let parsed = EventType::parse(node.text(faults)?);
        parsed.map_err(|detail| node.faults_inside(faults, vec![detail])).ok()
    });
    let value = |members: &mut Members<'_, '_>, name| members.optional(name).map(|node| node.value.clone());
    let content = value(members, "content").unwrap_or(Value::Null);
    let data = value(members, "data").unwrap_or(Value::Null);
    let durable = members.optional("durable").and_then(|node| node.truth(faults)).unwrap_or(true);
    let delta = members.optional("delta");
    if let Some(delta) = delta.filter(|_| durable) {
        delta.fault(faults, "only an event with `durable: false` has a delta");
    }
    Some(Emit {
        event_type: event_type?,
        content,
        data,
        delta: delta.map(|node| node.value.clone()),
        durable,
    })
}
