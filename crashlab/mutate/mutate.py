#!/usr/bin/env python3
"""The mutation gate of the crash lab (docs/mutation.md): breaks each flush, fence, note, log write
and ordered store of a room, one at a time, and demands that the lab notices."""

import argparse
import concurrent.futures
import filecmp
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import argued  # noqa: E402
import kills  # noqa: E402
import sources  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "mutate"
TREE = PLACE / "tree"
ROOMS = {
    "journal": "src/journal",
    "region": "src/region",
    "epoch": "src/epoch",
    "checkpoint": "src/checkpoint",
    "alloc": "src/alloc",
    "heap": "src/checkpoint/heap",
    "masstree": "src/index/masstree",
}
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "crashlab", "include", "src"]
HUNT = TREE / "build" / "lab" / "crashlab" / "hf_hunt"
HUNT_RULE = """
add_executable(hf_hunt mutate/hunt.cpp)
target_link_libraries(hf_hunt PRIVATE hf_crash_targets hf_crashlab)
"""


def say(text):
    print(f"mutate: {text}", file=sys.stderr)


def fail(status, text):
    say(text)
    sys.exit(status)


# ---------------------------------------------------------------- the mutated tree


def put(path, text):
    """Only if it changes: what did not change is not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def originals(commit):
    """The source tree to start from: this checkout, or a commit of it."""
    if commit is None:
        return ROOT
    place = PLACE / "commit"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    archive = subprocess.Popen(["git", "-C", str(ROOT), "archive", commit, *COPIED],
                               stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(place)], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        fail(2, f"git cannot show {commit}")
    # The gate itself is this checkout's.
    shutil.copytree(ROOT / "crashlab" / "mutate", place / "crashlab" / "mutate",
                    dirs_exist_ok=True)
    return place


NOT_MUTATED = {
    # Below the model: the lab puts a disk of its own in their place.
    "src/journal/block_file.hpp", "src/journal/block_file.cpp",
    # Whole files made beside others and renamed: the lab has no target that copies.
    "src/image/copy.cpp", "src/image/partial.cpp", "src/image/partial.hpp",
    # The lab's trees are of discipline incll. What logged has besides is judged by tree_crash in
    # tests/index/masstree; transient survives nothing.
    "src/index/masstree/logged/adapter.hpp", "src/index/masstree/transient/adapter.hpp",
    # Threads over core.hpp, whose steps are mutated: the lab has no target that runs them.
    "src/journal/redo_journal.hpp", "src/journal/redo_journal.cpp",
    # The end of an epoch on an ordinary disk: the lab's targets live on persistent memory.
    "src/epoch/capture.hpp", "src/epoch/capture.cpp",
    # Which pages of memory may be dropped: nothing of it lies on the medium.
    "src/paging/private_pages.cpp", "src/paging/private_pages.hpp",
}


# Rooms whose code only their own targets run: the others live on persistent memory.
ONLY_OWN_TARGETS = {"journal"}


def room_of(name):
    if name in NOT_MUTATED:
        return None
    found = [room for room, folder in ROOMS.items() if name.startswith(folder + "/")]
    return max(found, key=lambda room: len(ROOMS[room]), default=None)


def copy_and_mutate(origin):
    """Returns all mutants, numbered from 1."""
    mutants, wanted = [], set()
    for top in COPIED:
        start = origin / top
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            name = str(path.relative_to(origin))
            wanted.add(name)
            target = TREE / name
            if room_of(name) and path.suffix in (".hpp", ".cpp"):
                found = sources.File(name, path.read_text())
                found.parse()
                for mutant in sorted(found.mutants, key=lambda m: m.line):
                    mutant.number = len(mutants) + 1
                    mutants.append(mutant)
                put(target, found.mutated())
            elif name == "crashlab/CMakeLists.txt":
                put(target, path.read_text() + HUNT_RULE)
            elif not target.exists() or not filecmp.cmp(path, target, shallow=False):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    for top in COPIED:
        for path in (TREE / top).rglob("*") if (TREE / top).is_dir() else []:
            if path.is_file() and str(path.relative_to(TREE)) not in wanted:
                path.unlink()
    sources.tell_apart(mutants)
    put(PLACE / "mutants.json", json.dumps([vars(m) for m in mutants], indent=1) + "\n")
    return mutants


def build():
    tree = TREE / "build" / "lab"
    if not (tree / "build.ninja").exists():
        header = TREE / "crashlab" / "mutate" / "mutant.hpp"
        rule = PLACE / "mutant.cmake"
        put(rule, f"add_compile_options(-include {header})\n")
        done = subprocess.run(
            ["cmake", "--preset", "lab", f"-DCMAKE_PROJECT_holdfast_INCLUDE={rule}"],
            cwd=TREE, capture_output=True, text=True)
        if done.returncode != 0:
            fail(1, f"cmake could not configure {tree}:\n{done.stdout}{done.stderr}")
    say("building all mutants into one program")
    done = subprocess.run(["cmake", "--build", str(tree), "--target", "hf_hunt", "-j",
                           os.environ.get("HF_JOBS", str(os.cpu_count()))], stdout=sys.stderr)
    if done.returncode != 0:
        fail(1, "the mutated tree could not be built")


# ---------------------------------------------------------------- the hunt


def targets_by_room():
    listed = subprocess.run([str(HUNT), "--list"], capture_output=True, text=True, check=True)
    found = {}
    for line in listed.stdout.splitlines():
        room, name = line.split()
        found.setdefault(room, []).append(name)
    return found


class Hunter:
    """Starts the program; knows which targets have found something before."""

    def __init__(self, only, known):
        self.by_room = targets_by_room()
        everything = [t for names in self.by_room.values() for t in names]
        self.targets = only or everything
        unknown = set(self.targets) - set(everything)
        if unknown:
            fail(2, f"there is no target {', '.join(sorted(unknown))}")
        self.known = known
        self.kills = known.by_file()

    def order(self, mutant):
        """Those first that have noticed mutants of this file, then the room's own."""
        room = room_of(mutant.file) if mutant else None
        own = self.by_room.get(room, [])
        if room in ONLY_OWN_TARGETS and set(own) & set(self.targets):
            return [t for t in self.targets if t in own]
        scores = self.kills.get(mutant.file, {}) if mutant else {}
        return sorted(self.targets, key=lambda t: (-scores.get(t, 0), t not in own))

    def first(self, mutant):
        """What noticed it last time, if anything: hf_hunt begins with that."""
        kill = self.known.get(mutant.key()) if mutant else None
        return ["--first", *kill] if kill and kill[0] in self.targets else []

    def hunt(self, mutant, seconds, seed):
        """(outcome, the kill's target, seed and pass, seconds, what was found); the outcome is
        killed or survived."""
        number = mutant.number if mutant else 0
        begin = time.monotonic()
        child = subprocess.Popen(
            [str(HUNT), *self.first(mutant), str(seconds), str(seed), *self.order(mutant)],
            env={**os.environ, "HF_MUTANT": str(number)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        hung = False
        try:
            out, err = child.communicate(timeout=2 * seconds + 20)
        except subprocess.TimeoutExpired:
            hung = True
            child.kill()
            out, err = child.communicate()
        took = time.monotonic() - begin
        lines = out.splitlines()
        at = [line.split() for line in lines if line.startswith("at ")]
        # at TARGET seed SEED pass PASS, ...
        kill = (at[-1][1], at[-1][3], at[-1][5].rstrip(",")) if at else ("-", "0", "0")
        status = child.returncode
        if status == 0:
            return "survived", None, took, ""
        if status == 2:
            fail(2, err.strip())
        if hung:
            what = "the program did not end"
        elif status == 1 and lines and lines[-1].startswith("found "):
            what = lines[-1].split(" ", 3)[3]
        else:
            name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            last = err.strip().splitlines()
            what = f"the program died ({name})" + (f": {last[-1]}" if last else "")
        if mutant:
            scores = self.kills.setdefault(mutant.file, {})
            scores[kill[0]] = scores.get(kill[0], 0) + 1
        return "killed", kill, took, what


def show(mutant, outcome, detail):
    print(f"{mutant.number:4}  {mutant.file}:{mutant.line}  {mutant.kind}\n"
          f"      {mutant.text}\n      {outcome}{': ' if detail else ''}{detail}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("--room", choices=[*ROOMS, "all"], action="append",
                        help="mutants of this room; may be given more than once (all)")
    parser.add_argument("--only", type=int, action="append", metavar="NUMBER",
                        help="this mutant, whatever its room; may be given more than once")
    parser.add_argument("--again", metavar="FILE",
                        help="those that survived in an earlier run's --json FILE")
    parser.add_argument("--kind", action="append", metavar="WORDS", help="e.g. 'drop fence'")
    parser.add_argument("--list", action="store_true", help="list the mutants and run nothing")
    parser.add_argument("--seconds", type=float, default=20,
                        help="for each mutant (20); a quarter for those that are argued")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", help="only this target; may be repeated")
    parser.add_argument("--commit", help="mutate this commit instead of the working tree")
    parser.add_argument("--no-build", action="store_true", help="as the mutated tree stands")
    parser.add_argument("--json", metavar="FILE", help="write the results there too")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("HF_JOBS", os.cpu_count())),
                        help="hunts at a time (one for each processor)")
    parser.add_argument("--afresh", action="store_true",
                        help="without the help of kills.txt (where each was noticed last time), "
                             "and with full time for those that are argued")
    parser.add_argument("--remember", action="store_true", help="write kills.txt anew")
    options = parser.parse_args()

    if options.no_build:
        listed = json.loads((PLACE / "mutants.json").read_text())
        mutants = [sources.Mutant(**m) for m in listed]
    else:
        mutants = copy_and_mutate(originals(options.commit))
    rooms = set(ROOMS if not options.room or "all" in options.room else options.room)
    chosen = [m for m in mutants
              if (m.number in options.only if options.only else room_of(m.file) in rooms)
              and (not options.kind or m.kind in options.kind)]
    if options.again:
        earlier = json.loads(pathlib.Path(options.again).read_text())["mutants"]
        left = {(m["file"], m["function"], m["kind"], m["text"]) for m in earlier
                if m["outcome"] == "SURVIVED"}
        chosen = [m for m in chosen if m.key() in left]
    if not chosen:
        fail(2, "no mutant is meant")
    arguments = argued.read(pathlib.Path(__file__).with_name("argued.txt"))
    if options.list:
        for m in chosen:
            show(m, "argued" if m.key() in arguments else "", "")
        return 0
    if not options.no_build:
        build()

    place_of_kills = pathlib.Path(__file__).with_name("kills.txt")
    known = kills.read(place_of_kills)
    hunter = Hunter(options.target, kills.Kills() if options.afresh else known)
    say("the program as it was written must pass")
    outcome, kill, _, what = hunter.hunt(None, options.seconds, options.seed)
    if outcome == "killed":
        fail(1, f"it does not: {kill[0]}: {what}")

    results, counts = [], {"killed": 0, "argued": 0, "SURVIVED": 0}
    used = set()
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    # What is argued will survive: for that a look is enough, but for a run that starts afresh.
    look = options.seconds if options.afresh else options.seconds / 4
    hunts = [pool.submit(hunter.hunt, m, look if m.key() in arguments else options.seconds,
                         options.seed) for m in chosen]
    for turn, (m, hunt) in enumerate(zip(chosen, hunts), 1):
        if sys.stderr.isatty():
            print(f"\rmutate: {turn} of {len(chosen)}: {m.file}:{m.line} {m.kind}\033[K\r",
                  end="", file=sys.stderr, flush=True)
        outcome, kill, took, what = hunt.result()
        target = kill[0] if kill else ""
        detail = f"{target}, {took:.1f} s: {what}" if outcome == "killed" else ""
        if outcome == "killed":
            known[m.key()] = kill
        if outcome == "survived":
            outcome = "argued" if m.key() in arguments else "SURVIVED"
            used.add(m.key())
        counts[outcome] += 1
        show(m, outcome, detail)
        results.append({**vars(m), "outcome": outcome, "target": target,
                        "seconds": round(took, 2), "found": what})
        if options.json:
            pathlib.Path(options.json).write_text(
                json.dumps({"seconds": options.seconds, "seed": options.seed, "counts": counts,
                            "mutants": results}, indent=1) + "\n")
        if options.remember:
            kills.write(place_of_kills, known, {m.key() for m in mutants})
    # Several mutants may share a text: it is stale when none of them is left, all having been run.
    existing = {m.key() for m in mutants}
    met = existing - {m.key() for m in mutants if m not in chosen}
    stale = [key for key in arguments
             if key not in existing or (key in met and key not in used)]
    for key in stale:
        reason = "its mutant is noticed" if key in existing else "no such mutant"
        print(f"stale argument ({reason}): {', '.join(key)}")
    print("\n".join(f"  {outcome:<10}{n:4}" for outcome, n in counts.items()))
    print(f"  {'mutants':<10}{len(chosen):4}")
    return 0 if counts["SURVIVED"] == 0 and not stale else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        os._exit(130)  # the hunts that are under way have got the signal, too
