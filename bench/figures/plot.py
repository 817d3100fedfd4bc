#!/usr/bin/env python3
"""Draws figures: plot.py FIGURES.json DIRECTORY makes NAME.svg and NAME.png of each.

The only file that needs matplotlib; figures.py runs it with the Python of the private environment.
"""

import json
import re
import sys
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import EngFormatter, LogLocator  # noqa: E402

# Okabe and Ito's colours, which colour-blind readers can tell apart; markers differ as well.
LOOKS = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "v"), ("#E69F00", "P"),
         ("#56B4E9", "X"), ("#7F7F7F", "<"), ("#000000", ">"), ("#882255", "*"), ("#117733", "p"),
         ("#999933", "h"), ("#332288", "d")]
STYLE = {
    "svg.hashsalt": "holdfast",  # the same data give the same file
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
PANEL_INCHES = (4.6, 3.6)
CAPTION_COLUMNS_AN_INCH = 18
LEGEND_COLUMNS = 4
LEGEND_CHARACTERS = 60  # in a row, with the marks before the names
LEGEND_ROW_POINTS = 11


def errors(series):
    if not series["low"]:
        return None
    # Rounding may put a quartile beyond its median.
    return [[max(0.0, y - low) for y, low in zip(series["y"], series["low"])],
            [max(0.0, high - y) for y, high in zip(series["y"], series["high"])]]


def looks_of(figures):
    """Colour and marker of each series' name: the same in all figures of a paper."""
    names = dict.fromkeys(one["name"] for figure in figures for panel in figure["panels"]
                          for one in panel["series"] if not one["of_paper"])
    return {name: LOOKS[i % len(LOOKS)] for i, name in enumerate(names)}


def draw_bars(axes, panel, looks):
    """A series may lack categories. The paper's numbers are marks on the bars of `like`."""
    categories = list(dict.fromkeys(x for one in panel["series"] for x in one["x"]))
    measured = [one["name"] for one in panel["series"] if not one["of_paper"]]
    said = set()  # a name is explained once
    width = 0.8 / len(measured)
    for one in panel["series"]:
        middle = measured.index(one["like"] or one["name"]) - (len(measured) - 1) / 2
        label = "_" if one["name"] in said else one["name"]
        said.add(one["name"])
        places = [categories.index(x) + middle * width for x in one["x"]]
        if one["of_paper"]:
            axes.plot(places, one["y"], linestyle="none", marker="D", markersize=5,
                      markerfacecolor="white", color="black", label=label)
        else:
            axes.bar(places, one["y"], width, yerr=errors(one), capsize=2, label=label,
                     color=looks[one["name"]][0])
    axes.set_xticks(range(len(categories)), categories)
    axes.grid(False, axis="x")


def draw_lines(axes, panel, looks):
    for one in panel["series"]:
        if one["of_paper"]:
            axes.plot(one["x"], one["y"], linestyle="none", marker="D", markersize=8,
                      markerfacecolor="none", color=looks[one["like"]][0], label=one["name"])
        else:
            colour, marker = looks[one["name"]]
            axes.errorbar(one["x"], one["y"], yerr=errors(one), capsize=2, label=one["name"],
                          color=colour, marker=marker, markersize=4)
    if panel["x_log"]:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)
    if panel["mark"]:
        axes.axvline(panel["mark"]["x"], color="grey", linestyle=":")
        axes.annotate(panel["mark"]["text"], (panel["mark"]["x"], 0.02), rotation=90,
                      xycoords=("data", "axes fraction"), xytext=(2, 0),
                      textcoords="offset points", color="grey", fontsize=8)


def legend_columns(names):
    wanted = LEGEND_CHARACTERS // (5 + max(map(len, names)))
    return max(1, min(len(names), LEGEND_COLUMNS, wanted))


def draw_panel(axes, panel, looks):
    (draw_bars if panel["kind"] == "bars" else draw_lines)(axes, panel, looks)
    names = {one["name"] for one in panel["series"]}
    columns = legend_columns(names)
    rows = -(-len(names) // columns)
    axes.set_title(panel["title"], fontsize=9, pad=11 + LEGEND_ROW_POINTS * rows)
    axes.set_xlabel(panel["x_label"])
    axes.set_ylabel(panel["y_label"])
    if panel["y_log"]:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.yaxis.set_minor_formatter("")
    if panel["x_log"]:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.xaxis.set_minor_formatter("")
    # Above the axes, where it covers nothing.
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 0.99),
                ncols=columns, columnspacing=1.2, handletextpad=0.5)


def without_metadata(svg):
    """It names hosts of vocabularies, and nothing that a reader of ours looks for."""
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", svg.read_text(encoding="utf-8"), flags=re.S)
    svg.write_text(text, encoding="utf-8")


def draw(figure, place, looks):
    """The two files of a figure."""
    panels = figure["panels"]
    width, height = PANEL_INCHES[0] * len(panels), PANEL_INCHES[1]
    caption = textwrap.fill(figure["caption"], int(width * CAPTION_COLUMNS_AN_INCH))
    foot = 0.16 * (caption.count("\n") + 2)
    drawn = pyplot.figure(figsize=(width, height + foot), layout="constrained")
    everything = drawn.subfigures(2, 1, height_ratios=[height, foot])
    everything[0].suptitle(f"Figure {figure['part']}. {figure['title']}", fontsize=10)
    # What has the same unit is compared: on the same scale.
    same = len({panel["y_label"] for panel in panels}) == 1
    all_axes = everything[0].subplots(1, len(panels), squeeze=False, sharey=same)[0]
    for axes, panel in zip(all_axes, panels):
        draw_panel(axes, panel, looks)
        axes.tick_params(labelleft=True)
    # Only now: a limit that is set stops axes from growing with what the next panel shows.
    for axes, panel in zip(all_axes, panels):
        if panel["from_zero"] and not panel["y_log"]:
            axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    everything[1].text(0.01, 0.9, caption, fontsize=7, va="top", color="#444444")
    files = [place / f"{figure['name']}.{kind}" for kind in ("svg", "png")]
    drawn.savefig(files[0], metadata={"Date": None})
    drawn.savefig(files[1], dpi=150)
    pyplot.close(drawn)
    without_metadata(files[0])
    return files


def main(arguments):
    source, place = Path(arguments[0]), Path(arguments[1])
    place.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figures = json.loads(source.read_text(encoding="utf-8"))
        looks = looks_of(figures)
        for figure in figures:
            draw(figure, place, looks)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
