//! Random policy sets and requests, from vocabularies small enough that policies often match.

use dynatwin_engine::iam::SubjectKind;
use serde_json::{Map, Value, json};

pub const ACCOUNT: &str = "123456789012";
pub const OTHER_ACCOUNT: &str = "999999999999";

/// Where the choices of a random case come from.
pub enum Random {
    /// A random number generator with the same sequence on every machine (SplitMix64).
    Seeded(u64),
    /// The input of a fuzzer, a byte for each choice, and then zeros.
    Bytes(std::vec::IntoIter<u8>),
}

impl Random {
    fn below(&mut self, end: usize) -> usize {
        match self {
            Random::Bytes(bytes) => usize::from(bytes.next().unwrap_or_default()) % end,
            Random::Seeded(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((mixed ^ (mixed >> 31)) % end as u64) as usize
            }
        }
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns one to `most` of these, as a string or a list.
    fn some(&mut self, from: &[&str], most: usize) -> Value {
        let count = 1 + self.below(most);
        let list: Vec<&str> = (0..count).map(|_| *self.pick(from)).collect();
        match &list[..] {
            [one] if self.chance(70) => json!(one),
            list => json!(list),
        }
    }
}

/// A request, and the policies that apply to it.
#[derive(Debug)]
pub struct Case {
    pub caller: SubjectKind,
    pub action: &'static str,
    pub path: &'static str,
    pub resource_account: &'static str,
    pub keys: Map<String, Value>,
    pub identity: Vec<Value>,
    pub boundary: Option<Value>,
    pub session: Option<Vec<Value>>,
    pub service_control: Vec<Vec<Value>>,
    pub resource_control: Vec<Value>,
    pub resource: Option<Value>,
    pub endpoint: Option<Value>,
}

const ACTIONS: &[&str] = &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"];
const ACTION_PATTERNS: &[&str] = &[
    "*",
    "dynamodb:*",
    "dynamodb:Get*",
    "DynamoDB:getitem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:?utItem",
    "s3:*",
];
const PATHS: &[&str] = &["table/T", "table/T/index/i", "table/U", "table/ann"];
const RESOURCE_PATTERNS: &[&str] = &[
    "*",
    "arn:aws:dynamodb:*:*:table/T",
    "arn:aws:dynamodb:us-east-1:*:table/*",
    "arn:aws:dynamodb:us-east-1:123456789012:table/T/index/*",
    "arn:aws:dynamodb:eu-*:*:*",
    "arn:aws:dynamodb:*:*:table/${aws:username}",
    "arn:aws:dynamodb:*:*:table/${aws:PrincipalTag/team, 'T'}",
    "arn:aws:dynamodb:*:*:table/?",
    "arn:aws:s3:::*",
];
const KEYS: &[(&str, &[&str])] = &[
    ("aws:username", &["ann", "Ann", "bob"]),
    ("aws:PrincipalTag/team", &["T", "U", "a*", ""]),
    ("aws:SourceIp", &["203.0.113.7", "10.0.0.1", "2001:db8::1"]),
    ("aws:CurrentTime", &["2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"]),
    ("aws:SecureTransport", &["true", "false"]),
    ("aws:MultiFactorAuthAge", &["5", "60", "7.5"]),
    (
        "aws:SourceArn",
        &["arn:aws:dynamodb:us-east-1:123456789012:table/T", "arn:aws:s3:::b"],
    ),
    ("x:Bytes", &["QUJD", "QUI="]),
];
const LISTS: &[&str] = &["dynamodb:LeadingKeys", "dynamodb:Attributes"];
const LIST_VALUES: &[&str] = &["ann", "bob", "T", "a*", ""];
const VALUES: &[(&str, &[&str])] = &[
    (
        "String",
        &[
            "ann",
            "ANN",
            "T",
            "a*",
            "${aws:username}",
            "${aws:PrincipalTag/team, 'ann'}",
            "*",
            "${*}",
            "b?b",
            "",
        ],
    ),
    ("Numeric", &["5", "7.50", "60", "100"]),
    ("Date", &["2026-01-01T00:00:00Z", "2026-03", "1780272000"]),
    ("Bool", &["true", "false"]),
    ("Binary", &["QUJD", "QUI="]),
    ("Ip", &["203.0.113.0/24", "10.0.0.1", "0.0.0.0/0", "2001:db8::/32"]),
    (
        "Arn",
        &["arn:aws:dynamodb:*:*:table/*", "arn:aws:s3:::*", "arn:*:table/T"],
    ),
    ("Null", &["true", "false"]),
];
const OPERATORS: &[(&str, usize)] = &[
    ("StringEquals", 0),
    ("StringNotEquals", 0),
    ("StringEqualsIgnoreCase", 0),
    ("StringNotEqualsIgnoreCase", 0),
    ("StringLike", 0),
    ("StringNotLike", 0),
    ("NumericEquals", 1),
    ("NumericNotEquals", 1),
    ("NumericLessThan", 1),
    ("NumericLessThanEquals", 1),
    ("NumericGreaterThan", 1),
    ("NumericGreaterThanEquals", 1),
    ("DateEquals", 2),
    ("DateNotEquals", 2),
    ("DateLessThan", 2),
    ("DateLessThanEquals", 2),
    ("DateGreaterThan", 2),
    ("DateGreaterThanEquals", 2),
    ("Bool", 3),
    ("BinaryEquals", 4),
    ("IpAddress", 5),
    ("NotIpAddress", 5),
    ("ArnEquals", 6),
    ("ArnLike", 6),
    ("ArnNotEquals", 6),
    ("ArnNotLike", 6),
    ("Null", 7),
];
const PRINCIPALS: &[&str] = &[
    "123456789012",
    "999999999999",
    "arn:aws:iam::123456789012:root",
    "arn:aws:iam::123456789012:user/ann",
    "arn:aws:iam::123456789012:role/app/Reader",
    "arn:aws:sts::123456789012:assumed-role/Reader/s",
    "arn:aws:sts::123456789012:assumed-role/Reader/t",
    "arn:aws:sts::123456789012:federated-user/visitor",
    "*",
];

impl Case {
    pub fn random(random: &mut Random) -> Case {
        let callers = [
            SubjectKind::Root,
            SubjectKind::User,
            SubjectKind::User,
            SubjectKind::RoleSession,
            SubjectKind::FederatedUser,
        ];
        let caller = *random.pick(&callers);
        let mut keys = Map::new();
        for (name, values) in KEYS {
            if random.chance(70) {
                keys.insert((*name).to_owned(), json!(random.pick(values)));
            }
        }
        for name in LISTS {
            if random.chance(70) {
                let count = random.below(4);
                let values: Vec<&str> = (0..count).map(|_| *random.pick(LIST_VALUES)).collect();
                keys.insert((*name).to_owned(), json!(values));
            }
        }
        let action = *random.pick(ACTIONS);
        let plain = |random: &mut Random| document(random, false, 30);
        let list = |random: &mut Random, most: usize| {
            let count = random.below(most + 1);
            (0..count).map(|_| plain(random)).collect::<Vec<_>>()
        };
        let is_root = caller == SubjectKind::Root;
        let foreign = random.chance(25);
        Case {
            caller,
            action,
            path: PATHS[random.below(PATHS.len())],
            resource_account: if foreign { OTHER_ACCOUNT } else { ACCOUNT },
            keys,
            identity: if is_root { Vec::new() } else { list(random, 2) },
            boundary: (!is_root && random.chance(25)).then(|| plain(random)),
            session: match caller {
                SubjectKind::RoleSession => random.chance(35).then(|| list(random, 2)),
                SubjectKind::FederatedUser => Some(list(random, 2)),
                SubjectKind::Root | SubjectKind::User => None,
            },
            service_control: if random.chance(25) {
                vec![list(random, 2), list(random, 2)]
            } else {
                Vec::new()
            },
            resource_control: if random.chance(15) {
                vec![resource_control(random)]
            } else {
                Vec::new()
            },
            resource: random.chance(50).then(|| document(random, true, 25)),
            endpoint: random.chance(20).then(|| document(random, true, 20)),
        }
    }

    pub fn arn(&self) -> String {
        format!("arn:aws:dynamodb:us-east-1:{}:{}", self.resource_account, self.path)
    }
}

/// Returns a document of statements that all deny, without principals.
pub fn deny_only(random: &mut Random) -> Value {
    document(random, false, 100)
}

/// Returns a resource control policy, which names everybody and its actions.
fn resource_control(random: &mut Random) -> Value {
    let mut document = deny_only(random);
    for statement in document["Statement"].as_array_mut().unwrap() {
        let statement = statement.as_object_mut().unwrap();
        if let Some(actions) = statement.remove("NotAction") {
            statement.insert("Action".to_owned(), actions);
        }
        // The action * alone is refused.
        match &mut statement["Action"] {
            Value::Array(actions) => actions
                .iter_mut()
                .filter(|action| **action == "*")
                .for_each(|action| *action = json!("dynamodb:*")),
            action if *action == "*" => *action = json!("dynamodb:*"),
            _ => {}
        }
        statement.insert("Principal".to_owned(), json!("*"));
    }
    document
}

fn document(random: &mut Random, principals: bool, denies: usize) -> Value {
    let count = 1 + random.below(3);
    let statements: Vec<Value> = (0..count).map(|_| statement(random, principals, denies)).collect();
    let mut document = json!({"Statement": statements});
    match random.below(10) {
        0 => {}
        1 => document["Version"] = json!("2008-10-17"),
        _ => document["Version"] = json!("2012-10-17"),
    }
    document
}

fn statement(random: &mut Random, principals: bool, denies: usize) -> Value {
    let mut statement = Map::new();
    let denies = random.chance(denies);
    statement.insert("Effect".to_owned(), json!(if denies { "Deny" } else { "Allow" }));
    let name = |random: &mut Random, name: &str| format!("{}{name}", if random.chance(10) { "Not" } else { "" });
    statement.insert(name(random, "Action"), random.some(ACTION_PATTERNS, 3));
    statement.insert(name(random, "Resource"), random.some(RESOURCE_PATTERNS, 3));
    if principals {
        let excludes = denies && random.chance(40);
        let named = match random.below(4) {
            0 => json!("*"),
            1 => json!({"AWS": random.some(PRINCIPALS, 4), "Service": "dynamodb.amazonaws.com"}),
            _ => json!({"AWS": random.some(PRINCIPALS, 4)}),
        };
        statement.insert(if excludes { "NotPrincipal" } else { "Principal" }.to_owned(), named);
    }
    let count = random.below(if denies { 4 } else { 3 });
    if count > 0 {
        let mut conditions = Map::new();
        (0..count).for_each(|_| add_condition(random, &mut conditions));
        statement.insert("Condition".to_owned(), Value::Object(conditions));
    }
    Value::Object(statement)
}

fn add_condition(random: &mut Random, conditions: &mut Map<String, Value>) {
    let (operator, kind) = *random.pick(OPERATORS);
    let prefix = *random.pick(&["", "", "ForAllValues:", "ForAnyValue:"]);
    let suffix = if operator != "Null" && random.chance(25) {
        "IfExists"
    } else {
        ""
    };
    let key = match random.below(3) {
        0 => (*random.pick(LISTS)).to_owned(),
        1 => random.pick(KEYS).0.to_owned(),
        _ => {
            // A key with values that the operator compares.
            let fitting = [1, 5, 3, 4, 7, 2, 6, 0];
            KEYS[fitting[kind]].0.to_uppercase()
        }
    };
    let values = random.some(VALUES[kind].1, 2);
    let name = format!("{prefix}{operator}{suffix}");
    let keys = conditions
        .entry(name)
        .or_insert_with(|| json!({}))
        .as_object_mut()
        .unwrap();
    if !keys.keys().any(|known| known.eq_ignore_ascii_case(&key)) {
        keys.insert(key, values);
    }
}
