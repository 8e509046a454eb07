"""Measures gcnproof.torch.RobustLoss in a plain loop (docs/training.md): what networks reach, and what a step costs.

    python scripts/robust_loop.py networks citeseer.npz --model sage --seeds 1,2,3,4,5          (one JSON object a line)
    python scripts/robust_loop.py step citeseer.npz [--gpu]

`networks` trains a module twice, by cross entropy alone and with a robust term, and certifies both completely, with proofs that are
checked. `step` times one step of the loop, one of `gcnproof train`, and one of the same loss written directly in torch with dense
matrices, whose value and gradient are compared first.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCN, GIN, GraphSAGE

import gcnproof

ATTACK = gcnproof.Flips(Q=12, q=0.01)
MODELS = {
    "gcn": lambda sizes, **more: GCN(sizes[0], 32, 2, sizes[1], **more),
    "gcn3": lambda sizes, **more: GCN(sizes[0], 32, 3, sizes[1], **more),
    "sage": lambda sizes, **more: GraphSAGE(sizes[0], 32, 2, sizes[1], **more),
    "gin": lambda sizes, **more: GIN(sizes[0], 32, 2, sizes[1], **more),
    "gin-mean": lambda sizes, **more: GIN(sizes[0], 32, 2, sizes[1], aggr="mean", **more),
}


def load(path: Path, seed: int, normalised: bool = False) -> Data:
    """A graph with the labelled nodes that `gcnproof train --seed` takes."""
    graph = gcnproof.load(path)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        gcnproof.train(graph, "ce", seed=seed, epochs=1, out=file, progress=False)
        header = file.read_bytes()
        kept = json.loads(header[8 : 8 + int.from_bytes(header[:8], "little")])["__metadata__"]
    adjacency = graph.adjacency.tocoo()
    x = torch.tensor(graph.attributes.toarray(), dtype=torch.float32)
    data = Data(
        x=x / x.sum(1, keepdim=True).clamp(min=1) if normalised else x,
        edge_index=torch.tensor(np.stack([adjacency.col, adjacency.row]), dtype=torch.long),
        y=torch.tensor(graph.labels),
    )
    data.train_mask = torch.zeros(data.num_nodes, dtype=torch.bool)
    data.train_mask[json.loads(kept["labelled"])] = True
    return data


def stages(options: argparse.Namespace) -> list[tuple[str, float, int, gcnproof.torch.RobustLoss | None]]:
    """What is minimised, one after the other: name, step of Adam at the start, steps, and the robust term."""
    result = [("cross entropy", 0.01, options.warm_up, None)] if options.warm_up else []
    # Against fewer flips first, if that is wanted.
    budgets = sorted({max(1, round(ATTACK.Q * (at + 1) / options.ramp)) for at in range(options.ramp)})
    for at, budget in enumerate(budgets):
        more = {"weight": options.weight, "bound": options.bound, "cross_entropy": options.together}
        attack = gcnproof.Flips(Q=budget, q=ATTACK.q)
        if at == 0:
            result.append(("labelled", options.rate, options.epochs // 4, gcnproof.torch.RobustLoss(attack, "hinge", threads=options.threads, **more)))
        if options.kind == "hinge":
            term = gcnproof.torch.RobustLoss(attack, "hinge", threads=options.threads, **more)
        else:
            term = gcnproof.torch.RobustLoss(attack, "hinge-unlabelled", threads=options.threads, margin_unlabelled=options.margin_unlabelled, **more)
        result.append(("labelled" if options.kind == "hinge" else "all", options.rate, options.epochs // len(budgets), term))
    return result


def train(model: torch.nn.Module, data: Data, plan: list, batch: int = 20, decay: float = 1e-5) -> tuple[float, int]:
    """The loop: seconds and steps."""
    labelled, everybody = torch.nonzero(data.train_mask).flatten(), torch.arange(data.num_nodes)
    optimizer = torch.optim.Adam(model.parameters(), weight_decay=decay)
    begun, steps = time.perf_counter(), 0
    model.train()
    for name, rate, epochs, robust in plan:
        for epoch in range(epochs):
            for group in optimizer.param_groups:
                group["lr"] = rate if robust is None else rate * (1 - 0.8 * epoch / epochs)
            optimizer.zero_grad()
            loss = torch.zeros(())
            if robust is None or not robust.cross_entropy:
                loss = F.cross_entropy(model(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask])
            if robust is not None:
                targets = labelled if name == "labelled" else everybody
                loss = loss + robust(model, data, targets[torch.randperm(len(targets))[:batch]])
            loss.backward()
            optimizer.step()
            steps += 1
    model.eval()
    return time.perf_counter() - begun, steps


def found(model: torch.nn.Module, data: Data, options: argparse.Namespace) -> dict:
    """Accuracies, and the verdicts of a complete certification whose proofs are checked."""
    with torch.no_grad():
        right = model(data.x, data.edge_index).argmax(-1) == data.y
    result = {"labelled": right[data.train_mask].float().mean().item(), "unlabelled": right[~data.train_mask].float().mean().item()}
    result["certified"] = gcnproof.torch.RobustLoss(ATTACK, threads=1).certified(model, data)
    if not options.search:
        return result
    nodes = np.random.default_rng(0).permutation(data.num_nodes)[: options.nodes]
    with tempfile.TemporaryDirectory() as folder:
        proofs = os.path.join(folder, "proofs.jsonl.zst")
        how = {"nodes": np.sort(nodes), "threads": 1}
        results = gcnproof.certify(model, data, ATTACK, time_limit=options.time_limit, proofs=proofs, progress=False, **how)
        counts = results.summary()
        begun = time.perf_counter()
        checked = gcnproof.check(model, data, proofs, ATTACK, progress=False, **how)
        same = [checked.verdicts.get(int(node)) == verdict for node, verdict in zip(results.node, results.verdict) if verdict != "undecided"]
        proved = {"proved": float(np.mean(same)), "rejected": checked.rejected}
    result |= {name: counts[name] / len(nodes) for name in ("robust", "non_robust", "undecided")}
    return result | {"right_and_robust": float((results.robust & (results.label == results.predicted)).mean()),
                     "seconds_certify": counts["seconds"], "seconds_check": time.perf_counter() - begun, **proved}


def networks(options: argparse.Namespace) -> None:
    """Trains and certifies, one line for each seed and training."""
    torch.set_num_threads(1)
    for seed in map(int, options.seeds.split(",")):
        data = load(options.graph, seed, options.normalised)
        sizes = (data.num_features, int(data.y.max()) + 1)
        for training in options.training.split(","):
            torch.manual_seed(seed)
            # By cross entropy as `gcnproof train --loss ce` does it.
            plan = [("cross entropy", 0.01, 150, None)] if training == "standard" else stages(options)
            model = MODELS[options.model](sizes, dropout=0.5 if training == "standard" else options.dropout)
            where = "cuda" if options.gpu else "cpu"
            seconds, steps = train(model.to(where), data.clone().to(where), plan, decay=1e-5 if training == "standard" else options.weight_decay)
            model.cpu()
            line = {"graph": options.graph.stem, "model": options.model, "normalised": options.normalised, "settings": options.settings,
                    "seed": seed, "training": training, "steps": steps, "ms": 1000 * seconds / steps}
            print(json.dumps(line | found(model, data, options)), flush=True)


class DenseLoss:
    """The robust hinge of a GCN with one hidden layer, written directly: dense matrices, selections by topk, derivatives by autograd."""

    def __init__(self, data: Data, matrix: torch.Tensor, weight: float, margins: tuple[float, float]):
        self.A, self.X, self.sign = matrix, data.x.to(matrix), 1 - 2 * data.x.to(matrix)
        self.q, self.Q = min(int(ATTACK.q * data.num_features), ATTACK.Q), ATTACK.Q
        self.weight, self.margins, self.data = weight, margins, data

    def neighbours(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The neighbours of each row, padded, and the entries."""
        width = int((rows != 0).sum(1).max())
        place = (rows != 0).to(rows.dtype).topk(width, 1).indices
        return place, rows.gather(1, place)

    def gains(self, signs: torch.Tensor, W: torch.Tensor, side: float) -> torch.Tensor:
        """The largest gains of each node and unit, nodes × units × q."""
        columns = range(W.shape[1])
        with torch.no_grad():
            if W.is_cuda:
                chosen = (side * signs[:, None, :] * W.T[None]).topk(self.q, -1).indices
            else:
                chosen = torch.stack([(side * signs * W[:, j]).topk(self.q, -1).indices for j in columns], 1)
        units = torch.arange(W.shape[1], device=W.device)[None, :, None]
        picked = signs.gather(1, chosen.flatten(1)).view_as(chosen)
        return (side * picked * W[chosen, units]).clamp(min=0)

    def __call__(self, model: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
        (W, b), (V, c) = [(conv.lin.weight.T, conv.bias) for conv in model.convs]
        A, (h, K) = self.A, V.shape
        z = A @ (self.X @ W) + b
        logits = A @ (z.relu() @ V) + c
        known = self.data.train_mask[batch]
        y = torch.where(known, self.data.y[batch], logits[batch].argmax(-1))
        two = (A[batch] != 0).any(0).nonzero().flatten()
        one = (A[two] != 0).any(0).nonzero().flatten()
        place, entries = self.neighbours(A[two][:, one])
        reach = []
        for side in (1.0, -1.0):
            gains = self.gains(self.sign[one], W, side)[place] * entries[:, :, None, None]
            reach.append(gains.permute(0, 2, 1, 3).flatten(2).topk(self.Q, -1).values.sum(-1))
        upper, lower, z = z[two] + reach[0], z[two] - reach[1], z[two]
        unstable = (lower < 0) & (upper > 0)
        span = torch.where(unstable, upper - lower, 1.0)
        omega = torch.where(unstable, upper / span, (upper > 0).to(z))
        # Targets × nodes × units × classes.
        coefficient = A[batch][:, two][:, :, None, None] * (V.T[y][:, :, None] - V[None])[:, None]
        slopes = coefficient * omega[None, :, :, None]
        constant = torch.where(unstable, upper * lower / span, 0.0)[None, :, :, None]
        bound = c[y][:, None] - c + (slopes * z[None, :, :, None] - coefficient.clamp(max=0) * constant).sum((1, 2))
        u = torch.einsum("tmjk,mn->tnkj", slopes, A[two][:, one])
        reached = (A[batch][:, two] != 0).to(z) @ (A[two][:, one] != 0).to(z) > 0
        with torch.no_grad():
            width = int(reached.sum(1).max())
            nodes = reached.to(z.dtype).topk(width, 1).indices
            at, losses = torch.arange(len(batch), device=z.device), []
            for t in at.tolist():
                own = nodes[t, : int(reached[t].sum())]
                each = -(u[t, own] @ W.T) * self.sign[one[own]][:, None]
                best = each.topk(self.q, -1)
                # Classes × flips: the best of all nodes.
                top = best.values.permute(1, 0, 2).flatten(1).topk(self.Q, -1).indices
                losses.append((own[top // self.q], best.indices.permute(1, 0, 2).flatten(1).gather(1, top)))
        node, attribute = (torch.stack(part) for part in zip(*losses))
        classes = torch.arange(K, device=z.device)[None, :, None]
        chosen = -(u[at[:, None, None], node, classes] * W[attribute]).sum(-1) * self.sign[one[node], attribute]
        bound = bound - chosen.clamp(min=0).sum(-1)
        margin = bound.new_tensor(self.margins)[(~known).long()][:, None]
        hinge = (margin - bound).clamp(min=0).scatter(1, y[:, None], 0.0)
        return self.weight * hinge.sum(1).mean()


def timed(work, repeated: int, gpu: bool = False) -> float:
    """Milliseconds, the median."""
    seconds = []
    for _ in range(repeated + 1):
        begun = time.perf_counter()
        work()
        if gpu:
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    return 1000 * float(np.median(seconds[1:]))


def step(options: argparse.Namespace) -> None:
    """What a step costs, on a GCN that was trained for a while."""
    data = load(options.graph, 1)
    sizes = (data.num_features, int(data.y.max()) + 1)
    torch.manual_seed(1)
    model = MODELS["gcn"](sizes)
    train(model, data, stages(options))
    weight, *margins = gcnproof._native.loss_settings("hinge-unlabelled")
    batches = [torch.randperm(data.num_nodes)[:20] for _ in range(options.repeated + 1)]
    loops = {}

    def matrix(like: torch.Tensor) -> torch.Tensor:
        unit = torch.eye(data.num_nodes, dtype=torch.float64)
        layer = GCN(data.num_nodes, data.num_nodes, 1, None).double().convs[0]
        with torch.no_grad():
            layer.lin.weight.copy_(unit)
            layer.bias.zero_()
            return layer(unit, data.edge_index).to(like)

    def work(term, model, data, batches):
        following = iter([*batches, *batches])

        def one():
            model.zero_grad()
            term(model, data, next(following)).backward()

        return one

    def gradients(model):
        return [parameter.grad.double().cpu() for parameter in model.parameters()]

    # The same value and gradient, in float64.
    double, batch = MODELS["gcn"](sizes).double(), batches[0]
    double.load_state_dict(model.state_dict())
    dense = DenseLoss(data, matrix(torch.zeros(1, dtype=torch.float64)), weight, tuple(margins))
    ours = gcnproof.torch.RobustLoss(ATTACK, threads=1)(double, data, batch)
    ours.backward()
    by_ours = gradients(double)
    double.zero_grad()
    theirs = dense(double, batch)
    theirs.backward()
    worst = max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(by_ours, gradients(double)))
    made = gcnproof.train(gcnproof.load(options.graph), "rh-u", ATTACK, seed=1, epochs=options.epochs, threads=1, progress=False)
    loops["gcnproof train, 1 threads"] = 1000 * made.seconds / made.iterations
    torch.set_num_threads(1)
    where = [("cpu", "loop, 1 threads"), *([("cuda", "loop, module on the GPU, 1 threads")] if options.gpu else [])]
    for device, name in where:
        fresh, there = MODELS["gcn"](sizes).to(device), data.clone().to(device)
        plan = stages(options)
        train(fresh, there, [(stage, 0.0, 1, term) for stage, _, _, term in plan])
        seconds, steps = train(fresh, there, plan)
        loops[name] = 1000 * seconds / steps
        loops[name + ", without the robust term"] = timed(lambda: train(fresh, there, [("cross entropy", 0.0, 1, None)]), 20, device == "cuda")
    print(json.dumps({"loss": ours.item(), "difference": abs(ours.item() - theirs.item()) / ours.item(), "gradient": worst}), flush=True)
    for threads in sorted({1, os.cpu_count() or 1}):
        torch.set_num_threads(threads)
        robust = gcnproof.torch.RobustLoss(ATTACK, threads=threads)
        loops[f"RobustLoss, {threads} threads"] = timed(work(robust, model, data, batches), options.repeated)
        dense = DenseLoss(data, matrix(torch.zeros(1)), weight, tuple(margins))
        loops[f"dense torch, {threads} threads"] = timed(work(lambda model, _, batch: dense(model, batch), model, data, batches), min(options.repeated, 3))
        print(json.dumps(loops), flush=True)
    if options.gpu:
        robust(model, data, batch)
        model.zero_grad()
        own = robust(model, data, batch)
        own.backward()
        by_own = gradients(model)
        there, graph = MODELS["gcn"](sizes).cuda(), data.clone().cuda()
        there.load_state_dict(model.state_dict())
        value = robust(there, graph, batch.cuda())
        value.backward()
        same = max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(by_own, gradients(there)))
        print(json.dumps({"device": str(value.device), "difference": abs(value.item() - own.item()), "gradient": same}), flush=True)
        moved = [batch.cuda() for batch in batches]
        loops[f"RobustLoss of a module on the GPU, {threads} threads"] = timed(work(robust, there, graph, moved), options.repeated, True)
        dense = DenseLoss(graph, matrix(torch.zeros(1)).cuda(), weight, tuple(margins))
        loops["dense torch, GPU"] = timed(work(lambda model, _, batch: dense(model, batch), there, graph, moved), options.repeated, True)
    print(json.dumps(loops), flush=True)


def loop(options: argparse.Namespace) -> None:
    """The same schedule in a loop and by `gcnproof train`, one thread: shares, accuracies, milliseconds a step."""
    torch.set_num_threads(1)
    for seed in map(int, options.seeds.split(",")):
        data = load(options.graph, seed)
        torch.manual_seed(seed)
        made = gcnproof.train(gcnproof.load(options.graph), "rh-u", ATTACK, seed=seed, epochs=options.epochs, threads=1, progress=False)
        line = {"graph": options.graph.stem, "seed": seed, "by": "gcnproof train", "steps": made.iterations, "ms": 1000 * made.seconds / made.iterations}
        kept = {"labelled": "accuracy_labelled", "unlabelled": "accuracy_unlabelled", "certified": "certified_by_paper"}
        print(json.dumps(line | {name: made.evaluation[value] for name, value in kept.items()}), flush=True)
        model = MODELS["gcn"]((data.num_features, int(data.y.max()) + 1))
        plan = stages(options)
        # The module is read once for each term, which takes seconds.
        reading, _ = train(model, data, [(stage, 0.0, 1, term) for stage, _, _, term in plan])
        seconds, steps = train(model, data, plan)
        plain = timed(lambda: train(model, data, [("cross entropy", 0.0, 1, None)]), 20)
        line |= {"by": "a plain loop", "steps": steps, "ms": 1000 * seconds / steps, "without the robust term": plain, "reading": reading}
        print(json.dumps(line | found(model, data, options)), flush=True)
        if options.gpu:
            model, there = MODELS["gcn"]((data.num_features, int(data.y.max()) + 1)).cuda(), data.clone().cuda()
            train(model, there, [(stage, 0.0, 1, term) for stage, _, _, term in plan])
            seconds, steps = train(model, there, plan)
            plain = timed(lambda: train(model, there, [("cross entropy", 0.0, 1, None)]), 20, True)
            line |= {"by": "a plain loop on the GPU", "ms": 1000 * seconds / steps, "without the robust term": plain}
            print(json.dumps(line | found(model.cpu(), data, options)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["networks", "step", "loop"])
    parser.add_argument("graph", type=Path)
    parser.add_argument("--model", choices=MODELS, default="gcn")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--training", default="standard,robust")
    parser.add_argument("--normalised", action="store_true", help="rows of the attributes divided by their sums")
    parser.add_argument("--epochs", type=int, default=600)
    parser.add_argument("--warm-up", type=int, default=0, help="steps of cross entropy first")
    parser.add_argument("--ramp", type=int, default=1, help="budgets up to Q, one after the other")
    parser.add_argument("--rate", type=float, default=0.005)
    parser.add_argument("--weight", type=float, default=0.2)
    parser.add_argument("--dropout", type=float, default=0.0, help="of the module, in the cross entropy")
    parser.add_argument("--weight-decay", type=float, default=1e-5)
    parser.add_argument("--margin-unlabelled", type=float, default=None)
    parser.add_argument("--kind", choices=["hinge", "hinge-unlabelled"], default="hinge-unlabelled")
    parser.add_argument("--bound", choices=["paper", "anchored"], default="paper")
    parser.add_argument("--together", action="store_true", help="the cross entropy by the robust term as well, without a pass of the module")
    parser.add_argument("--search", action="store_true", help="certify completely, with proofs")
    parser.add_argument("--nodes", type=int, default=None, help="so many of them")
    parser.add_argument("--time-limit", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeated", type=int, default=10)
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    defaults = vars(parser.parse_args([options.what, "-"]))
    options.settings = {name: value for name, value in vars(options).items() if value != defaults[name] and name not in ("graph", "seeds", "model", "training")}
    {"networks": networks, "step": step, "loop": loop}[options.what](options)


if __name__ == "__main__":
    main()
