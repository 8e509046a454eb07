"""Wrong arguments: what is said names the argument and the remedy, in Python's words."""

import re
import shutil
import warnings

import numpy as np
import pytest
from conftest import FIXTURES, small
from scipy import sparse

import gcnproof
from gcnproof import Edges, Flips, scope

GRAPH, MODEL = FIXTURES / "cora.npz", FIXTURES / "cora_standard.safetensors"
QUIET = {"progress": False}


@pytest.fixture(scope="module")
def verifier():
    graph, network = small()
    return gcnproof.Verifier(network, graph)


@pytest.fixture(scope="module")
def results(verifier):
    return verifier.certify(1, 1, **QUIET)


def _columns(graph):
    """Two edges of a node as columns of an edge_index: none of the rows is an edge."""
    edges = np.stack(graph.adjacency.nonzero())
    node = np.bincount(edges[0]).argmax()
    return edges[:, edges[0] == node][:, :2]


def _grouped(graph):
    """The same edges with one category for each node."""
    return gcnproof.Graph(graph.adjacency, np.eye(6)[np.arange(graph.node_count) % 6], graph.labels).grouped([range(6)])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: v.certify(1, 1, nodes="0-3"), r"range\(0, 4\)"),
        (lambda v: v.certify(1, 1, nodes="0,3"), r"\[0, 3\]"),
        (lambda v: v.certify(1, 1, nodes="all"), "leave nodes out"),
        (lambda v: v.certify(1, 1, freeze_nodes="all"), "freeze_nodes='all'"),
        (lambda v: v.certify(1, 1, freeze_attributes=[0.5]), "freeze_attributes: an array"),
        (lambda v: v.certify(1, 1, nodes=[]), "nodes: no node is selected: the list is empty"),
        (lambda v: v.certify(1, 1, nodes=np.zeros(9, bool)), "the mask has no true entry"),
        (lambda v: v.certify(1, 1, nodes=slice(50, 60)), "the slice 50:60 is empty in a graph of 9 nodes"),
        (lambda v: v.certify(1, 1, complete="yes"), "complete='yes'"),
        (lambda v: v.certify(1, 1, complete=False, minimize=True), "complete=False together with minimize=True"),
        (lambda v: v.certify(1, 1, progress="bar"), "give True for a bar, False for none, or a function"),
        (lambda v: v.certify(1, 1, progress=lambda done: None), "give a function of three arguments"),
        (lambda v: v.certify(v.network, v.graph, Q=1, q=1), "certify of a Verifier is given a model or data, and has both already"),
        (lambda v: v.radius(data=v.graph, q=1), "radius of a Verifier is given a model or data"),
        (lambda v: gcnproof.Verifier(MODEL, GRAPH).certify(MODEL, GRAPH, Q=1, q=1), "leave them out"),
        (lambda v: v.certify(1, 1, proofs="p.jsonl", resume=True), "resume=True with proofs='p.jsonl' alone.*\n  help: give out=, too"),
        (lambda v: v.certify(1, 1, resume=True), "resume=True without a file"),
        (lambda v: v.certify(1, 1, force=True), "force=True without a file"),
        (lambda v: v.certify(1, 1, out="rows.csv", resume=True, force=True), "contradict each other"),
        (lambda v: v.certify(E=1, freeze_edges=_columns(v.graph).tolist()), r"rows are pairs of ids \(m × 2\).*\.T"),
        (lambda v: v.certify(E=1, freeze_edges=[(0, 0)]), "freeze_edges: 0–0 cannot be frozen: an edge has two different ends.*\n  help: freeze edges that the graph has"),
        (lambda v: v.certify(1, float("nan")), "q=nan: .*\n  help: give a float of 0 or more and below 1"),
        (lambda v: v.certify(1, "1%"), "q='1%': a text\n  help: say q=0.01"),
        (lambda v: v.certify("12", 1), "Q='12': a text\n  help: give the number: 12"),
        (lambda v: v.certify(1, np.ones(9)), r"q is an array of float64.*\n  help: .*array.astype\(int\)"),
        (lambda v: v.certify(1, [0.5] * 9), r"q is an array of float64.*\n  help: .*shares of n attributes .* np.where\(q > 0, np.maximum\(1, q \* n\), 0\)"),
        (lambda v: v.certify(1, 1, nodes="test"), "nodes='test': a text\n  help: give the mask itself, nodes=data.test_mask where the data has one"),
        (lambda v: v.certify(1, 1, nodes="test_idx"), "help: give the array itself, such as nodes=data.test_idx"),
        (lambda v: gcnproof.Categories(4, 1, [range(0, 3)]), r"the groups stand where direction is expected\n  help: say groups=\[range\(0, 3\)\]"),
        (lambda v: gcnproof.Categories(4, [range(0, 3)]), "the groups stand where q is expected"),
        (lambda v: v.graph.grouped(range(0, 3)), r"one group, and a list of groups is meant\n  help: give groups=\[range\(0, 3\)\]"),
        (lambda v: v.graph.grouped([(0, 3), (3, 6)]), r"limits, and not the attributes.*\n  help: give groups=\[range\(0, 3\), range\(3, 6\)\]"),
        (lambda v: v.graph.grouped([(0, 2), (3, 5)]), r"limits, .*\n  help: give groups=\[range\(0, 3\), range\(3, 6\)\]"),
        (lambda v: gcnproof.Graph("graph.npz"), r"'graph.npz' is the path of a file.*\n  help: of a file: Graph.load\(path\)"),
        (lambda v: gcnproof.certify(v.network, gcnproof.Graph(v.graph.adjacency, v.graph.attributes, directed=True), 1, 1), r"read with directed=True.*\n  help: read it without"),
        (lambda v: v.collective([1], 1, radii=v.radius(Edges(remove=1), **QUIET)), "radii: they are numbers of changed edges"),
        (lambda v: gcnproof.train([v.graph], "ce"), "these are graphs\n  help: train in PyTorch Geometric, with gcnproof.torch.RobustLoss"),
        (lambda v: v.certify(Edges(remove=1, freeze_edges="pairs.txt")), r"freeze_edges='pairs.txt': a text\n  help: give pairs of ids.*np.loadtxt"),
        (lambda v: v.certify(Flips(1, 1), E=1), r"E beside Flips.*\n  help: \[Flips\(Q=3, q=1\), Edges\(change=2\)\] is one attacker who does both"),
        (lambda v: v.certify(gcnproof.Ranges(epsilon=0.1), bound="paper"), r"bound beside Ranges\(…\), which has none\n  help: leave it out"),
        (lambda v: v.certify([Flips(1, 1)]), r"\[Flips\]: a list of one attack\n  help: give Flips\(…\) itself"),
        (lambda v: v.certify(gcnproof.Ranges), r"Ranges is a class.*\n  help: give gcnproof.Ranges\(epsilon=0.01\)"),
        (lambda v: gcnproof.Ranges(0.1), r"help: say how far they are moved: Ranges\(epsilon=0.1\)"),
        (lambda v: gcnproof.Ranges(epsilon=-1), "epsilon=-1: it is less than 0"),
        (lambda v: gcnproof.train(_grouped(v.graph), "ce"), r"has groups.*\n  help: give Categories\(Q=…, q=…\), or a graph without groups"),
        (lambda v: Edges("insert", 1), r"help: say how many: Edges\(insert=1\)"),
        (lambda v: v.certify(Q=2.0, q=1), "Q=2.0\n  help: say Q=2"),
        (lambda v: v.certify(Q="2", q=1), "Q='2'\n  help: say Q=2"),
        (lambda v: v.certify(1, 1, nodes=np.where(np.ones(9))), r"help: a tuple of one array: give nodes\[0\]"),
        (lambda v: gcnproof.Execution(unit_roundoff=1e-3), r"unit_roundoff=0.001\n  help: give a power of two"),
        (lambda v: v.certify(gcnproof.Categories(groups=[range(0, 3)])), "Q is missing\n  help: say how many categories may be changed"),
        (lambda v: gcnproof.Graph.from_data([]), r"a list is no Data object\n  help: .*Batch.from_data_list"),
        (lambda v: gcnproof.Graph.from_data(5), "the data has no x"),
        (lambda v: v.certify(1, -0.1), "q=-0.1: it is less than 0\n  help: give a float of 0 or more and below 1"),
        (lambda v: v.certify(1, 2.0), "q=2.0: a share of the attributes is a float below 1.*\n  help: say q=2"),
        (lambda v: v.certify(1, 1, nodes=iter([0, 1])), "nodes: a list_iterator is neither a list of ids nor a mask"),
        (lambda v: v.certify(1, 1, nodes=0.5), "nodes: a float is neither a list of ids"),
        (lambda v: v.certify(Flips(1, 1), Edges(1)), "two attacks are given"),
        (lambda v: gcnproof.certify(v.network, v.graph, np.zeros((2, 5), int), Q=1, q=1), "the data is one object"),
        (lambda v: gcnproof.certify(gcnproof.Network, v.graph, 1, 1), "Network is a class, and a model is one of its objects"),
        (lambda v: gcnproof.Graph(np.zeros((2, 5), int), np.zeros((5, 6))), r"Graph.from_data\(Data\(x=x, edge_index=edge_index\)\)"),
        (lambda v: v.certify(1, 1, out=5), "out: a int is no path"),
        (lambda v: v.certify(1, 1, out="same.jsonl", proofs="./same.jsonl"), "out and proofs name the same file"),
        (lambda v: v.radius(Flips(q=1, Q=3), max_Q=5), r"Flips\(Q=3\) means the same as max_Q=3"),
        (lambda v: v.radius(Edges(remove=3), max_E=5), r"max_E=5 together with Edges\(remove=3\)"),
        (lambda v: v.collective([1], q=1, proofs=GRAPH), "is a file, and a folder is meant"),
        (lambda v: v.check(v), "proofs: a Verifier is no path of a file"),
        (lambda v: v.logits([(0,)]), r"flips are pairs \(node, attribute\)"),
        (lambda v: v.logits([0, 1]), r"flips are pairs \(node, attribute\)"),
        (lambda v: v.logits([(0, -1)]), "ids start at 0"),
        (lambda v: v.logits("ab"), r"flips are pairs \(node, attribute\)"),
        (lambda v: v.logits([(0, 1), (2,)]), r"flips are pairs \(node, attribute\)"),
        (lambda v: gcnproof.certify(v.network, gcnproof.Graph(v.graph.adjacency, v.graph.attributes), 1, 1, class_="labels"), "class_='labels', but the graph has no labels"),
        (lambda v: v.certify(1, 1, out="rows.csv", force="no"), "force='no'\n  help: give True or False"),
        (lambda v: v.certify(E=1, keep_one_edge="no"), "keep_one_edge='no'\n  help: give True or False"),
        (lambda v: v.certify(Edges(remove=1, keep_one_edge="false")), "keep_one_edge='false'"),
        (lambda v: v.certify(1, 1, deployed="float32", flush_subnormals="no"), "flush_subnormals='no'"),
        (lambda v: v.certify(E=-1), "^E=-1"),
        (lambda v: v.certify(Edges(remove=-1)), "^remove=-1"),
        (lambda v: v.certify(E=2, e=1.5), "^e=1.5"),
        (lambda v: v.certify(Edges(remove=2, at_node=1.5)), "at_node=1.5"),
        (lambda v: v.certify(E=2, e=[1, 2]), r"at_node \(e\) is an array of int64"),
        (lambda v: v.certify(1, 1, flips="up"), "^flips='up'"),
        (lambda v: v.certify(Flips(1, 1, direction="up")), "^direction='up'"),
        (lambda v: v.certify(1, 1, nodes=[0, 1, 1, 0]), r"`np.array\(mask, bool\)`"),
        (lambda v: v.certify(1, 1, nodes=np.ones(9, np.uint8)), r"`mask.astype\(bool\)`"),
        (lambda v: v.certify(1, 1, nodes=np.array([0, 1, 2] * 3)), "nodes: one entry for each of the 9 nodes"),
        (lambda v: v.check("proofs.jsonl", 1, 1, exact="yes"), "exact='yes'"),
        (lambda v: v.check(FIXTURES, 1, 1), "is a folder, and the file of proofs is meant"),
        (lambda v: gcnproof.check(v.network, "proofs.jsonl", v.graph), "behind the model and the data"),
        (lambda v: gcnproof.Graph(v.graph.adjacency, v.graph.attributes, symmetrize="no"), "symmetrize='no'"),
        (lambda v: gcnproof.Graph(np.zeros((0, 0)), np.zeros((0, 6))), "the graph has no nodes"),
        (lambda v: v.certify(1, 1, candidates=2), "candidates without edges\n  help: say edges='insert' or edges='change' with E"),
        (lambda v: v.certify(E=1, candidates=2), "candidates, but edges are removed\n  help: .*say edges='insert' or edges='change'"),
        (lambda v: v.certify(edges="remove", E=1, candidates=2), "candidates beside edges='remove'\n  help: .*say edges='insert' or edges='change'"),
        (lambda v: v.certify(Edges(remove=1, candidates=2)), "candidates beside remove\n  help: .*insert=… or change=…"),
        (lambda v: v.certify(edges="insert", E=1, candidates=0), "candidates=0: nodes at most 0 edges apart .* none can be inserted\n  help: give 2 or more"),
        (lambda v: v.certify(Edges(change=1, candidates=1)), "candidates=1: nodes at most 1 edges apart"),
        (lambda v: v.certify(Edges(insert=1, candidates=[])), "candidates: the list is empty, and no edge can be inserted\n  help: give pairs"),
        (lambda v: v.certify(Edges(insert=1, candidates=[(0, 0)])), "candidates: 0–0 is no candidate.*\n  help: give pairs of ids from 0 to 8 without an edge"),
        (lambda v: v.certify(Edges(insert=1, candidates="2")), "candidates='2': a text\n  help: give pairs of ids"),
        (lambda v: v.certify(Edges(insert=1, candidates=2.5)), "candidates=2.5\n  help: give a whole number of edges apart, 2 or more"),
        (lambda v: v.certify(Edges(insert=1, candidates=[(0.5, 1.0)])), r"candidates: an array of float64.*\n  help: give pairs of ids.*candidates=\[\(0, 1\)"),
        (lambda v: v.certify(Edges(insert=1, at_node=[-1] + [1] * 8)), r"at_node \(e\): the local budget of edges of node 0 is -1.*\n  help: give one whole number of edges, 0 or more, for each of the 9 nodes"),
        (lambda v: v.certify(Edges(remove=1, freeze_nodes=[99])), "freeze_nodes: node 99 cannot be frozen.*\n  help: give ids from 0 to 8"),
        (lambda v: v.certify(1, 1, freeze_nodes=[99]), "node 99 cannot be frozen.*\n  help: give ids of nodes from 0 to 8"),
        (lambda v: v.certify(1, [-1] + [1] * 8), "the local budget of node 0 is -1.*\n  help: give whole numbers of flips, 0 or more"),
        (lambda v: v.certify(Edges(insert=1, freeze_edges=[(0, 1)])), "freeze_edges beside insert: no edge is removed\n  help: leave freeze_edges out"),
        (lambda v: v.certify(Edges(insert=1, keep_one_edge=False)), "keep_one_edge=False beside insert: no edge is removed"),
        (lambda v: v.certify(1, 1, nodes=[[0, 1], [2]]), "nodes: a list whose rows have different lengths"),
        (lambda v: v.certify(Edges(insert=1, candidates=[[0, 1], [2]])), "candidates: a list whose rows have different lengths"),
        (lambda v: v.certify(Edges(insert=1, candidates=True)), "candidates=True\n  help: give a whole number of edges apart, 2 or more, or pairs of ids"),
        (lambda v: v.certify(Flips), "Flips is a class, and an attack is one of its objects"),
        (lambda v: v.certify(1, {"a": 1}), "q={'a': 1}\n  help: give a whole number, a share below 1, or an array"),
        (lambda v: v.certify(1, 1, time_limit=[1]), r"time_limit=\[1\]\n  help: give a number of seconds"),
        (lambda v: v.certify(E=1, bound="paper"), "bound together with edges: only flips of attributes have several bounds\n  help: leave it out"),
        (lambda v: gcnproof.Graph.load(5), "path: a int is no path of a file"),
        (lambda v: gcnproof.Graph(v.graph.adjacency, None), "the attributes: None is no matrix"),
        (lambda v: gcnproof.Graph([[0, 1], [1]], np.eye(2)), "the adjacency: a list whose rows have different lengths"),
        (lambda v: gcnproof.Graph(np.zeros((2, 2)), np.array([[1, np.nan], [0, 1]]), binarize=True), r"the attributes at \(0, 1\) is nan, which is not a finite number"),
        (lambda v: gcnproof.Graph(np.zeros((2, 2)), np.eye(2), np.eye(2)), r"labels have the sides \(2, 2\)\n  help: .*labels.argmax\(axis=1\), if they are one-hot"),
        (lambda v: v.graph.grouped([]), r"groups=\[\]\n  help: give one list of attributes for each group"),
        (lambda v: v.graph.grouped([True] * 3 + [False] * 3), r"groups=\[True.*\n  help: give one list of attributes for each group"),
        (lambda v: v.certify(1, 1).graph, "these results are about nodes, and have no column graph\n  help: use results.node"),
        (lambda v: v.collective([1], gcnproof.Categories(q=1, groups=[[0, 1]])), "not for categories"),
        (lambda v: v.collective([1], [Flips(q=1), Edges(remove=1)]), r"two are given\n  help: give Flips\(…\) alone; certify decides both"),
        (lambda v: v.collective([Flips(q=1), Edges(remove=1)]), "the attack stands where the budgets are expected"),
        (lambda v: v.collective(Flips(q=1), [1]), "the attack stands where the budgets are expected"),
        (lambda v: v.radius([Flips(q=1), Edges(remove=1)]), r"help: give Flips\(…\) or Edges\(…\) alone; certify decides both"),
        (lambda v: gcnproof.train(v.graph, "ce", [Flips(1, 1), Edges(1)]), r"not about \[Flips, Edges\]\n  help: .*; \[Flips, Edges\] is decided by certify$"),
        (lambda v: gcnproof.train(gcnproof.Graph(v.graph.adjacency, v.graph.attributes * 0.3, real=True), "ce"), r"attributes are numbers.*\n  help: .*certify\(model, data, …\) takes Ranges.* or Edges"),
        (lambda v: v.certify(1, 1).apply(0, v.graph), r"a graph is given.*\n  help: .*gcnproof.load\(path, graph=data\).apply\(node\)"),
        (lambda v: gcnproof.Graph(v.graph.adjacency, v.graph.attributes, [0, 1]), "labels have the sides.*\n  help: .*of graphs, give batch"),
        (lambda v: gcnproof.study(v.network, v.graph, "study", gcnproof.Categories(Q=1, q=1, groups=[[0, 1]])), r"not about Categories\n  help: give Flips\(…\).*a graph without groups; Categories is decided by certify, radius and explain"),
    ],
)
def test_questions(verifier, call, words):
    with pytest.raises(gcnproof.InputError, match=words):
        call(verifier)


@pytest.mark.parametrize("attributes", ["numbers", "categories", "quotients"])
def test_remedies_of_attributes_lead_to_an_answer(verifier, attributes):
    """Whatever is asked of attributes for which it is not decided: the attacks that the remedy names are."""
    own, network = verifier.graph, verifier.network
    hot = np.eye(own.attribute_count)[np.arange(own.node_count) % own.attribute_count]
    known = {"numbers": own.attributes * 0.3, "categories": hot, "quotients": (own.attributes.toarray() + 0.0) / np.maximum(own.attributes.sum(1), 1)}[attributes]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = gcnproof.Graph(own.adjacency, np.asarray(sparse.csr_matrix(known).toarray()), own.labels, real=True)
    graph = graph.grouped([range(own.attribute_count)]) if attributes == "categories" else graph
    attacks = {
        "Flips": Flips(Q=1, q=1), "Ranges": gcnproof.Ranges(epsilon=0.01), "Edges": Edges(remove=1), "[Flips": [Flips(Q=1, q=1), Edges(remove=1)],
        "Categories": gcnproof.Categories(Q=1, q=1),
    }
    decided = scope.DECIDED[attributes]
    for name, attack in attacks.items():
        if name == "Categories" and attributes != "categories":
            continue
        if name.strip("[") in decided and not name.startswith("["):
            assert len(gcnproof.certify(network, graph, attack, **QUIET)) == own.node_count
            continue
        with pytest.raises(gcnproof.InputError) as caught:
            gcnproof.certify(network, graph, attack, **QUIET)
        named = re.findall(r"(?:give|or) ([A-Z]\w+)\(", caught.value.help)
        assert named and set(named) <= set(decided), (name, caught.value.help)


@pytest.mark.parametrize("name", ["candidates", "freeze_edges"])
def test_two_by_two_is_no_guess(verifier, name):
    """Two columns of an edge_index look like two pairs: the remedies say which of them is meant, and the answers differ."""
    absent, present = (np.argwhere(np.triu(verifier.graph.adjacency.toarray() == there, 1)) for there in (0, 1))
    free = absent if name == "candidates" else present
    given = np.array([free[0], next(pair for pair in free if not set(pair) & set(free[0]))]).T

    def certify(edges):
        return verifier.certify(Edges(**{"insert" if name == "candidates" else "remove": 1, name: edges}), **QUIET)

    words = rf"{name} is 2 × 2: an edge_index, or two pairs\?\n  help: give a list of pairs: .*{name}\)?.T.tolist\(\) of an edge_index.*{name}\)?.tolist\(\) of pairs"
    for edges in (given, list(given), tuple(given)):
        with pytest.raises(gcnproof.InputError, match=words):
            certify(edges)
    assert certify(given.T.tolist()).verdict.tolist() == certify([tuple(pair) for pair in given.T]).verdict.tolist()
    assert len(certify(given[:, :1])) == len(certify(given.T[:1])) == verifier.graph.node_count


def test_what_is_said_of_graphs():
    """Where graphs are classified, ids are those of graphs."""
    weights = [np.array([[1.0, -0.5], [-1.0, 0.75]]), np.array([[1.0, -1.0], [-0.5, 0.5]])]
    layers = [gcnproof.Layer("h", [gcnproof.Term("x", "sum", weights[0])]), gcnproof.Layer("z", [gcnproof.Term("h", "pool-sum", weights[1])], None, "none")]
    links = sparse.csr_matrix((np.ones(4, np.int8), ([0, 1, 2, 3], [1, 0, 3, 2])), shape=(6, 6))
    graph = gcnproof.Graph(links, np.eye(6, 2), batch=[0, 0, 1, 1, 2, 2])
    v = gcnproof.Verifier(gcnproof.Network(layers), graph)
    for call, words in (
        (lambda: v.certify(1, 1, nodes=[5]), "there is no graph 5: the last one is 2\n  help: graphs are classified: ids are those of graphs"),
        (lambda: v.radius(1, nodes=[5]), "there is no graph 5"),
        (lambda: v.explain(5), "there is no graph 5"),
        (lambda: v.certify(1, 1, nodes=np.ones(6, bool)), "a mask of 6 entries, but there are 3 graphs\n  help: .*these are classified, and not their nodes"),
        (lambda: v.certify(1, 1, nodes=[]), "no graph is selected"),
        (lambda: v.certify(1, 1, nodes=slice(7, 9)), "the slice 7:9 is empty of 3 graphs"),
    ):
        with pytest.raises(gcnproof.InputError, match=words):
            call()
    with pytest.raises(TypeError, match=r"nodes \(ids of graphs, where these are classified\) is meant"):
        v.certify(1, 1, graphs=[0])


def test_what_is_said_of_a_batch():
    """Of a graph in memory no file is saved again."""
    graph = gcnproof.Graph(np.zeros((2, 2)), np.eye(2))
    layer = [gcnproof.Layer("z", [gcnproof.Term("x", "pool-sum", np.eye(2))], None, "none")]
    with pytest.raises(gcnproof.InputError, match=r"no `batch` says.*\n  help: .*Graph\(adjacency, attributes, labels, batch=…\)"):
        gcnproof.certify(gcnproof.Network(layer), graph, 1, 1)
    layer[0].terms[0].operator = "sum"
    with pytest.raises(gcnproof.InputError, match="the graph has a `batch` of 1 graphs.*\n  help: leave batch out of the Graph"):
        gcnproof.certify(gcnproof.Network(layer), gcnproof.Graph(np.zeros((2, 2)), np.eye(2), batch=[0, 0]), 1, 1)


def test_what_is_done_to_edges_is_kept_without_a_number(verifier):
    """`edges` alone says what is done: it must not fall back to removals."""
    for kind in ("insert", "change", "remove"):
        assert verifier.radius(edges=kind, max_E=1, **QUIET).run["edges"]["attack"] == kind
        assert verifier.explain(0, edges=kind, time_limit=5)["edges"]["attack"] == kind
    with pytest.raises(gcnproof.InputError, match="E is missing"):
        verifier.certify(edges="insert")


def test_layers_of_a_model_whose_names_are_known(tmp_path):
    np.savez(tmp_path / "plain.npz", W1=np.ones((4, 3)), W2=np.ones((3, 2)))
    with pytest.raises(gcnproof.InputError, match="\n  help: leave `layers` out: the names of these tensors are known"):
        gcnproof.load(tmp_path / "plain.npz", layers=["W1", "W2"])
    assert isinstance(gcnproof.load(tmp_path / "plain.npz"), gcnproof.Network)


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([["0", "1"], ["1", "0"]], r"texts, and ids of nodes are numbers of rows of `x`. Remedy: `ids = "),
        ([[0.0, 1.0], [1.0, 0.5]], r"`edge_index\[1, 1\]` is 0.5, and ids of nodes are whole numbers. Remedy: correct it"),
        ([[0.0, np.nan], [1.0, 0.0]], r"`edge_index\[0, 1\]` is nan"),
        ([[0.0, 1.0], [1.0, 0.0]], r"Remedy: `edge_index.astype\(np.int64\)`"),
        (np.zeros((5, 2), int), r"Remedy: `edge_index.T`"),
        (np.zeros((3, 4), int), r"Remedy: sources in the first row"),
        ([[0, 1], [1]], "rows have different lengths"),
    ],
)
def test_edges_that_are_none(edges, words):
    class Data:
        edge_index = edges
        x = np.eye(2)

    with pytest.raises(gcnproof.InputError, match=words):
        gcnproof.Graph.from_data(Data)
    Data.edge_index, Data.x = np.array([[0, 1], [1, 0]]), np.array([["a"], ["b"]])
    with pytest.raises(gcnproof.InputError, match="the x is an array of texts"):
        gcnproof.Graph.from_data(Data)


def test_attributes_of_edges_are_not_dropped_in_silence():
    class Data:
        edge_index = np.array([[0, 1], [1, 0]])
        x = np.eye(2)
        edge_attr = np.array([0.5, 0.5])

    with pytest.warns(gcnproof.GcnproofWarning, match="data.edge_attr is not used"):
        gcnproof.Graph.from_data(Data)
    Data.edge_attr = None
    gcnproof.Graph.from_data(Data)


def test_flips_of_logits_in_every_form(verifier):
    pairs = [(0, 1), (2, 3)]
    for form in (pairs, set(pairs), np.array(pairs), tuple(pairs)):
        assert (verifier.logits(form) == verifier.logits(pairs)).all()
    assert (verifier.logits([]) == verifier.logits()).all()


def test_an_argument_of_another_call(verifier):
    with pytest.raises(TypeError, match="radius has no minimize; certify has"):
        verifier.radius(1, minimize=True)
    with pytest.raises(TypeError, match="is freeze_nodes meant"):
        verifier.certify(1, 1, freeze_node=[3])
    with pytest.raises(TypeError, match="complete=False is meant"):
        verifier.certify(1, 1, bounds_only=True)
    with pytest.raises(TypeError, match="time_limit is meant"):
        verifier.certify(1, 1, timeout=5)
    with pytest.raises(TypeError, match="learning_rate is meant"):
        gcnproof.train(GRAPH, "ce", lr=0.1)
    with pytest.raises(TypeError, match="direction is meant"):
        Flips(1, 1, flips="add")
    with pytest.raises(TypeError, match="remove is meant"):
        Edges(E=1)
    with pytest.raises(TypeError, match=r"edges='insert' with E, or Edges\(insert=…\), is meant"):
        verifier.certify(insert=1)
    with pytest.raises(TypeError, match=r"Ranges\(epsilon=…\), .* is meant"):
        verifier.explain(0, epsilon=0.1)
    with pytest.raises(TypeError, match=r"Categories\(Q=…, q=…, groups=…\) is meant"):
        verifier.certify(1, 1, groups=[[0, 1]])
    with pytest.raises(TypeError, match="'expect_Q': Q is meant"):
        verifier.check("proofs.jsonl", expect_Q=1)
    with pytest.raises(gcnproof.InvalidNetwork, match="layers are a list of Layer objects"):
        gcnproof.Network(5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gcnproof.Verifier(GRAPH, MODEL), "the model comes first, then the graph"),
        (lambda: gcnproof.Graph.load(MODEL), "help: give the file of a graph"),
        (lambda: gcnproof.train(MODEL), "help: give the file of a graph"),
        (lambda: gcnproof.load(GRAPH, layers=["a"]), "a graph has no layers"),
        (lambda: gcnproof.load(MODEL, layers="convs.0,convs.1"), r"layers=\['convs.0', 'convs.1'\]"),
        (lambda: gcnproof.load(FIXTURES), "is a folder"),
        (lambda: gcnproof.certify(MODEL, GRAPH, 1, 1, out=MODEL, force=True), "is also the file of the model"),
        (lambda: gcnproof.certify(MODEL, GRAPH, 1, 1, proofs=GRAPH, force=True), "is also the file of the graph"),
        (lambda: gcnproof.train(GRAPH, "mse"), "loss='mse'\n  help: give 'ce'"),
        (lambda: gcnproof.train(GRAPH, "ce", bound="best"), "give 'paper' or 'anchored'"),
        (lambda: gcnproof.train(GRAPH, "ce", split="200%"), "at most 100%"),
        (lambda: gcnproof.train(GRAPH, "ce", split=0.1), "split='10%'"),
        (lambda: gcnproof.train(GRAPH, "ce", split=-1), "split=-1"),
        (lambda: gcnproof.train(GRAPH, "ce", seed="a"), "seed='a'\n  help: give a whole number, 0 or more"),
        (lambda: gcnproof.train(GRAPH, "ce", epochs=-1), "epochs=-1\n  help: give a whole number of iterations"),
        (lambda: gcnproof.train(GRAPH, "ce", learning_rate=-0.1), "learning_rate=-0.1\n  help: give a number, 0 or more"),
        (lambda: gcnproof.train(GRAPH, "ce", labelled=[]), "labelled: no node is labelled"),
        (lambda: gcnproof.train(GRAPH, "ce", resume=True), "resume=True needs out="),
        (lambda: gcnproof.train(small()[1], small()[0]), "train takes the data first, and no model"),
        (lambda: gcnproof.study(MODEL, GRAPH, "study", sample=-1), "sample=-1"),
        (lambda: gcnproof.study(MODEL, GRAPH, GRAPH), "is a file, and a folder is meant"),
        (lambda: gcnproof.study(MODEL, GRAPH, "study", complete="no"), "complete='no'"),
        (lambda: gcnproof.study(MODEL, GRAPH, "study", force="no"), "force='no'"),
        (lambda: gcnproof.train(GRAPH, "ce", out="m.safetensors", resume="no"), "resume='no'"),
        (lambda: gcnproof.report("rows.parquet", "page.html"), "say out='page.html'"),
        (lambda: gcnproof.report("rows.parquet", force="no"), "force='no'"),
        (lambda: gcnproof.report("rows.parquet", out=5), "out: a int is no path"),
        (lambda: gcnproof.report(FIXTURES, out="page.html"), "there is no study.json in it"),
        (lambda: gcnproof.train(GRAPH, "ce", hidden=-1), "hidden=-1\n  help: give a whole number of units, 1 or more"),
        (lambda: gcnproof.train(GRAPH, "ce", hidden=0), "hidden=0\n  help: give a whole number of units, 1 or more"),
        (lambda: gcnproof.train(GRAPH, "ce", epochs="ten"), "epochs='ten'"),
        (lambda: gcnproof.train(GRAPH, "ce", margin_labelled="a"), "margin_labelled='a'\n  help: give a number"),
        (lambda: gcnproof.train(GRAPH, "ce", dropout=1.5), "dropout is 1.5: it must be at least 0 and less than 1"),
        (lambda: gcnproof.train(GRAPH, "ce", message_passing="gat"), "'gat' is none of gcn"),
        (lambda: gcnproof.train(GRAPH, "ce", message_passing=[3]), r"message_passing=\[3\]"),
        (lambda: gcnproof.train(GRAPH, "ce", out="-m.npz"), "end the name in .safetensors"),
        (lambda: gcnproof.train(GRAPH, "ce", out="m.safetensors", resume=True, force=True), "contradict each other"),
        (lambda: gcnproof.train(GRAPH, "ce", freeze_nodes=[9999]), "node 9999 cannot be frozen"),
        (lambda: gcnproof.study(MODEL, GRAPH, "study", max_Q=-3), "max_Q=-3"),
        (lambda: gcnproof.study([], GRAPH, "study"), "no model is given"),
        (lambda: gcnproof.study(MODEL, GRAPH, "study", nodes=[9999]), "there is no node 9999"),
        (lambda: gcnproof.load(FIXTURES / "README.md"), "neither a graph, a model nor results"),
    ],
)
def test_files_and_training(call, words):
    before = [path.stat().st_mtime_ns for path in (GRAPH, MODEL)]
    with pytest.raises(gcnproof.InputError, match=words) as caught:
        call()
    # Commands are told as they are typed.
    assert "--" not in re.sub("`gcnproof [^`]*`", "", str(caught.value)) and [path.stat().st_mtime_ns for path in (GRAPH, MODEL)] == before


def test_training_without_labels():
    graph, _ = small()

    class Data:
        edge_index = np.stack(graph.adjacency.nonzero())
        x = graph.attributes.toarray()

    with pytest.raises(gcnproof.InputError, match="set data.y"):
        gcnproof.train(Data, "ce", **QUIET)
    Data.edge_index = Data.edge_index.copy()
    Data.edge_index[1, 2] = 99
    with pytest.raises(gcnproof.InputError, match=r"`edge_index\[1, 2\]` is 99, but `x` has 9 rows: nodes 0 to 8"):
        gcnproof.Graph.from_data(Data)


def test_files_of_results(verifier, results, tmp_path):
    for name in ("rows.parquet", "rows.csv", "rows.jsonl"):
        results.save(tmp_path / name)
        assert len(gcnproof.load(tmp_path / name, graph=verifier.graph)) == 9
    other, network = small(5)
    with pytest.raises(gcnproof.InputError, match="computed on another graph"):
        gcnproof.load(tmp_path / "rows.parquet", graph=other)
    for kind, name in (("csv", "misnamed.parquet"), ("parquet", "misnamed.csv"), ("jsonl", "json.csv")):
        shutil.copy(tmp_path / f"rows.{kind}", tmp_path / name)
        with pytest.raises(gcnproof.InputError, match=f"rename it so that it ends in .{kind}"):
            gcnproof.load(tmp_path / name)
    (tmp_path / "log.jsonl").write_text('{"gcnproof_training_log":1}\n')
    with pytest.raises(gcnproof.InputError, match="is a log of training, not results"):
        gcnproof.load(tmp_path / "log.jsonl")
    with pytest.raises(gcnproof.InputError, match="load the results: '.*rows.csv'"):
        gcnproof.load(tmp_path / "rows.csv.run.json")
    with pytest.raises(gcnproof.InputError, match=r"rows.parquet: is a table .*\n  help: give the file of a graph"):
        gcnproof.certify(network, tmp_path / "rows.parquet", 1, 1)
    (tmp_path / "page.html").write_text("<!doctype html>")
    with pytest.raises(gcnproof.InputError, match="is a page"):
        gcnproof.load(tmp_path / "page.html")
    for wrong, words in ((tmp_path, "is a folder"), (None, "is no path of a file")):
        with pytest.raises(gcnproof.InputError, match=words):
            results.save(wrong)
    with pytest.raises(gcnproof.InputError, match=r"certify\(…, proofs=…\)") as caught:
        verifier.check(tmp_path / "rows.parquet")
    assert "GRAPH MODEL" not in str(caught.value)
    for name in ("proofs.jsonl", "proofs.jsonl.zst"):
        verifier.certify(1, 1, proofs=tmp_path / name, **QUIET)
        for read in (gcnproof.load, gcnproof.report):
            with pytest.raises(gcnproof.InputError, match=r"gcnproof.check\(model, data"):
                read(tmp_path / name)
    assert "about another graph" in repr(gcnproof.check(network, other, tmp_path / "proofs.jsonl", **QUIET))
    with pytest.raises(gcnproof.InputError, match="no axes of matplotlib"):
        results.plot(ax=3)


def test_what_is_there_is_not_overwritten(verifier, tmp_path):
    """Graphs and networks are saved under names of their own kind, and overwrite only if forced."""
    for thing, name, other in ((verifier.graph, "graph.npz", "graph.txt"), (verifier.network, "model.safetensors", "model.npz")):
        path = tmp_path / name
        path.write_text("the work of years")
        for force in (False, True):
            with pytest.raises(gcnproof.InputError, match="of another kind and is not overwritten\n  help: choose another name"):
                thing.save(path, force=force)
        for wrong, words in ((tmp_path / other, f"end the name in {path.suffix}"), (5, "is no path of a file")):
            with pytest.raises(gcnproof.InputError, match=words):
                thing.save(wrong)
        with pytest.raises(gcnproof.InputError, match="force='no'"):
            thing.save(path, force="no")
        with pytest.raises(gcnproof.InputError, match="there is no folder"):
            thing.save(tmp_path / "nowhere" / name)
        assert path.read_text() == "the work of years" and not (tmp_path / other).exists()
        path.unlink()
        thing.save(path)
        with pytest.raises(gcnproof.InputError, match="there is a file already\n  help: say force=True"):
            thing.save(path)
        thing.save(path, force=True)
        assert type(gcnproof.load(path)) is type(thing)


@pytest.mark.filterwarnings("ignore::gcnproof.GcnproofWarning")
def test_names_that_look_like_options(verifier, results, tmp_path, monkeypatch):
    """Whatever a file or a model is called, it is no option of a command."""
    monkeypatch.chdir(tmp_path)
    graph = verifier.graph
    made = gcnproof.train(graph, "ce", hidden=2, epochs=1, split=1, out="-m.safetensors", **QUIET)
    few = {"Q": 1, "q": 1, "max_Q": 1, "sample": 1, "nodes": [0], **QUIET}
    told = gcnproof.study({"-x": made, "a/b": verifier.network}, graph, "-st", **few)
    assert [model["model"] for model in told.models] == ["-x", "a_b"]
    twice = gcnproof.study([verifier.network, "-m.safetensors", tmp_path / "-m.safetensors"], graph, "-twice", **few)
    assert [model["model"] for model in twice.models] == ["model1", "-m", "-m-2"]
    assert gcnproof.report(results, told, out="-page.html", title="-t") == "-page.html"
    page = (tmp_path / "-page.html").read_text()
    assert "gcnproof.report(…)" in page and "gcnproof.study(…)" in page and "pytest" not in page


def test_a_report_is_about_one_graph(results, tmp_path):
    graph, network = small(5)
    other = gcnproof.certify(network, graph, 1, 1, **QUIET)
    with pytest.raises(gcnproof.InputError, match="belong to different graphs: the Results at place 1 and the Results at place 3; the Results at place 2\n  help: make one report for each graph"):
        gcnproof.report(results, other, results, out=tmp_path / "page.html")
    for one in (results, other):
        assert gcnproof.report(one, out=tmp_path / "page.html", force=True)


def test_a_report_names_what_was_given(verifier, results, tmp_path):
    other, network = small(5)
    results.save(tmp_path / "rows.csv")
    with pytest.raises(gcnproof.InputError, match="computed on another graph") as caught:
        gcnproof.report(tmp_path / "rows.csv", graph=other, out=tmp_path / "page.html")
    assert "gcnproof-" not in str(caught.value)
    with pytest.raises(gcnproof.InputError, match="^model: none of the results was computed with this model") as caught:
        gcnproof.report(results, model=network, out=tmp_path / "page.html")
    gcnproof.report(tmp_path / "rows.csv", graph=verifier.graph, model=verifier.network, out=tmp_path / "page.html")


def test_one_node_is_meant(results):
    for wrong in (0.5, "0", True, np.float64(1)):
        with pytest.raises(KeyError, match="is not among the 9 nodes"):
            results[wrong]
    assert results[np.int64(1)].node == 1
    for several in ([0, 1], slice(0, 1), np.array([0])):
        with pytest.raises(gcnproof.InputError, match="apply takes one node"):
            results.apply(several)
    with pytest.raises(gcnproof.InputError, match="has no rows: there is nothing to report"):
        gcnproof.report(results[[]], out="page.html")


def test_a_length_that_looks_like_text_is_none(tmp_path):
    """The first bytes of a safetensors file are a length, which may be the code of a brace."""
    _, network = small()
    path = tmp_path / "model.safetensors"
    network.save(path)
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    for code in b"{<":
        more = (code - length) % 256
        path.write_bytes((length + more).to_bytes(8, "little") + whole[8 : 8 + length] + b" " * more + whole[8 + length :])
        assert isinstance(gcnproof.load(path), gcnproof.Network)


def test_names_of_a_graph():
    graph, _ = small()
    with pytest.raises(gcnproof.InputError, match="class_names names only 1 classes"):
        gcnproof.Graph(graph.adjacency, graph.attributes, [0, 1, 2] * 3, class_names=["a"])
    with pytest.raises(gcnproof.InputError, match="node_names has 2 names, but there are 9 nodes"):
        gcnproof.Graph(graph.adjacency, graph.attributes, node_names=["a", "b"])


def test_what_is_not_ours_stays(verifier, results, tmp_path, monkeypatch):
    """Files that gcnproof did not write are never overwritten, and no message says that force would do it."""
    monkeypatch.chdir(tmp_path)
    own = {"own.csv": "node,city\n", "own.jsonl": "{}\n", "own.txt": "x", "own.safetensors": "x", "own.html": "<html>", "beside.csv.run.json": "{}", "own/graph.npz": "x"}
    (tmp_path / "own").mkdir()
    for name, text in own.items():
        (tmp_path / name).write_text(text)
    training = {"hidden": 2, "epochs": 1, "split": 1, **QUIET}
    for call in (
        lambda **way: verifier.certify(1, 1, out="own.csv", **way, **QUIET),
        lambda **way: verifier.certify(1, 1, out="beside.csv", **way, **QUIET),
        lambda **way: verifier.certify(1, 1, proofs="own.jsonl", **way, **QUIET),
        lambda **way: results.save("own.csv", **way),
        lambda **way: gcnproof.train(verifier.graph, "ce", out="own.safetensors", **way, **training),
        lambda **way: gcnproof.train(verifier.graph, "ce", out="new.safetensors", checkpoint="own.txt", **way, **training),
        lambda **way: gcnproof.study(verifier.network, verifier.graph, "own", Q=1, q=1, max_Q=1, sample=1, nodes=[0], **way, **QUIET),
        lambda **way: gcnproof.report(results, out="own.html", **way),
    ):
        for way in ({}, {"force": True}):
            with pytest.raises(gcnproof.InputError) as caught:
                call(**way)
            assert "force" not in str(caught.value) and "help: " in str(caught.value), caught.value
            assert {name: (tmp_path / name).read_text() for name in own} == own


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        (None, "term 0: an operator is a rule or a scipy.sparse matrix, not a NoneType: 'identity' reads"),
        (np.eye(4), r"not a ndarray: `scipy.sparse.csr_array\(A\)`"),
        (sparse.eye_array(4) * 1j, "the matrix is of type complex128, and message passing needs real numbers"),
        (sparse.diags_array([1.0, np.nan, 1.0]), r"the matrix at \[1, 1\] is nan, which is not a finite number. Remedy: "),
        (gcnproof.Polynomial(None, [1.0]), "not a NoneType"),
        (gcnproof.Polynomial("gcn", ["a"]), "a polynomial has at least one coefficient, and they are finite numbers"),
        (gcnproof.Polynomial("gcn", 3), "a polynomial has at least one coefficient"),
    ],
)
def test_operators_that_are_none(operator, words):
    with pytest.raises(gcnproof.InvalidNetwork, match=words):
        gcnproof.Network([gcnproof.Layer("out", [gcnproof.Term("x", operator, np.ones((6, 2)))], None, "none")])
    assert "Term('x'" in repr(gcnproof.Term("x", operator, np.ones((6, 2))))


class Weighted:
    """A Data object whose edges have weights."""

    def __init__(self, graph):
        self.edge_index = np.stack(graph.adjacency.nonzero())
        self.x, self.y = graph.attributes.toarray(), graph.labels
        self.edge_weight = np.full(self.edge_index.shape[1], 0.5)


def test_weights_of_edges_are_not_dropped(verifier):
    graph, network = small()
    data = Weighted(graph)
    for call in (
        lambda: gcnproof.Graph.from_data(data),
        lambda: gcnproof.certify(network, data, 1, 1, **QUIET),
        lambda: gcnproof.radius(network, data, 1, **QUIET),
        lambda: gcnproof.logits(network, data),
        lambda: gcnproof.train(data, "ce", hidden=2, epochs=1, split=1, **QUIET),
    ):
        with pytest.raises(gcnproof.InputError, match=r"data.edge_weight\[0\] is 0.5: .*\n  help: .*Graph.from_data\(data, unweight=True\)"):
            call()
    # The remedy works, with weights or without them; so do weights that are none.
    without = gcnproof.Graph.from_data(data, unweight=True)
    assert (gcnproof.logits(network, without) == gcnproof.logits(network, graph)).all()
    matrix = sparse.csr_array((data.edge_weight, (data.edge_index[1], data.edge_index[0])), shape=graph.adjacency.shape)
    weighted = gcnproof.Network([gcnproof.Layer("out", [gcnproof.Term("x", matrix, network.layers[0].terms[0].weight)], None, "none")])
    assert np.allclose(gcnproof.logits(weighted, without), matrix @ data.x @ network.layers[0].terms[0].weight)
    data.edge_weight = np.ones(data.edge_index.shape[1])
    assert (gcnproof.logits(network, data) == gcnproof.logits(network, graph)).all()
    data.edge_weight = np.ones(1)
    with pytest.raises(gcnproof.InputError, match="data.edge_weight has 1 numbers, but there are"):
        gcnproof.Graph.from_data(data)


@pytest.mark.filterwarnings("ignore::gcnproof.GcnproofWarning")
def test_directions_are_kept_by_a_matrix(tmp_path):
    """The remedy for a directed graph, in memory and from a file."""
    graph, network = small()
    upper = sparse.triu(graph.adjacency, 1).tocsr()
    weight = network.layers[0].terms[0].weight
    np.savez(tmp_path / "directed.npz", edge_index=np.stack(upper.nonzero()), x=graph.attributes.toarray())
    with pytest.raises(gcnproof.InputError, match=r"Graph.load\(path, symmetrize=True\).*Term\('x', A, W\)"):
        gcnproof.certify(network, tmp_path / "directed.npz", 1, 1)
    with pytest.raises(gcnproof.InputError, match=r"Graph.from_data\(data, symmetrize=True\); one that was trained on these edges: .*say it, too.*Term\('x', A, W\)"):
        gcnproof.certify(network, gcnproof.Graph(upper, graph.attributes), 1, 1)
    directed = gcnproof.Network([gcnproof.Layer("out", [gcnproof.Term("x", upper.astype(float), weight)], None, "none")])
    for kept in (gcnproof.Graph(upper, graph.attributes, symmetrize=True), gcnproof.Graph.load(tmp_path / "directed.npz", symmetrize=True)):
        assert np.allclose(gcnproof.logits(directed, kept), upper @ graph.attributes @ weight)
        assert len(gcnproof.certify(directed, kept, 1, 1, **QUIET)) == graph.node_count


def test_edges_that_are_listed_twice():
    graph, network = small()
    data = Weighted(graph)
    data.edge_weight, data.edge_index = None, np.concatenate([data.edge_index, data.edge_index[:, :1]], axis=1)
    source, receiver = data.edge_index[:, 0]
    with pytest.raises(gcnproof.InputError, match=rf"lists the edge {source} -> {receiver} 2 times.*\n  help: .*Graph.from_data\(data, unweight=True\)"):
        gcnproof.certify(network, data, 1, 1)
    assert gcnproof.Graph.from_data(data, unweight=True).digest == graph.digest


@pytest.mark.filterwarnings("ignore::gcnproof.GcnproofWarning")
def test_whose_labels_are_used():
    graph, _ = small()
    data = Weighted(graph)
    data.edge_weight, data.train_mask = None, np.arange(graph.node_count) < 6
    options = {"hidden": 2, "epochs": 1, **QUIET}
    with pytest.raises(gcnproof.InputError, match="labelled together with split='20%': both say whose labels are used"):
        gcnproof.train(data, "ce", labelled=data.train_mask, split="20%", **options)
    for name, meant in (("train_mask", "labelled=data.train_mask"), ("nodes", "labelled"), ("mask", "labelled")):
        with pytest.raises(TypeError, match=f"{name!r}: {meant} is meant"):
            gcnproof.train(data, "ce", **{name: data.train_mask}, **options)
    with pytest.warns(gcnproof.GcnproofWarning, match=r"data.train_mask is not used: 10% of each class .* say labelled=data.train_mask"):
        gcnproof.train(data, "ce", **options)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        gcnproof.train(data, "ce", labelled=data.train_mask, **options)
    assert not any("train_mask" in str(one.message) for one in told)


def test_training_on_rows_that_are_divided():
    graph, _ = small()
    data = Weighted(graph)
    data.edge_weight, data.x = None, data.x / np.maximum(data.x.sum(axis=1, keepdims=True), 1)
    with pytest.warns(gcnproof.GcnproofWarning, match="divided by their sums"), pytest.raises(gcnproof.InputError, match=r"Graph.from_data\(data, binarize=True\)"):
        gcnproof.train(data, "ce", hidden=2, epochs=1, split=1, **QUIET)
    made = gcnproof.Graph.from_data(data, binarize=True)
    options = {"hidden": 2, "epochs": 1, "labelled": range(graph.node_count), **QUIET}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gcnproof.GcnproofWarning)
        assert gcnproof.train(made, "ce", **options).iterations == 1


def test_numbers_that_are_not_finite():
    weights = np.ones((6, 2))
    bias = np.array([0.0, np.nan])
    with pytest.raises(gcnproof.InvalidNetwork, match=r"the bias at \[1\] is nan, which is not a finite number. Remedy"):
        gcnproof.Network([gcnproof.Layer("out", [gcnproof.Term("x", "gcn", weights)], bias, "none")])


def test_warnings_have_the_words_of_python():
    from gcnproof.errors import pythonic

    note = "Train for a smaller -Q or -q, with more labelled nodes (--split), or with a longer --warm-up; `gcnproof check --class labels`"
    assert pythonic(note) == "Train for a smaller Q or q, with more labelled nodes (split), or with a longer warm_up; `gcnproof check --class labels`"
    assert pythonic("give a model, or --message-passing, with rules") == "give a model with rules"
    assert pythonic("2-Q, a -- b, x-q") == "2-Q, a -- b, x-q"
    assert pythonic("overwrite by `--force`, --class labels, --bounds-only, --class") == "overwrite by `force=True`, class_='labels', complete=False, class_"
    assert pythonic("(`mkdir -p a`), `gcnproof study … --out DIR` or --freeze-nodes") == "(`mkdir -p a`), `gcnproof study … --out DIR` or freeze_nodes"
