//! A role of one account, a table of that account and one of another, and policies of all kinds.

use serde_json::{Value, json};

use super::twin::{ACCOUNT, REGION, Twin};

pub fn implicit(action: &str) -> String {
    format!("because no identity-based policy allows the dynamodb:{action} action")
}

pub const DENY: &str = "with an explicit deny in an identity-based policy";

pub const OTHER: &str = "999999999999";

/// Policies of all kinds around a role of one account and a table of that account or another one.
pub struct Scene {
    configuration: Value,
}

impl Scene {
    pub fn new(identity: &[Value]) -> Scene {
        let root = |id: &str| json!([{"accessKeyId": id, "secretAccessKey": "s"}]);
        let session = json!([{"name": "s1", "accessKeyId": "SESSION", "secretAccessKey": "s", "sessionToken": "t"}]);
        Scene {
            configuration: json!({
                "accounts": {
                    ACCOUNT: {"accessKeys": root("ROOT"), "roles": {"App": {"policies": identity, "sessions": session}, "Other": {}}},
                    OTHER: {"accessKeys": root("OTHERROOT")}
                },
                "vpcEndpoints": {"vpce-1": {"vpc": "vpc-1"}}
            }),
        }
    }

    pub fn role(&mut self, member: &str, value: Value) -> &mut Scene {
        self.configuration["accounts"][ACCOUNT]["roles"]["App"][member] = value;
        self
    }

    pub fn session(&mut self, member: &str, value: Value) -> &mut Scene {
        self.configuration["accounts"][ACCOUNT]["roles"]["App"]["sessions"][0][member] = value;
        self
    }

    pub fn account(&mut self, id: &str, member: &str, value: Value) -> &mut Scene {
        self.configuration["accounts"][id][member] = value;
        self
    }

    pub fn endpoint(&mut self, member: &str, value: Value) -> &mut Scene {
        self.configuration["vpcEndpoints"]["vpce-1"][member] = value;
        self
    }

    pub fn twin(&self) -> Twin {
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
    pub fn check(&self, table: &str, policy: Option<(&str, Value)>, headers: &[(&str, &str)], expect: &str) {
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

pub fn statement(effect: &str, action: &str, extra: Value) -> Value {
    let mut statement = json!({"Effect": effect, "Action": action, "Resource": "*"});
    statement
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    json!({"Version": "2012-10-17", "Statement": statement})
}

pub fn allow(action: &str) -> Value {
    statement("Allow", action, json!({}))
}

pub fn to(principal: &str) -> Value {
    json!({"Principal": {"AWS": principal}})
}

pub const ROLE: &str = "arn:aws:iam::123456789012:role/App";

pub const SESSION: &str = "arn:aws:sts::123456789012:assumed-role/App/s1";
