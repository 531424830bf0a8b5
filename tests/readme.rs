//! The terminal output in README.md is the program's own. `README_UPDATE=1 cargo test --test readme` writes it anew.

use std::error::Error;
use std::fs;
use std::path::Path;

use assert_cmd::Command;

#[test]
fn the_readme_shows_what_the_program_prints() -> Result<(), Box<dyn Error>> {
    const START: &str = "```text\n$ oomdoc ";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path)?;
    let start = readme.find(START).ok_or("no block that begins with `$ oomdoc`")? + START.len();
    let (command, _) = readme[start..].split_once('\n').ok_or("no command")?;
    let shown = start + command.len() + 1;
    let end = shown + readme[shown..].find("```").ok_or("the block does not end")?;
    let mut oomdoc = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    let home = concat!(env!("CARGO_TARGET_TMPDIR"), "/home-of-readme");
    let oomdoc = oomdoc
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("CLICOLOR_FORCE")
        .env("OOMDOC_HOME", home)
        .env("COLUMNS", "100");
    let printed = oomdoc.args(command.split_whitespace()).arg("--no-save").assert().success();
    let printed = String::from_utf8(printed.get_output().stdout.clone())?;
    if std::env::var_os("README_UPDATE").is_some() {
        fs::write(&path, format!("{}{printed}{}", &readme[..shown], &readme[end..]))?;
        return Ok(());
    }
    assert_eq!(readme[shown..end], printed);
    Ok(())
}
