"""On what it was measured, in words, and how that differs from the paper's set-up."""

from words import short_number

from .plan import SETTINGS


def caption(results, name):
    """Of a figure: program, machine, options."""
    entry = results.entry(name)
    output = entry["output"]
    there, options = output["environment"], output["options"]
    return "; ".join([
        f"Holdfast {there['version']}, {there['build']}",
        f"{short_number(options['operations'])} operations of each small program, "
        f"{short_number(options['megabytes'])} MB of input for dedup, "
        f"{options['repetitions']} repetitions",
        f"begun {entry['begun']}"])


def remarks(results):
    """What is not as in the paper."""
    changed = [f"{name}={short_number(value)} ({short_number(SETTINGS[name])})"
               for name, value in results.settings.items() if value != SETTINGS[name]]
    said = [f"Other numbers than usual (in brackets): {', '.join(changed)}."] if changed else []
    said += [
        "The paper ran on 16 cores of four Xeon E7330 at 2.4 GHz; this machine may have fewer "
        "cores than four, and then four threads share them.",
        "The files are on tmpfs, as the paper's were. Where flushes are on, lines are written back "
        "all the same, with the processor's instruction.",
        "dedup is not PARSEC's: a pipeline with the same stages, written for this project "
        "(examples/sections/dedup), on a stream of which about half has been there before. Queues "
        "and chunks are transient; the table of chunks is durable.",
        "Stores are announced by the program's own calls, which are those that the compiler plugin "
        "inserts. Locks are the runtime's functions, without interposition.",
        "The row on a disk is a file that is mapped shared; each outermost section ends with an "
        "msync() of the pages that it stored to. It has 1,000 operations; times are an operation.",
        "memcached, the paper's second program, is examples/memcached with a demonstration of its "
        "own; it is not part of this page.",
        "The paper's programs logged acquires and releases as entries; graph mode here logs one "
        "entry where a section begins, one where it ends, and one for each dependence.",
    ]
    said += [f"Left out: {name}. {why}" for name, why in results.left_out.items()]
    return said
