//! `cargo xtask test deny`: licenses, sources and known vulnerabilities of the dependencies, as `deny.toml` allows them.

use crate::shell::{Outcome, cargo, find, run};
use crate::test::Counts;

/// Checks the dependencies; without a network, not their vulnerabilities. Each check is a test.
pub fn check() -> Outcome<Counts> {
    if find("cargo-deny").is_none() {
        run(cargo().args(["install", "--locked", "--quiet", "cargo-deny"]))?;
    }
    let mut counts = Counts::default();
    for what in ["bans", "licenses", "sources"] {
        counts.add(count(what));
    }
    if run(cargo().args(["deny", "fetch"])).is_ok() {
        counts.add(count("advisories"));
    } else {
        println!("the advisories are left out: their database is out of reach");
    }
    Ok(counts)
}

fn count(what: &str) -> Counts {
    match run(cargo().args(["deny", "check", what])) {
        Ok(()) => Counts { passed: 1, failed: 0 },
        Err(sentence) => {
            println!("{sentence}");
            Counts { passed: 0, failed: 1 }
        }
    }
}
