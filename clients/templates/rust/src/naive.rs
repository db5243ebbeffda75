//! A client that believes that nothing ever goes wrong: it never reconnects, never repeats, never looks twice.

use serde_json::Value;

use crate::Failure;

pub struct Naive {
    base_url: String,
    api_key: String,
    http: reqwest::Client,
}

impl Naive {
    pub fn new(base_url: &str, api_key: &str) -> Self {
        Self { base_url: base_url.to_owned(), api_key: api_key.to_owned(), http: reqwest::Client::new() }
    }

    pub async fn post(&self, path: &str, body: &Value, key: Option<&str>) -> Result<Value, Failure> {
        let mut request = self.http.post(format!("{}{path}", self.base_url)).bearer_auth(&self.api_key);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let request = request.header("Content-Type", "application/json").body(body.to_string());
        let answer = request.send().await?.error_for_status()?.text().await?;
        Ok(serde_json::from_str(&answer)?)
    }

    pub async fn events(&self, session: &str) -> Result<Events, Failure> {
        let url = format!("{}/v1/sessions/{session}/events/stream", self.base_url);
        let response = self.http.get(url).bearer_auth(&self.api_key).send().await?.error_for_status()?;
        Ok(Events { response, unread: Vec::new() })
    }
}

/// The durable events of one connection.
pub struct Events {
    response: reqwest::Response,
    unread: Vec<u8>,
}

impl Events {
    /// The id of the next event and its data; none when the connection has ended.
    pub async fn next(&mut self) -> Result<Option<(String, Value)>, Failure> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.unread.drain(..end + 2).collect();
                let frame = String::from_utf8(frame)?;
                let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(id), Some(data)) = (field("id: "), field("data: ")) {
                    return Ok(Some((id.to_owned(), serde_json::from_str(data)?)));
                }
            }
            match self.response.chunk().await? {
                Some(bytes) => self.unread.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }
}
