"""Runs the examples of README and docs, and writes their output into the pages: `python -m tools.examples [PAGE …]`.

An HTML comment on the line before a fenced block says what it is:

| comment | block |
|---|---|
| none | `sh`: commands, which are run with bash in the page's own empty folder; `python`: run by the tests |
| `<!-- file: NAME -->` | content of a file in that folder |
| `<!-- changes: NAME -->` | YAML whose top-level keys replace those of that file |
| `<!-- from: FILE -->` | part of a file of the checkout, literally |
| `<!-- output -->` | output of the commands above; `<!-- output: first 12 lines -->` shortens it |
| `<!-- error -->` | output of commands that fail, as they should |
| `<!-- not run: REASON -->` | a block that is shown as it is; its `assignor-sim` commands must have valid options |

`<!-- setup` … `-->` contains commands that readers do not see; `$CHECKOUT` is the checkout.
`<!-- figures: NAME: METRIC, … -->` … `<!-- end -->` contains a table of metrics of a scenario, by assignor.
"""
