"""Puts an example into the description of its operation, beside the schemas."""

from http import HTTPStatus
from typing import Any

from readapi.http.openapi.examples.operations import Example


def show_example(example: Example, described: dict[str, Any], media_type: str, status: HTTPStatus) -> None:
    """Add it to parameters, body and the successful answer, which has this media type and status."""
    for parameter in described["parameters"]:
        if parameter["name"] in example.asked:
            parameter["example"] = example.asked[parameter["name"]]
    for content in described.get("requestBody", {}).get("content", {}).values():
        content["example"] = example.sent
    if example.answer is not None:
        described["responses"][str(int(status))]["content"][media_type]["example"] = example.answer
