"""One exposition of several processes: each family once, with the series of each front under its label."""

from prometheus_client.parser import text_string_to_metric_families

from service import metrics

MAIN = b'# HELP up Up\n# TYPE up gauge\nup{tier="disk"} 1.0\n# HELP own Own\n# TYPE own gauge\nown 2.0\n'


def front(index: int) -> bytes:
    lines = '# HELP up Up\n# TYPE up gauge\n{0}# HELP n_total N\n# TYPE n_total counter\nn_total{{front="{1}"}} 3.0\n'
    return lines.format(f'up{{front="{index}",tier="vectors"}} 0.0\n' if index else "", index).encode()


def test_each_family_is_there_once_with_the_series_of_all() -> None:
    joined = metrics.joined([MAIN, front(0), front(1)])
    assert [joined.count(b"# TYPE %b " % name) for name in (b"up", b"own", b"n_total")] == [1, 1, 1]
    families = {one.name: one for one in text_string_to_metric_families(joined.decode())}
    assert [(one.labels, one.value) for one in families["n"].samples] == [({"front": "0"}, 3.0), ({"front": "1"}, 3.0)]
    assert [one.labels for one in families["up"].samples] == [{"tier": "disk"}, {"front": "1", "tier": "vectors"}]


def test_a_front_that_does_not_answer_is_left_out() -> None:
    assert metrics.joined([MAIN, b""]) == MAIN


def test_every_series_of_a_front_has_its_label_and_none_of_an_engine() -> None:
    of_front = list(text_string_to_metric_families(metrics.render(3).decode()))
    assert {sample.labels["front"] for family in of_front for sample in family.samples} == {"3"}
    assert not any("front" in sample.labels for family in metrics.SERVICE.collect() for sample in family.samples)
