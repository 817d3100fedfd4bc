"""On what it was counted, in words, and how that differs from the paper's set-up."""

from words import short_number

from .plan import BASELINE, SETTINGS


def caption(results, name):
    """Of a figure: program, options."""
    entry = results.entry(name)
    output = entry["output"]
    there, options = output["environment"], output["options"]
    return "; ".join([
        f"simulated by Holdfast {there['version']}, {there['build']}",
        f"{short_number(options['bytes'])} bytes a structure, nodes of {options['node']} bytes in "
        "the B-tree where nothing else is said",
        f"{short_number(options['transactions'])} transactions after "
        f"{short_number(options['warm up'])}, seed {options['seed']}",
        f"begun {entry['begun']}"])


def other_numbers(settings):
    changed = [f"{name}={short_number(value)} ({short_number(SETTINGS[name])})"
               for name, value in settings.items() if value != SETTINGS[name]]
    return [f"Other numbers than usual (in brackets): {', '.join(changed)}."] if changed else []


def remarks(results):
    """What is not as in the paper."""
    said = other_numbers(results.settings) + [
        "The paper's figures show bars without numbers in its text; only the range of 1.2 to 1.96, "
        "17% and 98% are given. They are what the claims below are held against.",
        "The paper simulates with McSimA+, cycle by cycle; here a simulator of TLBs, caches and "
        "the shadow paging hardware (sim/) counts, and a simple in-order core gives times.",
        "The paper does not say what a record of its undo log holds, how records are packed, or "
        f"how a commit is marked. Here it is '{BASELINE}': 16 bytes of head and a line of old "
        "data, packed, each record durable before its store, and a line that marks the commit. "
        "The paper's two numbers for its best workload, 1.96 times fewer flushes of which 98% are "
        "data, would follow from a log of exactly one line a line of data; that one and all "
        "others are in part 'baselines'.",
        "The paper does not give its exponent of Zipf's law, whether hot keys are neighbours, the "
        "size of the B-tree's nodes, or operations a transaction. All are axes here, and move the "
        "result more than the mechanism does.",
        "The paper says TLB, and means an L1 DTLB of 64 entries; a second level of 1,536 entries "
        "is the other definition of the last TLB.",
        "The structures are those of `holdfast bench layers`, on accessors that tell the simulator "
        "each load and store. Their allocator's lists are volatile and not simulated. The "
        "red-black tree is a left-leaning one, which changes more nodes an operation.",
        "Entries of the state table are made at a page's first transactional store; part 'commit' "
        "shows what the paper's, at each TLB miss, cost. The paper counts flushes of neither.",
        "Virtually addressed caches, which the paper excludes, are not simulated.",
    ]
    said += [f"Left out: {name.replace('_', ' ')}. {why}"
             for name, why in results.left_out.items()]
    return said
