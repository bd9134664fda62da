"""The calls that the compiler's profile is made of."""

from data import workload


def test_the_workload_reads_back_what_it_writes() -> None:
    workload.main()
