"""On what it was measured, in words, and how that differs from the paper's set-up."""

from samples import quantile
from words import percent, short_number

from .plan import MOST_FOR_THREE, MT_PLUS, SETTINGS, SMALL_TREE, thread_counts

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
        f"regions: {there['regions']}",
        f"{short_number(int(given['--records']))} records, "
        f"{short_number(int(given['--operations']))} operations a thread",
        f"threads: {given['--threads'].replace(',', ', ')}",
        "keys and values of 8 bytes, epochs of 64 ms",
        f"medians and quartiles of {given['--repetitions']} repetitions, seed {given['--seed']}",
        f"begun {entry['begun']}"])


def caption_of_sizes(results):
    """As caption(), of many measurements: the records are the x axis."""
    first = results.sizes()[0][1]
    parts = caption(results, first).split("; ")
    settings = results.settings
    few, many = settings["operations"], settings["operations"] * 4
    parts[3] = (f"{short_number(few)} operations a thread, {short_number(many)} in trees of up to "
                f"{short_number(SMALL_TREE)} records")
    return "; ".join(parts)


def core_share(results):
    """Of the time that MT+ was measured, how much of it a thread had a core; None: unknown."""
    cores = results.settings["cores"]
    shares = [repetition["cpu seconds"] / repetition["seconds"] / cell["threads"]
              for entry in results.entries.values() for cell in entry["output"]["results"]
              if cell["discipline"] == MT_PLUS and cell["threads"] <= cores
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
    return [f"The working threads of MT+ had a core for {percent(share)} of the time: {verdict}."]


def remarks(results):
    """What is not as in the paper, on this machine."""
    settings = results.settings
    cores = settings["cores"]
    counts = ", ".join(map(str, thread_counts(settings)))
    said = other_numbers(settings) + idleness(results) + [
        f"The paper had 28 cores (56 hardware threads) and ran 8 threads; here {cores} threads on "
        f"{cores} cores do the work. Figure 4 has {counts} threads: beyond {cores} they share "
        "cores, so these points say what waiting for a core costs, and nothing about scaling.",
        "The paper flushes all caches by wbinvd, an instruction of the kernel. Holdfast notes "
        "which lines it changes, and writes back these from user space; what is emulated behind "
        "a fence is the same.",
        "INCLL's leaves log more in their lines than the paper's: free value slots serve as "
        "further logs, and a slot that was free at the epoch's start may be filled without one. MT "
        "and MT+ are the same tree with every log compiled out, MT with memory from malloc.",
        "The trees are the engine behind `hf::map`, without the map's hints.",
        "The paper reports means of 10 repetitions, this page medians with their quartiles.",
    ]
    biggest = max((records for records, _ in results.sizes()), default=0)
    if biggest:
        said.append(f"Figures 5 to 7 go to {short_number(biggest)} records (the paper's to 100M), "
                    f"LOGGING to {short_number(MOST_FOR_THREE)} at most: three trees share the "
                    "memory.")
    said += [f"Left out: {name.replace('_', ' ')}. {why}"
             for name, why in results.left_out.items()]
    return said
