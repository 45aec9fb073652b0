//! `cargo xtask controls`: generates code from the declaration of the controls, `openapi.json`: the engine's table of
//! routes, the typed calls of the npm package and the playground, and those of the Python package.

mod document;
mod python;
mod rust;
mod typescript;

use std::fs;

use document::{Document, Method, Operation};

use crate::shell::{self, Outcome};

const DECLARATION: &str = "emulator/src/operation/control/openapi.json";

struct Generated {
    path: &'static str,
    write: fn(&Document) -> String,
}

const FILES: [Generated; 3] = [
    Generated {
        path: "emulator/src/operation/control/declared.rs",
        write: rust::file,
    },
    Generated {
        path: "wasm/npm/src/controls.ts",
        write: typescript::file,
    },
    Generated {
        path: "harness/python/python/dynatwin/controls.py",
        write: python::file,
    },
];

/// A control: its operation in the document, and where it is.
struct Control<'d> {
    path: &'d str,
    method: Method,
    operation: &'d Operation,
}

pub fn generate() -> Outcome<()> {
    let document = read()?;
    for Generated { path, write } in FILES {
        let path = shell::root().join(path);
        fs::write(&path, write(&document)).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

fn read() -> Outcome<Document> {
    let text =
        fs::read_to_string(shell::root().join(DECLARATION)).map_err(|error| format!("{DECLARATION}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{DECLARATION}: {error}"))
}

/// The controls in the order of the document; those of one path in the order of [`Method`].
fn controls(document: &Document) -> impl Iterator<Item = Control<'_>> {
    document.paths.iter().flat_map(|(path, item)| {
        item.operations().map(move |(method, operation)| Control {
            path: path.strip_prefix("/_dynatwin").unwrap_or(path),
            method,
            operation,
        })
    })
}

impl<'d> Control<'d> {
    /// The names of the parameters of its path.
    fn path_parameters(&self) -> impl Iterator<Item = &'d str> + use<'d> {
        let segments = self.path.split('/');
        segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_current() {
        let document = read().expect("a declaration");
        for Generated { path, write } in FILES {
            let found = fs::read_to_string(shell::root().join(path)).unwrap_or_default();
            assert!(
                found == write(&document),
                "{path} is not current: run `cargo xtask controls`"
            );
        }
    }

    /// A control that is only declared has its route, its typed calls and its types.
    #[test]
    fn a_control_is_declared_once() {
        let mut declaration: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(shell::root().join(DECLARATION)).expect("a file")).expect("JSON");
        declaration["paths"]["/_dynatwin/tables/{table}/compact"]["post"] = serde_json::json!({
            "operationId": "compactTable",
            "summary": "Compacts a table",
            "parameters": [{"name": "depth", "in": "query", "schema": {"type": "integer", "maximum": 9, "default": 2}}],
            "requestBody": {"required": true, "content": {"application/json": {"schema": {"enum": ["all", "some"]}}}},
            "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Table"}}}}},
        });
        let document: Document = serde_json::from_value(declaration).expect("a document");
        for (file, line) in [
            (
                rust::file(&document),
                "    \"compactTable\" POST \"/_dynatwin/tables/{table}/compact\" [\"depth\" 2 9] takes Json => compact_table;\n",
            ),
            (
                typescript::file(&document),
                "/** Compacts a table. */\n\
                 export const compactTable = ({ table, ...query }: { table: string; depth?: number }, body: 'all' | 'some'): Call<Table> =>\n  \
                 call('POST', `/tables/${segment(table)}/compact${search(query)}`, body);\n",
            ),
            (
                python::file(&document),
                "def compact_table(table: str, body: Any, *, depth: int | None = None) -> Call:\n    \
                 \"\"\"Compacts a table.\"\"\"\n    \
                 return Call(\"POST\", f\"/tables/{_segment(table)}/compact{_search(depth=depth)}\", body)\n",
            ),
        ] {
            assert!(file.contains(line), "{line}\nis not in\n{file}");
        }
    }

    #[test]
    fn names() {
        for (name, expect) in [("reset", "reset"), ("getOpenApi", "get_open_api")] {
            assert_eq!(snake(name), expect);
        }
    }
}
