//! The list of rules: each rule as the JSON that adds it.

use super::Twin;
use dynatwin_engine::ErrorKind;
use dynatwin_engine::faults::MODELLED;
use dynatwin_engine::http::{HttpRequest, exception};

/// Verdicts, apart from exceptions.
const VERDICTS: &[&str] = &[
    r#""throttle""#,
    r#"{"throttle":"ProvisionedThroughput"}"#,
    r#"{"throttle":"KeyRangeThroughput"}"#,
    r#"{"throttle":"AccountLimit"}"#,
    r#"{"throttle":"MaxOnDemandThroughput"}"#,
    r#""internalServerError""#,
    r#""internalServerErrorAfterApply""#,
    r#""serviceUnavailable""#,
    r#""itemCollectionSizeLimitExceeded""#,
    r#""limitExceeded""#,
    r#"{"kms":"AccessDenied"}"#,
    r#"{"kms":"Disabled"}"#,
    r#"{"kms":"NotFound"}"#,
    r#"{"wait":0}"#,
    r#"{"wait":2.5}"#,
    r#"{"wait":{"typical":0.1,"longest":2}}"#,
    r#"{"wait":{"typical":0.1,"p99":1,"longest":2}}"#,
    r#""reset""#,
    r#""answerLost""#,
    r#"{"truncate":7}"#,
    r#""corruptChecksum""#,
    r#""failJob""#,
    r#"{"failJob":"S3NoSuchBucket"}"#,
    r#"{"failJob":"S3AccessDenied"}"#,
    r#"{"failJob":"KmsNotFoundException"}"#,
];

/// The members after the verdict, in the order of the declaration.
const MEMBERS: &[&str] = &[
    r#""operation":"PutItem""#,
    r#""table":"tab","index":"by-date""#,
    r#""caller":"me","region":"eu-west-1""#,
    r#""partition":"a \"quoted\" ü""#,
    r#""partitionPrefix":"a""#,
    r#""after":60,"for":30.5"#,
    r#""after":"2026-01-01T00:00:00.250Z","until":"2030-01-01T00:00:00.000Z""#,
    r#""until":0.001"#,
    r#""first":2"#,
    r#""nth":3"#,
    r#""everyNth":4"#,
    r#""share":0"#,
    r#""share":0.05555555555555556"#,
    r#""operation":"Query","table":"tab","index":"i","caller":"me","region":"r","partition":"p","after":1,"until":2,"first":5"#,
];

/// The body of the answer to a control.
fn control(twin: &Twin, method: &str, path: &str, body: &str) -> String {
    let answer = twin.0.handle(&HttpRequest {
        method,
        target: &format!("/_dynatwin/{path}"),
        headers: &[("host", "here"), ("content-type", "application/json")],
        body: body.as_bytes(),
    });
    let text = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 200, "{body}: {text}");
    text
}

/// The texts of the listed rules, as they are written, and as `Rule` prints them.
fn listed(twin: &Twin) -> Vec<String> {
    let list = control(twin, "GET", "faults", "");
    let rules: Vec<String> = twin
        .0
        .faults()
        .report()
        .iter()
        .map(|report| report.rule.to_string())
        .collect();
    for rule in &rules {
        assert!(list.contains(&format!(r#""rule":{rule},"#)), "{rule}: {list}");
    }
    rules
}

#[test]
fn a_listed_rule_can_be_added_again() {
    let verdicts = VERDICTS.iter().map(|verdict| format!(r#"{{"verdict":{verdict}}}"#));
    let members = MEMBERS
        .iter()
        .map(|members| format!(r#"{{"verdict":"reset",{members}}}"#));
    let wait = r#"{"verdict":{"wait":1.5},"operation":"PutItem","first":2,"movesClock":true}"#.to_owned();
    let exceptions = MODELLED.iter().flat_map(|(operation, kinds)| {
        let verdict = |kind| match kind {
            ErrorKind::ItemCollectionSizeLimitExceeded => r#""itemCollectionSizeLimitExceeded""#.to_owned(),
            ErrorKind::LimitExceeded => r#""limitExceeded""#.to_owned(),
            kind => format!(r#"{{"exception":"{}"}}"#, exception(kind)),
        };
        kinds
            .iter()
            .map(move |kind| format!(r#"{{"verdict":{},"operation":"{operation}"}}"#, verdict(*kind)))
    });
    for rule in verdicts.chain(members).chain([wait]).chain(exceptions) {
        let twin = Twin::on_demand();
        control(&twin, "POST", "faults", &rule);
        let first = listed(&twin);
        assert_eq!(first, std::slice::from_ref(&rule));
        control(&twin, "POST", "faults", &first[0]);
        assert_eq!(listed(&twin), [rule.clone(), rule]);
    }
}

/// Defaults are left out, and the members of a rule are in one order.
#[test]
fn a_rule_is_listed_in_one_form() {
    for (sent, listed_as) in [
        (
            r#"{"first": 2, "table": "tab", "movesClock": false, "verdict": {"wait": 1.0}}"#,
            r#"{"verdict":{"wait":1},"table":"tab","first":2}"#,
        ),
        (
            r#"{"verdict": {"failJob": "InternalServerError"}}"#,
            r#"{"verdict":"failJob"}"#,
        ),
        (
            r#"{"verdict": {"exception": "LimitExceededException"}}"#,
            r#"{"verdict":"limitExceeded"}"#,
        ),
    ] {
        let twin = Twin::on_demand();
        control(&twin, "POST", "faults", sent);
        assert_eq!(listed(&twin), [listed_as], "{sent}");
    }
}

/// The rules of an outage are rules like others, for the requests that the outage is for.
#[test]
fn the_rules_of_an_outage_can_be_added_again() {
    let scope = r#""operation":"Query","table":"tab","index":"i","caller":"me","region":"r","partition":"p""#;
    for outage in ["brownout", "throttle-storm", "az-loss"] {
        let twin = Twin::on_demand();
        let body = format!(r#"{{"outage":"{outage}",{scope},"after":60,"for":300}}"#);
        control(&twin, "POST", "outages", &body);
        let parts = listed(&twin);
        assert!(parts.iter().all(|part| part.contains(scope)), "{parts:?}");
        for part in &parts {
            control(&twin, "POST", "faults", part);
        }
        assert_eq!(listed(&twin), [parts.clone(), parts].concat(), "{outage}");
    }
}
