//! The text of `--help`, and the flags for the manual page and the completions.

use super::{FLAGS, Flag, FlagEffect};
use crate::command::{COMMANDS, Command};
use crate::manual::Entry;

/// Returns the flags for the manual page and the completions.
pub(crate) fn entries() -> Vec<Entry> {
    let entry = |flag: &Flag| Entry {
        name: flag.kebab(),
        value: match &flag.effect {
            FlagEffect::Value(form, _) => Some(*form),
            _ => None,
        },
        variable: match &flag.effect {
            FlagEffect::Instead(_) => None,
            _ => Some(flag.variable()),
        },
        help: flag.help,
    };
    FLAGS.iter().map(entry).collect()
}

/// Returns the text of `--help`.
pub fn help() -> String {
    let mut help = String::from(
        "Dynatwin: an emulator of Amazon DynamoDB for tests and development.\n\n\
         Usage: dynatwin [FLAG]...\n\
         \x20      dynatwin COMMAND --help\n\n\
         Point a client at http://localhost:8000 with any credentials. Without --db-path data is in memory.\n\
         Flags can be written as --in-memory or, as for DynamoDB Local, as -inMemory. The start of a command line\n\
         for DynamoDB Local (java -D... -jar DynamoDBLocal.jar) is skipped.\n\
         The environment variable in brackets sets a flag too (DYNATWIN_IN_MEMORY=true); the command line overrides it.\n",
    );
    help += "\nCommands:\n";
    for Command { name, help: about, .. } in COMMANDS {
        help.extend(["  ", &format!("{name:13}"), " ", about, "\n"]);
    }
    help += "\nFlags:\n";
    for flag in FLAGS {
        let form = match &flag.effect {
            FlagEffect::Value(form, _) => format!(" {form}"),
            _ => String::new(),
        };
        help.extend([
            "\n  --",
            &flag.kebab(),
            form.as_str(),
            &match flag.effect {
                FlagEffect::Instead(_) => String::new(),
                _ => format!("   [{}]", flag.variable()),
            },
            "\n",
            &wrapped(flag.help, "      "),
        ]);
    }
    help
}

fn wrapped(text: &str, indent: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::from(indent));
    for word in text.split(' ') {
        if line.len() + word.len() > 100 {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = String::from(indent);
        }
        line.push_str(word);
        line.push(' ');
    }
    lines + line.trim_end() + "\n"
}
