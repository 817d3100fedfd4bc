# Installation. Filled in below once rooms exist.
