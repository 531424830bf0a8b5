//! Splits the arguments of one command into flags with their values, overrides, and the words between.

use std::ops::Range;

use super::super::runtime_options;
use super::launchers::is_option;
use super::words::name_length;

/// One setting on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Argument {
    /// The name without dashes or plus signs.
    pub key: String,
    pub form: Form,
    /// The index of the field that holds the name.
    pub name: usize,
    /// The fields that hold its values, if they are separate from the name.
    pub values: Range<usize>,
}

/// The notation of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Form {
    /// `--flag`, `--flag value`, `--flag value value`
    Spaced,
    /// `--flag=value`; the value begins at this byte of the field.
    Joined(usize),
    /// `key=value`, `+key=value`; the value begins at this byte of the field.
    Override(usize),
    /// `mem=64gb` in `-l select=1:ncpus=8:mem=64gb`; the value stands at these bytes of the field.
    Item(usize, usize),
}

impl Argument {
    /// Whether it is a flag without a value.
    pub fn is_switch(&self) -> bool {
        self.form == Form::Spaced && self.values.is_empty()
    }
}

/// The settings in `fields[range]`, and the indices of the fields that belong to none. `goes_with` tells for a flag's
/// field and a later one whether the latter may be its value.
pub(in super::super) fn arguments(
    fields: &[String],
    range: Range<usize>,
    goes_with: impl Fn(usize, usize) -> bool,
) -> (Vec<Argument>, Vec<usize>) {
    let (mut arguments, mut operands, mut at) = (Vec::new(), Vec::new(), range.start);
    let field = |at: usize| fields.get(at).filter(|_| at < range.end).map(String::as_str);
    while let Some(text) = field(at) {
        let name = at;
        at += 1;
        let is_key =
            |text: &str, behind: usize| is_yacs_key(text) && field(behind).is_some_and(|value| !is_option(value));
        if is_key(text, at) {
            arguments.push(Argument { key: text.to_owned(), form: Form::Spaced, name, values: at..at + 1 });
            at += 1;
        } else if let Some((key, value)) = override_key(text) {
            arguments.push(Argument { key: key.to_owned(), form: Form::Override(value), name, values: at..at });
        } else if !is_option(text) {
            operands.extend(Some(name).filter(|_| text != "--"));
        } else if let Some((key, value)) = joined(text) {
            arguments.push(Argument { key: key.to_owned(), form: Form::Joined(value), name, values: at..at });
        } else {
            // The first word behind a flag may look like `key=value` and still be the flag's value, but a dotted key is
            // nearly always an override.
            let is_value = |text: &str, at: usize| {
                !is_option(text)
                    && text != "--"
                    && !is_key(text, at + 1)
                    && match override_key(text) {
                        Some((key, _)) => at == name + 1 && !key.contains('.'),
                        None => true,
                    }
            };
            // `--batch-size 128 /data`, `--segment 40 song.mp3`, `--layers 20 chat -m x`, `--batch 8 DATA_PATH`: a word behind a number is
            // the program's own argument. So is an application behind any value: `-w 8 app:app`, `-c server.py app:app`.
            let is_number = field(at).is_some_and(|text| text.parse::<f64>().is_ok());
            let is_apart = |text: &str, at: usize| {
                let behind_number = || is_number && (is_path(text) || is_word(text));
                at == name + 2
                    && (behind_number() || is_application(text) && !field(name + 1).is_some_and(is_application))
            };
            while field(at).is_some_and(|text| is_value(text, at) && goes_with(name, at) && !is_apart(text, at)) {
                at += 1;
            }
            let key = text.trim_start_matches('-').to_owned();
            arguments.push(Argument { key, form: Form::Spaced, name, values: name + 1..at });
        }
    }
    (arguments, operands)
}

/// The items of those of `arguments` that are named in `lists`, in place of the lists themselves. `-l mem=8gb` has the key `l mem`.
/// `borders` are what stands between items.
pub(in super::super) fn listed(
    fields: &[String],
    arguments: Vec<Argument>,
    lists: &[String],
    borders: &[char],
) -> Vec<Argument> {
    let items = |list: Argument| -> Vec<Argument> {
        // `-lselect=1:mem=8gb`, whose first item looks like the option's name.
        let attached = lists.iter().find(|name| list.form != Form::Spaced && list.key.starts_with(name.as_str()));
        let (name, values) = match attached {
            Some(name) => (name.clone(), list.name..list.name + 1),
            None if lists.contains(&list.key) => (list.key.clone(), list.values.clone()),
            None => return vec![list],
        };
        let mut items = Vec::new();
        for field in values {
            let mut from = if attached.is_some() { 1 + name.len() } else { 0 };
            let text = fields.get(field).and_then(|text| text.get(from..)).unwrap_or_default();
            // LSF groups them in words: `rusage[mem=32GB:ngpus=1] span[hosts=1]`.
            for item in text.split_inclusive(borders) {
                let text = item.trim_end_matches(borders);
                let is_item = |(item, value): &(&str, &str)| {
                    !value.is_empty() && !value.starts_with('=') && !item.ends_with(['<', '>', '!'])
                };
                if let Some((item, value)) = text.split_once('=').filter(is_item) {
                    let (key, start) = (format!("{name} {item}"), from + item.len() + 1);
                    let form = Form::Item(start, start + value.len());
                    items.push(Argument { key, form, name: field, values: field..field });
                }
                from += item.len();
            }
        }
        items
    };
    arguments.into_iter().flat_map(items).collect()
}

/// Whether it is a path, or the name of a file with an extension.
fn is_path(text: &str) -> bool {
    let is_extension = |end: &str| {
        (2..=5).contains(&end.len())
            && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && end.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    text.contains('/') || text.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && is_extension(end))
}

/// Whether it begins as a word and not as a number, a list or a reference.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '<')
}

/// Whether a number begins, or what stands for one when the shell has filled it in: `$(nproc)`.
pub(super) fn may_be_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '$' || c == '`')
}

/// Whether it names an application in a module of Python, as web servers are told what to serve: `shop.main:app`, `main:make_app()`.
fn is_application(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name_length(name) == name.len();
    text.split_once(':').is_some_and(|(module, name)| {
        module.split('.').all(is_name) && is_name(name.strip_suffix("()").unwrap_or(name))
    })
}

/// The key of `--key=value`, `-n4` or `-Xmx4g`, and where the value begins.
fn joined(text: &str) -> Option<(&str, usize)> {
    let dashes = text.len() - text.trim_start_matches('-').len();
    if let Some(found) = runtime_options::attached(text) {
        return Some(found);
    }
    match text.find('=') {
        Some(equals) => Some((&text[dashes..equals], equals + 1)),
        None => {
            let is_short = dashes == 1 && text.len() > 2 && text[1..].starts_with(|c: char| c.is_ascii_alphabetic());
            // `-j8`, `-j$(nproc)`
            (is_short && may_be_number(&text[2..])).then(|| (&text[1..2], 2))
        }
    }
}

/// Whether it is a key as yacs has them, whose value is the next word: `SOLVER.IMS_PER_BATCH 8`.
fn is_yacs_key(text: &str) -> bool {
    let is_step = |step: &str| {
        let is_upper = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        step.starts_with(|c: char| c.is_ascii_uppercase()) && step.bytes().all(is_upper)
    };
    text.contains('.') && text.split('.').all(is_step)
}

/// The key of `a.b=value` or `+a.b=value`, and where the value begins.
fn override_key(text: &str) -> Option<(&str, usize)> {
    let key = text.trim_start_matches('+');
    let pluses = text.len() - key.len();
    let equals = key.find('=')?;
    let name = &key[..equals];
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-/@[]".contains(&byte);
    let is_name = name_length(name) > 0 && name.bytes().all(plain);
    (pluses <= 2 && is_name).then_some((name, pluses + equals + 1))
}

#[cfg(test)]
mod tests {
    use super::super::launchers::{Stage, stages};
    use super::*;

    fn fields(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    /// Each command of a line: its name and its settings.
    fn read(line: &str) -> Vec<String> {
        let fields = fields(line);
        let show = |stage: Stage| {
            let settings: Vec<String> = arguments(&fields, stage.arguments.clone(), |_, _| true)
                .0
                .iter()
                .map(|argument| match argument.form {
                    Form::Spaced => format!("{}={}", argument.key, fields[argument.values.clone()].join(",")),
                    Form::Joined(at) | Form::Override(at) => {
                        format!("{}={}", argument.key, &fields[argument.name][at..])
                    }
                    Form::Item(from, to) => format!("{}={}", argument.key, &fields[argument.name][from..to]),
                })
                .collect();
            format!("{}:{} {}", stage.program, stage.target.unwrap_or_default(), settings.join(" "))
        };
        stages(&fields).into_iter().map(show).collect()
    }

    #[test]
    fn tells_whose_flag_it_is() {
        let cases: &[(&str, &[&str])] = &[
            (
                "deepspeed --include localhost:0,1 --module app.train --zero_stage 3",
                &["deepspeed: include=localhost:0,1", "deepspeed:app.train zero_stage=3"],
            ),
            ("python3 -u -m app.train --lr -1e-5 --bf16", &["python3:app.train lr=-1e-5 bf16="]),
            (
                "torchrun --standalone --nproc_per_node=8 train.py --modules q k v -n4",
                &["torchrun: standalone= nproc_per_node=8", "torchrun:train.py modules=q,k,v n=4"],
            ),
            (
                "python -m torch.distributed.launch --use_env main.py -c 0",
                &["python:torch.distributed.launch use_env=", "python:main.py c=0"],
            ),
            (
                "srun -l --mem=64G /opt/bin/python train.py a.b=1 +c=2",
                &["srun: l= mem=64G", "python:train.py a.b=1 c=2"],
            ),
            (
                "ray job submit --address=http://h:1 -- python3 -m app a.b=c",
                &["ray:job submit address=http://h:1", "python3:app a.b=c"],
            ),
            (
                "docker run --gpus all -it --rm -m 64g --shm-size=8g org/image:1 --model x",
                &["docker:run gpus=all it= rm= m=64g shm-size=8g", "image:1: model=x"],
            ),
            ("vllm serve org/model --max-model-len 4096", &["vllm:serve max-model-len=4096"]),
            (
                "accelerate launch --config_file c.yaml train.py --x",
                &["accelerate:launch config_file=c.yaml", "accelerate:train.py x="],
            ),
            ("ray start --head --object-store-memory 1000", &["ray:start head= object-store-memory=1000"]),
            ("swift rlhf --model x --funcs a b", &["swift:rlhf model=x funcs=a,b"]),
            (
                "python eval.py --model_args pretrained=x --cfg a.b=1",
                &["python:eval.py model_args=pretrained=x cfg= a.b=1"],
            ),
            (
                "python train.py --gpus 1 --opts SOLVER.IMS_PER_BATCH 8 MODEL.NAME r50",
                &["python:train.py gpus=1 opts= SOLVER.IMS_PER_BATCH=8 MODEL.NAME=r50"],
            ),
            ("python train.py --family R.50 --bf16", &["python:train.py family=R.50 bf16="]),
            ("python main.py --batch-size 128 /data/imagenet", &["python:main.py batch-size=128"]),
            ("python -m demucs --segment 40 song.mp3", &["python:demucs segment=40"]),
            ("python main.py --gpus 0 1 2 --x", &["python:main.py gpus=0,1,2 x="]),
            ("gunicorn -w 8 shop.main:app", &["gunicorn: w=8"]),
            ("python train.py --batch 8 DATA_PATH", &["python:train.py batch=8"]),
            ("gunicorn -c server.py shop.main:app", &["gunicorn: c=server.py"]),
            ("uvicorn --workers 4 main:make_app() --port 80", &["uvicorn: workers=4 port=80"]),
            ("python serve.py --ratio 3 1:2", &["python:serve.py ratio=3,1:2"]),
            ("nohup python main.py", &["nohup: ", "python:main.py "]),
            ("bash run.sh --x 1", &["bash:run.sh x=1"]),
            ("--zero_stage 3 --bf16", &[": zero_stage=3 bf16="]),
        ];
        for (line, expected) in cases {
            assert_eq!(&read(line), expected, "{line}");
        }
    }
}
