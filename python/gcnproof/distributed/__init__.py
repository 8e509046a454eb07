"""Runs over several machines, with Ray: certify and radius as in `gcnproof`, and the same files.

    import gcnproof.distributed
    results = gcnproof.distributed.certify(model, data, Q=12, q=0.01, address="auto", out="results.parquet", resume=True)

See docs/distributed.md. Ray is imported when a run begins: pip install 'gcnproof[distributed]'.
"""

from ..errors import IncompleteRun
from .calls import certify, radius
from .driver import Failure

__all__ = ["Failure", "IncompleteRun", "certify", "radius"]
