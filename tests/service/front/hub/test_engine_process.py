"""The engine's environment: its OpenMP threads spin for a short while unless the operator says otherwise."""

from service.front.hub.engine_process import NUM_SPINS, engine_environ


def test_threads_of_the_engine_spin_for_a_short_while() -> None:
    environ = engine_environ({"PATH": "here", "HF_HUB_OFFLINE": "0"})
    assert environ["GOMP_SPINCOUNT"] == NUM_SPINS
    assert environ["PATH"] == "here"
    assert environ["HF_HUB_OFFLINE"] == "1"  # the front has found the checkpoint; the engine asks nobody


def test_what_an_operator_says_of_waiting_stands() -> None:
    assert engine_environ({"GOMP_SPINCOUNT": "7"})["GOMP_SPINCOUNT"] == "7"
    # libgomp would take the count and not the policy
    assert "GOMP_SPINCOUNT" not in engine_environ({"OMP_WAIT_POLICY": "ACTIVE"})
