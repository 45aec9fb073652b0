//! Service and resource control policies.

use serde_json::{Value, json};

use super::{World, YES, allow, document, no};

/// Service and resource control policies.
#[test]
fn organizations() {
    let everything = document(json!([allow(&["*"], json!("*"), Value::Null)]));
    let full = json!({"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}});
    let statement = |statement: Value| json!({"Version": "2012-10-17", "Statement": statement});
    let regions = |names: &[&str]| {
        statement(
            json!({"Effect": "Deny", "NotAction": ["iam:*", "organizations:*"], "Resource": "*",
            "Condition": {"StringNotEquals": {"aws:RequestedRegion": names},
                "ArnNotLike": {"aws:PrincipalARN": "arn:aws:iam::*:role/Game*"}}}),
        )
    };
    let list = statement(json!({"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": "*"}));
    let tls = statement(
        json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"BoolIfExists": {"aws:SecureTransport": "false"}}}),
    );
    let organization = statement(
        json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"StringNotEqualsIfExists": {"aws:PrincipalOrgID": "o-1"}, "BoolIfExists": {"aws:PrincipalIsAWSService": "false"}}}),
    );
    let within = statement(
        json!({"Effect": "Deny", "Principal": "*", "Action": "dynamodb:*", "Resource": "*",
        "Condition": {"ForAllValues:StringNotLike": {"aws:PrincipalOrgPaths": ["o-1/r-1/ou-1/*"]}}}),
    );
    let member = json!({"id": "o-1", "paths": ["o-1/r-1/ou-1/"]});
    let (scp, rcp) = ("service control policy", "resource control policy");
    let no_scp = "no service control policy";
    for (account, caller, operation, expect) in [
        (json!({"serviceControlPolicies": [full]}), "ANN", "Scan", YES),
        (
            json!({"serviceControlPolicies": [full, regions(&["us-east-1"])]}),
            "ANN",
            "Scan",
            YES,
        ),
        (
            json!({"serviceControlPolicies": [full, regions(&["eu-west-1"])]}),
            "ANN",
            "Scan",
            scp,
        ),
        (
            json!({"serviceControlPolicies": [full, regions(&["eu-west-1"])]}),
            "ROOT",
            "Scan",
            scp,
        ),
        // The role is exempt.
        (
            json!({"serviceControlPolicies": [full, regions(&["eu-west-1"])]}),
            "PLAYER",
            "Scan",
            YES,
        ),
        (json!({"serviceControlPolicies": [list]}), "ANN", "Scan", no_scp),
        (json!({"serviceControlPolicies": [list]}), "ROOT", "Scan", no_scp),
        // Every level of the organization has to allow.
        (
            json!({"serviceControlPolicies": [[full], [list]]}),
            "ANN",
            "Scan",
            no_scp,
        ),
        (
            json!({"serviceControlPolicies": [[full], [list, full]]}),
            "ANN",
            "Scan",
            YES,
        ),
        (json!({"serviceControlPolicies": [[full], []]}), "ANN", "Scan", no_scp),
        // An account may have several paths, of which one is enough.
        (
            json!({"resourceControlPolicies": [within], "organization": {"id": "o-1", "paths": ["o-1/r-1/ou-2/", "o-1/r-1/ou-1/"]}}),
            "ANN",
            "Scan",
            YES,
        ),
        (
            json!({"resourceControlPolicies": [within], "organization": {"id": "o-1", "paths": ["o-1/r-1/ou-2/", "o-1/r-1/ou-3/"]}}),
            "ANN",
            "Scan",
            rcp,
        ),
        (json!({"resourceControlPolicies": [tls]}), "ANN", "Scan", YES),
        (json!({"resourceControlPolicies": [organization]}), "ANN", "Scan", rcp),
        (json!({"resourceControlPolicies": [organization]}), "ROOT", "Scan", rcp),
        (
            json!({"resourceControlPolicies": [organization], "organization": member}),
            "ANN",
            "Scan",
            YES,
        ),
        (
            json!({"resourceControlPolicies": [within], "organization": member}),
            "ANN",
            "Scan",
            YES,
        ),
        (
            json!({"resourceControlPolicies": [within], "organization": {"id": "o-1", "paths": ["o-1/r-1/ou-2/"]}}),
            "ANN",
            "Scan",
            rcp,
        ),
        (json!({"resourceControlPolicies": [within]}), "ANN", "Scan", rcp),
    ] {
        let world = World::of(&everything, &no(), &account, &no());
        let found = world.outcome(caller, operation, &json!({"TableName": "Books"}));
        assert_eq!(found, expect, "{caller} {account:#}");
    }
}
