"""The key of a request, in bytes."""

import pytest

from service.http.middleware.guard import sent_key


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([("authorization", "Bearer k")], b"k"),
        ([("Authorization", "bearer   k ")], b"k"),
        ([("X-API-Key", "k")], b"k"),
        ([("x-api-key", "Bearer k")], b"Bearer k"),
        ([("authorization", "Bearer k l")], b"k l"),
        ([], None),
        ([("authorization", "")], None),
        ([("authorization", "Bearer")], None),
        ([("authorization", "Bearer ")], None),
        ([("authorization", "Bearer\tk")], None),
        ([("authorization", "Basic k")], None),
        ([("authorization", "k")], None),
        ([("x-api-key", " ")], None),
        ([("proxy-authorization", "Bearer k")], None),
        ([("x-api-key", "k"), ("x-api-key", "k")], None),
        ([("authorization", "Bearer k"), ("x-api-key", "k")], None),
        ([("authorization", "Basic x"), ("x-api-key", "k")], None),
    ],
)
def test_the_one_key_of_a_request(headers: list[tuple[str, str]], key: bytes | None) -> None:
    assert sent_key([(name.encode(), value.encode()) for name, value in headers]) == key
