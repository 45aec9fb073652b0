//! How fault rules are told and shown.

use super::conditions::seconds;
use super::json::{Json, Members, shortened};
use super::{Heard, Refusal, write_number};
use crate::fault::{Exceeded, KeyMatch, Occasion, Rule, RuleReport, Verdict};
use crate::limits;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const VERDICTS: &str = "throttle, { throttle: reason }, internalServerError, serviceUnavailable, \
                        itemCollectionSizeLimitExceeded, limitExceeded, { wait: seconds }, reset, answerLost or { truncate: bytes }.";

/// The verdicts that have nothing but a name.
const NAMED: [(&str, Verdict); 7] = [
    ("throttle", Verdict::Throttle(None)),
    ("internalServerError", Verdict::InternalServerError),
    ("serviceUnavailable", Verdict::ServiceUnavailable),
    (
        "itemCollectionSizeLimitExceeded",
        Verdict::ItemCollectionSizeLimitExceeded,
    ),
    ("limitExceeded", Verdict::LimitExceeded),
    ("reset", Verdict::Reset),
    ("answerLost", Verdict::AnswerLost),
];

/// The reasons of a throttle.
const REASONS: [(&str, Exceeded); 4] = [
    ("ProvisionedThroughput", Exceeded::ProvisionedThroughput),
    ("KeyRangeThroughput", Exceeded::KeyRangeThroughput),
    ("AccountLimit", Exceeded::AccountLimit),
    ("MaxOnDemandThroughput", Exceeded::MaxOnDemandThroughput),
];

/// The name of what ran out.
pub fn exceeded_name(exceeded: Exceeded) -> &'static str {
    let found = REASONS.iter().find(|(_, reason)| *reason == exceeded);
    found.map_or("", |(name, _)| name)
}

/// A fault rule.
pub fn read_rule(told: &Json) -> Heard<Rule> {
    let known = [
        "verdict",
        "operation",
        "table",
        "index",
        "caller",
        "partition",
        "partitionPrefix",
        "first",
        "nth",
        "everyNth",
        "share",
    ];
    let members = Members::of("rule", told, &known)?;
    let text = |name: &str| match members.text(name)? {
        Some(text) if text.len() > limits::HASH_KEY_SIZE => Err(Refusal::malformed(format!(
            "rule.{name} has more than {} bytes.",
            limits::HASH_KEY_SIZE
        ))),
        text => Ok(text.map(str::to_owned)),
    };
    let mut rule = Rule::new(read_verdict(members.get("verdict").unwrap_or(&Json::Null))?);
    rule.operation = text("operation")?;
    rule.table = text("table")?;
    rule.index = text("index")?;
    rule.caller = text("caller")?;
    rule.key = match (text("partition")?, text("partitionPrefix")?) {
        (Some(_), Some(_)) => {
            return Err(Refusal::malformed("A rule has partition or partitionPrefix, not both."));
        }
        (Some(text), None) => Some(KeyMatch::Partition(text)),
        (None, text) => text.map(KeyMatch::PartitionPrefix),
    };
    rule.occasion = read_occasion(&members)?;
    Ok(rule)
}

/// A rule as [`read_rule`] reads it.
fn write_rule(rule: &Rule, writer: &mut Writer) {
    let mut object = Object::open(writer);
    write_verdict(rule.verdict, object.member("verdict"));
    let (partition, prefix) = match &rule.key {
        None => (None, None),
        Some(KeyMatch::Partition(text)) => (Some(text), None),
        Some(KeyMatch::PartitionPrefix(text)) => (None, Some(text)),
    };
    for (name, text) in [
        ("operation", rule.operation.as_ref()),
        ("table", rule.table.as_ref()),
        ("index", rule.index.as_ref()),
        ("caller", rule.caller.as_ref()),
        ("partition", partition),
        ("partitionPrefix", prefix),
    ] {
        if let Some(text) = text {
            object.string(name, text);
        }
    }
    match rule.occasion {
        Occasion::Every => {}
        Occasion::First(count) => write_number(count as f64, object.member("first")),
        Occasion::Nth(number) => write_number(number as f64, object.member("nth")),
        Occasion::EveryNth(number) => write_number(number as f64, object.member("everyNth")),
        Occasion::Share(share) => write_number(share, object.member("share")),
    }
    object.close();
}

/// A rule and what it did: its number, the rule in words and as it was told, how many entries it matched, on how many of
/// those it acted.
pub fn write_report(report: &RuleReport, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.integer("id", report.id.0 as i64);
    object.string("rule", &report.rule.to_string());
    write_rule(&report.rule, object.member("told"));
    object.integer("matched", report.matched as i64);
    object.integer("fired", report.fired as i64);
    object.close();
}

fn read_verdict(told: &Json) -> Heard<Verdict> {
    match told {
        Json::Text(word) => {
            let found = NAMED.iter().find(|(name, _)| name == word);
            return found.map(|(_, verdict)| *verdict).ok_or_else(|| {
                let word = shortened(word);
                Refusal::malformed(format!("\"{word}\" is no verdict: {VERDICTS}"))
            });
        }
        Json::Object(_) => {}
        _ => return Err(Refusal::malformed(format!("A rule needs a verdict: {VERDICTS}"))),
    }
    let members = Members::of("verdict", told, &["throttle", "wait", "truncate"])?;
    match (
        members.text("throttle")?,
        members.number("wait")?,
        members.number("truncate")?,
    ) {
        (Some(name), None, None) => Ok(Verdict::Throttle(Some(read_exceeded(name)?))),
        (None, Some(length), None) => Ok(Verdict::Wait(seconds("verdict.wait", length)?)),
        (None, None, Some(bytes)) if bytes >= 0.0 => Ok(Verdict::Truncate(bytes as usize)),
        _ => Err(Refusal::malformed(format!("A verdict says one thing: {VERDICTS}"))),
    }
}

fn write_verdict(verdict: Verdict, writer: &mut Writer) {
    if let Some((name, _)) = NAMED.iter().find(|(_, named)| *named == verdict) {
        writer.string(name);
        return;
    }
    let mut object = Object::open(writer);
    match verdict {
        Verdict::Throttle(Some(exceeded)) => object.string("throttle", exceeded_name(exceeded)),
        Verdict::Wait(length) => write_number(length.as_secs_f64(), object.member("wait")),
        Verdict::Truncate(bytes) => write_number(bytes as f64, object.member("truncate")),
        // All others have a name.
        _ => {}
    }
    object.close();
}

fn read_exceeded(name: &str) -> Heard<Exceeded> {
    let found = REASONS.iter().find(|(known, _)| *known == name);
    found.map(|(_, reason)| *reason).ok_or_else(|| {
        let name = shortened(name);
        Refusal::malformed(format!(
            "\"{name}\" is no reason for a throttle: ProvisionedThroughput, KeyRangeThroughput, AccountLimit or \
             MaxOnDemandThroughput."
        ))
    })
}

fn read_occasion(members: &Members<'_>) -> Heard<Occasion> {
    let (first, nth) = (members.count("first")?, members.count("nth")?);
    let (every_nth, share) = (members.count("everyNth")?, members.share("share")?);
    match (first, nth, every_nth, share) {
        (None, None, None, None) => Ok(Occasion::Every),
        (Some(count), None, None, None) => Ok(Occasion::First(count)),
        (None, Some(number), None, None) => Ok(Occasion::Nth(number)),
        (None, None, Some(number), None) => Ok(Occasion::EveryNth(number)),
        (None, None, None, Some(share)) => Ok(Occasion::Share(share)),
        _ => Err(Refusal::malformed(
            "A rule has one of first, nth, everyNth and share, or none of them.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read(text: &str) -> Result<Rule, String> {
        read_rule(&Json::read(text.as_bytes()).unwrap()).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_is_shown_can_be_told() {
        let plain = NAMED.map(|(_, verdict)| verdict);
        let reasons = REASONS.map(|(_, reason)| Verdict::Throttle(Some(reason)));
        let others = [Verdict::Wait(Duration::from_millis(1500)), Verdict::Truncate(7)];
        let verdicts = plain.into_iter().chain(reasons).chain(others);
        let narrow = verdicts.map(|verdict| {
            let rule = Rule::new(verdict).operation("Query").table("T").index("i").caller("me");
            rule.key(KeyMatch::PartitionPrefix("a\"".into())).first(3)
        });
        let wide = [
            Occasion::Every,
            Occasion::Nth(2),
            Occasion::EveryNth(5),
            Occasion::Share(0.25),
        ];
        let wide = wide.map(|occasion| {
            let rule = Rule::new(Verdict::Reset).key(KeyMatch::Partition("a".into()));
            rule.on(occasion)
        });
        for rule in narrow.chain(wide) {
            let mut writer = Writer::new();
            write_rule(&rule, &mut writer);
            let text = String::from_utf8(writer.finish()).unwrap();
            assert_eq!(read(&text), Ok(rule), "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (text, expect) in [
            ("{}", format!("A rule needs a verdict: {VERDICTS}")),
            (r#"{"verdict": "explode"}"#, format!("\"explode\" is no verdict: {VERDICTS}")),
            (
                r#"{"verdict": {"wait": 1, "truncate": 2}}"#,
                format!("A verdict says one thing: {VERDICTS}"),
            ),
            (
                r#"{"verdict": {"wait": -1}}"#,
                "verdict.wait takes a number of seconds from 0 on, and -1 is none.".to_owned(),
            ),
            (
                r#"{"verdict": {"throttle": "Mood"}}"#,
                "\"Mood\" is no reason for a throttle: ProvisionedThroughput, KeyRangeThroughput, AccountLimit or MaxOnDemandThroughput.".to_owned(),
            ),
            (
                r#"{"verdict": "reset", "first": 1, "nth": 2}"#,
                "A rule has one of first, nth, everyNth and share, or none of them.".to_owned(),
            ),
            (
                r#"{"verdict": "reset", "partition": "a", "partitionPrefix": "a"}"#,
                "A rule has partition or partitionPrefix, not both.".to_owned(),
            ),
        ] {
            assert_eq!(read(text), Err(expect), "{text}");
        }
        let long = format!(r#"{{"verdict": "reset", "table": "{}"}}"#, "a".repeat(2049));
        assert_eq!(read(&long), Err("rule.table has more than 2048 bytes.".to_owned()));
    }
}
