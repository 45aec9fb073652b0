//! The time in which rules and outages act: from, until and for, in the past, now and in the future.

use std::time::Duration;

use super::Twin;
use crate::common::caller;
use dynatwin_engine::Moment;
use dynatwin_engine::faults::{InvalidRule, Outage, Rule, Verdict, Window};
use dynatwin_engine::http::HttpRequest;
use serde_json::{Value, json};

/// How long after the start of the clock rules are added.
const ADDED: Duration = Duration::from_secs(1000);

/// Returns a twin whose clock is at the moment at which rules are added.
fn twin() -> Twin {
    let twin = Twin::on_demand();
    twin.0.advance(ADDED);
    twin
}

/// A moment that is so many seconds after the rule is added, or before.
fn at(seconds: i64) -> Moment {
    Moment::from_seconds((Moment::START.plus(ADDED)).seconds() + seconds)
}

/// One end of a window: a moment or a duration, both relative to when the rule is added.
#[derive(Clone, Copy, Debug)]
enum End {
    No,
    At(i64),
    In(u64),
}

use End::{At, In, No};

/// From when until when a rule acts, in seconds after it is added; without an end forever.
type Span = (u64, Option<u64>);

/// Windows (after, until, for), and when rules with them act; `None` if they are refused.
const WINDOWS: &[(End, End, Option<u64>, Option<Span>)] = &[
    (No, No, None, Some((0, None))),
    (No, No, Some(90), Some((0, Some(90)))),
    (No, No, Some(0), Some((0, Some(0)))),
    (No, In(60), None, Some((0, Some(60)))),
    (No, At(60), None, Some((0, Some(60)))),
    (No, At(0), None, Some((0, Some(0)))),
    (No, At(-60), None, Some((0, Some(0)))),
    // It has begun, and lasts from when it is added.
    (At(-60), No, None, Some((0, None))),
    (At(-60), No, Some(90), Some((0, Some(90)))),
    (At(-60), No, Some(30), Some((0, Some(30)))),
    (At(-1), No, Some(1), Some((0, Some(1)))),
    (At(-60), In(30), None, Some((0, Some(30)))),
    (At(-60), At(30), None, Some((0, Some(30)))),
    (At(-60), At(-30), None, Some((0, Some(0)))),
    (At(-60), At(-60), None, None),
    (At(-30), At(-60), None, None),
    (At(0), No, Some(90), Some((0, Some(90)))),
    (In(0), No, Some(90), Some((0, Some(90)))),
    (At(0), At(0), None, None),
    (In(0), In(0), None, None),
    // It begins later.
    (In(30), No, None, Some((30, None))),
    (At(30), No, None, Some((30, None))),
    (In(30), No, Some(90), Some((30, Some(120)))),
    (At(30), No, Some(90), Some((30, Some(120)))),
    (In(30), In(90), None, Some((30, Some(90)))),
    (At(30), In(90), None, Some((30, Some(90)))),
    (In(30), At(90), None, Some((30, Some(90)))),
    (At(30), At(90), None, Some((30, Some(90)))),
    (In(30), At(31), None, Some((30, Some(31)))),
    (In(30), At(30), None, None),
    (At(31), In(30), None, None),
    (In(30), No, Some(0), None),
];

/// The rule with a window.
fn with_window(mut rule: Rule, (after, until, lasting): (End, End, Option<u64>)) -> Rule {
    rule = match after {
        No => rule,
        At(seconds) => rule.after(at(seconds)),
        In(seconds) => rule.after(Duration::from_secs(seconds)),
    };
    rule = match until {
        No => rule,
        At(seconds) => rule.until(at(seconds)),
        In(seconds) => rule.until(Duration::from_secs(seconds)),
    };
    match lasting {
        None => rule,
        Some(seconds) => rule.lasting(Duration::from_secs(seconds)),
    }
}

/// Checks that requests are hit from `from` until `until`, to the millisecond. Returns how many were.
fn check(twin: &Twin, (from, until): Span, what: &str) -> u64 {
    let millisecond = Duration::from_millis(1);
    let mut moments = vec![Duration::ZERO];
    for end in [Some(from), until].into_iter().flatten().map(Duration::from_secs) {
        moments.extend([end.saturating_sub(millisecond), end, end + millisecond]);
    }
    moments.push(Duration::from_hours(24));
    moments.sort();
    let mut hits = 0;
    for moment in moments {
        let to = Moment::START.plus(ADDED).plus(moment);
        twin.0.advance(to.since(twin.0.clock().now()));
        let lasts = moment >= Duration::from_secs(from) && until.is_none_or(|end| moment < Duration::from_secs(end));
        assert_eq!(twin.put("a").status == 503, lasts, "{what}: {moment:?}");
        hits += u64::from(lasts);
    }
    hits
}

#[test]
fn a_rule_acts_from_its_beginning_until_its_end() {
    for (after, until, lasting, span) in WINDOWS {
        let twin = twin();
        let rule = with_window(Rule::new(Verdict::ServiceUnavailable), (*after, *until, *lasting));
        let what = rule.to_string();
        let added = twin.0.add_fault(rule);
        let Some(span) = span else {
            assert_eq!(added, Err(InvalidRule::EmptyWindow), "{what}");
            continue;
        };
        let hits = check(&twin, *span, &what);
        let report = twin.0.faults().report();
        assert_eq!((report[0].fired, report[0].matched), (hits, hits), "{what}");
    }
}

/// The control of rules takes moments and seconds, and shows the window as it was sent.
#[test]
fn the_control_of_rules_takes_each_window() {
    let written = |end: End| match end {
        No => None,
        At(seconds) => Some(json!(at(seconds).to_string())),
        In(seconds) => Some(json!(seconds)),
    };
    for (after, until, lasting, span) in WINDOWS {
        let twin = twin();
        let mut rule = json!({"verdict": "serviceUnavailable", "operation": "PutItem"});
        let window = [
            ("after", written(*after)),
            ("until", written(*until)),
            ("for", lasting.map(|length| json!(length))),
        ];
        for (name, value) in &window {
            if let Some(value) = value {
                rule[*name] = value.clone();
            }
        }
        let (status, answer) = send(&twin, "faults", &rule);
        let Some(span) = span else {
            assert_eq!(status, 400, "{rule}: {answer}");
            assert!(
                answer.to_string().contains("The rule's time ends before it begins."),
                "{rule}: {answer}"
            );
            continue;
        };
        assert_eq!(status, 200, "{rule}: {answer}");
        for (name, value) in window {
            assert_eq!(answer["rule"].get(name), value.as_ref(), "{rule}: {answer}");
        }
        // The end is shown as a moment, however it was sent.
        let ends = span.1.map(|end| at(end.try_into().unwrap()));
        let shown = answer["until"]
            .as_str()
            .map(|text| Moment::parse(text).unwrap().max(at(0)));
        assert_eq!(shown, ends, "{rule}: {answer}");
        check(&twin, *span, &rule.to_string());
    }
}

fn send(twin: &Twin, path: &str, body: &Value) -> (u16, Value) {
    let answer = twin.0.handle(&HttpRequest {
        method: "POST",
        target: &format!("/_dynatwin/{path}"),
        headers: &[("host", "here"), ("content-type", "application/json")],
        body: body.to_string().as_bytes(),
    });
    (answer.status, serde_json::from_slice(&answer.body).unwrap())
}

/// Each part of an outage ends with the outage, and those that are short not later than after their own time.
#[test]
fn each_part_of_an_outage_has_its_window() {
    const LONG: u64 = u64::MAX;
    let az_loss = [60, 60, 10, 300];
    for (outage, lengths) in [
        (Outage::Brownout, &[LONG; 3][..]),
        (Outage::ThrottleStorm, &[LONG]),
        (Outage::AzLoss, &az_loss),
    ] {
        for (after, until, lasting, span) in WINDOWS {
            let twin = twin();
            let scope = with_window(Rule::new(Verdict::Reset).table("tab"), (*after, *until, *lasting));
            let what = format!("{outage} {scope}");
            let started = twin.0.start_outage(outage, &scope);
            let Some((from, end)) = span else {
                assert_eq!(started, Err(InvalidRule::EmptyWindow), "{what}");
                assert!(twin.0.faults().report().is_empty(), "{what}");
                continue;
            };
            let Ok(started) = started else {
                // Parts of their own length begin when the outage is added, which is over by then.
                assert!(*end == Some(0) && outage == Outage::AzLoss, "{what}");
                continue;
            };
            assert_eq!(started.len(), lengths.len(), "{what}");
            for (report, length) in twin.0.faults().report().iter().zip(lengths) {
                let ends = end.unwrap_or(LONG).min(from.saturating_add(*length));
                let expect = if ends == LONG {
                    Moment::NEVER
                } else {
                    at(ends.try_into().unwrap())
                };
                let begins = at((*from).try_into().unwrap());
                assert_eq!(
                    (report.from.max(at(0)), report.until.max(at(0))),
                    (begins, expect),
                    "{what}"
                );
            }
        }
    }
}

/// The window of a rule is its own: others, and other rules of the same time, act on.
#[test]
fn windows_of_several_rules_are_independent() {
    let twin = twin();
    let rule = |verdict| Rule::new(verdict).operation("PutItem");
    let ids = [
        (Verdict::ServiceUnavailable, In(10), No, Some(10)),
        (Verdict::InternalServerError, In(15), In(30), None),
        (Verdict::Throttle(None), At(-5), At(40), None),
    ]
    .map(|(verdict, after, until, lasting)| {
        let rule = with_window(rule(verdict), (after, until, lasting));
        twin.0.add_fault(rule).unwrap()
    });
    let statuses: Vec<u16> = (0..10)
        .map(|_| {
            let status = twin.put("a").status;
            twin.0.advance(Duration::from_secs(5));
            status
        })
        .collect();
    assert_eq!(statuses, [400, 400, 503, 503, 500, 500, 400, 400, 200, 200]);
    let fired: Vec<u64> = twin.0.faults().report().iter().map(|report| report.fired).collect();
    assert_eq!((fired, ids.len()), (vec![2, 2, 4], 3));
    // A rule that is removed ends at once, in its window too.
    let rule = Rule::new(Verdict::ServiceUnavailable).lasting(Duration::from_mins(1));
    assert_eq!(rule.window.after, Window::default().after);
    let id = twin.0.add_fault(rule).unwrap();
    assert_eq!(twin.put("a").status, 503);
    twin.0.faults().remove(id);
    assert_eq!(twin.put("a").status, 200);
    assert_eq!(twin.0.items(&caller(), "tab").unwrap().len(), 1);
}
