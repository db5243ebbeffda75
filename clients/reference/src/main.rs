//! The program `pantheon-reference-client`.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pantheon_reference_client::defect::{Defect, Defects};
use pantheon_reference_client::environment::Environment;
use pantheon_reference_client::output::{Channel, Output};
use pantheon_reference_client::run;
use pantheon_reference_client::useless::Useless;

/// A correct client of the Pantheon contract, with a switch for every deliberate mistake.
///
/// It takes what it needs from PANTHEON_BASE_URL, PANTHEON_API_KEY, PANTHEON_AGENT_SLUG, PANTHEON_MESSAGE,
/// PANTHEON_HARNESS_URL, PANTHEON_STATE_DIR, PANTHEON_IDLE_MS and PANTHEON_REQUEST_TIMEOUT_MS.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// A mistake to make; may be given again
    #[arg(long, value_name = "NAME", value_parser = defect)]
    defect: Vec<Defect>,
    /// Do nothing of use: exits, sleeps, only-streams or acknowledges-all
    #[arg(long, value_name = "NAME", value_parser = useless, conflicts_with = "defect")]
    useless: Option<Useless>,
    /// Be plain although there is a harness, which then executes the tools
    #[arg(long)]
    plain: bool,
    /// List the mistakes
    #[arg(long)]
    list: bool,
}

fn defect(name: &str) -> Result<Defect, String> {
    Defect::by_name(name).ok_or_else(|| "there is no such mistake; --list shows them".to_owned())
}

fn useless(name: &str) -> Result<Useless, String> {
    let known = || Useless::ALL.iter().map(|useless| useless.name()).collect::<Vec<_>>().join(", ");
    Useless::by_name(name).ok_or_else(|| format!("it is one of {}", known()))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let output = Output::new(print);
    if arguments.list {
        for defect in Defect::ALL {
            output.line(&format!("{}: {}", defect.name(), defect.description()));
        }
        return ExitCode::SUCCESS;
    }
    let environment = match Environment::from_env(output.clone()) {
        Ok(environment) => Environment { plain: arguments.plain, ..environment },
        Err(why) => {
            output.error(&why);
            return ExitCode::from(2);
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            output.error(&format!("the runtime could not start: {error}"));
            return ExitCode::from(2);
        }
    };
    runtime.block_on(async {
        match arguments.useless {
            Some(useless) => {
                useless.run(&environment).await;
                ExitCode::SUCCESS
            }
            None => run(environment, arguments.defect.into_iter().collect::<Defects>()).await.into(),
        }
    })
}

/// A reader that has gone is no reason to stop.
fn print(channel: Channel, line: &str) {
    let _ = match channel {
        Channel::Out => writeln!(std::io::stdout().lock(), "{line}"),
        Channel::Error => writeln!(std::io::stderr().lock(), "{line}"),
    };
}
