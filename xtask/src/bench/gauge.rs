//! The processor time and memory of a process, from `/proc`.

use crate::shell::Outcome;

/// Clock ticks a second in `/proc`: 100 on every Linux that Rust runs on.
const TICKS: f64 = 100.0;

/// The processor time of a process, in seconds.
pub fn cpu_seconds(process: u32) -> Outcome<f64> {
    let path = format!("/proc/{process}/stat");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    of_stat(&text).ok_or_else(|| format!("{path} is not what it used to be: {text}"))
}

/// The resident memory of a process, in megabytes.
pub fn resident_megabytes(process: u32) -> Outcome<f64> {
    let path = format!("/proc/{process}/status");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    of_status(&text).ok_or_else(|| format!("{path} is not what it used to be: {text}"))
}

/// User and system time are the 12th and 13th fields after the name, which may contain blanks and brackets.
fn of_stat(text: &str) -> Option<f64> {
    let mut words = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut ticks = || words.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS)
}

fn of_status(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_of_linux() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 4 0 100 1 1";
        assert_eq!(of_stat(stat), Some(3.0));
        assert_eq!(of_stat("42 (a) S 1"), None);
        assert_eq!(of_status("VmPeak:\t  4096 kB\nVmRSS:\t    2048 kB\n"), Some(2.0));
        assert_eq!(of_status(""), None);
    }
}
