"""A hook of MkDocs: formulas that documents write as code (`Σ_i g_i δ_i`) become MathML.

The documents are read as plain text at least as often as in a browser, so formulas stand there in Unicode: `_` and `^` are scripts,
a letter is a variable, a longer word is a name. Indented blocks of PAGES are formulas too, with their numbers on the right.
"""

import re
import unicodedata
from xml.etree.ElementTree import Element, SubElement

from markdown import Extension
from markdown.blockprocessors import CodeBlockProcessor
from markdown.inlinepatterns import BacktickInlineProcessor, InlineProcessor

# Pages whose code spans may be formulas; of the first ones, indented blocks too.
DISPLAYED = ("docs/math.md", "docs/errata.md", "docs/collective.md", "docs/edges.md", "docs/guarantee.md")
PAGES = (*DISPLAYED, "docs/training.md", "check/FORMAT.md", "check/FORMAT-EDGES.md", "check/FORMAT-RANGES.md", "check/FORMAT-COLLECTIVE.md")

SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵘᵈˡʰᵃᵇᶜ", "0123456789+−=()niTudlhabc"))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₒₓₕₖₗₘₙₚₛₜᵢⱼᵣᵤᵥ", "0123456789+−=()aeoxhklmnpstijruv"))
ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "\u0307": "˙", "\u0308": "¨"}
# Words of two letters; other pairs of letters are products.
SHORT_WORDS = {"fl", "ln", "lo", "hi", "or", "if", "at", "in", "of", "is", "to", "by", "no", "it", "as", "up", "an", "on", "be", "so", "do"}
OPENING, CLOSING = "([{⟨⌊⌈", ")]}⟩⌋⌉"
# What makes a code span a formula.
SIGNS = re.compile(r"[\u0370-\u03ff\u1d2c-\u1d6a\u2070-\u209f\u0302\u0303²³¹½¼¾⅛⅜ℓ⟨⟩‖∈∉∩∪⊆⊂∖∅∞∂√≤≥≠≈≡→←↦−×·±⌊⌈∧∨¬∀∃]")
CODE = re.compile(r"""["`$\\]|--|::|\.(rs|md|py|npz|npy|json|jsonl|sh|v|zst|parquet|safetensors)\b|[a-z]{3,}_[a-z]{3,}|[A-Za-z]\.[a-z]{3,}|^-""")
SIMPLE = re.compile(
    r"(\d*[A-Za-z]{1,2}(_\w{1,3}|_\{[^}]*\})?['*]?(\([A-Za-z0-9+, ]{1,8}\))?(_\w{1,3})?|[\d.,]+"
    r"|\s*[=<>+|/,(){}\[\]…:]\s*|\s)+"
)
TOKEN = re.compile(r"(?P<space>\s+)|(?P<number>\d+(?:[.,]\d+)*(?:e[-−]?\d+)?)|(?P<word>s\.t\.|[A-Za-z]{3,}'s\b|[A-Za-z]+)|(?P<other>[+−:]=|.)", re.DOTALL)


def accents_apart(text):
    """Letters and their accents as characters of their own; signs such as ≠ stay whole."""
    return "".join(unicodedata.normalize("NFD", letter) if letter.isalpha() else letter for letter in text)


def is_formula(text, state):
    """Whether a code span of a page is a formula."""
    text = accents_apart(text)
    if CODE.search(text):
        return False
    if SIGNS.search(text) or re.fullmatch(r"\+?\d+(\.\d+)?|[\[({][\d., ]+[\])}]", text):
        return True
    if re.fullmatch(r"[A-Za-z]{3,}", text):
        return text in state["names"]
    if state["page"] not in DISPLAYED:
        # Texts of JSON stand beside formulas: only letters with their indices are taken for variables.
        return re.fullmatch(r"[A-Za-z](_\w{1,3})?['*]?(\(\w\))?(_\w{1,3})?", text) is not None
    # Letters, their indices, arguments and simple relations: q, X_nd, W(1), Q = 12, m*.
    words = set(re.findall("[A-Za-z]{3,}", text)) - state["names"] - {"max", "min", "relu"}
    return not words and re.search("[A-Za-z]", text) is not None and re.fullmatch(SIMPLE, text) is not None


def element(tag, text=None, **attributes):
    made = Element(tag, attributes)
    made.text = text
    return made


class Formula:
    """One formula, read from left to right into the children of a <math> element."""

    def __init__(self, text):
        self.text = accents_apart(text)
        self.at = 0

    def read(self, row, end=None):
        """Appends atoms with their scripts to `row`, up to the character `end`."""
        depth = 0
        while self.at < len(self.text):
            here = self.text[self.at]
            if end and here == end and depth == 0:
                self.at += 1
                return row
            if end and here == "{":
                depth += 1
            if end and here == "}":
                depth -= 1
            for atom in self.atoms(row):
                row.append(self.scripts(atom))
        return row

    def atoms(self, row):
        """The next token as elements. Scripts belong to the last of them, so only that one may be followed by any."""
        found = TOKEN.match(self.text, self.at)
        kind, text = found.lastgroup, found.group()
        if kind == "word" and found.end() < len(self.text) and self.text[found.end()] in ACCENTS and len(text) > 1:
            # The accent is that of the last letter.
            text = text[:-1]
        before, self.at = self.at, self.at + len(text)
        if kind == "space":
            return [element("mspace", width="0.22em")]
        if kind == "number":
            return [element("mn", text)]
        if kind == "word":
            return self.word(text, before)
        if len(text) > 1:
            return [element("mo", text)]
        if text in OPENING or text in CLOSING or text in "|‖":
            side = {"form": "prefix"} if text in OPENING else {"form": "postfix"} if text in CLOSING else {"lspace": "0", "rspace": "0"}
            return [element("mo", text, stretchy="false", **side)]
        if text == "Σ":
            return [element("mo", "∑", largeop="false", movablelimits="false", lspace="0.1em", rspace="0.1em")]
        if text == "*" and row is not None and len(row) and row[-1].tag != "mo":
            return [element("mo", "∗")]
        if text == "-" and re.match(r"\w-[a-z]{2}", self.text[max(before - 1, 0) :]):
            return [element("mtext", "-")]
        if text in "-−+±" and self.is_sign(row):
            return [element("mo", "−" if text == "-" else text, form="prefix", lspace="0", rspace="0")]
        if text in "/":
            return [element("mo", text, stretchy="false", lspace="0", rspace="0")]
        if text == "§":
            return [element("mtext", text)]
        if unicodedata.category(text).startswith("L"):
            return [element("mi", text)]
        if unicodedata.category(text) in ("No", "Nd"):
            return [element("mn", text)]
        return [element("mo", text, stretchy="false")]

    @staticmethod
    def is_sign(row):
        """Whether + or − after what stands in `row` is a sign."""
        solid = [child for child in row if child.tag != "mspace"] if row is not None else []
        if not solid:
            return True
        last = solid[-1]
        return last.tag == "mo" and (last.text or "") not in CLOSING and last.text not in ("|", "‖", "∗", "′", "…")

    def word(self, text, before):
        if text == "a" and re.match(r" a [a-z]{3}", self.text[max(before - 1, 0) :]):
            return [element("mtext", text)]
        if re.match(r"-th\b", self.text[max(before - 1, 0) :]):
            return [element("mtext", text)]
        if len(text) == 1 or (len(text) == 2 and text not in SHORT_WORDS) or re.fullmatch("[a-z]?[A-Z][a-z]?|[a-z][A-Z]{1,2}", text):
            # A product: the letters but the last, whose scripts follow.
            self.at = before + 1
            return [element("mi", text[0])]
        return [element("mtext", text)]

    def scripts(self, base):
        """`base` with the accents, indices and exponents that follow it."""
        if base.tag == "mspace":
            return base
        below, above = None, None
        while self.at < len(self.text):
            here = self.text[self.at]
            if here in ACCENTS:
                self.at += 1
                over = Element("mover", accent="true")
                over.extend([base, element("mo", ACCENTS[here], stretchy="false")])
                base = over
            elif here == "_" and below is None and base.tag != "mspace":
                below = self.script("_")
            elif here == "^" and above is None:
                above = self.script("^")
            elif here in SUPERSCRIPTS and above is None:
                above = self.small(SUPERSCRIPTS)
            elif here in SUBSCRIPTS and below is None:
                below = self.small(SUBSCRIPTS)
            elif here in "*'′" and above is None and base.tag not in ("mn",) and (base.tag != "mo" or base.text in CLOSING):
                following = self.text[self.at + 1 : self.at + 2]
                if here == "*" and following and (following.isalnum() or following == "("):
                    break
                self.at += 1
                above = element("mo", "∗" if here == "*" else "′")
            else:
                break
        if below is None and above is None:
            return base
        made = Element("msubsup" if below is not None and above is not None else "msub" if below is not None else "msup")
        made.extend([part for part in (base, below, above) if part is not None])
        return made

    def script(self, mark):
        """What follows `_` or `^`: a group in braces, or a run of letters and digits."""
        self.at += 1
        if self.text[self.at : self.at + 1] == "{":
            self.at += 1
            return self.read(Element("mrow"), end="}")
        run = re.compile(r"−?(?:[^\W_][\u0302\u0303]?)+(?:,(?:[^\W_])+(?![\w_(]))?[*']?|.", re.DOTALL).match(self.text, self.at)
        if run is None:
            return Element("mrow")
        self.at = run.end()
        # A sub- or superscript in Unicode after a run belongs to the base: z_m⁰.
        text = run.group()
        for number, letter in enumerate(text):
            if number and (letter in SUPERSCRIPTS or letter in SUBSCRIPTS):
                self.at -= len(text) - number
                text = text[:number]
                break
        return Formula(text).read(Element("mrow"))

    def small(self, letters):
        text = ""
        while self.at < len(self.text) and self.text[self.at] in letters:
            text += letters[self.text[self.at]]
            self.at += 1
        return Formula(text).read(Element("mrow"))


def formula(text):
    made = Formula(text.strip()).read(Element("math"))
    # Words stand apart as in prose, wider than the factors of a product.
    for before, space, after in zip(made, made[1:], made[2:]):
        if space.tag == "mspace" and "mtext" in (before.tag, after.tag):
            space.set("width", "0.3em")
    return made


def names_of(markdown):
    """Words that stand in formulas of the page beside signs."""
    found = set()
    for span in re.findall(r"`([^`\n]+)`|^ {4}(?=.*[=≤≥])(.*)", markdown, re.MULTILINE):
        span = span[0] or span[1]
        span = accents_apart(span)
        if SIGNS.search(span) and not CODE.search(span):
            found.update(re.findall(r"\b[a-z]{3,}\b(?=\s*[_·=≤≥+−/)|]|[_(])", span))
    return found


class Span(BacktickInlineProcessor):
    """A code span, or a formula."""

    def __init__(self, pattern, state):
        super().__init__(pattern)
        self.state = state

    def handleMatch(self, m, data):
        # GitHub wants `\|` inside tables, where Python-Markdown takes the backslash as text.
        text = (m.group(3) or "").strip().replace("\\|", "|")
        if m.group(3) and self.state["page"] in PAGES and is_formula(text, self.state):
            made, end = Element("span", {"class": "within-text"}), m.end(0)
            made.append(formula(text))
            # No line begins with the punctuation after a formula.
            tail = re.match(r"[.,;:)?!]*", data[end:]).group()
            made[0].tail = tail
            return made, m.start(0), end + len(tail)
        made, start, end = super().handleMatch(m, data)
        if m.group(3):
            made.text = type(made.text)(str(made.text).replace("\\|", "|"))
        return made, start, end


class Reference(InlineProcessor):
    """(5.8) in the text of the mathematics leads to formula 5.8."""

    def __init__(self, pattern, state):
        super().__init__(pattern)
        self.state = state

    def handleMatch(self, m, data):
        if self.state["page"] != "docs/math.md" or m.group(1) not in self.state["numbers"]:
            return None, None, None
        made = element("a", f"({m.group(1)})", href=f"#{m.group(1)}")
        return made, m.start(0), m.end(0)


class Block(CodeBlockProcessor):
    """An indented block of formulas, each line with its number on the right."""

    def __init__(self, parser, state):
        super().__init__(parser)
        self.state = state

    def test(self, parent, block):
        command = re.match(r"\s*(gcnproof|cargo|make|python|scripts|GCNPROOF)", block)
        return self.state["page"] in DISPLAYED and not command and super().test(parent, block)

    def run(self, parent, blocks):
        block, rest = self.detab(blocks.pop(0))
        made = SubElement(parent, "div", {"class": "formulas"})
        for line in block.rstrip().split("\n"):
            found = re.fullmatch(r"(?P<text>.*?)\s{2,}\((?P<number>\d+\.\d+[a-z]?)\)\s*", line)
            text = found["text"] if found else line
            row = SubElement(made, "div", {"class": "formula"})
            indent = len(text) - len(text.lstrip())
            parts = SubElement(row, "div", {"style": f"margin-left: {indent / 2}em"} if indent else {})
            # Formulas beside each other are set apart by spaces; where they do not fit, they stand below each other.
            parts.extend(formula(part) for part in re.split(r"\s{3,}", text.strip()))
            if found:
                row.set("id", found["number"])
                SubElement(row, "span").text = f"({found['number']})"
        if rest:
            blocks.insert(0, rest)


class Mathematics(Extension):
    def __init__(self):
        super().__init__()
        self.state = {"page": "", "names": set(), "numbers": set()}

    def extendMarkdown(self, md):
        md.inlinePatterns.register(Span(r"(?:(?<!\\)((?:\\{2})+)(?=`+)|(?<!\\)(`+)(.+?)(?<!`)\2(?!`))", self.state), "backtick", 190)
        md.inlinePatterns.register(Reference(r"\((\d+\.\d+[a-z]?)\)", self.state), "reference_to_formula", 75)
        md.parser.blockprocessors.register(Block(md.parser, self.state), "formulas", 85)


EXTENSION = Mathematics()


def on_config(config):
    config.markdown_extensions.append(EXTENSION)


def on_page_markdown(markdown, page, config, files):
    EXTENSION.state.update(
        page=page.file.src_uri,
        names=names_of(markdown),
        numbers=set(re.findall(r"\s{2,}\((\d+\.\d+[a-z]?)\)\s*$", markdown, re.MULTILINE)),
    )
