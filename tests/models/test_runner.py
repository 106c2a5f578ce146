"""The runner hands out turns in order of arrival and never locks up."""

import threading
import time

import pytest

from specdec_core.models.runner import Busy, Runner, runner_for

PATIENCE = 10.0


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.001)


class Holder:
    """A thread that holds the runner until told to let go."""

    def __init__(self, runner):
        self._release, self.holding = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(runner,), daemon=True)
        self._thread.start()
        assert self.holding.wait(PATIENCE)

    def _hold(self, runner):
        with runner.turn():
            self.holding.set()
            self._release.wait(PATIENCE)

    def let_go(self):
        self._release.set()
        self._thread.join(PATIENCE)


def start_waiter(runner, name, order):
    def wait():
        with runner.turn(PATIENCE):
            order.append(name)

    before = runner.waiting
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    wait_until(lambda: runner.waiting == before + 1)
    return thread


def test_a_turn_alone_is_not_contended():
    runner = Runner()
    with runner.turn() as turn:
        assert not turn.contended
    assert runner.waiting == 0


def test_turns_come_in_order_of_arrival():
    runner, order = Runner(), []
    holder = Holder(runner)
    threads = [start_waiter(runner, name, order) for name in range(6)]
    assert runner.waiting == 6
    holder.let_go()
    for thread in threads:
        thread.join(PATIENCE)
    assert order == list(range(6))


def test_a_run_of_many_rounds_lets_another_in_after_one_round():
    runner, order = Runner(), []
    with runner.turn():
        other = start_waiter(runner, "other", order)
    for _ in range(3):
        with runner.turn(PATIENCE):
            order.append("mine")
    other.join(PATIENCE)
    assert order == ["other", "mine", "mine", "mine"]


def test_only_one_thread_holds_the_device_at_a_time():
    runner, inside, most = Runner(), [0], [0]

    def work():
        for _ in range(50):
            with runner.turn(PATIENCE):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0)
                inside[0] -= 1

    threads = [threading.Thread(target=work, daemon=True) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert most[0] == 1


def test_both_the_one_who_waited_and_the_one_who_was_waited_for_are_contended():
    runner, flags = Runner(), []

    def wait():
        with runner.turn(PATIENCE) as later:
            flags.append(later.contended)

    with runner.turn() as turn:
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        wait_until(lambda: runner.waiting == 1)
        assert turn.contended
    thread.join(PATIENCE)
    assert flags == [True]


def test_a_holder_that_raises_gives_the_device_back():
    runner = Runner()
    with pytest.raises(ZeroDivisionError), runner.turn():
        raise ZeroDivisionError
    with runner.turn(timeout=0.0) as turn:
        assert not turn.contended


def test_giving_up_says_how_many_others_wait_and_leaves_no_ticket_behind():
    runner, order = Runner(), []
    holder = Holder(runner)
    threads = [start_waiter(runner, name, order) for name in ("first", "second")]
    with pytest.raises(Busy, match=r"^busy, 2 waiting$"), runner.turn(timeout=0.01):
        pass
    assert runner.waiting == 2
    holder.let_go()
    for thread in threads:
        thread.join(PATIENCE)
    assert order == ["first", "second"]


def test_when_the_first_in_the_queue_gives_up_the_next_one_still_gets_in():
    runner, order = Runner(), []
    holder = Holder(runner)

    def give_up():
        with pytest.raises(Busy), runner.turn(timeout=0.05):
            pass

    impatient = threading.Thread(target=give_up, daemon=True)
    impatient.start()
    wait_until(lambda: runner.waiting == 1)
    patient = start_waiter(runner, "patient", order)
    impatient.join(PATIENCE)
    holder.let_go()
    patient.join(PATIENCE)
    assert order == ["patient"]


def test_a_nested_turn_is_an_error_rather_than_a_deadlock():
    runner = Runner()
    with runner.turn(), pytest.raises(RuntimeError, match="nested"), runner.turn():
        pass
    with runner.turn(timeout=0.0):
        pass


def test_a_device_has_one_runner():
    assert runner_for("test-device-a") is runner_for("test-device-a")
    assert runner_for("test-device-a") is not runner_for("test-device-b")
