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


def of_parties(*bundles: tuple[int, int, int]) -> FairQueue[str]:
    """A tenant's queue: bundles by party, number of things and cost of each, one behind the other."""
    queue: FairQueue[str] = FairQueue(10)
    for number, (party, num_things, cost) in enumerate(bundles):
        add_bundle(queue, party, number, num_things, cost)
    return queue


def add_bundle(queue: FairQueue[str], party: int, number: int, num_things: int, cost: int) -> None:
    for place in range(num_things):
        queue.add("a", cost, f"{party}.{place}", party, number, num_things * cost)


def drained(queue: FairQueue[str]) -> list[str]:
    return [queue.take() for _ in range(len(queue))]


def test_a_small_request_passes_a_large_one_of_its_tenant() -> None:
    queue = of_parties((1, 100, 10), (2, 2, 10))
    assert drained(queue)[:3] == ["2.0", "2.1", "1.0"]


def test_equal_requests_go_one_after_the_other() -> None:
    queue = of_parties((1, 3, 10), (2, 3, 10))
    assert drained(queue) == ["1.0", "1.1", "1.2", "2.0", "2.1", "2.2"]


def test_a_large_request_comes_though_small_ones_never_end() -> None:
    queue = of_parties((1, 10, 10))
    order = []
    for number in range(2, 200):  # as many as are served: were they served evenly, ever more would be under way
        add_bundle(queue, number, number, 1, 10)
        order.append(queue.take())
    assert order.index("1.0") <= 120


def test_small_requests_pass_however_many_large_ones_wait() -> None:
    queue = of_parties(*((party, 50, 10) for party in range(1, 9)))
    for _ in range(300):  # six of the large ones are done
        queue.take()
    add_bundle(queue, 100, 100, 2, 10)
    assert [queue.take() for _ in range(2)] == ["100.0", "100.1"]


def test_what_a_party_adds_comes_behind_what_it_has() -> None:
    queue = of_parties((1, 1, 10), (1, 1, 10), (1, 1, 10), (2, 2, 10))
    assert drained(queue) == ["1.0", "1.0", "2.0", "2.1", "1.0"]  # a stream's lines are no requests of their own


def test_parties_that_are_forgotten_leave_the_others_their_order() -> None:
    queue = of_parties((1, 4, 10), (2, 2, 10), (3, 1, 10))
    queue.keep(lambda thing: not thing.startswith("3") and thing != "1.1")
    assert drained(queue) == ["2.0", "2.1", "1.0", "1.2", "1.3"]


def test_a_bundle_that_comes_in_two_parts_keeps_the_place_of_the_first() -> None:
    queue: FairQueue[str] = FairQueue(100)
    large, small = (1, 1, 40), (2, 2, 50)  # party, bundle and its cost
    queue.add("a", 10, "large 0", *large)
    queue.add("a", 50, "small", *small)
    queue.add("a", 10, "large 1", *large)
    assert [queue.take() for _ in range(2)] == ["large 0", "large 1"]
    queue.add("a", 60, "large 2", 1, 3, 60)
    assert [queue.take() for _ in range(2)] == ["small", "large 2"]
    assert not queue


def test_a_party_whose_things_come_in_parts_has_no_more_than_its_share() -> None:
    """One part of it always waits, as the next comes when one is taken; the other has all of its things there."""
    queue: FairQueue[tuple[str, int]] = FairQueue(100)
    num_parts, num_served = 0, 0

    def add_part() -> None:
        nonlocal num_parts
        num_parts += 1
        for _ in range(4):
            queue.add("a", 10, ("in parts", num_parts), 1, num_parts, 40)

    add_part()
    for _ in range(50):
        queue.add("a", 10, ("whole", 0), 2, 0, 500)
    waiting = Counter({"whole": 50})
    while waiting["whole"]:
        name, part = queue.take()
        num_served += 10
        waiting[name] -= 1
        if name == "in parts" and part == num_parts and waiting[name] % 4 == 0:
            add_part()
    assert 900 <= num_served <= 1000 + 40
