//! Which branches of a script are run: as far as tests say, where it is launched without arguments and nothing is set.

use super::Scope;

/// A block that is open.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Where it begins, if a test decides what of it is run.
    begin: Option<usize>,
    /// What was assigned in it and may not have been.
    pub(super) assigned: Vec<String>,
    pub(super) branch: Branch,
    /// Whether a test decided on a branch already.
    is_decided: bool,
    /// Whether that took for granted that there are no arguments and nothing is set.
    is_assumed: bool,
}

impl Block {
    fn is_skipped(&self) -> bool {
        matches!(self.branch, Branch::Skipped | Branch::Done)
    }

    /// Whether who launches the script has a say in what of it is run.
    fn is_open(&self) -> bool {
        self.is_assumed || !self.is_decided
    }
}

/// Whether a test holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Holds {
    /// However the script is launched.
    Surely(bool),
    /// Without arguments, and where nothing is set.
    Usually(bool),
    /// Only running the script would tell.
    Unknown,
}

impl Holds {
    /// As a script does that is launched without more.
    pub fn usually(self) -> Option<bool> {
        match self {
            Holds::Surely(holds) | Holds::Usually(holds) => Some(holds),
            Holds::Unknown => None,
        }
    }

    /// Whether one of both holds.
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

/// Whether the branch of a block that is being read is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Branch {
    /// Only running the script would tell.
    #[default]
    Perhaps,
    /// It is.
    Taken,
    /// It is not, nor was one before it.
    Skipped,
    /// It is not, since one before it was.
    Done,
}

impl Scope {
    pub fn open(&mut self) {
        self.blocks.push(Block::default());
    }

    /// The same for a block that begins here and of which a test decides what is run.
    pub fn open_choice(&mut self, begin: usize) {
        self.blocks.push(Block { begin: Some(begin), ..Block::default() });
    }

    /// Leaves the innermost block: what was assigned in it may or may not have been. Where it began, if who launches the script
    /// decides what of it is run.
    pub fn close(&mut self) -> Option<usize> {
        self.forget();
        self.blocks.pop().filter(Block::is_open)?.begin
    }

    /// The innermost block's first branch begins, behind a test that holds, or not, or nobody knows.
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

    /// The innermost block's other branch begins. What was assigned in one that may not have been run holds no more.
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

    /// Whether what stands here is not run.
    pub fn is_skipped(&self) -> bool {
        self.blocks.iter().any(Block::is_skipped)
    }

    /// Whether it is not, however the script is launched.
    pub fn is_dead(&self) -> bool {
        self.blocks.iter().any(|block| block.is_skipped() && !block.is_assumed)
    }

    /// What was assigned in this branch holds no more.
    fn forget(&mut self) {
        for name in self.blocks.last_mut().map(|block| std::mem::take(&mut block.assigned)).unwrap_or_default() {
            if let Some(binding) = self.variables.get_mut(&name) {
                binding.is_sure = false;
            }
        }
    }

    /// Whether what stands here is run whatever happens.
    pub fn is_certain(&self) -> bool {
        self.blocks.is_empty()
    }
}
