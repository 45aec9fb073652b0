//! Translates the names of a stage's tables between the target and the cases.
//!
//! Where tables are shared with others, each has a prefix that is unique to this run: in requests, in statements and in
//! ARNs. Client tokens outlive tables, so they have a different suffix in each stage. Stream labels are creation times;
//! in the cases they are the start of a twin's clock. The account of the cases consists of zeros.

use serde_json::Value;

/// The label of a stream that was created at the start of a twin's clock.
const FIRST_LABEL: &str = "2026-01-01T00:00:00.000";

/// The account of the cases in ARNs.
const ACCOUNT: &str = ":000000000000:";

/// The maximum length of a table name.
const LONGEST_NAME: usize = 255;

/// The maximum size of a resource policy in bytes.
const LARGEST_POLICY: usize = 20_480;

/// The maximum length of a client token.
const LONGEST_TOKEN: usize = 36;

/// Members that name a table.
const TABLE_MEMBERS: [&str; 5] = [
    "TableName",
    "SourceTableName",
    "TargetTableName",
    "GlobalTableName",
    "ExclusiveStartTableName",
];

/// Words of a statement that precede a table's name.
const BEFORE_TABLES: [&str; 3] = ["FROM", "INTO", "UPDATE"];

/// The names of tables, streams, tokens and the account in the cases and on the target.
#[derive(Debug)]
pub(super) struct Names {
    prefix: Option<String>,
    known: Vec<String>,
    /// The name of a stream in the cases and on the target.
    streams: Vec<(String, String)>,
    /// The account in ARNs, once an answer has contained it.
    account: Option<String>,
    token: String,
}

/// Text that was inserted into a statement: its line and column, both from 1, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shift {
    line: usize,
    column: usize,
    length: usize,
}

impl Names {
    pub(super) fn new(prefix: Option<String>, known: impl Iterator<Item = String>, token: String) -> Names {
        Names {
            prefix,
            known: known.collect(),
            streams: Vec::new(),
            account: None,
            token,
        }
    }

    /// Records the name of a table that a case creates.
    pub(super) fn know(&mut self, name: String) {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
    }

    /// Makes a valid client token unique to this stage. A token of the maximum length keeps its length.
    pub(super) fn mark_token(&self, request: &mut Value) {
        for member in ["ClientRequestToken", "ClientToken"] {
            if let Some(Value::String(token)) = request.get_mut(member)
                && (1..=LONGEST_TOKEN).contains(&token.len())
                && token.is_ascii()
                && !token.contains('$')
            {
                token.truncate(LONGEST_TOKEN - self.token.len());
                token.push_str(&self.token);
            }
        }
    }

    /// Removes this stage's suffix from the client tokens of an answer.
    fn unmark_tokens(&self, answer: &mut Value) {
        match answer {
            Value::Array(list) => list.iter_mut().for_each(|value| self.unmark_tokens(value)),
            Value::Object(object) => {
                if let Some(Value::String(token)) = object.get_mut("ClientToken")
                    && let Some(length) = token.strip_suffix(&self.token).map(str::len)
                {
                    token.truncate(length);
                }
                object.values_mut().for_each(|value| self.unmark_tokens(value));
            }
            _ => {}
        }
    }

    /// Records a table's latest stream and the account from a description.
    pub(super) fn learn(&mut self, answer: &Value) {
        let described = ["TableDescription", "Table"].map(|member| &answer[member]);
        for table in described {
            if let Some(account) = table["TableArn"].as_str().and_then(|arn| arn.split(':').nth(4)) {
                self.account = Some(format!(":{account}:")).filter(|account| account != ACCOUNT);
            }
            let (Some(name), Some(stream)) = (table["TableName"].as_str(), table["LatestStreamArn"].as_str()) else {
                continue;
            };
            let called = format!("arn:aws:dynamodb:us-east-1{ACCOUNT}table/{name}/stream/{FIRST_LABEL}");
            self.streams.retain(|(known, _)| *known != called);
            self.streams.push((called, stream.to_owned()));
        }
    }

    /// Translates a case's request for the target; returns the insertions into its statements.
    pub(super) fn rename(&self, request: &mut Value) -> Vec<Shift> {
        let mut shifts = Vec::new();
        self.rename_tables(request, &mut shifts);
        replace(request, &|text| {
            let stream = self.streams.iter().find(|(called, _)| called == text);
            stream.map(|(_, is)| is.clone())
        });
        if let Some(account) = &self.account {
            replace(request, &|text| {
                let named = text.contains("arn:") && text.contains(ACCOUNT);
                named.then(|| text.replace(ACCOUNT, account))
            });
        }
        shifts
    }

    fn rename_tables(&self, request: &mut Value, shifts: &mut Vec<Shift>) {
        let Some(prefix) = &self.prefix else { return };
        match request {
            Value::String(text) if text.contains("arn:") => *text = self.prefixed_arns(text, prefix),
            Value::Array(list) => list.iter_mut().for_each(|value| self.rename_tables(value, shifts)),
            Value::Object(object) => {
                for member in TABLE_MEMBERS {
                    if let Some(Value::String(name)) = object.get_mut(member)
                        && self.known.contains(name)
                    {
                        name.insert_str(0, prefix);
                    }
                }
                if let Some(Value::String(statement)) = object.get_mut("Statement") {
                    *statement = self.prefixed_statement(statement, prefix, shifts);
                }
                if let Some(Value::Object(tables)) = object.get_mut("RequestItems") {
                    *tables = std::mem::take(tables)
                        .into_iter()
                        .map(|(name, value)| {
                            let arn = name.contains("arn:").then(|| self.prefixed_arns(&name, prefix));
                            let known = self.known.contains(&name).then(|| format!("{prefix}{name}"));
                            (arn.or(known).unwrap_or(name), value)
                        })
                        .collect();
                }
                object.values_mut().for_each(|value| self.rename_tables(value, shifts));
            }
            _ => {}
        }
    }

    /// A text whose ARNs name tables with the prefix.
    fn prefixed_arns(&self, text: &str, prefix: &str) -> String {
        let mut parts = text.split("table/");
        let mut renamed = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            renamed.push_str("table/");
            let name = part.split(|letter| !is_of_name(letter)).next().unwrap_or_default();
            if self.known.iter().any(|known| known == name) {
                renamed.push_str(prefix);
            }
            renamed.push_str(part);
        }
        renamed
    }

    /// A statement that names tables with the prefix, quoted if necessary.
    fn prefixed_statement(&self, statement: &str, prefix: &str, shifts: &mut Vec<Shift>) -> String {
        let is_identifier = prefix
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && !prefix.starts_with(|first: char| first.is_ascii_digit());
        let mut renamed = String::new();
        let mut put = |renamed: &mut String, text: &str| {
            let line = renamed.matches('\n').count() + 1;
            let column = renamed.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let length = text.chars().count();
            shifts.push(Shift { line, column, length });
            renamed.push_str(text);
        };
        let mut follows = false;
        let mut rest = statement;
        while let Some(first) = rest.chars().next() {
            let length = if is_of_identifier(first) {
                rest.find(|letter| !is_of_identifier(letter)).unwrap_or(rest.len())
            } else if matches!(first, '"' | '\'') {
                rest[1..].find(first).map_or(rest.len(), |end| end + 2)
            } else {
                first.len_utf8()
            };
            let (token, after) = rest.split_at(length);
            let quoted = token.strip_prefix('"').and_then(|token| token.strip_suffix('"'));
            let is_known = |name: &str| self.known.iter().any(|known| known == name);
            match quoted {
                Some(name) if follows && is_known(name) => {
                    renamed.push('"');
                    put(&mut renamed, prefix);
                    renamed.push_str(&token[1..]);
                }
                _ if follows && is_known(token) && !is_identifier => {
                    put(&mut renamed, &format!("\"{prefix}"));
                    renamed.push_str(token);
                    put(&mut renamed, "\"");
                }
                _ if follows && is_known(token) => {
                    put(&mut renamed, prefix);
                    renamed.push_str(token);
                }
                _ => renamed.push_str(token),
            }
            if !first.is_whitespace() {
                follows = BEFORE_TABLES.iter().any(|word| token.eq_ignore_ascii_case(word));
            }
            rest = after;
        }
        renamed
    }

    /// Translates an answer back to the names of the case; `body` is the request's body, and `shifts` are the
    /// insertions into its statements.
    pub(super) fn restore(&self, answer: &mut Value, body: &str, shifts: &[Shift]) {
        replace(answer, &|text| {
            // A longer text that begins with a stream's name is an iterator, and stays unchanged.
            let named = |is: &str| text == is || text.contains(is) && !text.starts_with(is);
            let stream = self.streams.iter().find(|(_, is)| named(is));
            stream.map(|(called, is)| text.replace(is.as_str(), called))
        });
        if let Some(account) = &self.account {
            replace(answer, &|text| {
                let named = text.contains("arn:") && text.contains(account.as_str());
                named.then(|| text.replace(account.as_str(), ACCOUNT))
            });
        }
        self.unmark_tokens(answer);
        if let Some(prefix) = &self.prefix {
            replace(answer, &|text| {
                position_in_body(text, body, prefix).or_else(|| position_in_statement(text, shifts))
            });
            restore_tables(answer, prefix);
        }
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-')
}

fn is_of_identifier(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// A text whose `line 1 column 30` counts the body without the prefixes before that column.
fn position_in_body(text: &str, body: &str, prefix: &str) -> Option<String> {
    let (before, column) = text.rsplit_once(" at line 1 column ")?;
    let column: usize = column.parse().ok()?;
    let prefixes = body.get(..column)?.matches(prefix).count();
    Some(format!(
        "{before} at line 1 column {}",
        column - prefixes * prefix.len()
    ))
}

/// A text whose ` at 1:25:3` counts the statement without the insertions before that column.
fn position_in_statement(text: &str, shifts: &[Shift]) -> Option<String> {
    let at = text.rfind(" at ")? + " at ".len();
    let end = text[at..]
        .find(|letter: char| !letter.is_ascii_digit() && letter != ':')
        .map_or(text.len(), |end| at + end);
    let mut numbers = text[at..end].split(':').map(str::parse::<usize>);
    let (Some(Ok(line)), Some(Ok(column)), Some(Ok(length)), None) =
        (numbers.next(), numbers.next(), numbers.next(), numbers.next())
    else {
        return None;
    };
    let put = |from: usize, to: usize| {
        let shifts = shifts
            .iter()
            .filter(|shift| shift.line == line && (from..to).contains(&shift.column));
        shifts.map(|shift| shift.length).sum::<usize>()
    };
    let length = length.saturating_sub(put(column, column + length));
    let column = column.saturating_sub(put(0, column));
    Some(format!("{}{line}:{column}:{length}{}", &text[..at], &text[end..]))
}

fn restore_tables(answer: &mut Value, prefix: &str) {
    match answer {
        Value::String(text) if text.contains(prefix) => *text = text.replace(prefix, ""),
        Value::Array(list) => list.iter_mut().for_each(|value| restore_tables(value, prefix)),
        Value::Object(object) => {
            *object = std::mem::take(object)
                .into_iter()
                .map(|(name, mut value)| {
                    restore_tables(&mut value, prefix);
                    (name.replace(prefix, ""), value)
                })
                .collect();
        }
        _ => {}
    }
}

/// Replaces texts wherever they occur.
fn replace(value: &mut Value, by: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = by(text) {
                *text = other;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, by)),
        Value::Object(object) => object.values_mut().for_each(|value| replace(value, by)),
        _ => {}
    }
}

/// The table name in a CreateTable request, if it is valid.
pub(super) fn table_name(request: &Value) -> Option<String> {
    valid_name(&request["TableName"])
}

/// A table's name, if it is valid.
pub(super) fn valid_name(name: &Value) -> Option<String> {
    let name = name.as_str()?;
    ((3..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_of_name)).then(|| name.to_owned())
}

/// Whether a request keeps its meaning with names that are longer by this much: its names and its policy stay within
/// their limits.
pub(super) fn has_room(request: &Value, prefix: usize) -> bool {
    let fits = |text: &str, limit: usize, more: usize| !(text.len() <= limit && text.len() + more > limit);
    let name = &request["TableName"];
    let policy = request["Policy"].as_str().unwrap_or_default();
    fits(name.as_str().unwrap_or_default(), LONGEST_NAME, prefix)
        && fits(policy, LARGEST_POLICY, prefix * policy.matches("table/").count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(prefix: Option<&str>, known: &[&str], token: &str) -> Names {
        let known = known.iter().map(|name| (*name).to_owned());
        Names::new(prefix.map(str::to_owned), known, token.to_owned())
    }

    #[test]
    fn tables_have_a_prefix_where_they_are_shared() {
        let mut names = names(Some("p_"), &["one"], "7");
        names.learn(&json!({"Table": {"TableArn": "arn:aws:dynamodb:us-east-1:123456789012:table/p_one"}}));
        let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/one/index/by-g";
        let renamed = "arn:aws:dynamodb:us-east-1:123456789012:table/p_one/index/by-g";
        let other = "arn:aws:dynamodb:us-east-1:000000000000:table/oneself";
        let mut request = json!({
            "RequestItems": {"one": [{"x": {"TableName": "one"}}], "two": [], arn: []}, "TableName": "two",
            "SourceTableName": "one", "TargetTableName": "one", "ResourceArn": arn, "Other": other,
            "Statement": "SELECT one FROM one"});
        let before = request.clone();
        let shifts = names.rename(&mut request);
        assert_eq!(
            request,
            json!({
                "RequestItems": {"p_one": [{"x": {"TableName": "p_one"}}], "two": [],
                    renamed.replace("123456789012", "000000000000"): []},
                "TableName": "two", "SourceTableName": "p_one", "TargetTableName": "p_one", "ResourceArn": renamed,
                "Other": other.replace("000000000000", "123456789012"), "Statement": "SELECT one FROM p_one"})
        );
        let body = request.to_string();
        names.restore(&mut request, &body, &shifts);
        assert_eq!(request, before);
    }

    #[test]
    fn statements_name_their_tables() {
        for (prefix, statement, renamed, shift) in [
            (
                "p_",
                "SELECT * FROM one WHERE one = 1",
                "SELECT * FROM p_one WHERE one = 1",
                Some((15, 2)),
            ),
            (
                "p_",
                "select * from \"one\".\"by-g\"",
                "select * from \"p_one\".\"by-g\"",
                Some((16, 2)),
            ),
            (
                "p_",
                "INSERT INTO one VALUE {'pk': 'FROM one'}",
                "INSERT INTO p_one VALUE {'pk': 'FROM one'}",
                Some((13, 2)),
            ),
            ("p-", "UPDATE one SET v = 1", "UPDATE \"p-one\" SET v = 1", Some((8, 3))),
            (
                "p_",
                "SELECT * FROM one.g WHERE a = 1",
                "SELECT * FROM p_one.g WHERE a = 1",
                Some((15, 2)),
            ),
            ("p_", "DELETE FROM two", "DELETE FROM two", None),
            (
                "p_",
                "EXISTS(SELECT * FROM one WHERE pk = 'é\"",
                "EXISTS(SELECT * FROM p_one WHERE pk = 'é\"",
                Some((22, 2)),
            ),
        ] {
            let mut shifts = Vec::new();
            let names = names(Some(prefix), &["one"], "");
            assert_eq!(names.prefixed_statement(statement, prefix, &mut shifts), renamed);
            let first = shifts.first().map(|shift| (shift.column, shift.length));
            assert_eq!(first, shift, "{statement}");
        }
    }

    #[test]
    fn names_at_the_limit_take_no_prefix() {
        for (request, expect) in [
            (json!({"TableName": "t".repeat(253)}), true),
            (json!({"TableName": "t".repeat(254)}), false),
            (json!({"TableName": "t".repeat(256)}), true),
            (json!({"Policy": format!("{}table/one", "p".repeat(20_470))}), false),
            (json!({"Policy": "p".repeat(20_480)}), true),
        ] {
            assert_eq!(has_room(&request, 2), expect);
        }
    }

    #[test]
    fn positions_are_those_of_the_case() {
        let shifts = [Shift {
            line: 1,
            column: 15,
            length: 2,
        }];
        for (text, restored) in [
            (
                "Unrecognized function: foo at 1:27:3",
                Some("Unrecognized function: foo at 1:25:3"),
            ),
            (
                "Unrecognized function: foo at 1:9:3",
                Some("Unrecognized function: foo at 1:9:3"),
            ),
            (
                "Unrecognized function: foo at 2:27:3",
                Some("Unrecognized function: foo at 2:27:3"),
            ),
            ("A name at 1:15:6", Some("A name at 1:15:4")),
            ("not at all", None),
        ] {
            assert_eq!(position_in_statement(text, &shifts).as_deref(), restored);
        }
        let body = r#"{"TableName":"p_one"}"#;
        let text = position_in_body("missing field at line 1 column 21", body, "p_");
        assert_eq!(text.as_deref(), Some("missing field at line 1 column 19"));
    }

    #[test]
    fn streams_are_called_as_in_the_cases() {
        let mut names = names(None, &[], "");
        names.learn(&json!({"Table": {"TableName": "one", "LatestStreamArn": "arn:other"}}));
        let called = format!("arn:aws:dynamodb:us-east-1:000000000000:table/one/stream/{FIRST_LABEL}");
        let mut request = json!({"StreamArn": called});
        names.rename(&mut request);
        assert_eq!(request["StreamArn"], "arn:other");
        let mut answer = json!({"message": "no arn:other"});
        names.restore(&mut answer, "", &[]);
        assert_eq!(answer["message"], format!("no {called}"));
    }

    #[test]
    fn tokens_stay_valid() {
        let names = names(None, &[], "77");
        let (longest, longer) = ("x".repeat(36), "x".repeat(37));
        for (token, marked) in [
            ("a", "a77"),
            ("", ""),
            (&longest, &("x".repeat(34) + "77")),
            (&longer, &longer),
            ("a$b", "a$b"),
        ] {
            let mut request = json!({"ClientRequestToken": token});
            names.mark_token(&mut request);
            assert_eq!(request["ClientRequestToken"], *marked);
        }
        let mut answer = json!({"ExportDescription": {"ClientToken": "a77"}});
        names.restore(&mut answer, "", &[]);
        assert_eq!(answer, json!({"ExportDescription": {"ClientToken": "a"}}));
    }
}
