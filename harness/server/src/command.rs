//! The command line: from arguments to a server that runs until it is signaled.

use std::io::{self, Write};
use std::sync::Arc;

use dynatwin_engine::engine::Engine;

use crate::database;
use crate::door::Door;
use crate::flags::{Asked, Flags, entries, help, parse};
use crate::manual;
use crate::probe::{self, Probe};
use crate::server::{Options, serve};
use crate::start::{configure_access, engine, load, signing_keys, start_line};

const SUCCESS: u8 = 0;

/// Exit code of a command line that is not understood.
const USAGE: u8 = 2;

/// Makes the engine refuse to store more when the process has allocated this many bytes, for `--max-memory`. The text of an
/// error is for the operator.
pub type LimitMemory = fn(Arc<Engine>, u64) -> Result<(), String>;

/// Runs the `dynatwin` command with these arguments, without the program's name, until SIGINT or SIGTERM, and returns its exit
/// code. It reads the process's environment, and prints to its standard output and error.
///
/// ```
/// let version = ["--version".to_owned()];
/// assert_eq!(dynatwin_server::run(version, |_, _| Ok(())), 0);
/// ```
pub fn run(arguments: impl IntoIterator<Item = String>, limit_memory: LimitMemory) -> u8 {
    let mut arguments = arguments.into_iter().peekable();
    if let Some(name) = arguments.next_if(|word| COMMANDS.contains(&word.as_str())) {
        return other_command(&name, arguments);
    }
    match parse(arguments, |name| std::env::var(name).ok()) {
        Ok(Asked::Help) => say(&help()),
        Ok(Asked::Version) => say(concat!("dynatwin ", env!("CARGO_PKG_VERSION"))),
        Ok(Asked::Run(flags)) => serve_until_stopped(&flags, limit_memory),
        Err(sentence) => complain(&sentence, USAGE),
    }
}

/// Commands that do something else than to serve.
const COMMANDS: [&str; 6] = ["completions", "copy", "health", "import", "man", "wait"];

fn other_command(name: &str, mut arguments: impl Iterator<Item = String>) -> u8 {
    match name {
        "copy" | "import" => transfer(name, arguments),
        "man" => say(manual::man(&entries()).trim_end()),
        "completions" => match arguments
            .next()
            .and_then(|shell| manual::completions(&shell, &entries()))
        {
            Some(text) => say(text.trim_end()),
            None => complain("completions are for bash, zsh or fish", USAGE),
        },
        _ => match Probe::parse(name, arguments, |name| std::env::var(name).ok()) {
            Ok(Some(probe)) => match probe.run() {
                Ok(()) => SUCCESS,
                Err(sentence) => complain(&sentence, 1),
            },
            Ok(None) => say(probe::HELP),
            Err(sentence) => complain(&sentence, USAGE),
        },
    }
}

/// Runs `dynatwin copy` or `dynatwin import`.
#[cfg(feature = "copy")]
fn transfer(name: &str, arguments: impl Iterator<Item = String>) -> u8 {
    match dynatwin_seed::cli::run(name, arguments) {
        Ok(()) => SUCCESS,
        Err(sentence) => complain(&sentence, 1),
    }
}

#[cfg(not(feature = "copy"))]
fn transfer(name: &str, _: impl Iterator<Item = String>) -> u8 {
    complain(&format!("this build has no `{name}`: the feature `copy` is off"), 1)
}

/// Prints to standard output. A closed pipe, as after `| head`, is not a failure.
fn say(text: &str) -> u8 {
    let _ = writeln!(io::stdout().lock(), "{text}");
    SUCCESS
}

/// Prints to standard error, and returns `code`.
fn complain(sentence: &str, code: u8) -> u8 {
    let _ = writeln!(io::stderr().lock(), "dynatwin: {sentence}");
    code
}

fn serve_until_stopped(flags: &Flags, limit_memory: LimitMemory) -> u8 {
    if let Err(sentence) = signing_keys(flags, |name| std::env::var(name).ok()) {
        return complain(&sentence, USAGE);
    }
    // Before the start line, so that who has read it may send a signal.
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("signals cannot be received: {error}"), 1),
    };
    let Some(path) = &flags.db_path else {
        let engine = Arc::new(engine(flags));
        return serve_from(Arc::clone(&engine), engine, flags, limit_memory, signals);
    };
    match database::open(flags, path) {
        Ok(database) => {
            let database = Arc::new(database);
            let engine = Arc::clone(database.engine());
            let code = serve_from(Arc::clone(&database), engine, flags, limit_memory, signals);
            database.close();
            code
        }
        Err(sentence) => complain(&sentence, 1),
    }
}

fn serve_from<D: Door>(
    door: Arc<D>,
    engine: Arc<Engine>,
    flags: &Flags,
    limit_memory: LimitMemory,
    signals: Signals,
) -> u8 {
    let warnings = match configure_access(flags, &engine) {
        Ok(warnings) => warnings,
        Err(sentence) => return complain(&sentence, 1),
    };
    let seed = engine.seed();
    let options = Options {
        hosts: flags.hosts.clone(),
        log: flags.log,
        origins: flags.cors.clone(),
        allowed_hosts: flags.allowed_hosts.clone(),
        ..Options::port(flags.port)
    };
    let loaded = match load(flags, &engine) {
        Ok(loaded) => loaded,
        Err(error) => return complain(&error.to_string(), 1),
    };
    let limited = flags.max_memory.map(|bytes| limit_memory(engine, bytes));
    if let Some(Err(sentence)) = limited {
        return complain(&sentence, 1);
    }
    let server = match serve(door, options) {
        Ok(server) => server,
        Err(error) => return complain(&error.to_string(), 1),
    };
    for warning in &warnings {
        complain(warning, 0);
    }
    if let Some(remark) = server.remark() {
        complain(remark, 0);
    }
    say(&start_line(flags, seed, &server));
    for line in &loaded {
        say(line);
    }
    signals.wait();
    server.stop();
    SUCCESS
}

/// The signals that stop the server.
struct Signals {
    runtime: tokio::runtime::Runtime,
    #[cfg(unix)]
    wanted: [tokio::signal::unix::Signal; 2],
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let entered = runtime.enter();
            let wanted = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
            drop(entered);
            Ok(Signals { runtime, wanted })
        }
        #[cfg(not(unix))]
        Ok(Signals { runtime })
    }

    #[cfg(unix)]
    fn wait(mut self) {
        let [interrupt, terminate] = &mut self.wanted;
        self.runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
    }

    #[cfg(not(unix))]
    fn wait(self) {
        let _ = self.runtime.block_on(tokio::signal::ctrl_c());
    }
}
