//! The time, the network and the sign-in of a request.

use serde_json::{Value, json};

use super::{DENIED, OTHER, World, YES, allow, deny, document, no};

/// Conditions on the time, the network, the region and the sign-in.
#[test]
fn requests_and_their_origin() {
    let books = || json!({"TableName": "Books"});
    let all = || allow(&["*"], json!("*"), Value::Null);
    // The clock stands at 2026-01-01T00:00:00Z.
    let between = |from: &str, until: &str| json!({"DateGreaterThan": {"aws:CurrentTime": from}, "DateLessThan": {"aws:CurrentTime": until}});
    let network = json!({"NotIpAddress": {"aws:SourceIp": ["192.0.2.0/24", "203.0.113.0/24"]}, "Bool": {"aws:ViaAWSService": "false"}});
    let endpoint = json!({"StringNotEquals": {"aws:sourceVpce": "vpce-11aa22bb"}});
    let vpc = json!({"StringNotEqualsIfExists": {"aws:SourceVpc": "vpc-1"}});
    let no_mfa = json!({"BoolIfExists": {"aws:MultiFactorAuthPresent": "false"}});
    let strict_mfa = json!({"Bool": {"aws:MultiFactorAuthPresent": "false"}});
    let recent = json!({"NumericGreaterThan": {"aws:MultiFactorAuthAge": "3600"}});
    let old = |date: &str| json!({"DateLessThan": {"aws:TokenIssueTime": date}});
    let region = |name: &str| json!({"StringNotEquals": {"aws:RequestedRegion": [name]}});
    let insecure = json!({"Bool": {"aws:SecureTransport": "false"}});
    let agent = json!({"StringLike": {"aws:UserAgent": "*Mozilla*"}});
    let plain: &[(&str, &str)] = &[];
    let through = |id: &'static str| vec![("x-dynatwin-vpc-endpoint", id)];
    let mfa = json!({"keys": {"aws:MultiFactorAuthPresent": "true", "aws:MultiFactorAuthAge": "120"}});
    for (condition, session, headers, caller, expect) in [
        (
            between("2025-12-31T00:00:00Z", "2026-01-02T00:00:00Z"),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            between("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (between("2025-01-01", "2026-01-01"), no(), plain.to_vec(), "ANN", YES),
        (
            json!({"DateGreaterThanEquals": {"aws:CurrentTime": "2026-01-01"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"DateEquals": {"aws:EpochTime": "2026-01-01T01:00:00+01:00"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"NumericLessThan": {"aws:EpochTime": 1_767_225_600}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            network.clone(),
            no(),
            vec![("x-dynatwin-source-ip", "203.0.113.7")],
            "ANN",
            YES,
        ),
        (
            network.clone(),
            no(),
            vec![("x-dynatwin-source-ip", "198.51.100.1")],
            "ANN",
            DENIED,
        ),
        // Through a VPC endpoint there is no aws:SourceIp, so a negated operator holds.
        (network, no(), through("vpce-11aa22bb"), "ANN", DENIED),
        (endpoint.clone(), no(), through("vpce-11aa22bb"), "ANN", YES),
        (endpoint.clone(), no(), through("vpce-2"), "ANN", DENIED),
        (endpoint, no(), plain.to_vec(), "ANN", DENIED),
        (vpc.clone(), no(), through("vpce-11aa22bb"), "ANN", YES),
        (vpc.clone(), no(), through("vpce-2"), "ANN", DENIED),
        // IfExists holds of an absent key, so outside of a VPC this denies too.
        (vpc, no(), plain.to_vec(), "ANN", DENIED),
        // Long-term keys have no aws:MultiFactorAuthPresent.
        (no_mfa.clone(), no(), plain.to_vec(), "ANN", DENIED),
        (strict_mfa.clone(), no(), plain.to_vec(), "ANN", YES),
        (no_mfa.clone(), no(), plain.to_vec(), "PLAYER", DENIED),
        (strict_mfa.clone(), no(), plain.to_vec(), "PLAYER", DENIED),
        (no_mfa, mfa.clone(), plain.to_vec(), "PLAYER", YES),
        (strict_mfa, mfa.clone(), plain.to_vec(), "PLAYER", YES),
        (recent.clone(), mfa, plain.to_vec(), "PLAYER", YES),
        (
            recent,
            json!({"keys": {"aws:MultiFactorAuthAge": "3601"}}),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (old("2026-06-01T00:00:00Z"), no(), plain.to_vec(), "PLAYER", DENIED),
        (old("2025-06-01T00:00:00Z"), no(), plain.to_vec(), "PLAYER", YES),
        (old("2026-06-01T00:00:00Z"), no(), plain.to_vec(), "ANN", YES),
        (region("us-east-1"), no(), plain.to_vec(), "ANN", YES),
        (region("eu-central-1"), no(), plain.to_vec(), "ANN", DENIED),
        (insecure.clone(), no(), plain.to_vec(), "ANN", YES),
        (
            insecure,
            no(),
            vec![("x-dynatwin-secure-transport", "false")],
            "ANN",
            DENIED,
        ),
        (agent.clone(), no(), vec![("user-agent", "Mozilla/5.0")], "ANN", DENIED),
        (agent, no(), vec![("user-agent", "aws-cli/2")], "ANN", YES),
        (
            json!({"StringEquals": {"aws:PrincipalType": "AssumedRole"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (
            json!({"StringEquals": {"aws:PrincipalType": "AssumedRole"}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"StringLike": {"aws:userid": "*:player"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:iam::*:role/Game*"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            DENIED,
        ),
        (
            json!({"ArnLike": {"aws:PrincipalArn": "arn:aws:sts::*:assumed-role/GameRole/*"}}),
            no(),
            plain.to_vec(),
            "PLAYER",
            YES,
        ),
        (
            json!({"StringEquals": {"aws:PrincipalAccount": OTHER}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"Bool": {"aws:PrincipalIsAWSService": "true"}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"Null": {"aws:SourceArn": "true"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
        (
            json!({"ForAnyValue:StringEquals": {"aws:CalledVia": "cloudformation.amazonaws.com"}}),
            no(),
            plain.to_vec(),
            "ANN",
            YES,
        ),
        (
            json!({"StringNotEquals": {"aws:PrincipalOrgID": "o-1"}}),
            no(),
            plain.to_vec(),
            "ANN",
            DENIED,
        ),
    ] {
        let policy = document(json!([all(), deny(&["Scan"], json!("*"), condition)]));
        let endpoints = json!({"vpcEndpoints": {"vpce-11aa22bb": {"vpc": "vpc-1"}, "vpce-2": {"vpc": "vpc-2"}}});
        let mut world = World::of(&policy, &session, &no(), &endpoints);
        world.headers = headers;
        let found = world.outcome(caller, "Scan", &books());
        assert_eq!(found, expect, "{caller} {session} {:?} {policy:#}", world.headers);
    }
}
