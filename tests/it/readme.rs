//! The program's output in README.md and README.zh.md is real and the same in both, and the site's index is made from
//! them. `README_UPDATE=1 cargo test --test it readme` updates all that depends on the program.

use std::error::Error;
use std::fs;
use std::path::Path;

use assert_cmd::Command;

use crate::support::pages::{Code, Page, top};

#[allow(dead_code)]
#[path = "../../examples/picture.rs"]
mod picture;

type Outcome = Result<(), Box<dyn Error>>;

/// The command whose output the pictures show.
const FIRST_SCREEN: &str = "analyze corpus/llama3-8b-optimizer-step";

/// The READMEs with their languages.
const READMES: [(&str, &str); 2] = [("README.md", "en"), ("README.zh.md", "zh")];

/// The output of `oomdoc` on a terminal of a hundred columns.
fn printed(command: &str, language: &str, color: &str) -> Result<String, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut oomdoc = Command::new(assert_cmd::cargo::cargo_bin!("oomdoc"));
    let oomdoc = oomdoc
        .current_dir(top())
        .env_remove("CLICOLOR_FORCE")
        .env("OOMDOC_HOME", home.path())
        .env("OOMDOC_LANG", language)
        .env("COLUMNS", picture::COLUMNS.to_string());
    let printed = oomdoc.args(command.split_whitespace()).args(["--color", color]).assert().success();
    Ok(String::from_utf8(printed.get_output().stdout.clone())?)
}

/// Checks that the file holds `text`, or writes it where README_UPDATE is set.
fn hold(path: &str, text: &str) -> Outcome {
    let path = top().join(path);
    if std::env::var_os("README_UPDATE").is_some() {
        return Ok(fs::write(path, text)?);
    }
    let shown = fs::read_to_string(&path).unwrap_or_default();
    assert!(shown == text, "{} is out of date: README_UPDATE=1 cargo test --test it readme\n{text}", path.display());
    Ok(())
}

/// The README with the current output of its commands.
fn with_output(readme: &str, language: &str) -> Result<String, Box<dyn Error>> {
    const START: &str = "```text\n$ oomdoc ";
    let mut blocks = readme.split(START);
    let mut shown = blocks.next().unwrap_or_default().to_owned();
    for block in blocks {
        let (command, rest) = block.split_once('\n').ok_or("no command")?;
        let (_, rest) = rest.split_once("```").ok_or("the block does not end")?;
        shown += &format!("{START}{command}\n{}```{rest}", printed(command, language, "never")?);
    }
    assert!(shown.contains(START), "nothing is shown of the program");
    Ok(shown)
}

/// The README as a page of the site, where links within `docs/` are relative to it.
fn for_the_site(readme: &str) -> String {
    const WRITTEN: &str =
        "<!-- Written by `README_UPDATE=1 cargo test --test it readme`; edit the README beside `docs/` instead. -->";
    let readme = readme.replacen("\n\n", &format!("\n\n{WRITTEN}\n\n"), 1);
    let page = readme.replace("](docs/", "](").replace("](README.", "](index.");
    ["CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"].iter().fold(page, |page, file| {
        let link = format!("]({file})");
        let mut parts = page.split(&link).peekable();
        let mut plain = String::new();
        while let Some(part) = parts.next() {
            match (parts.peek(), part.rsplit_once('[')) {
                (Some(_), Some((before, words))) => plain += &format!("{before}{words}"),
                _ => plain += part,
            }
        }
        plain
    })
}

#[test]
fn the_readmes_and_the_site_show_what_the_program_prints() -> Outcome {
    for (path, language) in READMES {
        let readme = with_output(&fs::read_to_string(top().join(path))?, language)?;
        hold(path, &readme)?;
        hold(&format!("docs/{}", path.replace("README", "index")), &for_the_site(&readme))?;
        let screen = printed(&format!("{FIRST_SCREEN} --no-save"), language, "always")?;
        let name = path.replace("README", "first-screen").replace(".md", ".svg");
        assert!(readme.contains(&format!("](docs/{name})")), "{path} does not show {name}");
        hold(&format!("docs/{name}"), &picture::render(&format!("oomdoc {FIRST_SCREEN}"), &screen)?)?;
    }
    Ok(())
}

/// The lines of shell code, without comments and without printed output.
fn commands(page: &Page) -> Vec<&str> {
    let is_script = |code: &&Code| code.language.as_deref() == Some("sh");
    let scripts = page.code.iter().filter(is_script).flat_map(|code| code.text.lines());
    let shown = page.code.iter().flat_map(|code| code.text.lines()).filter(|line| line.starts_with("$ "));
    scripts.map(|line| line.split(" #").next().unwrap_or_default().trim_end()).chain(shown).collect()
}

#[test]
fn both_readmes_have_the_same_sections_links_and_commands() -> Outcome {
    let [english, chinese] = READMES.map(|(path, _)| Page::read(Path::new(path)));
    let (english, chinese) = (english?, chinese?);
    let levels = |page: &Page| page.headings.iter().map(|(level, _)| *level).collect::<Vec<_>>();
    assert_eq!(levels(&english), levels(&chinese));
    let links = |page: &Page| page.links.iter().map(|link| link.replace(".zh.", ".")).collect::<Vec<_>>();
    assert_eq!(links(&english), links(&chinese));
    assert_eq!(commands(&english), commands(&chinese));
    Ok(())
}

#[test]
fn the_readme_says_how_to_run_and_how_to_test_it() -> Outcome {
    for (path, _) in READMES {
        let page = Page::read(Path::new(path))?;
        let blocks: Vec<&str> = page.code.iter().map(|code| code.text.trim()).collect();
        assert!(blocks.contains(&"cargo run --release -- analyze corpus/llama3-8b-optimizer-step"), "{path}");
        assert!(blocks.contains(&"cargo test"), "{path}");
    }
    Ok(())
}
