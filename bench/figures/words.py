"""Numbers as the page prints them, and as the command line takes them."""

UNITS = {"K": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def number(text):
    """A whole number, with K, M or G (powers of 1000) behind it if you like."""
    unit = UNITS.get(text[-1:].upper(), 1)
    digits = text[:-1] if unit != 1 else text
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"'{text}' is no whole number (K, M or G may stand behind it)")
    return int(digits) * unit


def short_number(value):
    """20000000 as 20M."""
    for unit, factor in reversed(UNITS.items()):
        if value >= factor and value % factor == 0:
            return f"{value // factor}{unit}"
    return str(value)


def percent(fraction):
    return f"{100 * fraction:.1f}%"


def percents(estimates):
    """From the least to the greatest median."""
    middles = [one.middle for one in estimates]
    return f"{percent(min(middles))} to {percent(max(middles))}"


def with_quartiles(estimate, show=percent):
    return f"{show(estimate.middle)} ({show(estimate.low)} to {show(estimate.high)})"


def significant(value, digits=3):
    """With so many significant digits, and no exponent."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text else text


def span(seconds):
    """A time to wait, as a person says it."""
    seconds = round(seconds)
    if seconds < 90:
        return f"{seconds} s"
    return f"{round(seconds / 60)} min"
