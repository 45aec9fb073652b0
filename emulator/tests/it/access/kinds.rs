//! Each kind of policy in requests, and the text of its refusals.

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
fn a_policy_that_denies_its_own_author() {
    let twin = Twin::with_user("ann", &json!({}), &allow("*"));
    twin.create_table("Tab", ("pk", ""), None);
    let put = |policy: &Value, confirms: bool| {
        json!({"ResourceArn": format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Tab"),
        "Policy": policy.to_string(), "ConfirmRemoveSelfResourceAccess": confirms})
    };
    let locked = "The new resource policy will not allow you to update the resource policy in the future.";
    let deny = |action: &str| statement("Deny", action, json!({"Principal": {"AWS": ACCOUNT}}));
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
    endpoint().check("Tab", None, &[], refused);
    let secure = || only(json!({"Bool": {"aws:SecureTransport": true}}));
    secure().check("Tab", None, &[], "");
    secure().check("Tab", None, &[("x-dynatwin-secure-transport", "false")], refused);
    only(json!({"StringLike": {"aws:UserAgent": "aws-cli/*"}})).check("Tab", None, &[("user-agent", "aws-cli/2")], "");
    only(json!({"StringEquals": {"aws:PrincipalType": "AssumedRole", "aws:RequestedRegion": REGION, "aws:ResourceAccount": ACCOUNT}})).check("Tab", None, &[], "");
    only(json!({"DateLessThan": {"aws:CurrentTime": "2026-01-02T00:00:00Z"}})).check("Tab", None, &[], "");
    only(json!({"DateGreaterThan": {"aws:CurrentTime": "2026-01-02T00:00:00Z"}})).check("Tab", None, &[], refused);
}
