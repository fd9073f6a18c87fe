"""The numbers of `schemas.limits`, with what the docstring under each says.

Read from the module's source, which ships with the package: a docstring under a constant is nowhere at run time.
"""

import ast
import inspect
from itertools import pairwise

from schemas import limits
from service.reference.model import Limit


def read_limits() -> tuple[Limit, ...]:
    """Every limit, in the order of the file."""
    body = ast.parse(inspect.getsource(limits)).body
    return tuple(
        Limit(statement.targets[0].id, getattr(limits, statement.targets[0].id), inspect.cleandoc(about.value.value))
        for statement, about in pairwise(body)
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(about, ast.Expr)
        and isinstance(about.value, ast.Constant)
        and isinstance(about.value.value, str)
    )
