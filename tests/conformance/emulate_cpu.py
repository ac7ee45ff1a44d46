#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs kernels in the CPU of Bochs, a Tiger Lake: the child process of EmulatedDevice.cpp.

usage: emulate_cpu.py LIBRARY ARENA ADDRESS SIZE

LIBRARY and ARENA are file descriptors: the kernels, and memory that both processes have at
ADDRESS. The emulated CPU has these and its stacks, and nothing else. Each line of the input is a
launch, {"symbol": NAME, "threads": [[ADDRESS of an IngotLaunch, ...], ...]}, whose answer is an
empty line, or what went wrong. A kernel's barrier is the first byte of the arena.
"""
import ctypes
import json
import mmap
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "build" / "bochscpu"))
import bochscpu  # noqa: E402
import bochscpu.memory  # noqa: E402

PAGE = 4096
STACK = 1 << 20
THREADS = 2
HLT = b"\xf4"
BARRIER, RETURN = 0, 16  # In the arena's first page: where a kernel calls, and where it ends.
MAP_FIXED_NOREPLACE = 0x100000
PRESENT_WRITABLE, LARGE = 0x3, 0x80
GIB = 30  # Bits of an address within an entry of the second table.
UNDEFINED, PAGE_FAULT = 6, 14
CODE_SEGMENT, DATA_SEGMENT = 0xA09B, 0xC093


class Fault(Exception):
    pass


def map_at(file, address, size):
    """Maps the arena where the other process has it."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    got = libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE,
                    mmap.MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0)
    if got != address:
        raise Fault(f"no memory at {address:#x}")


def own_memory(size):
    """Zeroed memory of this process and its address."""
    memory = mmap.mmap(-1, size)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def mappings_of(inode):
    """Where the file of this inode is mapped: (start, end) of each part."""
    found = []
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="ascii").splitlines():
        fields = line.split()
        if int(fields[4]) == inode:
            start, end = (int(part, 16) for part in fields[0].split("-"))
            found.append((start, end))
    return found


class Cpu:
    """An address space whose pages are those of this process, at the same addresses."""

    def __init__(self, ranges):
        self.ranges = ranges
        self.fault = None
        # Physical addresses have fewer bits than those of a process: the first GiB is that of the
        # tables, behind it are those that the process uses, one after the other.
        self.gibs = sorted({gib for start, end in ranges
                            for gib in range(start >> GIB, (end - 1 >> GIB) + 1)})
        slots = sorted({gib >> 9 for gib in self.gibs})
        self.tables, self.table_address = own_memory(PAGE * (1 + len(slots)))
        for table, slot in enumerate(slots, 1):
            struct.pack_into("<Q", self.tables, 8 * slot, table * PAGE | PRESENT_WRITABLE)
        for place, gib in enumerate(self.gibs, 1):
            offset = PAGE * (1 + slots.index(gib >> 9)) + 8 * (gib & 511)
            struct.pack_into("<Q", self.tables, offset, place << GIB | PRESENT_WRITABLE | LARGE)
        self.nothing, self.nothing_address = own_memory(PAGE)
        self.session = bochscpu.Session()
        self.session.missing_page_handler = self.give_page
        self.hook = bochscpu.Hook()
        self.hook.hlt = lambda session, cpu: self.session.stop()
        self.hook.exception = self.refuse

    def give_page(self, address):
        """Backs a page of physical memory when it is first used."""
        page = address & -PAGE
        if page < len(self.tables):
            bochscpu.memory.page_insert(page, self.table_address + page)
            return
        there = self.gibs[(page >> GIB) - 1] << GIB | page & (1 << GIB) - 1
        if not any(start <= there < end for start, end in self.ranges):
            self.fault = self.fault or f"access to {there:#x}, which is no memory of the kernel"
            there = self.nothing_address
            self.session.stop()
        bochscpu.memory.page_insert(page, there)

    def refuse(self, session, cpu, vector, code):
        """An exception: kernels raise none."""
        state = self.session.cpu.state
        what = f"exception {vector}"
        if vector == PAGE_FAULT:
            what = f"access to {state.cr2:#x}, which is no memory of the kernel"
        elif vector == UNDEFINED:
            what = "an instruction that this CPU does not have"
        self.fault = self.fault or what
        self.session.stop()

    def start(self, entry, stack, argument):
        """The state of a call of entry(argument)."""
        state = bochscpu.State()
        state.cr0, state.cr4, state.efer = 0x80010033, 0x406A0, 0xD01
        state.cr3, state.xcr0 = 0, 0xE7
        state.mxcsr, state.mxcsr_mask = 0x1F80, 0xFFFF
        for name in ("cs", "ss", "ds", "es", "fs", "gs"):
            segment = bochscpu.Segment()
            segment.present, segment.base, segment.limit = True, 0, 0xFFFFFFFF
            segment.selector, segment.attr = 8, CODE_SEGMENT if name == "cs" else DATA_SEGMENT
            setattr(state, name, segment)
        state.rip, state.rsp, state.rdi, state.rflags = entry, stack, argument, 0x2
        return state

    def run(self, state, entry):
        """Runs until HLT; the state after it."""
        self.session.cpu.state = state
        self.session.run([self.hook])
        after = self.session.cpu.state
        if self.fault:
            raise Fault(f"byte {after.rip - entry:#x}: {self.fault}")
        return after


class Thread:
    """The launches of one thread, in order."""

    def __init__(self, cpu, arena, stack, entry, launches):
        self.cpu, self.arena, self.stack, self.entry = cpu, arena, stack, entry
        self.launches = iter(launches)
        self.state = None

    def proceed(self):
        """Runs to the next barrier, then true, or to the end."""
        while True:
            if self.state is None:
                launch = next(self.launches, None)
                if launch is None:
                    return False
                ctypes.c_uint64.from_address(self.stack).value = self.arena + RETURN
                self.state = self.cpu.start(self.entry, self.stack, launch)
            else:  # Out of the barrier: what its RET would do.
                self.state.rip = ctypes.c_uint64.from_address(self.state.rsp).value
                self.state.rsp += 8
            self.state = self.cpu.run(self.state, self.entry)
            if self.state.rip & -16 == self.arena + BARRIER:
                return True
            self.state = None


def run_launch(cpu, arena, stacks, entry, launches):
    """Runs the threads of a launch in turns, from barrier to barrier."""
    threads = [Thread(cpu, arena, stack, entry, own)
               for stack, own in zip(stacks, launches, strict=True)]
    running = threads
    while running:
        running = [thread for thread in running if thread.proceed()]
        if running and len(running) < len(threads):
            raise Fault("a thread ended where another waits at a barrier")


def main():
    library, arena, address, size = (int(argument) for argument in sys.argv[1:])
    map_at(arena, address, size)
    ctypes.memmove(address + BARRIER, HLT, 1)
    ctypes.memmove(address + RETURN, HLT, 1)
    kernels = ctypes.CDLL(f"/proc/self/fd/{library}")
    stacks = [own_memory(STACK) for thread in range(THREADS)]
    cpu = Cpu([(address, address + size)] + mappings_of(os.fstat(library).st_ino) +
              [(begin, begin + STACK) for memory, begin in stacks])
    # A call leaves its return address at 16 n + 8.
    tops = [begin + STACK - PAGE - 8 for memory, begin in stacks]
    for line in sys.stdin:
        launch = json.loads(line)
        entry = ctypes.cast(getattr(kernels, launch["symbol"]), ctypes.c_void_p).value
        try:
            run_launch(cpu, address, tops, entry, launch["threads"])
            print(flush=True)
        except Fault as fault:
            print(f"{launch['symbol']}, {fault}", flush=True)
            break
    # Without the destructors of the bindings, which crash.
    os._exit(0)


if __name__ == "__main__":
    main()
