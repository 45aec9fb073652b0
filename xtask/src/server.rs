//! A server as a child process: started on a free port, and stopped when it is dropped.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::{Outcome, run};

/// The time limit for a server to start: enough for a Java virtual machine on a busy machine.
const TIME_LIMIT: Duration = Duration::from_mins(1);

pub struct Server {
    child: Child,
    port: u16,
    started_in: Duration,
}

impl Server {
    /// Starts `program` with these arguments followed by a free port, and waits until it listens.
    pub fn start(program: &Path, words: &[&str]) -> Outcome<Server> {
        let mut command = Command::new(program);
        command.args(words);
        let port = free_port()?;
        Server::run(command.arg(port.to_string()), port)
    }

    /// Starts a command that listens on this port, and waits until it does.
    pub fn run(command: &mut Command, port: u16) -> Outcome<Server> {
        let name = command.get_program().to_string_lossy().into_owned();
        let start = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("{name}: {error}"))?;
        let mut server = Server {
            child,
            port,
            started_in: Duration::ZERO,
        };
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(format!("{name} ended before it listened: {status}"));
            }
            if start.elapsed() > TIME_LIMIT {
                return Err(format!("{name} did not listen on port {port} within {TIME_LIMIT:?}"));
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        server.started_in = start.elapsed();
        Ok(server)
    }

    /// Asks the server to stop, and waits until it has.
    pub fn stop(mut self) -> Outcome<()> {
        run(Command::new("kill").arg(self.id().to_string()))?;
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("the server stopped with {status}")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The URL of the server: `http://127.0.0.1:PORT`.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The time it took to start.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// The id of the server's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that no process listens on.
pub fn free_port() -> Outcome<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    listener
        .local_addr()
        .map(|address| address.port())
        .map_err(|error| error.to_string())
}
