//! One round of load by `wrk`.

use super::gauge::cpu_seconds;
use super::http::AUTHORIZATION;
use super::workload::Operation;
use crate::server::Server;
use crate::shell::{self, Outcome, command};

/// What a round came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Requests a second.
    pub rate: f64,
    /// Microseconds of the server's processor time a request.
    pub cpu: f64,
    /// The median latency in microseconds.
    pub p50: f64,
    /// What one request in a hundred exceeds, in microseconds.
    pub p99: f64,
}

/// Loads a server for so many seconds. An answer that is not 200, or a broken connection, is an error.
pub fn run(server: &Server, operation: Operation, seconds: u32) -> Outcome<Load> {
    let before = cpu_seconds(server.id())?;
    let printed = shell::output(
        command("wrk", "")
            .env("BENCH_OPERATION", operation.name())
            .env("BENCH_AUTHORIZATION", AUTHORIZATION)
            .args(["-t2", "-c32", "--latency", "-s", "xtask/src/bench/requests.lua"])
            .arg(format!("-d{seconds}"))
            .arg(server.endpoint()),
    )?;
    read(&printed, cpu_seconds(server.id())? - before)
}

fn read(printed: &str, spent: f64) -> Outcome<Load> {
    for line in printed.lines() {
        if line.contains("Non-2xx") || line.contains("Socket errors") {
            return Err(line.trim().into());
        }
    }
    let figures = || {
        let requests: f64 = printed
            .split_once(" requests in")?
            .0
            .rsplit([' ', '\n'])
            .next()?
            .parse()
            .ok()?;
        Some(Load {
            rate: behind(printed, "Requests/sec:")?.parse().ok()?,
            cpu: spent / requests * 1e6,
            p50: microseconds(behind(printed, " 50%")?)?,
            p99: microseconds(behind(printed, " 99%")?)?,
        })
    };
    figures().ok_or_else(|| format!("wrk says something else than it used to:\n{printed}"))
}

/// The word behind a mark.
fn behind<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.split_once(mark)?.1.split_ascii_whitespace().next()
}

fn microseconds(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Running 4s test @ http://127.0.0.1:8000
  2 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   345.02us  101.00us   5.06ms   87.30%
  Latency Distribution
     50%  320.00us
     75%  380.00us
     90%  450.00us
     99%    1.25ms
  80000 requests in 4.00s, 90.00MB read
Requests/sec:  20000.00
Transfer/sec:     22.50MB
";

    #[test]
    fn what_wrk_says() {
        let expect = Load {
            rate: 20_000.0,
            cpu: 25.0,
            p50: 320.0,
            p99: 1250.0,
        };
        assert_eq!(read(PRINTED, 2.0), Ok(expect));
        assert!(read(&format!("{PRINTED}  Non-2xx or 3xx responses: 3\n"), 2.0).is_err());
        assert!(read(&format!("  Socket errors: connect 0, read 1\n{PRINTED}"), 2.0).is_err());
        assert!(read("", 2.0).is_err());
    }
}
