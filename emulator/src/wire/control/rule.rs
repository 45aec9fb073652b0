//! JSON of fault rules.

use std::fmt;

use super::conditions::{moment, seconds};
use super::json::{Json, Members, shortened};
use super::verdict::{read_verdict, write_verdict};
use super::{ControlError, ControlResult, write_number};
use crate::clock::Moment;
use crate::fault::{KeyMatch, Outage, Rule, RuleReport, Trigger, Verdict, When, Window};
use crate::limits;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

/// The conditions of a rule in JSON.
const SCOPE: [&str; 10] = [
    "operation",
    "table",
    "index",
    "caller",
    "region",
    "partition",
    "partitionPrefix",
    "after",
    "until",
    "for",
];

pub fn read_rule(sent: &Json) -> ControlResult<Rule> {
    let mut known = vec!["verdict", "first", "nth", "everyNth", "share", "movesClock"];
    known.extend(SCOPE);
    let members = Members::of("rule", sent, &known)?;
    let verdict = read_verdict(members.get("verdict").unwrap_or(&Json::Null))?;
    let mut rule = read_scope("rule", &members, verdict)?;
    rule.trigger = read_occasion(&members)?;
    rule.moves_clock = members.flag("movesClock")?.unwrap_or(false);
    Ok(rule)
}

/// Reads a named outage, with a rule for its scope and window.
pub fn read_outage(sent: &Json) -> ControlResult<(Outage, Rule)> {
    let mut known = vec!["outage"];
    known.extend(SCOPE);
    let members = Members::of("outage", sent, &known)?;
    let name = members.text("outage")?.unwrap_or_default();
    let outage = Outage::named(name).ok_or_else(|| {
        let name = shortened(name);
        ControlError::malformed(format!(
            "There is no outage \"{name}\"; the outages are brownout, throttle-storm and az-loss."
        ))
    })?;
    Ok((outage, read_scope("outage", &members, Verdict::Reset)?))
}

/// A rule with this verdict, and the matching criteria in the members.
fn read_scope(what: &str, members: &Members<'_>, verdict: Verdict) -> ControlResult<Rule> {
    let text = |name: &str| match members.text(name)? {
        Some(text) if text.len() > limits::HASH_KEY_SIZE => Err(ControlError::malformed(format!(
            "{what}.{name} has more than {} bytes.",
            limits::HASH_KEY_SIZE
        ))),
        text => Ok(text.map(str::to_owned)),
    };
    let mut rule = Rule::new(verdict);
    rule.operation = text("operation")?;
    rule.table = text("table")?;
    rule.index = text("index")?;
    rule.caller = text("caller")?;
    rule.region = text("region")?;
    rule.key = match (text("partition")?, text("partitionPrefix")?) {
        (Some(_), Some(_)) => {
            return Err(ControlError::malformed(
                "A rule cannot have both partition and partitionPrefix.",
            ));
        }
        (Some(text), None) => Some(KeyMatch::Partition(text)),
        (None, text) => text.map(KeyMatch::PartitionPrefix),
    };
    rule.window = Window {
        after: read_when(members, "after")?,
        until: read_when(members, "until")?,
        lasting: members
            .number("for")?
            .map(|length| seconds("for", length))
            .transpose()?,
    };
    if rule.window.until.is_some() && rule.window.lasting.is_some() {
        return Err(ControlError::malformed("A rule cannot have both until and for."));
    }
    Ok(rule)
}

/// A moment, or a number of seconds after the rule is added.
fn read_when(members: &Members<'_>, name: &str) -> ControlResult<Option<When>> {
    Ok(match members.get(name) {
        None => None,
        Some(Json::Text(text)) => Some(When::At(moment(text)?)),
        Some(_) => match members.number(name)? {
            Some(length) => Some(When::In(seconds(name, length)?)),
            None => None,
        },
    })
}

fn write_when(when: When, writer: &mut Writer) {
    match when {
        When::In(length) => write_number(length.as_secs_f64(), writer),
        When::At(moment) => {
            writer.string(&moment.to_string());
        }
    }
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
        ("region", rule.region.as_ref()),
        ("partition", partition),
        ("partitionPrefix", prefix),
    ] {
        if let Some(text) = text {
            object.string(name, text);
        }
    }
    let Window { after, until, lasting } = rule.window;
    for (name, when) in [("after", after), ("until", until), ("for", lasting.map(When::In))] {
        if let Some(when) = when {
            write_when(when, object.member(name));
        }
    }
    match rule.trigger {
        Trigger::Every => {}
        Trigger::First(count) => write_number(count as f64, object.member("first")),
        Trigger::Nth(number) => write_number(number as f64, object.member("nth")),
        Trigger::EveryNth(number) => write_number(number as f64, object.member("everyNth")),
        Trigger::Share(share) => write_number(share, object.member("share")),
    }
    if rule.moves_clock {
        object.boolean("movesClock", true);
    }
    object.close();
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut writer = Writer::new();
        write_rule(self, &mut writer);
        formatter.write_str(&String::from_utf8_lossy(&writer.finish()))
    }
}

/// Writes a rule and its report: its number, the rule as [`read_rule`] reads it, its time, the outage that it belongs to,
/// how many entries it matched, and on how many of those it acted.
pub fn write_report(report: &RuleReport, writer: &mut Writer) {
    let mut object = Object::open(writer);
    object.integer("id", report.id.0 as i64);
    write_rule(&report.rule, object.member("rule"));
    for (name, moment) in [("from", report.from), ("until", report.until)] {
        if moment != Moment::FIRST && moment != Moment::NEVER {
            object.string(name, &moment.to_string());
        }
    }
    if let Some(outage) = report.rule.outage {
        object.string("outage", outage.name());
    }
    object.integer("matched", report.matched as i64);
    object.integer("fired", report.fired as i64);
    object.close();
}

fn read_occasion(members: &Members<'_>) -> ControlResult<Trigger> {
    let (first, nth) = (members.count("first")?, members.count("nth")?);
    let (every_nth, share) = (members.count("everyNth")?, members.share("share")?);
    match (first, nth, every_nth, share) {
        (None, None, None, None) => Ok(Trigger::Every),
        (Some(count), None, None, None) => Ok(Trigger::First(count)),
        (None, Some(number), None, None) => Ok(Trigger::Nth(number)),
        (None, None, Some(number), None) => Ok(Trigger::EveryNth(number)),
        (None, None, None, Some(share)) => Ok(Trigger::Share(share)),
        _ => Err(ControlError::malformed(
            "A rule can have only one of first, nth, everyNth and share.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::verdict::{NAMED, VERDICTS};
    use super::*;
    use crate::conditions::Lag;
    use crate::error::ErrorKind;
    use crate::fault::{Exceeded, JobFault, KmsFault};

    fn read(text: &str) -> Result<Rule, String> {
        read_rule(&Json::read(text.as_bytes()).unwrap()).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn written_json_is_accepted_again() {
        let plain = NAMED.map(|(_, verdict)| verdict);
        let tail = Lag::Seeded {
            typical: Duration::from_millis(300),
            longest: Duration::from_secs(5),
        };
        let others = [
            Verdict::Throttle(Some(Exceeded::KeyRangeThroughput)),
            Verdict::Throttle(Some(Exceeded::AccountLimit)),
            Verdict::Exception(ErrorKind::TransactionConflict),
            Verdict::Kms(KmsFault::Disabled),
            Verdict::FailJob(JobFault::AccessDenied),
            Verdict::Wait(Duration::from_millis(1500)),
            Verdict::WaitAbout(tail),
            Verdict::Truncate(7),
        ];
        let verdicts = plain.into_iter().chain(others);
        let narrow = verdicts.map(|verdict| {
            let rule = Rule::new(verdict).operation("Query").table("T").index("i").caller("me");
            let rule = rule.key(KeyMatch::PartitionPrefix("a\"".into())).first(3);
            rule.region("eu-west-1")
        });
        let wide = [
            Trigger::Every,
            Trigger::Nth(2),
            Trigger::EveryNth(5),
            Trigger::Share(0.25),
        ];
        let wide = wide.map(|trigger| {
            let rule = Rule::new(Verdict::Reset).key(KeyMatch::Partition("a".into()));
            rule.on(trigger)
        });
        let timed = [
            Rule::new(Verdict::Reset)
                .after(Duration::from_mins(1))
                .until(Moment::from_seconds(1_800_000_000)),
            Rule::new(Verdict::Reset)
                .after(Moment::START)
                .lasting(Duration::from_millis(1500)),
            Rule::new(Verdict::Wait(Duration::from_secs(5))).moving_clock(),
        ];
        for rule in narrow.chain(wide).chain(timed) {
            let text = rule.to_string();
            assert_eq!(read(&text), Ok(rule), "{text}");
        }
    }

    #[test]
    fn a_rule_has_one_occasion() {
        let members = [r#""first": 3"#, r#""nth": 3"#, r#""everyNth": 3"#, r#""share": 0.5"#];
        for (at, one) in members.iter().enumerate() {
            assert!(read(&format!(r#"{{"verdict": "reset", {one}}}"#)).is_ok(), "{one}");
            for other in &members[at + 1..] {
                let refused = read(&format!(r#"{{"verdict": "reset", {one}, {other}}}"#));
                let expect = "A rule can have only one of first, nth, everyNth and share.";
                assert_eq!(refused, Err(expect.to_owned()), "{one}, {other}");
            }
        }
    }

    #[test]
    fn unknown_input_is_reported() {
        for (text, expect) in [
            ("{}", format!("A rule needs a verdict: {VERDICTS}")),
            (r#"{"verdict": "explode"}"#, format!("\"explode\" is not a verdict: {VERDICTS}")),
            (
                r#"{"verdict": {"wait": 1, "truncate": 2}}"#,
                format!("A verdict must have one effect: {VERDICTS}"),
            ),
            (
                r#"{"verdict": {"wait": -1}}"#,
                "verdict.wait must be a number of seconds from 0, not -1.".to_owned(),
            ),
            (
                r#"{"verdict": {"truncate": 1.5}}"#,
                "verdict.truncate must be a whole number of bytes from 0.".to_owned(),
            ),
            (
                r#"{"verdict": {"truncate": -1}}"#,
                "verdict.truncate must be a whole number of bytes from 0.".to_owned(),
            ),
            (
                r#"{"verdict": {"throttle": "Mood"}}"#,
                "\"Mood\" is not a reason for a throttle: ProvisionedThroughput, KeyRangeThroughput, AccountLimit or MaxOnDemandThroughput.".to_owned(),
            ),
            (
                r#"{"verdict": "reset", "partition": "a", "partitionPrefix": "a"}"#,
                "A rule cannot have both partition and partitionPrefix.".to_owned(),
            ),
            (
                r#"{"verdict": {"exception": "Mood"}}"#,
                "\"Mood\" is not an exception of the API.".to_owned(),
            ),
            (
                r#"{"verdict": {"kms": "Lost"}}"#,
                "\"Lost\" is not an error of a key: AccessDenied, Disabled or NotFound.".to_owned(),
            ),
            (
                r#"{"verdict": "reset", "until": 5, "for": 5}"#,
                "A rule cannot have both until and for.".to_owned(),
            ),
            (
                r#"{"verdict": "reset", "after": "soon"}"#,
                "\"soon\" is not a time such as 2026-01-01T00:00:00Z.".to_owned(),
            ),
            (
                r#"{"verdict": "reset", "for": -5}"#,
                "for must be a number of seconds from 0, not -5.".to_owned(),
            ),
        ] {
            assert_eq!(read(text), Err(expect), "{text}");
        }
        for name in ["a".repeat(2049), "é".repeat(1025)] {
            let long = format!(r#"{{"verdict": "reset", "table": "{name}"}}"#);
            assert_eq!(read(&long), Err("rule.table has more than 2048 bytes.".to_owned()));
        }
    }

    /// An outage has the scope of a rule, and is refused where a rule is.
    #[test]
    fn outages_have_the_scope_of_rules() {
        let outage = |members: &str| {
            let text = format!(r#"{{"outage": "brownout"{members}}}"#);
            let read = read_outage(&Json::read(text.as_bytes()).unwrap());
            read.map(|(_, rule)| rule).map_err(|refusal| refusal.to_string())
        };
        let rule = |members: &str| read(&format!(r#"{{"verdict": "reset"{members}}}"#));
        let long = "t".repeat(limits::HASH_KEY_SIZE + 1);
        for (members, accepted) in [
            (String::new(), true),
            (r#", "operation": "Query", "table": "T", "index": "i""#.into(), true),
            (
                r#", "caller": "me", "region": "eu-west-1", "partition": "a""#.into(),
                true,
            ),
            (r#", "partitionPrefix": "a", "after": 1, "for": 3"#.into(), true),
            (r#", "after": "2026-01-01T00:00:00Z", "until": 5"#.into(), true),
            (r#", "until": 5, "for": 3"#.into(), false),
            (r#", "after": 1, "until": 5, "for": 3"#.into(), false),
            (r#", "partition": "a", "partitionPrefix": "a""#.into(), false),
            (r#", "after": "soon""#.into(), false),
            (r#", "until": "soon""#.into(), false),
            (r#", "for": -1"#.into(), false),
        ] {
            let (outage, rule) = (outage(&members), rule(&members));
            assert_eq!(outage.is_ok(), accepted, "{members}");
            assert_eq!(outage, rule, "{members}");
        }
        for name in [
            "operation",
            "table",
            "index",
            "caller",
            "region",
            "partition",
            "partitionPrefix",
        ] {
            let members = format!(r#", "{name}": "{long}""#);
            let expect = format!("outage.{name} has more than {} bytes.", limits::HASH_KEY_SIZE);
            assert_eq!(outage(&members), Err(expect));
            let expect = format!("rule.{name} has more than {} bytes.", limits::HASH_KEY_SIZE);
            assert_eq!(rule(&members), Err(expect));
        }
    }
}
