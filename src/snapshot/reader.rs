use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::pickle::{Pickle, Value};
use super::structure::{Action, Block, Call, Device, Entry, Owner, Recording, Segment, SnapshotError, Stack};

/// Reads a recording from a pickle. A pickle may repeat the same objects without end, since lists may contain
/// themselves.
pub(super) struct Reader<'p> {
    pickle: &'p Pickle<'p>,
    /// The number of objects that may still be visited.
    left: usize,
    names: Vec<Arc<str>>,
    by_name: HashMap<&'p [u8], usize>,
    calls: Vec<Call>,
    by_call: HashMap<(usize, u64, usize), u32>,
    by_dict: HashMap<u32, Option<u32>>,
    stacks: Vec<Vec<u32>>,
    by_calls: HashMap<Vec<u32>, Stack>,
    by_list: HashMap<u32, Stack>,
}

/// How often every object of a pickle may be visited on average.
const ROUNDS: usize = 4;
/// The number of further objects that may be visited.
const FEW: usize = 1 << 16;
/// More devices than any machine has.
const DEVICES: u32 = 1024;
/// The length in bytes at which names and paths are cut.
const LONGEST: usize = 1000;
/// The most calls of a stack.
const DEEPEST: usize = 256;

type Outcome<T> = Result<T, SnapshotError>;

impl<'p> Reader<'p> {
    pub fn new(pickle: &'p Pickle<'p>) -> Reader<'p> {
        Reader {
            pickle,
            left: FEW + pickle.size().saturating_mul(ROUNDS),
            names: Vec::new(),
            by_name: HashMap::new(),
            calls: Vec::new(),
            by_call: HashMap::new(),
            by_dict: HashMap::new(),
            stacks: vec![Vec::new()],
            by_calls: HashMap::from([(Vec::new(), Stack::NONE)]),
            by_list: HashMap::new(),
        }
    }

    /// Reads the snapshot: a dictionary with `segments`, or, from `torch.cuda.memory_snapshot()`, just the segments.
    pub fn recording(mut self, path: Arc<str>) -> Outcome<Recording> {
        let (mut segments, mut traces, mut settings) = (None, Value::Other, None);
        match self.pickle.root {
            list @ Value::List(_) => segments = Some(list),
            root => {
                for (key, value) in self.pairs(root)? {
                    match self.pickle.text(*key) {
                        b"segments" => segments = Some(*value),
                        b"device_traces" => traces = *value,
                        b"allocator_settings" => settings = Some(*value),
                        _ => {}
                    }
                }
            }
        }
        let segments = self.items(segments.ok_or(SnapshotError::Other)?)?;
        let mut devices: BTreeMap<u32, Device> = BTreeMap::new();
        for segment in segments {
            if let Some((device, segment)) = self.segment(*segment)? {
                devices.entry(device).or_default().segments.push(segment);
            }
        }
        if devices.is_empty() && !segments.is_empty() {
            return Err(SnapshotError::Other);
        }
        for (number, trace) in (0..DEVICES).zip(self.items(traces)?) {
            let trace = self.trace(*trace)?;
            if !trace.is_empty() {
                devices.entry(number).or_default().trace = trace;
            }
        }
        let settings = match settings {
            Some(settings) => self.settings(settings)?,
            None => None,
        };
        let device = |(number, mut device): (u32, Device)| {
            device.segments.sort_by_key(|segment| segment.address);
            Device { number, ..device }
        };
        let devices = devices.into_iter().map(device).collect();
        Ok(Recording { path, devices, stacks: self.stacks, calls: self.calls, settings })
    }

    /// Accounts for a visit to `count` objects.
    fn look(&mut self, count: usize) -> Outcome<()> {
        self.left = self.left.checked_sub(count + 1).ok_or(SnapshotError::Endless)?;
        Ok(())
    }

    fn items(&mut self, value: Value) -> Outcome<&'p [Value]> {
        let items = self.pickle.items(value);
        self.look(items.len())?;
        Ok(items)
    }

    fn pairs(&mut self, value: Value) -> Outcome<&'p [(Value, Value)]> {
        let pairs = self.pickle.pairs(value);
        self.look(pairs.len())?;
        Ok(pairs)
    }

    /// A segment and its device; `None` if the value is not a segment.
    fn segment(&mut self, value: Value) -> Outcome<Option<(u32, Segment)>> {
        let (mut device, mut blocks) = (0, Value::Other);
        let mut segment =
            Segment { address: 0, size: 0, owner: Owner::default(), is_expandable: false, blocks: Vec::new() };
        let mut is_one = false;
        for (key, value) in self.pairs(value)? {
            match self.pickle.text(*key) {
                b"device" => device = natural(*value),
                b"address" => segment.address = natural(*value),
                b"total_size" => (segment.size, is_one) = (natural(*value), true),
                b"stream" => segment.owner.stream = integer(*value),
                b"segment_pool_id" => segment.owner.pool = self.pool(*value)?,
                b"is_expandable" => segment.is_expandable = *value == Value::Flag(true),
                b"blocks" => blocks = *value,
                _ => {}
            }
        }
        let Some(device) = u32::try_from(device).ok().filter(|device| is_one && *device < DEVICES) else {
            return Ok(None);
        };
        let mut next = segment.address;
        for block in self.items(blocks)? {
            let block = self.block(*block, next)?;
            next = block.address.saturating_add(block.size);
            segment.blocks.push(block);
        }
        Ok(Some((device, segment)))
    }

    /// A block, which begins at `next` if it states no address.
    fn block(&mut self, value: Value, next: u64) -> Outcome<Block> {
        let mut block = Block { address: next, size: 0, requested: 0, is_active: false, stack: Stack::NONE };
        let mut requested = None;
        for (key, value) in self.pairs(value)? {
            match self.pickle.text(*key) {
                b"address" => block.address = natural(*value),
                b"size" => block.size = natural(*value),
                b"requested_size" => requested = Some(natural(*value)),
                b"state" => block.is_active = self.pickle.text(*value).starts_with(b"active"),
                b"frames" => block.stack = self.stack(*value)?,
                _ => {}
            }
        }
        block.requested = requested.unwrap_or(block.size).min(block.size);
        Ok(block)
    }

    fn trace(&mut self, value: Value) -> Outcome<Vec<Entry>> {
        let mut trace = Vec::new();
        for entry in self.items(value)? {
            trace.push(self.entry(*entry)?);
        }
        Ok(trace)
    }

    fn entry(&mut self, value: Value) -> Outcome<Entry> {
        let mut entry = Entry {
            action: Action::Other,
            address: 0,
            size: 0,
            owner: Owner::default(),
            time: None,
            stack: Stack::NONE,
        };
        for (key, value) in self.pairs(value)? {
            match self.pickle.text(*key) {
                b"action" => entry.action = Action::of(self.pickle.text(*value)),
                b"addr" | b"device_free" => entry.address = natural(*value),
                b"size" => entry.size = natural(*value),
                b"stream" => entry.owner.stream = integer(*value),
                b"pool_id" => entry.owner.pool = self.pool(*value)?,
                b"time_us" => entry.time = Some(integer(*value)),
                b"frames" => entry.stack = self.stack(*value)?,
                _ => {}
            }
        }
        Ok(entry)
    }

    /// `(0, 0)` is the shared pool.
    fn pool(&mut self, value: Value) -> Outcome<Option<(i64, i64)>> {
        let pool = match self.items(value)? {
            [first, second] => (integer(*first), integer(*second)),
            _ => (0, 0),
        };
        Ok(Some(pool).filter(|pool| *pool != (0, 0)))
    }

    /// Reads a stack from a list; each list is read once.
    fn stack(&mut self, value: Value) -> Outcome<Stack> {
        let Value::List(number) = value else { return Ok(Stack::NONE) };
        if let Some(known) = self.by_list.get(&number) {
            return Ok(*known);
        }
        let mut calls = Vec::new();
        // Further calls add no information, and cost the writer little to add.
        for call in self.items(value)?.iter().take(DEEPEST) {
            calls.extend(self.call(*call)?);
        }
        let stack = match self.by_calls.get(&calls) {
            Some(known) => *known,
            None => {
                let stack = Stack(self.stacks.len() as u32);
                self.stacks.push(calls.clone());
                self.by_calls.insert(calls, stack);
                stack
            }
        };
        self.by_list.insert(number, stack);
        Ok(stack)
    }

    /// The number of a call; each dictionary is read once.
    fn call(&mut self, value: Value) -> Outcome<Option<u32>> {
        let Value::Dict(number) = value else { return Ok(None) };
        if let Some(known) = self.by_dict.get(&number) {
            return Ok(*known);
        }
        let (mut file, mut line, mut function) = (Value::Other, 0, Value::Other);
        for (key, value) in self.pairs(value)? {
            match self.pickle.text(*key) {
                b"filename" => file = *value,
                b"line" => line = natural(*value),
                b"name" => function = *value,
                _ => {}
            }
        }
        let key = (self.name(file), line, self.name(function));
        let call = match self.by_call.get(&key) {
            Some(known) => *known,
            None => {
                let call = self.calls.len() as u32;
                let (file, function) = (Arc::clone(&self.names[key.0]), Arc::clone(&self.names[key.2]));
                self.calls.push(Call { file, line, function });
                self.by_call.insert(key, call);
                call
            }
        };
        self.by_dict.insert(number, Some(call));
        Ok(Some(call))
    }

    /// The number of a name. Invalid UTF-8, such as lone surrogates, is replaced.
    fn name(&mut self, value: Value) -> usize {
        let bytes = self.pickle.text(value);
        let bytes = &bytes[..bytes.len().min(LONGEST)];
        *self.by_name.entry(bytes).or_insert_with(|| {
            self.names.push(String::from_utf8_lossy(bytes).into());
            self.names.len() - 1
        })
    }

    /// The value of `PYTORCH_CUDA_ALLOC_CONF`.
    fn settings(&mut self, value: Value) -> Outcome<Option<String>> {
        let mut words = None;
        for (key, value) in self.pairs(value)? {
            let bytes = self.pickle.text(*value);
            if matches!(self.pickle.text(*key), b"PYTORCH_CUDA_ALLOC_CONF" | b"PYTORCH_ALLOC_CONF") && !bytes.is_empty()
            {
                words = Some(String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).into_owned());
            }
        }
        Ok(words)
    }
}

fn integer(value: Value) -> i64 {
    match value {
        Value::Integer(number) => number,
        _ => 0,
    }
}

/// A size or an address; negative numbers become 0.
fn natural(value: Value) -> u64 {
    u64::try_from(integer(value)).unwrap_or(0)
}
