# SPDX-License-Identifier: Apache-2.0
"""What scripts/package makes: judged by lintian, systemd and auditwheel, installed in Debians of
their own, used there, removed without a trace, and made again in another folder with the same
bytes; images are unpacked and run without root in a tree that cannot be written. Where PROGRAMS has
no compiler, all but its packages."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import harness

PACKED = harness.ROOT / "build" / "packages"
CLEANROOM = harness.ROOT / "tests" / "cleanroom" / "root"
AUDITWHEEL = harness.ROOT / "build" / "auditwheel" / "bin" / "auditwheel"
STORY = harness.ROOT / "examples" / "embed-c" / "Story.c"
COMPLETION = harness.ROOT / "packaging" / "completion.bash"
PROGRAMS = ["ingot-run", "ingot-server", "ingot-images"]
UNIT = harness.ROOT / "packaging" / "debian" / "ingot-runtime.ingot-server@.service"
SUITES = {"bookworm": "3.11", "trixie": "3.13"}  # Debians, with their Python.
# By the name up to the version.
MOST_BYTES = {"ingot_llm": 5_000_000, "ingot_llm_compiler": 45_000_000,
              "ingot-runtime": 30_000_000, "ingot": 110_000_000}
ANSWER = """
from ingot_llm import LLM, SamplingParams
with LLM("/ingot/fables.ingot", threads=2) as llm:
    output, = llm.generate("Once", SamplingParams(max_tokens=4, ignore_eos=True))
    print(len(output.outputs[0].token_ids), "tokens")
"""
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


class Packages(harness.BuildTest):
    """The files themselves."""

    @classmethod
    def setUpClass(cls):
        cls.files = package(harness.ROOT, has_compiler())

    def test_names_and_sums(self):
        packages = sorted(name.partition("_")[0] for name in self.files if name.endswith(".deb"))
        self.assertEqual(packages, ["ingot"] * has_compiler() +
                         ["ingot-runtime", "libingot-dev", "libingot2"])
        output_of("sha256sum", "--check", "SHA256SUMS", cwd=PACKED)
        capped = sorted(name for name in self.files if name.endswith((".whl", "-oci.tar")))
        self.assertEqual(len(capped), 2 + 2 * has_compiler())
        for name in capped:
            most = MOST_BYTES[re.match(r"(.*?)-\d", name)[1]]
            self.assertLessEqual(self.files[name].stat().st_size, most, name)

    def test_wheels_run_on_systems_of_2022(self):
        for wheel in PACKED.glob("*.whl"):
            shown = output_of(AUDITWHEEL, "show", wheel)
            minor = re.search(r'following platform tag:\s+"manylinux_2_(\d+)_', shown)
            self.assertIsNotNone(minor, shown)
            self.assertLessEqual(int(minor[1]), 34, shown)
            self.assertIn(f"manylinux_2_{minor[1]}_", wheel.name)

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
        for suite in SUITES:
            with self.subTest(suite):
                self.try_in(suite)

    def try_in(self, suite):
        room = self.folder / suite
        output_of(CLEANROOM, "--suite", suite, room)
        self.enter(room, "apt-get", "update")
        self.enter(room, "apt-get", "install", "-y", "--no-install-recommends", "gcc", "libc6-dev",
                   "pkg-config", "python3-venv", "libcurl4")
        before = listing(room)
        shutil.copytree(PACKED, room / "ingot")
        shutil.copytree(harness.FABLES, room / "ingot" / "model")
        debs = sorted(path.name for path in PACKED.glob("*.deb"))
        self.enter(room, "apt-get", "install", "-y", "--no-install-recommends",
                   *(f"/ingot/{name}" for name in debs))
        self.use(room)
        self.use_wheels(room, SUITES[suite])
        self.enter(room, "apt-get", "purge", "-y", "--autoremove",
                   *(name.partition("_")[0] for name in debs))
        self.assertEqual(sorted(listing(room) ^ before), [])

    def use(self, room):
        """Programs start, build and answer; a program is made of the development package."""
        for program in PROGRAMS + ["ingot"] * has_compiler():
            self.assertRegex(self.enter(room, program, "--version"), rf"{program} \d+\.\d+\.\d+")
        shutil.copy(STORY, room / "ingot")
        self.enter(room, "sh", "-c", "cc -Wall -Werror /ingot/Story.c -o /ingot/story "
                   "$(pkg-config --cflags --libs ingot)")
        self.assertIn("libingot.so.2 => /", self.enter(room, "ldd", "/ingot/story"))
        (room / "ingot" / "opens.c").write_text(
            '#include <dlfcn.h>\nint main(void) '
            '{ return dlopen("libingot-cuda-sim.so", RTLD_NOW) ? 0 : 1; }\n')
        self.enter(room, "sh", "-c", "cc /ingot/opens.c -o /ingot/opens && /ingot/opens")
        if has_compiler():
            self.enter(room, "ingot", "build", "/ingot/model", "-o", "/ingot/fables.ingot")
            self.enter(room, "ingot-run", "/ingot/fables.ingot", "-p", "Once", "-n", "4")
            unreached = self.enter(room, "sh", "-c", "ingot pull org/name --offline 2>&1 || true")
            self.assertIn("INGOT-E73", unreached)

    def use_wheels(self, room, python):
        """The wheels in an environment of the system's Python."""
        wheels = sorted(path.name for path in PACKED.glob("*.whl"))
        self.enter(room, "python3", "-m", "venv", "/ingot/venv")
        self.enter(room, "/ingot/venv/bin/pip", "install", "--no-index",
                   *(f"/ingot/{name}" for name in wheels))
        self.assertTrue((room / "ingot" / "venv" / "lib" / f"python{python}").is_dir())
        if has_compiler():
            self.enter(room, "/ingot/venv/bin/ingot", "build", "/ingot/model", "-o",
                       "/ingot/other.ingot")
            self.assertEqual((room / "ingot" / "other.ingot").read_bytes(),
                             (room / "ingot" / "fables.ingot").read_bytes())
            self.assertIn("4 tokens", self.enter(room, "/ingot/venv/bin/python", "-c", ANSWER))

    def enter(self, room, *command):
        return output_of(CLEANROOM, "--enter", room, "env", "DEBIAN_FRONTEND=noninteractive",
                         "XDG_CACHE_HOME=/ingot/cache", *command)


class Images(harness.BuildTest):
    """The container images, without a program for containers."""

    @unittest.skipIf(os.geteuid(), "chroot needs root")
    def test_run_without_root_and_without_writing(self):
        for path in sorted(PACKED.glob("*-oci.tar")):
            name = re.match(r"(.*)-\d", path.name)[1]
            with self.subTest(name):
                self.run_image(name, path)

    def run_image(self, name, path):
        layout, bundle = self.folder / f"{name}-layout", self.folder / name
        layout.mkdir()
        output_of("tar", "-xf", path, "-C", layout)
        output_of("umoci", "unpack", "--image", f"{layout}:{name}", bundle)
        process = json.loads((bundle / "config.json").read_text())["process"]
        self.assertEqual((process["user"]["uid"], process["user"]["gid"]), (65532, 65532))
        entry = process["args"][0]
        root = bundle / "rootfs"
        for program in PROGRAMS + ["ingot"] * (name == "ingot"):
            printed = self.enter(root, process, f"/usr/bin/{program}", "--version")
            self.assertRegex(printed, rf"{program} \d+\.\d+\.\d+")
        self.assertRegex(self.enter(root, process, entry, "--help"), "Usage|usage|USAGE")
        if name == "ingot":
            unread = output_of("sh", "-c", 'chroot --userspec=65532:65532 "$0" /usr/bin/ingot pull '
                               'http://127.0.0.1:9/x.gguf 2>&1 || true', root)
            self.assertNotIn("libcurl.so.4", unread)
            self.assertIn("INGOT-E73", unread)
        self.assertFalse([file for file in root.rglob("*") if not file.is_symlink() and
                          file.stat().st_mode & 0o6000], "programs with their owner's rights")

    def enter(self, root, process, *command):
        """Runs a command in an image's tree, mounted so that nobody can write it."""
        return output_of(
            "unshare", "--mount", "--propagation", "private", "sh", "-c",
            'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && '
            'exec chroot --userspec=65532:65532 "$0" "$@"', root, *command,
            env=dict(word.split("=", 1) for word in process["env"]) | {"PATH": os.environ["PATH"]})


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
