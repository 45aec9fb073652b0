//! Processes that targets start, and end when they are dropped: also when a scenario panics or the run is interrupted.

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::check::{Failure, Outcome};

/// How long a process may take until it listens.
const PATIENCE: Duration = Duration::from_mins(3);

/// A process that is killed when this is dropped.
pub(super) struct Process {
    name: String,
    child: Child,
    /// How long it may take to end by itself when its input ends.
    grace: Duration,
    lines: UnboundedReceiver<String>,
}

impl Process {
    /// Starts what ends by itself when its input does, and is killed only if it does not.
    pub(super) fn start_gentle(command: &mut Command) -> Outcome<Process> {
        Process::start_with(command.stdin(Stdio::piped()), Duration::from_secs(5))
    }

    /// Starts the process and waits until it answers.
    pub(super) fn start(command: &mut Command) -> Outcome<Process> {
        Process::start_with(command.stdin(Stdio::null()), Duration::ZERO)
    }

    fn start_with(command: &mut Command, grace: Duration) -> Outcome<Process> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Failure::new(format!("{name} does not start: {error}")))?;
        let (sender, lines) = unbounded_channel();
        if let Some(stdout) = child.stdout.take() {
            read_lines(stdout, sender.clone());
        }
        if let Some(stderr) = child.stderr.take() {
            read_lines(stderr, sender);
        }
        Ok(Process {
            name,
            child,
            grace,
            lines,
        })
    }

    /// Waits for a line, on either output, from which `read` reads something.
    pub(super) async fn wait_for_line<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Outcome<T> {
        let mut said = String::new();
        let found = tokio::time::timeout(PATIENCE, async {
            while let Some(line) = self.lines.recv().await {
                if let Some(found) = read(&line) {
                    return Some(found);
                }
                said.push_str(&line);
                said.push('\n');
            }
            None
        });
        match found.await {
            Ok(Some(found)) => Ok(found),
            _ => Err(Failure::new(format!(
                "{} did not say where it listens; it said: {said:?}",
                self.name
            ))),
        }
    }

    /// Waits until somebody listens on a port of this machine.
    pub(super) async fn wait_for_port(&mut self, port: u16) -> Outcome {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                let said = self.wait_for_line(|_| None::<()>).await.err();
                let said = said.map(|failure| failure.to_string()).unwrap_or_default();
                return Err(Failure::new(format!("{} ended with {status}: {said}", self.name)));
            }
            if listens(port) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(Failure::new(format!("{} does not listen on port {port}", self.name)))
    }

    /// Whether it has ended by itself, or listens no more and then does.
    pub(super) async fn is_ending(&mut self, port: u16) -> Outcome<bool> {
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if listens(port) || start.elapsed() > PATIENCE {
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(true)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let start = Instant::now();
        while start.elapsed() < self.grace && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads an output to its end, so that the process never waits for a full pipe.
fn read_lines(output: impl Read + Send + 'static, lines: UnboundedSender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            let Ok(line) = line else { return };
            // The listener may have ended.
            let _ = lines.send(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
    });
}

fn listens(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, Duration::from_millis(100)).is_ok()
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_ends_is_reported_with_its_output() {
        let mut process = Process::start(Command::new("sh").args(["-c", "echo sorry >&2; exit 3"])).unwrap();
        let port = free_port().unwrap();
        let failure = process.wait_for_port(port).await.unwrap_err();
        assert!(failure.to_string().contains("sorry"), "{failure}");
        assert_eq!(process.is_ending(port).await, Ok(true));
        assert!(Process::start(&mut Command::new("/nowhere/at/all")).is_err());
    }

    #[tokio::test]
    async fn a_process_is_killed_when_dropped() {
        let mut process = Process::start(Command::new("sh").args(["-c", "echo ready; exec sleep 600"])).unwrap();
        let ready = process.wait_for_line(|line| (line == "ready").then_some(())).await;
        assert_eq!(ready, Ok(()));
        let id = process.child.id();
        drop(process);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }
}
