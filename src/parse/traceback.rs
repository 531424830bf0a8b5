//! Python tracebacks: of the interpreter, and as rich, IPython, pytest and Ray print them.
//!
//! Mirrors CPython `Lib/traceback.py` (3.6–3.14), rich `traceback.py` (12–14), IPython `core/ultratb.py`, pytest `_code/code.py`
//! (`--tb=short`), ray `python/ray/exceptions.py:RayTaskError`. The beginning or the end may be missing. Ranks that print at the same time
//! are kept apart by their prefixes; without prefixes their frames are read as one stack.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till1, take_until, take_while1};
use nom::character::complete::{char, digit1, space0, space1, u32 as integer};
use nom::combinator::{opt, peek, recognize, rest, verify};
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::{Example, Follow, Grammar, Joint, Line, Record, text};
use crate::model::{Event, FigureName, Frame, Traceback, What};

/// See the module.
pub struct PythonTraceback;

/// Deeper stacks are recursion; the outermost and the innermost calls suffice to tell the phase.
const DEEPEST: usize = 200;
/// A traceback has ended if its next line does not follow within this many lines.
const LONGEST_PAUSE: u64 = 64;

impl Grammar for PythonTraceback {
    fn producer(&self) -> &'static str {
        "python"
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["Traceback (most recent call last)"]
    }

    fn triggers(&self) -> &'static [&'static str] {
        &[
            "Traceback (most recent call last)",
            "File \"",
            ".py\", line ",
            ".py:",
            ".py in ",
            "<ipython-input-",
            "() (pid=",
            ") in ",
        ]
    }

    fn is_multiline(&self) -> bool {
        true
    }

    fn follows(&self, record: &Record, next: &Line<'_>) -> Follow {
        let (last, body) = (line_kind(record.last_line()), next.body());
        let now = line_kind(body);
        let is_none = record.len() == 1 && !matches!(last, LineKind::Header | LineKind::Frame);
        if is_none || last == LineKind::Exception || next.number.0 > record.last_number().0 + LONGEST_PAUSE {
            return Follow::End;
        }
        match now {
            LineKind::Header if record.len() > 1 => Follow::End,
            LineKind::Header | LineKind::Frame | LineKind::Marker => Follow::Join(Joint::Line),
            LineKind::Exception if last != LineKind::Header => Follow::Join(Joint::Line),
            // The line below a frame is its source line, even if a terminal or a copy lost its indentation.
            _ if last == LineKind::Frame
                || body.starts_with("  ")
                || body.contains('│')
                || marked_code(body).is_some() =>
            {
                Follow::Join(Joint::Line)
            }
            _ => Follow::Pass,
        }
    }

    fn parse(&self, record: &Record) -> Vec<Event> {
        let mut frames: Vec<Frame> = Vec::new();
        let mut exception = None;
        let mut remote = None;
        let mut lines = record.text().lines().peekable();
        while let Some(line) = lines.next() {
            if let Ok((_, call)) = call(line) {
                let mut function = call.function.to_owned();
                if let Some(code) = call.code {
                    let (file, code) = (call.file.to_owned(), code.to_owned());
                    frames.push(Frame { file, function, code, at: record.cite_line_of(line) });
                    continue;
                }
                let mut below = lines.next_if(|below| line_kind(below) == LineKind::Code).unwrap_or_default();
                // A terminal's width may part a name in two.
                let is_source = |next: &&str| next.starts_with(' ') && line_kind(next) == LineKind::Code;
                if is_rest_of_name(below, &function)
                    && let Some(code) = lines.next_if(is_source)
                {
                    function.push_str(below);
                    below = code;
                }
                let code = lines.peek().and_then(|next| marked_statement(below, next)).unwrap_or(below).trim();
                remote = call.pid.map(|pid| (pid, actor(call.function))).or(remote);
                // rich wraps a long location, so the function may stand on the next line.
                if function.is_empty() {
                    code.trim_matches(['│', ' ']).clone_into(&mut function);
                }
                let code = code
                    .trim_start_matches("---->")
                    .trim_start_matches(|c: char| c == '>' || c == '-' || c.is_ascii_digit());
                frames.push(Frame {
                    file: call.file.to_owned(),
                    function,
                    code: code.trim().to_owned(),
                    at: record.cite_line_of(line),
                });
            } else if let Some(code) = marked_code(line)
                && let Some(frame) = frames.last_mut()
            {
                frame.code = code.to_owned();
            } else if line_kind(line) == LineKind::Exception {
                exception = Some(record.cite_line_of(line));
            }
        }
        if frames.is_empty() {
            return Vec::new();
        }
        if frames.len() > DEEPEST {
            frames.drain(DEEPEST / 2..frames.len() - DEEPEST / 2);
        }
        let last = record.text().lines().last().unwrap_or_default();
        let mut event =
            record.event(self.producer(), last, What::Traceback(Traceback { frames, exception, is_native: false }));
        if let Some((pid, role)) = remote {
            // The caller's line stands above; the last pid is that of the innermost worker.
            let head = record.text().rsplit_once("() (pid=");
            event.figures.extend(
                head.and_then(|(_, rest)| text::digits(rest).ok())
                    .map(|(_, words)| record.number(FigureName::VictimPid, words, f64::from(pid))),
            );
            event.origin.pid = Some(pid);
            event.origin.role = role.map(Into::into);
        }
        vec![event]
    }

    fn examples(&self) -> &'static [Example] {
        EXAMPLES
    }
}

/// What a line within a traceback is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// `Traceback (most recent call last):`
    Header,
    /// A call.
    Frame,
    /// A source line, or carets below one.
    Code,
    /// The exception: the end.
    Exception,
    /// `[Previous line repeated 2 more times]`
    Marker,
}

fn line_kind(line: &str) -> LineKind {
    let words = line.trim();
    if words.contains("Traceback (most recent call last)") {
        LineKind::Header
    } else if call(line).is_ok() {
        LineKind::Frame
    } else if words.starts_with("[Previous line repeated") || words.starts_with("...<") {
        LineKind::Marker
    } else if exception(words).is_ok() {
        LineKind::Exception
    } else {
        LineKind::Code
    }
}

/// One call.
struct PythonCall<'a> {
    file: &'a str,
    function: &'a str,
    /// The source line, where it stands beside the place.
    code: Option<&'a str>,
    pid: Option<u32>,
}

impl<'a> PythonCall<'a> {
    fn new(file: &'a str, function: &'a str) -> PythonCall<'a> {
        PythonCall { file, function, code: None, pid: None }
    }
}

fn call(line: &str) -> IResult<&str, PythonCall<'_>> {
    // A cheap check first: most lines of a log are not calls.
    if !line.contains(" in ") && !line.contains("() (pid=") && !line.contains(".py:") {
        return Err(nom::Err::Error(nom::error::Error::new(line, nom::error::ErrorKind::Tag)));
    }
    alt((interpreter, remote, ipython, rich, pytest, sampled, handled)).parse(line)
}

/// `  File "engine.py", line 12, in step`; other output may stand before it, and a copy may have lost its beginning.
fn interpreter(line: &str) -> IResult<&str, PythonCall<'_>> {
    let whole = delimited((take_until("File \""), tag("File \"")), take_until("\""), char('"'));
    let cut = terminated(verify(take_until("\""), |file: &str| file.ends_with(".py")), char('"'));
    // faulthandler has no comma.
    let place = (tag(", line "), digit1, alt((tag(", in "), tag(" in "))));
    let (rest, (file, _, function)) = (alt((whole, preceded(space0, cut))), place, rest).parse(line)?;
    Ok((rest, PythonCall::new(file, function.trim())))
}

/// `ray::WorkerDict.actor_rollout_update_actor() (pid=118847, ip=10.0.0.1, actor_id=…, repr=…)`
fn remote(line: &str) -> IResult<&str, PythonCall<'_>> {
    let method = take_while1(|c: char| c.is_alphanumeric() || "_.:-<>".contains(c));
    let (rest, (_, _, function, _, pid, _)) =
        (take_until("ray::"), tag("ray::"), method, tag("() (pid="), integer, tag(", ip=")).parse(line)?;
    Ok((rest, PythonCall { pid: Some(pid), ..PythonCall::new(Frame::REMOTE, function) }))
}

/// The class of an actor whose `method` is called, `WorkerDict.actor_rollout_update_actor`; a task has none.
fn actor(method: &str) -> Option<&str> {
    method.rsplit_once('.').map(|(class, _)| class.rsplit([':', '.']).next().unwrap_or(class))
}

/// `/opt/torch/optim/adamw.py in step(self, closure)`, `[adamw.py](https://localhost:8080/#) in step(self)`,
/// `File /opt/torch/optim/adamw.py:120, in step(self)`
fn ipython(line: &str) -> IResult<&str, PythonCall<'_>> {
    let linked = delimited(char('['), take_until("]("), (tag("]("), take_until(")"), char(')')));
    let placed = preceded(opt(tag("File ")), terminated(source_file, opt((char(':'), digit1, char(',')))));
    let name = take_while1(|c: char| c.is_alphanumeric() || "_<>.".contains(c));
    let (rest, (_, file, _, function, _)) =
        (space0, alt((linked, placed)), (space0, tag("in "), space0), name, alt((tag("("), tag(" ")))).parse(line)?;
    Ok((rest, PythonCall::new(file, function)))
}

/// `/home/a/ppo.py:224 in train`, with or without a box; the function may be wrapped to the next line.
fn rich(line: &str) -> IResult<&str, PythonCall<'_>> {
    let (rest, (_, _, file, _, function)) =
        (opt(char('│')), space0, source_file, (char(':'), digit1, tag(" in")), rest).parse(line)?;
    let function = function.trim_matches(['│', ' ']);
    match function.contains(' ') {
        true => Err(nom::Err::Error(nom::error::Error::new(line, nom::error::ErrorKind::Verify))),
        false => Ok((rest, PythonCall::new(file, function))),
    }
}

/// `.venv/lib/transformers/trainer.py:1412: in train`
fn pytest(line: &str) -> IResult<&str, PythonCall<'_>> {
    let function = take_till1(char::is_whitespace);
    let (rest, (_, file, _, function)) =
        (space0, source_file, (char(':'), digit1, tag(": in ")), function).parse(line)?;
    Ok((rest, PythonCall::new(file, function)))
}

/// `backward (torch/_tensor.py:623)` of py-spy.
fn sampled(line: &str) -> IResult<&str, PythonCall<'_>> {
    let function = take_while1(|c: char| c.is_alphanumeric() || "_<>.".contains(c));
    let place = delimited(tag(" ("), source_file, (char(':'), digit1, char(')')));
    let (rest, (_, function, file)) = (space0, function, place).parse(line)?;
    Ok((rest, PythonCall::new(file, function)))
}

/// `ringlet/tick.py:140 tick -> loss.backward()`, `exchange.py:29   dist.all_gather_object(slots, mine)`: how handlers of programs print
/// the summaries of `traceback.extract_tb`, the code beside the place.
fn handled(line: &str) -> IResult<&str, PythonCall<'_>> {
    let named = (
        char(' '),
        take_while1(|c: char| c.is_alphanumeric() || "_<>.".contains(c)),
        alt((tag(" -> "), tag(": "), tag("  "))),
    );
    let named = named.map(|(_, function, _)| function);
    let nameless = alt((tag("  "), tag(": "))).map(|_| "");
    let (rest, (_, file, _, function, code)) =
        (space0, source_file, (char(':'), digit1), alt((named, nameless)), rest).parse(line)?;
    let code = code.trim();
    match is_statement(code) {
        true => Ok((rest, PythonCall { code: Some(code), ..PythonCall::new(file, function) })),
        false => Err(nom::Err::Error(nom::error::Error::new(line, nom::error::ErrorKind::Verify))),
    }
}

/// Whether `code` is a statement with a call rather than what a logger writes behind the place.
fn is_statement(code: &str) -> bool {
    let words = code.strip_prefix("return ").or_else(|| code.strip_prefix("await ")).unwrap_or(code);
    let value = words.split_once(" = ").map_or(words, |(_, value)| value);
    let Some((called, _)) = value.split_once('(') else { return false };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.[]".contains(c);
    !called.is_empty()
        && called.chars().all(is_name)
        && (words.len() < code.len() || called.contains('.') || code.ends_with(['(', ')', ',']))
}

fn source_file(text: &str) -> IResult<&str, &str> {
    let path = take_while1(|c: char| !c.is_whitespace() && !":,\"'()[]│".contains(c));
    let drive = (verify(take_while1(char::is_alphabetic), |drive: &str| drive.len() == 1), char(':'));
    let is_source = |path: &str| path.ends_with(".py") || path.starts_with("<ipython-input-") && path.ends_with('>');
    verify(recognize((opt(drive), path)), is_source).parse(text)
}

/// The line that IPython (`---> 88 code`) or rich (`❱ 224 │ code`) marks as the one that was running.
fn marked_code(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches('│').trim_start();
    let marked = line
        .strip_prefix('❱')
        .or_else(|| line.starts_with("--").then(|| line.trim_start_matches('-').strip_prefix('>'))?)?;
    Some(
        marked
            .trim_start()
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['│', ' '])
            .trim_end_matches(['│', ' ']),
    )
}

/// Whether a line below a call is the rest of the name of its `function` rather than a source line.
fn is_rest_of_name(line: &str, function: &str) -> bool {
    const STATEMENTS: [&str; 6] = ["break", "continue", "pass", "raise", "return", "yield"];
    let is_name = |words: &str| !words.is_empty() && words.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_small =
        line.contains(|c: char| c.is_ascii_lowercase()) && !line.starts_with(|c: char| c.is_ascii_uppercase());
    is_name(function) && is_name(line) && is_small && !STATEMENTS.contains(&line)
}

/// The one of several statements in a source line that the carets below it mark (CPython 3.11–3.14).
fn marked_statement<'a>(code: &'a str, carets: &str) -> Option<&'a str> {
    let marks = carets.trim();
    let is_marked = !marks.is_empty() && marks.chars().all(|c| matches!(c, '^' | '~'));
    let before = carets.chars().take_while(|c| c.is_whitespace()).count();
    let (at, _) = code.char_indices().nth(before).filter(|_| is_marked)?;
    let from = code[..at].rfind("; ").map_or(0, |end| end + 2);
    let to = code[at..].find("; ").map_or(code.len(), |length| at + length);
    Some(&code[from..to])
}

/// `torch.OutOfMemoryError: …`, `MemoryError`, `ray.exceptions.RayTaskError(ValueError): …`
fn exception(words: &str) -> IResult<&str, &str> {
    const ENDS: &[&str] =
        &["Error", "Exception", "Interrupt", "Exit", "Empty", "Fault", "Warning", "Timeout", "Expired"];
    let class = || take_while1(|c: char| c.is_alphanumeric() || "_.".contains(c));
    let named = verify(class(), |class: &str| ENDS.iter().any(|end| class.ends_with(end)));
    // A class in a module has none of these endings: `triton.runtime.errors.OutOfResources: …`. `fire.Fire(main)` is a call.
    let is_in_module = |class: &str| {
        class.rsplit_once('.').is_some_and(|(_, name)| name.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let other = terminated(verify(class(), is_in_module), peek(tag(": ")));
    let inner = delimited(char('('), take_until(")"), char(')'));
    let end = alt((tag(":"), verify(rest, |rest: &str| rest.trim().is_empty())));
    recognize((opt((char('E'), space1)), alt((named, other)), opt(inner), end)).parse(words)
}

const EXAMPLES: &[Example] = &[
    Example {
        version: "triton 3, a class that does not call itself an error",
        text: "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    main()\ntriton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376.\n",
        states: &[
            ("frame", "<module>"),
            (
                "exception",
                "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376.",
            ),
        ],
    },
    Example {
        version: "CPython 3.6–3.10",
        text: "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    main()\n  File \"/opt/lib/torch/optim/adamw.py\", line 171, in step\n    adamw(\nRuntimeError: shapes differ\n",
        states: &[("frame", "<module>"), ("frame", "step"), ("exception", "RuntimeError: shapes differ")],
    },
    Example {
        version: "CPython 3.11–3.14",
        text: "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"train.py\", line 80, in <module>\n[rank1]:     engine.step()\n[rank1]:     ~~~~~~~~~~~^^\n[rank1]:   File \"/opt/lib/deepspeed/runtime/engine.py\", line 3615, in step\n[rank1]:     self._take_model_step(lr_kwargs)\n[rank1]:     ...<6 lines>...\n[rank1]: ValueError\n",
        states: &[("frame", "<module>"), ("frame", "step"), ("exception", "ValueError")],
    },
    Example {
        version: "ray 2.x, the remote part",
        text: "(Runner pid=104) Traceback (most recent call last):\n(Runner pid=104) ray::WorkerDict.actor_rollout_update_actor() (pid=2001, ip=10.0.0.1, actor_id=ce2e, repr=<verl.WorkerDict object at 0x7f>)\n(Runner pid=104)   File \"/w/verl/workers/fsdp_workers.py\", line 504, in update_actor\n(Runner pid=104)     metrics = self.actor.update_policy(data=data)\n(Runner pid=104) ValueError: no\n",
        states: &[
            ("frame", "WorkerDict.actor_rollout_update_actor"),
            ("frame", "update_actor"),
            ("exception", "ValueError: no"),
        ],
    },
    Example {
        version: "rich 12–14",
        text: "╭───────────── Traceback (most recent call last) ─────────────╮\n│ /home/a/rl/ppo.py:224 in train                              │\n│                                                             │\n│   221 │   if self.use_sde:                                  │\n│ ❱ 224 │   values = self.policy.evaluate_actions(observations)│\n│                                                             │\n│ /home/a/rl/envs/policy.py:211 in                            │\n│ evaluate_actions                                            │\n╰─────────────────────────────────────────────────────────────╯\nRuntimeError: shapes differ\n",
        states: &[("frame", "train"), ("frame", "evaluate_actions")],
    },
    Example {
        version: "IPython 7–8",
        text: "ValueError                                Traceback (most recent call last)\n[/usr/lib/transformers/trainer_pt_utils.py](https://localhost:8080/#) in torch_pad_and_concatenate(tensor1, tensor2)\n     87     # Now\n---> 88     result = tensor1.new_full(new_shape, padding_index)\n\nFile /usr/lib/torch/optim/adamw.py:120, in step(self)\n\nValueError: no\n",
        states: &[("frame", "torch_pad_and_concatenate"), ("frame", "step")],
    },
    Example {
        version: "a handler's own lines",
        text: "Traceback (most recent call last):\n  ringlet/tick.py:140 tick -> loss.backward()\n  ringlet/ring.py:21 push -> dist.all_gather_object(slots, mine)\n  exchange.py:29   self.send(mine)\n",
        states: &[("frame", "tick"), ("frame", "push")],
    },
    Example {
        version: "pytest, --tb=short",
        text: "Traceback (most recent call last):\n.venv/lib/transformers/trainer.py:1412: in train\n    return inner_training_loop(\nE   ValueError: no\n",
        states: &[("frame", "train")],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::testing;

    fn stacks(text: &str) -> Vec<(Vec<String>, Option<String>)> {
        let stack = |event: Event| match event.what {
            What::Traceback(stack) => Some((
                stack.frames.into_iter().map(|frame| frame.function).collect(),
                stack.exception.map(|cite| cite.text),
            )),
            _ => None,
        };
        testing::read(text.as_bytes()).into_iter().filter_map(stack).collect()
    }

    #[test]
    fn ranks_that_print_at_once_are_kept_apart() {
        let text = "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n[rank0]:   File \"a.py\", line 1, in save\n[rank1]:   File \"a.py\", line 2, in load\n[rank1]:     x()\n[rank0]:     y()\n[rank0]: ValueError: 0\n[rank1]: ValueError: 1\n";
        let stacks = stacks(text);
        assert_eq!(stacks[0], (vec!["save".to_owned()], Some("ValueError: 0".to_owned())));
        assert_eq!(stacks[1], (vec!["load".to_owned()], Some("ValueError: 1".to_owned())));
    }

    #[test]
    fn a_traceback_without_its_head_or_indentation_is_read() {
        let text = "File \"/opt/torch/nn/modules/module.py\", line 900, in _apply\nmodule._apply(fn)\n[Previous line repeated 2 more times]  File \"/opt/torch/nn/modules/module.py\", line 927, in convert\nreturn t.to(\n^^^^^\nValueError: no\n";
        assert_eq!(
            stacks(text),
            [(vec!["_apply".to_owned(), "convert".to_owned()], Some("ValueError: no".to_owned()))]
        );
    }

    #[test]
    fn a_name_that_a_terminal_parted_is_whole() {
        let text = "Traceback (most recent call last):\n  File \"/opt/x/grpo.py\", line 10, in _generate_and_sco\nre_completions\n    logps = self._get_logps(\n  File \"/opt/x/grpo.py\", line 20, in _get_logps\n    raise\nValueError: no\n";
        let names = stacks(text).into_iter().flat_map(|(frames, _)| frames).collect::<Vec<_>>();
        assert_eq!(names, ["_generate_and_score_completions", "_get_logps"]);
    }

    #[test]
    fn a_cell_of_a_notebook_is_read() {
        let text = "<ipython-input-1-d9553ec566fc> in training_function(text_encoder, vae, unet)\n    365 \n--> 366                 accelerator.backward(loss)\n    367 \nValueError: no\n";
        let read = testing::read(text.as_bytes());
        assert!(
            matches!(&read[0].what, What::Traceback(stack) if stack.frames[0].code == "accelerator.backward(loss)" && stack.frames[0].function == "training_function")
        );
    }

    #[test]
    fn a_call_whose_line_was_cut_at_its_beginning_is_read() {
        let text = "envs/x/site-packages/torch/nn/modules/module.py\", line 605, in convert\n    return t.to(device)\nRuntimeError: CUDA error: out of memory\n";
        assert_eq!(stacks(text)[0].0, ["convert"]);
    }

    #[test]
    fn chained_exceptions_are_two_stacks() {
        let text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in save\n    x()\nOSError: [Errno 28] No space\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 3, in main\n    y()\nRuntimeError: [enforce fail]\n";
        assert_eq!(stacks(text).len(), 2);
    }

    #[test]
    fn what_a_logger_writes_behind_a_place_is_no_call() {
        for line in [
            "train.py:88 step 12 -> loss (mean) 2.1",
            "train.py:88: UserWarning: no (x)",
            "loop.py:3  loss = 2.1 (ema 2.0)",
        ] {
            assert!(call(line).is_err(), "{line}");
        }
    }

    fn code(text: &str) -> String {
        let text = format!(
            "Traceback (most recent call last):\n  File \"train.py\", line 7, in main\n{text}\nValueError: no\n"
        );
        match &testing::read(text.as_bytes())[0].what {
            What::Traceback(stack) => stack.frames[0].code.clone(),
            _ => String::new(),
        }
    }

    #[test]
    fn the_source_line_is_kept() {
        assert_eq!(code("    loss.backward()"), "loss.backward()");
    }

    #[test]
    fn of_several_statements_in_a_line_the_marked_one_is_kept() {
        let line = "    opt.zero_grad(); loss = -mll(net(x), y); loss.backward(); opt.step()";
        assert_eq!(code(&format!("{line}\n                             ^^^^^^^^^^^^^^")), "loss = -mll(net(x), y)");
        assert_eq!(code("    outputs.append(net(x))\n                   ^^^^^^"), "outputs.append(net(x))");
        assert_eq!(code("    损失 = net(x); y()\n                   ^^^"), "y()");
        assert_eq!(code("    x()\n              ^^^"), "x()");
    }
}
