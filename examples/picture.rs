//! Draws the output on a terminal as a picture (SVG with selectable text): `oomdoc analyze
//! corpus/llama3-8b-optimizer-step --no-save --color always | cargo run --example picture -- 'oomdoc analyze …'`.
//! `README_UPDATE=1 cargo test --test it readme` draws those of the READMEs.

use std::error::Error;
use std::fmt::Write;
use std::io::{self, Read as _};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

fn main() -> Result<(), Box<dyn Error>> {
    let command = std::env::args().nth(1).ok_or("name the command that prints it")?;
    let mut printed = String::new();
    io::stdin().lock().read_to_string(&mut printed)?;
    print!("{}", render(&command, &printed)?);
    Ok(())
}

/// Columns of the terminal.
pub const COLUMNS: usize = 100;

/// Width of a column and height of a line, in pixels.
const COLUMN: f64 = 8.0;
const LINE: f64 = 19.0;
const MARGIN: f64 = 16.0;

/// The terminal's colours on a light and a dark page. They can be told apart by readers who cannot distinguish red from
/// green.
const STYLE: &str = "\
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC',monospace;white-space:pre;fill:#24292f}
.page{fill:#fff;stroke:#d0d7de}.bold{font-weight:700}.dim{fill:#656d76}.red{fill:#b42318}.green{fill:#116329}.yellow{fill:#7d4e00}.cyan{fill:#0b6477}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117;stroke:#30363d}.dim{fill:#8b949e}.red{fill:#ff8378}.green{fill:#56d364}.yellow{fill:#e3b341}.cyan{fill:#76e3ea}}";

/// The picture of a terminal in which `command` printed `printed`, with its control sequences.
pub fn render(command: &str, printed: &str) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let mut pen = Pen { text: &mut text, classes: vec!["dim"], column: 0, line: 0 };
    pen.write("$ ")?;
    pen.classes = vec!["bold"];
    pen.write(command)?;
    pen.classes.clear();
    pen.next_line();
    for line in printed.lines() {
        draw(line, &mut pen)?;
        pen.next_line();
    }
    let lines = pen.line;
    let (width, height) = (COLUMNS as f64 * COLUMN + 2.0 * MARGIN, lines as f64 * LINE + 2.0 * MARGIN);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\">\n\
         <title>{}</title>\n<style>\n{STYLE}\n</style>\n\
         <rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n{text}</svg>\n",
        escaped(command),
        width - 1.0,
        height - 1.0
    ))
}

/// Draws a line of text with control sequences.
fn draw(line: &str, pen: &mut Pen) -> Result<(), Box<dyn Error>> {
    let mut parts = line.split("\u{1b}[");
    pen.write(parts.next().unwrap_or_default())?;
    for part in parts {
        let (codes, words) = part.split_once('m').ok_or_else(|| format!("no colour: {part:?}"))?;
        codes.split(';').try_for_each(|code| pen.turn(code))?;
        pen.write(words)?;
    }
    Ok(())
}

/// The terminal's cursor and current style.
struct Pen<'t> {
    text: &'t mut String,
    classes: Vec<&'static str>,
    column: usize,
    line: usize,
}

impl Pen<'_> {
    fn next_line(&mut self) {
        (self.column, self.line) = (0, self.line + 1);
    }

    fn turn(&mut self, code: &str) -> Result<(), Box<dyn Error>> {
        let class = match code {
            "" | "0" => {
                self.classes.clear();
                return Ok(());
            }
            "1" => "bold",
            "2" => "dim",
            "31" => "red",
            "32" => "green",
            "33" => "yellow",
            "36" => "cyan",
            other => return Err(format!("the picture has no colour {other}").into()),
        };
        self.classes.push(class);
        Ok(())
    }

    /// Writes text at its column in pieces of the same character width. Fonts differ from a terminal, where wide
    /// characters take exactly two columns.
    fn write(&mut self, words: &str) -> std::fmt::Result {
        let mut rest = words;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|c: char| c.width() != first.width()).unwrap_or(rest.len());
            let (run, others) = rest.split_at(end);
            // Viewers may collapse several blanks, so the text after them is placed separately.
            for part in run.split_inclusive("  ") {
                self.place(part)?;
            }
            rest = others;
        }
        Ok(())
    }

    fn place(&mut self, part: &str) -> std::fmt::Result {
        let run = part.trim();
        let begin = self.column + part.width() - part.trim_start().width();
        self.column += part.width();
        if run.is_empty() {
            return Ok(());
        }
        let (x, y) = (MARGIN + begin as f64 * COLUMN, MARGIN + self.line as f64 * LINE + 14.0);
        let class =
            if self.classes.is_empty() { String::new() } else { format!(" class=\"{}\"", self.classes.join(" ")) };
        let length = run.width() as f64 * COLUMN;
        writeln!(self.text, "<text{class} x=\"{x}\" y=\"{y}\" textLength=\"{length}\">{}</text>", escaped(run))
    }
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
