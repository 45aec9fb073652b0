//! Bugs in PartiQL statements.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "PartiQL's `<=` means `<`",
        file: "partiql/condition.rs",
        right: "            lexer::Operator::Le => Operator::Le,\n",
        wrong: "            lexer::Operator::Le if PLANTED => Operator::Lt,\n            lexer::Operator::Le => Operator::Le,\n",
    },
    Bug {
        what: "PartiQL's OR means AND",
        file: "partiql/condition.rs",
        right: "        Ok(Lowered::Logic(if and {\n",
        wrong: "        Ok(Lowered::Logic(if and || PLANTED {\n",
    },
    Bug {
        what: "two values of a partition key do not contradict",
        file: "partiql/keys.rs",
        right: "self.hash.is_some_and(|own| own != hash)",
        wrong: "self.hash.is_some_and(|own| own != hash && !PLANTED)",
    },
    Bug {
        what: "a branch keeps only the first demand on the sort key",
        file: "partiql/keys.rs",
        right: "both.range.extend_from_slice(&other.range);",
        wrong: "if !PLANTED || both.range.is_empty() {\n            both.range.extend_from_slice(&other.range);\n        }",
    },
    Bug {
        what: "one branch of an OR fixes the partition key",
        file: "partiql/keys.rs",
        right: "ConditionPart::Or(left, right) => self.fixes_hash(left) && self.fixes_hash(right)",
        wrong: "ConditionPart::Or(left, right) => self.fixes_hash(left) && (PLANTED || self.fixes_hash(right))",
    },
    Bug {
        what: "fifty reads of a statement are refused",
        file: "partiql/keys.rs",
        right: "branches.len() > limits::STATEMENT_READS",
        wrong: "branches.len() + usize::from(PLANTED) > limits::STATEMENT_READS",
    },
    Bug {
        what: "a read in a batch may have a filter",
        file: "partiql/keys.rs",
        right: "branch.contradicts || branch.negated || !branch.filters.is_empty()",
        wrong: "branch.contradicts || branch.negated || (!branch.filters.is_empty() && !PLANTED)",
    },
    Bug {
        what: "a write may name two values of a key",
        file: "partiql/keys.rs",
        right: "Some((_, other)) if *other != value =>",
        wrong: "Some((_, other)) if *other != value && !PLANTED =>",
    },
    Bug {
        what: "a negated part does not deny the sort key",
        file: "partiql/keys.rs",
        right: "negated: self.denies_range(part),",
        wrong: "negated: self.denies_range(part) && !PLANTED,",
    },
    Bug {
        what: "a next token's range is not read",
        file: "partiql/next_token.rs",
        right: "range: u32::from_be_bytes(*range) as usize,",
        wrong: "range: if PLANTED { 0 } else { u32::from_be_bytes(*range) as usize },",
    },
    Bug {
        what: "a next token of the most characters is refused",
        file: "partiql/next_token.rs",
        right: "text.len() > limits::NEXT_TOKEN_LENGTH",
        wrong: "text.len() + usize::from(PLANTED) > limits::NEXT_TOKEN_LENGTH",
    },
    Bug {
        what: "a next token is good for any statement",
        file: "partiql/next_token.rs",
        right: "if given != statement {",
        wrong: "if given != statement && !PLANTED {",
    },
    Bug {
        what: "a literal may be nested one level too deep",
        file: "partiql/literal.rs",
        right: "if depth > limits::NESTING {",
        wrong: "if depth > limits::NESTING + usize::from(PLANTED) {",
    },
    Bug {
        what: "an inserted parameter may be nested one level too deep",
        file: "partiql/literal.rs",
        right: "if value.value(self.parameters).depth() > limits::NESTING {",
        wrong: "if value.value(self.parameters).depth() > limits::NESTING + usize::from(PLANTED) {",
    },
    Bug {
        what: "a next token of another version is read",
        file: "partiql/next_token.rs",
        right: "let (version, rest) = body.split_first()?;",
        wrong: "let (version, rest) = body.split_first()?;\n        let version = if PLANTED { &VERSION } else { version };",
    },
    Bug {
        what: "the column of an error counts bytes",
        file: "partiql/error.rs",
        right: "column: before[line_start..].chars().count() + 1,",
        wrong: "column: (if PLANTED { before[line_start..].len() } else { before[line_start..].chars().count() }) + 1,",
    },
];
