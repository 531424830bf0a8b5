//! Finds command lines in comments: a configuration that names no program often says in a comment at its top how it is
//! run.

use super::shell;

/// The command lines in the comments of `text`, whether they fill the comment or stand between backticks.
pub(super) fn commands(text: &str) -> impl Iterator<Item = &str> {
    let comments = text.lines().filter_map(|line| line.trim_start().strip_prefix('#'));
    let is_command = |part: &&str| part.contains(' ') && shell::starts_program(part);
    comments.flat_map(parts).map(str::trim).filter(is_command)
}

/// The whole comment, or, where it has backticks, the text between them: every second piece.
fn parts(comment: &str) -> Vec<&str> {
    let comment = comment.trim_start_matches(['#', ' ', '\t']).trim_end();
    match comment.contains('`') {
        true => comment.split('`').skip(1).step_by(2).collect(),
        false => vec![comment],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_commands_in_comments() {
        let text = "# To launch, run from the root:\n#   tune run --nproc_per_node 8 full_finetune_distributed\n\
                    a: 1 # python train.py\n# Use it like that: `trl sft --config c.yaml`, or not.\n  ## `b: 2`\n# sh\n";
        let found: Vec<_> = commands(text).collect();
        assert_eq!(found, ["tune run --nproc_per_node 8 full_finetune_distributed", "trl sft --config c.yaml"]);
    }
}
