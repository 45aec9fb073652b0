//! Each kind of policy in requests, and the text of its refusals.

use std::time::Duration;

use dynatwin_engine::iam::SessionRequest;
use dynatwin_engine::{Conditions, Lag};
use serde_json::{Value, json};

use super::scene::{ROLE, SESSION, Scene, allow, statement, to};
use super::twin::{ACCOUNT, REGION, Twin};

#[test]
fn each_kind_of_policy_limits() {
    let deny = || statement("Deny", "dynamodb:GetItem", json!({}));
    let everything = || Scene::new(&[allow("*")]);
    let because = |kind: &str| format!("because no {kind} allows the dynamodb:GetItem action");
    Scene::new(&[]).check("Tab", None, &[], &because("identity-based policy"));
    everything().check("Tab", None, &[], "");
    Scene::new(&[allow("*"), deny()]).check("Tab", None, &[], "with an explicit deny in an identity-based policy");
    everything()
        .role("permissionsBoundary", allow("s3:*"))
        .check("Tab", None, &[], &because("permissions boundary"));
    everything().role("permissionsBoundary", deny()).check(
        "Tab",
        None,
        &[],
        "with an explicit deny in a permissions boundary",
    );
    everything()
        .session("policies", json!([allow("dynamodb:PutItem")]))
        .check("Tab", None, &[], &because("session policy"));
    everything()
        .session("policies", json!([allow("dynamodb:*")]))
        .check("Tab", None, &[], "");
    everything().session("policies", json!([allow("*"), deny()])).check(
        "Tab",
        None,
        &[],
        "with an explicit deny in a session policy",
    );
    everything()
        .account(
            ACCOUNT,
            "serviceControlPolicies",
            json!([[allow("*")], [allow("dynamodb:CreateTable")]]),
        )
        .check("Tab", None, &[], &because("service control policy"));
    everything()
        .account(ACCOUNT, "serviceControlPolicies", json!([allow("*"), deny()]))
        .check("Tab", None, &[], "with an explicit deny in a service control policy");
    let control = statement("Deny", "dynamodb:GetItem", json!({"Principal": "*"}));
    everything()
        .account(ACCOUNT, "resourceControlPolicies", json!([control]))
        .check("Tab", None, &[], "with an explicit deny in a resource control policy");
    let managed = json!({"NoReads": deny()});
    everything()
        .account(ACCOUNT, "managedPolicies", managed)
        .role(
            "policies",
            json!([allow("*"), "arn:aws:iam::123456789012:policy/NoReads"]),
        )
        .check(
            "Tab",
            None,
            &[],
            "with an explicit deny in an identity-based policy: arn:aws:iam::123456789012:policy/NoReads",
        );
}

#[test]
fn resource_policies_of_ones_own_account() {
    let grant = |principal: &str| Some(("ROOT", statement("Allow", "dynamodb:GetItem", to(principal))));
    let none = || Scene::new(&[]);
    let identity = "because no identity-based policy allows the dynamodb:GetItem action";
    none().check("Tab", grant(SESSION), &[], "");
    none().check("Tab", grant(ROLE), &[], "");
    none().check("Tab", grant(ACCOUNT), &[], identity);
    none().check("Tab", grant("arn:aws:iam::123456789012:role/Other"), &[], identity);
    // Named by its role, a session is still limited; named itself, it is not.
    let boundary = || allow("s3:*");
    none().role("permissionsBoundary", boundary()).check(
        "Tab",
        grant(ROLE),
        &[],
        "because no permissions boundary allows the dynamodb:GetItem action",
    );
    none()
        .role("permissionsBoundary", boundary())
        .check("Tab", grant(SESSION), &[], "");
    none().session("policies", json!([boundary()])).check(
        "Tab",
        grant(ROLE),
        &[],
        "because no session policy allows the dynamodb:GetItem action",
    );
    let deny = Some((
        "ROOT",
        statement("Deny", "dynamodb:*", json!({"Principal": {"AWS": ROLE}})),
    ));
    Scene::new(&[allow("*")]).check("Tab", deny, &[], "with an explicit deny in a resource-based policy");
}

#[test]
fn a_policy_of_a_stream_that_denies_its_own_author() {
    let twin = Twin::with_user("ann", &json!({}), &allow("*"));
    twin.create_table("Tab", ("pk", ""), None);
    let stream = json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"});
    let table = twin.root(
        "UpdateTable",
        &json!({"TableName": "Tab", "StreamSpecification": stream}),
    );
    let arn = &table["TableDescription"]["LatestStreamArn"];
    let locked = "The new resource policy will not allow you to update the resource policy in the future.";
    let refused = "with an explicit deny in a resource-based policy";
    for (action, confirms, expected) in [
        ("dynamodb:PutResourcePolicy", None, Some(locked)),
        ("dynamodb:PutResourcePolicy", Some(false), Some(locked)),
        ("dynamodb:DeleteResourcePolicy", Some(false), None),
        ("dynamodb:PutResourcePolicy", Some(true), None),
        ("dynamodb:GetRecords", Some(false), Some(refused)),
    ] {
        let policy = statement("Deny", action, json!({"Principal": {"AWS": ACCOUNT}}));
        let mut put = json!({"ResourceArn": arn, "Policy": policy.to_string()});
        if let Some(confirms) = confirms {
            put["ConfirmRemoveSelfResourceAccess"] = json!(confirms);
        }
        twin.check("ann", "PutResourcePolicy", &put, expected);
    }
}

#[test]
fn a_policy_that_denies_its_own_author() {
    let twin = Twin::with_user("ann", &json!({}), &allow("*"));
    twin.create_table("Tab", ("pk", ""), None);
    let unconfirmed = |policy: &Value| json!({"ResourceArn": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab"), "Policy": policy.to_string()});
    let put = |policy: &Value, confirms: bool| {
        let mut put = unconfirmed(policy);
        put["ConfirmRemoveSelfResourceAccess"] = json!(confirms);
        put
    };
    let locked = "The new resource policy will not allow you to update the resource policy in the future.";
    let deny = |action: &str| statement("Deny", action, json!({"Principal": {"AWS": ACCOUNT}}));
    twin.check(
        "ann",
        "PutResourcePolicy",
        &unconfirmed(&deny("dynamodb:PutResourcePolicy")),
        Some(locked),
    );
    twin.check(
        "ann",
        "PutResourcePolicy",
        &put(&deny("dynamodb:PutResourcePolicy"), false),
        Some(locked),
    );
    twin.check(
        "ann",
        "PutResourcePolicy",
        &put(&deny("dynamodb:DeleteResourcePolicy"), false),
        None,
    );
    twin.check(
        "ann",
        "PutResourcePolicy",
        &put(&deny("dynamodb:PutResourcePolicy"), true),
        None,
    );
    let refused = "with an explicit deny in a resource-based policy";
    twin.check(
        "ann",
        "PutResourcePolicy",
        &put(&deny("dynamodb:GetItem"), false),
        Some(refused),
    );
    twin.check("ann", "DeleteTable", &json!({"TableName": "Tab"}), None);
    // Elements outside of the policy language are refused.
    twin.create_table("Other", ("pk", ""), None);
    let wrong = json!({"ResourceArn": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Other"),
        "Policy": statement("Deny", "dynamodb:GetItem", json!({"Principal": "*", "Condition": {"StringEqual": {"aws:a": "b"}}})).to_string()});
    let answer = twin.call("ann", "PutResourcePolicy", &wrong).1;
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("Invalid policy document: Statement 1: there is no condition operator"),
        "{answer}"
    );
}

/// Creates a table with a stream, and returns its description.
fn create_with_stream(twin: &Twin) -> Value {
    let table = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
    twin.root("CreateTable", &table)["TableDescription"].take()
}

/// The first policy of a table or stream is enforced after 3 s, and each change or deletion of one after 229 s (07 7.2).
#[test]
fn a_resource_policy_is_enforced_some_time_after_it_is_changed() {
    for of_stream in [false, true] {
        let twin = Twin::with_user("ann", &json!({}), &allow("*"));
        let lag = Lag::Fixed(Duration::from_secs(1));
        let conditions = Conditions {
            table_status: lag,
            ..Conditions::CALM
        };
        twin.engine.set_conditions(conditions).unwrap();
        let description = create_with_stream(&twin);
        twin.engine.advance(Duration::from_mins(1));
        let (arn, operation, request) = if of_stream {
            let arn = &description["LatestStreamArn"];
            (arn, "DescribeStream", json!({"StreamArn": arn}))
        } else {
            (&description["TableArn"], "Scan", json!({"TableName": "Tab"}))
        };
        let put = |effect: &str| {
            let policy = statement(effect, &format!("dynamodb:{operation}"), to(ACCOUNT));
            (
                "PutResourcePolicy",
                json!({"ResourceArn": arn, "Policy": policy.to_string()}),
            )
        };
        let refused = Some("with an explicit deny in a resource-based policy");
        let delete = ("DeleteResourcePolicy", json!({"ResourceArn": arn}));
        for ((change, body), seconds, before, after) in [
            (put("Deny"), 3, None, refused),
            (put("Allow"), 229, refused, None),
            (put("Deny"), 229, None, refused),
            (delete, 229, refused, None),
        ] {
            twin.root(change, &body);
            twin.engine.advance(Duration::from_micros(seconds * 1_000_000 - 1));
            twin.check("ann", operation, &request, before);
            twin.engine.advance(Duration::from_micros(1));
            twin.check("ann", operation, &request, after);
            twin.engine.advance(Duration::from_mins(5));
        }
    }
}

/// The tags of a table do not count for its stream, nor those of the stream for the table.
#[test]
fn a_stream_has_its_own_tags() {
    let condition = json!({"Condition": {"StringEquals": {"aws:ResourceTag/team": "red"}}});
    let twin = Twin::with_user("ann", &json!({}), &statement("Allow", "dynamodb:*", condition));
    let description = create_with_stream(&twin);
    let (table, stream) = (&description["TableArn"], &description["LatestStreamArn"]);
    let refused = |action: &str| format!("because no identity-based policy allows the dynamodb:{action} action");
    for (of_table, of_stream, scan, describe) in [
        ("blue", "red", Some(refused("Scan")), None),
        ("red", "blue", None, Some(refused("DescribeStream"))),
    ] {
        for (arn, team) in [(table, of_table), (stream, of_stream)] {
            let tags = json!([{"Key": "team", "Value": team}]);
            twin.root("TagResource", &json!({"ResourceArn": arn, "Tags": tags}));
        }
        twin.check("ann", "Scan", &json!({"TableName": "Tab"}), scan.as_deref());
        twin.check(
            "ann",
            "DescribeStream",
            &json!({"StreamArn": stream}),
            describe.as_deref(),
        );
    }
}

/// Each stream of a table has its own tags, also one that is closed.
#[test]
fn streams_of_one_table_have_their_own_tags() {
    let condition = json!({"Condition": {"StringEquals": {"aws:ResourceTag/team": "red"}}});
    let refused = "because no identity-based policy allows the dynamodb:DescribeStream action";
    for (first, second) in [("red", "blue"), ("blue", "red"), ("red", "red"), ("blue", "blue")] {
        let twin = Twin::with_user("ann", &json!({}), &statement("Allow", "dynamodb:*", condition.clone()));
        let tag = |stream: &Value, team: &str| {
            let tags = json!([{"Key": "team", "Value": team}]);
            twin.root("TagResource", &json!({"ResourceArn": stream, "Tags": tags}));
        };
        let closed = create_with_stream(&twin)["LatestStreamArn"].take();
        tag(&closed, first);
        let update = |specification: Value| {
            let update = json!({"TableName": "Tab", "StreamSpecification": specification});
            twin.root("UpdateTable", &update)["TableDescription"]["LatestStreamArn"].take()
        };
        update(json!({"StreamEnabled": false}));
        let open = update(json!({"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}));
        assert_ne!(open, closed);
        tag(&open, second);
        for (stream, team) in [(&closed, first), (&open, second)] {
            let request = json!({"StreamArn": stream});
            let expect = (team != "red").then_some(refused);
            twin.check("ann", "DescribeStream", &request, expect);
        }
    }
}

#[test]
fn endpoint_policies() {
    // The policy of the second guide.
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab");
    let guide = |role: &str| {
        json!({
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Principal": {"AWS": role}, "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"], "Resource": table}]
        })
    };
    let through = &[("x-dynatwin-vpc-endpoint", "vpce-1")][..];
    let refused = "because no VPC endpoint policy allows the dynamodb:GetItem action";
    let scene = |policy: Value| {
        let mut scene = Scene::new(&[allow("*")]);
        scene.endpoint("policy", policy);
        scene
    };
    scene(guide(ROLE)).check("Tab", None, through, "");
    scene(guide("arn:aws:iam::123456789012:role/Other")).check("Tab", None, through, refused);
    scene(guide("arn:aws:iam::123456789012:role/Other")).check("Tab", None, &[], "");
    scene(guide(ROLE)).role("policies", json!([])).check(
        "Tab",
        None,
        through,
        "because no identity-based policy allows the dynamodb:GetItem action",
    );
    // A gateway endpoint accepts only the principal *.
    scene(guide(ROLE))
        .endpoint("type", json!("gateway"))
        .check("Tab", None, through, refused);
    let narrowed = statement(
        "Allow",
        "dynamodb:GetItem",
        json!({"Principal": "*", "Condition": {"ArnEquals": {"aws:PrincipalArn": ROLE}}}),
    );
    scene(narrowed)
        .endpoint("type", json!("gateway"))
        .check("Tab", None, through, "");
    let twin = scene(guide(ROLE)).twin();
    let headers = [("x-amz-security-token", "t"), ("x-dynatwin-vpc-endpoint", "vpce-1")];
    let item = json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}}});
    for (operation, body, expect) in [
        ("PutItem", item.clone(), 200),
        (
            "UpdateItem",
            json!({"TableName": "Tab", "Key": {"pk": {"S": "a"}}}),
            400,
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"Tab": [{"PutRequest": {"Item": {"pk": {"S": "a"}}}}]}}),
            400,
        ),
        ("TransactWriteItems", json!({"TransactItems": [{"Put": item}]}), 200),
    ] {
        let (status, answer) = twin.send("SESSION", operation, &body, &headers);
        assert_eq!(status, expect, "{operation}: {answer}");
    }
}

/// Each statement of a gateway endpoint's policy that names an account or a role is one for the root user at most
/// (docs/behavior: 07 7.1).
#[test]
fn every_statement_of_a_gateway_endpoint_is_for_everybody() {
    let to = |principal: Value, action: &str| json!({"Effect": "Allow", "Principal": principal, "Action": action, "Resource": "*"});
    let role = |action: &str| to(json!({"AWS": ROLE}), action);
    let account = |action: &str| to(json!({"AWS": ACCOUNT}), action);
    let everybody = |action: &str| to(json!("*"), action);
    let through = &[("x-dynatwin-vpc-endpoint", "vpce-1")][..];
    let (get, put) = ("dynamodb:GetItem", "dynamodb:PutItem");
    for (statements, by_gateway) in [
        ([everybody(put), role(get)], false),
        ([role(get), everybody(put)], false),
        ([role(put), role(get)], false),
        ([role(put), everybody(get)], true),
        ([everybody(get), role(get)], true),
        ([role(get), everybody(get)], true),
        ([role(put), account(get)], false),
    ] {
        let policy = json!({"Version": "2012-10-17", "Statement": statements});
        for (kind, allowed) in [("gateway", by_gateway), ("interface", true)] {
            // An interface endpoint's statement for the account is one for all of its principals.
            let refusal = "because no VPC endpoint policy allows the dynamodb:GetItem action";
            Scene::new(&[allow("*")])
                .endpoint("policy", policy.clone())
                .endpoint("type", json!(kind))
                .check("Tab", None, through, if allowed { "" } else { refusal });
        }
    }
}

/// Session policies limit a session that is issued, and one that is explained, as they limit one of the configuration.
#[test]
fn issued_sessions_have_session_policies() {
    let reads = || statement("Allow", "dynamodb:GetItem", json!({})).to_string();
    let denies = || statement("Deny", "dynamodb:GetItem", json!({}));
    let managed = format!("arn:aws:iam::{ACCOUNT}:policy/NoReads");
    let twin = Scene::new(&[allow("*")])
        .account(ACCOUNT, "managedPolicies", json!({"NoReads": denies()}))
        .twin();
    let explicit = "with an explicit deny in a session policy";
    for (policies, reason, decided) in [
        (
            vec![allow("dynamodb:PutItem").to_string()],
            Some("because no session policy allows the dynamodb:GetItem action".to_owned()),
            None,
        ),
        (vec![reads()], None, Some("identity-based policy")),
        (
            vec![reads(), denies().to_string()],
            Some(explicit.to_owned()),
            Some("session policy"),
        ),
        (
            vec![reads(), managed.clone()],
            Some(format!("{explicit}: {managed}")),
            Some("session policy"),
        ),
    ] {
        let documents = policies
            .iter()
            .map(|policy| serde_json::from_str(policy).unwrap_or_else(|_| json!(policy)));
        let documents: Vec<Value> = documents.collect();
        let explained = [json!(documents), json!(policies)].map(|policies| json!({"policies": policies}));
        let request = SessionRequest {
            policies,
            ..SessionRequest::new(ROLE)
        };
        let issued = twin.engine.issue_session(&request).unwrap();
        let mut callers = vec![json!({"accessKeyId": issued.access_key_id})];
        callers.extend(explained.map(|session| json!({"principal": ROLE, "session": session})));
        for caller in callers {
            let mut question = caller.clone();
            question["action"] = json!("dynamodb:GetItem");
            question["resource"] = json!("*");
            let answer = twin.control("POST", "access/explain", &question);
            let evaluation = &answer["evaluations"][0];
            assert_eq!(evaluation["reason"].as_str(), reason.as_deref(), "{caller}: {answer}");
            let found = &evaluation["decidedBy"]["policyType"];
            assert_eq!(found.as_str(), decided, "{caller}: {answer}");
        }
    }
}

/// Each element of a list that contains lists is a level, also one that is a single policy.
#[test]
fn a_single_policy_may_be_a_level_of_service_control() {
    let (all, other) = (|| allow("*"), || allow("dynamodb:CreateTable"));
    let refusal = "because no service control policy allows the dynamodb:GetItem action";
    for (levels, expect) in [
        (json!([all(), other()]), ""),
        (json!([[all()], [other()]]), refusal),
        (json!([all(), [other()]]), refusal),
        (json!([other(), [all()]]), refusal),
        (json!([[all()], other()]), refusal),
        (json!([[other()], all()]), refusal),
        (json!([all(), all(), [other()]]), refusal),
        (json!([all(), [other(), all()]]), ""),
        (json!([[other(), all()], all()]), ""),
    ] {
        Scene::new(&[allow("*")])
            .account(ACCOUNT, "serviceControlPolicies", levels)
            .check("Tab", None, &[], expect);
    }
}

#[test]
fn conditions_on_where_a_request_comes_from() {
    let only = |condition: Value| Scene::new(&[statement("Allow", "dynamodb:*", json!({"Condition": condition}))]);
    let refused = "because no identity-based policy allows the dynamodb:GetItem action";
    let office = || only(json!({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}}));
    office().check("Tab", None, &[("x-dynatwin-source-ip", "203.0.113.9")], "");
    office().check("Tab", None, &[("x-dynatwin-source-ip", "198.51.100.1")], refused);
    office().check(
        "Tab",
        None,
        &[
            ("x-dynatwin-source-ip", "203.0.113.9"),
            ("x-dynatwin-vpc-endpoint", "vpce-1"),
        ],
        refused,
    );
    let endpoint = || only(json!({"StringEquals": {"aws:SourceVpce": "vpce-1", "aws:SourceVpc": "vpc-1"}}));
    endpoint().check("Tab", None, &[("x-dynatwin-vpc-endpoint", "vpce-1")], "");
    endpoint().check("Tab", None, &[("x-dynatwin-vpc-endpoint", " vpce-1 ")], "");
    endpoint().check("Tab", None, &[("x-dynatwin-vpc-endpoint", "vpce-2")], refused);
    endpoint().check("Tab", None, &[], refused);
    let secure = || only(json!({"Bool": {"aws:SecureTransport": true}}));
    secure().check("Tab", None, &[], "");
    secure().check("Tab", None, &[("x-dynatwin-secure-transport", "false")], refused);
    only(json!({"StringLike": {"aws:UserAgent": "aws-cli/*"}})).check("Tab", None, &[("user-agent", "aws-cli/2")], "");
    only(json!({"StringEquals": {"aws:PrincipalType": "AssumedRole", "aws:RequestedRegion": REGION, "aws:ResourceAccount": ACCOUNT}})).check("Tab", None, &[], "");
    only(json!({"DateLessThan": {"aws:CurrentTime": "2026-01-02T00:00:00Z"}})).check("Tab", None, &[], "");
    only(json!({"DateGreaterThan": {"aws:CurrentTime": "2026-01-02T00:00:00Z"}})).check("Tab", None, &[], refused);
}

/// The address and the transport of the configuration are those of requests that have no header for them.
#[test]
fn a_request_has_the_configured_origin_unless_its_headers_name_another() {
    let address = |key: &str| json!({"IpAddress": {key: "203.0.113.0/24"}});
    let secure = |expect: &str| json!({"Bool": {"aws:SecureTransport": expect}});
    let local = json!({"IpAddress": {"aws:SourceIp": "127.0.0.1"}});
    let office = json!({"sourceIp": "203.0.113.9"});
    let far = ("x-dynatwin-source-ip", "198.51.100.1");
    let near = ("x-dynatwin-source-ip", "203.0.113.200");
    let through = ("x-dynatwin-vpc-endpoint", "vpce-1");
    let (plain, encrypted) = (
        ("x-dynatwin-secure-transport", "false"),
        ("x-dynatwin-secure-transport", "true"),
    );
    for (configuration, condition, headers, expect) in [
        (json!({}), local, vec![], true),
        (json!({}), address("aws:SourceIp"), vec![], false),
        (json!({}), address("aws:SourceIp"), vec![near], true),
        (
            json!({}),
            address("aws:SourceIp"),
            vec![("x-dynatwin-source-ip", " 203.0.113.200 ")],
            true,
        ),
        (
            office.clone(),
            address("aws:SourceIp"),
            vec![("x-dynatwin-source-ip", " ")],
            true,
        ),
        (office.clone(), address("aws:SourceIp"), vec![], true),
        (office.clone(), address("aws:SourceIp"), vec![far], false),
        (office.clone(), address("aws:SourceIp"), vec![through], false),
        (office.clone(), address("aws:VpcSourceIp"), vec![through], true),
        (office.clone(), address("aws:VpcSourceIp"), vec![through, far], false),
        (office, address("aws:VpcSourceIp"), vec![], false),
        (json!({}), secure("true"), vec![], true),
        (json!({"secureTransport": true}), secure("true"), vec![], true),
        (json!({"secureTransport": false}), secure("true"), vec![], false),
        (json!({"secureTransport": false}), secure("false"), vec![], true),
        (json!({"secureTransport": false}), secure("true"), vec![encrypted], true),
        (json!({"secureTransport": true}), secure("true"), vec![plain], false),
    ] {
        let mut whole = configuration.clone();
        let policy = json!({"Version": "2012-10-17", "Statement": {
            "Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}});
        whole["accounts"] = json!({ACCOUNT: {"users": {"ANN": {
            "policies": [policy], "accessKeys": [{"accessKeyId": "ANN", "secretAccessKey": "s"}]}}}});
        let (status, answer) = Twin::new(&whole).send("ANN", "ListTables", &json!({}), &headers);
        assert_eq!(
            status == 200,
            expect,
            "{configuration} {condition} {headers:?}: {answer}"
        );
    }
}

/// An explained request comes from the origin and for the region that the question names, by a principal or by an access key.
#[test]
fn an_explained_request_has_the_origin_of_the_question() {
    let allow = |condition: Value| {
        json!({"Version": "2012-10-17", "Statement": {
            "Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}})
    };
    let near = json!({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}});
    let through = json!({"StringEquals": {"aws:SourceVpce": "vpce-1"}});
    let secure = json!({"Bool": {"aws:SecureTransport": "true"}});
    let europe = json!({"StringEquals": {"aws:RequestedRegion": "eu-west-1"}});
    for (condition, origin, expect) in [
        (&near, json!({"sourceIp": "203.0.113.9"}), true),
        (&near, json!({"sourceIp": "198.51.100.1"}), false),
        (&near, json!({}), false),
        (&through, json!({"vpcEndpoint": "vpce-1"}), true),
        (&through, json!({"vpcEndpoint": "vpce-2"}), false),
        (&through, json!({}), false),
        (&secure, json!({"secureTransport": true}), true),
        (&secure, json!({"secureTransport": false}), false),
        (&europe, json!({"region": "eu-west-1"}), true),
        (&europe, json!({"region": "us-east-1"}), false),
        (&europe, json!({}), false),
    ] {
        let twin = Twin::new(
            &json!({"vpcEndpoints": {"vpce-1": {}, "vpce-2": {}}, "accounts": {ACCOUNT: {"users": {"ANN": {
            "policies": [allow(condition.clone())], "accessKeys": [{"accessKeyId": "ANN", "secretAccessKey": "s"}]}}}}}),
        );
        let principal = format!("arn:aws:iam::{ACCOUNT}:user/ANN");
        for (member, caller) in [("principal", principal.as_str()), ("accessKeyId", "ANN")] {
            for asked in [
                json!({"action": "dynamodb:ListTables", "resource": "*"}),
                json!({"operation": "ListTables", "request": {}}),
            ] {
                let mut question = asked;
                question[member] = caller.into();
                question
                    .as_object_mut()
                    .unwrap()
                    .extend(origin.as_object().unwrap().clone());
                let answer = twin.control("POST", "access/explain", &question);
                assert_eq!(answer["allowed"], expect, "{question} {condition}: {answer}");
            }
        }
    }
}

/// Streams have no gateway endpoint: its policy does not apply to their requests, as that of an interface endpoint does.
#[test]
fn requests_to_streams_pass_no_gateway_endpoint() {
    let through = [("x-amz-security-token", "t"), ("x-dynatwin-vpc-endpoint", "vpce-1")];
    for (kind, operation, expect) in [
        ("gateway", "ListTables", 400),
        ("gateway", "ListStreams", 200),
        ("interface", "ListTables", 400),
        ("interface", "ListStreams", 400),
    ] {
        let mut scene = Scene::new(&[allow("*")]);
        let only = statement("Allow", "dynamodb:GetItem", json!({"Principal": "*"}));
        scene.endpoint("type", json!(kind)).endpoint("policy", only);
        let (status, answer) = scene.twin().send("SESSION", operation, &json!({}), &through);
        assert_eq!(status, expect, "{kind} {operation}: {answer}");
    }
}
