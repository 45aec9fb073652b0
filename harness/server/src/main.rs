//! The `dynatwin` binary.

mod memory;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use dynatwin_server::{Asked, Flags, Options, engine, help, parse, serve, start_line};

/// Returns freed memory to the system within seconds, which glibc's allocator and mimalloc v3 do not do here.
///
/// Measured with 1,000,000 items of 200 bytes: the resident size after loading, 30 s after DeleteTable, and what that took.
///
/// | | loaded | deleted | DeleteTable | CPU of loading |
/// |---|---|---|---|---|
/// | glibc | 566 MB | 566 MB | 4.1 s | 6.7 s |
/// | mimalloc v3 | 592 MB | 592 MB | 2.7 s | 5.7 s |
/// | jemalloc | 555 MB | 21 MB | 1.5 s | 5.2 s |
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Exit code of a command line that is not understood.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let words = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned());
    match parse(words, |name| std::env::var(name).ok()) {
        Ok(Asked::Help) => say(&help()),
        Ok(Asked::Version) => say(concat!("dynatwin ", env!("CARGO_PKG_VERSION"))),
        Ok(Asked::Run(flags)) => run(&flags),
        Err(sentence) => complain(&sentence, USAGE),
    }
}

fn say(text: &str) -> ExitCode {
    // A reader that has gone, as after `| head`, is no failure.
    let _ = writeln!(io::stdout().lock(), "{text}");
    ExitCode::SUCCESS
}

fn complain(sentence: &str, code: u8) -> ExitCode {
    let _ = writeln!(io::stderr().lock(), "dynatwin: {sentence}");
    ExitCode::from(code)
}

fn run(flags: &Flags) -> ExitCode {
    let engine = Arc::new(engine(flags));
    let seed = engine.seed();
    let options = Options {
        hosts: flags.hosts.clone(),
        log: flags.log,
        origins: flags.cors.clone(),
        allowed_hosts: flags.allowed_hosts.clone(),
        ..Options::port(flags.port)
    };
    // Before the start line, so that who has read it may send a signal.
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("signals cannot be received: {error}"), 1),
    };
    let limited = flags.max_memory.map(|bytes| memory::limit(Arc::clone(&engine), bytes));
    if let Some(Err(sentence)) = limited {
        return complain(&sentence, 1);
    }
    let server = match serve(engine, options) {
        Ok(server) => server,
        Err(error) => return complain(&error.to_string(), 1),
    };
    for remark in flags.remarks().into_iter().chain(server.remark().map(str::to_owned)) {
        let _ = complain(&remark, 0);
    }
    say(&start_line(flags, seed, &server));
    signals.wait();
    server.stop();
    ExitCode::SUCCESS
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
