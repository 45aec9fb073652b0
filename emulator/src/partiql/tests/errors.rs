//! Errors of statements that need no table.

use crate::partiql::{Prepared, StatementCache};
use crate::value::AttributeValue;

/// The whole text; `None` if nothing is wrong.
fn statement_error(statement: &str) -> Option<String> {
    let parameters = vec![AttributeValue::string("p"), AttributeValue::Null];
    let bound =
        Prepared::new(statement, parameters, &StatementCache::new()).and_then(|prepared| prepared.bind().map(drop));
    bound.err().and_then(|error| error.message().map(str::to_owned))
}

fn check(cases: &[(&str, &str)]) {
    for (statement, expect) in cases {
        assert_eq!(statement_error(statement).as_deref(), Some(*expect), "{statement}");
    }
}

/// The detail of a statement that does not parse.
fn check_syntax(cases: &[(&str, &str)]) {
    for (statement, detail) in cases {
        let expect = format!("Statement wasn't well formed, can't be processed: {detail}");
        assert_eq!(statement_error(statement), Some(expect), "{statement}");
    }
}

/// After `SELECT * FROM tab WHERE `: the text and, where there is one, its place.
fn check_where(cases: &[(&str, &str)]) {
    for (condition, expect) in cases {
        let statement = format!("SELECT * FROM tab WHERE {condition}");
        assert_eq!(statement_error(&statement).as_deref(), Some(*expect), "{condition}");
    }
}

#[test]
fn valid_statements() {
    for statement in [
        "SELECT * FROM tab",
        "select a, m.k[0], m.\"inner\", m['x'] from \"tab\".\"idx\" where pk = 'a';",
        "SELECT ALL a FROM tab WHERE (((a = (1)))) -- comment",
        "SELECT * FROM tab WHERE a IN (1) AND b IN [1, 'x', c] OR NOT c BETWEEN 1 AND 2 /* x */",
        "SELECT * FROM tab WHERE a = - - 1 AND b = .5 AND c = 1.e1 AND d = +2",
        "SELECT * FROM tab WHERE begins_with(a, 'x') = true AND SIZE(b) > 1 AND a IS NOT MISSING AND b IS TUPLE",
        "SELECT * FROM tab WHERE a = [1, {'x': <<'a', 'b'>>, 'y': null}] ORDER BY pk DESC, sk ASC",
        "SELECT * FROM tab WHERE a = @b AND name = 1 AND status = 2 AND year = 3 AND 1 = 1",
        "SELECT * FROM tab WHERE a = ? AND b = ?",
        "INSERT INTO tab VALUE {'pk': 'a', 'n': ?, 'm': {'k': []}}",
        "UPDATE tab SET a = a + 1 - b, m.k[1] = list_append(a, [1]) REMOVE b SET c = ? WHERE pk = 'a' RETURNING MODIFIED NEW *",
        "UPDATE tab SET s = set_add(s, <<1>>) SET t.u = SET_DELETE(t.u, <<'a'>>)",
        "UPDATE tab SET a = if_not_exists(a, if_not_exists(b, 1)) WHERE pk = 'a'",
        "FROM tab WHERE pk = 'a' SET a = 1",
        "DELETE FROM tab WHERE pk = 'a' RETURNING ALL OLD *",
        "EXISTS (SELECT * FROM tab WHERE pk = 'a' AND a = 1)",
        "SELECT * FROM tab WHERE a = @\"b c\" AND @d = 1",
        "SELECT * FROM tab WHERE a = 1e+5 AND b = 1E-5 AND c = 1.5e05",
        "SELECT a.kk, b.k, c.l[10], d.l[1] FROM tab",
        "SELECT * FROM \"a-b\"",
        "SELECT * FROM \"a_b\".idx",
        "SELECT * FROM \"a.b\"",
        "SELECT * FROM tab['idx']",
        "SELECT * FROM tab[idx]",
        "UPDATE tab SET a.\"b c\" = 1, d[0].\"e\"[1] = 2",
        "UPDATE tab SET a[b] = 1, a['c'] = 2 REMOVE a[d]",
        "SELECT * FROM tab WHERE a IS BOOL AND b IS STRING(3) AND c IS NUMERIC(5, 2)",
    ] {
        assert_eq!(statement_error(statement), None, "{statement}");
    }
}

#[test]
fn syntax() {
    check_syntax(&[
        ("", "Unexpected term"),
        ("SELECT", "Unexpected term"),
        (
            "SELECT FROM tab",
            "Expected identifier or an expression but found unexpected keyword 'from' in a select list.",
        ),
        ("SELECT *", "Expected FROM after SELECT list"),
        ("SELECT * tab", "Expected FROM after SELECT list"),
        (
            "SELECT *, a FROM tab",
            "Other expressions may not be present in the select list when '*' is used without dot notation.",
        ),
        ("SELECT * FROM", "Unexpected term"),
        ("SELECT * FROM tab WHERE", "Unexpected term"),
        (
            "SELECT * FROM tab WHERE a =",
            "Missing right-hand side expression of infix operator",
        ),
        ("SELECT * FROM tab WHERE a = ;", "Unexpected term"),
        ("SELECT * FROM tab WHERE = 1", "Unexpected operator"),
        ("SELECT * FROM tab WHERE a == 1", "Unexpected operator"),
        ("SELECT * FROM tab WHERE a = 1 b", "Unexpected token after expression"),
        (
            "SELECT * FROM tab ORDER BY a WHERE b = 1",
            "Unexpected token after expression",
        ),
        ("SELECT * FROM tab WHERE a = 1 ORDER a", "Expected BY keyword"),
        (
            "SELECT * FROM tab; ;",
            "Unexpected token after semicolon. (Only one query is allowed.)",
        ),
        ("SELECT * FROM tab WHERE user = 1", "Unexpected keyword"),
        ("SELECT * FROM tab WHERE size = 1", "Unexpected keyword"),
        ("SELECT * FROM tab WHERE current_timestamp = 1", "Unexpected keyword"),
        ("SELECT * FROM tab WHERE m.inner = 1", "Invalid path dot component"),
        ("SELECT * FROM tab WHERE a IS FOO", "Expected type name"),
        ("SELECT * FROM tab WHERE a IS NUMERIC(5", "Expected RIGHT_PAREN"),
        ("SELECT * FROM tab WHERE COUNT(* = 1", "Expected RIGHT_PAREN"),
        ("SELECT * FROM tab WHERE a BETWEEN 1 OR 2", "Expected AND keyword"),
        ("SELECT * FROM tab WHERE a IN ()", "Expression group cannot be empty"),
        ("SELECT * FROM tab WHERE ()", "Expression group cannot be empty"),
        ("SELECT * FROM tab WHERE (a = 1", "Expected RIGHT_PAREN"),
        ("SELECT * FROM tab WHERE f(a", "Expected RIGHT_PAREN"),
        ("SELECT * FROM tab WHERE a = [1, 2", "Expected RIGHT_BRACKET"),
        ("SELECT * FROM tab WHERE a = [1,]", "Unexpected term"),
        ("SELECT * FROM tab WHERE a = {'x': 1", "Expected RIGHT_CURLY"),
        ("SELECT * FROM tab WHERE a = {'x'}", "Expected COLON"),
        ("SELECT * FROM tab WHERE a = @1", "Identifier must follow @-operator"),
        ("SELECT * FROM tab LEFT tab", "Expected JOIN keyword"),
        ("SELECT * FROM tab AS 1", "Expected identifier for alias"),
        ("SELECT * FROM tab AT 1", "Expected identifier for alias"),
        ("SELECT * FROM tab AS t BY", "Expected identifier for alias"),
        ("INSERT INTO tab VALUE {} AT", "Unexpected term"),
        ("DELETE tab", "Expected FROM after DELETE"),
        ("UPDATE tab WHERE a = 1", "Expected data manipulation"),
        ("UPDATE tab SET", "Expected identifier for simple path"),
        ("UPDATE tab SET a", "Expected assignment for SET"),
        ("UPDATE tab SET a = 1,", "Expected identifier for simple path"),
        ("UPDATE tab REMOVE a, b", "Unexpected token after expression"),
        ("UPDATE tab SET a[*] = 1", "Invalid path component for simple path"),
        ("UPDATE tab SET a.* = 1", "Invalid path dot component for simple path"),
        ("UPDATE tab SET a[b.c] = 1", "Invalid path component for simple path"),
        ("UPDATE tab SET a[?] = 1", "Invalid path component for simple path"),
        ("UPDATE tab SET a[[1]] = 1", "Invalid path component for simple path"),
        ("UPDATE tab SET a[<<1>>] = 1", "Invalid path component for simple path"),
        (
            "UPDATE tab SET a[{'b': 1}] = 1",
            "Invalid path component for simple path",
        ),
        ("UPDATE tab SET a[f(b)] = 1", "Invalid path component for simple path"),
        ("UPDATE tab SET a[1 + 1] = 1", "Invalid path component for simple path"),
        ("UPDATE tab SET a[-b] = 1", "Invalid path component for simple path"),
        (
            "UPDATE tab SET a[b IS NULL] = 1",
            "Invalid path component for simple path",
        ),
        ("UPDATE tab SET a[1 = 1", "Expected RIGHT_BRACKET"),
        (
            "UPDATE tab SET a = 1 RETURNING OLD *",
            "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.",
        ),
        ("INSERT tab VALUE {}", "Unexpected keyword"),
        ("INSERT INTO tab", "Unexpected term"),
        (
            "INSERT INTO tab VALUES {}",
            "Expected LEFT_PAREN for row value constructor",
        ),
        (
            "INSERT INTO tab VALUE {} ON CONFLICT DO NOTHING",
            "invalid ON CONFLICT syntax",
        ),
        ("CREATE a", "Unexpected token following CREATE"),
        ("EXISTS", "Unexpected keyword"),
        ("EXISTS [SELECT * FROM tab)", "Unexpected keyword"),
        ("EXISTS (SELECT * FROM tab", "Expected RIGHT_PAREN"),
        ("EXISTS SELECT * FROM tab", "Unexpected keyword"),
        ("a b", "Unexpected token after expression"),
    ]);
}

#[test]
fn tokenizer_errors_have_no_detail() {
    check_syntax(&[
        ("SELECT * FROM tab WHERE a = 'x", ""),
        ("SELECT * FROM tab WHERE \"a = 1", ""),
        ("SELECT * FROM tab /* x", ""),
        ("SELECT * FROM tab # x", ""),
        ("SELECT * FROM tab WHERE a = 1e2147483648", ""),
        ("SELECT * FROM tab WHERE a = 1e", ""),
        ("SELECT * FROM tab WHERE a = 1e+", ""),
        ("SELECT * FROM tab WHERE a = 1.5a", ""),
        ("SELECT * FROM tab WHERE a = 1_", ""),
        ("SELECT * FROM tab WHERE a = 1$", ""),
        ("SELECT * FROM tab WHERE a = `x", ""),
        ("SELECT * FROM tab WHERE a ! 1", ""),
        ("SELECT * FROM tab WHERE a = 'x''", ""),
    ]);
}

#[test]
fn parsed_statements_that_are_refused() {
    check(&[
        ("x", "Unsupported operation: Id"),
        ("1", "Unsupported operation: Lit"),
        ("'a'", "Unsupported operation: Lit"),
        ("null", "Unsupported operation: Lit"),
        ("true", "Unsupported operation: Lit"),
        ("`x`", "Unsupported operation: Lit"),
        ("missing", "Unsupported operation: Missing"),
        ("?", "Unsupported operation: Parameter"),
        ("a.b", "Unsupported operation: Path"),
        ("[1]", "Unsupported operation: List"),
        ("<<1>>", "Unsupported operation: Bag"),
        ("{'a': 1}", "Unsupported operation: Struct"),
        ("a IS NULL", "Unsupported operation: IsType"),
        ("a = 1", "EXISTS can only be used in ExecuteTransaction write requests."),
        ("CREATE TABLE tab", "Unsupported operation: CreateTable"),
        ("DROP INDEX tab", "Unsupported operation: DropIndex"),
        (
            "PIVOT a AT b FROM tab",
            "Select projection doesn't support value or pivot keywords",
        ),
        (
            "SELECT VALUE a FROM tab",
            "Select projection doesn't support value or pivot keywords",
        ),
        (
            "SELECT DISTINCT a FROM tab",
            "Unsupported token in expression: DISTINCT",
        ),
        ("SELECT a AS b FROM tab", "Aliasing is not supported"),
        ("SELECT a b FROM tab", "Aliasing is not supported"),
        ("SELECT * FROM tab t", "Aliasing is not supported"),
        ("UPDATE tab t SET a = 1", "Aliasing is not supported"),
        ("DELETE FROM tab AS t", "Aliasing is not supported"),
        ("SELECT * FROM tab AT t", "Aliasing is not supported"),
        ("SELECT * FROM tab BY \"t\"", "Aliasing is not supported"),
        ("INSERT INTO tab VALUE {'pk': 1} AT 1", "Unsupported clause: AT"),
        (
            "SELECT * FROM tab, two",
            "Only select from a single table or index is supported.",
        ),
        (
            "SELECT * FROM tab INNER JOIN two ON a = b",
            "Only select from a single table or index is supported.",
        ),
        ("SELECT * FROM tab GROUP BY a", "Unsupported clause: GROUP BY"),
        ("SELECT * FROM tab HAVING a = 1", "Unsupported clause: HAVING at 1:28:1"),
        ("SELECT * FROM tab LIMIT 1", "Unsupported clause: LIMIT at 1:25:1"),
        ("SELECT a + 1 FROM tab", "Unexpected path component at 1:10:1"),
        ("SELECT 'x' FROM tab", "Unexpected path component at 1:8:3"),
        ("SELECT COUNT(*) FROM tab", "Unexpected path component at 1:8:5"),
        ("SELECT size(a) FROM tab", "Unexpected path component at 1:8:4"),
        (
            "SELECT t.* FROM tab",
            "Changing item's hierarchy while reading isn't supported",
        ),
        (
            "SELECT a[*] FROM tab",
            "Wildcard path component like a[*].b are not supported at 1:10:1",
        ),
        (
            "SELECT a.*.b FROM tab",
            "Unpivot path component like a.*.b are not supported at 1:10:1",
        ),
        ("SELECT pk, pk FROM tab", "Duplicate identifiers in select clause: pk"),
        ("SELECT a.k, b.k FROM tab", "Duplicate identifiers in select clause: k"),
        (
            "SELECT a.k, v, b.k FROM tab",
            "Duplicate identifiers in select clause: k",
        ),
        (
            "SELECT v, k, w, b.k FROM tab",
            "Duplicate identifiers in select clause: k",
        ),
        (
            "SELECT m.k, m FROM tab",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m], path two: [m, k]",
        ),
        (
            "SELECT a[-1] FROM tab",
            "List index is not within the allowable range; index: [-1] at 1:11:1",
        ),
        (
            "SELECT a[2147483648] FROM tab",
            "List index is not within the allowable range; index: [2147483648] at 1:10:10",
        ),
        ("SELECT a[1.5] FROM tab", "Unexpected path component at 1:10:3"),
        ("SELECT \"\" FROM tab", "Path component cannot be an empty string"),
        ("SELECT * FROM \"\"", "Path component cannot be an empty string"),
        ("SELECT * FROM tab.\"\"", "Path component cannot be an empty string"),
        (
            "SELECT * FROM tab.a.b",
            "A path may contain at most 2 components in the FROM clause",
        ),
        ("SELECT * FROM tab[0]", "Invalid list expression in source."),
        ("SELECT * FROM 'tab'", "Unexpected from source"),
        ("SELECT * FROM ?", "Unexpected from source"),
        (
            "SELECT * FROM ab",
            "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'.",
        ),
        (
            "SELECT * FROM tab ORDER BY a",
            "Must have WHERE clause in the statement when using ORDER BY clause.",
        ),
        (
            "SELECT * FROM tab WHERE pk = 'a' ORDER BY a.b",
            "Argument to ORDER BY must be of type VariableReference. Type: PATH at 1:43:1",
        ),
        (
            "SELECT * FROM tab WHERE pk = 'a' ORDER BY 'a'",
            "Argument to ORDER BY must be of type VariableReference. Type: a at 1:43:3",
        ),
        (
            "SELECT * FROM tab WHERE pk = 'a' ORDER BY 12",
            "Argument to ORDER BY must be of type VariableReference. Type: 12 at 1:43:2",
        ),
        (
            "SELECT * FROM tab WHERE pk = 'a' ORDER BY ?",
            "Argument to ORDER BY must be of type VariableReference. Type: PARAMETER at 1:43:1",
        ),
        (
            "SELECT * FROM tab WHERE pk = 'a' ORDER BY size(a)",
            "Argument to ORDER BY must be of type VariableReference. Type: size at 1:43:4",
        ),
    ]);
}

fn unsupported_type(kind: &str, column: usize) -> String {
    format!(
        "Unsupported data type for IS operator: {kind}. Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at 1:{column}:2"
    )
}

#[test]
fn conditions() {
    let distinct = "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [a]";
    let boolean = "WHERE clause must contain an expression that resolves to a boolean";
    let arguments = "The arguments to AND/OR must be Expressions";
    let sequence = "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq with at least one member";
    check_where(&[
        ("a", boolean),
        ("true", boolean),
        ("size(a)", boolean),
        ("a = 1 AND b", arguments),
        ("a OR b = 1", arguments),
        ("NOT a", "The argument to NOT must be a Type or Expression"),
        ("a = a", distinct),
        ("a = MISSING", "MISSING must be compared using IS operator"),
        ("a = 1 + 2", "Unsupported operator in Condition Expression. Operator: +"),
        ("a * 2 = 1", "Unsupported operator in Condition Expression. Operator: *"),
        (
            "a || 'b' = 'c'",
            "Unsupported operator in Condition Expression. Operator: ||",
        ),
        (
            "a LIKE 'x'",
            "Unsupported operator in Condition Expression. Operator: like",
        ),
        (
            "a NOT LIKE 'x'",
            "Unsupported operator in Condition Expression. Operator: like",
        ),
        ("a = -b", "Unsupported operator in Condition Expression. Operator: -"),
        ("foo(a)", "Unrecognized function: foo at 1:25:3"),
        ("b = 1\n AND foo(a)", "Unrecognized function: foo at 2:6:3"),
        (
            "b = 'ä'\n AND c = 'äö' AND foo(a)",
            "Unrecognized function: foo at 2:19:3",
        ),
        ("COUNT(a) = 1", "Unsupported token in expression: count at 1:25:5"),
        ("COUNT(*) = 1", "Unsupported token in expression: COUNT at 1:25:5"),
        (
            "case when a then b end",
            "Unsupported token in expression: CASE at 1:25:4",
        ),
        (
            "a = (SELECT * FROM b)",
            "Unsupported token in expression: SELECT at 1:30:6",
        ),
        ("exists(a)", "Unrecognized function: exists at 1:25:6"),
        (
            "attribute_exists('x')",
            "Operator or function requires a document path; operator or function: attribute_exists",
        ),
        (
            "attribute_exists()",
            "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 0",
        ),
        (
            "begins_with(a, 1)",
            "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
        ),
        (
            "a < [1]",
            "Incorrect operand type for operator or function; operator or function: <, operand type: L",
        ),
        (
            "size(begins_with(a, 'x')) = 1",
            "Incorrect operand type for operator or function; operator or function: size, operand type: BOOL",
        ),
        (
            "begins_with(a, 'x') < true",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
        ),
        (
            "list_append(a, b) = 1",
            "The function is not allowed in a condition expression; function: list_append",
        ),
        // Operators of one precedence associate to the left.
        (
            "a < b BETWEEN 1 AND 2",
            "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: BOOL",
        ),
        (
            "a BETWEEN 1 AND 2 < b",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
        ),
        (
            "a + b - c = 1",
            "Unsupported operator in Condition Expression. Operator: +",
        ),
        (
            "a - b || c = 1",
            "Unsupported operator in Condition Expression. Operator: -",
        ),
        (
            "a || b + c = 1",
            "Unsupported operator in Condition Expression. Operator: ||",
        ),
        (
            "a / b * c = 1",
            "Unsupported operator in Condition Expression. Operator: /",
        ),
        (
            "a % b / c = 1",
            "Unsupported operator in Condition Expression. Operator: %",
        ),
        (
            "a * b / c = 1",
            "Unsupported operator in Condition Expression. Operator: *",
        ),
        (
            "a + b * c = 1",
            "Unsupported operator in Condition Expression. Operator: *",
        ),
        (
            "a * b + c = 1",
            "Unsupported operator in Condition Expression. Operator: *",
        ),
        (
            "a LIKE b || c",
            "Unsupported operator in Condition Expression. Operator: ||",
        ),
        (
            "a = b IN [1]",
            "Incorrect operand type for operator or function; operator or function: IN, operand type: BOOL",
        ),
        (
            "a = b IS NULL",
            "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
        ),
        (
            "a IN [1] = b",
            "Unsupported operator in Condition Expression. Operator: =",
        ),
        ("a = b < c", "Unsupported operator in Condition Expression. Operator: ="),
        ("a < b = c", "Unsupported operator in Condition Expression. Operator: ="),
        (
            "attribute_type(a, 'X')",
            "Invalid attribute type name found; type: X, valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}",
        ),
        (
            "a BETWEEN 2 AND 1",
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}",
        ),
        ("a IN []", sequence),
        ("a IN 1", sequence),
        (
            "a IS INT",
            "Unsupported data type for IS operator: INTEGER. Supported data types are [MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST] at 1:27:2",
        ),
        ("a IS VARCHAR(10)", &unsupported_type("CHARACTER_VARYING", 27)),
        ("a IS CHAR", &unsupported_type("CHARACTER", 27)),
        ("a IS DECIMAL(5, 2)", &unsupported_type("DECIMAL", 27)),
        (
            "size(a) IS NUMERIC",
            "The left hand side argument to IS must be a Variable Reference, Literal, or Path",
        ),
        (
            "1 IS MISSING",
            "Operator or function requires a document path; operator or function: attribute_not_exists",
        ),
        (
            "a = ? AND b = ? AND c = ?",
            "Number of parameters in request and statement don't match.",
        ),
    ]);
}

#[test]
fn other_sources_are_refused() {
    let single = "Only select from a single table or index is supported.";
    let alias = "Aliasing is not supported";
    check(&[
        ("SELECT * FROM tab JOIN two", single),
        ("SELECT * FROM tab JOIN two ON a = b WHERE c = 1", single),
        ("SELECT * FROM tab LEFT OUTER JOIN two ON a = b", single),
        ("SELECT * FROM tab RIGHT JOIN two ON a = b", single),
        ("SELECT * FROM tab FULL OUTER JOIN two ON a = b", single),
        ("SELECT * FROM tab CROSS JOIN two", single),
        ("SELECT * FROM tab, two, three WHERE a = 1", single),
        ("SELECT * FROM tab, two AS t", alias),
        ("SELECT * FROM tab JOIN two t ON a = b", alias),
        ("SELECT * FROM tab AS t AT u BY v", alias),
        ("SELECT * FROM tab GROUP BY a, b AS c", alias),
        (
            "SELECT * FROM tab GROUP BY a, b HAVING c = 1",
            "Unsupported clause: GROUP BY",
        ),
        (
            "SELECT * FROM tab HAVING a LIMIT 2",
            "Unsupported clause: HAVING at 1:26:1",
        ),
        ("SELECT ALL * FROM tab LIMIT ?", "Unsupported clause: LIMIT at 1:29:1"),
        (
            "SELECT DISTINCT VALUE a FROM tab",
            "Unsupported token in expression: DISTINCT",
        ),
        (
            "select distinct a from tab",
            "Unsupported token in expression: DISTINCT",
        ),
    ]);
    check_syntax(&[
        ("SELECT * FROM tab JOIN", "Unexpected term"),
        ("SELECT * FROM tab INNER two", "Expected JOIN keyword"),
        ("SELECT * FROM tab CROSS", "Expected JOIN keyword"),
        ("SELECT * FROM tab JOIN two ON", "Unexpected term"),
        ("SELECT * FROM tab,", "Unexpected term"),
        ("SELECT * FROM tab GROUP a", "Expected BY keyword"),
        ("SELECT * FROM tab GROUP BY a,", "Unexpected term"),
        ("SELECT * FROM tab ORDER BY a DESC,", "Unexpected term"),
        (
            "SELECT a, FROM tab",
            "Expected identifier or an expression but found unexpected keyword 'from' in a select list.",
        ),
        ("SELECT VALUE FROM tab", "Unexpected keyword"),
    ]);
}

#[test]
fn clauses_of_inserts() {
    let conflict = "invalid ON CONFLICT syntax";
    check_syntax(&[
        ("INSERT INTO tab VALUE {} ON", conflict),
        ("INSERT INTO tab VALUE {} ON CONFLICT", conflict),
        ("INSERT INTO tab VALUE {} ON CONFLICT WHERE", "Unexpected term"),
        ("INSERT INTO tab VALUE {} ON CONFLICT WHERE a = 1", conflict),
        ("INSERT INTO tab VALUE {} ON CONFLICT WHERE a = 1 DO", conflict),
        ("INSERT INTO tab VALUE {} ON CONFLICT WHERE a = 1 DO UPDATE", conflict),
        (
            "INSERT INTO tab VALUES (1), 2",
            "Expected LEFT_PAREN for row value constructor",
        ),
        (
            "INSERT INTO tab VALUES (1),",
            "Expected LEFT_PAREN for row value constructor",
        ),
        (
            "INSERT INTO tab VALUES",
            "Expected LEFT_PAREN for row value constructor",
        ),
        ("INSERT INTO 'tab' VALUE {}", "Expected identifier for simple path"),
        (
            "INSERT INTO tab VALUE {} RETURNING",
            "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.",
        ),
    ]);
    check(&[
        ("INSERT INTO tab VALUES (1), (2)", "Unsupported operation: InsertOp"),
        (
            "INSERT INTO tab VALUE {} ON CONFLICT WHERE a = 1 do Nothing",
            "Unsupported clause: ON CONFLICT",
        ),
        (
            "INSERT INTO tab VALUE {} AT 1 ON CONFLICT WHERE a = 1 DO NOTHING RETURNING ALL OLD *",
            "Unsupported clause: AT",
        ),
        (
            "INSERT INTO tab VALUE {} RETURNING MODIFIED NEW *",
            "RETURNING is not supported in INSERT",
        ),
    ]);
}

#[test]
fn right_sides_of_updates() {
    let operator = |name: &str| format!("Unsupported operator in Update Expression. Operator: {name}");
    for (value, expect) in [
        (
            "b IS NULL",
            "IS operator is not supported in update expressions".to_owned(),
        ),
        (
            "b IS NOT MISSING",
            "IS operator is not supported in update expressions".to_owned(),
        ),
        ("NOT b = 1", operator("not")),
        ("b BETWEEN 1 AND 2", operator("between")),
        ("b NOT BETWEEN 1 AND 2", operator("between")),
        ("b IN [1]", operator("in")),
        ("b NOT IN [1]", operator("in")),
        ("b AND c", operator("and")),
        ("b = 1 OR c = 2", operator("or")),
        ("b = 1", operator("=")),
        ("b <> 1", operator("<>")),
        ("b < 1", operator("<")),
        ("b >= 1", operator(">=")),
        ("b LIKE 'x'", operator("like")),
        ("b / 2", operator("/")),
        ("b % 2", operator("%")),
        (
            "+b",
            "Incorrect number of operands for operator or function; operator or function: +, number of operands: 1"
                .to_owned(),
        ),
        (
            "count(*)",
            "Unsupported token in expression: count at 1:20:5".to_owned(),
        ),
    ] {
        let statement = format!("UPDATE tab SET a = {value} WHERE pk = 'a'");
        assert_eq!(statement_error(&statement), Some(expect), "{value}");
    }
}

#[test]
fn functions_over_many_rows_are_refused() {
    for name in ["count", "sum", "min", "max", "avg"] {
        let expect = format!("Unsupported token in expression: {name} at 1:25:{}", name.len());
        check_where(&[(&format!("{name}(a) = 1"), &expect)]);
        check_where(&[(&format!("{}(a, b) = 1", name.to_uppercase()), &expect)]);
    }
}

#[test]
fn too_much() {
    let list = |count: usize| (0..count).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
    check_where(&[(
        &format!("a IN [{}]", list(101)),
        "The IN operator is provided with too many operands; number of operands: 101",
    )]);
    for connective in [" OR ", " AND "] {
        let many = vec!["a=1"; 200].join(connective);
        check_where(&[(&many, "The expression contains too many operators; operator count: 301")]);
    }
    let compared = |count: usize| vec!["a=1"; count].join(" AND ");
    for fits in [
        format!("a IN [{}]", list(100)),
        format!("NOT ({})", compared(150)),
        format!("{} = 1", vec!["a"; 32].join(".")),
    ] {
        assert_eq!(
            statement_error(&format!("SELECT * FROM tab WHERE {fits}")),
            None,
            "{fits}"
        );
    }
    check_where(&[(
        &compared(151),
        "The expression contains too many operators; operator count: 301",
    )]);
    let path = vec!["a"; 33].join(".");
    check_where(&[(
        &format!("{path} = 1"),
        "The document path has too many nesting levels; nesting levels: 33",
    )]);
}

#[test]
fn literals() {
    check_where(&[
        (
            "a = 1e126",
            "Number overflow. Attempting to store a number with magnitude larger than supported range under root",
        ),
        (
            "a = {'x': 1e126}",
            "Number overflow. Attempting to store a number with magnitude larger than supported range under root.x",
        ),
        (
            "a = [1, 1e126]",
            "Number overflow. Attempting to store a number with magnitude larger than supported range under root[1]",
        ),
        (
            "a = 1e2147483647",
            "Number overflow. Attempting to store a number with magnitude larger than supported range under root",
        ),
        (
            "a = 1e-131",
            "Number underflow. Attempting to store a number with magnitude smaller than supported range under root",
        ),
        (
            "a = 123456789012345678901234567890123456789",
            "Attempting to store more than 38 significant digits in a Number under root",
        ),
        ("a = <<>>", "Empty bags are not supported at 1:29:2"),
        (
            "a = <<1, 'x'>>",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
        ),
        (
            "a = <<[1]>>",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags at 1:31:1",
        ),
        (
            "a = <<?>>",
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags at 1:31:1",
        ),
        (
            "a = <<'b', 'a', 'b'>>",
            "One or more parameter values were invalid: Input collection [b, a, b] contains duplicates.",
        ),
        (
            "a = <<2, 2.0>>",
            "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! under root",
        ),
        (
            "a = `x`",
            "Ion Literals are not supported: SYMBOL under key root at 1:29:3",
        ),
        (
            "a = 'é' AND b = `x`",
            "Ion Literals are not supported: SYMBOL under key root at 1:41:3",
        ),
        (
            "b = 'é' AND\na = `é1`",
            "Ion Literals are not supported: SYMBOL under key root at 2:5:4",
        ),
        (
            "a = [`1`]",
            "Ion Literals are not supported: INT under key root[0] at 1:30:3",
        ),
        (
            "a = [?]",
            "Unsupported data type: Parameter under key root[0] at 1:30:1",
        ),
        (
            "a = {'k': ?}",
            "Unsupported data type: Parameter under key root.k at 1:35:1",
        ),
        (
            "a = [b]",
            "Unsupported data type: VariableReference under key root[0] at 1:30:1",
        ),
        (
            "a = {'k': 1, 'k': 2}",
            "Duplicate keys in tuple. Key: k under root at 1:38:3",
        ),
        ("a = {'': 1}", "Path component cannot be an empty string"),
    ]);
    let nested = format!("a = {}1{}", "{'a': ".repeat(32), "}".repeat(32));
    let path = ".a".repeat(32);
    check_where(&[(
        &nested,
        &format!("Nesting Levels have exceeded supported limits under root{path}"),
    )]);
    let fits = format!("SELECT * FROM tab WHERE a = {}1{}", "[".repeat(31), "]".repeat(31));
    assert_eq!(statement_error(&fits), None);
}

#[test]
fn literals_of_ion_are_named_by_their_type() {
    for (literal, kind) in [
        ("x", "SYMBOL"),
        ("truex", "SYMBOL"),
        ("true", "BOOL"),
        ("false", "BOOL"),
        ("null", "NULL"),
        ("null.int", "NULL"),
        ("\"x\"", "STRING"),
        ("[1]", "LIST"),
        ("(a b)", "SEXP"),
        ("{a: 1}", "STRUCT"),
        ("{{aGk=}}", "BLOB"),
        (" 12 ", "INT"),
        ("-12", "INT"),
        ("-1.5", "DECIMAL"),
        ("1e5", "FLOAT"),
        ("1.5E5", "FLOAT"),
        ("2026T", "TIMESTAMP"),
    ] {
        let length = literal.len() + 2;
        let expect = format!("Ion Literals are not supported: {kind} under key root at 1:29:{length}");
        check_where(&[(&format!("a = `{literal}`"), &expect)]);
    }
}

#[test]
fn inserts() {
    let format = |place: &str| {
        format!(
            "Unsupported format in item expression. Please use struct format {{...}} to express item values for insert statement. at {place}"
        )
    };
    check(&[
        ("INSERT INTO tab VALUE 5", &format("1:23:1")),
        ("INSERT INTO tab VALUE ?", &format("1:23:1")),
        ("INSERT INTO tab VALUE [1]", &format("1:23:1")),
        (
            "INSERT INTO tab VALUE {pk: 1}",
            "Tuple keys must be of type String. Actual type: VariableReference under root at 1:24:2",
        ),
        (
            "INSERT INTO tab VALUE {'pk': 1, 'pk': 2}",
            "Duplicate keys in tuple. Key: pk under root at 1:33:4",
        ),
        (
            "INSERT INTO tab VALUE {'pk': b}",
            "Unsupported data type: b under key root at 1:30:1",
        ),
        (
            "INSERT INTO tab VALUE {'pk': -b}",
            "Unsupported data type: - under key root at 1:30:1",
        ),
        (
            "INSERT INTO tab VALUE {'pk': b IS NULL}",
            "Unsupported data type: is under key root at 1:32:2",
        ),
        (
            "INSERT INTO tab VALUE {'pk': [b IS NULL]}",
            "Unsupported data type: NAry under key root[0] at 1:33:2",
        ),
        (
            "INSERT INTO tab VALUE {'pk': set_add(a, 1)}",
            "Unsupported data type: set_add under key root at 1:30:7",
        ),
        (
            "INSERT INTO tab VALUE {'': 1}",
            "Path component cannot be an empty string",
        ),
        (
            "INSERT INTO tab.idx VALUE {'pk': 1}",
            "FROM clause may only contain a single table name in data manipulation statements at 1:13:3",
        ),
        ("INSERT INTO tab << {'pk': 1} >>", "Unsupported operation: InsertOp"),
        ("INSERT INTO tab {'pk': 1}", "Unsupported operation: InsertOp"),
        ("INSERT INTO tab VALUES (1, 2)", "Unsupported operation: InsertOp"),
        (
            "INSERT INTO tab VALUE {'pk': 1} RETURNING ALL OLD *",
            "RETURNING is not supported in INSERT",
        ),
        (
            "INSERT INTO tab VALUE {'pk': 1} ON CONFLICT WHERE a = 1 DO NOTHING",
            "Unsupported clause: ON CONFLICT",
        ),
    ]);
}

#[test]
fn keys_of_maps_are_strings() {
    let kinds = [
        ("a", "VariableReference"),
        ("?", "Parameter"),
        ("a.b", "Path"),
        ("[1]", "Seq"),
        ("<<1>>", "Seq"),
        ("{'b': 1}", "Struct"),
        ("1", "INT"),
        ("-1", "INT"),
        ("1.0", "DECIMAL"),
        ("1e5", "DECIMAL"),
        ("1E5", "DECIMAL"),
        ("null", "NULL"),
        ("true", "BOOL"),
        ("`x`", "Literal"),
        ("missing", "LiteralMissing"),
        ("size(a)", "NAry"),
        ("-a", "NAry"),
    ];
    for (key, kind) in kinds {
        let expect = format!("Tuple keys must be of type String. Actual type: {kind} under root");
        for (statement, path) in [
            (format!("INSERT INTO tab VALUE {{{key}: 1}}"), ""),
            (format!("INSERT INTO tab VALUE {{'pk': {{'m': {{{key}: 1}}}}}}"), ".m"),
        ] {
            let error = statement_error(&statement).unwrap();
            let prefix = format!("{expect}{path} at 1:");
            assert!(error.starts_with(&prefix), "{statement}: {error}");
        }
    }
}

#[test]
fn names_of_tables() {
    let wrong = "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'.";
    let long = |length: usize| "a".repeat(length);
    for (name, valid) in [
        ("ab", false),
        ("abc", true),
        (&long(255), true),
        (&long(256), false),
        ("AZaz09-_.", true),
        ("a/bc", false),
        ("a bc", false),
        ("a:bc", false),
        ("a\u{e9}bc", false),
        ("arn:aws:dynamodb:us-east-1:000000000000:table/abc", true),
    ] {
        let error = statement_error(&format!("SELECT * FROM \"{name}\""));
        assert_eq!(error.as_deref(), (!valid).then_some(wrong), "{name}");
    }
}

#[test]
fn updates() {
    check(&[
        (
            "UPDATE tab.idx SET a = 1",
            "This operation is not supported on an index",
        ),
        ("DELETE FROM tab.idx", "This operation is not supported on an index"),
        (
            "UPDATE tab SET m = 1, m.a = 2",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m, a], path two: [m]",
        ),
        (
            "UPDATE tab SET x.y = 1 REMOVE x[0]",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [x, [0]], path two: [x, y]",
        ),
        (
            "UPDATE tab SET a = b * 2",
            "Unsupported operator in Update Expression. Operator: *",
        ),
        (
            "UPDATE tab SET a = b || 'x'",
            "Unsupported operator in Update Expression. Operator: ||",
        ),
        (
            "UPDATE tab SET a = b = 1",
            "Unsupported operator in Update Expression. Operator: =",
        ),
        (
            "UPDATE tab SET a = -b",
            "Incorrect number of operands for operator or function; operator or function: -, number of operands: 1",
        ),
        (
            "UPDATE tab SET a = a + 'x'",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
        (
            "UPDATE tab SET a = list_append(1, b)",
            "Incorrect operand type for operator or function; operator or function: list_append, operand type: N",
        ),
        (
            "UPDATE tab SET a = list_append(b)",
            "Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1",
        ),
        (
            "UPDATE tab SET a = size(b)",
            "The function is not allowed in an update expression; function: size",
        ),
        ("UPDATE tab SET a = foo(b)", "Unrecognized function: foo at 1:20:3"),
        (
            "UPDATE tab SET a = MISSING",
            "MISSING must be compared using IS operator",
        ),
        (
            "UPDATE tab SET a[-1] = 1",
            "List index is not within the allowable range; index: [-1] at 1:19:1",
        ),
        ("UPDATE tab SET a[1.5] = 1", "Unexpected path component at 1:18:3"),
        ("UPDATE tab SET a[`x`] = 1", "Unexpected path component at 1:18:3"),
        ("UPDATE tab SET a[null] = 1", "Unexpected path component at 1:18:4"),
        ("UPDATE tab SET a[true] = 1", "Unexpected path component at 1:18:4"),
        ("UPDATE tab SET a[missing] = 1", "Unexpected path component at 1:18:7"),
        ("UPDATE tab REMOVE a['']", "Path component cannot be an empty string"),
        (
            "UPDATE tab SET s = set_add(s)",
            "SET_ADD must have exactly two arguments at 1:20:7",
        ),
        (
            "UPDATE tab SET s = set_add(t, <<1>>)",
            "The first argument to SET_ADD must equal the assignment value at 1:20:7",
        ),
        (
            "UPDATE tab SET m.a = set_add(m.b, <<1>>)",
            "The first argument to SET_ADD must equal the assignment value at 1:22:7",
        ),
        (
            "UPDATE tab SET m.a = set_delete(m.b, <<1>>)",
            "The first argument to SET_DELETE must equal the assignment value at 1:22:10",
        ),
        (
            "UPDATE tab SET m.a = set_add(m, <<1>>)",
            "The first argument to SET_ADD must equal the assignment value at 1:22:7",
        ),
        (
            "UPDATE tab SET m = set_add(m.a, <<1>>)",
            "The first argument to SET_ADD must equal the assignment value at 1:20:7",
        ),
        (
            "UPDATE tab SET m.l[0] = set_delete(m.l[1], <<1>>)",
            "The first argument to SET_DELETE must equal the assignment value at 1:25:10",
        ),
        (
            "UPDATE tab SET s = set_delete(s, 'x')",
            "The second argument to SET_DELETE must be a value with type SET at 1:31:1",
        ),
        (
            "UPDATE tab SET s = set_add(s, ?)",
            "The second argument to SET_ADD must be a value with type SET at 1:28:1",
        ),
        (
            "UPDATE tab SET a = 1 RETURNING ALL OLD a",
            "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause",
        ),
        (
            "UPDATE tab SET a = 1 RETURNING ALL OLD *, ALL NEW *",
            "Invalid syntax with multiple returning elements in RETURNING clause",
        ),
        (
            "DELETE FROM tab RETURNING MODIFIED OLD *",
            "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in DELETE statements.",
        ),
    ]);
}

#[test]
fn syntax_comes_before_what_is_refused() {
    check_syntax(&[
        ("SELECT DISTINCT a FROM tab t WHERE", "Unexpected term"),
        ("SELECT * FROM tab LIMIT 1 1", "Unexpected token after expression"),
    ]);
}
