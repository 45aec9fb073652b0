//! Access policies attached to callers, and the service's answers.

mod decisions;
mod documented;
mod federated;
mod guides;
mod operations;
mod report;
mod twin;

use dynatwin_engine::operation::OPERATIONS;
use operations::operations;
use serde_json::{Value, json};
use twin::{ACCOUNT, REGION, Twin};

/// The policy of the first guide: isolates tenants by a principal tag.
fn tenant_policy() -> Value {
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Projects");
    json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "ProjectScopedDynamoDBAccess",
            "Effect": "Allow",
            "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:Query"],
            "Resource": [table, format!("{table}/index/*")],
            "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["PROJECT#${aws:PrincipalTag/projectId}"]}}
        }]
    })
}

/// The policy of the second guide: some attributes of the caller's own items, and no secret ones.
fn attribute_policy() -> Value {
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/UserData");
    json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "AllowReadOwnItems",
            "Effect": "Allow",
            "Action": ["dynamodb:GetItem", "dynamodb:Query"],
            "Resource": table,
            "Condition": {
                "ForAllValues:StringEquals": {
                    "dynamodb:LeadingKeys": ["${aws:PrincipalTag/userId}"],
                    "dynamodb:Attributes": ["userId", "email", "preferences", "createdAt"]
                },
                "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}
            }
        }, {
            "Sid": "DenyPIIAttributes",
            "Effect": "Deny",
            "Action": ["dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"],
            "Resource": table,
            "Condition": {"ForAnyValue:StringEquals": {"dynamodb:Attributes": ["ssn", "creditCard", "rawPassword"]}}
        }]
    })
}

fn implicit(action: &str) -> String {
    format!("because no identity-based policy allows the dynamodb:{action} action")
}

const DENY: &str = "with an explicit deny in an identity-based policy";

fn key(tenant: &str) -> Value {
    json!({"PK": {"S": format!("PROJECT#{tenant}")}, "SK": {"S": "META"}})
}

fn tenant_twin(policy: &Value) -> Twin {
    let twin = Twin::with_user("alice", &json!({"projectId": "alpha"}), policy);
    twin.create_table("Projects", ("PK", "SK"), Some("owner"));
    for tenant in ["alpha", "beta"] {
        twin.root("PutItem", &json!({"TableName": "Projects", "Item": key(tenant)}));
    }
    twin
}

#[test]
fn a_tenant_by_principal_tag() {
    let twin = tenant_twin(&tenant_policy());
    let query = |tenant: &str| {
        json!({"TableName": "Projects", "KeyConditionExpression": "PK = :p AND begins_with(SK, :s)",
            "ExpressionAttributeValues": {":p": {"S": format!("PROJECT#{tenant}")}, ":s": {"S": "M"}}})
    };
    let get = |tenant: &str| json!({"TableName": "Projects", "Key": key(tenant)});
    let put = |tenant: &str| json!({"TableName": "Projects", "Item": key(tenant)});
    let transaction = |entries: &[Value]| json!({"TransactItems": entries});
    let check = json!({"ConditionCheck": {"TableName": "Projects", "Key": {"PK": {"S": "PROJECT#alpha"}, "SK": {"S": "other"}}, "ConditionExpression": "attribute_not_exists(PK)"}});
    let index = json!({"TableName": "Projects", "IndexName": "by-owner", "KeyConditionExpression": "#o = :o",
        "ExpressionAttributeNames": {"#o": "owner"}, "ExpressionAttributeValues": {":o": {"S": "ann"}}});
    let statement = json!({"Statement": "SELECT * FROM Projects WHERE PK = 'PROJECT#alpha'"});
    let one = json!({"Statement": "SELECT * FROM Projects WHERE PK = 'PROJECT#alpha' AND SK = 'META'"});
    for (operation, body, expect) in [
        ("GetItem", get("alpha"), None),
        ("PutItem", put("alpha"), None),
        ("UpdateItem", get("alpha"), None),
        ("DeleteItem", get("alpha"), None),
        ("Query", query("alpha"), None),
        ("GetItem", get("beta"), Some("GetItem")),
        ("PutItem", put("beta"), Some("PutItem")),
        ("UpdateItem", get("beta"), Some("UpdateItem")),
        ("DeleteItem", get("beta"), Some("DeleteItem")),
        ("Query", query("beta"), Some("Query")),
        ("Query", index, Some("Query")),
        ("Scan", json!({"TableName": "Projects"}), Some("Scan")),
        (
            "BatchGetItem",
            json!({"RequestItems": {"Projects": {"Keys": [key("alpha")]}}}),
            Some("BatchGetItem"),
        ),
        (
            "BatchWriteItem",
            json!({"RequestItems": {"Projects": [{"PutRequest": {"Item": key("alpha")}}]}}),
            Some("BatchWriteItem"),
        ),
        ("ExecuteStatement", statement.clone(), Some("PartiQLSelect")),
        (
            "ExecuteTransaction",
            json!({"TransactStatements": [one]}),
            Some("PartiQLSelect"),
        ),
        ("TransactWriteItems", transaction(&[json!({"Put": put("alpha")})]), None),
        (
            "TransactWriteItems",
            transaction(&[json!({"Put": put("alpha")}), check]),
            Some("ConditionCheckItem"),
        ),
        (
            "TransactWriteItems",
            transaction(&[json!({"Put": put("beta")})]),
            Some("PutItem"),
        ),
        ("TransactGetItems", transaction(&[json!({"Get": get("alpha")})]), None),
        (
            "TransactGetItems",
            transaction(&[json!({"Get": get("beta")})]),
            Some("GetItem"),
        ),
    ] {
        twin.check("alice", operation, &body, expect.map(implicit).as_deref());
    }
}

#[test]
fn the_text_names_caller_action_resource_and_reason() {
    let twin = tenant_twin(&tenant_policy());
    let caller = format!("arn:aws:iam::{ACCOUNT}:user/alice");
    let table = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Projects");
    let (status, answer) = twin.call(
        "alice",
        "Scan",
        &json!({"TableName": "Projects", "IndexName": "by-owner"}),
    );
    assert_eq!(status, 400);
    assert_eq!(answer["__type"], "com.amazon.coral.service#AccessDeniedException");
    assert_eq!(
        answer["Message"],
        format!(
            "User: {caller} is not authorized to perform: dynamodb:Scan on resource: {table}/index/by-owner because no identity-based policy allows the dynamodb:Scan action"
        )
    );
    // A caller without access does not learn whether the table exists.
    let missing = twin
        .call(
            "alice",
            "GetItem",
            &json!({"TableName": "Nowhere", "Key": key("alpha")}),
        )
        .1;
    let text = missing["Message"].as_str().unwrap();
    assert!(
        text.contains("on resource: arn:aws:dynamodb:us-east-1:123456789012:table/Nowhere because"),
        "{text}"
    );
}

#[test]
fn variants_of_the_tenant_policy() {
    let scan = json!({"TableName": "Projects"});
    let get = json!({"TableName": "Projects", "Key": key("alpha")});
    let mut with_scan = tenant_policy();
    with_scan["Statement"][0]["Action"]
        .as_array_mut()
        .unwrap()
        .push(json!("dynamodb:Scan"));
    let twin = tenant_twin(&with_scan);
    let items = twin.call("alice", "Scan", &scan).1;
    assert_eq!(items["Count"], 2, "a Scan shows all tenants");

    let mut guarded = with_scan.clone();
    guarded["Statement"][0]["Condition"]["Null"] = json!({"dynamodb:LeadingKeys": "false"});
    tenant_twin(&guarded).check("alice", "Scan", &scan, Some(&implicit("Scan")));
    tenant_twin(&guarded).check("alice", "GetItem", &get, None);

    let mut old = tenant_policy();
    old["Version"] = json!("2008-10-17");
    tenant_twin(&old).check("alice", "GetItem", &get, Some(&implicit("GetItem")));

    let untagged = Twin::with_user("alice", &json!({}), &tenant_policy());
    untagged.create_table("Projects", ("PK", "SK"), None);
    untagged.check("alice", "GetItem", &get, Some(&implicit("GetItem")));
}

fn user_twin(policy: &Value) -> Twin {
    let twin = Twin::with_user("u1", &json!({"userId": "u1"}), policy);
    twin.create_table("UserData", ("userId", ""), None);
    let item = json!({"userId": {"S": "u1"}, "ssn": {"S": "secret"}, "email": {"S": "e"}});
    twin.root("PutItem", &json!({"TableName": "UserData", "Item": item}));
    twin
}

fn read(user: &str, projection: Option<&str>) -> Value {
    let mut body = json!({"TableName": "UserData", "Key": {"userId": {"S": user}}});
    if let Some(projection) = projection {
        body["ProjectionExpression"] = json!(projection);
    }
    body
}

#[test]
fn some_attributes_of_ones_own_items() {
    let twin = user_twin(&attribute_policy());
    let query = |members: Value| {
        let mut body = json!({"TableName": "UserData", "KeyConditionExpression": "userId = :u",
            "ExpressionAttributeValues": {":u": {"S": "u1"}}});
        body.as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        body
    };
    let mut named = read("u1", Some("#s"));
    named["ExpressionAttributeNames"] = json!({"#s": "ssn"});
    let (get, not_query) = (implicit("GetItem"), implicit("Query"));
    for (operation, body, expect) in [
        ("GetItem", read("u1", Some("userId, email")), None),
        ("GetItem", read("u1", None), Some(get.as_str())),
        ("GetItem", read("u1", Some("email, preferences.theme")), None),
        ("GetItem", named, Some(DENY)),
        ("GetItem", read("u1", Some("email, phone")), Some(&get)),
        ("GetItem", read("u2", Some("email")), Some(&get)),
        ("Query", query(json!({"ProjectionExpression": "email"})), None),
        (
            "Query",
            query(json!({"ProjectionExpression": "email", "FilterExpression": "attribute_exists(ssn)"})),
            Some(DENY),
        ),
        ("Query", query(json!({"Select": "COUNT"})), Some(&not_query)),
        (
            "Scan",
            json!({"TableName": "UserData", "ProjectionExpression": "email"}),
            Some(&implicit("Scan")),
        ),
        (
            "Scan",
            json!({"TableName": "UserData", "ProjectionExpression": "ssn"}),
            Some(DENY),
        ),
        (
            "BatchGetItem",
            json!({"RequestItems": {"UserData": {"Keys": [{"userId": {"S": "u1"}}], "ProjectionExpression": "email"}}}),
            Some(&implicit("BatchGetItem")),
        ),
        (
            "ExecuteStatement",
            json!({"Statement": "SELECT email FROM UserData WHERE userId = 'u1'"}),
            Some(&implicit("PartiQLSelect")),
        ),
    ] {
        twin.check("u1", operation, &body, expect);
    }
}

#[test]
fn a_deny_that_does_not_cover_attributes() {
    let mut bare = attribute_policy();
    bare["Statement"][0] = json!({"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"});
    let mut only = bare.clone();
    bare["Statement"][1]["Condition"] = json!({"StringEquals": {"dynamodb:Attributes": ["ssn"]}});
    user_twin(&bare).check("u1", "GetItem", &read("u1", Some("ssn")), None);
    let twin = user_twin(&only);
    twin.check("u1", "GetItem", &read("u1", Some("ssn")), Some(DENY));
    assert_eq!(
        twin.call("u1", "GetItem", &read("u1", None)).1["Item"]["ssn"]["S"],
        "secret"
    );
    only["Statement"].as_array_mut().unwrap().push(json!({
        "Effect": "Deny", "Action": "dynamodb:GetItem", "Resource": "*",
        "Condition": {"StringNotEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}
    }));
    user_twin(&only).check("u1", "GetItem", &read("u1", None), Some(DENY));
}

#[test]
fn rules_for_writes() {
    let allow = |action: &str, condition: Value| json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": action, "Resource": "*", "Condition": condition}});
    let update = |expression: &str, returns: Option<&str>| {
        let mut body = read("u1", None);
        body["UpdateExpression"] = json!(expression);
        body["ExpressionAttributeValues"] = json!({":v": {"N": "1"}});
        if let Some(returns) = returns {
            body["ReturnValues"] = json!(returns);
        }
        body
    };
    let scores = user_twin(&allow(
        "dynamodb:UpdateItem",
        json!({
            "ForAllValues:StringEquals": {"dynamodb:Attributes": ["userId", "TopScore"]},
            "StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"]}
        }),
    ));
    let refused = implicit("UpdateItem");
    scores.check("u1", "UpdateItem", &update("SET TopScore = :v", None), None);
    scores.check(
        "u1",
        "UpdateItem",
        &update("SET TopScore = :v", Some("ALL_NEW")),
        Some(&refused),
    );
    let mut condition = update("SET TopScore = :v", None);
    condition["ConditionExpression"] = json!("attribute_not_exists(Wins)");
    scores.check("u1", "UpdateItem", &condition, Some(&refused));
    let games = user_twin(&allow(
        "dynamodb:UpdateItem",
        json!({
            "ForAllValues:StringNotLike": {"dynamodb:Attributes": ["FreeGamesAvailable", "BossLevelUnlocked"]}
        }),
    ));
    games.check(
        "u1",
        "UpdateItem",
        &update("SET BossLevelUnlocked = :v", None),
        Some(&refused),
    );
    games.check("u1", "UpdateItem", &update("SET Progress = :v", None), None);

    let everything = json!({"Effect": "Allow", "Action": "*", "Resource": "*"});
    let deny = |action: Value, condition: Value| json!({"Version": "2012-10-17", "Statement": [everything, {"Effect": "Deny", "Action": action, "Resource": "*", "Condition": condition}]});
    let single = user_twin(&deny(
        json!([
            "dynamodb:PutItem",
            "dynamodb:UpdateItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:ConditionCheckItem"
        ]),
        json!({"StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems", "TransactGetItems"]}}),
    ));
    let put = json!({"TableName": "UserData", "Item": {"userId": {"S": "u1"}}});
    single.check("u1", "PutItem", &put, None);
    single.check(
        "u1",
        "TransactWriteItems",
        &json!({"TransactItems": [{"Put": put}]}),
        Some(DENY),
    );
    let scans = user_twin(&deny(
        json!("dynamodb:PartiQLSelect"),
        json!({"Bool": {"dynamodb:FullTableScan": true}}),
    ));
    scans.check(
        "u1",
        "ExecuteStatement",
        &json!({"Statement": "SELECT * FROM UserData"}),
        Some(DENY),
    );
    scans.check(
        "u1",
        "ExecuteStatement",
        &json!({"Statement": "SELECT * FROM UserData WHERE userId = 'u1'"}),
        None,
    );
}

#[test]
fn a_refused_part_refuses_the_whole_call_and_nothing_is_written() {
    let twin = tenant_twin(&tenant_policy());
    let put = |tenant: &str| json!({"Put": {"TableName": "Projects", "Item": {"PK": {"S": format!("PROJECT#{tenant}")}, "SK": {"S": "new"}}}});
    let body = json!({"TransactItems": [put("alpha"), put("beta")]});
    let (status, answer) = twin.call("alice", "TransactWriteItems", &body);
    assert_eq!((status, answer.get("CancellationReasons")), (400, None), "{answer}");
    assert_eq!(twin.root("Scan", &json!({"TableName": "Projects"}))["Count"], 2);

    // Statements of a batch are refused one by one.
    let policy = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:PartiQLSelect", "Resource": "*",
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["u1"]}}}});
    let twin = user_twin(&policy);
    let statement = |user: &str| json!({"Statement": format!("SELECT email FROM UserData WHERE userId = '{user}'")});
    let (status, answer) = twin.call(
        "u1",
        "BatchExecuteStatement",
        &json!({"Statements": [statement("u1"), statement("u2")]}),
    );
    assert_eq!(
        (status, &answer["Responses"][0]["Item"]["email"]["S"]),
        (200, &json!("e")),
        "{answer}"
    );
    assert_eq!(answer["Responses"][1]["Error"]["Code"], "AccessDenied", "{answer}");
}

/// Policies of all kinds around a role of one account and a table of that account or another one.
struct Scene {
    configuration: Value,
}

const OTHER: &str = "999999999999";

impl Scene {
    fn new(identity: &[Value]) -> Scene {
        let root = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "s"}]);
        let session = json!([{"name": "s1", "accessKeyId": "SESSION", "secretAccessKey": "s", "sessionToken": "t"}]);
        Scene {
            configuration: json!({
                "accounts": {
                    ACCOUNT: {"accessKeys": root("ROOT"), "roles": {"App": {"policies": identity, "sessions": session}}},
                    OTHER: {"accessKeys": root("OTHERROOT")}
                },
                "vpcEndpoints": {"vpce-1": {"vpc": "vpc-1"}}
            }),
        }
    }

    fn role(&mut self, member: &str, value: Value) -> &mut Scene {
        self.configuration["accounts"][ACCOUNT]["roles"]["App"][member] = value;
        self
    }

    fn session(&mut self, member: &str, value: Value) -> &mut Scene {
        self.configuration["accounts"][ACCOUNT]["roles"]["App"]["sessions"][0][member] = value;
        self
    }

    fn account(&mut self, id: &str, member: &str, value: Value) -> &mut Scene {
        self.configuration["accounts"][id][member] = value;
        self
    }

    fn endpoint(&mut self, member: &str, value: Value) -> &mut Scene {
        self.configuration["vpcEndpoints"]["vpce-1"][member] = value;
        self
    }

    fn twin(&self) -> Twin {
        let twin = Twin::new(&self.configuration);
        let body = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
        for root in ["ROOT", "OTHERROOT"] {
            assert_eq!(twin.call(root, "CreateTable", &body).0, 200);
        }
        twin
    }

    /// Returns the end of the refusal of a GetItem by the role; empty if it is allowed.
    #[track_caller]
    fn check(&self, table: &str, policy: Option<(&str, Value)>, headers: &[(&str, &str)], expect: &str) {
        let twin = self.twin();
        if let Some((owner, policy)) = policy {
            let account = if owner == "ROOT" { ACCOUNT } else { OTHER };
            let arn = format!("arn:aws:dynamodb:{REGION}:{account}:table/Tab");
            let (status, answer) = twin.call(
                owner,
                "PutResourcePolicy",
                &json!({"ResourceArn": arn, "Policy": policy.to_string()}),
            );
            assert_eq!(status, 200, "{answer}");
        }
        let mut all = vec![("x-amz-security-token", "t")];
        all.extend_from_slice(headers);
        let get = json!({"TableName": table, "Key": {"pk": {"S": "a"}}});
        let (status, answer) = twin.send("SESSION", "GetItem", &get, &all);
        let text = answer["Message"].as_str().unwrap_or_default();
        if expect.is_empty() {
            assert_eq!(status, 200, "{answer}");
        } else {
            assert!(
                text.starts_with("User: arn:aws:sts::123456789012:assumed-role/App/s1 is not authorized"),
                "{answer}"
            );
            assert!(text.ends_with(expect), "{answer}");
        }
    }
}

fn statement(effect: &str, action: &str, extra: Value) -> Value {
    let mut statement = json!({"Effect": effect, "Action": action, "Resource": "*"});
    statement
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    json!({"Version": "2012-10-17", "Statement": statement})
}

fn allow(action: &str) -> Value {
    statement("Allow", action, json!({}))
}

fn to(principal: &str) -> Value {
    json!({"Principal": {"AWS": principal}})
}

const ROLE: &str = "arn:aws:iam::123456789012:role/App";
const SESSION: &str = "arn:aws:sts::123456789012:assumed-role/App/s1";

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
fn requests_to_tables_of_another_account() {
    let table = format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab");
    let grant = |principal: &str| Some(("OTHERROOT", statement("Allow", "dynamodb:GetItem", to(principal))));
    let resource = "because no resource-based policy allows the dynamodb:GetItem action";
    Scene::new(&[allow("*")]).check(&table, None, &[], resource);
    Scene::new(&[allow("*")]).check(&table, grant(ACCOUNT), &[], "");
    Scene::new(&[allow("*")]).check(&table, grant(ROLE), &[], "");
    Scene::new(&[]).check(
        &table,
        grant(SESSION),
        &[],
        "because no identity-based policy allows the dynamodb:GetItem action",
    );
    let missing = table.replace("table/Tab", "table/Nowhere");
    Scene::new(&[allow("*")]).check(&missing, None, &[], resource);
    let control = statement("Deny", "dynamodb:GetItem", json!({"Principal": "*"}));
    let mut scene = Scene::new(&[allow("*")]);
    scene.account(OTHER, "resourceControlPolicies", json!([control]));
    scene.check(
        &table,
        grant(ROLE),
        &[],
        "with an explicit deny in a resource control policy",
    );
}

#[test]
fn items_of_another_account_are_written_there() {
    let twin = Scene::new(&[allow("*")]).twin();
    let arn = format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab");
    let policy = statement("Allow", "dynamodb:*", to(ACCOUNT));
    let (status, answer) = twin.call(
        "OTHERROOT",
        "PutResourcePolicy",
        &json!({"ResourceArn": arn, "Policy": policy.to_string()}),
    );
    assert_eq!(status, 200, "{answer}");
    let put = json!({"TableName": arn, "Item": {"pk": {"S": "shared"}}});
    assert_eq!(twin.call("ROOT", "PutItem", &put).0, 200);
    assert_eq!(
        twin.call("OTHERROOT", "Scan", &json!({"TableName": "Tab"})).1["Count"],
        1
    );
    assert_eq!(twin.call("ROOT", "Scan", &json!({"TableName": "Tab"})).1["Count"], 0);
    let described = twin.call("ROOT", "DescribeTable", &json!({"TableName": arn})).1;
    assert_eq!(described["Table"]["TableArn"], arn.as_str());
    // Statements can only name tables of their own account.
    let statement = json!({"Statement": format!("SELECT * FROM \"{arn}\"")});
    assert_eq!(twin.call("ROOT", "ExecuteStatement", &statement).0, 400);
}

#[test]
fn streams_and_tags_of_another_account() {
    let twin = Scene::new(&[allow("*")]).twin();
    let stream =
        json!({"TableName": "Tab", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"}});
    let stream = twin.call("OTHERROOT", "UpdateTable", &stream).1["TableDescription"]["LatestStreamArn"].clone();
    let table = json!(format!("arn:aws:dynamodb:{REGION}:{OTHER}:table/Tab"));
    let shards = twin
        .call("OTHERROOT", "DescribeStream", &json!({"StreamArn": stream}))
        .1;
    let shard = &shards["StreamDescription"]["Shards"][0]["ShardId"];
    let start = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let item = json!({"TableName": "Tab", "Item": {"pk": {"S": "a"}}});
    assert_eq!(twin.call("OTHERROOT", "PutItem", &item).0, 200);
    let iterator = twin.call("OTHERROOT", "GetShardIterator", &start).1["ShardIterator"].clone();
    let calls = [
        ("DescribeStream", json!({"StreamArn": stream}), &stream),
        ("GetShardIterator", start, &stream),
        ("GetRecords", json!({"ShardIterator": iterator}), &stream),
        (
            "TagResource",
            json!({"ResourceArn": table, "Tags": [{"Key": "a", "Value": "b"}]}),
            &table,
        ),
        ("ListTagsOfResource", json!({"ResourceArn": table}), &table),
        ("UntagResource", json!({"ResourceArn": table, "TagKeys": ["a"]}), &table),
        (
            "TagResource",
            json!({"ResourceArn": stream, "Tags": [{"Key": "c", "Value": "d"}]}),
            &stream,
        ),
        ("ListTagsOfResource", json!({"ResourceArn": stream}), &stream),
    ];
    for (operation, body, _) in &calls {
        let refusal = format!("because no resource-based policy allows the dynamodb:{operation} action");
        twin.check("ROOT", operation, body, Some(&refusal));
    }
    for resource in [&stream, &table] {
        let policy = statement(
            "Allow",
            "dynamodb:*",
            json!({"Principal": {"AWS": ACCOUNT}, "Resource": resource}),
        );
        let put = json!({"ResourceArn": resource, "Policy": policy.to_string()});
        let (status, answer) = twin.call("OTHERROOT", "PutResourcePolicy", &put);
        assert_eq!(status, 200, "{answer}");
    }
    let mut tags = Vec::new();
    for (operation, body, _) in &calls {
        twin.check("ROOT", operation, body, None);
        if *operation == "GetRecords" {
            let records = twin.call("ROOT", operation, body).1;
            assert_eq!(records["Records"].as_array().unwrap().len(), 1, "{records}");
        }
        if *operation == "ListTagsOfResource" {
            tags.push(twin.call("ROOT", operation, body).1["Tags"][0]["Key"].clone());
        }
    }
    assert_eq!(tags, ["a", "c"]);
    // A stream has a policy of its own: that of its table does not cover it.
    let removed = twin.call("OTHERROOT", "DeleteResourcePolicy", &json!({"ResourceArn": stream}));
    assert_eq!(removed.0, 200, "{}", removed.1);
    let refusal = "because no resource-based policy allows the dynamodb:DescribeStream action";
    twin.check("ROOT", "DescribeStream", &json!({"StreamArn": stream}), Some(refusal));
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

#[test]
fn refused_credentials_get_the_services_errors() {
    let twin = Scene::new(&[allow("*")]).twin();
    let list = json!({});
    for (key, token, kind, text) in [
        (
            "NOBODY",
            None,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        (
            "SESSION",
            None,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
        (
            "SESSION",
            Some("x"),
            "UnrecognizedClientException",
            "The security token included in the request is invalid",
        ),
        (
            "ROOT",
            Some("t"),
            "UnrecognizedClientException",
            "The security token included in the request is invalid",
        ),
    ] {
        let headers: Vec<_> = token.map(|token| ("x-amz-security-token", token)).into_iter().collect();
        let (status, answer) = twin.send(key, "ListTables", &list, &headers);
        assert_eq!((status, answer["message"].as_str()), (400, Some(text)), "{answer}");
        assert_eq!(answer["__type"], format!("com.amazon.coral.service#{kind}"));
    }
    let headers = [("x-amz-security-token", "t")];
    assert_eq!(twin.send("SESSION", "ListTables", &list, &headers).0, 200);
    twin.engine.advance(std::time::Duration::from_hours(1));
    let (status, answer) = twin.send("SESSION", "ListTables", &list, &headers);
    assert_eq!(
        (status, answer.to_string().as_str()),
        (
            400,
            r#"{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}"#
        )
    );
}

#[test]
fn every_operation_is_authorized() {
    let policy = |effect: &str, action: &str| {
        json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "*", "Resource": "*"},
        {"Effect": effect, "Action": action, "Resource": "*"}]})
    };
    let mut wrong = Vec::new();
    // GetRecords needs an iterator, and SearchVectors an index: they have their own tests.
    let all_operations = operations("Tab", &json!({"pk": {"S": "a"}}));
    let mut names: Vec<&str> = all_operations
        .iter()
        .map(|(name, ..)| *name)
        .chain(["GetRecords", "SearchVectors"])
        .collect();
    names.sort_unstable();
    let mut all: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
    all.sort_unstable();
    assert_eq!(names, all);
    for (operation, body, action, resource) in all_operations {
        let text = |policy: Value| {
            let twin = Twin::with_user("ann", &json!({}), &policy);
            twin.create_table("Tab", ("pk", ""), None);
            let answer = twin.call("ann", operation, &body).1;
            let refused = answer["Message"].as_str().unwrap_or_default();
            let entry = answer["Responses"][0]["Error"]["Message"].as_str().unwrap_or_default();
            if refused.is_empty() {
                entry.to_owned()
            } else {
                refused.to_owned()
            }
        };
        let region = if resource.starts_with("global-table/") {
            ""
        } else {
            REGION
        };
        let name = format!(
            "is not authorized to perform: dynamodb:{action} on resource: arn:aws:dynamodb:{region}:{ACCOUNT}:{resource}"
        );
        let none = text(json!({"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}));
        let denied = text(policy("Deny", &format!("dynamodb:{action}")));
        let allowed = text(policy("Allow", "*"));
        let fits = none.contains(&name) && none.ends_with(&implicit(action)) && denied.ends_with(DENY);
        if !fits || allowed.contains("not authorized") {
            wrong.push(format!("{operation}: {none} / {denied} / {allowed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn records_of_a_stream() {
    let twin = Twin::with_user(
        "ann",
        &json!({}),
        &json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "dynamodb:*Stream*", "Resource": "*"}}),
    );
    let body = json!({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST", "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "KEYS_ONLY"},
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]});
    let stream = twin.root("CreateTable", &body)["TableDescription"]["LatestStreamArn"].clone();
    let described = twin.root("DescribeStream", &json!({"StreamArn": stream}));
    twin.check("ann", "DescribeStream", &json!({"StreamArn": stream}), None);
    let shard = &described["StreamDescription"]["Shards"][0]["ShardId"];
    let iterator = json!({"StreamArn": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"});
    let iterator = twin.root("GetShardIterator", &iterator)["ShardIterator"].clone();
    let records = json!({"ShardIterator": iterator});
    twin.check("ann", "GetRecords", &records, Some(&implicit("GetRecords")));
    twin.root("GetRecords", &records);
}

#[test]
fn tags_in_a_request() {
    let policy = json!({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "dynamodb:CreateTable", "Resource": "*"},
        {"Effect": "Allow", "Action": ["dynamodb:TagResource", "dynamodb:UntagResource"], "Resource": "*", "Condition": {
            "ForAllValues:StringEquals": {"aws:TagKeys": ["team"]}, "StringEqualsIfExists": {"aws:RequestTag/team": "blue"}}},
        {"Effect": "Allow", "Action": "dynamodb:DescribeTable", "Resource": "*", "Condition": {"StringEquals": {"aws:ResourceTag/team": "blue"}}}]});
    let twin = Twin::with_user("ann", &json!({}), &policy);
    let create = |name: &str, tags: Value| {
        json!({"TableName": name, "BillingMode": "PAY_PER_REQUEST", "Tags": tags,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]})
    };
    let tag = |key: &str, value: &str| json!([{"Key": key, "Value": value}]);
    let refused = implicit("TagResource");
    twin.check("ann", "CreateTable", &create("Red", tag("team", "red")), Some(&refused));
    twin.check(
        "ann",
        "CreateTable",
        &create("Other", tag("other", "blue")),
        Some(&refused),
    );
    twin.check("ann", "CreateTable", &create("Blue", tag("team", "blue")), None);
    twin.check("ann", "CreateTable", &create("Plain", json!([])), None);
    twin.check("ann", "DescribeTable", &json!({"TableName": "Blue"}), None);
    twin.check(
        "ann",
        "DescribeTable",
        &json!({"TableName": "Plain"}),
        Some(&implicit("DescribeTable")),
    );
    let arn = format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/Blue");
    twin.check(
        "ann",
        "UntagResource",
        &json!({"ResourceArn": arn, "TagKeys": ["other"]}),
        Some(&implicit("UntagResource")),
    );
    twin.check(
        "ann",
        "UntagResource",
        &json!({"ResourceArn": arn, "TagKeys": ["team"]}),
        None,
    );
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

/// Adding and deleting a replica need permissions on the table of the other region (docs/behavior: 08 8).
#[test]
fn replicas_need_permissions_in_their_regions() {
    let arn = |region: &str| format!("arn:aws:dynamodb:{region}:{ACCOUNT}:table/Tab");
    let only = |resources: &[String]| json!({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "dynamodb:*", "Resource": resources}]});
    let update =
        |action: &str, region: &str| json!({"TableName": "Tab", "ReplicaUpdates": [{action: {"RegionName": region}}]});
    let twin = Twin::with_user("ann", &json!({}), &only(&[arn(REGION)]));
    twin.create_table("Tab", ("pk", ""), None);
    twin.check(
        "ann",
        "UpdateTable",
        &update("Create", "eu-west-1"),
        Some(&implicit("CreateTable")),
    );
    twin.root("UpdateTable", &update("Create", "eu-west-1"));
    twin.check(
        "ann",
        "UpdateTable",
        &update("Delete", "eu-west-1"),
        Some(&implicit("DeleteTable")),
    );
    let time_to_live = json!({"TableName": "Tab", "TimeToLiveSpecification": {"Enabled": true, "AttributeName": "t"}});
    twin.check(
        "ann",
        "UpdateTimeToLive",
        &time_to_live,
        Some(&implicit("UpdateTimeToLive")),
    );
    let twin = Twin::with_user("ann", &json!({}), &only(&[arn(REGION), arn("eu-west-1")]));
    twin.create_table("Tab", ("pk", ""), None);
    twin.check("ann", "UpdateTable", &update("Create", "eu-west-1"), None);
    twin.check("ann", "UpdateTimeToLive", &time_to_live, None);
    twin.check("ann", "UpdateTable", &update("Delete", "eu-west-1"), None);
}
