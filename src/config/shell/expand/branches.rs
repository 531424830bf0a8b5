//! Decides which branches of a script run when it is launched without arguments and in an empty environment, as far as
//! its tests tell.

use super::Scope;

/// An open block.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The start of the block, if a test decides which of its branches run.
    begin: Option<usize>,
    /// Variables assigned in the block, perhaps in a branch that does not run.
    pub(super) assigned: Vec<String>,
    pub(super) branch: Branch,
    /// Whether a test has already decided on a branch.
    is_decided: bool,
    /// Whether that decision assumes no arguments and an empty environment.
    is_assumed: bool,
}

impl Block {
    fn is_skipped(&self) -> bool {
        matches!(self.branch, Branch::Skipped | Branch::Done)
    }

    /// Whether the choice of branches depends on how the script is launched.
    fn is_open(&self) -> bool {
        self.is_assumed || !self.is_decided
    }
}

/// Whether a test holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Holds {
    /// Known, however the script is launched.
    Surely(bool),
    /// Known if the script is launched without arguments and in an empty environment.
    Usually(bool),
    /// Known only by running the script.
    Unknown,
}

impl Holds {
    /// The outcome if the script is launched without arguments and in an empty environment.
    pub fn usually(self) -> Option<bool> {
        match self {
            Holds::Surely(holds) | Holds::Usually(holds) => Some(holds),
            Holds::Unknown => None,
        }
    }

    /// The outcome of `self || other`.
    pub fn or(self, other: Holds) -> Holds {
        match (self, other) {
            (Holds::Surely(true), _) | (_, Holds::Surely(true)) => Holds::Surely(true),
            (Holds::Surely(false), other) | (other, Holds::Surely(false)) => other,
            (Holds::Usually(true), _) | (_, Holds::Usually(true)) => Holds::Usually(true),
            (Holds::Usually(false), Holds::Usually(false)) => Holds::Usually(false),
            _ => Holds::Unknown,
        }
    }

    /// The opposite.
    pub fn not(self) -> Holds {
        match self {
            Holds::Surely(holds) => Holds::Surely(!holds),
            Holds::Usually(holds) => Holds::Usually(!holds),
            Holds::Unknown => Holds::Unknown,
        }
    }
}

/// Whether the branch that is being read runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Branch {
    /// Known only by running the script.
    #[default]
    Perhaps,
    /// It does.
    Taken,
    /// It does not, and neither did an earlier one.
    Skipped,
    /// It does not, because an earlier one did.
    Done,
}

impl Scope {
    pub fn open(&mut self) {
        self.blocks.push(Block::default());
    }

    /// Opens a block at `begin` of which a test decides what runs.
    pub fn open_choice(&mut self, begin: usize) {
        self.blocks.push(Block { begin: Some(begin), ..Block::default() });
    }

    /// Closes the innermost block, whose assignments become uncertain. Returns the start of the block if what runs in
    /// it depends on how the script is launched.
    pub fn close(&mut self) -> Option<usize> {
        self.forget();
        self.blocks.pop().filter(Block::is_open)?.begin
    }

    /// Begins a branch of the innermost block behind a test with this outcome.
    pub fn decide(&mut self, holds: Holds) {
        let (holds, is_assumed) = match holds {
            Holds::Surely(holds) => (Some(holds), false),
            Holds::Usually(holds) => (Some(holds), true),
            Holds::Unknown => (None, true),
        };
        if let Some(block) = self.blocks.last_mut() {
            block.is_assumed |= is_assumed;
            block.branch = match (block.branch, holds) {
                (Branch::Done | Branch::Taken, _) => Branch::Done,
                (Branch::Perhaps, Some(true)) if block.is_decided => Branch::Perhaps,
                (_, Some(true)) => Branch::Taken,
                (Branch::Perhaps, Some(false)) if block.is_decided => Branch::Perhaps,
                (_, Some(false)) => Branch::Skipped,
                (_, None) => Branch::Perhaps,
            };
            block.is_decided = true;
        }
    }

    /// Ends a branch of the innermost block; its assignments become uncertain. `is_last` means that an `else` follows.
    pub fn turn(&mut self, is_last: bool) {
        self.forget();
        if let Some(block) = self.blocks.last_mut() {
            block.branch = match block.branch {
                Branch::Skipped if is_last => Branch::Taken,
                Branch::Taken => Branch::Done,
                branch => branch,
            };
        }
    }

    /// Whether the current statement does not run if the script is launched without arguments and in an empty
    /// environment.
    pub fn is_skipped(&self) -> bool {
        self.blocks.iter().any(Block::is_skipped)
    }

    /// Whether the current statement does not run, however the script is launched.
    pub fn is_dead(&self) -> bool {
        self.blocks.iter().any(|block| block.is_skipped() && !block.is_assumed)
    }

    /// Marks the variables assigned in this branch as uncertain.
    fn forget(&mut self) {
        for name in self.blocks.last_mut().map(|block| std::mem::take(&mut block.assigned)).unwrap_or_default() {
            if let Some(binding) = self.variables.get_mut(&name) {
                binding.is_sure = false;
            }
        }
    }

    /// Whether the current statement stands outside of all blocks.
    pub fn is_certain(&self) -> bool {
        self.blocks.is_empty()
    }
}
