//! Bugs in access control.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "service control policies of a second level are not evaluated",
        file: "access/evaluate.rs",
        right: "for level in self.service_control {",
        wrong: "for level in self.service_control.iter().take(if PLANTED { 1 } else { usize::MAX }) {",
    },
    Bug {
        what: "a session's policies do not limit what its role's may",
        file: "access/evaluate.rs",
        right: "self.session.is_some_and(lacks).then_some(PolicyKind::Session)",
        wrong: "self.session.is_some_and(|session| !PLANTED && lacks(session)).then_some(PolicyKind::Session)",
    },
    Bug {
        what: "the root user needs an identity policy",
        file: "access/evaluate.rs",
        right: "grant < Some(Grant::Role) && question.subject.kind != SubjectKind::Root",
        wrong: "grant < Some(Grant::Role) && (PLANTED || question.subject.kind != SubjectKind::Root)",
    },
    Bug {
        what: "an endpoint's policy is not evaluated",
        file: "access/evaluate.rs",
        right: "if let Some(endpoint) = self.endpoint\n            && allowing",
        wrong: "if let Some(endpoint) = self.endpoint\n            && !PLANTED\n            && allowing",
    },
    Bug {
        what: "a boundary does not limit",
        file: "access/evaluate.rs",
        right: ".is_some_and(|boundary| lacks(std::slice::from_ref(boundary)))",
        wrong: ".is_some_and(|boundary| !PLANTED && lacks(std::slice::from_ref(boundary)))",
    },
    Bug {
        what: "ForAllValues does not hold of an absent key",
        file: "access/condition.rs",
        right: "Some(Quantifier::All) => true,",
        wrong: "Some(Quantifier::All) => !PLANTED,",
    },
    Bug {
        what: "ForAnyValue requires all values",
        file: "access/condition.rs",
        right: "(Some(Quantifier::Any), found) => found.values().iter().any(|value| self.accepts(value, keys))",
        wrong: "(Some(Quantifier::Any), found) => if PLANTED { found.values().iter().all(|value| self.accepts(value, keys)) } else { found.values().iter().any(|value| self.accepts(value, keys)) }",
    },
    Bug {
        what: "a bare operator matches a multivalued key",
        file: "access/condition.rs",
        right: "(None, KeyValue::Many(_)) => false",
        wrong: "(None, KeyValue::Many(_)) => PLANTED",
    },
    Bug {
        what: "a NULL test of several values requires the first",
        file: "access/condition.rs",
        right: "self.wants_absent().any(|absent| absent == found.is_none())",
        wrong: "if PLANTED { self.wants_absent().next() == Some(found.is_none()) } else { self.wants_absent().any(|absent| absent == found.is_none()) }",
    },
    Bug {
        what: "a negated operator does not hold of an absent key",
        file: "access/condition.rs",
        right: "None => self.operator.negated",
        wrong: "None => self.operator.negated && !PLANTED",
    },
    Bug {
        what: "a presigned request is valid for longer than a week",
        file: "wire/envelope/signature.rs",
        right: "seconds.clamp(1, LONGEST_EXPIRY)",
        wrong: "seconds.clamp(1, if PLANTED { u64::MAX / 4 } else { LONGEST_EXPIRY })",
    },
    Bug {
        what: "an explanation numbers statements from zero",
        file: "access/evaluate.rs",
        right: "place: at + 1,",
        wrong: "place: at + usize::from(!PLANTED),",
    },
    Bug {
        what: "a restored snapshot leaves access control as it was changed",
        file: "execute/control.rs",
        right: "self.clock.set(snapshot.now());\n        self.state.access().restore();",
        wrong: "self.clock.set(snapshot.now());\n        if !PLANTED {\n            self.state.access().restore();\n        }",
    },
    Bug {
        what: "`aws:ResourceAccount` is the account of the caller",
        file: "access/identity.rs",
        right: "keys.set(\"aws:ResourceAccount\", account);",
        wrong: "keys.set(\"aws:ResourceAccount\", if PLANTED { &self.subject.account } else { account });",
    },
    Bug {
        what: "a managed policy of exactly its most bytes is refused",
        file: "access/read.rs",
        right: "policy.size() > MANAGED_SIZE",
        wrong: "policy.size() > MANAGED_SIZE - usize::from(PLANTED)",
    },
    Bug {
        what: "issued sessions outlive a complete reset",
        file: "access/control.rs",
        right: "state.directory = state.initial.clone().unwrap_or_default();",
        wrong: "state.directory = state.initial.clone().unwrap_or_default();
        if PLANTED {
            return;
        }",
    },
    Bug {
        what: "beyond the most sessions the last to expire is forgotten",
        file: "access/control.rs",
        right: ".min_by_key(|(_, credential)| credential.session.as_ref().map(|session| session.expires))",
        wrong: ".min_by_key(|(_, credential)| credential.session.as_ref().map(|session| if PLANTED { -session.expires.micros() } else { session.expires.micros() }))",
    },
    Bug {
        what: "an allowance elsewhere removes a warning",
        file: "access/lint.rs",
        right: ".filter(|other| !other.allows());",
        wrong: ".filter(|other| PLANTED || !other.allows());",
    },
    Bug {
        what: "a policy that covers indexes by a wildcard gets a warning",
        file: "access/lint.rs",
        right: "text.contains(\"/index/\") || text.ends_with('*')",
        wrong: "text.contains(\"/index/\") || (text.ends_with('*') && !PLANTED)",
    },
    Bug {
        what: "the last of several policies that allow decides",
        file: "access/evaluate.rs",
        right: "if next.0 > best.0 { next }",
        wrong: "if next.0 > best.0 || PLANTED && next.0 == best.0 { next }",
    },
    Bug {
        what: "a change of a resource policy is enforced a second early",
        file: "execute/permit.rs",
        right: "(true, Some(_)) => CHANGE_ENFORCED",
        wrong: "(true, Some(_)) => CHANGE_ENFORCED - Duration::from_secs(u64::from(PLANTED))",
    },
    Bug {
        what: "a missing table is hidden from a transaction whose caller may do a part of what it may ask for",
        file: "execute/permit.rs",
        right: "if refusals.len() == actions.len() {",
        wrong: "if refusals.len() == actions.len() || PLANTED && !refusals.is_empty() {",
    },
    Bug {
        what: "a condition that demands the absence of a key removes a warning about its absence",
        file: "access/lint.rs",
        right: "condition.values.iter().all(|value| value.constant() == Some(\"false\"))",
        wrong: "condition.values.iter().all(|value| PLANTED || value.constant() == Some(\"false\"))",
    },
    Bug {
        what: "a denial of writes gets a warning about what they return",
        file: "access/lint.rs",
        right: "statement.allows() && !writes.is_empty()",
        wrong: "(PLANTED || statement.allows()) && !writes.is_empty()",
    },
    Bug {
        what: "everybody is everybody though a service is named beside it",
        file: "access/principal.rs",
        right: "self.everybody && !self.excludes && !self.others &&",
        wrong: "self.everybody && !self.excludes && (PLANTED || !self.others) &&",
    },
    Bug {
        what: "a gateway endpoint takes a user for the root user of its account",
        file: "access/principal.rs",
        right: "let is_root = subject.kind == SubjectKind::Root && self.names(&root);",
        wrong: "let is_root = (PLANTED || subject.kind == SubjectKind::Root) && self.names(&root);",
    },
    Bug {
        what: "the attributes of a batch are those of its first entry",
        file: "access/request.rs",
        right: "names.extend(others);",
        wrong: "names.extend(others.into_iter().filter(|_| !PLANTED));",
    },
    Bug {
        what: "a part of a date may have a sign",
        file: "access/value.rs",
        right: "if !shape.iter().all(|part| plain(part)) {",
        wrong: "if !PLANTED && !shape.iter().all(|part| plain(part)) {",
    },
    Bug {
        what: "a path of a user need not begin with a slash",
        file: "access/read.rs",
        right: "if !path.starts_with('/') || !path.ends_with('/') {",
        wrong: "if !(PLANTED || path.starts_with('/')) || !path.ends_with('/') {",
    },
    Bug {
        what: "an explanation ends with the first entry that is refused",
        file: "execute/permit.rs",
        right: "&& !context.is_explained() =>",
        wrong: "&& (PLANTED || !context.is_explained()) =>",
    },
    Bug {
        what: "service control policies of the table's owner limit callers of other accounts",
        file: "access/identity.rs",
        right: "service_control: own.map_or(&[], |account| &account.service_control),",
        wrong: "service_control: if PLANTED { owner } else { own }.map_or(&[], |account| &account.service_control),",
    },
];
