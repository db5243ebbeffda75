//! What a client is started with.

use std::path::PathBuf;
use std::time::Duration;

use crate::output::Output;

/// What a client is started with: from the variables of a process, or made by hand.
#[derive(Debug, Clone)]
pub struct Environment {
    /// `PANTHEON_BASE_URL`: where Pantheon is.
    pub base_url: String,
    /// `PANTHEON_API_KEY`.
    pub api_key: String,
    /// `PANTHEON_AGENT_SLUG`: whom to talk to in plain mode.
    pub agent_slug: String,
    /// What to say in plain mode.
    pub messages: Messages,
    /// `PANTHEON_HARNESS_URL`: with it the client takes its tasks from there, unless it is to be plain.
    pub harness_url: Option<String>,
    /// `PANTHEON_STATE_DIR`: where to keep what must survive this process.
    pub state_dir: Option<PathBuf>,
    /// `PANTHEON_IDLE_MS`: when a silent stream is dead. 45 seconds, three keep-alives, unless told.
    pub idle: Duration,
    /// `PANTHEON_REQUEST_TIMEOUT_MS`: when a request's answer is given up. 30 seconds unless told.
    pub request_timeout: Duration,
    /// Whether to be plain although there is a harness, which then executes the tools.
    pub plain: bool,
    /// Where to print.
    pub output: Output,
}

/// What to say in plain mode.
#[derive(Debug, Clone)]
pub enum Messages {
    /// These, one after the other.
    Listed(Vec<String>),
    /// The lines of the standard input.
    StandardInput,
}

impl Environment {
    /// Reads the variables of this process.
    ///
    /// # Errors
    /// With what is missing or wrong, and what to do.
    pub fn from_env(output: Output) -> Result<Self, String> {
        Self::from_variables(|name| std::env::var(name).ok(), output)
    }

    /// Reads variables.
    ///
    /// # Errors
    /// With what is missing or wrong, and what to do.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>, output: Output) -> Result<Self, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let harness_url = variable("PANTHEON_HARNESS_URL");
        // A harness that reuses its clients names these in each task.
        let needed = |name: &str| match variable(name) {
            Some(value) => Ok(value),
            None if harness_url.is_some() => Ok(String::new()),
            None => {
                Err(format!("{name} is not set; set it, or PANTHEON_HARNESS_URL for a client under test"))
            }
        };
        let duration = |name: &str, default: Duration| match variable(name) {
            Some(value) => {
                let count = value
                    .parse()
                    .map_err(|_| format!("{name} is {value:?}; it must be a number of milliseconds"));
                count.map(Duration::from_millis)
            }
            None => Ok(default),
        };
        Ok(Self {
            base_url: needed("PANTHEON_BASE_URL")?,
            api_key: needed("PANTHEON_API_KEY")?,
            agent_slug: needed("PANTHEON_AGENT_SLUG")?,
            messages: match variable("PANTHEON_MESSAGE") {
                Some(message) => Messages::Listed(vec![message]),
                None => Messages::StandardInput,
            },
            state_dir: variable("PANTHEON_STATE_DIR").map(PathBuf::from),
            idle: duration("PANTHEON_IDLE_MS", Duration::from_secs(45))?,
            request_timeout: duration("PANTHEON_REQUEST_TIMEOUT_MS", Duration::from_secs(30))?,
            harness_url,
            plain: false,
            output,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, String> {
        let find = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned());
        Environment::from_variables(find, Output::silent())
    }

    #[test]
    fn a_plain_client_needs_where_who_and_whom() {
        let named =
            [("PANTHEON_BASE_URL", "http://h"), ("PANTHEON_API_KEY", "k"), ("PANTHEON_AGENT_SLUG", "a")];
        let environment = read(&named).unwrap();
        assert!(matches!(environment.messages, Messages::StandardInput));
        assert_eq!(environment.idle, Duration::from_secs(45));
        assert!(read(&named[1..]).unwrap_err().starts_with("PANTHEON_BASE_URL is not set"));
    }

    #[test]
    fn a_client_under_test_may_be_told_later() {
        let environment =
            read(&[("PANTHEON_HARNESS_URL", "http://h/secret"), ("PANTHEON_IDLE_MS", "750")]).unwrap();
        assert_eq!(environment.idle, Duration::from_millis(750));
        assert!(
            read(&[("PANTHEON_HARNESS_URL", "h"), ("PANTHEON_IDLE_MS", "soon")])
                .unwrap_err()
                .contains("soon")
        );
    }
}
