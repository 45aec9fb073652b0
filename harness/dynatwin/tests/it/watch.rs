//! Assertions about recorded requests, which must also fail when they should.

use std::panic::{AssertUnwindSafe, catch_unwind};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Get, Put, PutRequest, TransactGetItem, TransactWriteItem, WriteRequest};
use dynatwin::{Account, KeyMatch, Rule, Twin, Verdict};

use crate::{TABLE, create_table, put, s};

async fn watched() -> (Twin, Client) {
    let twin = Twin::seeded(7);
    twin.watch(true);
    let client = twin.client();
    create_table(&client).await;
    twin.forget_requests();
    (twin, client)
}

/// Returns the message of the panic with which `block` must end.
fn panic_of(block: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(block)).expect_err("this must panic");
    let plain = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    plain.unwrap_or_else(|| panic.downcast_ref::<String>().unwrap().clone())
}

async fn query(client: &Client, pk: &str) -> usize {
    let query = client.query().table_name(TABLE).key_condition_expression("PK = :pk");
    let answer = query.expression_attribute_values(":pk", s(pk)).send().await.unwrap();
    answer.items().len()
}

#[tokio::test]
async fn assert_no_scans_accepts_queries_and_suggests_them_for_scans() {
    let (twin, client) = watched().await;
    for pk in ["a", "b"] {
        put(&client, pk).await.unwrap();
    }
    assert_eq!(query(&client, "a").await, 1);
    let statement = client
        .execute_statement()
        .statement("SELECT * FROM \"Tasks\" WHERE PK = 'a'");
    statement.send().await.unwrap();
    twin.assert_no_scans();

    client
        .scan()
        .table_name(TABLE)
        .filter_expression("PK = :pk")
        .expression_attribute_values(":pk", s("a"))
        .send()
        .await
        .unwrap();
    let text = panic_of(|| twin.assert_no_scans());
    assert_eq!(
        text,
        "dynatwin: a scan was recorded:\n\
         - Scan of Tasks by access key dynatwin in us-east-1, first at 2026-01-01T00:00:00.000Z: 2 items read in 1 page.\n  \
         A Query reads only the items of one partition key: KeyConditionExpression \"PK = :value\"."
    );
    // Requests in other regions and of other access keys do not count for this account.
    for other in [
        twin.region("eu-west-1"),
        twin.account("123456789012", "us-east-1"),
        twin.account("123456789012", "eu-west-1"),
    ] {
        other.assert_no_scans();
        assert!(other.scans().is_empty() && other.requests().is_empty());
    }
    assert_eq!((twin.scans().len(), twin.region("us-east-1").scans().len()), (1, 1));
    assert_eq!(panic_of(|| twin.region("us-east-1").assert_no_scans()), text);
    twin.forget_requests();
    twin.assert_no_scans();
}

/// The twin has the scans of all accounts, and an account has its own.
#[tokio::test]
async fn scans_of_every_account_are_those_of_the_twin() {
    let (twin, _) = watched().await;
    let own = twin.region("us-east-1");
    let scans = async |account: &Account| {
        let before = twin.scans().len();
        create_table(&account.client()).await;
        account.assert_no_scans();
        account.client().scan().table_name(TABLE).send().await.unwrap();
        let callers: Vec<_> = twin.scans().into_iter().map(|scan| scan.caller).collect();
        assert_eq!((callers.len(), callers.last()), (before + 1, Some(account.caller())));
        let text = panic_of(|| twin.assert_no_scans());
        let caller = account.caller();
        let line = format!(
            "- Scan of Tasks by access key {} in {}, first at",
            caller.access_key, caller.region
        );
        assert!(text.contains(&line), "{text}");
        assert!(panic_of(|| account.assert_no_scans()).contains(&line));
        assert_eq!(account.scans().len(), 1);
        assert!(own.scans().is_empty());
        own.assert_no_scans();
    };
    for other in [
        twin.region("eu-west-1"),
        twin.account("123456789012", "us-east-1"),
        twin.account("123456789012", "eu-west-1"),
    ] {
        scans(&other).await;
    }
    twin.set_access("accounts: {'210987654321': {}}").unwrap();
    scans(&twin.as_root("210987654321").account()).await;
    scans(&twin.as_root("210987654321").region("eu-west-1").account()).await;
    assert_eq!(twin.scans().len(), 5);
    twin.forget_requests();
    twin.assert_no_scans();
}

#[tokio::test]
async fn a_statement_without_a_partition_key_is_a_scan() {
    let (twin, client) = watched().await;
    let select = "SELECT * FROM \"Tasks\" WHERE begins_with(SK, 'x')";
    client.execute_statement().statement(select).send().await.unwrap();
    let text = panic_of(|| twin.assert_no_scans());
    assert!(
        text.contains("- ExecuteStatement of Tasks by access key dynatwin"),
        "{text}"
    );
    assert!(
        text.ends_with("reads only its items: FROM \"Tasks\" WHERE \"PK\" = ?."),
        "{text}"
    );
    assert_eq!(twin.scans().len(), 1);
}

#[tokio::test]
async fn assertions_on_an_unwatched_twin_report_that() {
    let twin = Twin::seeded(7);
    let text = panic_of(|| twin.assert_no_scans());
    assert!(text.contains("call Twin::watch(true)"), "{text}");
    let twin = Twin::builder().watch(true).build();
    twin.assert_no_scans();
    twin.watch(false);
    assert!(!twin.is_watched());
    // Scans that were recorded before stay until they are forgotten.
    let (twin, client) = watched().await;
    client.scan().table_name(TABLE).send().await.unwrap();
    twin.watch(false);
    let panics = |twin: &Twin| {
        [
            panic_of(|| twin.assert_no_scans()),
            panic_of(|| twin.region("us-east-1").assert_no_scans()),
        ]
    };
    for text in panics(&twin) {
        assert!(
            text.starts_with("dynatwin: a scan was recorded:\n- Scan of Tasks"),
            "{text}"
        );
    }
    twin.forget_requests();
    for text in panics(&twin) {
        assert!(text.contains("call Twin::watch(true)"), "{text}");
    }
}

#[tokio::test]
async fn faults_that_never_occurred_are_named() {
    let (twin, client) = watched().await;
    let met = twin
        .faults()
        .add(Rule::new(Verdict::InternalServerError).operation("PutItem").first(1));
    put(&client, "a").await.unwrap();
    twin.assert_faults_fired();
    assert_eq!(met.fired(), 1);
    let third = twin
        .faults()
        .add(Rule::new(Verdict::Throttle(None)).table(TABLE).nth(3));
    put(&client, "a").await.unwrap();
    // Removed rules are still listed.
    drop(third);
    let text = panic_of(|| twin.assert_faults_fired());
    let expected = "dynatwin: fault rules that never acted, so the test did not exercise them:\n\
         - {\"verdict\":\"throttle\",\"table\":\"Tasks\",\"nth\":3}: 1 matched";
    assert_eq!(text, expected);
    // Each rule is named, whether it has a guard or not.
    let _held = twin.faults().add(Rule::new(Verdict::Reset).table("Sesions"));
    twin.faults().add(Rule::new(Verdict::Reset).operation("Scan")).keep();
    assert_eq!(
        panic_of(|| twin.assert_faults_fired()),
        format!(
            "{expected}\n- {{\"verdict\":\"reset\",\"table\":\"Sesions\"}}: 0 matched\n\
             - {{\"verdict\":\"reset\",\"operation\":\"Scan\"}}: 0 matched"
        )
    );
    twin.faults().clear();
    twin.assert_faults_fired();
}

#[tokio::test]
async fn every_attempt_is_a_request_with_its_table_and_key() {
    let (twin, client) = watched().await;
    let _twice = twin
        .faults()
        .add(Rule::new(Verdict::Throttle(None)).operation("PutItem").first(2));
    put(&client, "a").await.unwrap();
    let write = |pk: &str| {
        let put = Put::builder()
            .table_name(TABLE)
            .item("PK", s(pk))
            .item("SK", s("-"))
            .item("v", s("x"));
        TransactWriteItem::builder().put(put.build().unwrap()).build()
    };
    client
        .transact_write_items()
        .transact_items(write("b"))
        .transact_items(write("c"))
        .send()
        .await
        .unwrap();

    let requests = twin.requests();
    let numbers: Vec<_> = requests.iter().map(|request| request.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    let seen: Vec<_> = requests
        .iter()
        .map(|request| (request.operation.as_str(), request.table(), request.status))
        .collect();
    let put = ("PutItem", Some(TABLE), 400);
    assert_eq!(
        seen,
        [
            put,
            put,
            ("PutItem", Some(TABLE), 200),
            ("TransactWriteItems", Some(TABLE), 200)
        ]
    );
    let key = |pk: &str| [("PK".to_owned(), s(pk)), ("SK".to_owned(), s("-"))].into();
    assert!(requests[..3].iter().all(|request| request.key() == Some(&key("a"))));
    assert_eq!(requests[0].error.as_deref(), Some("ThrottlingException"));
    assert_eq!(
        (
            requests[0].write_units,
            requests[2].write_units,
            requests[3].write_units
        ),
        (0.0, 1.0, 4.0)
    );
    assert!(requests[0].at < requests[2].at, "the SDK has backed off");
    let touched: Vec<_> = requests[3]
        .accesses
        .iter()
        .map(|access| (access.act, access.key.clone()))
        .collect();
    assert_eq!(touched, [("Put", key("b")), ("Put", key("c"))]);
    let units = |request: &dynatwin::Request| {
        let touches = request
            .accesses
            .iter()
            .map(|touch| (touch.read_units, touch.write_units));
        (request.read_units, request.write_units, touches.collect::<Vec<_>>())
    };
    assert_eq!(units(&requests[2]), (0.0, 1.0, vec![(0.0, 1.0)]));
    assert_eq!(units(&requests[3]), (0.0, 4.0, vec![(0.0, 2.0), (0.0, 2.0)]));
    query(&client, "a").await;
    assert_eq!(units(twin.requests().last().unwrap()), (0.5, 0.0, vec![(0.5, 0.0)]));
    assert_eq!(
        (requests[3].access_key.as_str(), requests[3].region.as_str()),
        ("dynatwin", "us-east-1")
    );

    twin.region("eu-west-1").client().list_tables().send().await.unwrap();
    assert_eq!(twin.requests().len(), 6);
    let elsewhere = twin.region("eu-west-1").requests();
    assert_eq!((elsewhere.len(), elsewhere[0].number), (1, 6));
    twin.reset().unwrap();
    assert!(twin.requests().is_empty());
    client.list_tables().send().await.unwrap();
    assert_eq!(twin.requests()[0].number, 1, "numbers start again");
}

/// The tables of a request are in the order of their first occurrence.
#[tokio::test]
async fn a_request_has_each_of_its_tables_once() {
    let (twin, client) = watched().await;
    for table in ["One", "Two", "Six"] {
        twin.table(table).hash("id").create().await.unwrap();
    }
    for (named, expected) in [
        (&["One"][..], &["One"][..]),
        (&["One", "One"], &["One"]),
        (&["One", "Two", "One"], &["One", "Two"]),
        (&["Two", "One", "One", "Two"], &["Two", "One"]),
        (&["Six", "One", "Two", "One", "Six"], &["Six", "One", "Two"]),
    ] {
        twin.forget_requests();
        let id = |at: usize| s(&at.to_string());
        let puts = named.iter().enumerate().map(|(at, table)| {
            let put = Put::builder().table_name(*table).item("id", id(at)).build().unwrap();
            TransactWriteItem::builder().put(put).build()
        });
        let write = client.transact_write_items().set_transact_items(Some(puts.collect()));
        write.send().await.unwrap();
        let gets = named.iter().enumerate().map(|(at, table)| {
            let get = Get::builder().table_name(*table).key("id", id(at)).build().unwrap();
            TransactGetItem::builder().get(get).build()
        });
        let read = client.transact_get_items().set_transact_items(Some(gets.collect()));
        read.send().await.unwrap();
        let requests = twin.requests();
        assert_eq!(requests.len(), 2);
        for request in &requests {
            assert_eq!(request.tables, expected, "{request:?}");
            assert_eq!(request.table(), expected.first().copied());
            let accessed: Vec<_> = request.accesses.iter().map(|access| &*access.table).collect();
            assert_eq!(accessed, named, "{request:?}");
        }
    }
}

/// A read has the index that it reads, and the numbers of items before and after its filter.
#[tokio::test]
async fn reads_are_recorded_with_their_index_and_counts() {
    let (twin, client) = watched().await;
    let table = twin.table("Orders").hash("id").range("at");
    let table = table.global_index("by-owner", "owner").local_index("by-kind", "kind");
    table.create().await.unwrap();
    for (at, kind) in [("1", "x"), ("2", "y"), ("3", "z")] {
        let put = client
            .put_item()
            .table_name("Orders")
            .item("id", s("a"))
            .item("at", s(at));
        let put = put.item("owner", s("ann")).item("kind", s(kind)).item("v", s(at));
        put.send().await.unwrap();
    }
    let recorded = |returned: u64, index: Option<&str>| {
        let requests = twin.requests();
        let request = requests.last().unwrap();
        let context = format!("{request:?}");
        assert_eq!((request.scanned, request.returned), (3, returned), "{context}");
        assert_eq!(
            (request.table(), request.accesses.len()),
            (Some("Orders"), 1),
            "{context}"
        );
        let access = &request.accesses[0];
        assert_eq!(
            (access.table.as_str(), access.index.as_deref()),
            ("Orders", index),
            "{context}"
        );
        assert_eq!(
            (access.act, access.error.as_deref()),
            (request.operation.as_str(), None),
            "{context}"
        );
    };
    for (index, key, value) in [
        (None, "id", "a"),
        (Some("by-owner"), "owner", "ann"),
        (Some("by-kind"), "id", "a"),
    ] {
        for (filter, returned) in [("v = :one", 1), ("v >= :one", 3), ("v < :one", 0)] {
            let query = client
                .query()
                .table_name("Orders")
                .set_index_name(index.map(str::to_owned));
            let query = query.key_condition_expression("#key = :key").filter_expression(filter);
            let query = query.expression_attribute_names("#key", key);
            let query = query.expression_attribute_values(":key", s(value));
            query.expression_attribute_values(":one", s("1")).send().await.unwrap();
            recorded(returned, index);
            let scan = client
                .scan()
                .table_name("Orders")
                .set_index_name(index.map(str::to_owned));
            let scan = scan
                .filter_expression(filter)
                .expression_attribute_values(":one", s("1"));
            scan.send().await.unwrap();
            recorded(returned, index);
        }
    }
}

/// The entries of batches and transactions have their own exceptions.
#[tokio::test]
async fn entries_are_recorded_with_their_exceptions() {
    let (twin, client) = watched().await;
    let errors = || {
        let requests = twin.requests();
        let accesses = requests[0].accesses.iter();
        let errors = accesses.map(|access| (access.key["PK"].as_s().unwrap().clone(), access.error.clone()));
        let mut errors: Vec<_> = errors.collect();
        errors.sort();
        twin.forget_requests();
        errors
    };
    let expected = |entries: &[(&str, Option<&str>)]| -> Vec<_> {
        let entries = entries.iter();
        entries
            .map(|(pk, error)| ((*pk).to_owned(), error.map(str::to_owned)))
            .collect()
    };
    let throttled = Rule::new(Verdict::Throttle(None)).key(KeyMatch::Partition("b".to_owned()));
    let throttled = twin.faults().add(throttled);
    let requests = ["a", "b", "c"].map(|pk| {
        let put = PutRequest::builder()
            .item("PK", s(pk))
            .item("SK", s("-"))
            .build()
            .unwrap();
        WriteRequest::builder().put_request(put).build()
    });
    let batch = client.batch_write_item().request_items(TABLE, requests.to_vec());
    let answer = batch.send().await.unwrap();
    assert_eq!(answer.unprocessed_items().unwrap()[TABLE].len(), 1);
    assert_eq!(
        errors(),
        expected(&[("a", None), ("b", Some("ThrottlingException")), ("c", None)])
    );
    drop(throttled);

    let check = |pk: &str| {
        let put = Put::builder().table_name(TABLE).item("PK", s(pk)).item("SK", s("-"));
        let put = put.condition_expression("attribute_not_exists(PK)").build().unwrap();
        TransactWriteItem::builder().put(put).build()
    };
    let transaction = client.transact_write_items();
    let transaction = transaction.transact_items(check("b")).transact_items(check("c"));
    transaction.send().await.unwrap_err();
    assert_eq!(
        errors(),
        expected(&[("b", None), ("c", Some("ConditionalCheckFailedException"))])
    );

    put(&client, "d").await.unwrap();
    assert_eq!(errors(), expected(&[("d", None)]));
}

#[tokio::test]
async fn a_block_reports_its_units_for_each_table() {
    // The twin is not watched, but the block is, while it runs.
    let twin = Twin::seeded(7);
    let client = twin.client();
    create_table(&client).await;
    put(&client, "before").await.unwrap();
    let (found, spent) = twin
        .capacity_spent_by(Box::pin(async {
            put(&client, "a").await.unwrap();
            put(&client, "b").await.unwrap();
            query(&client, "a").await
        }))
        .await;
    assert_eq!(found, 1);
    assert_eq!((spent.read(TABLE), spent.write(TABLE)), (0.5, 2.0));
    assert_eq!((spent.total_read(), spent.total_write()), (0.5, 2.0));
    assert_eq!(
        (spent.index_read(TABLE, "by-x"), spent.index_write(TABLE, "by-x")),
        (0.0, 0.0)
    );
    assert_eq!(spent.to_string(), "Tasks: 0.5 read, 2 write");
    assert!(!twin.is_watched());
    put(&client, "after").await.unwrap();
    let (_, spent) = twin.capacity_spent_by(client.list_tables().send()).await;
    assert!(spent.is_nothing(), "{spent}");
}

/// Blocking code sends its requests within the block.
#[test]
fn a_blocking_block_reports_its_units_for_each_table() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap();
    let twin = Twin::seeded(7);
    let client = twin.client();
    let elsewhere = twin.region("eu-west-1");
    runtime.block_on(create_table(&client));
    runtime.block_on(create_table(&elsewhere.client()));
    for watched in [false, true] {
        twin.watch(watched);
        runtime.block_on(put(&client, "before")).unwrap();
        let ((found, other), spent) = twin.capacity_spent(|| {
            runtime.block_on(put(&client, "a")).unwrap();
            runtime.block_on(put(&client, "b")).unwrap();
            let put_elsewhere = || runtime.block_on(put(&elsewhere.client(), "a")).unwrap();
            let ((), other) = elsewhere.capacity_spent(put_elsewhere);
            (runtime.block_on(query(&client, "a")), other)
        });
        assert_eq!(found, 1);
        assert_eq!((spent.read(TABLE), spent.write(TABLE)), (0.5, 2.0), "{watched}");
        assert_eq!(spent.to_string(), "Tasks: 0.5 read, 2 write", "{watched}");
        assert_eq!((other.total_read(), other.total_write()), (0.0, 1.0), "{watched}");
        assert_eq!(twin.is_watched(), watched);
        runtime.block_on(put(&client, "after")).unwrap();
        let (_, spent) = twin.capacity_spent(|| runtime.block_on(client.list_tables().send()).unwrap());
        assert!(spent.is_nothing(), "{watched}: {spent}");
    }
}

#[tokio::test]
async fn a_block_that_panics_ends_its_watch() {
    let twin = Twin::seeded(7);
    panic_of(|| twin.capacity_spent(|| panic!("{}", twin.seed())).0);
    assert!(!twin.is_watched());
}

#[tokio::test]
async fn the_hottest_keys_come_first() {
    let (twin, client) = watched().await;
    for (pk, times) in [("mild", 2), ("celebrity", 5), ("cold", 1)] {
        for _ in 0..times {
            put(&client, pk).await.unwrap();
        }
    }
    let hot: Vec<_> = twin
        .hottest_keys(TABLE, 2)
        .into_iter()
        .map(|hot| (hot.key, hot.units))
        .collect();
    assert_eq!(hot, [(s("celebrity"), 5.0), (s("mild"), 2.0)]);
    assert!(twin.hottest_keys("Nowhere", 2).is_empty());
}

#[tokio::test]
async fn counters_have_cloudwatchs_names() {
    let (twin, client) = watched().await;
    put(&client, "a").await.unwrap();
    let only_new = client
        .put_item()
        .table_name(TABLE)
        .item("PK", s("a"))
        .item("SK", s("-"));
    only_new
        .condition_expression("attribute_not_exists(PK)")
        .send()
        .await
        .unwrap_err();
    assert_eq!(
        twin.metric("ConditionalCheckFailedRequests", [("TableName", TABLE)]),
        1.0
    );
    assert_eq!(twin.metric("ConsumedWriteCapacityUnits", [("TableName", TABLE)]), 2.0);
    assert_eq!(twin.metric("ConsumedWriteCapacityUnits", []), 0.0);
    assert_eq!(twin.metric("ConsumedWriteCapacityUnits", [("TableName", "Other")]), 0.0);
    let expired = (twin.clock().now().seconds() + 60).to_string();
    let dies = client
        .put_item()
        .table_name(TABLE)
        .item("PK", s("b"))
        .item("SK", s("-"));
    dies.item("expiresAt", AttributeValue::N(expired)).send().await.unwrap();
    twin.clock().advance(std::time::Duration::from_secs(61));
    assert_eq!(twin.metric("TimeToLiveDeletedItemCount", [("TableName", TABLE)]), 1.0);
    assert_eq!(twin.metrics().len(), 3);
    assert_eq!(query(&client, "a").await, 1);
    // Dimensions have no order.
    let returned = |operation| {
        let dimensions = [("TableName", TABLE), ("Operation", operation)];
        let reversed = [dimensions[1], dimensions[0]];
        [dimensions, reversed].map(|dimensions| twin.metric("ReturnedItemCount", dimensions))
    };
    assert_eq!((returned("Query"), returned("Scan")), ([1.0; 2], [0.0; 2]));
    for (dimensions, value) in [
        (&[("TableName", TABLE)][..], 0.0),
        (&[("Operation", "Query")], 0.0),
        (&[("Operation", "Query"), ("TableName", "Other")], 0.0),
        (&[("Operation", "Query"), ("TableName", "Task")], 0.0),
        (&[("Operation", "Quer"), ("TableName", TABLE)], 0.0),
        (
            &[("Operation", "Query"), ("TableName", TABLE), ("IndexName", "by-x")],
            0.0,
        ),
        (&[("Operation", "Query"), ("TableName", TABLE)], 1.0),
    ] {
        let found = twin.metric("ReturnedItemCount", dimensions.iter().copied());
        assert_eq!(found, value, "{dimensions:?}");
    }
}

/// Requests, scans, counters, units and keys of other accounts and regions are not those of an account.
#[tokio::test]
async fn an_account_has_only_what_was_recorded_of_it() {
    let (twin, client) = watched().await;
    let accounts = [
        twin.region("us-east-1"),
        twin.region("eu-west-1"),
        twin.account("123456789012", "us-east-1"),
        twin.account("123456789012", "eu-west-1"),
    ];
    for account in &accounts[1..] {
        create_table(&account.client()).await;
    }
    twin.forget_requests();
    for (writes, account) in (1..).zip(&accounts) {
        let name = format!("{}, {}", account.caller().access_key, account.caller().region);
        let own = account.client();
        let ((), spent) = account
            .capacity_spent_by(Box::pin(async {
                for _ in 0..writes {
                    put(&own, &name).await.unwrap();
                }
                // The default account is not this one, except for the first.
                put(&client, "default").await.unwrap();
            }))
            .await;
        let units = if writes == 1 { 2.0 } else { f64::from(writes) };
        assert_eq!((spent.write(TABLE), spent.total_write()), (units, units), "{name}");
        own.scan().table_name(TABLE).send().await.unwrap();
    }
    for (writes, account) in (1_u32..).zip(&accounts) {
        let name = format!("{}, {}", account.caller().access_key, account.caller().region);
        let hot: Vec<_> = account.hottest_keys(TABLE, 9).into_iter().map(|hot| hot.key).collect();
        let (expected, total) = if writes == 1 {
            (vec![s("default"), s(&name)], 5)
        } else {
            (vec![s(&name)], writes)
        };
        assert_eq!(hot, expected, "{name}");
        assert!(account.hottest_keys(TABLE, 0).is_empty(), "{name}");
        let requests = account.requests();
        assert_eq!(requests.len(), total as usize + 1, "{name}");
        for request in requests {
            let caller = format!("{}, {}", request.access_key, request.region);
            assert_eq!(caller, name, "{request:?}");
        }
        let scans: Vec<_> = account.scans().into_iter().map(|scan| scan.caller).collect();
        assert_eq!(scans, [account.caller().clone()], "{name}");
        let (metric, table) = ("ConsumedWriteCapacityUnits", ("TableName", TABLE));
        assert_eq!(account.metric(metric, [table]), f64::from(total), "{name}");
        let points = account.metrics_by_minute().into_iter();
        let units =
            points.filter(|point| point.metric.name == metric && point.metric.dimension(table.0) == Some(table.1));
        assert_eq!(
            units.map(|point| point.metric.value).sum::<f64>(),
            f64::from(total),
            "{name}"
        );
    }
}
