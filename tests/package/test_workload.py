"""The calls that the compiler's profile is made of."""

from data import workload


def test_all_calls_of_the_workload_give_back_what_went_in() -> None:
    workload.main()
