//! Reports, in order, in the background: a harness that is slow to listen keeps nothing waiting.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::link::Link;
use crate::application::News;
use crate::json;
use crate::output::Output;

/// Hands reports to the task that sends them. Dropped, it ends that task.
#[derive(Debug)]
pub(super) struct Reporter {
    queue: mpsc::UnboundedSender<Entry>,
    _sender: JoinSet<()>,
}

enum Entry {
    Item(Box<RawValue>),
    /// All that came before has been sent.
    Flushed(oneshot::Sender<()>),
}

impl Reporter {
    pub(super) fn new(link: Link, output: Output) -> Self {
        let (queue, entries) = mpsc::unbounded_channel();
        let mut sender = JoinSet::new();
        sender.spawn(send_all(link, entries, output));
        Self { queue, _sender: sender }
    }

    pub(super) fn report(&self, news: &News) {
        // The task ends only with this.
        let _ = self.queue.send(Entry::Item(item(news)));
    }

    /// Waits until all reports are with the harness.
    pub(super) async fn flush(&self) {
        let (sender, flushed) = oneshot::channel();
        let _ = self.queue.send(Entry::Flushed(sender));
        let _ = flushed.await;
    }
}

async fn send_all(link: Link, mut entries: mpsc::UnboundedReceiver<Entry>, output: Output) {
    let mut batch = Vec::new();
    while entries.recv_many(&mut batch, 256).await > 0 {
        let mut items = Vec::new();
        let mut flushed = Vec::new();
        for entry in batch.drain(..) {
            match entry {
                Entry::Item(item) => items.push(item),
                Entry::Flushed(sender) => flushed.push(sender),
            }
        }
        if !items.is_empty()
            && let Err(failure) = link.report(&items).await
        {
            output.error(&format!("a report was lost: {failure}"));
        }
        for sender in flushed {
            let _ = sender.send(());
        }
    }
}

/// An event is reported with its data as it came; data that is no JSON as a string.
#[derive(serde::Serialize)]
struct EventItem<'a> {
    kind: &'static str,
    r#type: &'a str,
    sse_id: Option<&'a str>,
    data: Box<RawValue>,
}

fn item(news: &News) -> Box<RawValue> {
    match news {
        News::Event(event) => {
            let data =
                json::checked(&event.data).unwrap_or_else(|| json::raw(&Value::String(event.data.clone())));
            let sse_id = event.sse_id.as_deref();
            let item = EventItem { kind: "event", r#type: &event.name, sse_id, data };
            serde_json::value::to_raw_value(&item).expect("text and JSON can be written as JSON")
        }
        News::Item { tool_call_id, name, status } => json::raw(
            &json!({ "kind": "item", "tool_call_id": tool_call_id, "name": name, "status": status }),
        ),
        News::Text(text) => json::raw(&json!({ "kind": "text", "text": text })),
        News::Error(failure) => {
            let mut item = failure.to_json();
            item["kind"] = json!("error");
            json::raw(&item)
        }
    }
}
