use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::file::File;
use super::read;

/// `rules/launchers.toml`: how command lines are read. Users cannot change it, because texts are read with it before anything is known
/// about a job.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launchers {
    /// Programs that start others.
    pub launcher: Vec<Launcher>,
    /// Systems that queue scripts, and read options in them.
    #[serde(default)]
    pub scheduler: Vec<Scheduler>,
    /// Programs of which an option's value is a list of options.
    #[serde(default)]
    pub lister: Vec<Lister>,
    /// Programs that take names and values behind an option for each.
    #[serde(default)]
    pub setter: Vec<Setter>,
    /// Parts of devices that a cluster gives out.
    #[serde(default)]
    pub device_part: Vec<DevicePart>,
    /// The other words by which commands are recognised.
    pub programs: Programs,
    /// Frameworks of which options are a launcher's own, and none of the script that it starts.
    pub frameworks: Vec<String>,
    /// The variables that Slurm sets, by the directive's option that decides them.
    pub granted: BTreeMap<String, Vec<String>>,
    /// Those that it sets to the number behind the type that the option names: `gpu:a100:4`.
    pub counted: BTreeMap<String, Vec<String>>,
    /// Command lines and the commands in them.
    #[serde(default)]
    pub example: Vec<CommandLine>,
    /// Lines that start no program.
    #[serde(default)]
    pub near_miss: Vec<CommandLine>,
}

/// A group of programs that start others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launcher {
    /// Their names.
    pub names: Vec<String>,
    /// What follows their options.
    pub starts: Starts,
    /// Options that take no value.
    #[serde(default)]
    pub switches: Vec<String>,
    /// The letters of options that take no value.
    #[serde(default)]
    pub switch_letters: String,
    /// Options whose value may look like a program's name.
    #[serde(default)]
    pub names_something: Vec<String>,
}

/// A system that queues scripts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Its name, as the fact `job.scheduler` has it.
    pub name: String,
    /// How the lines begin in which it reads options: `#SBATCH`.
    pub mark: String,
    /// Options whose value is a list of options.
    #[serde(default)]
    pub lists: Vec<String>,
}

/// Programs that pass options on to another one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lister {
    /// Their names.
    pub names: Vec<String>,
    /// Options whose value is a list of options: `--model_args a=1,b=2`.
    pub lists: Vec<String>,
}

/// Programs that take names and values behind an option for each: `--conf a.b=1 --conf c.d=2`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setter {
    /// Their names.
    pub names: Vec<String>,
    /// The option.
    pub option: String,
}

/// Parts of devices, of which the name of a resource says the size: `nvidia.com/mig-2g.20gb: 1`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePart {
    /// The setting that the size is.
    pub setting: String,
    /// How the name of the resource begins.
    pub resource: String,
    /// The label of the nodes that have it.
    pub label: String,
    /// How the label's value begins.
    pub before: String,
}

impl DevicePart {
    /// The size that a resource's name or a label's value says: `2g.20gb`.
    pub fn size<'w>(&self, key: &'w str, value: Option<&'w str>) -> Option<&'w str> {
        let size = match value.filter(|_| key == self.label) {
            Some(value) => value.strip_prefix(&*self.before),
            None => key.strip_prefix(&*self.resource),
        };
        size.filter(|size| !size.is_empty())
    }
}

/// How a launcher names what it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Starts {
    /// Options, then a script, or a module after `-m`.
    Python,
    /// Options, then any command.
    Command,
    /// Options, then an image, then any command.
    Container,
}

/// Words by which commands are recognised.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Programs {
    /// Programs, other than Python and scripts, that launchers start.
    pub names: Vec<String>,
    /// Programs that compile what a build needs.
    pub builders: Vec<String>,
    /// Their options, without dashes, whose value is a number of processes.
    pub build_jobs: Vec<String>,
    /// Words of values that count the machine's cores.
    pub count_cores: Vec<String>,
    /// Variables whose value is a list of the devices that a process sees.
    pub device_variables: Vec<String>,
    /// Options of launchers, without dashes and with `_`, whose value is a number of processes, one for each device.
    pub process_counts: Vec<String>,
    /// Variables whose value is a list of a program's options.
    pub option_variables: Vec<String>,
    /// Variables whose value is a list of a library's settings.
    pub setting_variables: Vec<String>,
    /// Options of runtimes, which mean the same wherever they stand.
    pub runtime_options: Vec<String>,
    /// Programs that read a script themselves.
    pub shells: Vec<String>,
    /// Programs that submit a script to run later.
    pub submitters: Vec<String>,
    /// Programs that give each step that they start resources of its own.
    pub placing: Vec<String>,
    /// Programs with their subcommands that run jobs which stand elsewhere.
    pub agents: Vec<String>,
    /// Programs that run a command line elsewhere, given as one argument.
    pub remote: Vec<String>,
    /// Options of any program whose value is a command line to run.
    pub command_options: Vec<String>,
    /// Programs that run the script on their standard input.
    pub run_input: Vec<String>,
    /// Beginnings of the names of programs whose settings are the job's.
    pub of_jobs: Vec<String>,
    /// Commands whose arguments are never settings.
    pub utilities: Vec<String>,
    /// Endings of files that a script writes to have them run.
    pub written_scripts: Vec<String>,
}

/// A command line, and the commands that must be found in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandLine {
    /// As one types it.
    pub line: String,
    /// The commands, each with its program.
    #[serde(default)]
    pub commands: Vec<String>,
}

static SHIPPED: LazyLock<Launchers> = LazyLock::new(|| read::launchers(&File::shipped()).unwrap_or_default());

impl Launchers {
    /// The launchers in the binary.
    pub fn shipped() -> &'static Launchers {
        &SHIPPED
    }

    /// The options of the program `name` whose value is a list of options.
    pub fn lists_of(&self, name: &str) -> &[String] {
        let name = name.rsplit('/').next().unwrap_or(name);
        let is_it = |lister: &&Lister| lister.names.iter().any(|known| known == name);
        self.lister.iter().find(is_it).map_or(&[], |lister| &lister.lists)
    }

    /// Whether options of `framework` are a launcher's own.
    pub fn has_options_of(&self, framework: &str) -> bool {
        is_among(&self.frameworks, framework)
    }

    /// Whether `key` is a setting that says which part of a device a job gets.
    pub fn is_part_of_device(&self, key: &str) -> bool {
        self.device_part.iter().any(|part| part.setting == key)
    }

    /// The option behind which the program `name` takes a name and its value.
    pub fn option_for_pairs(&self, name: &str) -> Option<&str> {
        let is_it = |setter: &&Setter| setter.names.iter().any(|known| known == name);
        self.setter.iter().find(is_it).map(|setter| setter.option.as_str())
    }

    /// Whether `option`, without its dashes, is one behind which a program takes a name and its value.
    pub fn introduces_pairs(&self, option: &str) -> bool {
        self.setter.iter().any(|setter| setter.option.trim_start_matches('-') == option)
    }

    /// The scheduler that reads options in a line of a script.
    pub fn scheduler(&self, line: &str) -> Option<&Scheduler> {
        let is_its_line = |scheduler: &&Scheduler| {
            let rest = line.strip_prefix(&*scheduler.mark);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
        };
        self.scheduler.iter().find(is_its_line)
    }

    /// The launchers by name.
    pub fn named(&self) -> impl Iterator<Item = (&str, &Launcher)> {
        self.launcher.iter().flat_map(|launcher| launcher.names.iter().map(move |name| (name.as_str(), launcher)))
    }
}

impl Programs {
    /// Whether a launcher may start a program called `word`.
    pub fn is_named(&self, word: &str) -> bool {
        [&self.names, &self.shells, &self.submitters, &self.builders].iter().any(|known| is_among(known, word))
    }

    /// Whether a program called `word` takes a script.
    pub fn takes_script(&self, word: &str) -> bool {
        is_among(&self.shells, word) || is_among(&self.submitters, word)
    }

    /// Whether `program`, with or without its path, compiles what a build needs.
    pub fn builds(&self, program: &str) -> bool {
        is_among(&self.builders, program.rsplit('/').next().unwrap_or(program))
    }

    /// Whether `option` of such a program says how many processes compile at once.
    pub fn says_build_jobs(&self, option: &str) -> bool {
        is_among(&self.build_jobs, option.trim_start_matches('-'))
    }

    /// Whether `value` is computed from the number of the machine's cores.
    pub fn counts_cores(&self, value: &str) -> bool {
        let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let is_whole = |at: usize, word: &str| {
            !value[..at].ends_with(is_of_name) && !value[at + word.len()..].starts_with(is_of_name)
        };
        self.count_cores.iter().any(|word| value.match_indices(word.as_str()).any(|(at, word)| is_whole(at, word)))
    }

    /// Whether the settings given to `program` are the job's.
    pub fn is_of_jobs(&self, program: &str) -> bool {
        self.of_jobs.iter().any(|name| program.starts_with(name))
    }
}

/// Whether `word` is one of `words`.
pub fn is_among(words: &[String], word: &str) -> bool {
    words.iter().any(|known| known == word)
}
