#!/usr/bin/env python3
"""The drawn figures, where ./dev figures has installed matplotlib; else it is skipped (77)."""

import json
import re
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

from harness import FIGURES, Harness

from figures import BUILD
from surroundings import drawing_python

PYTHON = drawing_python(BUILD / "venv")


class ThePlots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.harness = Harness()
        cls.done = cls.harness.run(plots=True)
        cls.images = cls.harness.place / "out/incll"

    @classmethod
    def tearDownClass(cls):
        cls.harness.directory.cleanup()

    def figures(self):
        return self.harness.told()["figures"]

    def text_of(self, name):
        tree = xml.parse(self.images / f"{name}.svg")
        return " ".join("".join(one.itertext()) for one in tree.iter()
                        if one.tag.endswith("}text"))

    def test_are_there_for_each_figure_and_on_the_page(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual([one["part"] for one in self.figures()], list("2345678"))
        for one in self.figures():
            self.assertTrue((self.images / f"{one['name']}.svg").is_file())
            self.assertIn(f"](incll/{one['name']}.svg)", self.harness.page())

    def test_say_what_they_show_and_on_what_it_was_measured(self):
        for one in self.figures():
            text = self.text_of(one["name"])
            for panel in one["panels"]:
                for word in (panel["x_label"], panel["y_label"], panel["title"],
                             *(series["name"] for series in panel["series"])):
                    self.assertIn(word, text)
            self.assertIn("pretended", text)
            self.assertIn(one["title"], text)

    def test_look_the_same_for_a_tree_in_every_figure_and_for_no_other_tree(self):
        code = ("import json, plot, sys; figures = json.load(sys.stdin); "
                "print(json.dumps(plot.looks_of(figures)))")
        done = subprocess.run([PYTHON, "-B", "-c", code], input=json.dumps(self.figures()),
                              cwd=FIGURES, text=True, check=True, capture_output=True)
        looks = json.loads(done.stdout)
        self.assertLessEqual({"MT", "MT+", "INCLL", "LOGGING"}, set(looks))
        self.assertEqual(len({tuple(look) for look in looks.values()}), len(looks))
        of_paper = [one for figure in self.figures() for panel in figure["panels"]
                    for one in panel["series"] if one["of_paper"]]
        self.assertEqual(len(of_paper), 6)
        for one in of_paper:
            self.assertIn(one["like"], looks)

    def test_have_room_for_all_that_they_show(self):
        """An axis that panels share ends beyond the greatest value of all of them."""
        figure = self.figures()[0]
        for series in figure["panels"][1]["series"]:
            for key in ("y", "low", "high"):
                series[key] = [1000 * value for value in series[key]]
        code = ("import json, plot, sys; from pathlib import Path; shown = []\n"
                "plot.pyplot.close = lambda drawn: shown.extend("
                "float(one.get_ylim()[1]) for part in drawn.subfigs for one in part.axes)\n"
                "figure = json.load(sys.stdin)\n"
                "plot.draw(figure, Path(sys.argv[1]), plot.looks_of([figure])); print(shown)")
        done = subprocess.run([PYTHON, "-B", "-c", code, self.harness.place], cwd=FIGURES,
                              input=json.dumps(figure), text=True, check=True, capture_output=True)
        greatest = max(value for one in figure["panels"][1]["series"] for value in one["high"])
        limits = json.loads(done.stdout)
        self.assertEqual(len(limits), 2)
        for limit in limits:
            self.assertGreater(limit, greatest)

    def test_are_pictures_of_a_useful_size(self):
        for one in self.figures():
            image = (self.images / f"{one['name']}.png").read_bytes()
            self.assertEqual(image[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", image[16:24])
            self.assertTrue(600 <= width <= 2000 and 400 <= height <= 1500, (width, height))

    def test_name_no_hosts_but_that_of_the_format(self):
        for one in self.figures():
            text = (self.images / f"{one['name']}.svg").read_text(encoding="utf-8")
            self.assertEqual(set(re.findall(r"https?://([\w.]+)", text)), {"www.w3.org"})

    def test_are_the_same_for_the_same_measurements_and_others_for_others(self):
        def image():
            return (self.images / "figure_2.svg").read_bytes()
        before = image()
        self.draw(self.figures())
        self.assertEqual(image(), before)
        changed = self.figures()
        changed[0]["panels"][0]["series"][0]["y"][0] *= 1.5
        self.draw(changed)
        self.assertNotEqual(image(), before)

    def draw(self, figures):
        source = self.harness.place / "figures.json"
        source.write_text(json.dumps(figures), encoding="utf-8")
        subprocess.run([PYTHON, "-B", FIGURES / "plot.py", source, self.images], check=True)


if __name__ == "__main__":
    if PYTHON is None:
        print("matplotlib is not there; ./dev figures installs it")
        sys.exit(77)
    unittest.main()
