# SPDX-License-Identifier: Apache-2.0
"""What peers.py uses of PyTorch, on a device that computes nothing: its clock advances by what an
operation reads, at BANDWIDTH, unless that is still in a cache of L2_BYTES, and by LAUNCH seconds
for an operation outside of a graph."""
import contextlib
import math
import types

BANDWIDTH, L2_BYTES, LAUNCH = 1e9, 1 << 20, 1e-5
SIZES = {"bfloat16": 2, "float8_e4m3fn": 1, "float32": 4, "uint8": 1, "int32": 4}
bfloat16, float8_e4m3fn, float32, uint8, int32 = SIZES
__version__, version = "2.0", types.SimpleNamespace(cuda="12.0")

clock = 0.0
cached = []  # Tensors, the one read last at the end.
captured = None  # Operations of the graph that is being captured.


class Tensor:
    def __init__(self, shape, dtype=float32):
        self.shape, self.dtype = shape, dtype
        self.bytes = math.prod(shape) * SIZES[dtype]

    def to(self, dtype):
        return Tensor(self.shape, dtype)

    def t(self):
        self.shape = self.shape[::-1]
        return self

    def copy_(self, source):
        read(source)


def randn(*shape, dtype, device):
    return Tensor(shape, dtype)


def ones(*shape, dtype=float32, device):
    return Tensor(shape, dtype)


def randint(low, high, shape, dtype, device):
    return Tensor(shape, dtype)


def read(*tensors):
    global clock

    def run():
        global clock
        for tensor in tensors:
            if tensor in cached:
                cached.remove(tensor)
            else:
                clock += tensor.bytes / BANDWIDTH
            cached.append(tensor)
            while sum(one.bytes for one in cached) > L2_BYTES:
                cached.pop(0)
    if captured is None:
        clock += LAUNCH
        run()
    else:
        captured.append(run)


def linear(x, weight):
    assert x.shape[1] == weight.shape[1]
    read(weight)


def _scaled_mm(x, weight, *, scale_a, scale_b, out_dtype, use_fast_accum):
    assert x.shape[1] == weight.shape[0]
    assert (scale_a.shape, scale_b.shape) in (((1, 1), (1, 1)),
                                              ((x.shape[0], 1), (1, weight.shape[1])))
    read(weight)


def _convert_weight_to_int4pack(codes, tiles):
    if codes.dtype != uint8:
        raise RuntimeError("expected uint8")
    n, half = codes.shape
    return Tensor((n // 8, 2 * half // (16 * tiles), 32, tiles // 2), int32)


def _weight_int4pack_mm(x, packed, group, scales):
    assert scales.shape == (x.shape[1] // group, packed.shape[0] * 8, 2)
    read(packed)


def scaled_dot_product_attention(q, k, v, is_causal=False, enable_gqa=False):
    read(k, v)


class Event:
    def __init__(self, enable_timing):
        self.time = None

    def record(self):
        self.time = clock

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.time - self.time) * 1e3


class CUDAGraph:
    def __init__(self):
        self.operations = []

    def replay(self):
        for operation in self.operations:
            operation()


@contextlib.contextmanager
def graph(made):
    global captured
    captured = made.operations
    yield
    captured = None


nn = types.SimpleNamespace(
    functional=types.SimpleNamespace(linear=linear,
                                     scaled_dot_product_attention=scaled_dot_product_attention),
    attention=types.SimpleNamespace(
        SDPBackend=types.SimpleNamespace(FLASH_ATTENTION=1),
        sdpa_kernel=contextlib.nullcontext))
cuda = types.SimpleNamespace(
    is_available=lambda: True, synchronize=lambda: None, empty_cache=lambda: None,
    get_device_properties=lambda _: types.SimpleNamespace(name="Fake", L2_cache_size=L2_BYTES),
    Event=Event, CUDAGraph=CUDAGraph, graph=graph)
