"""Shares of a queue: by cost and by tenant, whatever anybody has queued."""

from collections import Counter

from service.engine.scheduling.fair_queue import FairQueue


def filled(quantum: int, **costs: list[int]) -> FairQueue[tuple[str, int]]:
    queue: FairQueue[tuple[str, int]] = FairQueue(quantum)
    for tenant, each in costs.items():
        for place, cost in enumerate(each):
            queue.add(tenant, cost, (tenant, place))
    return queue


def test_one_tenant_alone_is_served_in_order() -> None:
    queue = filled(10, a=[3, 50, 1])
    assert [queue.take() for _ in range(3)] == [("a", 0), ("a", 1), ("a", 2)]
    assert not queue


def test_a_tenant_with_little_passes_one_with_much() -> None:
    queue = filled(10, greedy=[10] * 1000, modest=[10] * 2)
    first = [queue.take()[0] for _ in range(4)]
    assert Counter(first) == {"greedy": 2, "modest": 2}


def test_shares_are_of_cost_and_not_of_things() -> None:
    queue = filled(100, large=[100] * 100, small=[10] * 1000)
    taken: Counter[str] = Counter()
    for _ in range(110):
        cost, _ = queue.peek()
        taken[queue.take()[0]] += cost
    assert abs(taken["large"] - taken["small"]) <= 100


def test_what_costs_more_than_a_turn_comes_when_it_is_saved_up() -> None:
    queue = filled(10, a=[35], b=[10] * 10)
    order = [queue.take()[0] for _ in range(11)]
    assert 2 <= order.index("a") <= 4


def test_credit_is_not_saved_up_by_those_who_do_not_wait() -> None:
    queue = filled(10, a=[10] * 50)
    for _ in range(50):
        queue.take()
    queue.add("b", 10, ("b", 0))
    queue.add("a", 10, ("a", 0))
    queue.add("b", 10, ("b", 1))
    assert [queue.take()[0] for _ in range(3)] == ["b", "a", "b"]


def test_the_forgotten_leave_no_turn_behind() -> None:
    queue = filled(10, a=[10] * 3, b=[10])
    queue.keep(lambda thing: thing[0] == "b")
    assert (len(queue), queue.take()) == (1, ("b", 0))
