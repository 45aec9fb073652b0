//! The credentials and policies of `--verify-signatures` and `--iam`.

use std::fs::File;
use std::io::{ErrorKind, Read};

use dynatwin_engine::Engine;
use dynatwin_engine::iam::{Directory, PolicyWarning, SigningKey};
use dynatwin_engine::quotas::REQUEST_BODY;

use crate::flags::Flags;

/// Returns the keys for the verification of signatures, from the environment, if it is enabled. With `--iam` there may be none.
pub(crate) fn signing_keys(
    flags: &Flags,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(String, SigningKey)>, String> {
    if !flags.verify_signatures {
        return Ok(None);
    }
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let Some((id, secret)) = set("AWS_ACCESS_KEY_ID").zip(set("AWS_SECRET_ACCESS_KEY")) else {
        // The signatures of the access keys in its configuration are always verified.
        if flags.iam.is_some() {
            return Ok(None);
        }
        return Err("--verify-signatures needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in its environment".into());
    };
    let key = SigningKey {
        secret,
        session_token: set("AWS_SESSION_TOKEN"),
        expires: None,
    };
    Ok(Some((id, key)))
}

/// Configures the accounts and policies of `--iam`, and returns warnings about policies. An error is a sentence without
/// secrets.
pub(crate) fn configure_access(flags: &Flags, engine: &Engine) -> Result<Vec<String>, String> {
    let Some(file) = &flags.iam else {
        return Ok(Vec::new());
    };
    let bytes = read(file).map_err(|error| format!("{file}: {error}"))?;
    let text = dynatwin_seed::decode_text(file, bytes);
    let json = text.and_then(|text| dynatwin_seed::to_json(file, &text));
    let json = json.map_err(|error| error.to_string())?;
    let directory = Directory::read(&json, engine.clock().now()).map_err(|why| format!("{file}: {why}"))?;
    let found = directory.warnings();
    engine.set_initial_access(directory);
    let warnings = found.into_iter().map(|warning| {
        let PolicyWarning {
            policy,
            statement,
            code,
            message,
        } = warning;
        format!("{file}: {policy}, statement {statement}: {code}: {message}")
    });
    Ok(warnings.collect())
}

/// Reads a file of at most the size of a request's body.
fn read(file: &str) -> std::io::Result<Vec<u8>> {
    let most = REQUEST_BODY as u64;
    let mut bytes = Vec::new();
    File::open(file)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use dynatwin_engine::http::HttpRequest;

    use super::*;
    use crate::engine::engine;
    use crate::flags::{Invocation, parse};

    #[test]
    fn keys_of_signatures_come_from_the_environment_or_from_the_access_configuration() {
        let keys = |words: &[&str], variable: fn(&str) -> Option<String>| match parse(
            words.iter().map(|word| (*word).to_owned()),
            |_| None,
        ) {
            Ok(Invocation::Run(flags)) => signing_keys(&flags, variable).map(|keys| keys.map(|(id, _)| id)),
            other => panic!("{words:?}: {other:?}"),
        };
        assert_eq!(keys(&[], |name| Some(name.into())), Ok(None));
        let found = keys(&["--verify-signatures"], |name| Some(name.into()));
        assert_eq!(found, Ok(Some("AWS_ACCESS_KEY_ID".into())));
        let Ok(Invocation::Run(flags)) = parse(["--verify-signatures".to_owned()], |_| None) else {
            panic!("the flag is known");
        };
        let (_, key) = signing_keys(&flags, |name| Some(format!("the {name}")))
            .unwrap()
            .unwrap();
        assert_eq!(key.secret, "the AWS_SECRET_ACCESS_KEY");
        assert_eq!(key.session_token.as_deref(), Some("the AWS_SESSION_TOKEN"));
        let (_, key) = signing_keys(&flags, |name| Some(name.into()).filter(|_| name != "AWS_SESSION_TOKEN"))
            .unwrap()
            .unwrap();
        assert_eq!(key.session_token, None);
        assert!(keys(&["--verify-signatures"], |_| None).is_err());
        // An empty variable is none.
        for empty in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            let Ok(Invocation::Run(flags)) = parse(["--verify-signatures".to_owned()], |_| None) else {
                panic!("the flag is known");
            };
            let set = |name: &str| Some(if name == empty { String::new() } else { name.into() });
            assert!(signing_keys(&flags, set).is_err(), "{empty}");
        }
        assert_eq!(
            keys(&["--verify-signatures", "--iam", "access.yaml"], |_| None),
            Ok(None)
        );
    }

    /// A variable that is empty, as compose files set it, is like one that is not set.
    #[test]
    fn an_empty_credential_is_none() {
        let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
        let values = [None, Some(""), Some("value")];
        for (key, secret, token) in values
            .iter()
            .flat_map(|key| values.map(|secret| (*key, secret)))
            .flat_map(|(key, secret)| values.map(|token| (key, secret, token)))
        {
            let variable = |name: &str| {
                let at = names.iter().position(|known| *known == name)?;
                [key, secret, token][at].map(str::to_owned)
            };
            let context = format!("{key:?}, {secret:?}, {token:?}");
            let is_complete = key == Some("value") && secret == Some("value");
            let expected = is_complete.then(|| token.filter(|token| !token.is_empty()).map(str::to_owned));
            for (words, without) in [
                (&["--verify-signatures"][..], Err(())),
                (&["--verify-signatures", "--iam", "a.yaml"], Ok(None)),
            ] {
                let found = signing_keys(&Flags::of(words), variable);
                let found = found.map(|key| key.map(|(_, key)| key.session_token)).map_err(drop);
                assert_eq!(
                    found,
                    expected.clone().map_or(without, |token| Ok(Some(token))),
                    "{words:?}: {context}"
                );
            }
            for words in [&[][..], &["--iam", "a.yaml"], &["--verify-signatures=off"]] {
                let found = signing_keys(&Flags::of(words), variable);
                assert!(matches!(found, Ok(None)), "{words:?}: {context}");
            }
        }
    }

    /// The number of an account keeps its leading zeros without quotes, and the encodings of other editors are read or named.
    #[test]
    fn access_is_configured_by_files_of_any_editor() {
        let yaml = "
accounts:
  012345678901:
    accessKeys: [{accessKeyId: AKIAROOT, secretAccessKey: root}]
    roles:
      Reader:
        policies:
        - Version: 2012-10-17
          Statement:
          - Effect: Allow
            Action: dynamodb:GetItem
            Resource: '*'
            Condition: {StringEquals: {aws:PrincipalAccount: 012345678901}}
";
        let path = std::env::temp_dir().join(format!("dynatwin-access-{}.yaml", std::process::id()));
        let words = ["--iam", path.to_str().unwrap()].map(str::to_owned);
        let Ok(Invocation::Run(flags)) = parse(words, |_| None) else {
            panic!("the flag is known");
        };
        let utf_16: Vec<u8> = format!("\u{feff}{yaml}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for (bytes, expect) in [
            (yaml.as_bytes().to_vec(), None),
            (format!("\u{feff}{yaml}").into_bytes(), None),
            (utf_16, Some("is in UTF-16")),
            (vec![b'a', 0x80], Some("invalid utf-8")),
        ] {
            std::fs::write(&path, &bytes).unwrap();
            let configured = configure_access(&flags, &engine(&flags));
            match (&configured, expect) {
                (Ok(_), None) => {}
                (Err(error), Some(expect)) => assert!(error.contains(expect), "{error}"),
                _ => panic!("{configured:?}, not {expect:?}"),
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    /// What is wrong with a file begins with its name, and so do warnings about its policies.
    #[test]
    fn problems_of_access_name_the_file() {
        let path = std::env::temp_dir().join(format!("dynatwin-warnings-{}.json", std::process::id()));
        let file = path.to_str().unwrap();
        let flags = Flags::of(&["--iam", file]);
        let engine = engine(&flags);
        let _ = std::fs::remove_file(&path);
        let missing = configure_access(&flags, &engine).unwrap_err();
        assert_eq!(missing, format!("{file}: No such file or directory (os error 2)"));
        for (text, problem) in [
            ("{", ""),
            (r#"{"accounts": {"1": {}}}"#, ": "),
            (r#"{"account": {}}"#, ": "),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = configure_access(&flags, &engine).unwrap_err();
            assert!(error.starts_with(&format!("{file}{problem}")), "{text}: {error}");
        }
        let users = r#"{"accounts": {"123456789012": {"users": {
            "ann": {"policies": [
                {"Statement": [
                    {"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"},
                    {"Effect": "Allow", "Action": "dynamodb:GetItems", "Resource": "*"},
                    {"Effect": "Allow", "Action": "dynamodb:PutItems", "Resource": "*"}]},
                {"Statement": [{"Effect": "Allow", "Action": "dynamodb:Scans", "Resource": "*"}]}]},
            "bob": {"policies": [{"Statement": [{"Effect": "Allow", "Action": "dynamodb:Queries", "Resource": "*"}]}]}}}}}"#;
        std::fs::write(&path, users).unwrap();
        let warnings = configure_access(&flags, &engine).unwrap();
        let expected = [
            ("ann.policies.0", 2, "GetItems"),
            ("ann.policies.0", 3, "PutItems"),
            ("ann.policies.1", 1, "Scans"),
            ("bob.policies.0", 1, "Queries"),
        ]
        .map(|(policy, statement, action)| {
            format!(
                "{file}: accounts.123456789012.users.{policy}, statement {statement}: UnknownAction: dynamodb:{action} is not \
                 an action of DynamoDB, so it matches nothing."
            )
        });
        assert_eq!(warnings, expected);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(configure_access(&Flags::of(&[]), &engine), Ok(vec![]));
    }

    /// The sessions of the file begin at the time of the clock.
    #[test]
    fn sessions_of_the_file_begin_at_the_time_of_the_clock() {
        let path = std::env::temp_dir().join(format!("dynatwin-sessions-{}.json", std::process::id()));
        let text = r#"{"accounts": {"123456789012": {"users": {"ann": {"sessions": [
            {"accessKeyId": "ASIAANN", "secretAccessKey": "ann", "sessionToken": "token"}]}}}}}"#;
        std::fs::write(&path, text).unwrap();
        let question = br#"{"accessKeyId": "ASIAANN", "action": "dynamodb:GetItem", "resource": "*"}"#;
        for (start, issued) in [
            ("settable", "2026-01-01T00:00:00.000Z"),
            // A clock that runs, so without seconds.
            ("2030-02-03T04:05:00Z", "2030-02-03T04:05:"),
        ] {
            let flags = Flags::of(&["--iam", path.to_str().unwrap(), "--clock", start]);
            let engine = engine(&flags);
            configure_access(&flags, &engine).unwrap();
            let explained = engine.handle(&HttpRequest {
                method: "POST",
                target: "/_dynatwin/access/explain",
                headers: &[("host", "localhost"), ("content-type", "application/json")],
                body: question,
            });
            let text = String::from_utf8_lossy(&explained.body);
            let issued = format!(r#""aws:TokenIssueTime":"{issued}"#);
            assert!(text.contains(&issued), "{start}: {text}");
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_has_a_largest_size() {
        let path = std::env::temp_dir().join(format!("dynatwin-largest-{}", std::process::id()));
        for (size, fits) in [(REQUEST_BODY, true), (REQUEST_BODY + 1, false)] {
            std::fs::write(&path, vec![b' '; size]).unwrap();
            let bytes = read(path.to_str().unwrap());
            assert_eq!(bytes.is_ok_and(|bytes| bytes.len() == size), fits, "{size}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
