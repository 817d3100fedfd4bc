"""The test programs of rooms as judges of mutants."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time


class Tests:
    """Programs of a mutated tree: one build is all mutants, HF_MUTANT says which."""

    LEAST_SECONDS = 15

    def __init__(self, tree, scratch):
        self.tree, self.scratch = tree, scratch
        self.limits = {}

    def program(self, name):
        found = [p for p in self.tree.rglob(name) if p.is_file() and os.access(p, os.X_OK)]
        if not found:
            raise SystemExit(f"mutate: there is no program {name} in {self.tree}")
        return found[0]

    def measure(self, tests):
        """Runs each as it was written; returns what is wrong, or "". A mutant gets four times as
        long before it counts as one that does not end."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        for name, filter_ in sorted(tests):
            begin = time.monotonic()
            self.limits[name] = 600
            what = self.run(name, filter_, 0)
            if what:
                return f"{name}: {what}"
            self.limits[name] = max(self.LEAST_SECONDS, 4 * (time.monotonic() - begin))
        return ""

    def run(self, name, filter_, number):
        """What the program says is wrong; "" if it passes."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        place = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        # What a program that dies leaves in memory goes, too; one that eats memory is killed first.
        regions = tempfile.mkdtemp(prefix="holdfast-mutant-", dir="/dev/shm")
        os.chmod(regions, 0o1777)  # tests become other users, too
        child = subprocess.Popen(
            ["choom", "-n", "1000", "--", str(self.program(name)), "--gtest_brief=1",
             "--gtest_fail_fast", f"--gtest_filter={filter_ or '*'}"],
            cwd=place, env={**os.environ, "HF_MUTANT": str(number), "HF_TEST_DIR": regions},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True)
        try:
            out, _ = child.communicate(timeout=self.limits[name])
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return "it does not end"
        finally:
            shutil.rmtree(place, ignore_errors=True)
            shutil.rmtree(regions, ignore_errors=True)
        if child.returncode == 0:
            return ""
        failed = [line.split("]")[1].strip() for line in out.splitlines()
                  if line.startswith("[  FAILED  ]")]
        if failed:
            return failed[0]
        last = out.strip().splitlines()
        died = signal.Signals(-child.returncode).name if child.returncode < 0 else \
            f"exit status {child.returncode}"
        return f"the program died ({died})" + (f": {last[-1]}" if last else "")
