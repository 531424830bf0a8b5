//! Commands in comments: `@oomdoc explain WORD…`, `@oomdoc similar`, `@oomdoc resolve --did "…" --worked`.
//!
//! A line is a command if it begins with the bot's name outside of quotations and code. The flags are those of `oomdoc
//! history resolve`.

/// At most this many commands in one comment are answered.
const MOST_LINES: usize = 5;
/// A longer line is cut to this many characters.
const LONGEST: usize = 2000;
/// At most this many words are explained per command.
const MOST_WORDS: usize = 5;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Explain these words.
    Explain(Vec<String>),
    /// List incidents similar to the given one, or to the conversation's.
    Similar(Option<String>),
    /// Record what was done and how it went.
    Resolve(Resolution),
    /// List the commands.
    Help,
}

/// What was done about an incident, and how it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The incident's id; absent for the one that the conversation is about.
    pub incident: Option<String>,
    /// What was done.
    pub change: ChangeMade,
    /// Whether it helped.
    pub worked: bool,
    /// A remark.
    pub note: Option<String>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeMade {
    /// A patch of the report, by its number.
    Patch(usize),
    /// Another setting: `zero_stage=3`.
    Knob(String),
    /// Something else, in words.
    Did(String),
}

/// The line is not a valid command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCommand;

/// The lines of a comment that address the bot called `name`, without that name.
pub fn lines(comment: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_hidden = false;
    for line in comment.lines() {
        let words = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| words.starts_with(mark));
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                // Lines indented by four blanks or a tab are code in Markdown.
                let is_code = line.starts_with("    ") || line.starts_with('\t');
                if !is_hidden
                    && !is_code
                    && let Some(asked) = addressed(words, name)
                {
                    found.push(asked.chars().take(LONGEST).collect());
                }
            }
        }
        let opens = line.rfind("<!--");
        let closes = line.rfind("-->");
        is_hidden = match (opens, closes) {
            (Some(opens), Some(closes)) => opens > closes,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => is_hidden,
        };
    }
    // The bot's own comments contain no commands, whichever account posted them.
    if comment.trim_start().starts_with("<!-- oomdoc ") {
        found.clear();
    }
    found.truncate(MOST_LINES);
    found
}

/// The rest of `line` if it begins with `@name`.
fn addressed<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (called, rest) = line.strip_prefix('@')?.split_at_checked(name.len())?;
    let is_whole = rest.is_empty() || rest.starts_with([' ', '\t', ':', ',', '，', '：']);
    (called.eq_ignore_ascii_case(name) && is_whole)
        .then(|| rest.trim_start_matches([':', ',', '，', '：', ' ', '\t']).trim_end())
}

/// Parses the rest of a line behind the bot's name.
pub fn read(line: &str) -> Result<Command, NoCommand> {
    let words = split(line)?;
    let Some((verb, words)) = words.split_first() else { return Ok(Command::Help) };
    match (verb.to_lowercase().as_str(), words) {
        ("help", _) => Ok(Command::Help),
        ("explain", [_, ..]) if words.len() <= MOST_WORDS => Ok(Command::Explain(words.to_vec())),
        ("similar", []) => Ok(Command::Similar(None)),
        ("similar", [id]) => Ok(Command::Similar(Some(incident(id)?))),
        ("resolve", words) => resolution(words).map(Command::Resolve),
        _ => Err(NoCommand),
    }
}

fn resolution(words: &[String]) -> Result<Resolution, NoCommand> {
    let (mut id, mut change, mut worked, mut note) = (None, None, None, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, joined) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut value = || joined.clone().or_else(|| words.next().cloned()).filter(|value| !value.is_empty());
        let is_twice = match flag {
            "--worked" | "--failed" => worked.replace(flag == "--worked").is_some(),
            "--patch" => {
                let number = value().and_then(|number| number.parse().ok()).ok_or(NoCommand)?;
                change.replace(ChangeMade::Patch(number)).is_some()
            }
            "--knob" => change.replace(ChangeMade::Knob(value().ok_or(NoCommand)?)).is_some(),
            "--did" => change.replace(ChangeMade::Did(value().ok_or(NoCommand)?)).is_some(),
            "--note" => note.replace(value().ok_or(NoCommand)?).is_some(),
            word => id.replace(incident(word)?).is_some(),
        };
        if is_twice {
            return Err(NoCommand);
        }
    }
    let (change, worked) = change.zip(worked).ok_or(NoCommand)?;
    Ok(Resolution { incident: id, change, worked, note })
}

/// An incident's id, or the beginning of one.
fn incident(word: &str) -> Result<String, NoCommand> {
    let is_id = (4..=16).contains(&word.len()) && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_id.then(|| word.to_owned()).ok_or(NoCommand)
}

/// Splits at blanks. Quotation marks, also the typographic ones that keyboards and phones produce, keep words together.
fn split(line: &str) -> Result<Vec<String>, NoCommand> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut closing: Option<char> = None;
    for c in line.chars() {
        match (closing, c) {
            (Some(quote), c) if c == quote => closing = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'' | '“' | '‘' | '「') => {
                closing = Some(match c {
                    '“' => '”',
                    '‘' => '’',
                    '「' => '」',
                    straight => straight,
                });
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            // Some programs replace `--` by a dash.
            (None, '—' | '–') if word.is_none() => word = Some("--".to_owned()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if closing.is_some() { Err(NoCommand) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_are_meant_are_commands() {
        let comment = "Thanks!\n@oomdoc explain activations\n> @oomdoc similar\n```\n@oomdoc similar\n```\n    @oomdoc similar\n\
                       <!--\n@oomdoc similar\n-->\nthe @oomdoc help\n@oomdocs help\n- @oomdoc help\n@OOMDOC: similar\n~~~\n```\n@oomdoc a\n~~~";
        assert_eq!(lines(comment, "oomdoc"), ["explain activations", "similar"]);
        assert_eq!(lines("<!-- oomdoc reply=1 -->\n@oomdoc help", "oomdoc"), [""; 0]);
        assert_eq!(lines(&"@oomdoc help\n".repeat(20), "oomdoc").len(), MOST_LINES);
        assert_eq!(lines("@doctor，similar\n@é", "doctor"), ["similar"]);
    }

    #[test]
    fn commands_are_read() {
        let resolve = |incident: Option<&str>, change, worked, note: Option<&str>| {
            let (incident, note) = (incident.map(str::to_owned), note.map(str::to_owned));
            Ok(Command::Resolve(Resolution { incident, change, worked, note }))
        };
        let did = |words: &str| ChangeMade::Did(words.to_owned());
        assert_eq!(read(""), Ok(Command::Help));
        assert_eq!(read("explain a b"), Ok(Command::Explain(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(read("similar 12ab"), Ok(Command::Similar(Some("12ab".to_owned()))));
        assert_eq!(read("resolve --did \"more nodes\" --worked"), resolve(None, did("more nodes"), true, None));
        assert_eq!(read("resolve 12ab —did “加 节点” --failed"), resolve(Some("12ab"), did("加 节点"), false, None));
        let knob = ChangeMade::Knob("--zero_stage=3".to_owned());
        assert_eq!(
            read("resolve --knob=--zero_stage=3 --worked --note 'see it'"),
            resolve(None, knob, true, Some("see it"))
        );
        assert_eq!(read("resolve --patch 2 --worked"), resolve(None, ChangeMade::Patch(2), true, None));
        for wrong in [
            "explain",
            "similar ../../x",
            "similar a b",
            "resolve",
            "resolve --worked",
            "resolve --did x",
            "resolve --did \"x --worked",
            "resolve --worked --failed --did x",
            "resolve --patch x --worked",
            "resolve --patch 1 --did x --worked",
            "dance",
        ] {
            assert_eq!(read(wrong), Err(NoCommand), "{wrong}");
        }
    }
}
