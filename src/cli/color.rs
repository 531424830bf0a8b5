use clap::{Args, ValueEnum};

/// Whether what is printed has colours.
#[derive(Debug, Args)]
pub(super) struct Color {
    /// Colour what is printed; `auto` asks the terminal, $NO_COLOR and $CLICOLOR_FORCE
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = When::Auto, hide_possible_values = true)]
    color: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl Color {
    /// From now on it is so for all that this process prints.
    pub fn apply(&self) {
        let choice = match self.color {
            When::Auto => return,
            When::Always => anstream::ColorChoice::Always,
            When::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}
