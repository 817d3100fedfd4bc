"""The claims about figures 4 to 7: how things change with threads and with the tree's size."""

from claims import NotMeasured, all_of, at_most, cost, judge, less, not_measurable, true_if
from samples import Estimate, greatest, quotient
from words import percent, percents, short_number, significant

from .plan import DISTRIBUTIONS, INCLL, LOGGING, MT_PLUS, thread_counts

# Two trees whose losses differ by so much are affected similarly.
SIMILAR = 0.05


def of_threads(results):
    counts = [n for n in thread_counts(results.settings) if n <= results.settings["cores"]]

    def thread_losses(spread, numbers):
        return [results.loss("threads", spread, threads=n) for n in numbers]

    def unrelated():
        spans = {}
        for spread, limit in (("uniform", 0.213 - 0.146), ("zipfian", 0.193 - 0.030)):
            found = [one.middle for one in thread_losses(spread, counts)]
            spans[spread] = (max(found) - min(found), limit)
        told = ", ".join(f"{100 * span:.1f} points {spread}"
                         for spread, (span, _) in spans.items())
        return true_if(all(span <= limit for span, limit in spans.values())), told

    def grows():
        outcomes, told = [], []
        for tree in (MT_PLUS, INCLL):
            for spread in DISTRIBUTIONS:
                speeds = [results.speed("threads", tree, spread, threads=n) for n in counts]
                outcomes += [less(one, more) for one, more in zip(speeds, speeds[1:])]
                told.append(speeds[-1].middle / speeds[0].middle)
        if not outcomes:
            raise NotMeasured("one core does not scale")
        return all_of(outcomes), (f"{min(told):.2f} to {max(told):.2f} times one thread's speed "
                                  f"with {counts[-1]}")

    numbers = f"{counts[0]} to {counts[-1]} threads"
    return [
        cost("4", f"1 to 56 threads: INCLL is 14.6% to 21.3% slower (uniform; here {numbers})",
             0.213, lambda: thread_losses("uniform", counts)),
        cost("4", f"1 to 56 threads: INCLL is 3.0% to 19.3% slower (zipfian; here {numbers})",
             0.193, lambda: thread_losses("zipfian", counts)),
        judge("4", "the loss seems unrelated to the number of threads",
              "the losses lie as near together as the paper's: 6.7 points uniform, 16.3 zipfian",
              unrelated),
        judge("4", f"throughput grows with each thread in a large tree (paper: 100M; here "
              f"{short_number(results.settings['records'])})", "in both systems and loads, up to "
              "the number of cores", grows),
        not_measurable("4", "with 44 threads and more the zipfian load's throughput falls",
                       f"this machine has {results.settings['cores']} cores"),
    ]


def of_sizes(results):
    def shrinkage(tree, spread):
        sizes = results.several_sizes()
        (_, small), (_, large) = sizes[0], sizes[-1]
        ratio = quotient(results.speeds(large, tree, spread), results.speeds(small, tree, spread))
        return Estimate(1 - ratio.middle, 1 - ratio.high, 1 - ratio.low)

    def measured_range():
        return " to ".join(short_number(results.sizes()[i][0]) for i in (0, -1))

    def shrinks(spread, limit):
        def held():
            found = {tree: shrinkage(tree, spread) for tree in (MT_PLUS, INCLL)}
            told = f"MT+ {percent(found[MT_PLUS].middle)}, INCLL {percent(found[INCLL].middle)}"
            return at_most(greatest(found.values()), limit), f"{told}; {measured_range()}"
        return held

    def similar():
        gaps = [shrinkage(INCLL, spread).middle - shrinkage(MT_PLUS, spread).middle
                for spread in DISTRIBUTIONS]
        told = " and ".join(f"{100 * abs(gap):.1f}" for gap in gaps)
        return true_if(all(abs(gap) <= SIMILAR for gap in gaps)), f"{told} points apart"

    def parabola():
        found = [results.loss(name, "uniform") for _, name in results.several_sizes()]
        middle = greatest(found[1:-1])
        records = results.sizes()[found.index(middle)][0]
        ends = [found[0], found[-1]]
        return all_of(less(end, middle) for end in ends), (
            f"{percent(ends[0].middle)} and {percent(ends[1].middle)} at the ends, "
            f"{percent(middle.middle)} at {short_number(records)}")

    def bounded():
        found = [results.loss(name, spread) for _, name in results.several_sizes()
                 for spread in DISTRIBUTIONS]
        return at_most(greatest(found), 0.27), percents(found)

    return [
        judge("5", "the uniform load's throughput falls by 69% from 10K to 100M",
              "at most 69%", shrinks("uniform", 0.69)),
        judge("5", "the zipfian load's throughput falls by about 50%", "at most 50%",
              shrinks("zipfian", 0.50)),
        judge("5", "MT+ and INCLL are affected similarly",
              f"their falls lie at most {100 * SIMILAR:.0f} points apart", similar),
        judge("6", "the uniform load's overhead forms a parabola: lower for small and large trees",
              "both ends lose less than the worst size between them", parabola),
        judge("6", "at most 27% slower than MT+, at any size", "at most 27.0%", bounded),
    ]


def of_logged_nodes(results):
    def curve(tree, spread):
        return [(records, one) for (records, _), one in results.points(
            results.several_sizes(), lambda size: results.logged(size[1], tree, spread))]

    def rises(tree):
        def held():
            tops = [max(curve(tree, spread), key=lambda point: point[1].middle)[0]
                    for spread in DISTRIBUTIONS]
            return (true_if(min(tops) >= 1_000_000),
                    "most at " + " and ".join(map(short_number, tops)))
        return held

    def last_against_3m(tree, spread):
        found = [(records, one) for records, one in curve(tree, spread) if records >= 3_000_000]
        if len(found) < 2:
            raise NotMeasured("fewer than two trees of 3M records and more were measured")
        return found[-1][1].middle / found[0][1].middle

    def told_ratio(ratio):
        return f"the greatest tree logs {significant(ratio)} times as much as that of 3M"

    def within(tree, spread, low, high):
        def held():
            ratio = last_against_3m(tree, spread)
            return true_if(low <= ratio <= high), told_ratio(ratio)
        return held

    def far_fewer():
        ratios = [dict(curve(INCLL, spread))[records].middle / logging.middle
                  for spread in DISTRIBUTIONS for records, logging in curve(LOGGING, spread)
                  if records >= 1_000_000]
        if not ratios:
            raise NotMeasured("no tree of 1M records and more was measured")
        return true_if(max(ratios) < 0.5), (
            f"{percent(min(ratios))} to {percent(max(ratios))} of LOGGING's")

    return [
        judge("7", "nodes logged by LOGGING increase sharply until the tree has 1M to 3M records",
              "most at 1M or later (uniform and zipfian)", rises(LOGGING)),
        judge("7", "so do those logged by INCLL", "most at 1M or later (uniform and zipfian)",
              rises(INCLL)),
        judge("7", "beyond 3M, LOGGING levels off (uniform)", "between 0.8 and 1.5 times",
              within(LOGGING, "uniform", 0.8, 1.5)),
        judge("7", "beyond 3M, INCLL declines rapidly (uniform)", "below 0.5 times",
              within(INCLL, "uniform", 0, 0.5)),
        judge("7", "beyond 3M, LOGGING grows slowly (zipfian)", "between 1 and 2 times",
              within(LOGGING, "zipfian", 1, 2)),
        judge("7", "beyond 3M, INCLL declines slowly (zipfian)", "between 0.3 and 1 times",
              within(INCLL, "zipfian", 0.3, 1)),
        judge("7", "in-cache-line logs drastically reduce the number of synchronous writes "
              "(section 1)", "trees of 1M and more: fewer than half of LOGGING's nodes", far_fewer),
    ]
