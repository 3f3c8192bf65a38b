"""Compiled classes of two releases are compared without what only a compiler decides."""

from __future__ import annotations

from tools.releases.classes import describe, parse_members, split_classes

SHIFTED = """Compiled from "Box.java"
public class org.apache.kafka.group.Box extends java.lang.Record {
  private final java.util.Map<java.lang.String, java.lang.Integer> counts;

  public int size(int);
    Code:
       0: iload_1
       1: ifle          9
       4: ldc           #17                 // String none
       6: invokevirtual #23                 // Method java/lang/String.length:()I
       9: iconst_0
      10: ireturn
    Exception table:
       from    to  target type
           0     6     9   Class java/lang/Exception

  private static void lambda$size$3(java.lang.String);
    Code:
       0: return
}
"""
SAME = (
    SHIFTED.replace("#17 ", "#40 ")
    .replace("#23 ", "#2  ")
    .replace("lambda$size$3", "lambda$size$0")
    .replace("       1: ifle          9", "       1: ifle          12")
    .replace("       9: iconst_0", "      12: iconst_0")
    .replace("0     6     9   Class", "0     6    12   Class")
    .replace("org.apache.kafka.group", "org.apache.kafka.api.group")
)


def members(text: str) -> dict[str, list[str]]:
    [lines] = split_classes(text)
    return parse_members(lines)


def test_offsets_indices_lambda_numbers_and_packages_do_not_count() -> None:
    assert SAME != SHIFTED
    assert members(SAME) == members(SHIFTED)


def test_members_have_their_instructions() -> None:
    by_member = members(SHIFTED)
    assert list(by_member) == [
        "class public class Box extends Record",
        "private final Map<String, Integer> counts;",
        "private static void lambda$size(String);",
        "public int size(int);",
    ]
    assert by_member["public int size(int);"] == [
        "L1:",
        "iload_1",
        "ifle L3",
        "ldc String none",
        "L2:",
        "invokevirtual Method String.length:()I",
        "L3:",
        "iconst_0",
        "ireturn",
        "catch Class Exception L1 L2 L3",
    ]


def test_every_other_change_counts() -> None:
    for old, new in (
        ("String none", "String all"),
        ("ifle          9", "ifle          10"),
        ("iconst_0", "iconst_1"),
        ("0     6     9", "0     6    10"),
        ("extends java.lang.Record", ""),
        ("private static void", "static void"),
    ):
        assert members(SHIFTED.replace(old, new)) != members(SHIFTED), old


def test_cases_of_a_switch_have_their_targets() -> None:
    switch = (
        "class A {\n  int of(int);\n    Code:\n       0: tableswitch   { // 1 to 2\n                     1: 24\n"
        "               default: 26\n          }\n      24: iconst_1\n      26: ireturn\n}\n"
    )
    assert members(switch)["int of(int);"][1:3] == ["case 1 L1", "case default L2"]


def test_all_classes_are_found() -> None:
    assert len(list(split_classes(SHIFTED + SAME))) == 2


def test_report_names_added_removed_moved_and_changed_classes() -> None:
    box, other = members(SHIFTED), members(SHIFTED.replace("iconst_0", "iconst_1"))
    old = {"a.Box": box, "a.Kept": box, "a.Gone": box, "a.Changed": box}
    new = {"b.Box": box, "a.Kept": box, "a.New": box, "a.Changed": other}
    assert list(describe("brokers", old, new)) == [
        "brokers: 2 of 3 classes are the same",
        "  added: a.New",
        "  removed: a.Gone",
        "  moved: a.Box to b.Box",
        "  changed: a.Changed",
        "    changed: public int size(int);",
        "       L3:",
        "      -iconst_0",
        "      +iconst_1",
        "       ireturn",
    ]
