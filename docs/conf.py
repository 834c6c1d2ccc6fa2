"""The documentation site: python -m sphinx docs docs/_build (needs the `docs` extra)."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

import code_pages  # noqa: E402  found beside this file, however it is run
import reference  # noqa: E402

from functorch_core import shim  # noqa: E402

shim.install()  # the gallery's `import torch` is this library

project = "functorch-core"
copyright = "the authors of functorch-core"
extensions = ["myst_parser", "sphinx_gallery.gen_gallery"]
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "first_notebook_cell": "%matplotlib inline\nfrom functorch_core import shim\n\nshim.install()  # import torch",
}
exclude_patterns = ["_build", "_site", "gallery/*.ipynb", "gallery/*.zip", "gallery/*.py", "gallery/*.md5"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "collapse_navigation": True,
    "header_links_before_dropdown": 3,  # more would push the search into a second line
}
html_sidebars = {"*": [], "reference/*/*": [], "code/**": []}  # pages without others below them
html_static_path, html_css_files = ["_static"], ["narrow.css"]
html_title = "functorch-core"
html_show_sourcelink = False
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]
add_module_names = False
toc_object_entries = False


def setup(app):
    """The reference is written before the pages are read."""
    app.connect("builder-inited", lambda _: print(f"reference: {reference.write()} pages"))
    app.connect("html-collect-pages", code_pages.pages)
