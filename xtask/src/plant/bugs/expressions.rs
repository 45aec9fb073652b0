//! Bugs in expressions, values, sizes and keys.

use super::Bug;

pub const BUGS: &[Bug] = &[
    Bug {
        what: "`<` holds for what is greater",
        file: "expression/condition.rs",
        right: "Operator::Lt => compare(&seen(0), &seen(1)).is_some_and(Ordering::is_lt)",
        wrong: "Operator::Lt => compare(&seen(0), &seen(1)).is_some_and(if PLANTED { Ordering::is_gt } else { Ordering::is_lt })",
    },
    Bug {
        what: "BETWEEN leaves out its upper end",
        file: "expression/condition.rs",
        right: "compare(&value, &seen(2)).is_some_and(Ordering::is_le)",
        wrong: "compare(&value, &seen(2)).is_some_and(if PLANTED { Ordering::is_lt } else { Ordering::is_le })",
    },
    Bug {
        what: "`size` of a text counts its bytes",
        file: "expression/condition.rs",
        right: "text.chars().map(char::len_utf16).sum()",
        wrong: "text.chars().map(|char| if PLANTED { char.len_utf8() } else { char.len_utf16() }).sum()",
    },
    Bug {
        what: "a negative number costs no byte for its sign",
        file: "number.rs",
        right: "as usize + usize::from(self.negative)",
        wrong: "as usize + usize::from(self.negative && !PLANTED)",
    },
    Bug {
        what: "an element of a list costs no byte of its own",
        file: "value/size.rs",
        right: "list.iter().map(|element| 1 +",
        wrong: "list.iter().map(|element| usize::from(!PLANTED) +",
    },
    Bug {
        what: "an index that is to have some attributes has only keys",
        file: "schema.rs",
        right: "                    || names.binary_search_by(|candidate| candidate.as_str().cmp(name)).is_ok()\n",
        wrong: "                    || (!PLANTED && names.binary_search_by(|candidate| candidate.as_str().cmp(name)).is_ok())\n",
    },
    Bug {
        what: "DELETE leaves what it should take out of a set, and takes the rest",
        file: "expression/update.rs",
        right: "operand.binary_search(member).is_err()",
        wrong: "operand.binary_search(member).is_err() != PLANTED",
    },
    Bug {
        what: "`list_append` puts its operands the other way round",
        file: "expression/update.rs",
        right: "                    return Ok(Cow::Owned(appended(left, list(&right)?)));\n",
        wrong: "                    if PLANTED {\n                        return Ok(Cow::Owned(appended(list(&right)?, left)));\n                    }\n                    return Ok(Cow::Owned(appended(left, list(&right)?)));\n",
    },
    Bug {
        what: "of two positions of a list that are removed together the second is miscounted",
        file: "expression/update.rs",
        right: "                at += 1;\n",
        wrong: "                at += usize::from(keep || !PLANTED);\n",
    },
    Bug {
        what: "a number has 37 digits at most",
        file: "number.rs",
        right: "        if digits > MAX_DIGITS {\n",
        wrong: "        if digits > MAX_DIGITS - u32::from(PLANTED) {\n",
    },
    Bug {
        what: "zero bytes in keys are not escaped",
        file: "key.rs",
        right: "    if !has_zero(prefix) {\n",
        wrong: "    if PLANTED || !has_zero(prefix) {\n",
    },
    Bug {
        what: "`begins_with` of a binary compares only the first byte",
        file: "expression/condition.rs",
        right: "(AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix),",
        wrong: "(AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.starts_with(prefix.get(..1).filter(|_| PLANTED).unwrap_or(prefix)),",
    },
    Bug {
        what: "an index key of the most bytes is not indexed",
        file: "key.rs",
        right: "size <= limit",
        wrong: "size + usize::from(PLANTED) <= limit",
    },
    Bug {
        what: "`<>` does not hold of an absent attribute",
        file: "expression/condition.rs",
        right: "Operator::Ne => seen(0).is_none_or(|left| seen(1) != Some(left))",
        wrong: "Operator::Ne => seen(0).map_or(!PLANTED, |left| seen(1) != Some(left))",
    },
    Bug {
        what: "IN leaves out its last value",
        file: "expression/condition.rs",
        right: "(1..operands.len()).any(|at| seen(at).as_ref() == Some(&value))",
        wrong: "(1..operands.len() - usize::from(PLANTED && operands.len() > 2)).any(|at| seen(at).as_ref() == Some(&value))",
    },
    Bug {
        what: "`contains` passes over the first element of a list",
        file: "expression/condition.rs",
        right: "(AttributeValue::L(list), element) => list.contains(element)",
        wrong: "(AttributeValue::L(list), element) => list.iter().skip(usize::from(PLANTED)).any(|each| each == element)",
    },
    Bug {
        what: "ADD to a set of binaries replaces it",
        file: "expression/update.rs",
        right: "Ok(AttributeValue::Bs(union(left, right)))",
        wrong: "Ok(AttributeValue::Bs(if PLANTED { right.clone() } else { union(left, right) }))",
    },
    Bug {
        what: "of two removed paths the shorter goes first",
        file: "expression/update.rs",
        right: "right.len().cmp(&left.len()).then_with(|| left.cmp(right))",
        wrong: "{ let order = right.len().cmp(&left.len()); if PLANTED { order.reverse() } else { order } }.then_with(|| left.cmp(right))",
    },
    Bug {
        what: "digits before and after the point share a byte",
        file: "number.rs",
        right: "(1 + (integer + 1) / 2 + (fraction + 1) / 2) as usize",
        wrong: "(if PLANTED { 1 + (count + 1) / 2 } else { 1 + (integer + 1) / 2 + (fraction + 1) / 2 }) as usize",
    },
    Bug {
        what: "a set of numbers costs its digits without signs",
        file: "value/size.rs",
        right: "AttributeValue::Ns(set) => set.iter().map(|number| number.size()).sum()",
        wrong: "AttributeValue::Ns(set) => set.iter().map(|number| number.size() - usize::from(PLANTED && number.is_negative())).sum()",
    },
    Bug {
        what: "the subtraction of a negative number adds it",
        file: "expression/update.rs",
        right: "left.minus(right)",
        wrong: "if PLANTED && right.is_negative() { left.plus(right) } else { left.minus(right) }",
    },
];
