use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};

use super::error::CliError;
use super::home::{Home, warn};
use super::table::table;
use crate::server::{self, Anonymous, Config, Limits, Rules, Scope, Server, Token, Tokens, TrustedProxy};
use crate::settings::{AnonymousWord, ProxyScope, ProxyTable};

/// Serve the history to a team: pages, an HTTP API, and a bot that answers failed jobs
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Serve {
    /// Where to listen [default: `serve.listen` of your oomdoc.toml, else 127.0.0.1:8673, which only this machine reaches]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The address by which people reach it, if it is behind a proxy: https://oomdoc.example.org
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// What somebody without a token may do [default: nothing]
    #[arg(long, value_enum)]
    anonymous: Option<Nobody>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What anonymous visitors may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Nobody {
    Nothing,
    Read,
}

#[derive(Debug, Subcommand)]
enum Command {
    Token(TokenCommand),
}

/// Make, list and revoke the tokens that identify people and programs
#[derive(Debug, Args)]
struct TokenCommand {
    #[command(subcommand)]
    command: TokenAction,
}

#[derive(Debug, Subcommand)]
enum TokenAction {
    /// Make a token, and print it: it is shown once and kept nowhere
    Create {
        /// Whose token it is, or what it is for
        #[arg(value_name = "NAME", value_parser = super::labels::note)]
        name: String,
        /// What it allows: `read`, `write` or `admin`
        #[arg(long, default_value = "read", value_name = "SCOPE")]
        scope: Scope,
        /// Let it expire after this many days [default: never]
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
        days: Option<u32>,
    },
    /// List tokens
    List,
    /// Revoke a token: its holder can do nothing with it from now on
    Revoke {
        /// Its id, or its name if no other has it
        #[arg(value_name = "TOKEN")]
        token: String,
    },
}

impl Serve {
    pub fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        match self.command {
            Some(Command::Token(token)) => token.run(home),
            None => self.serve(home),
        }
    }

    fn serve(self, home: &Home) -> Result<ExitCode, CliError> {
        let folder = home.path()?;
        let knowledge = home.knowledge()?;
        let site = home.site(&knowledge)?;
        let config = self.config(home);
        tracing_subscriber::fmt().json().with_writer(std::io::stderr).init();
        if Tokens::open(&folder).and_then(|tokens| tokens.list()).is_ok_and(|tokens| tokens.is_empty()) {
            warn(
                "there is no token yet, so that nobody can sign in",
                "`oomdoc serve token create NAME --scope admin` makes one",
            );
        }
        let server = Server::open(folder, config, Rules { knowledge, site })?;
        server::serve(server, |address| {
            // Standard output may be closed already.
            let _ = writeln!(std::io::stdout(), "oomdoc: serving on http://{address}");
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Serve {
    /// The server's configuration from flags and settings.
    fn config(&self, home: &Home) -> Config {
        let table = home.settings.serve.as_ref().map(|held| held.value.clone()).unwrap_or_default();
        let default = Config::default();
        let nobody = self.anonymous.or(table.anonymous.map(|word| match word {
            AnonymousWord::Nothing => Nobody::Nothing,
            AnonymousWord::Read => Nobody::Read,
        }));
        let proxy = |ProxyTable { addresses, header, scope }| TrustedProxy {
            addresses,
            header,
            scope: match scope {
                ProxyScope::Read => Scope::Read,
                ProxyScope::Write => Scope::Write,
            },
        };
        let limits = Limits {
            upload: table.largest_log.map_or(default.limits.upload, |gib| gib << 30),
            requests_per_second: table.requests_per_second.unwrap_or(default.limits.requests_per_second),
            ..default.limits
        };
        Config {
            listen: self.listen.or(table.listen).unwrap_or(default.listen),
            retention: table.retention.retention(),
            public_url: self.public_url.clone().or(table.public_url),
            anonymous: match nobody {
                Some(Nobody::Read) => Anonymous::Read,
                Some(Nobody::Nothing) | None => Anonymous::Nothing,
            },
            proxy: table.proxy.map(proxy),
            language: home.settings.language.value,
            limits,
            bot: table.bot,
        }
    }
}

impl TokenCommand {
    fn run(self, home: &Home) -> Result<ExitCode, CliError> {
        let tokens = Tokens::open(&home.path()?)?;
        let mut out = std::io::stdout();
        match self.command {
            TokenAction::Create { name, scope, days } => {
                let (token, secret) = tokens.create(&name, scope, days.map(in_days))?;
                warn(&format!("token {} is shown once", token.id), "put it where secrets are kept");
                writeln!(out, "{secret}")?;
            }
            TokenAction::List => {
                let header = ["ID", "NAME", "SCOPE", "CREATED", "EXPIRES"].map(str::to_owned).to_vec();
                let row = |Token { id, name, scope, created, expires }: Token| {
                    vec![id, name, scope.as_str().to_owned(), created, expires.unwrap_or_else(|| "-".to_owned())]
                };
                let rows: Vec<Vec<String>> =
                    std::iter::once(header).chain(tokens.list()?.into_iter().map(row)).collect();
                write!(out, "{}", table(&rows))?;
            }
            TokenAction::Revoke { token } => {
                let Token { id, name, .. } = tokens.revoke(&token)?;
                writeln!(out, "{id} ({name}) is taken back")?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The moment `days` from now, RFC 3339.
fn in_days(days: u32) -> String {
    let then = jiff::Timestamp::now().as_second() + i64::from(days) * 86_400;
    jiff::Timestamp::from_second(then).unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
