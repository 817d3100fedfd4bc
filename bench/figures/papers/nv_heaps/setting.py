"""On what it was measured, in words, and how that differs from the paper's set-up."""

from words import short_number

from .plan import SETTINGS


def caption(results, name):
    """Of a figure: machine, program, options."""
    entry = results.entry(name)
    output = entry["output"]
    there, options = output["environment"], output["options"]
    return "; ".join([
        f"{there['processor']}, {there['memory']}, {there['kernel']}",
        f"Holdfast {there['version']}, {there['build']}",
        f"files in {options['directory']}, lines written back by clwb or what there is",
        f"{short_number(options['elements'])} elements, {short_number(options['items'])} items, "
        f"graphs of {short_number(options['vertices'])} and {short_number(options['graph'])} "
        "vertices",
        f"medians and quartiles of {options['repetitions']} rounds of {options['round_ms']} ms, "
        f"seed {options['seed']}",
        f"begun {entry['begun']}"])


def other_numbers(settings):
    changed = [f"{name}={short_number(value)} ({short_number(SETTINGS[name])})"
               for name, value in settings.items() if name != "cores" and value != SETTINGS[name]]
    return [f"Other numbers than usual (in brackets): {', '.join(changed)}."] if changed else []


def missing_peers(results):
    found = {}
    for name in ("systems", "cache"):
        if name in results.entries:
            found |= results.entries[name]["output"].get("left out", {})
    return [f"{name} is left out: {why}." for name, why in found.items()]


def remarks(results):
    """What is not as in the paper, on this machine."""
    cores = results.settings["cores"]
    said = other_numbers(results.settings) + missing_peers(results) + [
        f"The paper ran 8 threads on 8 cores; here there are {cores}.",
        "The paper simulated PCM and STTM by counting misses of the last cache and epoch barriers, "
        "with 67 ns for a read and 215 ns for a write of PCM (29 and 95 of STTM, 25 and 35 of "
        "DRAM). Here the difference of the write times to DRAM's is waited for behind every "
        "fence; slower reads are not played.",
        "The paper's barriers are an instruction that no processor has (section 3.2); here a "
        "fence waits for the lines that were written back.",
        "The layers BASE, SAFE and TX are heaps of one thread, policies of one template "
        "(holdfast/nv/layers.hpp). What BASE and SAFE store is durable with the epoch, which is "
        "their checkpoint; the paper says no more of BASE than that it resembles Rio Vista.",
        "C-TX commits with a redo record and one fence. The bars named undo log are the same heap "
        "with the paper's kind of log, which has three fences a transaction.",
        "Stasis can't be had: no package registry has it. Beside Berkeley DB stand LMDB and "
        "libpmemobj, which are younger than the paper.",
        "Memcached's load runs in the process, on the same items of 16 and 512 bytes: the paper's "
        "was behind a socket, whose cost hides most of a store's. In memcached's place stands a "
        "hash table in ordinary memory, with malloc and a lock.",
        "Structures are smaller than the paper's, of up to 24 GB; each of one figure has its own, "
        "and they take turns.",
        "SixDegs answers one question and makes one change in turn of chance; edges of its graph "
        "are weak pointers, for they run in circles.",
    ]
    said += [f"Left out: {name.replace('_', ' ')}. {why}"
             for name, why in results.left_out.items()]
    return said
