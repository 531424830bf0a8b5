"""Checks that PyTorch's own reader accepts the memory snapshots named as arguments."""

import pickle
import sys
import warnings

warnings.filterwarnings("ignore")
from torch.cuda import _memory_viz  # noqa: E402

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    if isinstance(snapshot, list):
        # A list of segments alone; PyTorch's own command accepts that, too.
        snapshot = {"segments": snapshot, "device_traces": []}
    for view in (_memory_viz.segsum, _memory_viz.trace_plot, _memory_viz.segment_plot):
        assert view(snapshot), (path, view.__name__)
print(f"acceptance: {len(sys.argv) - 1} memory snapshots read by PyTorch")
