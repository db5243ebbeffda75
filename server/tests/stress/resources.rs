//! What there is much of costs little: workspaces, sessions, streams.

use std::time::Duration;

use crate::full::sized;
use crate::program::Program;
use crate::soon::timed;
use crate::wire::{Wire, request};

#[tokio::test]
async fn auth_3_ten_thousand_workspaces_fit() {
    let program = Program::start(&["--quiet"]).await;
    crate::well::is_well(&program.url).await;
    let count = sized(2_000, 10_000);
    let before = program.resident();
    let mut wire = Wire::to(&program.url).await;
    let ((), took) = timed(async {
        for batch in 0..count / 100 {
            let requests: String =
                (0..100).map(|n| request("GET", "/v1/agents", &format!("pk_{batch}_{n}"))).collect();
            wire.send(requests).await;
            for _ in 0..100 {
                assert_eq!(wire.answer().await.unwrap().status, 200);
            }
        }
    })
    .await;
    if let (Some(before), Some(after)) = (before, program.resident()) {
        let each = after.saturating_sub(before) / count;
        println!("{count} workspaces: {each} bytes each, in {took:?}");
        assert!(each < 24 * 1024, "a workspace takes {each} bytes");
    }
    assert!(took < Duration::from_secs(30), "{count} workspaces took {took:?}");
    program.well_at_its_end().await;
}
