use clap::{Args, ValueEnum};

use crate::settings;

/// When output is coloured.
#[derive(Debug, Args)]
pub(super) struct Color {
    /// Colour what is printed: `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE [default: $OOMDOC_COLOR, `color` of oomdoc.toml, else auto]
    #[arg(long, global = true, value_name = "WHEN", value_enum, hide_possible_values = true)]
    color: Option<When>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl Color {
    /// The flag's value.
    pub fn choice(&self) -> Option<settings::Color> {
        self.color.map(|when| match when {
            When::Auto => settings::Color::Auto,
            When::Always => settings::Color::Always,
            When::Never => settings::Color::Never,
        })
    }
}

/// Sets the choice for everything that this process prints.
pub(super) fn apply(color: settings::Color) {
    let choice = match color {
        settings::Color::Auto => return,
        settings::Color::Always => anstream::ColorChoice::Always,
        settings::Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}
