//! How a server is asked to stop.

use tokio::sync::watch;

/// The side that is asked: [`serve`](super::serve()) has one, and so may every stream that has to end itself.
#[derive(Clone, Debug)]
pub struct Shutdown {
    requested: watch::Receiver<bool>,
}

impl Shutdown {
    /// A trigger and what it triggers.
    pub fn new() -> (ShutdownTrigger, Self) {
        let (trigger, requested) = watch::channel(false);
        (ShutdownTrigger { trigger }, Self { requested })
    }

    /// Whether shutdown has been requested.
    pub fn is_requested(&self) -> bool {
        *self.requested.borrow() || self.requested.has_changed().is_err()
    }

    /// Resolves once shutdown has been requested; at once if it has been already.
    pub async fn requested(&self) {
        // An error means that the trigger is gone, which counts as a request.
        let _ = self.requested.clone().wait_for(|requested| *requested).await;
    }
}

/// The side that asks. Dropping it asks as well: a server does not outlive its owner.
#[derive(Debug)]
#[must_use = "dropping the trigger requests the shutdown"]
pub struct ShutdownTrigger {
    trigger: watch::Sender<bool>,
}

impl ShutdownTrigger {
    /// Requests the shutdown. Asking twice changes nothing.
    pub fn request(&self) {
        self.trigger.send_replace(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_reaches_those_who_wait_and_those_who_come_later() {
        let (trigger, shutdown) = Shutdown::new();
        let waiting = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { shutdown.requested().await }
        });
        assert!(!shutdown.is_requested());
        trigger.request();
        waiting.await.unwrap();
        assert!(shutdown.is_requested());
        shutdown.requested().await;
    }

    #[tokio::test]
    async fn a_dropped_trigger_is_a_request() {
        let (trigger, shutdown) = Shutdown::new();
        drop(trigger);
        assert!(shutdown.is_requested());
        shutdown.requested().await;
    }
}
