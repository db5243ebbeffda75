//! A process without a file descriptor left: its server must neither end nor spin, and go on once there is one.
//!
//! The limit is one of the whole process, so the test runs in one of its own.

use std::fs::File;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::fixture::{GET, HEAD, HELLO, LAST_CHUNK, Server, hello, run};

const CHILD: &str = "PANTHEON_TEST_WITHOUT_DESCRIPTORS";

#[test]
fn a_server_survives_the_lack_of_descriptors() {
    if std::env::var_os(CHILD).is_some() {
        run(survive());
        return;
    }
    let test = std::env::current_exe().unwrap();
    let name = "descriptors::a_server_survives_the_lack_of_descriptors";
    let child = Command::new(test).args(["--exact", name]).env(CHILD, "1").output().unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    assert!(String::from_utf8_lossy(&child.stdout).contains("1 passed"), "the child ran no test");
}

async fn survive() {
    let server = Server::start(hello()).await;
    // Both ends of the connection are ours, so the client needs a descriptor that the server then lacks.
    let limit = Rlimit { current: Some(64), maximum: getrlimit(Resource::Nofile).maximum };
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut fill: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    fill.pop();
    let mut client = server.connect().await;
    client.send(GET).await;
    let mut failed = tokio::time::interval(std::time::Duration::from_millis(1));
    while server.connections.accept_errors() == 0 {
        failed.tick().await;
    }
    assert_eq!(server.connections.accepted(), 0);
    let errors = server.connections.accept_errors();
    assert!(errors < 100, "{errors} failures by now: it spins");
    drop(fill);
    client.expect(&format!("{HEAD}{HELLO}{LAST_CHUNK}")).await;
}
