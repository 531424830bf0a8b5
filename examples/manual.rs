//! Writes a manual page per command and the shell completions, laid out as packages need them: `cargo run --example
//! manual -- DIR` makes DIR/share/man/man1/oomdoc.1 and others.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use clap_complete::Shell;

fn main() -> Result<(), Box<dyn Error>> {
    write(&PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?))
}

/// Writes them all into `folder`.
pub fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    let folder = folder.join("share");
    let pages = folder.join("man/man1");
    fs::create_dir_all(&pages)?;
    clap_mangen::generate_to(oomdoc::internal::cli::command(), &pages)?;
    for (shell, place) in [
        (Shell::Bash, "bash-completion/completions"),
        (Shell::Zsh, "zsh/site-functions"),
        (Shell::Fish, "fish/vendor_completions.d"),
    ] {
        let place = folder.join(place);
        fs::create_dir_all(&place)?;
        let written = clap_complete::generate_to(shell, &mut oomdoc::internal::cli::command(), "oomdoc", &place)?;
        if shell == Shell::Bash {
            // bash-completion looks for a file with the command's name.
            fs::rename(written, place.join("oomdoc"))?;
        }
    }
    Ok(())
}
