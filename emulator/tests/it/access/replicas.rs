//! Actions that a request needs in the regions of a global table (docs/behavior: 08 3.1 and 8).

use dynatwin_engine::Caller;
use serde_json::{Value, json};

use super::scene::{DENY, implicit};
use super::twin::{ACCOUNT, REGION, Twin};

const SECOND: &str = "eu-west-1";
const THIRD: &str = "ap-southeast-2";
const FOURTH: &str = "ca-central-1";

/// The actions on the table of a new replica.
const COPY: [&str; 9] = [
    "CreateTable",
    "CreateTableReplica",
    "Query",
    "Scan",
    "UpdateItem",
    "PutItem",
    "GetItem",
    "DeleteItem",
    "BatchWriteItem",
];

/// The actions on the table of a replica that is removed.
const REMOVE: [&str; 2] = ["DeleteTable", "DeleteTableReplica"];

/// An operation and its request.
type Call = (&'static str, Value);

/// Returns the call that restricts the replica of a region.
type Restrict<'f> = dyn Fn(&str) -> Call + 'f;

/// The actions that a call needs, by region.
type Needs = Vec<(&'static str, &'static [&'static str])>;

/// A call in a region, the calls of the root user before it, in the first region, and what it needs.
struct Case {
    before: Vec<Call>,
    region: &'static str,
    call: Call,
    needs: Needs,
}

fn arn(region: &str) -> String {
    format!("arn:aws:dynamodb:{region}:{ACCOUNT}:table/Tab")
}

fn call_in(twin: &Twin, region: &str, access_key: &str, operation: &str, body: &Value) -> (u16, Value) {
    let caller = Caller {
        access_key: access_key.into(),
        region: region.into(),
    };
    let answer = twin.engine.dispatch(&caller, operation, body.to_string().as_bytes());
    (
        answer.status,
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null),
    )
}

/// Returns what the calls can change, in each region.
fn state(twin: &Twin) -> Vec<Value> {
    let regions = [REGION, SECOND, THIRD, FOURTH, "us-east-2", "us-west-2"].into_iter();
    let read = |region| {
        ["DescribeTable", "DescribeTimeToLive"]
            .map(|operation| call_in(twin, region, "ROOT", operation, &json!({"TableName": "Tab"})).1)
    };
    regions.flat_map(read).collect()
}

impl Case {
    /// Calls as a user with a policy. Returns the answer, and whether it has changed anything.
    fn run(&self, statements: &Value) -> (u16, Value, bool) {
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        let twin = Twin::with_user("ann", &json!({}), &policy);
        twin.create_table("Tab", ("pk", ""), None);
        for (operation, body) in &self.before {
            twin.root(operation, body);
        }
        let before = state(&twin);
        let (status, answer) = call_in(&twin, self.region, "ann", self.call.0, &self.call.1);
        (status, answer, state(&twin) != before)
    }

    /// Makes the call with all that it needs, and without each of its actions in each region.
    fn check(&self) {
        let name = format!("{} {} in {}", self.call.0, self.call.1, self.region);
        // All needed actions except `missing`.
        let allowed = |missing: Option<(&str, &str)>| {
            // A policy must have a statement.
            let mut statements = vec![json!({"Effect": "Allow", "Action": "s3:*", "Resource": "*"})];
            for (region, actions) in &self.needs {
                let given = actions.iter().filter(|action| Some((*region, **action)) != missing);
                let given: Vec<String> = given.map(|action| format!("dynamodb:{action}")).collect();
                if !given.is_empty() {
                    statements.push(json!({"Effect": "Allow", "Action": given, "Resource": arn(region)}));
                }
            }
            json!(statements)
        };
        let (status, answer, changed) = self.run(&allowed(None));
        assert_eq!((status, changed), (200, true), "{name}: {answer}");
        let needs = self.needs.iter();
        for (region, action) in needs.flat_map(|(region, actions)| actions.iter().map(move |action| (*region, *action)))
        {
            let everything = json!({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"});
            let denied = json!({"Effect": "Deny", "Action": format!("dynamodb:{action}"), "Resource": arn(region)});
            for (statements, reason) in [
                (allowed(Some((region, action))), implicit(action)),
                (json!([everything, denied]), DENY.to_owned()),
            ] {
                let (status, answer, changed) = self.run(&statements);
                let text = answer["Message"].as_str().unwrap_or_default();
                let refused = format!("dynamodb:{action} on resource: {} {reason}", arn(region));
                assert!(
                    status == 400 && text.ends_with(&refused) && !changed,
                    "{name} without {action} in {region}: {answer}, changed: {changed}"
                );
            }
        }
    }
}

fn time_to_live(enabled: bool) -> Call {
    let specification = json!({"Enabled": enabled, "AttributeName": "t"});
    (
        "UpdateTimeToLive",
        json!({"TableName": "Tab", "TimeToLiveSpecification": specification}),
    )
}

/// A change of the replicas in these regions.
fn replicas(kind: &str, regions: &[&str], more: &Value) -> Call {
    let updates: Vec<Value> = regions
        .iter()
        .map(|region| {
            let mut action = json!({"RegionName": region});
            if kind == "Update" {
                action["OnDemandThroughputOverride"] = json!({"MaxReadRequestUnits": 7});
            }
            json!({kind: action})
        })
        .collect();
    let mut body = json!({"TableName": "Tab", "ReplicaUpdates": updates});
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    ("UpdateTable", body)
}

/// Creates a replica in each of these regions.
fn with_replicas(regions: &[&str]) -> Vec<Call> {
    let create = |region: &&str| replicas("Create", &[region], &json!({}));
    regions.iter().map(create).collect()
}

fn check(cases: Vec<(Vec<Call>, &'static str, Call, Needs)>) {
    for (before, region, call, needs) in cases {
        let case = Case {
            before,
            region,
            call,
            needs,
        };
        case.check();
    }
}

/// UpdateTimeToLive needs its permission in the region of every replica, whichever region it is called in.
#[test]
fn time_to_live_needs_permissions_in_every_region() {
    const TTL: &[&str] = &["UpdateTimeToLive"];
    let in_regions = |regions: &[&'static str]| regions.iter().map(|region| (*region, TTL)).collect();
    let three = [REGION, SECOND, THIRD];
    let then = |mut before: Vec<_>, next| {
        before.push(next);
        before
    };
    let global = || with_replicas(&[SECOND, THIRD]);
    let removed = |region: &str| then(global(), replicas("Delete", &[region], &json!({})));
    check(vec![
        (vec![], REGION, time_to_live(true), in_regions(&[REGION])),
        (
            with_replicas(&[SECOND]),
            REGION,
            time_to_live(true),
            in_regions(&three[..2]),
        ),
        (
            with_replicas(&[SECOND]),
            SECOND,
            time_to_live(true),
            in_regions(&three[..2]),
        ),
        (global(), REGION, time_to_live(true), in_regions(&three)),
        (global(), SECOND, time_to_live(true), in_regions(&three)),
        (global(), THIRD, time_to_live(true), in_regions(&three)),
        (
            then(global(), time_to_live(true)),
            SECOND,
            time_to_live(false),
            in_regions(&three),
        ),
        (
            with_replicas(&[SECOND, THIRD, FOURTH]),
            REGION,
            time_to_live(true),
            in_regions(&[REGION, SECOND, THIRD, FOURTH]),
        ),
        // Without the replica that was removed.
        (
            removed(SECOND),
            REGION,
            time_to_live(true),
            in_regions(&[REGION, THIRD]),
        ),
        (
            removed(THIRD),
            SECOND,
            time_to_live(true),
            in_regions(&[REGION, SECOND]),
        ),
    ]);
}

/// A change of replicas needs permissions where replicas are added or removed, and not where the others are.
#[test]
fn replicas_need_permissions_where_they_change() {
    const UPDATE: &[&str] = &["UpdateTable"];
    let none = json!({});
    let global = || with_replicas(&[SECOND, THIRD]);
    let own = |region, more: &[(&'static str, &'static [&'static str])]| {
        let mut needs = vec![(region, UPDATE)];
        needs.extend_from_slice(more);
        needs
    };
    let unprotected = (
        "UpdateTable",
        json!({"TableName": "Tab", "DisassociationProtectionEnabled": false}),
    );
    let leave = json!({"RegionName": REGION, "DisassociationMode": "WAIT_FOR_REPLICATION"});
    let leave = (
        "UpdateTable",
        json!({"TableName": "Tab", "ReplicaUpdates": [{"Disassociate": leave}]}),
    );
    let mut prepared = global();
    prepared.push(unprotected);
    let protect = (
        "UpdateTable",
        json!({"TableName": "Tab", "DeletionProtectionEnabled": true}),
    );
    check(vec![
        (
            vec![],
            REGION,
            replicas("Create", &[SECOND], &none),
            own(REGION, &[(SECOND, &COPY)]),
        ),
        (
            with_replicas(&[SECOND]),
            REGION,
            replicas("Delete", &[SECOND], &none),
            own(REGION, &[(SECOND, &REMOVE)]),
        ),
        (
            global(),
            REGION,
            replicas("Create", &[FOURTH], &none),
            own(REGION, &[(FOURTH, &COPY)]),
        ),
        (
            global(),
            THIRD,
            replicas("Create", &[FOURTH], &none),
            own(THIRD, &[(FOURTH, &COPY)]),
        ),
        (
            global(),
            REGION,
            replicas("Delete", &[SECOND], &none),
            own(REGION, &[(SECOND, &REMOVE)]),
        ),
        (
            global(),
            REGION,
            replicas("Delete", &[THIRD], &none),
            own(REGION, &[(THIRD, &REMOVE)]),
        ),
        (
            global(),
            SECOND,
            replicas("Delete", &[THIRD], &none),
            own(SECOND, &[(THIRD, &REMOVE)]),
        ),
        (
            global(),
            REGION,
            replicas("Update", &[SECOND, THIRD], &none),
            own(REGION, &[]),
        ),
        (global(), REGION, protect, own(REGION, &[])),
        (
            prepared,
            REGION,
            leave,
            own(REGION, &[(REGION, &["DisassociateTableReplica"])]),
        ),
    ]);
}

/// With strong consistency one request changes two replicas, or a replica and a witness.
#[test]
fn strong_replicas_need_permissions_in_all_of_their_regions() {
    const UPDATE: &[&str] = &["UpdateTable"];
    const OTHERS: [&str; 2] = ["us-east-2", "us-west-2"];
    const NEW_WITNESS: &[&str] = &["CreateGlobalTableWitness"];
    const OLD_WITNESS: &[&str] = &["DeleteGlobalTableWitness"];
    let strong = json!({"MultiRegionConsistency": "STRONG"});
    let witness = |kind: &str| json!([{kind: {"RegionName": OTHERS[1]}}]);
    let with_witness = json!({"MultiRegionConsistency": "STRONG", "GlobalTableWitnessUpdates": witness("Create")});
    let without_witness = json!({"GlobalTableWitnessUpdates": witness("Delete")});
    check(vec![
        (
            vec![],
            REGION,
            replicas("Create", &OTHERS, &strong),
            vec![(REGION, UPDATE), (OTHERS[0], &COPY), (OTHERS[1], &COPY)],
        ),
        (
            vec![replicas("Create", &OTHERS, &strong)],
            REGION,
            replicas("Delete", &OTHERS, &json!({})),
            vec![(REGION, UPDATE), (OTHERS[0], &REMOVE), (OTHERS[1], &REMOVE)],
        ),
        (
            vec![],
            REGION,
            replicas("Create", &OTHERS[..1], &with_witness),
            vec![
                (REGION, UPDATE),
                (OTHERS[0], &COPY),
                (REGION, NEW_WITNESS),
                (OTHERS[0], NEW_WITNESS),
                (OTHERS[1], NEW_WITNESS),
            ],
        ),
        (
            vec![replicas("Create", &OTHERS[..1], &with_witness)],
            REGION,
            replicas("Delete", &OTHERS[..1], &without_witness),
            vec![
                (REGION, UPDATE),
                (OTHERS[0], &REMOVE),
                (REGION, OLD_WITNESS),
                (OTHERS[0], OLD_WITNESS),
                (OTHERS[1], OLD_WITNESS),
            ],
        ),
    ]);
}

/// Each replica is permitted by its own tags and its own policy, whichever region the request is sent to.
#[test]
fn replicas_are_permitted_by_their_own_tags_and_policies() {
    let denied = |region: &str| {
        json!({"Effect": "Deny", "Principal": {"AWS": format!("arn:aws:iam::{ACCOUNT}:user/ann")},
            "Action": "dynamodb:UpdateTimeToLive", "Resource": arn(region)})
    };
    let tag = |region: &str| {
        let tags = json!([{"Key": "locked", "Value": "yes"}]);
        ("TagResource", json!({"ResourceArn": arn(region), "Tags": tags}))
    };
    let policy = |region: &str| {
        let policy = json!({"Version": "2012-10-17", "Statement": denied(region)});
        (
            "PutResourcePolicy",
            json!({"ResourceArn": arn(region), "Policy": policy.to_string(), "ConfirmRemoveSelfResourceAccess": true}),
        )
    };
    let everything = json!({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"});
    let locked = json!({"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"StringEquals": {"aws:ResourceTag/locked": "yes"}}});
    let statements = json!({"Version": "2012-10-17", "Statement": [everything, locked]});
    let kinds: [(&Restrict<'_>, &str); 2] = [
        (&tag, DENY),
        (&policy, "with an explicit deny in a resource-based policy"),
    ];
    for ((restrict, reason), place) in kinds
        .into_iter()
        .flat_map(|kind| [REGION, SECOND, THIRD].map(|place| (kind, place)))
    {
        let twin = Twin::with_user("ann", &json!({}), &statements);
        twin.create_table("Tab", ("pk", ""), None);
        for (operation, body) in with_replicas(&[SECOND, THIRD]) {
            twin.root(operation, &body);
        }
        let (operation, body) = restrict(place);
        let (status, answer) = call_in(&twin, place, "ROOT", operation, &body);
        assert_eq!(status, 200, "{operation} in {place}: {answer}");
        for region in [REGION, SECOND, THIRD] {
            let (operation, body) = time_to_live(true);
            let (status, answer) = call_in(&twin, region, "ann", operation, &body);
            let refused = format!("dynamodb:{operation} on resource: {} {reason}", arn(place));
            let text = answer["Message"].as_str().unwrap_or_default();
            assert!(
                status == 400 && text.ends_with(&refused),
                "{operation} in {region} with {body} in {place}: {answer}"
            );
        }
    }
}

/// A replica that is removed is protected by its own tags, and not by those of the other replicas.
#[test]
fn removed_replicas_are_protected_by_their_own_tags() {
    let everything = json!({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"});
    let locked = json!({"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"StringEquals": {"aws:ResourceTag/locked": "yes"}}});
    let statements = json!({"Version": "2012-10-17", "Statement": [everything, locked]});
    for (place, region, removed, refused) in [
        (REGION, REGION, SECOND, Some("UpdateTable")),
        (SECOND, REGION, SECOND, Some("DeleteTable")),
        (THIRD, REGION, SECOND, None),
        (REGION, SECOND, THIRD, None),
        (SECOND, SECOND, THIRD, Some("UpdateTable")),
        (THIRD, SECOND, THIRD, Some("DeleteTable")),
    ] {
        let twin = Twin::with_user("ann", &json!({}), &statements);
        twin.create_table("Tab", ("pk", ""), None);
        for (operation, body) in with_replicas(&[SECOND, THIRD]) {
            twin.root(operation, &body);
        }
        let tags = json!([{"Key": "locked", "Value": "yes"}]);
        let tag = json!({"ResourceArn": arn(place), "Tags": tags});
        let (status, answer) = call_in(&twin, place, "ROOT", "TagResource", &tag);
        assert_eq!(status, 200, "{place}: {answer}");
        let (operation, body) = replicas("Delete", &[removed], &json!({}));
        let (status, answer) = call_in(&twin, region, "ann", operation, &body);
        let text = answer["Message"].as_str().unwrap_or_default();
        let expect = refused.map(|action| format!("dynamodb:{action} on resource: {} {DENY}", arn(place)));
        assert!(
            expect.as_ref().map_or(status == 200, |expect| text.ends_with(expect)),
            "{removed} from {region}, locked in {place}: {answer}"
        );
    }
}
