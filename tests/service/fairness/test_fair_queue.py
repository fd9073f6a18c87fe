"""Shares of a queue: by cost, by tenant, and by request, whatever anybody has queued."""

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from service.fairness.fair_queue import FairQueue, Party, TurnQueue


@dataclass
class Work:
    """A piece of work, and whether somebody waits for it."""

    party: Party
    cost: int
    name: str
    turn: Any = field(default_factory=lambda: SimpleNamespace(cancelled=lambda: False))


class Turns(TurnQueue[Work]):
    """Work by its name, taken as the engine takes what waits for it."""

    def put(self, tenant: str, request: int, cost: int, name: str) -> None:
        self.add(tenant, request, cost, Work(Party(tenant, request), cost, name))

    def take_name(self) -> str:
        first = self.peek()
        assert first is not None
        self.leave(first, is_served=True)
        return first.name


class Steps(FairQueue[str]):
    def put(self, tenant: str, request: int, cost: int, name: str) -> None:
        self.add(tenant, request, cost, name)

    def take_name(self) -> str:
        return self.take()


Either = Steps | Turns


@pytest.fixture(params=[Steps, Turns])
def queue(request: pytest.FixtureRequest) -> Either:
    return request.param()  # type: ignore[no-any-return]


def fill(queue: Either, **costs: list[int]) -> None:
    """Work by tenants, each one request."""
    for tenant, each in costs.items():
        for cost in each:
            queue.put(tenant, 1, cost, tenant)


def taken(queue: Either, num: int | None = None) -> list[str]:
    return [queue.take_name() for _ in range(len(queue) if num is None else num)]


def test_one_tenant_alone_is_served_in_order(queue: Either) -> None:
    for number, cost in enumerate((3, 50, 1)):
        queue.put("a", 1, cost, f"{number}")
    assert taken(queue) == ["0", "1", "2"]
    assert not queue


def test_a_tenant_with_little_passes_one_with_much(queue: Either) -> None:
    for request in range(100):
        queue.put("greedy", request, 10, "greedy")
    fill(queue, modest=[10] * 2)
    assert Counter(taken(queue, 4)) == {"greedy": 2, "modest": 2}


def test_shares_are_of_cost_and_not_of_things(queue: Either) -> None:
    fill(queue, large=[30] * 40, small=[10] * 100)
    first = Counter(taken(queue, 80))
    assert abs(first["small"] - 3 * first["large"]) <= 3


def test_what_is_large_comes_when_others_have_had_as_much(queue: Either) -> None:
    fill(queue, a=[35], b=[10] * 10)
    assert 2 <= taken(queue).index("a") <= 4


def test_who_comes_back_after_a_pause_has_neither_saved_up_nor_owes(queue: Either) -> None:
    fill(queue, busy=[10] * 50)
    assert len(taken(queue)) == 50
    fill(queue, back=[10] * 10, busy=[10] * 10)
    assert taken(queue, 3) == ["back", "busy", "back"]


def test_requests_of_one_tenant_share_what_it_has(queue: Either) -> None:
    for _ in range(100):
        queue.put("", 1, 10, "one")
    for _ in range(5):
        queue.put("", 2, 10, "other")
    assert Counter(taken(queue, 10)) == {"one": 5, "other": 5}


def test_what_is_small_passes_what_is_large(queue: Either) -> None:
    for request in range(50):
        queue.put("", request, 1000, f"large {request}")
    assert taken(queue, 3) == ["large 0", "large 1", "large 2"]
    queue.put("", 99, 1, "small")
    assert queue.take_name() == "small"


def test_no_work_waits_for_its_turn_for_ever_while_small_work_keeps_coming() -> None:
    turns = Turns()
    turns.put("", 0, 1000, "large")
    for i in range(1, 3000):
        turns.put("", i, 10, "small")
        if turns.take_name() == "large":
            break
    assert 90 < i < 220


def test_those_who_may_not_are_passed_over_and_those_who_have_gone_forgotten() -> None:
    turns = Turns()
    turns.put("a", 1, 1, "a")
    turns.put("b", 2, 5, "b")
    turns.add("c", 3, 1, Work(Party("c", 3), 1, "gone", SimpleNamespace(cancelled=lambda: True)))
    first = turns.peek(without={"a"})
    assert first is not None
    assert first.name == "b"
    turns.leave(first, is_served=True)
    assert taken(turns) == ["a"]
    assert turns.peek() is None


def test_what_turns_out_to_cost_more_is_owed_also_after_a_pause() -> None:
    turns = Turns()
    turns.put("other", 0, 1000, "other")
    turns.put("costly", 1, 10, "costly")
    assert turns.take_name() == "costly"
    turns.charge(Party("costly", 1), 900)
    for i in range(10):
        turns.put("costly", 2 + i, 10, "costly")
        turns.put("modest", 20 + i, 10, "modest")
    assert taken(turns, 6) == ["modest"] * 6


def test_a_request_pays_afterwards_with_what_it_has_waiting_and_another_of_its_tenant_does_not() -> None:
    turns = Turns()
    for number in range(10):
        turns.put("", 1, 10, f"flood {number}")
    turns.take_name()
    turns.charge(Party("", 1), 5000)
    turns.put("", 2, 10, "other")
    assert "other" in taken(turns, 2)


def test_capacity_that_nobody_else_wanted_is_not_owed() -> None:
    turns = Turns()
    turns.charge(Party("busy", 1), 1000)
    fill(turns, busy=[10] * 4, idle=[10] * 4)
    assert Counter(taken(turns, 4)) == {"busy": 2, "idle": 2}


def of_requests(*bundles: tuple[int, int, int]) -> Steps:
    """A tenant's queue: bundles by request, number of things and cost of each, one after the other."""
    steps = Steps()
    for number, (request, num_things, cost) in enumerate(bundles, 1):
        add_bundle(steps, request, number, num_things, cost)
    return steps


def add_bundle(steps: Steps, request: int, number: int, num_things: int, cost: int) -> None:
    for place in range(num_things):
        steps.add("a", request, cost, f"{request}.{place}", number, num_things * cost)


def test_the_forgotten_leave_no_turn() -> None:
    steps = Steps()
    fill(steps, a=[10] * 3, b=[10])
    steps.keep(lambda name: name == "b")
    assert (len(steps), list(steps), steps.take()) == (1, ["b"], "b")


def test_a_small_request_passes_a_large_one_of_its_tenant() -> None:
    assert taken(of_requests((1, 100, 10), (2, 2, 10)), 3) == ["2.0", "2.1", "1.0"]


def test_equal_requests_go_one_after_the_other() -> None:
    assert taken(of_requests((1, 3, 10), (2, 3, 10))) == ["1.0", "1.1", "1.2", "2.0", "2.1", "2.2"]


def test_a_large_request_comes_though_small_ones_never_end() -> None:
    steps = of_requests((1, 10, 10))
    order = []
    for number in range(2, 200):  # as many as are served: were they served evenly, ever more would be under way
        add_bundle(steps, number, number, 1, 10)
        order.append(steps.take())
    assert order.index("1.0") <= 120


def test_small_requests_pass_however_many_large_ones_wait() -> None:
    steps = of_requests(*((request, 50, 10) for request in range(1, 9)))
    taken(steps, 300)  # six of the large ones are done
    add_bundle(steps, 100, 100, 2, 10)
    assert taken(steps, 2) == ["100.0", "100.1"]


def test_what_a_request_adds_comes_after_what_it_has() -> None:
    steps = of_requests((1, 1, 10), (1, 1, 10), (1, 1, 10), (2, 2, 10))
    assert taken(steps) == ["1.0", "1.0", "2.0", "2.1", "1.0"]  # a stream's lines are no requests of their own


def test_requests_that_are_forgotten_leave_the_others_their_order() -> None:
    steps = of_requests((1, 4, 10), (2, 2, 10), (3, 1, 10))
    steps.keep(lambda name: not name.startswith("3") and name != "1.1")
    assert taken(steps) == ["2.0", "2.1", "1.0", "1.2", "1.3"]


def test_a_bundle_that_comes_in_two_parts_keeps_the_place_of_the_first() -> None:
    steps = Steps()
    steps.add("a", 1, 10, "large 0", 1, 40)
    steps.add("a", 2, 50, "small", 2, 50)
    steps.add("a", 1, 10, "large 1", 1, 40)
    assert taken(steps, 2) == ["large 0", "large 1"]
    steps.add("a", 1, 60, "large 2", 3, 60)
    assert taken(steps, 2) == ["small", "large 2"]
    assert not steps


def test_a_request_whose_things_come_in_parts_has_no_more_than_its_share() -> None:
    """One part of it always waits, as the next comes when one is taken; the other has all of its things there."""
    steps = of_requests((1, 4, 10))
    num_parts, num_served = 1, 0
    for place in range(50):
        steps.add("a", 2, 10, f"2.{place}", 1000, 500)
    num_left = 50
    while num_left:
        name = steps.take()
        num_served += 10
        num_left -= name.startswith("2")
        if name == "1.0":
            num_parts += 1
            add_bundle(steps, 1, num_parts, 4, 10)
    assert 900 <= num_served <= 1000 + 40
