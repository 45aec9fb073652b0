//! Embeds the console, which is the playground's page as built in `web/dist`, if the feature `ui` asks for it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Of the page, what the engine in a tab needs: the server has the engine already.
const LEFT_OUT: [&str; 3] = [".wasm", "service-worker.js", "engine-worker"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let mut table = String::from("&[\n");
    if env::var_os("CARGO_FEATURE_UI").is_some() {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        let folder = manifest.join("../../web/dist");
        println!("cargo:rerun-if-changed={}", folder.display());
        if folder.join("index.html").is_file() {
            list(&folder, &folder, &mut table)?;
        } else {
            println!("cargo:warning=the console is not embedded: run `cargo xtask page` first");
        }
    }
    table.push(']');
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("ui_files.rs"), table)
}

fn list(root: &Path, folder: &Path, table: &mut String) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        if LEFT_OUT.iter().any(|part| name.contains(part)) {
            continue;
        }
        if path.is_dir() {
            list(root, &path, table)?;
        } else {
            let path = path.canonicalize()?;
            let _ = writeln!(table, "    ({name:?}, include_bytes!({:?})),", path.to_string_lossy());
        }
    }
    Ok(())
}
