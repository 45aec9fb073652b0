//! The command line: from arguments to a server that runs until it is signaled.

use std::future::pending;
use std::io::{self, Write};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use dynatwin_engine::Engine;

use crate::access::{configure_access, signing_keys};
use crate::backend::Backend;
use crate::database;
use crate::engine::{engine, s3_dir_warning};
use crate::flags::{Flags, Invocation, entries, help, parse, unknown_variables};
use crate::load::load;
use crate::manual;
use crate::probe::{self, Probe};
use crate::report::{self, AccessReport};
use crate::server::{Options, serve};
use crate::start_line::start_line;

const SUCCESS: u8 = 0;

/// The error of a server that a signal stops before it serves.
const STOPPED: &str = "stopped by a signal while it started";

/// The exit code for an invalid command line.
const USAGE: u8 = 2;

/// Makes the engine refuse to store more when the process has allocated this many bytes, for `--max-memory`. Returns
/// a warning if it has allocated them already. Warning and error are sentences for the operator.
pub type LimitMemory = fn(Arc<Engine>, u64) -> Result<Option<String>, String>;

/// Runs the `dynatwin` command with these arguments, without the program's name, until SIGINT or SIGTERM, and returns
/// its exit code. It reads the process's environment, and prints to its standard output and error.
///
/// ```
/// let version = ["--version".to_owned()];
/// assert_eq!(dynatwin_server::run(version, |_, _| Ok(None)), 0);
/// ```
pub fn run(arguments: impl IntoIterator<Item = String>, limit_memory: LimitMemory) -> u8 {
    let mut arguments = arguments.into_iter().peekable();
    let command = COMMANDS
        .iter()
        .find(|command| arguments.peek().is_some_and(|word| word == command.name));
    if let Some(command) = command {
        return (command.run)(command.name, arguments.skip(1).collect());
    }
    match parse(arguments, |name| std::env::var(name).ok()) {
        Ok(Invocation::Help) => print(&help()),
        Ok(Invocation::Version) => print(concat!("dynatwin ", env!("CARGO_PKG_VERSION"))),
        Ok(Invocation::Run(flags)) => serve_until_stopped(&flags, limit_memory),
        Err(sentence) => print_error(&sentence, USAGE),
    }
}

/// A subcommand, which does not start the server.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// Its description in `--help`, the manual page and the completions.
    pub(crate) help: &'static str,
    /// Runs it by its name with its arguments, and returns the exit code.
    run: fn(&str, Vec<String>) -> u8,
}

pub(crate) const COMMANDS: [Command; 7] = [
    Command {
        name: "access-report",
        help: "print the IAM policy that allows what a server has recorded",
        run: |_, arguments| match AccessReport::parse(arguments, |name| std::env::var(name).ok()) {
            Ok(Some(report)) => match report.run() {
                Ok(text) => print(&text),
                Err(sentence) => print_error(&sentence, 1),
            },
            Ok(None) => print(report::HELP),
            Err(sentence) => print_error(&sentence, USAGE),
        },
    },
    Command {
        name: "copy",
        help: "copy tables between endpoints and directories",
        run: transfer,
    },
    Command {
        name: "import",
        help: "send the tables and items of files to an endpoint",
        run: transfer,
    },
    Command {
        name: "health",
        help: "exit with 0 if a server answers",
        run: probe,
    },
    Command {
        name: "wait",
        help: "wait until a server answers",
        run: probe,
    },
    Command {
        name: "man",
        help: "print the manual page",
        run: |_, _| print(manual::man(&entries()).trim_end()),
    },
    Command {
        name: "completions",
        help: "print the completions of bash, zsh or fish",
        run: |_, arguments| {
            let shell = arguments.first();
            match shell.and_then(|shell| manual::completions(shell, &entries())) {
                Some(text) => print(text.trim_end()),
                None => print_error("completions needs a shell: bash, zsh or fish", USAGE),
            }
        },
    },
];

/// Runs `dynatwin health` or `dynatwin wait`.
fn probe(name: &str, arguments: Vec<String>) -> u8 {
    match Probe::parse(name, arguments, |name| std::env::var(name).ok()) {
        Ok(Some(probe)) => match probe.run() {
            Ok(()) => SUCCESS,
            Err(sentence) => print_error(&sentence, 1),
        },
        Ok(None) => print(probe::HELP),
        Err(sentence) => print_error(&sentence, USAGE),
    }
}

/// Runs `dynatwin copy` or `dynatwin import`.
#[cfg(feature = "copy")]
fn transfer(name: &str, arguments: Vec<String>) -> u8 {
    match dynatwin_seed::cli::run(name, arguments) {
        Ok(()) => SUCCESS,
        Err(sentence) => print_error(&sentence, 1),
    }
}

#[cfg(not(feature = "copy"))]
fn transfer(name: &str, _: Vec<String>) -> u8 {
    print_error(
        &format!("this build does not include `{name}`: it was built without the feature `copy`"),
        1,
    )
}

/// Prints to standard output. A closed pipe, as after `| head`, is not a failure.
fn print(text: &str) -> u8 {
    let _ = writeln!(io::stdout().lock(), "{text}");
    SUCCESS
}

/// Prints to standard error, and returns `code`.
fn print_error(sentence: &str, code: u8) -> u8 {
    let _ = writeln!(io::stderr().lock(), "dynatwin: {sentence}");
    code
}

fn serve_until_stopped(flags: &Flags, limit_memory: LimitMemory) -> u8 {
    if let Err(sentence) = signing_keys(flags, |name| std::env::var(name).ok()) {
        return print_error(&sentence, USAGE);
    }
    // Before the start line, so that a process that has read it can send a signal.
    let mut signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return print_error(&format!("cannot install signal handlers: {error}"), 1),
    };
    let Some(path) = &flags.db_path else {
        let engine = Arc::new(engine(flags));
        return serve_from(Arc::clone(&engine), engine, flags, limit_memory, signals);
    };
    let opened = signals.unless_stopped({
        let (flags, path) = (flags.clone(), path.clone());
        move || database::open(&flags, &path)
    });
    match opened.unwrap_or_else(|| Err(STOPPED.into())) {
        Ok(database) => {
            let database = Arc::new(database);
            let engine = Arc::clone(database.engine());
            let code = serve_from(Arc::clone(&database), engine, flags, limit_memory, signals);
            database.close();
            code
        }
        Err(sentence) => print_error(&sentence, 1),
    }
}

fn serve_from<D: Backend>(
    backend: Arc<D>,
    engine: Arc<Engine>,
    flags: &Flags,
    limit_memory: LimitMemory,
    mut signals: Signals,
) -> u8 {
    let warnings = match configure_access(flags, &engine) {
        Ok(warnings) => warnings,
        Err(sentence) => return print_error(&sentence, 1),
    };
    let options = Options {
        hosts: flags.hosts.clone(),
        log: flags.log,
        origins: flags.cors.clone(),
        allowed_hosts: flags.allowed_hosts.clone(),
        ..Options::port(flags.port)
    };
    let loaded = signals.unless_stopped({
        let (flags, engine) = (flags.clone(), Arc::clone(&engine));
        move || load(&flags, &engine).map_err(|error| error.to_string())
    });
    let loaded = match loaded.unwrap_or_else(|| Err(STOPPED.into())) {
        Ok(loaded) => loaded,
        Err(sentence) => return print_error(&sentence, 1),
    };
    let limited = flags.max_memory.map(|bytes| limit_memory(Arc::clone(&engine), bytes));
    let limited = match limited.transpose() {
        Ok(warning) => warning.flatten(),
        Err(sentence) => return print_error(&sentence, 1),
    };
    let server = match serve(backend, options) {
        Ok(server) => server,
        Err(error) => return print_error(&error.to_string(), 1),
    };
    for warning in warnings.iter().chain(&s3_dir_warning(flags)).chain(&limited) {
        print_error(warning, 0);
    }
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in unknown_variables(variables) {
        print_error(&format!("{name} sets no flag; --help lists the variables"), 0);
    }
    if let Some(notice) = server.notice() {
        print_error(notice, 0);
    }
    print(&start_line(flags, &engine, &server));
    for line in &loaded {
        print(line);
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

    /// Runs `work` on another thread and returns its result, or `None` if a signal arrives first; the thread then ends
    /// with the process.
    fn unless_stopped<T: Send + 'static>(&mut self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (running, ended) = tokio::sync::oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let _running = running;
            work()
        });
        let stopped = self.wait_or(ended);
        (!stopped).then(|| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    }

    fn wait(mut self) {
        self.wait_or(pending::<()>());
    }

    /// Waits for a signal or for `other`, and returns whether it was a signal.
    fn wait_or(&mut self, other: impl Future) -> bool {
        #[cfg(unix)]
        let signal = {
            let [interrupt, terminate] = &mut self.wanted;
            async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
        };
        #[cfg(not(unix))]
        let signal = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        self.runtime.block_on(async {
            tokio::select! {
                () = signal => true,
                _ = other => false,
            }
        })
    }
}
