//! `cargo xtask wasm`: the engine for JavaScript, into `wasm/npm/pkg`, and the npm package around it, into `wasm/npm/dist`.
//! `cargo xtask page`: the playground's own engine, into `web/engine/pkg`, and the page around it, into `web/dist`.

use std::path::PathBuf;
use std::process::Command;

use wasm_bindgen_cli_support::Bindgen;

use crate::setup;
use crate::shell::{self, Outcome, cargo, command, run};
use crate::test::{Counts, Extent};

const TARGET: &str = "wasm32-unknown-unknown";

/// SHA-256 without unrolled loops: only signatures need it.
const COMPACT_SHA_256: &str = "--cfg sha2_backend_soft=\"compact\"";

/// Thresholds of inlining, in units of LLVM's cost: for each function, and for those marked `#[inline]`. With `opt-level = "s"` they are 50
/// and 325, though most functions of the standard library are marked. With `"z"` the first is 5, and marks count for nothing.
const INLINE_LESS: [&str; 2] = [
    "-Cllvm-args=-inline-threshold=15",
    "-Cllvm-args=-inlinehint-threshold=50",
];

/// A crate that is compiled to wasm, and the place of its module.
struct Module {
    package: &'static str,
    profile: &'static str,
    folder: &'static str,
}

const PACKAGE: Module = Module {
    package: "dynatwin-wasm",
    profile: "wasm-release",
    folder: "wasm/npm/pkg",
};

const PAGE: Module = Module {
    package: "dynatwin-page",
    profile: "page-release",
    folder: "web/engine/pkg",
};

/// The profile of the modules that are tested for each change, which are not optimized.
const TEST_PROFILE: &str = "wasm-test";

impl Module {
    fn to_test(&self, extent: Extent) -> Module {
        let profile = match extent {
            Extent::Change => TEST_PROFILE,
            Extent::All => self.profile,
        };
        Module { profile, ..*self }
    }
}

/// Builds the npm package and prints the size of its module.
pub fn build() -> Outcome<()> {
    package(&PACKAGE)
}

/// Builds the npm package that is tested.
pub fn test_build(extent: Extent) -> Outcome<Counts> {
    package(&PACKAGE.to_test(extent))?;
    Ok(Counts::default())
}

fn package(of: &Module) -> Outcome<()> {
    setup::npm("wasm/npm")?;
    module(of)?;
    run(command("npm", "wasm/npm").args(["run", "build", "--silent"]))?;
    run(command("node", "wasm/npm").arg("size.js"))
}

/// Builds the playground and prints the size of its files.
pub fn page() -> Outcome<()> {
    page_around(&PAGE)
}

/// Builds the playground that is tested.
pub fn test_page(extent: Extent) -> Outcome<()> {
    page_around(&PAGE.to_test(extent))
}

fn page_around(of: &Module) -> Outcome<()> {
    setup::npm("wasm/npm")?; // for wasm-opt
    setup::npm("web")?;
    module(of)?;
    run(command("npm", "web").args(["run", "build", "--silent"]))
}

/// Builds the playground and takes its pictures: `docs/playground.png` and `docs/playground.gif`.
pub fn pictures() -> Outcome<()> {
    page()?;
    setup::program("chromium", "chromium")?;
    setup::program("convert", "imagemagick")?;
    run(command("npm", "web").args(["run", "picture", "--silent"]))
}

/// Compiles a module, generates the JavaScript that calls it, and optimizes the playground's for size.
fn module(module: &Module) -> Outcome<()> {
    let package = shell::root().join(module.folder);
    // Files left by a failing build must not count as its result.
    let _ = std::fs::remove_dir_all(&package);
    let built = compile(module)?;
    Bindgen::new()
        .input_path(built)
        .out_name("dynatwin")
        .remove_name_section(true)
        .remove_producers_section(true)
        .web(true)
        .and_then(|bindgen| {
            bindgen
                .omit_default_module_path(true)
                .typescript(true)
                .generate(&package)
        })
        .map_err(|error| format!("wasm-bindgen: {error:#}"))?;
    // The npm package's module is compressed for transfer: optimized, it is 10% smaller, but 4% larger with Brotli.
    if module.profile != PAGE.profile {
        return Ok(());
    }
    let optimized = package.join("dynatwin_bg.wasm");
    run(command("node_modules/.bin/wasm-opt", "wasm/npm")
        // The first KB of memory is the end of the stack: without addresses there, more of them fold into loads and stores.
        // Repeating the passes until nothing changes saves 4 KB of the compressed module.
        .args(["-Oz", "--converge", "--low-memory-unused", "--strip-target-features"])
        .arg(&optimized)
        .arg("-o")
        .arg(&optimized))
}

/// Compiles the crate with whichever of the two toolchains can be had, and returns the module's path.
fn compile(module: &Module) -> Outcome<PathBuf> {
    let forced = std::env::var("DYNATWIN_WASM_TOOLCHAIN").ok();
    match forced.as_deref() {
        Some("rustup") => with_rustup(module),
        Some("debian") => with_debian(module),
        Some(other) => Err(format!("DYNATWIN_WASM_TOOLCHAIN is rustup or debian, not {other}")),
        None if has_target() => with_rustup(module),
        None => with_debian(module),
    }
}

/// Whether the toolchain in use has the target's standard library, now or after asking rustup for it.
fn has_target() -> bool {
    let there = || sysroot().is_ok_and(|root| root.join("lib/rustlib").join(TARGET).is_dir());
    there() || (run(command("rustup", "").args(["target", "add", TARGET])).is_ok() && there())
}

fn sysroot() -> Outcome<PathBuf> {
    let printed = shell::output(command("rustc", "").args(["--print", "sysroot"]))?;
    Ok(PathBuf::from(printed.trim()))
}

fn with_rustup(module: &Module) -> Outcome<PathBuf> {
    // A folder of its own, so that this build and others do not wait for each other.
    finish(module, &mut cargo(), "target/wasm")
}

/// Where rustup has no standard library for the target: Debian's compiler, whose package of the library's source is
/// built along. It has no linker for wasm; the toolchain's own lld is one.
fn with_debian(module: &Module) -> Outcome<PathBuf> {
    let source = PathBuf::from("/usr/lib/rustlib/src/rust/library");
    let compiler = PathBuf::from("/usr/bin/rustc");
    if !source.is_dir() || !compiler.is_file() {
        println!("there is no standard library for {TARGET}: installing rustc-web and rust-web-src to build one");
        setup::packages(&["rustc-web", "rust-web-src"])?;
    }
    let host = shell::output(command("rustc", "").args(["--print", "host-tuple"]))?;
    let linker = sysroot()?.join("lib/rustlib").join(host.trim()).join("bin/rust-lld");
    let mut cargo = cargo();
    cargo
        .env("RUSTC", compiler)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("RUSTDOC");
    cargo.arg("-Zbuild-std=std,panic_abort");
    finish(module, &mut cargo, "target/debian-wasm")
}

fn finish(module: &Module, cargo: &mut Command, folder: &str) -> Outcome<PathBuf> {
    let folder = shell::root().join(folder);
    cargo.args([
        "build",
        "--package",
        module.package,
        "--target",
        TARGET,
        "--profile",
        module.profile,
    ]);
    let mut flags = vec![COMPACT_SHA_256];
    if module.profile == PACKAGE.profile {
        flags.extend(INLINE_LESS);
    }
    cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags.join(" "));
    run(cargo.arg("--target-dir").arg(&folder))?;
    let file = format!("{}.wasm", module.package.replace('-', "_"));
    Ok(folder.join(TARGET).join(module.profile).join(file))
}
