"""Where files lie in the audio store. Pure."""

INCOMING, ORIGINALS, RENDITIONS = "incoming", "originals", "renditions"
FOLDERS = (INCOMING, ORIGINALS, RENDITIONS)
IDENTITY = "identity"  # says which state database the store belongs to


def original_key(file_id: str) -> str:
    """An original's. `file_id`: SHA-256 in hex."""
    return f"{ORIGINALS}/{file_id}"


def rendition_key(file_id: str, rendition_type: str) -> str:
    """That of what may be heard of it."""
    return f"{RENDITIONS}/{file_id}.{rendition_type}"


def received_audio(upload_id: str) -> str:
    """That of a received file, while it waits."""
    return f"{INCOMING}/{upload_id}/audio"


def received_image(upload_id: str) -> str:
    """That of the image that came with it."""
    return f"{INCOMING}/{upload_id}/image"


def file_in(key: str) -> str:
    """The file that an original or a rendition is."""
    return key.split("/")[1].partition(".")[0]


def upload_in(key: str) -> str:
    """The upload that a received file came with."""
    return key.split("/")[1]
