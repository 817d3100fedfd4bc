#!/usr/bin/env python3
"""The mutation gate (docs/mutation.md): breaks each flush, fence, note, log write and ordered store
of a room, or a condition or call of it, one at a time, and demands that the crash lab or the room's
tests notice."""

import argparse
import concurrent.futures
import filecmp
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import argued  # noqa: E402
import judges  # noqa: E402
import kills  # noqa: E402
import logic  # noqa: E402
import rooms  # noqa: E402
import seeded  # noqa: E402
import sources  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "build" / "mutate"
TREE = PLACE / "tree"
COPIED = ["CMakeLists.txt", "CMakePresets.json", "README.md", "bench", "cmake", "crashlab",
          "examples", "fuzz", "include", "sim", "src", "tests", "tools"]
HUNT = TREE / "build" / "lab" / "crashlab" / "hf_hunt"
TESTS = TREE / "build" / "tests"
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
    there = subprocess.run(["git", "-C", str(ROOT), "ls-tree", "--name-only", commit],
                           capture_output=True, text=True, check=True).stdout.split()
    archive = subprocess.Popen(["git", "-C", str(ROOT), "archive", commit,
                                *(c for c in COPIED if c in there)],
                               stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(place)], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        fail(2, f"git cannot show {commit}")
    # The gate itself is this checkout's.
    shutil.copytree(ROOT / "crashlab" / "mutate", place / "crashlab" / "mutate",
                    dirs_exist_ok=True)
    for rules in (p for top in rooms.TOPS for p in (ROOT / top).rglob("mutation.txt")):
        target = place / rules.relative_to(ROOT)
        if target.parent.is_dir():
            shutil.copyfile(rules, target)
    return place


def is_left_out(mutant, room):
    """Of what only the lab could notice, what it has no model of; tests may notice the rest."""
    return mutant.kind not in logic.KINDS and (mutant.file in room.skip or room.targets == "none")


def is_for_tests(mutant, all_rooms):
    """Shown to them first; a seeded bug last."""
    return mutant.kind in logic.KINDS or all_rooms.of(mutant.file).is_tested(mutant.text)


def is_for_lab(mutant, all_rooms):
    room = all_rooms.of(mutant.file)
    return room.targets != "none" and not (mutant.kind not in logic.KINDS
                                           and room.is_tested(mutant.text))


def is_copied(path):
    return path.is_file() and "__pycache__" not in path.parts


def files_below(origin):
    """Path and name of each file that the mutated tree has."""
    for top in COPIED:
        start = origin / top
        if start.is_file():
            yield start, top
        elif start.is_dir():
            for path in sorted(p for p in start.rglob("*") if is_copied(p)):
                yield path, str(path.relative_to(origin))


def find(origin, all_rooms):
    """What can be broken: the files by name, parsed, and all mutants, numbered from 1."""
    parsed, mutants = {}, []
    for path, name in files_below(origin):
        room = all_rooms.of(name)
        if room is None or path.suffix not in (".hpp", ".cpp"):
            continue
        found = sources.File(name, path.read_text(), room)
        found.parse()
        found.mutants = [m for m in found.mutants if not is_left_out(m, room)]
        parsed[name] = found
        for mutant in sorted(found.mutants, key=lambda m: m.line):
            mutant.number = len(mutants) + 1
            mutants.append(mutant)
    # Their texts are this checkout's.
    bugs = ROOT / "crashlab" / "mutate" / "seeded.txt"
    for bug in seeded.read(bugs) if origin == ROOT else []:
        mutants.append(seeded.plant(parsed[bug.file], bug))
        mutants[-1].number = len(mutants)
    sources.tell_apart(mutants)
    return parsed, mutants


def write_tree(origin, parsed, mutants, unfit=frozenset()):
    """The mutated tree, without the mutants that are `unfit`. A mutant that has no number is one
    that is left out."""
    wanted = set()
    out = {0} | {m.number for m in mutants if m.key() in unfit}
    for path, name in files_below(origin):
        wanted.add(name)
        target = TREE / name
        if name in parsed:
            put(target, parsed[name].mutated(out))
        elif name == "crashlab/CMakeLists.txt":
            put(target, path.read_text() + HUNT_RULE)
        elif not target.exists() or not filecmp.cmp(path, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            shutil.copymode(path, target)
    for path, name in list(files_below(TREE)):
        if name not in wanted:
            path.unlink()
    put(PLACE / "mutants.json", json.dumps([vars(m) for m in mutants], indent=1) + "\n")


def configure(tree, preset, *more):
    if (tree / "build.ninja").exists():
        return
    header = TREE / "crashlab" / "mutate" / "mutant.hpp"
    rule = PLACE / "mutant.cmake"
    put(rule, f"add_compile_options(-include {header})\n")
    done = subprocess.run(
        ["cmake", "--preset", preset, "-B", str(tree), "-DHF_WERROR=OFF",
         f"-DCMAKE_PROJECT_holdfast_INCLUDE={rule}", *more],
        cwd=TREE, capture_output=True, text=True)
    if done.returncode != 0:
        fail(1, f"cmake could not configure {tree}:\n{done.stdout}{done.stderr}")


ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error:",
                   re.MULTILINE)
MARK = re.compile(r"is_mutant\((\d+)\)")


def begun_last(place, line, column, near):
    """Of several mutants, the one whose text in the mutated tree begins last before a place there:
    what the compiler complains of is its own, and not its neighbours'. None: none does."""
    if not place.exists():
        return None
    lines = place.read_text().splitlines()[:line]
    if not lines:
        return None
    lines[-1] = lines[-1].encode()[:column - 1].decode(errors="replace")  # columns count bytes
    numbers = {m.number: m for m in near}
    for text in reversed(lines[-4:]):
        begun = [numbers[int(n)] for n in MARK.findall(text) if int(n) in numbers]
        if begun:
            return begun[-1]
    return None


def blamed(text, tree, mutants, unfit):
    """The mutants that the compiler complains of. Where that cannot be told, all at the line, first
    those of conditions and calls. What is `unfit` has been left out already."""
    places = set()
    for found in ERROR.finditer(text):
        path = (tree / found["file"]).resolve()
        if path.is_relative_to(TREE):
            places.add((path, int(found["line"]), int(found["column"])))
    found = []
    for path, line, column in sorted(places):
        file = str(path.relative_to(TREE))
        near = [m for m in mutants if m.file == file and 0 <= line - m.line < 4
                and m.key() not in unfit]
        one = begun_last(path, line, column, near)
        near = [m for m in near if m.kind in logic.KINDS] or near
        # A condition may be longer than its first line.
        found += [one] if one else [m for m in near if m.line == line] or near
    return found


def compile_tree(tree, wanted):
    """What the compiler says when it fails; None otherwise."""
    jobs = os.environ.get("HF_JOBS", str(os.cpu_count()))
    done = subprocess.run(["cmake", "--build", str(tree), "--target", *wanted, "-j", jobs, "--",
                           "-k", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if done.returncode == 0 else done.stdout


def build(origin, parsed, mutants, with_lab, programs):
    """Leaves out mutants that do not compile, until all that is left does. Returns those."""
    place = PLACE / "unfit.json"
    unfit = {tuple(k) for k in json.loads(place.read_text())} if place.exists() else set()
    write_tree(origin, parsed, mutants, unfit)
    trees = []
    if with_lab:
        configure(HUNT.parents[1], "lab")
        trees.append((HUNT.parents[1], ["hf_hunt"]))
    if programs:
        configure(TESTS, "dev", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g0 -D_GLIBCXX_ASSERTIONS")
        trees.append((TESTS, programs))
    for tree, wanted in trees:
        say(f"building all mutants into {', '.join(wanted)}")
        while text := compile_tree(tree, wanted):
            more = {m.key() for m in blamed(text, tree, mutants, unfit)}
            if not more:
                fail(1, f"the mutated tree could not be built:\n{text[-6000:]}")
            unfit |= more
            say(f"{len(unfit)} mutants do not compile and are left out")
            put(place, json.dumps(sorted(unfit)))
            write_tree(origin, parsed, mutants, unfit)
    return [m for m in mutants if m.key() not in unfit]


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

    def __init__(self, only, known, all_rooms, tests):
        self.all_rooms, self.tests = all_rooms, tests
        self.by_room = targets_by_room() if HUNT.exists() else {}
        everything = [t for names in self.by_room.values() for t in names]
        self.targets = only or everything
        unknown = set(self.targets) - set(everything)
        if unknown:
            fail(2, f"there is no target {', '.join(sorted(unknown))}")
        self.known = known
        self.kills = known.by_file()
        self.reached = {}

    def targets_of(self, mutants):
        """Those that any of them may be shown to."""
        return sorted({t for m in mutants for t in self.in_order(m)})

    def measure(self, targets, seed):
        """Which mutants each target comes by when nothing is broken."""
        for target in targets:
            with tempfile.NamedTemporaryFile(dir=PLACE) as place:
                os.truncate(place.name, judges.MOST_MUTANTS)
                subprocess.run([str(HUNT), "1", str(seed), target], stdout=subprocess.DEVNULL,
                               env={**os.environ, "HF_MUTANTS_REACHED": place.name}, check=True)
                self.reached[target] = place.read()

    def order(self, mutant):
        """Of those that come by it: first who has noticed mutants of this file, then the room's
        own."""
        found = self.in_order(mutant)
        reached = [t for t in found if not mutant or t not in self.reached
                   or self.reached[t][mutant.number]]
        return reached or found

    def in_order(self, mutant):
        room = self.all_rooms.of(mutant.file) if mutant else None
        own = self.by_room.get(room.name, []) if room else []
        if room and room.targets == "own" and set(own) & set(self.targets):
            return [t for t in self.targets if t in own]
        scores = self.kills.get(mutant.file, {}) if mutant else {}
        return sorted(self.targets, key=lambda t: (-scores.get(t, 0), t not in own))

    def first(self, mutant):
        """What noticed it last time, if anything: hf_hunt begins with that."""
        kill = self.known.get(mutant.key()) if mutant else None
        return ["--first", *kill] if kill and kill[0] in self.targets else []

    def judge(self, mutant, seconds, seed):
        """As hunt(); what is no matter of persistence is shown to the room's tests first, a seeded
        bug last."""
        begin = time.monotonic()
        if mutant and is_for_tests(mutant, self.all_rooms):
            kill, what = self.shown_to_tests(mutant)
            if what or not is_for_lab(mutant, self.all_rooms) or not self.targets:
                return "killed" if what else "survived", kill, time.monotonic() - begin, what
        outcome, kill, _, what = self.hunt(mutant, seconds, seed)
        if outcome == "survived" and mutant and mutant.kind == seeded.KIND:
            kill, what = self.shown_to_tests(mutant)
            outcome = "killed" if what else "survived"
        return outcome, kill, time.monotonic() - begin, what

    def shown_to_tests(self, mutant):
        """Which of the room's test programs notices it, as a kill, and what it says; None, "": none
        does."""
        room = self.all_rooms.of(mutant.file)
        known = self.known.get(mutant.key())
        for name, filter_ in sorted(room.tests, key=lambda t: not known or t[0] != known[0]):
            what = self.tests.run(name, filter_, mutant.number)
            if what:
                return (name, "0", "0"), what
        return None, ""

    def judge_alone(self, mutant, seconds, seed):
        """As judge(), for what has survived: up to three times more, with other seeds."""
        for again in range(1, 4):
            verdict = self.judge(mutant, seconds, seed + again)
            if verdict[0] == "killed":
                break
        return verdict

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


ORDER_KINDS = ["drop flush", "drop fence", "drop flush and fence", "drop sync", "drop header write",
               "drop note", "drop log write", "drop store", "weaken store", "swap stores"]


def kinds_meant(words):
    """Of --kind: a kind, a part of its name, order, logic, or all."""
    every = ORDER_KINDS + logic.KINDS + [seeded.KIND]
    found = set()
    for word in words or ["order"]:
        groups = {"order": ORDER_KINDS, "logic": logic.KINDS, "all": every}
        more = groups.get(word) or [k for k in every if k == word] or \
            [k for k in every if word in k]
        if not more:
            fail(2, f"there is no kind '{word}'; there are {', '.join(every)}")
        found.update(more)
    return found


def options_of(arguments, names):
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__)
    parser.add_argument("--room", choices=[*names, "all"], action="append",
                        help="mutants of this room; may be given more than once (all)")
    parser.add_argument("--only", type=int, action="append", metavar="NUMBER",
                        help="this mutant, whatever its room; may be given more than once")
    parser.add_argument("--again", metavar="FILE",
                        help="those that survived in an earlier run's --json FILE")
    parser.add_argument("--kind", action="append", metavar="WORDS",
                        help="a kind or a part of its name, e.g. 'drop fence' or conjunct; order: "
                             "all that is about persistence (if none is given); logic: conditions "
                             "and calls, judged by the room's tests, too; all")
    parser.add_argument("--sample", type=int, metavar="N",
                        help="so many of those that are meant, drawn with --seed")
    parser.add_argument("--list", action="store_true", help="list the mutants and run nothing")
    parser.add_argument("--seconds", type=float, default=20,
                        help="of the lab for each mutant (20); a quarter for those that are argued")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", action="append", help="only this target; may be repeated")
    parser.add_argument("--no-lab", action="store_true", help="the rooms' tests judge alone")
    parser.add_argument("--commit", help="mutate this commit instead of the working tree")
    parser.add_argument("--no-build", action="store_true", help="as the mutated tree stands")
    parser.add_argument("--json", metavar="FILE", help="write the results there too")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("HF_JOBS", os.cpu_count())),
                        help="mutants at a time (one for each processor)")
    parser.add_argument("--afresh", action="store_true",
                        help="without the help of kills.txt (where each was noticed last time), "
                             "and with full time for those that are argued")
    parser.add_argument("--remember", action="store_true", help="write kills.txt anew")
    return parser.parse_args(arguments)


def choose(mutants, all_rooms, options):
    wanted = set(options.room or ["all"])
    kinds = kinds_meant(options.kind)
    chosen = [m for m in mutants
              if (m.number in options.only if options.only else
                  ("all" in wanted or all_rooms.of(m.file).name in wanted) and m.kind in kinds)]
    if options.again:
        earlier = json.loads(pathlib.Path(options.again).read_text())["mutants"]
        left = {(m["file"], m["function"], m["kind"], m["text"]) for m in earlier
                if m["outcome"] == "SURVIVED"}
        chosen = [m for m in mutants if m.key() in left]
    if options.sample is not None and options.sample < len(chosen):
        say(f"{options.sample} of {len(chosen)} mutants, drawn with seed {options.seed}")
        drawn = random.Random(options.seed).sample(chosen, options.sample)
        chosen = sorted(drawn, key=lambda m: m.number)
    if not chosen:
        fail(2, "no mutant is meant")
    return chosen


def main():
    origin = ROOT
    commit = [a for a in sys.argv[1:] if a.startswith("--commit")]
    all_rooms = rooms.read(ROOT)
    options = options_of(sys.argv[1:], [r.name for r in all_rooms])
    if commit:
        origin = originals(options.commit)
        all_rooms = rooms.read(origin)
    if options.no_build:
        listed = json.loads((PLACE / "mutants.json").read_text())
        parsed, mutants = {}, [sources.Mutant(**m) for m in listed]
    else:
        parsed, mutants = find(origin, all_rooms)
    chosen = choose(mutants, all_rooms, options)
    arguments = argued.read(ROOT / "crashlab" / "mutate" / "argued.txt")
    if options.list:
        for m in chosen:
            show(m, "argued" if m.key() in arguments else "", "")
        print(f"  {'mutants':<10}{len(chosen):4}")
        return 0
    return run(options, origin, all_rooms, parsed, mutants, chosen, arguments)


def needs_lab(mutant, all_rooms, options):
    if mutant.kind not in logic.KINDS and not is_for_tests(mutant, all_rooms):
        return True
    return not options.no_lab and is_for_lab(mutant, all_rooms)


def run(options, origin, all_rooms, parsed, mutants, chosen, arguments):
    """Builds, judges, tells; returns the exit status."""
    with_lab = any(needs_lab(m, all_rooms, options) for m in chosen)
    tested = {all_rooms.of(m.file).name for m in chosen
              if m.kind == seeded.KIND or is_for_tests(m, all_rooms)}
    programs = sorted({name for room in tested for name, _ in all_rooms.called(room).tests})
    if not options.no_build:
        existing = build(origin, parsed, mutants, with_lab, programs)
        fit = {m.key() for m in existing}
        say(f"{sum(m.key() not in fit for m in chosen)} of those that are meant do not compile")
        chosen = [m for m in existing if m.key() in {c.key() for c in chosen}]
    tests = judges.Tests(TESTS, PLACE / "scratch", options.jobs)
    wrong = tests.measure({t for room in tested for t in all_rooms.called(room).tests})
    if wrong:
        fail(1, f"the program as it was written must pass, and does not: {wrong}")

    place_of_kills = ROOT / "crashlab" / "mutate" / "kills.txt"
    known = kills.read(place_of_kills)
    hunter = Hunter(options.target, kills.Kills() if options.afresh else known, all_rooms, tests)
    if not with_lab:
        hunter.targets = []
    if with_lab:
        say("the program as it was written must pass")
        outcome, kill, _, what = hunter.hunt(None, options.seconds, options.seed)
        if outcome == "killed":
            fail(1, f"it does not: {kill[0]}: {what}")
        targets = hunter.targets_of(chosen)
        # A second for each of them; for a mutant it takes --seconds to know.
        if len(chosen) * options.seconds > len(targets):
            hunter.measure(targets, options.seed)

    results, counts = [], {"killed": 0, "argued": 0, "SURVIVED": 0}
    used = set()

    def record(m, outcome, kill, took, what):
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

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    # What is argued will survive: for that a look is enough, but for a run that starts afresh.
    look = options.seconds if options.afresh else options.seconds / 4
    hunts = [pool.submit(hunter.judge, m, look if m.key() in arguments else options.seconds,
                         options.seed) for m in chosen]
    unnoticed = []
    for turn, (m, hunt) in enumerate(zip(chosen, hunts), 1):
        if sys.stderr.isatty():
            print(f"\rmutate: {turn} of {len(chosen)}: {m.file}:{m.line} {m.kind}\033[K\r",
                  end="", file=sys.stderr, flush=True)
        verdict = hunt.result()
        if verdict[0] == "survived" and m.key() not in arguments:
            unnoticed.append(m)
        else:
            record(m, *verdict)
    # A race needs processors: what two hunts at a time have not met, one alone may.
    for m in unnoticed:
        record(m, *hunter.judge_alone(m, options.seconds, options.seed))
    # Several mutants may share a text. It is stale when none of them is left, all having been run.
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
        if "--self-test" in sys.argv[1:]:
            import self_test
            sys.exit(self_test.main())
        sys.exit(main())
    except KeyboardInterrupt:
        os._exit(130)  # the hunts that are under way have got the signal, too
