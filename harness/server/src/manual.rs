//! `dynatwin man` and `dynatwin completions`: the manual page and shell completions, derived from the flags.

use std::fmt::Write;

use crate::command::{COMMANDS, Command};

/// A flag as the manual page and the completions show it.
pub(crate) struct Entry {
    /// The name without dashes: `db-path`.
    pub name: String,
    /// The form of its value: `DIR`, `on|off`.
    pub value: Option<&'static str>,
    /// The environment variable that sets it.
    pub variable: Option<String>,
    pub help: &'static str,
}

impl Entry {
    /// Returns the possible values of the flag if they are listed.
    fn choices(&self) -> Vec<&'static str> {
        let value = self.value.unwrap_or_default();
        let choices = value
            .split('|')
            .filter(|choice| choice.chars().all(|letter| !letter.is_ascii_uppercase()));
        choices.filter(|choice| !choice.is_empty()).collect()
    }

    fn takes_file(&self) -> bool {
        matches!(self.value, Some("DIR" | "FILE"))
    }
}

/// Returns the manual page in roff.
pub(crate) fn man(entries: &[Entry]) -> String {
    let mut page = format!(
        ".TH DYNATWIN 1 \"\" \"Dynatwin {}\" \"User Commands\"\n\
         .SH NAME\ndynatwin \\- an emulator of Amazon DynamoDB\n\
         .SH SYNOPSIS\n.B dynatwin\n[\\fIFLAG\\fR]...\n.br\n.B dynatwin\n\\fICOMMAND\\fR [\\fIARGUMENT\\fR]...\n\
         .SH DESCRIPTION\nServes the API of Amazon DynamoDB on localhost:8000. A flag is written as \\-\\-in\\-memory or, as for \
         DynamoDB Local, as \\-inMemory, or set by its environment variable.\n.SH COMMANDS\n",
        env!("CARGO_PKG_VERSION")
    );
    for Command { name, help, .. } in COMMANDS {
        let _ = writeln!(page, ".TP\n.B {name}\n{}", escaped(help));
    }
    page += ".SH FLAGS\n";
    for entry in entries {
        let value = entry
            .value
            .map_or(String::new(), |value| format!(" \\fI{}\\fR", escaped(value)));
        let _ = writeln!(
            page,
            ".TP\n\\fB\\-\\-{}\\fR{value}\n{}",
            escaped(&entry.name),
            escaped(entry.help)
        );
        if let Some(variable) = &entry.variable {
            let _ = writeln!(page, "Environment: {}", escaped(variable));
        }
    }
    page
}

/// Escapes text for roff: dashes stay dashes, and no line starts a macro.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    match text.strip_prefix(['.', '\'']) {
        Some(_) => format!("\\&{text}"),
        None => text,
    }
}

/// Returns the completions of a shell, or `None` for an unknown shell.
pub(crate) fn completions(shell: &str, entries: &[Entry]) -> Option<String> {
    Some(match shell {
        "bash" => bash(entries),
        "zsh" => zsh(entries),
        "fish" => fish(entries),
        _ => return None,
    })
}

fn bash(entries: &[Entry]) -> String {
    let flags: Vec<String> = entries.iter().map(|entry| format!("--{}", entry.name)).collect();
    let commands: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let mut cases = String::new();
    for entry in entries {
        if entry.takes_file() {
            let _ = writeln!(
                cases,
                "    --{}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;",
                entry.name
            );
        } else if !entry.choices().is_empty() {
            let choices = entry.choices().join(" ");
            let _ = writeln!(
                cases,
                "    --{}) COMPREPLY=($(compgen -W '{choices}' -- \"$word\")); return ;;",
                entry.name
            );
        }
    }
    format!(
        "_dynatwin() {{\n  local word=\"${{COMP_WORDS[COMP_CWORD]}}\"\n  case \"${{COMP_WORDS[COMP_CWORD-1]}}\" in\n{cases}  esac\n  \
         COMPREPLY=($(compgen -W '{} {}' -- \"$word\"))\n}}\ncomplete -o default -F _dynatwin dynatwin\n",
        flags.join(" "),
        commands.join(" ")
    )
}

fn zsh(entries: &[Entry]) -> String {
    let quoted = |text: &str| {
        text.replace('\'', "'\\''")
            .replace('[', "\\[")
            .replace(']', "\\]")
            .replace(':', "\\:")
    };
    let mut text = String::from("#compdef dynatwin\n_arguments \\\n");
    for entry in entries {
        let value = match entry.value {
            None => String::new(),
            Some(_) if entry.takes_file() => ":file:_files".into(),
            Some(form) if entry.choices().is_empty() => format!(":{}:", quoted(form)),
            Some(form) => format!(":{}:({})", quoted(form), entry.choices().join(" ")),
        };
        let _ = writeln!(text, "  '--{}[{}]{value}' \\", entry.name, quoted(entry.help));
    }
    let commands: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let _ = writeln!(text, "  '1::command:({})'", commands.join(" "));
    text
}

fn fish(entries: &[Entry]) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut text = String::new();
    for Command { name, help, .. } in COMMANDS {
        let _ = writeln!(
            text,
            "complete -c dynatwin -n __fish_use_subcommand -f -a {name} -d '{}'",
            quoted(help)
        );
    }
    for entry in entries {
        let _ = write!(
            text,
            "complete -c dynatwin -l {} -d '{}'",
            entry.name,
            quoted(entry.help)
        );
        let choices = entry.choices();
        let values = match entry.value {
            None => String::new(),
            Some(_) if entry.takes_file() => " -r -F".to_owned(),
            Some(_) if choices.is_empty() => " -x".to_owned(),
            Some(_) => format!(" -x -a '{}'", choices.join(" ")),
        };
        let _ = writeln!(text, "{values}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::entries;

    #[test]
    fn every_flag_is_in_every_document() {
        let entries = entries();
        for (name, text) in [
            ("man", man(&entries).replace("\\-", "-")),
            ("bash", completions("bash", &entries).unwrap()),
            ("zsh", completions("zsh", &entries).unwrap()),
            ("fish", completions("fish", &entries).unwrap().replace("-l ", "--")),
        ] {
            for entry in &entries {
                assert!(text.contains(&format!("--{}", entry.name)), "{name}: {}", entry.name);
            }
            for Command { name: command, .. } in COMMANDS {
                assert!(text.contains(command), "{name}: {command}");
            }
        }
        let page = man(&entries).replace("\\-", "-");
        for entry in &entries {
            let value = entry.value.map_or(String::new(), |value| format!(" \\fI{value}\\fR"));
            let variable = entry.variable.as_ref();
            let environment = variable.map_or(String::new(), |variable| format!("Environment: {variable}\n"));
            let described = format!(".TP\n\\fB--{}\\fR{value}\n{}\n{environment}", entry.name, entry.help);
            assert!(page.contains(&described), "{described}");
        }
        assert!(completions("csh", &entries).is_none());
    }

    #[test]
    fn listed_values_are_completed() {
        let fish = completions("fish", &entries()).unwrap();
        assert!(
            fish.contains("-l conditions") && fish.contains("-a 'calm aws storm'"),
            "{fish}"
        );
        assert!(fish.contains("-a 'system settable'"), "{fish}");
    }

    /// A flag of each kind, with characters that the shells and roff regard.
    fn kinds() -> Vec<Entry> {
        let entry = |name: &str, value, variable: Option<&str>, help| Entry {
            name: name.into(),
            value,
            variable: variable.map(str::to_owned),
            help,
        };
        vec![
            entry("to-dir", Some("DIR"), Some("DYNATWIN_TO_DIR"), "where [all] is: 'here'"),
            entry("from", Some("FILE"), None, ".file"),
            entry("level", Some("low|high"), None, "a\\b"),
            entry("when", Some("now|MOMENT"), None, "'now'"),
            entry("at", Some("HOST:[PORT]"), None, "any"),
            entry("quiet", None, None, "-"),
        ]
    }

    #[test]
    fn the_manual_page_escapes_its_text() {
        let page = man(&kinds());
        let flags = page.split_once(".SH FLAGS\n").unwrap().1;
        let expected = [
            ".TP\n\\fB\\-\\-to\\-dir\\fR \\fIDIR\\fR\nwhere [all] is: 'here'\nEnvironment: DYNATWIN_TO_DIR\n",
            ".TP\n\\fB\\-\\-from\\fR \\fIFILE\\fR\n\\&.file\n",
            ".TP\n\\fB\\-\\-level\\fR \\fIlow|high\\fR\na\\eb\n",
            ".TP\n\\fB\\-\\-when\\fR \\fInow|MOMENT\\fR\n\\&'now'\n",
            ".TP\n\\fB\\-\\-at\\fR \\fIHOST:[PORT]\\fR\nany\n",
            ".TP\n\\fB\\-\\-quiet\\fR\n\\-\n",
        ];
        assert_eq!(flags, expected.concat());
        for Command { name, help, .. } in COMMANDS {
            let described = format!(".TP\n.B {name}\n{}\n", escaped(help));
            assert!(page.contains(&described), "{described}");
        }
        assert!(page.starts_with(".TH DYNATWIN 1 "), "{page}");
    }

    /// Values that are files complete to files, listed values to themselves, and other values to nothing.
    #[test]
    fn each_shell_completes_values_by_their_kind() {
        let entries = kinds();
        let commands: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        let commands = commands.join(" ");
        let bash = [
            "_dynatwin() {\n  local word=\"${COMP_WORDS[COMP_CWORD]}\"\n  case \"${COMP_WORDS[COMP_CWORD-1]}\" in\n",
            "    --to-dir) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n",
            "    --from) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n",
            "    --level) COMPREPLY=($(compgen -W 'low high' -- \"$word\")); return ;;\n",
            "    --when) COMPREPLY=($(compgen -W 'now' -- \"$word\")); return ;;\n",
            "  esac\n  COMPREPLY=($(compgen -W '--to-dir --from --level --when --at --quiet ",
            &commands,
            "' -- \"$word\"))\n}\ncomplete -o default -F _dynatwin dynatwin\n",
        ];
        assert_eq!(completions("bash", &entries).unwrap(), bash.concat());
        let zsh = [
            "#compdef dynatwin\n_arguments \\\n",
            "  '--to-dir[where \\[all\\] is\\: '\\''here'\\'']:file:_files' \\\n",
            "  '--from[.file]:file:_files' \\\n",
            "  '--level[a\\b]:low|high:(low high)' \\\n",
            "  '--when['\\''now'\\'']:now|MOMENT:(now)' \\\n",
            "  '--at[any]:HOST\\:\\[PORT\\]:' \\\n",
            "  '--quiet[-]' \\\n",
            "  '1::command:(",
            &commands,
            ")'\n",
        ];
        assert_eq!(completions("zsh", &entries).unwrap(), zsh.concat());
        let fish = completions("fish", &entries).unwrap();
        let (of_commands, of_flags) = fish.split_at(fish.find("complete -c dynatwin -l").unwrap());
        let expected = [
            "complete -c dynatwin -l to-dir -d 'where [all] is: \\'here\\'' -r -F\n",
            "complete -c dynatwin -l from -d '.file' -r -F\n",
            "complete -c dynatwin -l level -d 'a\\\\b' -x -a 'low high'\n",
            "complete -c dynatwin -l when -d '\\'now\\'' -x -a 'now'\n",
            "complete -c dynatwin -l at -d 'any' -x\n",
            "complete -c dynatwin -l quiet -d '-'\n",
        ];
        assert_eq!(of_flags, expected.concat());
        assert_eq!(of_commands.lines().count(), COMMANDS.len());
        for (line, Command { name, help, .. }) in of_commands.lines().zip(COMMANDS) {
            let help = help.replace('\\', "\\\\").replace('\'', "\\'");
            assert_eq!(
                line,
                format!("complete -c dynatwin -n __fish_use_subcommand -f -a {name} -d '{help}'")
            );
        }
    }

    #[test]
    fn flags_whose_values_are_files() {
        let entries = entries();
        let files = entries.iter().filter(|entry| entry.takes_file());
        let mut files: Vec<&str> = files.map(|entry| entry.name.as_str()).collect();
        files.sort_unstable();
        assert_eq!(files, ["db-path", "iam", "load", "s3-dir"]);
    }
}
