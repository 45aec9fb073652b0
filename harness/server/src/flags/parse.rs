//! Parsing of the command line and the environment.

use super::{ClockChoice, FLAGS, Flag, FlagEffect, Flags, Invocation, parse_switch};

/// DynamoDB Local's flags, except those that print and exit.
const DYNAMODB_LOCAL: [&str; 8] = [
    "cors",
    "dbPath",
    "delayTransientStatuses",
    "disableTelemetry",
    "inMemory",
    "optimizeDbBeforeStartup",
    "port",
    "sharedDb",
];

/// The flags that mean nothing without `--db-path`.
pub(super) const NEEDS_DIRECTORY: [&str; 2] = ["sync", "logSize"];

/// Parses a command line, without the program's name, and takes missing flags from the environment.
pub fn parse(
    words: impl IntoIterator<Item = String>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<Invocation, String> {
    let mut words = words.into_iter().collect::<Vec<_>>().into_iter().peekable();
    let mut flags = Flags {
        like_dynamodb_local: skip_java(&mut words),
        ..Flags::default()
    };
    // The spelling in an error, for each flag that is given.
    let mut given: Vec<Option<String>> = vec![None; FLAGS.len()];
    while let Some(word) = words.next() {
        let (index, value) = recognize(&word)?;
        flags.like_dynamodb_local |= is_of_dynamodb_local(&word);
        let flag = &FLAGS[index];
        if let FlagEffect::Instead(requested) = &flag.effect {
            return Ok(requested.clone());
        }
        let value = match (&flag.effect, value) {
            (FlagEffect::Value(form, _), None) => {
                Some(words.next().ok_or_else(|| format!("{word} needs a value: {form}"))?)
            }
            (_, value) => value.map(str::to_owned),
        };
        if let (FlagEffect::Switch(_), None, Some(next)) = (&flag.effect, &value, words.peek())
            && parse_switch(next).is_some()
        {
            return Err(format!("{word} takes its value after an equals sign: {word}={next}"));
        }
        flag.set(&mut flags, &word, value.as_deref())?;
        given[index] = Some(format!("--{}", flag.kebab()));
    }
    for (flag, given) in FLAGS.iter().zip(&mut given).filter(|(_, given)| given.is_none()) {
        *given = from_environment(flag, &mut flags, &environment)?;
    }
    let mut needs_directory = FLAGS
        .iter()
        .zip(given)
        .filter(|(flag, _)| NEEDS_DIRECTORY.contains(&flag.name));
    check(flags, needs_directory.find_map(|(_, given)| given))
}

/// Skips `java -Djava.library.path=… -jar DynamoDBLocal.jar`; returns whether `-jar` was present.
fn skip_java(words: &mut std::iter::Peekable<std::vec::IntoIter<String>>) -> bool {
    let mut found = false;
    while let Some(word) = words.next_if(|word| word == "java" || word == "-jar" || is_java_option(word)) {
        if word == "-jar" {
            words.next();
            found = true;
        }
    }
    found
}

/// Returns whether an argument is one of DynamoDB Local's flags in its own spelling.
fn is_of_dynamodb_local(word: &str) -> bool {
    let name = word.split('=').next().and_then(|word| word.strip_prefix('-'));
    name.is_some_and(|name| DYNAMODB_LOCAL.contains(&name))
}

fn is_java_option(word: &str) -> bool {
    ["-D", "-X", "-agentlib:", "-javaagent:"]
        .iter()
        .any(|start| word.starts_with(start))
}

/// Returns the index of the flag that an argument names, and the value after its `=`.
fn recognize(word: &str) -> Result<(usize, Option<&str>), String> {
    let unknown = || {
        if word.starts_with('-') {
            format!("{word} is not a flag; --help lists them")
        } else {
            format!("there is no command {word}; --help lists them")
        }
    };
    let name = word
        .strip_prefix("--")
        .or_else(|| word.strip_prefix('-'))
        .ok_or_else(unknown)?;
    let (name, value) = match name.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (name, None),
    };
    let name = if name == "h" { "help" } else { name };
    let index = FLAGS.iter().position(|flag| flag.is(name)).ok_or_else(unknown)?;
    Ok((index, value))
}

/// Returns the names that begin as those of settings but are of none. Kubernetes sets some for a service whose name begins with
/// `dynatwin`: `DYNATWIN_SERVICE_HOST`, `DYNATWIN_DB_PORT_8000_TCP`.
pub(crate) fn unknown_variables(names: impl Iterator<Item = String>) -> Vec<String> {
    let of_kubernetes = |name: &str| name.contains("_SERVICE_") || name.contains("_PORT_") || name.ends_with("_PORT");
    let is_known = |name: &str| FLAGS.iter().any(|flag| flag.variable() == name);
    names
        .filter(|name| name.starts_with("DYNATWIN_") && !is_known(name) && !of_kubernetes(name))
        .collect()
}

/// Sets a flag if its environment variable is set, and returns the variable's name.
fn from_environment(
    flag: &Flag,
    flags: &mut Flags,
    read: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, String> {
    let variable = flag.variable();
    match read(&variable) {
        _ if matches!(flag.effect, FlagEffect::Instead(_)) => Ok(None),
        // Kubernetes sets DYNATWIN_PORT=tcp://… in every pod next to a service named dynatwin.
        Some(value) if !value.is_empty() && !value.starts_with("tcp://") => {
            flag.set(flags, &variable, Some(value.as_str()))?;
            Ok(Some(variable))
        }
        _ => Ok(None),
    }
}

/// Refuses combinations that have no meaning. `needs_directory` is a setting of the directory, if one is given.
fn check(flags: Flags, needs_directory: Option<String>) -> Result<Invocation, String> {
    if flags.db_path.is_some() && flags.in_memory {
        return Err("--db-path and --in-memory exclude each other".into());
    }
    if let (Some(setting), None) = (needs_directory, &flags.db_path) {
        return Err(format!("{setting} needs --db-path"));
    }
    if flags.clock == ClockChoice::Settable && flags.speed.is_some() {
        return Err("--speed cannot be combined with --clock settable, which stands still".into());
    }
    Ok(Invocation::Run(Box::new(flags)))
}
