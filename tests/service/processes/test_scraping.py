"""No count falls when a front ends while all are asked for their series."""

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from service.processes.front_process import FrontProcess
from service.processes.scraping import Scraping
from service.settings import Settings

REQUESTS = "# HELP cenote_requests_total Requests\n# TYPE cenote_requests_total counter\ncenote_requests_total {}.0\n"
HELD = "# HELP cenote_queue_inputs Inputs\n# TYPE cenote_queue_inputs gauge\ncenote_queue_inputs {}.0\n"


def said(num: int) -> bytes:
    return (REQUESTS + HELD).format(num, num).encode()


def counted(exposition: bytes) -> tuple[float, float]:
    """Requests of all fronts, and inputs that they hold."""
    families = text_string_to_metric_families(exposition.decode())
    values = {one.name: one.value for family in families for one in family.samples}
    return values["cenote_requests_total"], values["cenote_queue_inputs"]


def two_fronts() -> tuple[list[FrontProcess], Scraping]:
    fronts = [FrontProcess(index, Settings(), 2, (-1, -1), lambda *_: None) for index in range(2)]
    for front in fronts:
        front.is_serving = True
    return fronts, Scraping(fronts, lambda: None)


def test_a_front_that_answers_and_ends_is_counted_once() -> None:
    async def story() -> list[tuple[float, float]]:
        fronts, scraping = two_fronts()
        seen = []
        for number, (first, second) in enumerate([(10, 100), (20, 200), (30, 5), (40, 6)], 1):
            scraped = asyncio.create_task(scraping.scrape())
            await asyncio.sleep(0)  # they are asked
            scraping.scraped(fronts[1], number, said(second))
            if number == 2:  # it ends; the other one has not answered yet
                scraping.gone(fronts[1])
                await asyncio.sleep(0)
            scraping.scraped(fronts[0], number, said(first))
            seen.append(counted(await scraped))
        return seen

    assert asyncio.run(story()) == [(110, 110), (220, 20), (235, 35), (246, 46)]


def test_a_front_that_ends_while_the_series_are_merged_is_counted_once() -> None:
    async def story() -> list[tuple[float, float]]:
        fronts, scraping = two_fronts()
        seen = []
        for number, (first, second) in enumerate([(10, 100), (20, 5)], 1):
            scraped = asyncio.create_task(scraping.scrape())
            await asyncio.sleep(0)
            for front, num in zip(fronts, (first, second), strict=True):
                scraping.scraped(front, number, said(num))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if number == 1:
                scraping.gone(fronts[1])
            seen.append(counted(await scraped))
        return seen

    (before, _), (after, _) = asyncio.run(story())
    assert (before, after) == (110, 125)
