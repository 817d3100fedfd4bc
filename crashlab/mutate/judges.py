"""The test programs of rooms as judges of mutants."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

# Above every mutant's number.
MOST_MUTANTS = 1 << 16


class Tests:
    """Programs of a mutated tree: one build is all mutants, HF_MUTANT says which. A mutant is shown
    to those tests only that come by its place when nothing is broken, the quick ones first."""

    LEAST_SECONDS = 10
    QUICK_SECONDS = 1

    def __init__(self, tree, scratch, jobs=1):
        self.tree, self.scratch, self.jobs = tree, scratch, jobs
        self.cases = {}  # of a program and a filter: [test, seconds, numbers reached], quick first

    def program(self, name):
        found = [p for p in self.tree.rglob(name) if p.is_file() and os.access(p, os.X_OK)]
        if not found:
            raise SystemExit(f"mutate: there is no program {name} in {self.tree}")
        return found[0]

    def measure(self, tests):
        """Runs each test alone and as it was written; returns what is wrong, or ""."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        for name, filter_ in sorted(tests):
            place = self.tree / "reached" / f"{name}.json"
            built = self.program(name).stat().st_mtime_ns
            known = json.loads(place.read_text()) if place.exists() else {}
            if known.get("built") != built or known.get("filter") != filter_:
                with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
                    cases = list(pool.map(lambda t, n=name: self.measured(n, t),
                                          self.names(name, filter_)))
                wrong = [what for *_, what in cases if what]
                if wrong:
                    return f"{name}: {wrong[0]}"
                cases = sorted((c[:3] for c in cases), key=lambda c: c[1])
                known = {"built": built, "filter": filter_, "cases": cases}
                place.parent.mkdir(exist_ok=True)
                place.write_text(json.dumps(known))
            self.cases[name, filter_] = [(t, s, set(r)) for t, s, r in known["cases"]]
        return ""

    def names(self, name, filter_):
        listed = subprocess.run(
            [str(self.program(name)), "--gtest_list_tests", f"--gtest_filter={filter_ or '*'}"],
            capture_output=True, text=True, check=True).stdout
        suite, found = "", []
        for line in listed.splitlines():
            word = line.split("#")[0].strip()
            if line.startswith(" "):
                found.append(suite + word)
            elif word.endswith("."):
                suite = word
        return [t for t in found if "DISABLED_" not in t]

    def measured(self, name, test):
        """(test, seconds, numbers of the mutants that it comes by, what is wrong)"""
        self.scratch.mkdir(parents=True, exist_ok=True)
        handle, reached = tempfile.mkstemp(dir=self.scratch)
        os.truncate(handle, MOST_MUTANTS)
        os.fchmod(handle, 0o666)
        os.close(handle)
        begin = time.monotonic()
        what = self.start(name, [test], 0, 600, {"HF_MUTANTS_REACHED": reached})
        seconds = time.monotonic() - begin
        numbers = [n for n, byte in enumerate(pathlib.Path(reached).read_bytes()) if byte]
        os.unlink(reached)
        return test, round(seconds, 3), numbers, what

    def run(self, name, filter_, number):
        """What the program says is wrong; "" if it passes."""
        quick, slow = [], []
        sum_of = {"quick": 0.0, "slow": 0.0}
        for test, seconds, reached in self.cases[name, filter_]:
            if number not in reached:
                continue
            is_quick = sum_of["quick"] + seconds <= self.QUICK_SECONDS or not quick
            (quick if is_quick else slow).append(test)
            sum_of["quick" if is_quick else "slow"] += seconds
        what = ""
        for tests, seconds in ((quick, sum_of["quick"]), (slow, sum_of["slow"])):
            if tests and not what:
                what = self.start(name, tests, number, max(self.LEAST_SECONDS, 4 * seconds))
        return what

    def start(self, name, tests, number, limit, environment=None):
        """Runs these tests. One that does not end in `limit` seconds is one that fails."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        place = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        # What a program that dies leaves in memory goes, too; one that eats memory is killed first.
        regions = tempfile.mkdtemp(prefix="holdfast-mutant-", dir="/dev/shm")
        os.chmod(regions, 0o1777)  # tests become other users, too
        child = subprocess.Popen(
            ["choom", "-n", "1000", "--", str(self.program(name)), "--gtest_brief=1",
             "--gtest_fail_fast"],
            cwd=place, env={**os.environ, "HF_MUTANT": str(number), "HF_TEST_DIR": regions,
                            "GTEST_FILTER": ":".join(tests), **(environment or {})},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True)
        try:
            out, _ = child.communicate(timeout=limit)
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
