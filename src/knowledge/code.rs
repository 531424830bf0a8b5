use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::file::File;
use super::launchers::is_among;
use super::read;

/// `rules/python.toml`: how Python code is read. Users cannot change it, because texts are read with it before anything is known about a
/// job.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeWords {
    /// Pairs of arguments that say the same, of which a call takes one.
    pub same_arguments: Vec<(String, String)>,
    /// Functions that declare an option of the program itself.
    pub declares_option: Vec<String>,
    /// Parts of names of what evaluates.
    pub evaluates: Vec<String>,
    /// Ends of names of classes whose attributes are the program's settings.
    pub holds_settings: Vec<String>,
    /// Last steps of names of what works on rows of data, whose batches are not those of a model.
    pub works_on_data: Vec<String>,
    /// Ends of names of classes that hold no weights, though they are loaded as those that do.
    pub without_weights: Vec<String>,
    /// Methods that move a value to a device.
    pub moves: Vec<String>,
    /// How a device begins where one is named.
    pub devices: Vec<String>,
    /// Words of code that reads the options of the program's command line, however it does.
    pub reads_options: Vec<String>,
    /// Words of code that takes its arguments by number: it has options only if it looks for dashes.
    pub takes_arguments: Vec<String>,
    /// Methods that run a backward pass.
    pub runs_backward: Vec<String>,
    /// What says that no graph is made in a function or a block.
    pub without_graph: Vec<String>,
    /// Parts of the names of functions that run a model and learn nothing from it.
    pub learns_nothing: Vec<String>,
    /// First parts of the names of models that learn nothing.
    pub frozen: Vec<String>,
    /// Parts of the names of models that learn, beside [`models`](CodeWords::models).
    pub learned: Vec<String>,
    /// Parts of the calls that load or copy a model.
    pub makes_copies: Vec<String>,
    /// Attributes of a model that say that it may learn.
    pub trains: Vec<String>,
    /// Parts of the names by which models are called.
    pub models: Vec<String>,
    /// What a function that learns calls beside a backward pass.
    pub learns: Vec<String>,
    /// Words of names of tensors that a step makes.
    pub tensors: Vec<String>,
    /// Words of names of what outputs are compared with.
    pub answers: Vec<String>,
    /// Those among them whose tensors are one number.
    pub scalars: Vec<String>,
    /// Words of names of all that a model gives.
    pub whole_outputs: Vec<String>,
    /// Calls that give texts or numbers of words where a tensor's name may stand.
    pub gives_little: Vec<String>,
    /// Calls that make one tensor of a list of tensors.
    pub joins: Vec<String>,
    /// Methods of a tensor that make another one on the same device.
    pub stays_tensor: Vec<String>,
    /// Methods of a tensor that make an array or a tensor of the host.
    pub to_host: Vec<String>,
    /// Calls that make an array of the host.
    pub makes_arrays: Vec<String>,
    /// Methods that leave little of an array.
    pub reduces: Vec<String>,
    /// Methods that leave of each row which value is largest.
    pub takes_largest: Vec<String>,
    /// Calls that read a file as Python objects.
    pub reads_objects: Vec<String>,
    /// Calls of which more is known than their arguments' names.
    pub call: Vec<CodeCall>,
    /// Code and the settings in it.
    #[serde(default)]
    pub example: Vec<CodeExample>,
}

/// Calls whose arguments mean the same.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeCall {
    /// The names of the functions or classes, or how these end.
    pub names: Vec<String>,
    /// The framework whose options the arguments are.
    pub framework: Option<String>,
    /// Other frameworks whose options are arguments of the same class, because it is made from theirs.
    #[serde(default)]
    pub inherits: Vec<String>,
    /// The names of the arguments that are given without one, in order.
    #[serde(default)]
    pub unnamed: Vec<String>,
    /// The options that a call sets, whatever its arguments.
    #[serde(default)]
    pub sets: BTreeMap<String, String>,
    /// The methods whose call it replaces.
    #[serde(default)]
    pub instead_of: Vec<String>,
    /// The arguments with which it is called.
    #[serde(default)]
    pub arguments: String,
    /// The part of the value of which it is a method: `vae`; with `before`, the module that has it.
    #[serde(default)]
    pub of_part: Option<String>,
    /// The methods before whose calls it stands, as statements of their own.
    #[serde(default)]
    pub before: Vec<String>,
    /// The module behind whose import it stands, of which it is a function.
    #[serde(default)]
    pub behind_import: Option<String>,
    /// The arguments that say where the value lies, so that nothing may move it any more.
    #[serde(default)]
    pub places: Vec<String>,
    /// The arguments that its own code gives on to what it calls: no other value can be given.
    #[serde(default)]
    pub passes: Vec<String>,
    /// Words of the names of what makes the values that have it.
    #[serde(default)]
    pub made_by: Vec<String>,
    /// Whether it stands behind every value that the code keeps from step to step.
    #[serde(default)]
    pub of_kept: bool,
    /// Whether it leaves of each whole output that the code keeps what is used of it.
    #[serde(default)]
    pub of_outputs: bool,
    /// Arguments that are functions which reduce what the function sees that another argument gives: `compute_metrics`.
    #[serde(default)]
    pub reduces_for: BTreeMap<String, String>,
    /// Whether it empties a dictionary in which a data set keeps what it has read, before each statement that keeps more.
    #[serde(default)]
    pub of_cache: bool,
    /// The class whose place it takes, with the same arguments.
    #[serde(default)]
    pub in_place_of: Option<String>,
    /// The functions that learn from a value of that class.
    #[serde(default)]
    pub learned_by: Vec<String>,
    /// The argument by which all but the first of these values refer to the first.
    #[serde(default)]
    pub refers: Option<String>,
    /// It cannot take that place where the code calls one of these, or has it for a text.
    #[serde(default)]
    pub unless: Vec<String>,
    /// The module of which it is a decorator of functions that evaluate, if it is one.
    #[serde(default)]
    pub decorates: Option<String>,
}

/// Code, and the settings that must be found in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeExample {
    /// As it is written.
    pub code: String,
    /// The settings by key, all of them.
    pub settings: BTreeMap<String, String>,
}

static SHIPPED: LazyLock<CodeWords> = LazyLock::new(|| read::code(&File::shipped()).unwrap_or_default());

impl CodeCall {
    /// Whether what `maker` makes has the method.
    pub fn is_made_by(&self, maker: &str) -> bool {
        self.made_by.iter().any(|word| maker.contains(word.as_str()))
    }
}

impl CodeWords {
    /// The words in the binary.
    pub fn shipped() -> &'static CodeWords {
        &SHIPPED
    }

    /// What is known of calls of `name`, `AutoModel.from_pretrained`.
    pub fn call(&self, name: &str) -> Option<&CodeCall> {
        self.call.iter().find(|call| call.names.iter().any(|end| ends_in(name, end)))
    }

    /// Whether `one` and `other` are arguments of which a call takes only one.
    pub fn says_the_same(&self, one: &str, other: &str) -> bool {
        let is_pair = |(first, second): &(String, String)| {
            *first == *one && *second == *other || *first == *other && *second == *one
        };
        self.same_arguments.iter().any(is_pair)
    }

    /// Whether the code behind a call of `name` gives `argument` a value itself.
    pub fn passes(&self, name: &str, argument: &str) -> bool {
        self.call(name).is_some_and(|row| is_among(&row.passes, argument))
    }

    /// Whether a function declares options of the program.
    pub fn declares_option(&self, function: &str) -> bool {
        is_among(&self.declares_option, function)
    }

    /// Whether a class called `name` holds settings: `TrainConfig`.
    pub fn is_of_settings(&self, name: &str) -> bool {
        let small = name.to_ascii_lowercase();
        self.holds_settings.iter().any(|end| small.ends_with(end.as_str()))
    }

    /// Whether a call of `name` works on rows of data: `ds.map`.
    pub fn is_of_data(&self, name: &str) -> bool {
        is_among(&self.works_on_data, name.rsplit('.').next().unwrap_or_default())
    }

    /// Whether a call of `name` makes something without weights: `AutoTokenizer.from_pretrained`.
    pub fn has_no_weights(&self, name: &str) -> bool {
        let class = name.rsplit('.').nth(1).unwrap_or_default();
        self.without_weights.iter().any(|end| class.ends_with(end.as_str()))
    }

    /// Whether `method` moves a value to a device.
    pub fn moves(&self, method: &str) -> bool {
        is_among(&self.moves, method)
    }

    /// Whether `words` in small letters name a device.
    pub fn is_device(&self, words: &str) -> bool {
        self.devices.iter().any(|start| words.starts_with(start.as_str()))
    }

    /// Whether `code` reads options of a command line. What takes its arguments by number has none, unless it looks for dashes.
    pub fn may_read_options(&self, code: &str) -> bool {
        let has_dashes = LazyCell::new(|| ["\"-", "'-"].iter().any(|dashes| code.contains(dashes)));
        let mut words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        words.any(|word| is_among(&self.reads_options, word) || is_among(&self.takes_arguments, word) && *has_dashes)
    }

    /// Whether `name` is that of something that evaluates: `val_loader`.
    pub fn is_of_evaluation(&self, name: &str) -> bool {
        name.split(['_', '.']).any(|part| is_among(&self.evaluates, &part.to_ascii_lowercase()))
    }
}

/// Whether the last steps of `name`, `torch.utils.data.DataLoader`, are `end`.
pub fn ends_in(name: &str, end: &str) -> bool {
    name.strip_suffix(end).is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

/// Whether `name` is that of a constant: `BATCH_SIZE`.
pub fn is_constant(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}
