"""The page about a paper: its figures and claims, in markdown. Every number on it but the paper's
own comes from what was measured."""

import textwrap

from claims import Outcome, count
from words import short_number, significant

COLUMNS = 100


def paragraph(text):
    return textwrap.fill(text, COLUMNS, break_long_words=False, break_on_hyphens=False) + "\n"


def item(text):
    return textwrap.fill(text, COLUMNS, initial_indent="- ", subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False) + "\n"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n"
                   for line in lines)


def claims_table(claims):
    marks = {Outcome.HOLDS: "holds", Outcome.FAILS: "**does not hold**"}
    return table(["the paper", "holds here if", "measured", ""],
                 [[one.text, one.criterion, one.measured,
                   marks.get(one.outcome, one.outcome.value)] for one in claims])


def shown(x):
    return short_number(x) if isinstance(x, int) else str(x)


def cell(series, x):
    """A point with its quartiles, or nothing."""
    if x not in series["x"]:
        return ""
    at = series["x"].index(x)
    text = significant(series["y"][at])
    if series["low"]:
        text += f" ({significant(series['low'][at])} to {significant(series['high'][at])})"
    return text


def panel_table(panel):
    """What the panel shows, as numbers: a row a point of the x axis."""
    lines = [one for one in panel["series"] if not one["of_paper"]]
    xs = list(dict.fromkeys(x for one in lines for x in one["x"]))
    if all(isinstance(x, int) for x in xs):
        xs.sort()
    head = [panel["x_label"], *(one["name"] for one in lines)]
    rows = [[shown(x), *(cell(one, x) for one in lines)] for x in xs]
    return f"{panel['title']}, {panel['y_label']}:\n\n{table(head, rows)}"


def figure_section(figure, claims, images, with_plots):
    """`images`: the folder of the images, relative to the page."""
    label = f"{figure['label']} {figure['part']}"
    parts = [f"## {label}. {figure['title']}\n"]
    if with_plots:
        parts.append(f"![{label}]({images}/{figure['name']}.svg)\n")
    parts.append(paragraph(f"*{figure['caption']}.*"))
    if figure["remark"]:
        parts.append(paragraph(figure["remark"]))
    if claims:
        parts.append(claims_table(claims))
    parts += [panel_table(panel) for panel in figure["panels"]]
    return "\n".join(parts)


def text_section(part, title, claims):
    return f"## Section {part}. {title}\n\n{claims_table(claims)}"


def worth_a_look(claims):
    """What the reader should know first: the claims that did not come out."""
    found = [one for one in claims if one.outcome in (Outcome.FAILS, Outcome.UNDECIDED)]
    return "".join(item(f"{one.outcome.value} (part {one.part}): {one.text}. "
                        f"Measured: {one.measured}.") for one in found)


def head(paper, claims, command, images):
    texts = [
        f"# {paper.title}: the figures, measured here\n",
        paragraph(f"The paper: {paper.citation}. This page, its images and its numbers are made by "
                  f"`{command}`; nothing on it is written by hand but what the paper says. The "
                  f"measurements are in [measured.json]({images}/measured.json), each image is "
                  f"also there as PNG."),
        f"Of {len(claims)} claims: {count(claims)}.\n"]
    notable = worth_a_look(claims)
    if notable:
        texts.append(notable)
    texts.append(paragraph(
        "A number in a table is a median, with the quartiles of the repetitions in brackets. A "
        "claim is undecided where the quartiles lie on both sides of its limit. " + paper.note))
    return texts


def make(paper, figures, claims, remarks, command, images, with_plots):
    """`figures`: as drawing.as_data() gives them."""
    texts = head(paper, claims, command, images)
    texts.append("## What differs from the paper's set-up\n\n"
                 + "".join(item(one) for one in remarks))
    there = {figure["part"]: figure for figure in figures}
    for part, title in paper.parts.items():
        held = [one for one in claims if one.part == part]
        if part in there:
            texts.append(figure_section(there[part], held, images, with_plots))
        elif held:
            texts.append(text_section(part, title, held))
    return "\n".join(texts)
