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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_before_the_word_that_does_not_fit() {
        let word = |length: usize| "w".repeat(length);
        for (text, lines) in [
            (String::new(), vec![String::new()]),
            ("a b".into(), vec!["  a b".into()]),
            (
                format!("a {} b", word(96)),
                vec![format!("  a {}", word(96)), "  b".into()],
            ),
            (
                format!("a {} b", word(97)),
                vec!["  a".into(), format!("  {}", word(97)), "  b".into()],
            ),
            (format!("{} b", word(96)), vec![format!("  {} b", word(96))]),
            (format!("{0} {0} {0}", word(60)), vec![format!("  {}", word(60)); 3]),
        ] {
            assert_eq!(wrapped(&text, "  "), lines.join("\n") + "\n", "{text}");
        }
    }

    #[test]
    fn the_help_has_every_word_about_a_flag() {
        let help = help();
        let (begin, flags) = help.split_once("\nFlags:\n").unwrap();
        let (_, commands) = begin.split_once("\nCommands:\n").unwrap();
        assert_eq!(commands.lines().count(), COMMANDS.len());
        let found = flags.split("\n  --").skip(1).map(|flag| {
            let (_, about) = flag.split_once('\n').unwrap();
            about.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        let expected: Vec<_> = FLAGS.iter().map(|flag| flag.help).collect();
        assert_eq!(found.collect::<Vec<_>>(), expected);
        for line in flags.lines().filter(|line| !line.starts_with("  --")) {
            assert!(line.is_empty() || line.starts_with("      "), "{line}");
            assert!(line.len() <= 100, "{line}");
        }
    }

    #[test]
    fn entries_are_the_flags() {
        let entries = entries();
        assert_eq!(entries.len(), FLAGS.len());
        for (entry, flag) in entries.iter().zip(FLAGS) {
            let (value, has_variable) = match &flag.effect {
                FlagEffect::Value(form, _) => (Some(*form), true),
                FlagEffect::Switch(_) => (None, true),
                FlagEffect::Instead(_) => (None, false),
            };
            assert_eq!(
                (entry.name.as_str(), entry.value, entry.help),
                (flag.kebab().as_str(), value, flag.help)
            );
            let variable = has_variable.then(|| flag.variable());
            assert_eq!(entry.variable, variable, "{}", flag.name);
        }
        let of = |name: &str| entries.iter().find(|entry| entry.name == name).unwrap();
        assert_eq!(of("db-path").variable.as_deref(), Some("DYNATWIN_DB_PATH"));
        assert_eq!(of("in-memory").variable.as_deref(), Some("DYNATWIN_IN_MEMORY"));
        assert_eq!(of("help").variable, None);
    }
}
