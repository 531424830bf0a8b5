//! Reads printed Python values: dictionaries, lists, strings, `Name(field=value, …)`, and JSON, which is nearly the
//! same.
//!
//! A value that is cut off is left out along with everything behind it; what precedes it is kept.

use std::ops::Range;
use std::sync::Arc;

use super::super::Value;
use super::super::tree::{Member, Node, Shape};
use super::super::value::word_length;

/// The value that begins at `at`.
pub(super) fn value(text: &str, at: usize) -> Option<Node> {
    LiteralReader { text, at, is_whole: false }.value("", 0)
}

/// The fields `a=1, b='x'` or `a=1 b='x'` from `at` to the end of `text`, which must be the end of the line.
pub(super) fn fields(text: &str, at: usize) -> Node {
    LiteralReader { text, at, is_whole: true }.fields(None, 0)
}

struct LiteralReader<'a> {
    text: &'a str,
    at: usize,
    /// Whether a word that reaches the end of the text is complete.
    is_whole: bool,
}

impl<'a> LiteralReader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, also: &[char]) {
        self.at +=
            self.rest().len() - self.rest().trim_start_matches(|c: char| c.is_whitespace() || also.contains(&c)).len();
    }

    /// Reads a value. A bare word also ends at any of the characters `ends`.
    fn value(&mut self, ends: &str, depth: usize) -> Option<Node> {
        if depth > Node::DEEPEST {
            self.at = self.text.len();
            return None;
        }
        self.skip(&[]);
        match self.peek()? {
            b'{' => Some(self.braces(depth)),
            b'[' => Some(self.list(b']', depth)),
            b'(' => Some(self.list(b')', depth)),
            b'<' => self.angle(),
            _ if self.quote().is_some() => self.string(),
            _ => self.word(ends, depth),
        }
    }

    /// The length of the prefix (`r`, `b`, `u`) before the quote, if a string begins here.
    fn quote(&self) -> Option<usize> {
        let prefix = self.rest().bytes().take_while(|byte| b"rbuRBU".contains(byte)).count().min(2);
        let quote = self.text.as_bytes().get(self.at + prefix)?;
        matches!(quote, b'"' | b'\'').then_some(prefix)
    }

    /// Adjacent strings count as one, as Python breaks long ones.
    fn string(&mut self) -> Option<Node> {
        let (start, mut text, mut end) = (self.at, String::new(), self.at);
        while let Some(prefix) = self.quote() {
            self.at += prefix;
            let quote = self.rest().chars().next()?;
            let is_raw = self.text[..self.at].ends_with(['r', 'R']) && prefix > 0;
            let mut letters = self.rest().char_indices().skip(1);
            loop {
                let (at, letter) = letters.next()?;
                match letter {
                    '\\' if !is_raw => match letters.next()?.1 {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        escaped @ ('\\' | '\'' | '"' | '/') => text.push(escaped),
                        other => text.extend(['\\', other]),
                    },
                    letter if letter == quote => {
                        self.at += at + 1;
                        break;
                    }
                    letter => text.push(letter),
                }
            }
            end = self.at;
            self.skip(&[]);
        }
        self.at = end;
        Some(Node::new(start..end, Shape::Scalar(Value::Text(text))))
    }

    /// `None`, `1e-05`, `torch.bfloat16`, `cuda:0`, `Name(…)`; `None` if the word may continue behind the end of the
    /// text.
    fn word(&mut self, ends: &str, depth: usize) -> Option<Node> {
        let start = self.at;
        let stops = |c: char| c.is_whitespace() || ",)]}(={".contains(c) || ends.contains(c);
        let length = self.rest().find(stops).or(Some(self.rest().len()).filter(|_| self.is_whole && depth == 0))?;
        self.at += length;
        let word = &self.text[start..self.at];
        if self.peek() == Some(b'(') && !word.is_empty() {
            self.at += 1;
            let fields = self.fields(Some(b')'), depth + 1);
            return Some(Node { span: start..self.at, whole: start..self.at, ..only_value(fields) });
        }
        (length > 0).then(|| Node::new(start..self.at, Shape::Scalar(Value::of_word(word))))
    }

    /// `<ZeroStageEnum.gradients: 2>` reads as 2; other angle brackets as their text.
    fn angle(&mut self) -> Option<Node> {
        let start = self.at;
        let length = self.rest().find('>')? + 1;
        self.at += length;
        let words = &self.text[start..self.at];
        let value = match words.trim_end_matches('>').rsplit_once(": ") {
            Some((_, value)) => Value::of_word(value.trim_matches(['\'', '"'])),
            None => Value::Text(words.to_owned()),
        };
        Some(Node::new(start..self.at, Shape::Scalar(value)))
    }

    /// The elements up to `close`, or the complete ones if the list is cut off.
    fn list(&mut self, close: u8, depth: usize) -> Node {
        let (start, mut items) = (self.at, Vec::new());
        self.at += 1;
        loop {
            self.skip(&[',']);
            match self.peek() {
                Some(byte) if byte == close => {
                    self.at += 1;
                    break;
                }
                None => break,
                Some(_) => match self.value("", depth + 1) {
                    Some(item) => items.push(Arc::new(item)),
                    None => break self.give_up(),
                },
            }
        }
        Node::new(start..self.at, Shape::List(items))
    }

    /// A dictionary or a set.
    fn braces(&mut self, depth: usize) -> Node {
        let (start, mut members, mut items) = (self.at, Vec::new(), Vec::new());
        self.at += 1;
        loop {
            self.skip(&[',']);
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                None => break,
                _ => {}
            }
            let Some(key) = self.value(":", depth + 1) else { break self.give_up() };
            self.skip(&[]);
            if self.peek() != Some(b':') {
                items.push(Arc::new(key));
                continue;
            }
            self.at += 1;
            let Some(value) = self.value("", depth + 1) else { break self.give_up() };
            members.push(member(self.text, key, value));
        }
        let shape = if members.is_empty() && !items.is_empty() { Shape::List(items) } else { Shape::Map(members) };
        Node::new(start..self.at, shape)
    }

    /// The `name=value` pairs up to `close`. Values without a name are keyed by their number.
    fn fields(&mut self, close: Option<u8>, depth: usize) -> Node {
        let (start, mut members) = (self.at, Vec::new());
        loop {
            self.skip(&[',']);
            match self.peek() {
                byte if byte == close && byte.is_some() => {
                    self.at += 1;
                    break;
                }
                None => break,
                _ => {}
            }
            let at = self.at;
            let name = word_length(self.rest());
            let is_named = name > 0 && self.rest()[name..].starts_with('=');
            self.at += if is_named { name + 1 } else { 0 };
            let value = match is_named && self.peek().is_none_or(|byte| b",)".contains(&byte)) {
                // `name=,`
                true => Some(Node::new(self.at..self.at, Shape::Scalar(Value::Text(String::new())))),
                false => self.value("", if close.is_some() { depth + 1 } else { depth }),
            };
            let Some(value) = value else { break self.give_up() };
            let key = if is_named { self.text[at..at + name].to_owned() } else { members.len().to_string() };
            members.push(Member { key, at: at..at + name, value: Arc::new(value) });
        }
        Node::new(start..self.at, Shape::Map(members))
    }

    /// Skips the rest of the text, which is cut off or not a Python value.
    fn give_up(&mut self) {
        self.at = self.text.len();
    }
}

fn member(text: &str, key: Node, value: Node) -> Member {
    let Range { start, end } = key.span;
    let name = match key.shape {
        Shape::Scalar(Value::Text(name)) => name,
        _ => text[start..end].to_owned(),
    };
    Member { key: name, at: start..end, value: Arc::new(value) }
}

/// Unwraps a single unnamed field: `PosixPath('x')` reads as `x`.
fn only_value(fields: Node) -> Node {
    match &fields.shape {
        Shape::Map(members) => match members.as_slice() {
            [only] if only.at.is_empty() => (*only.value).clone(),
            _ => fields,
        },
        _ => fields,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tree::Flattening;
    use super::*;

    fn read(node: &Node) -> Vec<String> {
        let mut settings = Flattening::default();
        let added = settings.add("", node);
        assert!(added.is_ok());
        settings.entries.iter().map(|found| format!("{}={}", found.key, found.value)).collect()
    }

    #[test]
    fn reads_what_python_prints() {
        let text = r#"{'a': {'b': None, 'c': [1, 2.5e-05, 'x\'y'], 'd': (True,), 3: {'x', "y"}},
            'long': 'one '
                    'two', "e": PosixPath('/data'), 'f': torch.bfloat16, 'g': <Stage.two: 2>, 'h': {}, 'i': Sub(x=1, y='z')}"#;
        assert_eq!(
            value(text, 0).as_ref().map(read).unwrap_or_default(),
            [
                "a.b=null",
                "a.c[0]=1",
                "a.c[1]=2.5e-5",
                "a.c[2]=x'y",
                "a.d[0]=true",
                "a.3[0]=x",
                "a.3[1]=y",
                "long=one two",
                "e=/data",
                "f=torch.bfloat16",
                "g=2",
                "i.x=1",
                "i.y=z",
            ]
        );
        assert_eq!(
            read(&fields("model='org/m', dtype=torch.bfloat16, sub=Sub(a=1, b=None), empty=, x={'a': 1}\n", 0)),
            ["model=org/m", "dtype=torch.bfloat16", "sub.a=1", "sub.b=null", "empty=", "x.a=1"]
        );
        assert_eq!(
            read(&fields(
                "stage=<ZeroStageEnum.gradients: 2> contiguous=True offload=Offload(device='cpu', ratio=1.0) n=5 ",
                0
            )),
            ["stage=2", "contiguous=true", "offload.device=cpu", "offload.ratio=1", "n=5"]
        );
    }

    #[test]
    fn leaves_out_what_is_torn() {
        let read = |text| value(text, 0).as_ref().map(read).unwrap_or_default();
        assert_eq!(read("{'a': 1, 'b': {'c': 2, 'd': 12"), ["a=1", "b.c=2"]);
        assert_eq!(read("{'a': 1, 'b': 'tor"), ["a=1"]);
        assert_eq!(read("[1, 2"), ["[0]=1"]);
        assert_eq!(read("Namespace(a=1, b=[1, 'x"), ["a=1", "b[0]=1"]);
        assert_eq!(read("{{{{"), [""; 0]);
        assert_eq!(read(&"[".repeat(100_000)), [""; 0]);
    }
}
