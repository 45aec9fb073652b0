//! Table builders.

use aws_sdk_dynamodb::Error;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, GlobalSecondaryIndexDescription, LocalSecondaryIndexDescription, Projection,
    ProjectionType, ScalarAttributeType, StreamViewType, TableDescription, TableStatus,
};
use dynatwin::{Conditions, Twin};

/// `TABLE(hash,range) index(hash,range)…`, with the types of keys that are not strings.
fn summary(table: &TableDescription) -> String {
    let attribute = |name: &str| {
        let definition = table
            .attribute_definitions()
            .iter()
            .find(|it| it.attribute_name() == name);
        match definition.map(AttributeDefinition::attribute_type) {
            Some(ScalarAttributeType::S) => name.to_owned(),
            other => format!("{name}:{}", other.map_or("?", ScalarAttributeType::as_str)),
        }
    };
    let keys = |schema: &[aws_sdk_dynamodb::types::KeySchemaElement]| {
        let names: Vec<String> = schema.iter().map(|key| attribute(key.attribute_name())).collect();
        names.join(",")
    };
    let global = table.global_secondary_indexes().iter();
    let global = global.map(|index| format!(" {}({})", index.index_name().unwrap_or(""), keys(index.key_schema())));
    let local = table.local_secondary_indexes().iter();
    let local = local.map(|index| format!(" {}({})", index.index_name().unwrap_or(""), keys(index.key_schema())));
    let indexes: String = global.chain(local).collect();
    format!(
        "{}({}){indexes}",
        table.table_name().unwrap_or(""),
        keys(table.key_schema())
    )
}

#[tokio::test]
async fn a_builder_creates_the_keys_and_indexes_it_names() {
    let n = ScalarAttributeType::N;
    let twin = Twin::seeded(1);
    for (builder, expected) in [
        (twin.table("Plain").hash("id"), "Plain(id)"),
        (
            twin.table("Sorted").hash("id").range(("at", n.clone())),
            "Sorted(id,at:N)",
        ),
        (
            twin.table("Indexed")
                .hash("id")
                .range("sk")
                .global_index("by-id", "id")
                .sorted_global_index("by-sk", "sk", ("at", n.clone()))
                .sorted_global_index("by-kind-and-sk", "kind", "sk")
                .local_index("by-at", ("at", n.clone()))
                .local_index("by-kind", "kind")
                .local_index("by-at-too", ("at", n)),
            "Indexed(id,sk) by-id(id) by-sk(sk,at:N) by-kind-and-sk(kind,sk) \
             by-at(id,at:N) by-kind(id,kind) by-at-too(id,at:N)",
        ),
    ] {
        let table = builder.create().await.unwrap();
        assert_eq!(summary(&table), expected);
        let global = table.global_secondary_indexes().iter();
        let local = table.local_secondary_indexes().iter();
        let projections = global
            .map(GlobalSecondaryIndexDescription::projection)
            .chain(local.map(LocalSecondaryIndexDescription::projection));
        for projection in projections {
            let kind = projection.and_then(Projection::projection_type);
            assert_eq!(kind, Some(&ProjectionType::All), "{expected}");
        }
    }
}

#[tokio::test]
async fn a_builder_sets_throughput_stream_and_time_to_live() {
    let twin = Twin::seeded(1);
    let builder = twin
        .table("Sessions")
        .hash("id")
        .global_index("by-owner", "owner")
        .sorted_global_index("by-owner-and-id", "owner", "id")
        .throughput(7, 3);
    let table = builder
        .stream(StreamViewType::KeysOnly)
        .ttl("expiresAt")
        .create()
        .await
        .unwrap();
    let units = |it: Option<&aws_sdk_dynamodb::types::ProvisionedThroughputDescription>| {
        it.map(|it| (it.read_capacity_units(), it.write_capacity_units()))
    };
    assert_eq!(units(table.provisioned_throughput()), Some((Some(7), Some(3))));
    assert_eq!(table.global_secondary_indexes().len(), 2);
    for index in table.global_secondary_indexes() {
        let found = units(index.provisioned_throughput());
        assert_eq!(found, Some((Some(7), Some(3))), "{:?}", index.index_name());
    }
    assert!(table.latest_stream_arn().is_some());

    let ttl = twin
        .client()
        .describe_time_to_live()
        .table_name("Sessions")
        .send()
        .await
        .unwrap();
    let ttl = ttl.time_to_live_description().unwrap();
    assert_eq!(ttl.attribute_name(), Some("expiresAt"));
}

#[tokio::test]
async fn the_stream_of_a_builder_has_the_view_it_names() {
    let twin = Twin::seeded(1);
    for view in [
        StreamViewType::KeysOnly,
        StreamViewType::NewImage,
        StreamViewType::OldImage,
        StreamViewType::NewAndOldImages,
    ] {
        let builder = twin.table(view.as_str()).hash("id").stream(view.clone());
        let table = builder.create().await.unwrap();
        let stream = table.stream_specification().unwrap();
        assert_eq!(
            (stream.stream_enabled(), stream.stream_view_type()),
            (true, Some(&view))
        );
    }
    let table = twin.table("Plain").hash("id").create().await.unwrap();
    assert_eq!((table.stream_specification(), table.latest_stream_arn()), (None, None));
}

#[tokio::test]
async fn create_returns_once_the_table_is_active() {
    let twin = Twin::seeded(1);
    twin.set_conditions(Conditions::AWS).unwrap();
    for (builder, expiry) in [
        (twin.table("Slow").hash("id"), None),
        (twin.table("Expiring").hash("id").ttl("expiresAt"), Some("expiresAt")),
        (twin.table("Indexed").hash("id").global_index("by-owner", "owner"), None),
        (
            twin.table("Streaming").hash("id").stream(StreamViewType::KeysOnly),
            None,
        ),
        (
            twin.table("Provisioned").hash("id").throughput(7, 3).ttl("until"),
            Some("until"),
        ),
    ] {
        let before = twin.clock().now();
        let table = builder.create().await.unwrap();
        let name = table.table_name().unwrap();
        assert_eq!(table.table_status(), Some(&TableStatus::Active), "{name}");
        assert!(twin.clock().now() > before, "{name}");
        let request = twin.client().describe_time_to_live().table_name(name);
        let ttl = request.send().await.unwrap().time_to_live_description.unwrap();
        assert_eq!(ttl.attribute_name(), expiry, "{name}");
    }
}

#[tokio::test]
async fn a_table_without_a_partition_key_is_refused_by_the_service() {
    let error = Twin::seeded(1).table("Keyless").create().await.unwrap_err();
    assert!(!matches!(error, Error::ResourceInUseException(_)), "{error:?}");
}

/// An attribute that is declared with two types is sent with both, which the service refuses, wherever it is declared.
#[tokio::test]
async fn an_attribute_with_two_types_is_refused_by_the_service() {
    let n = || ScalarAttributeType::N;
    let twin = Twin::seeded(1);
    let table = |name: &str| twin.table(name).hash("id").range("sk");
    for (builder, is_refused) in [
        (table("Key").global_index("by-g", ("id", n())), true),
        (table("Sort").global_index("by-g", ("sk", n())), true),
        (table("Local").local_index("by-l", ("id", n())), true),
        (table("Sorted").sorted_global_index("by-g", "a", ("sk", n())), true),
        (
            table("Indexes")
                .global_index("by-g", "a")
                .global_index("by-h", ("a", n())),
            true,
        ),
        (
            table("Equal").global_index("by-g", "id").global_index("by-h", "sk"),
            false,
        ),
        (
            table("Numbers")
                .global_index("by-g", ("a", n()))
                .local_index("by-l", ("a", n())),
            false,
        ),
    ] {
        let created = builder.create().await;
        let code = created
            .as_ref()
            .err()
            .and_then(aws_sdk_dynamodb::error::ProvideErrorMetadata::code);
        assert_eq!(code, is_refused.then_some("ValidationException"), "{created:?}");
    }
}

/// A binary key is compared with all its bytes.
#[tokio::test]
async fn an_item_is_found_by_its_binary_key() {
    let twin = Twin::seeded(1);
    let builder = twin.table("Bytes").hash(("id", ScalarAttributeType::B));
    builder.create().await.unwrap();
    let id = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
    let stored: [&[u8]; 3] = [&[1, 2], &[2], &[2, 0, 0]];
    for bytes in stored {
        let put = twin.client().put_item().table_name("Bytes").item("id", id(bytes));
        put.send().await.unwrap();
    }
    for bytes in [&[1][..], &[1, 2], &[1, 2, 3], &[2], &[2, 0], &[2, 0, 0], &[3]] {
        let found = twin.item("Bytes", [("id", id(bytes))]);
        let expected = stored.contains(&bytes).then(|| id(bytes));
        assert_eq!(found.map(|item| item["id"].clone()), expected, "{bytes:?}");
    }
}

/// An item is found by all of its key, in any order.
#[tokio::test]
async fn an_item_is_found_by_its_whole_key() {
    let twin = Twin::seeded(1);
    twin.table("Found")
        .hash("pk")
        .range(("sk", ScalarAttributeType::N))
        .create()
        .await
        .unwrap();
    for (pk, sk) in [("a", 1), ("a", 2), ("b", 1)] {
        let put = twin.client().put_item().table_name("Found").item("pk", crate::s(pk));
        let put = put.item("sk", crate::n(sk)).item("v", crate::s(&format!("{pk}{sk}")));
        put.send().await.unwrap();
    }
    for (pk, sk, expected) in [
        ("a", 1, Some("a1")),
        ("a", 2, Some("a2")),
        ("b", 1, Some("b1")),
        ("b", 2, None),
        ("c", 1, None),
    ] {
        let key = [("pk", crate::s(pk)), ("sk", crate::n(sk))];
        let mut reversed = key.clone();
        reversed.reverse();
        for key in [key, reversed] {
            let found = twin.item("Found", key.clone());
            let value = found.map(|item| item["v"].as_s().unwrap().clone());
            assert_eq!(value.as_deref(), expected, "{key:?}");
        }
    }
}
