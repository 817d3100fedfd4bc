"""On what it was measured, in words, and how that differs from the paper's set-up."""

from samples import quantile
from words import percent, short_number

from .plan import SETTINGS

# A thread that has a core for less of the time shares it with somebody.
IDLE = 0.95


def caption(results, name):
    """Of a figure: machine, program, options."""
    entry = results.entry(name)
    there = entry["output"]["environment"]
    given = dict(zip(entry["arguments"][2::2], entry["arguments"][3::2]))
    return "; ".join([
        f"{there['processor']}, {there['memory']}, {there['kernel']}",
        f"Holdfast {there['version']}, {there['build']}",
        f"files: {there['files']}",
        f"{short_number(int(given['--records']))} records, then "
        f"{short_number(int(given['--operations']))} operations of a workload, four times as many "
        "of C, a quarter of E",
        f"threads: {given['--threads'].replace(',', ', ')}",
        "values of 8 bytes",
        f"medians and quartiles of {given['--repetitions']} repetitions, seed {given['--seed']}",
        f"begun {entry['begun']}"])


def core_share(results):
    """Of the time that our indexes were measured, how much of it a thread had a core; None:
    unknown."""
    shares = [repetition["cpu seconds"] / repetition["seconds"] / cell["threads"]
              for entry in results.entries.values() for cell in entry["output"]["results"]
              if cell["store"].endswith("-eager")
              and cell["threads"] <= results.settings["cores"]
              for repetition in cell["repetitions"]]
    return quantile(shares, 0.5) if shares else None


def other_numbers(settings):
    changed = [f"{name}={short_number(value)} ({short_number(SETTINGS[name])})"
               for name, value in settings.items() if name != "cores" and value != SETTINGS[name]]
    return [f"Other numbers than usual (in brackets): {', '.join(changed)}."] if changed else []


def idleness(results):
    share = core_share(results)
    if share is None:
        return []
    verdict = ("the machine had little else to do" if share >= IDLE else
               "others used the machine, so its numbers are rough, and should be measured again")
    return [f"The working threads had a core for {percent(share)} of the time: {verdict}."]


def set_ups(results):
    """Of the peers, as they say it themselves."""
    if "peers" not in results.entries:
        return []
    output = results.entries["peers"]["output"]
    return [f"{name}: {text}." for name, text in output["stores"].items()
            if "-eager" not in name] + [f"{name} is left out: {why}."
                                        for name, why in output["left out"].items()]


def remarks(results):
    """What is not as in the paper, on this machine."""
    cores = results.settings["cores"]
    said = other_numbers(results.settings) + idleness(results) + [
        "The paper had two sockets with 96 cores and Optane DC persistent memory; here "
        f"{cores} threads run on {cores} cores, and what is written back by clwb lies in tmpfs.",
        "The text of the paper that this project has is the short version, which gives no tables: "
        "the numbers of the originals are quoted from runs of their published code on a machine of "
        "this kind, and are marked as quoted.",
        "The indexes are the engine behind `hf::eager_map`: each operation is one virtual call, "
        "allocates from the region's own heap, and leaks nothing. The originals allocate by "
        "malloc, are called directly, and never free.",
        "The hand-made indexes of the paper (FAST & FAIR, CCEH, Level hashing) are in no package "
        "registry; what is measured beside ours are LMDB, RocksDB and libpmemobj.",
        "Each repetition makes new stores, loads them, and runs the workloads on them: reads "
        "first, what inserts most last. Every value that is read is compared with its key.",
        "The string keys are `user` and 20 digits; the integers are random 8-byte numbers.",
    ] + set_ups(results)
    said += [f"Left out: {name.replace('_', ' ')}. {why}"
             for name, why in results.left_out.items()]
    return said
