# SPDX-License-Identifier: Apache-2.0
"""What scripts/package makes: judged by lintian and systemd, installed in a Debian of its own, used
there, removed without a trace, and made again in another folder with the same bytes. Where
PROGRAMS has no compiler, all but its package."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

PACKED = harness.ROOT / "build" / "packages"
CLEANROOM = harness.ROOT / "tests" / "cleanroom" / "root"
STORY = harness.ROOT / "examples" / "embed-c" / "Story.c"
COMPLETION = harness.ROOT / "packaging" / "completion.bash"
UNIT = harness.ROOT / "packaging" / "debian" / "ingot-runtime.ingot-server@.service"
LIMIT = 3600  # Seconds for a build of the runtime on two slow cores.
# What a package manager itself keeps, and what is mounted.
NOT_COMPARED = {"dev", "ingot", "proc", "run", "sys", "tmp", "var/cache", "var/lib/apt",
                "var/lib/dpkg", "var/lib/systemd", "var/log"}


def output_of(*command, **options):
    """What a command prints, both streams; it has to succeed."""
    run = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=LIMIT, check=False, **options)
    if run.returncode:
        raise AssertionError(f"{command}: status {run.returncode}\n{run.stdout[-4000:]}")
    return run.stdout


def package(folder, with_compiler):
    """Runs scripts/package of the checkout in `folder`; returns its files by name."""
    # Without a cache, which would hand out what another folder compiled.
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    output_of(folder / "scripts" / "package", *([] if with_compiler else ["--runtime"]),
              env=environment)
    return {path.name: path for path in (folder / "build" / "packages").iterdir()}


def has_compiler():
    return (harness.programs / "ingot").is_file()


class Packages(unittest.TestCase):
    """The files themselves."""

    @classmethod
    def setUpClass(cls):
        cls.files = package(harness.ROOT, has_compiler())

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ingot-packages-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def test_names_and_sums(self):
        packages = sorted(name.partition("_")[0] for name in self.files if name.endswith(".deb"))
        self.assertEqual(packages, ["ingot"] * has_compiler() +
                         ["ingot-runtime", "libingot-dev", "libingot2"])
        output_of("sha256sum", "--check", "SHA256SUMS", cwd=PACKED)

    def test_lintian_finds_nothing(self):
        found = output_of("lintian", "--fail-on", "error,warning", *PACKED.glob("*.deb"))
        self.assertEqual([line for line in found.splitlines() if line[:2] in ("E:", "W:")], [])

    def test_unit_is_valid(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze")
        unit = self.folder / "ingot-server@.service"
        unit.write_text(UNIT.read_text().replace("/usr/bin", str(harness.programs)))
        self.assertEqual(output_of("systemd-analyze", "verify", "--man=no", unit), "")

    def completed(self, *words):
        script = (f'source {COMPLETION}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ingot; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        environment = {**os.environ, "PATH": f"{harness.programs}:{os.environ['PATH']}"}
        return output_of("bash", "-c", script, "bash", *words, env=environment,
                         cwd=self.folder).split()

    def test_completion(self):
        self.assertEqual(self.completed("ingot-run", "ins"), ["inspect"])
        self.assertEqual(self.completed("ingot-run", "inspect", "--sec"), ["--section"])
        self.assertEqual(self.completed("ingot-run", "bench", "through"), ["throughput"])
        self.assertEqual(self.completed("ingot-server", "--unix"), ["--unix-socket"])
        (self.folder / "model.ingot").touch()
        self.assertEqual(self.completed("ingot-run", "m"), ["match", "model.ingot"])

    def test_another_folder_gives_the_same_bytes(self):
        if output_of("git", "status", "--porcelain", cwd=harness.ROOT):
            self.skipTest("the checkout is not what was committed")
        clone = self.folder / "elsewhere" / "checkout"
        output_of("git", "clone", "--quiet", harness.ROOT, clone)
        for name, path in package(clone, with_compiler=False).items():
            if name != "SHA256SUMS":
                with self.subTest(name):
                    self.assertEqual(path.read_bytes(), self.files[name].read_bytes())

    @unittest.skipIf(os.geteuid(), "chroot needs root")
    def test_installed_used_removed(self):
        room = self.folder / "debian"
        output_of(CLEANROOM, room)
        self.enter(room, "apt-get", "update")
        self.enter(room, "apt-get", "install", "-y", "--no-install-recommends", "gcc", "libc6-dev",
                   "pkg-config")
        before = listing(room)
        (room / "ingot").mkdir()
        packages = []
        for path in PACKED.glob("*.deb"):
            shutil.copy(path, room / "ingot")
            packages.append(path.name.partition("_")[0])
        self.enter(room, "apt-get", "install", "-y", "--no-install-recommends",
                   *(f"/ingot/{path.name}" for path in PACKED.glob("*.deb")))
        self.use(room)
        self.enter(room, "apt-get", "purge", "-y", "--autoremove", *packages)
        self.assertEqual(sorted(listing(room) ^ before), [])

    def use(self, room):
        """Programs start, and a program is made of the development package."""
        for program in ["ingot-run", "ingot-server"] + ["ingot"] * has_compiler():
            self.assertRegex(self.enter(room, program, "--version"), rf"{program} \d+\.\d+\.\d+")
        shutil.copy(STORY, room / "ingot")
        self.enter(room, "sh", "-c", "cc -Wall -Werror /ingot/Story.c -o /ingot/story "
                   "$(pkg-config --cflags --libs ingot)")
        self.assertIn("libingot.so.2 => /", self.enter(room, "ldd", "/ingot/story"))
        (room / "ingot" / "opens.c").write_text(
            '#include <dlfcn.h>\nint main(void) '
            '{ return dlopen("libingot-cuda-sim.so", RTLD_NOW) ? 0 : 1; }\n')
        self.enter(room, "sh", "-c", "cc /ingot/opens.c -o /ingot/opens && /ingot/opens")

    def enter(self, room, *command):
        return output_of(CLEANROOM, "--enter", room, "env", "DEBIAN_FRONTEND=noninteractive",
                         *command)


def listing(room):
    """Paths below a root folder, but those of which it is not asked."""
    found = set()
    for folder, folders, files in os.walk(room):
        inside = os.path.relpath(folder, room).removeprefix(".").lstrip("/")
        folders[:] = [name for name in folders
                      if os.path.join(inside, name) not in NOT_COMPARED]
        found.update(os.path.join(inside, name) for name in [*folders, *files])
    # dpkg keeps the caches of what it ran for others.
    return {path for path in found if not re.search(r"(^|/)__pycache__(/|$)", path)}


if __name__ == "__main__":
    harness.main()
