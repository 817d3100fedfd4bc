"""On what it was measured, in words, and how that differs from the paper's set-up."""

from words import short_number

from .plan import MOST_FOR_THREE, SMALL_TREE, thread_counts


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
        f"begun {entry['begun']} at a load of {entry['load']}"])


def caption_of_sizes(results):
    """As caption(), of many measurements: the records are the x axis."""
    first = results.sizes()[0][1]
    parts = caption(results, first).split("; ")
    settings = results.settings
    few, many = settings["operations"], settings["operations"] * 4
    parts[3] = (f"{short_number(few)} operations a thread, {short_number(many)} in trees of up to "
                f"{short_number(SMALL_TREE)} records")
    return "; ".join(parts)


def remarks(results):
    """What is not as in the paper, on this machine."""
    settings = results.settings
    cores = settings["cores"]
    counts = ", ".join(map(str, thread_counts(settings)))
    said = [
        f"The paper had 28 cores (56 hardware threads) and ran 8 threads; here {cores} threads on "
        f"{cores} cores do the work. Figure 4 has {counts} threads: beyond {cores} they share "
        "cores, so these points say what waiting for a core costs, and nothing about scaling.",
        "The paper flushes all caches by wbinvd, an instruction of the kernel. Holdfast notes "
        "which lines it changes, and writes back these from user space; what is emulated behind "
        "a fence is the same.",
        "INCLL's leaves have logs that the paper's have not (a slot that was free at the epoch's "
        "start takes none), and small values lie in the leaf; MT and MT+ are the same tree "
        "without logs, so the ratios are about the logs.",
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
