//! What a twin is built with and what is changed while it runs: each setting alone and together with the others.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::PointInTimeRecoverySpecification;
use dynatwin::{Clock, Conditions, FaultGuard, Moment, Rule, Twin, Verdict};

use crate::{TABLE, create_table, put, s};

const ACCOUNT: &str = "123456789012";

/// A folder with the bucket `exports`.
fn buckets(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("exports")).unwrap();
    folder
}

/// Exports the table, and returns the status and the code of the failure.
async fn export(client: &Client) -> (String, Option<String>) {
    create_table(client).await;
    let recovery = PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(true);
    let request = client.update_continuous_backups().table_name(TABLE);
    let request = request.point_in_time_recovery_specification(recovery.build().unwrap());
    request.send().await.unwrap();
    let table = client
        .describe_table()
        .table_name(TABLE)
        .send()
        .await
        .unwrap()
        .table
        .unwrap();
    let request = client
        .export_table_to_point_in_time()
        .table_arn(table.table_arn.unwrap());
    let export = request
        .s3_bucket("exports")
        .send()
        .await
        .unwrap()
        .export_description
        .unwrap();
    let request = client.describe_export().export_arn(export.export_arn.unwrap());
    let export = request.send().await.unwrap().export_description.unwrap();
    (export.export_status.unwrap().as_str().to_owned(), export.failure_code)
}

/// Every setting of a builder is that of the twin, whichever others are set.
#[tokio::test]
async fn every_setting_is_independent_of_the_others() {
    let folder = buckets("every-setting");
    let start = Moment::START.plus(Duration::from_hours(24 * 365));
    for choice in 0..64_u32 {
        let has = |bit: u32| choice & (1 << bit) != 0;
        let [conditions, is_shared, moves, has_buckets, is_watched, has_access] = [0, 1, 2, 3, 4, 5].map(has);
        let mut builder = Twin::builder().seed(u64::from(choice)).clock(Clock::settable(start));
        if conditions {
            builder = builder.conditions(Conditions {
                latency: Conditions::AWS.latency,
                ..Conditions::CALM
            });
        }
        if is_shared {
            builder = builder.shared_db(true);
        }
        if !moves {
            builder = builder.sleep_moves_clock(false);
        }
        if has_buckets {
            builder = builder.buckets(&folder);
        }
        if is_watched {
            builder = builder.watch(true);
        }
        if has_access {
            builder = builder.access(&format!(r#"{{"accounts": {{"{ACCOUNT}": {{}}}}}}"#));
        }
        let context = format!("{builder:?}");
        let twin = builder.build();
        assert_eq!(
            (twin.seed(), twin.clock().now()),
            (u64::from(choice), start),
            "{context}"
        );
        assert_eq!(twin.is_watched(), is_watched, "{context}");
        let latency = if conditions {
            Conditions::AWS.latency
        } else {
            Conditions::CALM.latency
        };
        assert_eq!(twin.conditions().latency, latency, "{context}");
        let mut sleeper = Box::pin(twin.clock().sleep(Duration::from_hours(1)));
        for _ in 0..3 {
            let waker = std::task::Waker::noop();
            let _ = sleeper.as_mut().poll(&mut std::task::Context::from_waker(waker));
        }
        drop(sleeper);
        let moved = twin.clock().now() == start.plus(Duration::from_hours(1));
        assert_eq!(moved, moves, "{context}");
        twin.set_conditions(Conditions::CALM).unwrap();
        let listed = twin.client().list_tables().send().await;
        assert_eq!(listed.is_err(), has_access, "{context}: {listed:?}");
        let client = if has_access {
            twin.as_root(ACCOUNT).client()
        } else {
            twin.client()
        };
        let expected = if has_buckets {
            ("COMPLETED".to_owned(), None)
        } else {
            ("FAILED".to_owned(), Some("S3NoSuchBucket".to_owned()))
        };
        assert_eq!(export(&client).await, expected, "{context}");
        assert_eq!(!twin.requests().is_empty(), is_watched, "{context}");
        if !has_access {
            let elsewhere = twin.region("eu-central-1").tables().len();
            assert_eq!(elsewhere, usize::from(is_shared), "{context}");
        }
    }
}

/// A policy that allows a read of all items, and why it is warned about, if it is.
const POLICIES: &[(&str, Option<&str>)] = &[
    (r#"{"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}"#, None),
    (
        r#"{"Effect": "Allow", "Action": ["dynamodb:*", "dynamodb:GetItems"], "Resource": "*"}"#,
        Some("UnknownAction"),
    ),
];

/// A configuration applies from the moment at which it is set, whether there are warnings about it or not, until it is
/// replaced or removed; an invalid one changes nothing.
#[tokio::test]
async fn an_access_configuration_applies_at_once() {
    let configuration = |user: &str, policy: &str| {
        format!(
            r#"{{"accounts": {{"{ACCOUNT}": {{"users": {{"{user}": {{"policies": [{{"Version": "2012-10-17", "Statement": {policy}}}]}}}}}}}}}}"#
        )
    };
    let user = |twin: &Twin, name: &str| twin.as_user(&format!("arn:aws:iam::{ACCOUNT}:user/{name}"));
    for (policy, code) in POLICIES {
        for is_built in [false, true] {
            let first = configuration("ann", policy);
            let twin = if is_built {
                let clock = Clock::settable(Moment::START);
                Twin::builder().clock(clock).access(&first).build()
            } else {
                let twin = Twin::seeded(7);
                twin.client().list_tables().send().await.unwrap();
                let warnings = twin.set_access(&first).unwrap();
                let codes: Vec<_> = warnings.iter().map(|warning| warning.code.to_string()).collect();
                assert_eq!(
                    codes,
                    code.iter().map(ToString::to_string).collect::<Vec<_>>(),
                    "{policy}"
                );
                twin
            };
            let context = format!("{policy}, built {is_built}");
            twin.client().list_tables().send().await.unwrap_err();
            user(&twin, "ann").client().list_tables().send().await.unwrap();

            // An invalid configuration changes nothing.
            for invalid in ["accounts: {'1': {}}", "accounts: [", "{}x"] {
                assert!(twin.set_access(invalid).is_err(), "{context}: {invalid}");
                twin.client().list_tables().send().await.unwrap_err();
                user(&twin, "ann").client().list_tables().send().await.unwrap();
            }

            // Another one replaces it.
            let held = user(&twin, "ann").client();
            twin.set_access(&configuration("bob", policy)).unwrap();
            held.list_tables().send().await.unwrap_err();
            user(&twin, "bob").client().list_tables().send().await.unwrap();
            let ann = catch_unwind(AssertUnwindSafe(|| user(&twin, "ann").client()));
            assert!(ann.is_err(), "{context}");
            twin.client().list_tables().send().await.unwrap_err();

            twin.remove_access();
            twin.client().list_tables().send().await.unwrap();
        }
    }
}

/// Warnings with the same code are about different policies, statements or actions.
#[test]
fn every_warning_about_a_configuration_is_returned() {
    let statement = |action: &str, condition: &str| {
        format!(r#"{{"Effect": "Allow", "Action": [{action}], "Resource": "*", "Condition": {{{condition}}}}}"#)
    };
    let actions = ["GetItems", "PutItems", "Scans"].map(|action| format!(r#""dynamodb:{action}""#));
    let [get, put, scan] = actions.each_ref().map(|action| statement(action, ""));
    let key = statement(r#""dynamodb:GetItem""#, r#""StringEquals": {"dynamodb:Tenant": "a"}"#);
    let all = statement(&actions.join(", "), "");
    let unknown =
        |policy: usize, statement: usize, action: &str| format!("{policy}.{statement} UnknownAction dynamodb:{action}");
    for (policies, expected) in [
        (vec![vec![&get]], vec![unknown(0, 1, "GetItems")]),
        (
            vec![vec![&get], vec![&put], vec![&scan]],
            vec![
                unknown(0, 1, "GetItems"),
                unknown(1, 1, "PutItems"),
                unknown(2, 1, "Scans"),
            ],
        ),
        (
            vec![vec![&get, &put, &get]],
            vec![
                unknown(0, 1, "GetItems"),
                unknown(0, 2, "PutItems"),
                unknown(0, 3, "GetItems"),
            ],
        ),
        (
            vec![vec![&all]],
            vec![
                unknown(0, 1, "GetItems"),
                unknown(0, 1, "PutItems"),
                unknown(0, 1, "Scans"),
            ],
        ),
        (
            vec![vec![&key, &key], vec![&get]],
            vec![
                "0.1 UnknownConditionKey dynamodb:Tenant".to_owned(),
                "0.2 UnknownConditionKey dynamodb:Tenant".to_owned(),
                unknown(1, 1, "GetItems"),
            ],
        ),
    ] {
        let document = |statements: Vec<&String>| {
            let statements: Vec<_> = statements.into_iter().map(String::as_str).collect();
            format!(
                r#"{{"Version": "2012-10-17", "Statement": [{}]}}"#,
                statements.join(", ")
            )
        };
        let policies: Vec<_> = policies.into_iter().map(document).collect();
        let configuration = format!(
            r#"{{"accounts": {{"{ACCOUNT}": {{"users": {{"ann": {{"policies": [{}]}}}}}}}}}}"#,
            policies.join(", ")
        );
        let warnings = Twin::seeded(7).set_access(&configuration).unwrap();
        let warnings = warnings.iter().map(|warning| {
            let policy = warning.policy.rsplit('.').next().unwrap_or_default();
            let subject = warning.message.split(' ').next().unwrap_or_default();
            format!("{policy}.{} {} {subject}", warning.statement, warning.code)
        });
        assert_eq!(warnings.collect::<Vec<_>>(), expected, "{configuration}");
    }
}

fn is_panicking(assertion: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(assertion)).is_err()
}

/// A rule that was removed while its guard is held has not been checked: only zero can be asserted of it.
#[tokio::test]
async fn a_removed_rule_cannot_be_asserted_on() {
    type Remove = fn(&Twin);
    let removals: &[(&str, Remove)] = &[
        ("clear", |twin| twin.faults().clear()),
        ("reset", |twin| twin.reset().unwrap()),
        ("reset_all", |twin| twin.reset_all().unwrap()),
    ];
    for (name, remove) in removals {
        for fired in [0, 1, 2] {
            let twin = Twin::seeded(7);
            let client = Client::from_conf(twin.config().retry_config(RetryConfig::disabled()).build());
            create_table(&client).await;
            let rule = Rule::new(Verdict::Throttle(None)).operation("PutItem").first(fired);
            let guard = twin.faults().add(rule);
            let other = twin.faults().add(Rule::new(Verdict::Reset).operation("Scan"));
            for _ in 0..2 {
                let _ = put(&client, "a").await;
            }
            check_guard(&guard, Some((2, fired)), &format!("before {name}"));
            check_guard(&other, Some((0, 0)), &format!("before {name}"));
            remove(&twin);
            for guard in [&guard, &other] {
                check_guard(guard, None, &format!("{fired}, after {name}"));
            }
            assert!(twin.faults().report().is_empty(), "{name}");
            // The guard of a removed rule removes no other.
            let later = twin.faults().add(Rule::new(Verdict::Reset).operation("Scan"));
            drop((guard, other));
            check_guard(&later, Some((0, 0)), &format!("{fired}, later than {name}"));
        }
    }
}

/// Checks a rule's number of matches and of actions, or that it was removed.
fn check_guard(guard: &FaultGuard, expected: Option<(u64, u64)>, context: &str) {
    let report = guard.report().map(|report| (report.matched, report.fired));
    assert_eq!(report, expected, "{context}");
    let (matched, fired) = expected.unwrap_or_default();
    assert_eq!((guard.matched(), guard.fired()), (matched, fired), "{context}");
    for times in 0..4 {
        let panics = is_panicking(|| guard.assert_fired(times));
        assert_eq!(panics, times != fired, "{context}: {times}");
    }
}

/// Waits until a task has ended, without time that passes.
async fn ended(sleeper: &tokio::task::JoinHandle<()>) -> bool {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    sleeper.is_finished()
}

/// Sleepers that wait for the test wake at their time, however the clock gets there, and not before.
#[tokio::test]
async fn every_move_of_the_clock_wakes_its_sleepers() {
    let minute = Duration::from_mins(1);
    let almost = minute.saturating_sub(Duration::from_micros(1));
    type Move = fn(&Twin, Duration);
    let moves: &[(&str, Move)] = &[
        ("advance", |twin, by| twin.clock().advance(by)),
        ("set", |twin, by| assert!(twin.clock().set(twin.clock().now().plus(by)))),
        ("restore of a later snapshot", |twin, by| {
            let later = Twin::seeded(7);
            later.clock().set(twin.clock().now().plus(by));
            twin.restore(&later.snapshot()).unwrap();
        }),
        ("frozen, advance", |twin, by| {
            twin.clock().freeze();
            twin.clock().advance(by);
        }),
        ("frozen, set", |twin, by| {
            twin.clock().freeze();
            assert!(twin.clock().set(twin.clock().now().plus(by)));
        }),
    ];
    for (name, move_by) in moves {
        for (first, second, wakes) in [
            (minute, None, true),
            (minute * 5, None, true),
            (almost, None, false),
            (almost, Some(Duration::from_micros(1)), true),
        ] {
            let context = format!("{name} by {first:?} and {second:?}");
            let clock = Clock::settable(Moment::START);
            let twin = Twin::builder().clock(clock).sleep_moves_clock(false).build();
            let [one, two] = [1, 2].map(|_| tokio::spawn(twin.clock().sleep(minute)));
            let late = tokio::spawn(twin.clock().sleep(Duration::from_hours(24)));
            assert!(!ended(&one).await, "{context}");
            move_by(&twin, first);
            if let Some(second) = second {
                assert!(!ended(&one).await, "{context}");
                move_by(&twin, second);
            }
            assert_eq!((ended(&one).await, ended(&two).await), (wakes, wakes), "{context}");
            assert!(!ended(&late).await, "{context}");
            assert_eq!(
                twin.clock().now(),
                Moment::START.plus(first + second.unwrap_or_default()),
                "{context}"
            );
            // To the past: nothing moves.
            assert!(!twin.clock().set(Moment::START), "{context}");
            assert!(!ended(&late).await, "{context}");
            move_by(&twin, Duration::from_hours(24));
            assert!(ended(&late).await && ended(&one).await, "{context}");
        }
    }
}

/// A file with a table that exists is refused and changes nothing, whoever created the table.
#[tokio::test]
async fn a_loaded_table_must_be_new() {
    let folder = buckets("loaded");
    let file = |name: &str, tables: &[(&str, &str)]| {
        let table = |(name, item): &(&str, &str)| {
            format!(
                "- TableName: {name}\n  AttributeDefinitions: [{{AttributeName: PK, AttributeType: S}}]\n  \
                 KeySchema: [{{AttributeName: PK, KeyType: HASH}}]\n  Items: [{{PK: {item}}}]\n"
            )
        };
        let path = folder.join(name);
        fs::write(
            &path,
            format!("tables:\n{}", tables.iter().map(table).collect::<String>()),
        )
        .unwrap();
        path.display().to_string()
    };
    let one = file("one.yaml", &[("One", "a")]);
    let other = file("other.yaml", &[("One", "b")]);
    let both = file("both.yaml", &[("Two", "c"), ("One", "d")]);
    let twin = Twin::seeded(7);
    let loaded = twin.load(&one).unwrap();
    assert_eq!((loaded.tables, loaded.items), (1, 1));
    let with_key = |pk: &str| [HashMap::from([("PK".to_owned(), s(pk))])];
    let only = with_key("a");
    for file in [&one, &other, &both] {
        let error = twin.load(file).unwrap_err();
        assert!(error.message().contains("ResourceInUseException"), "{file}: {error}");
        assert_eq!(twin.items("One").unwrap(), only, "{file}");
    }
    // The same file fills other accounts, and this one after a reset.
    let elsewhere = twin.region("eu-central-1");
    assert_eq!(elsewhere.load(&other).unwrap().items, 1);
    assert_eq!(elsewhere.items("One").unwrap(), with_key("b"));
    assert_eq!(twin.items("One").unwrap(), only);
    twin.reset().unwrap();
    assert_eq!(twin.load(&both).unwrap().tables, 2);
    let created = Twin::seeded(7);
    create_table(&created.client()).await;
    let error = created.load(&file("tasks.yaml", &[(TABLE, "a")])).unwrap_err();
    assert!(error.message().contains("ResourceInUseException"), "{error}");
    assert_eq!(created.items(TABLE).unwrap().len(), 0);
    // Items alone need their table.
    let items = folder.join("Tasks.jsonl");
    fs::write(&items, "{\"PK\": \"a\", \"SK\": \"b\"}\n").unwrap();
    let path = items.display().to_string();
    assert_eq!(created.load(&path).unwrap().items, 1);
    assert_eq!(created.load(&path).unwrap().items, 1);
    assert_eq!(created.items(TABLE).unwrap().len(), 1);
    assert!(created.load(&format!("Other={path}")).is_err());
    assert!(created.load("nowhere.yaml").is_err());
}

/// `explain_access` uses the configuration of the moment, and refuses invalid questions.
#[tokio::test]
async fn refusals_name_their_cause() {
    let twin = Twin::builder()
        .access(&format!(
            r#"{{"accounts": {{"{ACCOUNT}": {{"users": {{"ann": {{}}}}}}}}}}"#
        ))
        .build();
    let root = twin.as_root(ACCOUNT).client();
    create_table(&root).await;
    let ann = twin.as_user(&format!("arn:aws:iam::{ACCOUNT}:user/ann")).client();
    let refused = ann.scan().table_name(TABLE).send().await.unwrap_err();
    assert_eq!(refused.code(), Some("AccessDeniedException"));
    let question = |principal: &str| {
        format!(
            r#"{{"principal": "arn:aws:iam::{ACCOUNT}:{principal}", "action": "dynamodb:Scan",
                "resource": "arn:aws:dynamodb:us-east-1:{ACCOUNT}:table/Tasks"}}"#
        )
    };
    let explained = twin.explain_access(&question("user/ann")).unwrap();
    assert!(explained.contains("because no identity-based policy allows the dynamodb:Scan action"));
    assert!(twin.explain_access(&question("root")).is_ok());
    for invalid in ["", "{}", "[]", &question("user/bob")] {
        assert!(twin.explain_access(invalid).is_err(), "{invalid}");
    }
    twin.remove_access();
    assert!(twin.explain_access(&question("user/ann")).is_err());
}
