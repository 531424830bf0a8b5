use std::fmt::Write;

/// `rows` as text, with aligned columns. The last column is not padded.
pub(super) fn table<R: AsRef<[String]>>(rows: &[R]) -> String {
    let mut widths = vec![0; rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0)];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.as_ref()) {
            *width = (*width).max(cells(cell));
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.as_ref().iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(line, "{cell}{}", " ".repeat(width + 2 - cells(cell)));
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// The width of `text` in terminal cells: Chinese characters take two.
fn cells(text: &str) -> usize {
    let is_wide = |c: char| matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}');
    text.chars().map(|c| if is_wide(c) { 2 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        assert_eq!(table(&[row("显存", "x"), row("abcdef", "y"), row("a", "")]), "显存    x\nabcdef  y\na\n");
    }
}
