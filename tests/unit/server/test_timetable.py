"""Which moments a question may be known at, after late answers and after calm."""

from discreet.server.ticks import CALM, Timetable

STEPS = [0.25, 1, 4]


def test_each_late_answer_moves_up_and_ten_calm_minutes_move_down():
    now = [0.0]
    timetable = Timetable(STEPS, quantum=0.25, clock=lambda: now[0])

    def first():
        return timetable.steps("ann", 0.01)[0]

    seen = [first()]
    for moment in (0.0, 1.0, 2.0, CALM + 1.9, CALM + 2.0, 2 * CALM + 2.0, 9 * CALM):
        if moment <= 2.0:
            now[0] = moment
            timetable.late("ann")
        now[0] = moment
        seen.append(first())

    assert seen == [0.15, 0.9, 3.9, 3.9, 3.9, 0.9, 0.15, 0.15]
    assert timetable.steps("ben", 0.01)[0] == 0.15


def test_a_late_answer_after_calm_counts_from_where_the_caller_stands():
    now = [0.0]
    timetable = Timetable(STEPS, quantum=0.25, clock=lambda: now[0])
    timetable.late("ann")
    timetable.late("ann")
    now[0] = CALM
    timetable.late("ann")

    assert timetable.steps("ann", 0.01) == (3.9,)
    now[0] = 2 * CALM - 1
    assert timetable.steps("ann", 0.01) == (3.9,)


def test_whoever_waited_long_for_the_processors_reads_beside_the_others():
    timetable = Timetable(STEPS, quantum=0.25)
    schedule = timetable.schedule("ann")
    with (
        schedule.engine(0.1),
        schedule.engine(0.1),
        schedule.engine(0.1),
        schedule.engine(0.1),
        schedule.engine(9.0),
    ):
        pass
    assert timetable._reading._value == 3
