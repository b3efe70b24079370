//! Author tasks. `header` writes `xs/shared_arena.h`; `header --check` fails when it is not current.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["header"] => header(false),
        ["header", "--check"] => header(true),
        _ => Err("usage: xtask header [--check]".into()),
    };
    match done {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn header(check: bool) -> Result<String, String> {
    let (crate_dir, path) = (root().join("rust/capi"), root().join("xs/shared_arena.h"));
    let config = cbindgen::Config::from_file(crate_dir.join("cbindgen.toml"))?;
    let bindings = cbindgen::generate_with_config(&crate_dir, config).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    // Rust's "# Safety" headings say nothing a C programmer does not read in the sentences below them.
    let text = String::from_utf8_lossy(&text).replace(" * # Safety\n", " * The caller owes:\n");
    if check {
        let committed = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        return if committed == text {
            Ok("xs/shared_arena.h is current".into())
        } else {
            Err("xs/shared_arena.h is not what rust/capi says: run cargo run --manifest-path rust/dev/Cargo.toml -- header".into())
        };
    }
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok("wrote xs/shared_arena.h".into())
}
