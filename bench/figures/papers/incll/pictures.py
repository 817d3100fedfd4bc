"""Figures 2 to 8, as the paper arranges them."""

from claims import NotMeasured
from drawing import Figure, Panel, of_paper, series
from samples import Estimate, quantile

from .plan import (DISTRIBUTIONS, INCLL, LABELS, LATENCIES, LOGGING, MT, MT_PLUS, PARTS, WORKLOADS,
                   thread_counts)
from .setting import caption, caption_of_sizes

LATENCY_LABEL = "ns emulated after each fence"
SIZE_LABEL = "records in the tree"
SPEED_LABEL = "million operations a second"


def millions(estimate):
    return Estimate(estimate.middle / 1e6, estimate.low / 1e6, estimate.high / 1e6)


def remaining(loss):
    """Of a loss, what is left, in percent."""
    return Estimate(*(100 * (1 - one) for one in (loss.middle, loss.high, loss.low)))


def workloads(results):
    panels = [Panel(
        spread, "YCSB workload", SPEED_LABEL,
        [series(LABELS[tree], results.points(
            WORKLOADS, lambda w, t=tree, d=spread: millions(
                results.speed("workloads", t, d, workload=w))))
         for tree in (MT, MT_PLUS, INCLL)], kind="bars") for spread in DISTRIBUTIONS]
    return Figure("2", PARTS["2"], panels, caption(results, "workloads"))


def kept_speed(results, tree, spread):
    return results.points(LATENCIES, lambda ns: remaining(results.slowdown(tree, spread, ns)))


def latency(results):
    said = {"uniform": 4.3, "zipfian": 6.0}
    lines = [series(spread, kept_speed(results, INCLL, spread)) for spread in DISTRIBUTIONS]
    lines += [of_paper(spread, [(1000, 100 - lost)]) for spread, lost in said.items()]
    panel = Panel("YCSB-A", LATENCY_LABEL, "% of the speed without latency", lines)
    return Figure("3", PARTS["3"], [panel], caption(results, "latency"))


def latency_of_logging(results):
    said = {"uniform": {INCLL: 4.1, LOGGING: 42.5}, "zipfian": {INCLL: 5.7, LOGGING: 28.5}}
    panels = [Panel(
        f"YCSB-A, {spread}", LATENCY_LABEL, "% of the speed without latency",
        [series(LABELS[tree], kept_speed(results, tree, spread)) for tree in (INCLL, LOGGING)]
        + [of_paper(LABELS[tree], [(1000, 100 - lost)]) for tree, lost in said[spread].items()])
        for spread in DISTRIBUTIONS]
    return Figure("8", PARTS["8"], panels, caption(results, "latency"))


def threads(results):
    cores = results.settings["cores"]
    panels = [Panel(
        f"YCSB-A, {spread}", "threads", SPEED_LABEL,
        [series(LABELS[tree], results.points(
            thread_counts(results.settings), lambda n, t=tree, d=spread: millions(
                results.speed("threads", t, d, threads=n)))) for tree in (MT_PLUS, INCLL)],
        mark={"x": cores, "text": f"{cores} cores"}) for spread in DISTRIBUTIONS]
    return Figure("4", PARTS["4"], panels, caption(results, "threads"))


def by_size(results, estimate):
    return [(records, one) for (records, _), one in results.points(
        results.several_sizes(), lambda size: estimate(size[1]))]


def sizes(results):
    panels = [Panel(
        f"YCSB-A, {spread}", SIZE_LABEL, SPEED_LABEL,
        [series(LABELS[tree], by_size(results, lambda name, t=tree, d=spread: millions(
            results.speed(name, t, d)))) for tree in (MT_PLUS, INCLL)], x_log=True)
        for spread in DISTRIBUTIONS]
    return Figure("5", PARTS["5"], panels, caption_of_sizes(results))


def overhead(results):

    def in_percent(name, spread):
        loss = results.loss(name, spread)
        return Estimate(100 * loss.middle, 100 * loss.low, 100 * loss.high)

    lines = [series(spread, by_size(results, lambda name, d=spread: in_percent(name, d)))
             for spread in DISTRIBUTIONS]
    panel = Panel("YCSB-A", SIZE_LABEL, "% that INCLL is slower than MT+", lines, x_log=True)
    return Figure("6", PARTS["6"], [panel], caption_of_sizes(results))


def logged_nodes(results):
    panels = []
    for spread in DISTRIBUTIONS:
        lines = [series(LABELS[tree], [
            (records, one) for records, one in by_size(
                results, lambda name, t=tree, d=spread: results.logged(name, t, d))
            if one.low > 0])  # a logarithmic axis has no place for none
            for tree in (LOGGING, INCLL)]
        panels.append(Panel(f"YCSB-A, {spread}", SIZE_LABEL, "nodes logged, a million operations",
                            lines, x_log=True, y_log=True))
    return Figure("7", PARTS["7"], panels, caption_of_sizes(results),
                  f"An epoch has {epoch_operations(results)} operations here.")


def epoch_operations(results):
    """How many operations fall into an epoch of 64 ms, from the slowest to the fastest tree."""
    speeds = [quantile(results.speeds(name, INCLL, spread), 0.5)
              for _, name in results.sizes() for spread in DISTRIBUTIONS]
    return f"{0.064 * min(speeds):,.0f} to {0.064 * max(speeds):,.0f}"


def figures(results):
    """What can be drawn, and of what cannot, why."""
    drawn, missing = [], []
    for number, make in (("2", workloads), ("3", latency), ("4", threads), ("5", sizes),
                         ("6", overhead), ("7", logged_nodes), ("8", latency_of_logging)):
        try:
            drawn.append(make(results))
        except NotMeasured as why:
            missing.append(f"Figure {number}: {why}.")
    return drawn, missing
