#!/usr/bin/env python3
"""Pretends to be `holdfast bench`: its speeds follow from PRETEND, a JSON object in the
environment ("exit": of a call that has this argument, the exit status). Each call is a line in the
file PRETEND_LOG."""

import json
import os
import sys

DEFAULTS = {
    "speed": 1e6,           # of MT+, one thread, uniform, 10K records
    "zipfian": 1.5,         # times as fast
    "malloc": 0.8,          # speed of MT to that of MT+
    "loss": {"A": 0.12, "B": 0.09, "C": 0.08, "E": 0.06},
    "zipfian loss": 0.8,    # of the uniform one
    "by size": {},          # loss of INCLL in workload A at so many records
    "shrinks": 0.15,        # with ten times the records
    "latency": {"incll": 0.04, "logged": 0.4},  # lost at 1000 ns
    "scales": 1.0,          # 1: twice the speed with twice the threads
    "logs": 0.1,            # entries an operation of INCLL to those of LOGGING
    "pause": 300.0,
    "recovery ms": 10.0,
    "noise": 0.0,           # the last repetition differs by so much
}


def given(arguments):
    return dict(zip(arguments[2::2], arguments[3::2]))


def integers(text):
    return [int(one) for one in text.split(",")]


def loss(model, tree, work, spread, records, latency):
    lost = 0.0
    if tree in ("incll", "logged"):
        lost = model["by size"].get(str(records), model["loss"][work])
        lost *= model["zipfian loss"] if spread == "zipfian" else 1
        lost = 1 - (1 - lost) * (1 - model["latency"][tree] * latency / 1000)
    return 1 - (1 - lost) * (model["malloc"] if tree == "malloc" else 1)


def logged(model, tree, records):
    """Rises to 1M, then falls."""
    size = min(records, 1_000_000 ** 2 / records) / 1e6
    return {"incll": model["logs"], "logged": 1.0}.get(tree, 0) * size


def point(model, options, work, spread, threads, latency, tree):
    records, operations = int(options["--records"]), int(options["--operations"]) * threads
    decades = len(str(records)) - 5
    speed = model["speed"] * (model["zipfian"] if spread == "zipfian" else 1)
    speed *= (1 - model["shrinks"]) ** decades * (1 + (threads - 1) * model["scales"])
    speed *= 1 - loss(model, tree, work, spread, records, latency)
    repetitions = []
    for n in range(int(options["--repetitions"])):
        factor = 1 + (model["noise"] if n == 0 and tree == "incll" else 0)
        seconds = operations / (speed * factor)
        repetitions.append({
            "operations": operations, "seconds": seconds, "cpu seconds": seconds * threads,
            "pauses us": [model["pause"]] * 3,
            "log entries": logged(model, tree, records) * operations})
    return {"workload": work, "distribution": spread, "discipline": tree, "records": records,
            "threads": threads, "fence latency ns": latency, "repetitions": repetitions}


def ycsb(model, options):
    return [point(model, options, work, spread, threads, latency, tree)
            for work in options["--workloads"].split(",") for spread in ("uniform", "zipfian")
            for threads in integers(options["--threads"])
            for latency in integers(options["--latency"])
            for tree in options["--compare"].split(",")]


def recovery(model, options):
    entries = int(options["--log-entries"])
    return [{"discipline": "incll", "openings": [
        {"ms": model["recovery ms"], "entries applied": entries}] * int(options["--repetitions"])}]


def output(arguments, changes):
    """What the program writes on the machine that differs from the default one by `changes`."""
    measure = {"ycsb": ycsb, "recovery": recovery}[arguments[1]]
    environment = {"processor": "pretended", "memory": "1 GiB", "kernel": "none",
                   "version": "0 (pretended)", "build": "release", "regions": "nowhere"}
    return {"environment": environment,
            "results": measure({**DEFAULTS, **changes}, given(arguments))}


def main(arguments):
    model = json.loads(os.environ.get("PRETEND", "{}"))
    with open(os.environ["PRETEND_LOG"], "a", encoding="utf-8") as log:
        log.write(" ".join(arguments) + "\n")
    for argument, status in model.get("exit", {}).items():
        if argument in arguments:
            print(f"cannot do it with {argument}", file=sys.stderr)
            return status
    print(json.dumps(output(arguments, model)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
