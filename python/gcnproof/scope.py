"""Which calls take which attacks, and which attacks are decided on which attributes. A remedy that names another attack is made here: none of them leads to
the next refusal."""

from __future__ import annotations

BOTH = "[Flips, Edges]"

TAKES: dict[str, tuple[str, ...]] = {
    "certify": ("Flips", "Categories", "Ranges", "Edges", BOTH),
    "radius": ("Flips", "Categories", "Ranges", "Edges"),
    "check": ("Flips", "Categories", "Ranges", "Edges"),
    "explain": ("Flips", "Categories", "Ranges", "Edges"),
    **dict.fromkeys(("train", "RobustLoss"), ("Flips", "Categories")),
    **dict.fromkeys(("collective", "study", "validate"), ("Flips",)),
}
"""The attacks that each call takes."""

DECIDED: dict[str, tuple[str, ...]] = {
    "0/1": ("Flips", "Ranges", "Edges", BOTH),
    "quotients": ("Flips", "Ranges", "Edges"),
    "quotients in the module": ("Flips", "Edges"),
    "categories": ("Categories",),
    "numbers": ("Ranges", "Edges"),
}
"""The attacks that are decided on attributes: of 0 and 1, of these divided by the sums of their rows before the module or in it, of groups of which a row has
one, and of any numbers."""

EXAMPLES = {
    "Flips": "Flips(Q=12, q=0.01)",
    "Categories": "Categories(Q=1, q=1)",
    "Ranges": "Ranges(epsilon=0.01)",
    "Edges": "Edges(remove=5)",
    BOTH: "[Flips(Q=3, q=1), Edges(change=2)]",
}

UNCHANGED_EDGES = "attacks on attributes, Flips(…) of 0 and 1 and Ranges(…) of numbers, take the module as it is"
"""The remedy where edges cannot be attacked because of what a module computes."""


def takers(attack: str) -> str:
    """The calls that take an attack, in words."""
    *others, last = [call for call in ("certify", "radius", "explain") if attack in TAKES[call]]
    return f"{', '.join(others)}{' and ' * bool(others)}{last}"


def instead(call: str, attributes: str = "0/1") -> str:
    """The remedy: the attacks that a call takes on such attributes, and those that certify takes where there is none."""
    if call in ("from_pyg", "Verifier"):
        return "say real=True, from_pyg(model, data, real=True), and ask about Ranges(…) or Edges(…)"
    own = [EXAMPLES[attack] for attack in TAKES[call] if attack in DECIDED[attributes]]
    others = [EXAMPLES[attack] for attack in TAKES["certify"] if attack in DECIDED[attributes] and attack not in TAKES[call]]
    if not own:
        # Of such attributes a call that takes flips alone has nothing to say.
        also = ", and a graph without groups takes Flips and Edges" if attributes == "categories" else ""
        return f"{call} is about flips of 0/1 attributes alone; certify(model, data, …) takes {' or '.join(others)}{also}"
    also = f"; certify takes {' or '.join(others)}, too" if others else ""
    also += "; a graph without groups takes Flips and Edges, too" * (attributes == "categories")
    return f"give {' or '.join(own)}{also}"
